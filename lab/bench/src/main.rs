//! Measures how fast and how small things are, side by side with what else there is.
//!
//! `cargo run --release -p bench -- decode` measures reading lists; `--features compare` puts the types of k8s-openapi
//! beside ours. Inputs are generated from a seed, so a measurement can be repeated elsewhere.
//! `cargo run --release -p bench -- apiserver` measures the embedded API server beside a real one, and
//! `cargo run --release -p bench -- restart` how long it takes to start with a million objects.
//! `cargo run --release -p bench -- contest` measures our scheduler beside kube-scheduler, on the same API server.
//! `cargo run --release -p bench -- selectors` measures device selectors; `--features compare` puts `cel` beside them.
//! `cargo run --release -p bench -- schedule` measures how many pods the engine places in a second, without any API.
//! `cargo run --release -p bench -- shapes` measures it for the pods that people have: with Services, spread, apart.
//! `cargo run --release -p bench -- cold` measures decisions for which every node is looked at, in one lane and in several.
//! `cargo run --release -p bench -- waiting` measures whether pods that wait for their devices hold others up.
//! `cargo run --release -p bench -- negotiating` measures whether pods that drivers are asked about hold others up.
//! `cargo run --release -p bench -- gang` measures how long a large gang takes to be seated, or refused.
//! `cargo run --release -p bench -- packing` measures how many gangs are decided that nearly fill their cluster, by what they need.
//! `cargo run --release -p bench -- beside` measures how long pods wait beside claims that are hard to decide.
//! `cargo run --release -p bench -- shared-slice` measures what a slice for all nodes costs those who have nothing to do with it.
//! `cargo run --release -p bench -- storm` counts what is written while pods go that help nobody who waits.
//! `cargo run --release -p bench -- turns` measures how long others wait for a turn that is hard to decide.
//! `cargo run --release -p bench -- preempt` measures how what a preemption costs grows with the number of nodes.
//! `cargo run --release -p bench -- plan` and `-- explain` measure how long questions about a large cluster take.
//! `cargo run --release -p bench -- fabric` measures how long it takes to decide for a large fabric.
//! `cargo run --release -p bench -- hard` measures how many hard claims are decided, and fails if that takes too many steps.
//! `cargo run --release -p bench -- allocate` measures how devices are found, and fails if that takes too many steps.

mod allocate;
mod apiserver;
mod beside;
mod clock;
mod cold;
mod considering;
mod contenders;
mod contest;
mod contestant;
mod decode;
mod fabric;
mod gang;
mod gang_rules;
mod gang_sizes;
mod gang_trees;
mod hard;
mod lanes;
mod memory;
mod negotiating;
mod packing;
mod pods;
mod preempt;
mod random;
mod restart;
mod schedule;
mod selectors;
mod shapes;
mod shared_slice;
mod slices;
mod storm;
mod turns;
mod waiting;
mod what_if;

use clap::{Parser, Subcommand};

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "bench", about = "Measures how fast and how small things are")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read lists of pods and of resource slices
    Decode(decode::Decode),
    /// Put the same load on the embedded API server and, where there is one, on a real one
    Apiserver(apiserver::Apiserver),
    /// Have our scheduler and, where there is one, kube-scheduler place the same pods on the same API server
    Contest(contest::Contest),
    /// Find devices for claims on nodes that make it hard, and on many nodes
    Allocate(allocate::Allocate),
    /// Decide where every node has to be looked at, in several lanes
    Cold(cold::Cold),
    /// Explain pods and a claim of a large cluster that is nearly full, without any API
    Explain(what_if::ExplainBench),
    /// Decide what is to be done for a large fabric with claims that wait
    Fabric(fabric::FabricBench),
    /// Seat a large gang in one of many racks, without any API
    Gang(gang::GangBench),
    /// Decide claims that are hard, by family and size
    Hard(hard::Hard),
    /// Place pods while others are negotiated about with drivers' controllers
    Negotiating(negotiating::Negotiating),
    /// Place pods that have to preempt others, on full clusters of several sizes
    Preempt(preempt::Preempt),
    /// Seat gangs of many sizes that nearly fill their cluster
    Packing(packing::Packing),
    /// Plan on a large cluster that is nearly full, without any API
    Plan(what_if::PlanBench),
    /// Start a server that has many objects
    Restart(restart::Restart),
    /// Place many pods with claims, without any API
    Schedule(schedule::Schedule),
    /// Evaluate typical device selectors over many devices
    Selectors(selectors::Selectors),
    /// Place the pods that people have: with Services, spread, apart, with claims
    Shapes(shapes::Shapes),
    /// Place pods and gangs beside a slice of an unrelated driver that all nodes reach
    SharedSlice(shared_slice::SharedSlice),
    /// Delete pods while gangs wait that this does not help, and count what is written
    Storm(storm::Storm),
    /// Decide what is hard to decide, and see how long other pods wait for it
    Turns(turns::Turns),
    Beside(beside::Beside),
    /// Place pods while others wait for devices that are made ready
    Waiting(waiting::Waiting),
    /// Measure one reader in a process of its own; `decode` calls this
    #[command(hide = true)]
    One(decode::One),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Decode(decode) => decode.run(),
        Command::Apiserver(apiserver) => apiserver.run(),
        Command::Contest(contest) => contest.run(),
        Command::Allocate(allocate) => allocate.run(),
        Command::Cold(cold) => cold.run(),
        Command::Explain(explain) => explain.run(),
        Command::Fabric(fabric) => fabric.run(),
        Command::Gang(gang) => gang.run(),
        Command::Hard(hard) => hard.run(),
        Command::Negotiating(negotiating) => negotiating.run(),
        Command::Preempt(preempt) => preempt.run(),
        Command::Packing(packing) => packing.run(),
        Command::Plan(plan) => plan.run(),
        Command::Restart(restart) => restart.run(),
        Command::Schedule(schedule) => schedule.run(),
        Command::Selectors(selectors) => selectors.run(),
        Command::Shapes(shapes) => shapes.run(),
        Command::SharedSlice(shared) => shared.run(),
        Command::Storm(storm) => storm.run(),
        Command::Turns(turns) => turns.run(),
        Command::Beside(beside) => beside.run(),
        Command::Waiting(waiting) => waiting.run(),
        Command::One(one) => one.run(),
    }
}
