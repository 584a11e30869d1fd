//! What can be typed after `supercargo`, and the help that describes it.
//!
//! Only shapes are described here. What a command does is in the file of its name below `commands`.

use std::time::Duration;

use clap::{Parser, Subcommand};
use model::quantity::Quantity;

use crate::commands::apiserver::Apiserver;
use crate::commands::completion::Completion;
use crate::commands::controllers::Controllers;
use crate::commands::crds::Crds;
use crate::commands::devices::Devices;
use crate::commands::explain::Explain;
use crate::commands::fabric::FabricController;
use crate::commands::fabric_emulator::FabricEmulator;
use crate::commands::features::Features;
use crate::commands::man::Manual;
use crate::commands::node::Node;
use crate::commands::record::Record;
use crate::commands::replay::Replay;
use crate::commands::scheduler::Scheduler;
use crate::commands::simulate::Simulate;
use crate::commands::topology::Topology;
use crate::commands::up::Up;
use crate::commands::version::Version;
use crate::logging::Logging;

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
  supercargo devices        every device, and which claims and pods hold it
  supercargo topology       racks, nodes, devices and what is free, as a table, a tree or a picture
  supercargo record -o FILE    what a scheduler sees of a cluster, to be looked at later
  supercargo replay FILE    whether the recorded decisions of a scheduler are made again
  supercargo features       what can be turned on and off
  supercargo crds           our own kinds, for a real API server
  supercargo completion zsh   completes the command line in a shell
  supercargo help up        all about one command
  supercargo version        which build this is, and which APIs it speaks";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "supercargo", version, about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) logging: Logging,
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
    Record(Box<Record>),
    Replay(Replay),
    Version(Version),
    Completion(Completion),
    Man(Manual),
}

impl Command {
    /// Whether it works on a cluster until it is stopped, and tells what it does in its log.
    pub(crate) fn is_daemon(&self) -> bool {
        match self {
            Self::Scheduler(_) | Self::Node(_) | Self::Fabric(_) => true,
            Self::Controllers(controllers) => !controllers.list,
            Self::Apiserver(_)
            | Self::Up(_)
            | Self::FabricEmulator(_)
            | Self::Crds(_)
            | Self::Features(_)
            | Self::Simulate(_)
            | Self::Explain(_)
            | Self::Devices(_)
            | Self::Topology(_)
            | Self::Record(_)
            | Self::Replay(_)
            | Self::Version(_)
            | Self::Completion(_)
            | Self::Man(_) => false,
        }
    }
}

/// A time in seconds, such as `0.3`.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds, such as 0.3".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "must be a time that can pass".to_owned())
}

/// A number of bytes, such as `256Mi`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "must be a number of bytes, such as 256Mi".to_owned();
    let quantity: Quantity = text.parse().map_err(|_| wrong())?;
    u64::try_from(quantity.value()).ok().filter(|bytes| *bytes > 0).ok_or_else(wrong)
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
