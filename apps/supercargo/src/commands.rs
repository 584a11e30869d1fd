//! One file for each command, named after it.
//!
//! A new command is a file here, a variant of [`Command`] and an arm below. A command writes its answer to `out` and
//! returns what went wrong; it never prints and never exits by itself, but for warnings that go beside an answer.

pub(crate) mod apiserver;
pub(crate) mod completion;
pub(crate) mod controllers;
pub(crate) mod crds;
pub(crate) mod devices;
pub(crate) mod explain;
pub(crate) mod fabric;
pub(crate) mod fabric_emulator;
pub(crate) mod features;
pub(crate) mod man;
pub(crate) mod node;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod scheduler;
pub(crate) mod simulate;
pub(crate) mod topology;
pub(crate) mod up;
pub(crate) mod version;

use std::io::{self, Write};
use std::process::ExitCode;

use crate::cli::Command;
use crate::failure::Failure;

/// Runs one command, writes its answer to `out` and gives the exit code that belongs to the answer.
pub(crate) fn run(command: &Command, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let done = match command {
        Command::Apiserver(apiserver) => apiserver.run(out),
        Command::Completion(completion) => completion.run(out),
        Command::Controllers(controllers) => controllers.run(out),
        Command::Crds(crds) => crds.run(out),
        Command::Devices(devices) => devices.run(out, &mut io::stderr()),
        Command::Explain(explain) => explain.run(out, &mut io::stderr()),
        Command::Fabric(fabric) => fabric.run(out),
        Command::FabricEmulator(emulator) => emulator.run(out),
        Command::Features(features) => features.run(out),
        Command::Man(manual) => manual.run(out),
        Command::Node(node) => node.run(out),
        Command::Page(page) => page.run(out, &mut io::stderr()),
        Command::Plan(plan) => return plan.run(out, &mut io::stderr()),
        Command::Record(record) => record.run(out, &mut io::stderr()),
        Command::Replay(replay) => return replay.run(out, &mut io::stderr()),
        Command::Scheduler(scheduler) => scheduler.run(out),
        Command::Simulate(simulate) => return simulate.run(out, &mut io::stderr()),
        Command::Topology(topology) => topology.run(out, &mut io::stderr()),
        Command::Up(up) => return up.run(out),
        Command::Version(version) => version.run(out),
    };
    done.map(|()| ExitCode::SUCCESS)
}
