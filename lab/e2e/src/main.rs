//! The long forms of tests: `cargo run -p e2e -- kill --pods 1000 --kills 20 --seed 7`, and
//! `cargo run --release -p e2e -- life --pods 10000`.
//!
//! Exits with 1 and says why if anything is not as it should be.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, process};

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};
use e2e::negotiate::{Others, Waits};
use e2e::passers::percentile;
use e2e::{Cluster, Program, Servant, Served, Terms, gang, givers, kill, life, negotiate, ready, upgrade};
use gates::{Gate, Gates};

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
    /// Bind a gang whose members share a claim, and hold it to a limit of time
    Gang(Gang),
    /// Live the whole lives of many pods with claims, and look whether anything is left of them
    Life(Life),
    /// Place pods whose claims a driver's own controller gives devices, and count the writes
    Negotiate(Negotiate),
    /// Measure how long it takes from the report that a device is ready until its pod is bound
    Ready(Ready),
    /// Replace two schedulers by two of another version while pods come, and measure how long no pod is bound
    Upgrade(Upgrade),
    /// Be the scheduler that is killed; tests call this
    #[command(hide = true)]
    Scheduler(Scheduler),
    /// Be the drivers' controllers that are killed; tests call this
    #[command(hide = true)]
    Givers(Givers),
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
    #[arg(long, value_name = "FILE", conflicts_with = "mixed")]
    supercargo: Option<PathBuf>,
    /// Have partitions in compatibility groups and claims that a driver's own controller allocates besides, and kill that too
    #[arg(long)]
    mixed: bool,
    /// Do it on a real server with kube-controller-manager
    #[arg(long)]
    real: bool,
}

#[derive(Args, Debug)]
struct Gang {
    /// How many members the gang has
    #[arg(long, default_value_t = 200)]
    members: usize,
    /// How long it may take from the last pod until all are bound, in milliseconds
    #[arg(long, default_value_t = 2_000)]
    within_ms: u64,
    /// Do it on a real server with kube-controller-manager
    #[arg(long)]
    real: bool,
}

#[derive(Args, Debug)]
struct Life {
    /// How many pods there are in all, each with a claim of one device from a template
    #[arg(long, default_value_t = 10_000)]
    pods: u32,
    /// How many of them are there at once
    #[arg(long, default_value_t = 500)]
    at_once: u32,
    /// How many nodes there are
    #[arg(long, default_value_t = 100)]
    nodes: u32,
    /// How many devices each node has
    #[arg(long, default_value_t = 8)]
    devices: u32,
}

#[derive(Args, Debug)]
struct Negotiate {
    /// How many pods there are, each with a claim
    #[arg(long, default_value_t = 1000)]
    pods: u32,
    /// How many nodes there are
    #[arg(long, default_value_t = 100)]
    nodes: u32,
    /// How long the driver takes for an answer, in milliseconds
    #[arg(long, default_value_t = 10)]
    answers_in_ms: u64,
    /// How many pods come each second at most; as many as the server takes if it is 0
    #[arg(long, default_value_t = 0)]
    per_second: u32,
    /// How many pods without claims come each second, alone for three seconds and then beside the others
    #[arg(long, default_value_t = 100)]
    passing: u32,
}

#[derive(Args, Debug)]
struct Ready {
    /// How many pods wait, each for a device of its own
    #[arg(long, default_value_t = 400)]
    pods: u32,
}

#[derive(Args, Debug)]
struct Upgrade {
    /// The `supercargo` that runs at first
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The `supercargo` that runs in the end
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// How many pods come each second
    #[arg(long, default_value_t = 50)]
    per_second: u32,
    /// How many pods are bound before the first scheduler is replaced, and after each
    #[arg(long, default_value_t = 500)]
    pods_between: usize,
    /// Kill the old schedulers instead of telling them to stop
    #[arg(long)]
    kill: bool,
    /// How long no pod may be bound beyond the 15 s of the lease, in milliseconds
    #[arg(long, default_value_t = 2_000)]
    within_ms: u64,
    /// Do it on a real server with kube-controller-manager
    #[arg(long)]
    real: bool,
}

#[derive(Args, Debug)]
struct Scheduler {
    #[arg(long)]
    kubeconfig: PathBuf,
    #[arg(long)]
    name: String,
    #[arg(long)]
    candidate: Option<String>,
    #[arg(long)]
    negotiating: bool,
    #[arg(long)]
    groups: bool,
}

