//! What can be typed after `supercargo`, and the help that describes it.
//!
//! Only shapes are described here. What a command does is in the file of its name below `commands`.

use std::net::SocketAddr;
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
use crate::commands::page::WebPage;
use crate::commands::plan::Plan;
use crate::commands::record::Record;
use crate::commands::replay::Replay;
use crate::commands::scheduler::Scheduler;
use crate::commands::simulate::Simulate;
use crate::commands::topology::Topology;
use crate::commands::up::Up;
use crate::commands::version::Version;
use crate::logging::Logging;

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
  supercargo plan -f FILE   check whether pods would fit, and what would have to change for them
  supercargo devices        list devices with the claims and pods that use them
  supercargo topology       show racks, nodes, devices and free capacity, as a table, a tree or a picture
  supercargo page           serve a web page with devices, waiting pods and decisions
  supercargo record -o FILE    record what a scheduler sees of a cluster
  supercargo replay FILE    make the recorded decisions of a scheduler again, and compare them
  supercargo features       list the feature gates
  supercargo crds           print the CustomResourceDefinitions of supercargo.dev
  supercargo completion zsh   print a completion script for a shell
  supercargo help up        show the help of one command
  supercargo version        print the version, the commit and the versions of APIs

Exit codes: 0 done, 1 failed, 2 usage error, 3 done, but a pod does not fit or a decision differs";

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
    Plan(Box<Plan>),
    Devices(Devices),
    Topology(Topology),
    Page(WebPage),
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
            | Self::Plan(_)
            | Self::Devices(_)
            | Self::Topology(_)
            | Self::Page(_)
            | Self::Record(_)
            | Self::Replay(_)
            | Self::Version(_)
            | Self::Completion(_)
            | Self::Man(_) => false,
        }
    }
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
