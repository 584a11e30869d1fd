//! What can be typed after `supercargo`, and the help that describes it.
//!
//! Only shapes are described here. What a command does is in the file of its name below `commands`.

use std::net::SocketAddr;
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
use crate::commands::scheduler::Scheduler;
use crate::commands::simulate::Simulate;
use crate::commands::topology::Topology;
use crate::commands::up::Up;

const ABOUT: &str = "\
Schedules pods and the devices that they claim in a Kubernetes cluster, and explains every decision";

const EXAMPLES: &str = "\
Examples:
  supercargo apiserver      run a Kubernetes API server in this process
  supercargo scheduler      schedule the pods of a cluster
  supercargo controllers    run the controllers for claims, nodes and pods
  supercargo node           run a simulated kubelet that calls DRA drivers
  supercargo simulate DIR   show where the pods of manifests would be scheduled, without a cluster
  supercargo up             start a whole cluster on this machine, with sample GPUs and pods
  supercargo fabric         attach devices of a composable fabric to nodes for allocated claims
  supercargo fabric-emulator   emulate a composable fabric
  supercargo explain POD    explain why a pod waits, and what would help
  supercargo devices        list devices with the claims and pods that use them
  supercargo topology       show racks, nodes, devices and free capacity, as a table, a tree or a picture
  supercargo features       list the feature gates
  supercargo crds           print the CustomResourceDefinitions of supercargo.dev
  supercargo help up        show the help of one command
  supercargo --version      print the version";

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
    Devices(Devices),
    Topology(Topology),
}

/// An address with a port.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "must be an IP address and a port, such as 127.0.0.1:6443".to_owned())
}

/// A time in seconds, such as `0.3`.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds, such as 0.3".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "must be zero or more seconds".to_owned())
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