#[derive(Args, Debug)]
struct Givers {
    #[arg(long)]
    kubeconfig: PathBuf,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match cli.command {
        Command::Kill(kill) => runtime.block_on(kill.run()),
        Command::Gang(gang) => runtime.block_on(gang.run()),
        Command::Life(life) => runtime.block_on(life.run()),
        Command::Negotiate(negotiate) => runtime.block_on(negotiate.run()),
        Command::Ready(ready) => runtime.block_on(ready.run()),
        Command::Upgrade(upgrade) => runtime.block_on(upgrade.run()),
        Command::Scheduler(scheduler) => runtime.block_on(scheduler.run()),
        Command::Givers(Givers { kubeconfig }) => runtime.block_on(givers::serve(&kubeconfig)),
    }
}

impl Kill {
    async fn run(&self) -> Result<()> {
        let dir = env::temp_dir().join(format!("supercargo-e2e-{}", process::id()));
        let served = if self.mixed { Served::Groups } else { Served::Usual };
        let (cluster, _controllers) = start(&dir, served, self.real).await?;
        let own = env::current_exe()?;
        let program = match &self.supercargo {
            Some(path) => Program::Supercargo(path.clone()),
            None => Program::Own(own.clone()),
        };
        println!("seed       {}", self.seed);
        let mixed = self.mixed.then_some(&*own);
        let options = kill::KillOptions { pods: self.pods, kills: self.kills, seed: self.seed, mixed };
        let report = options.run(&cluster, &program).await?;
        println!("pods       {}, all bound and none of their devices lost", self.pods);
        println!("killed at  {:?}", report.killed_at);
        println!("took       {:.1} s", report.took.as_secs_f64());
        std::fs::remove_dir_all(&dir)?;
        Ok(())
    }
}

/// A cluster of our own, or one on a real server with kube-controller-manager.
async fn start(dir: &Path, served: Served, real: bool) -> Result<(Cluster, Option<Servant>)> {
    if !real {
        return Ok((Cluster::embedded_with(dir, served)?, None));
    }
    let cluster = Cluster::real_with(dir, served).await?.map_err(anyhow::Error::msg)?;
    let controllers = Servant::kube_controllers(&cluster, served)?;
    Ok((cluster, controllers))
}

impl Gang {
    async fn run(&self) -> Result<()> {
        let dir = env::temp_dir().join(format!("supercargo-gang-{}", process::id()));
        let (cluster, controllers) = start(&dir, Served::Groups, self.real).await?;
        let report = gang::GangOptions { members: self.members }.run(&cluster).await?;
        let beside = match (self.real, controllers.is_some()) {
            (false, _) => "on the embedded server",
            (true, true) => "on a real server with kube-controller-manager",
            (true, false) => "on a real server; there is no kube-controller-manager",
        };
        println!("gang       {} members that share a claim, {beside}", self.members);
        println!("took       {} ms from the last pod until all were bound", report.took.as_millis());
        println!("writes     {} of the claim", report.writes);
        println!("goal       under {} ms", self.within_ms);
        ensure!(report.took < Duration::from_millis(self.within_ms), "that took too long");
        Ok(())
    }
}

impl Ready {
    async fn run(&self) -> Result<()> {
        let dir = env::temp_dir().join(format!("supercargo-ready-{}", process::id()));
        let report = ready::ReadyOptions { pods: self.pods }.run(&Cluster::embedded(&dir)?).await?;
        let millis = |percent| report.percentile(percent).as_secs_f64() * 1e3;
        println!("pods       {}, each bound when its device was reported ready", self.pods);
        println!(
            "took       p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
            millis(50),
            millis(99),
            millis(100)
        );
        println!("goal       under 50 ms from the report to the request that binds the pod");
        Ok(())
    }
}

impl Life {
    async fn run(&self) -> Result<()> {
        let dir = env::temp_dir().join(format!("supercargo-life-{}", process::id()));
        let cluster = Cluster::embedded(&dir)?;
        let Life { pods, at_once, nodes, devices } = *self;
        let options = life::LifeOptions { pods, at_once, nodes, devices };
        let report = options.run(&cluster).await?;
        let seconds = report.took.as_secs_f64();
        println!("pods       {pods}, at most {at_once} at once on {nodes} nodes with {devices} devices each");
        println!(
            "took       {seconds:.1} s, {:.0} claims a second from template to nothing",
            f64::from(pods) / seconds
        );
        let megabytes = |bytes: &Option<u64>| bytes.map_or("?".to_owned(), |bytes| (bytes >> 20).to_string());
        let memory: Vec<String> = report.memory.iter().map(megabytes).collect();
        println!("memory     {} MiB after each quarter of the pods", memory.join(", "));
        println!("left       nothing: no pod, no claim, no device that is held");
        for complaint in report.complaints {
            println!("complaint  {complaint}");
        }
        Ok(())
    }
}

