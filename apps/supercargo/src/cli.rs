//! What can be typed after `supercargo`, and the help that describes it.
//!
//! Only shapes are described here. What a command does is in the file of its name below `commands`.

use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::commands::apiserver::Apiserver;
use crate::commands::controllers::Controllers;
use crate::commands::crds::Crds;
use crate::commands::devices::Devices;
use crate::commands::explain::Explain;
use crate::commands::fabric::FabricController;
use crate::commands::fabric_emulator::FabricEmulator;
use crate::commands::features::Features;
use crate::commands::node::Node;
use crate::commands::plan::Plan;
use crate::commands::scheduler::Scheduler;
use crate::commands::simulate::Simulate;
use crate::commands::topology::Topology;
use crate::commands::up::Up;

const ABOUT: &str = "\
Decides where pods and the devices they claim go in a Kubernetes cluster, and explains every decision";

const EXAMPLES: &str = "\
Examples:
  supercargo apiserver      a Kubernetes API server on this machine
  supercargo scheduler      places the pods of a cluster
  supercargo controllers    keeps the claims and pods of a cluster in order, where nothing else does
  supercargo node           a node that speaks with drivers of devices
  supercargo simulate DIR   where the pods of manifests would go, without a cluster
  supercargo up             a whole cluster on this machine, with sample GPUs and pods
  supercargo fabric         attaches devices of a composable fabric to nodes, as claims are given them
  supercargo fabric-emulator   such a fabric, to try it with
  supercargo explain POD    why a pod waits, and what would help
  supercargo plan -f FILE   whether pods would fit, and what would have to change for them
  supercargo devices        every device, and which claims and pods hold it
  supercargo topology       racks, nodes, devices and what is free, as a table, a tree or a picture
  supercargo features       what can be turned on and off
  supercargo crds           our own kinds, for a real API server
  supercargo help up        all about one command
  supercargo --version      which version this is";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "supercargo", version, about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One variant for each file below `commands`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Apiserver(Apiserver),
    Scheduler(Scheduler),
    Controllers(Controllers),
    Node(Node),
    Up(Up),
    Fabric(Box<FabricController>),
    FabricEmulator(FabricEmulator),
    Crds(Crds),
    Features(Features),
    Simulate(Simulate),
    Explain(Explain),
    Plan(Box<Plan>),
    Devices(Devices),
    Topology(Topology),
}

/// A time in seconds, such as `0.3`.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds, such as 0.3".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "must be a time that can pass".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_purpose_and_an_example() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "`{name}` does not say what it is for");
            let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(examples.contains(&format!("supercargo {name}")), "`{name}` shows no example");
        }
    }
}
