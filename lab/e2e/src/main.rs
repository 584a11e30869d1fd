//! The long forms of tests: `cargo run -p e2e -- kill --pods 1000 --kills 20 --seed 7`, and `lives --pods 10000`.
//!
//! Exits with 1 and says why if anything is not as it should be.

use std::path::PathBuf;
use std::{env, process};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use e2e::kill::Plan;
use e2e::{Cluster, Program, Terms, lives};

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "e2e", about = "Schedulers at work on whole clusters")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Kill a scheduler again and again while pods with claims are on their way
    Kill(Kill),
    /// Let pods with claims from a template live: made, placed, run, ended, gone
    Lives(Lives),
    /// Be the scheduler that is killed; tests call this
    #[command(hide = true)]
    Scheduler(Scheduler),
}

#[derive(Args, Debug)]
struct Kill {
    /// How many pods there are, each with a claim of one device
    #[arg(long, default_value_t = 1000)]
    pods: u32,
    /// How often the scheduler is killed
    #[arg(long, default_value_t = 20)]
    kills: u32,
    /// When it is killed
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Kill this `supercargo` instead of a scheduler of our own
    #[arg(long, value_name = "FILE")]
    supercargo: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct Lives {
    /// How many pods live, each with a claim of one device
    #[arg(long, default_value_t = 10_000)]
    pods: u32,
    /// How many of them are there at a time
    #[arg(long, default_value_t = 1_000)]
    at_once: u32,
    /// How many devices there are
    #[arg(long, default_value_t = 512)]
    devices: u32,
}

#[derive(Args, Debug)]
struct Scheduler {
    #[arg(long)]
    kubeconfig: PathBuf,
    #[arg(long)]
    name: String,
    #[arg(long)]
    candidate: Option<String>,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match cli.command {
        Command::Kill(kill) => runtime.block_on(kill.run()),
        Command::Lives(lives) => runtime.block_on(lives.run()),
        Command::Scheduler(scheduler) => runtime.block_on(scheduler.run()),
    }
}

impl Kill {
    async fn run(&self) -> Result<()> {
        let dir = env::temp_dir().join(format!("supercargo-e2e-{}", process::id()));
        let cluster = Cluster::embedded(&dir)?;
        let program = match &self.supercargo {
            Some(path) => Program::Supercargo(path.clone()),
            None => Program::Own(env::current_exe()?),
        };
        println!("seed       {}", self.seed);
        let plan = Plan { pods: self.pods, kills: self.kills, seed: self.seed };
        let report = plan.run(&cluster, &program).await?;
        println!("pods       {}, all bound and none of their devices lost", self.pods);
        println!("killed at  {:?}", report.killed_at);
        println!("took       {:.1} s", report.took.as_secs_f64());
        std::fs::remove_dir_all(&dir)?;
        Ok(())
    }
}

impl Lives {
    async fn run(&self) -> Result<()> {
        let dir = env::temp_dir().join(format!("supercargo-e2e-{}", process::id()));
        let cluster = Cluster::embedded(&dir)?;
        let plan = lives::Plan { pods: self.pods, at_once: self.at_once, devices: self.devices };
        let report = plan.run(&cluster).await?;
        let seconds = report.took.as_secs_f64();
        println!("pods       {}, all gone with their claims", self.pods);
        println!("took       {seconds:.1} s, {:.0} claims a second", f64::from(self.pods) / seconds);
        println!("memory     {:?} MiB", report.memory_mib);
        let (worked, retried) = report.worked;
        println!("work       {worked} pieces, {retried} of them tried again");
        println!("troubles   {:?}", report.troubles);
        Ok(())
    }
}

impl Scheduler {
    async fn run(&self) -> Result<()> {
        let terms = Terms { name: self.name.clone(), candidate: self.candidate.clone(), shadow: false };
        e2e::serve(&self.kubeconfig, &terms).await
    }
}