impl Negotiate {
    async fn run(&self) -> Result<()> {
        let dir = env::temp_dir().join(format!("supercargo-negotiate-{}", process::id()));
        let cluster = Cluster::embedded(&dir)?;
        let Negotiate { pods, nodes, answers_in_ms, per_second, passing } = *self;
        let answers_in = Duration::from_millis(answers_in_ms);
        let options = negotiate::NegotiateOptions { pods, nodes, answers_in, per_second, passing };
        let report = options.run(&cluster).await?;
        let seconds = report.took.as_secs_f64();
        println!(
            "pods       {pods} on {nodes} nodes, each with a claim of a driver that answers in {answers_in_ms} ms"
        );
        println!("took       {seconds:.1} s, {:.0} pods a second", f64::from(pods) / seconds);
        let each = |count: u64| count as f64 / f64::from(pods);
        println!("writes     {:.2} for each pod, and {:.2} events", each(report.writes), each(report.events));
        if passing > 0 {
            report_others(&report, passing);
        }
        Ok(())
    }
}

fn report_others(report: &negotiate::Report, passing: u32) {
    let millis = |waits: &[Duration], percent| percentile(waits, percent).as_secs_f64() * 1e3;
    let Others { alone, beside, busy } = &report.others;
    let by_rote = format!("beside {:.0} writes a second by rote", report.pace_by_rote);
    let beside_them = format!("beside them and their {:.0} writes a second", report.pace);
    for (who, Waits { whole, decision }) in [("alone", alone), (&*beside_them, beside), (&*by_rote, busy)] {
        let [p50, p99] = [50, 99].map(|percent| millis(whole, percent));
        println!(
            "others     {} {who}, {passing} a second: bound after p50 {p50:.1} ms, p99 {p99:.1} ms",
            whole.len()
        );
        let [p50, p99] = [50, 99].map(|percent| millis(decision, percent));
        println!("           of that in the scheduler p50 {p50:.2} ms, p99 {p99:.2} ms");
    }
    let ratio = |over: &Waits, percent| millis(&beside.whole, percent) / millis(&over.whole, percent);
    println!("ratio      to alone: p50 {:.2}, p99 {:.2}", ratio(alone, 50), ratio(alone, 99));
    println!("ratio      to as many writes by rote: p50 {:.2}, p99 {:.2}", ratio(busy, 50), ratio(busy, 99));
}

/// How long the lease of a leader is valid; one that is told to stop releases it.
const LEASE: Duration = Duration::from_secs(15);

impl Upgrade {
    async fn run(&self) -> Result<()> {
        let dir = env::temp_dir().join(format!("supercargo-upgrade-{}", process::id()));
        let (cluster, _controllers) = start(&dir, Served::Usual, self.real).await?;
        let Upgrade { from, to, per_second, pods_between, kill, .. } = self;
        let options = upgrade::UpgradeOptions {
            from,
            to,
            per_second: *per_second,
            pods_between: *pods_between,
            kill: *kill,
        };
        let report = options.run(&cluster, &dir.join("replicas")).await?;
        let seconds = |percent| percentile(&report.waits, percent).as_secs_f64();
        let on = if self.real { "a real server" } else { "the embedded server" };
        println!("pods       {} on {on}, {per_second} a second, all bound", report.waits.len());
        println!(
            "waited     p50 {:.3} s, p99 {:.3} s, longest {:.3} s",
            seconds(50),
            seconds(99),
            seconds(100)
        );
        let goal = LEASE + Duration::from_millis(self.within_ms);
        println!("gap        {:.3} s without a pod bound", report.gap.as_secs_f64());
        println!("goal       at most {:.1} s", goal.as_secs_f64());
        ensure!(report.gap <= goal, "that took too long");
        std::fs::remove_dir_all(&dir)?;
        Ok(())
    }
}

impl Scheduler {
    async fn run(&self) -> Result<()> {
        let gates = if self.groups { Served::Groups.gates() } else { Gates::default() };
        let gates = gates.with(Gate::DRAControlPlaneController, self.negotiating);
        let terms = Terms { candidate: self.candidate.clone(), gates, ..Terms::named(&self.name) };
        e2e::serve(&self.kubeconfig, &terms).await
    }
}
