//! Our scheduler beside kube-scheduler: the same pods, on the same API server, on the same machine, in one run.
//!
//! Each bout begins with a new server. Nodes and pods are made while no scheduler runs; then one is started, and a watch tells when
//! the first and the last pod is bound. The schedulers take turns, and the median of the rounds counts, so that a busy moment of the
//! machine does not fall on one of them alone. What they decide is checked, for a scheduler that breaks rules is fast.

mod bout;
mod entrant;
mod rules;
mod work;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process};

use anyhow::ensure;
use caller::real::assets;
use clap::{Args, ValueEnum};

use bout::{Outcome, Ring, bout};
use entrant::Entrant;
use work::{Work, WorkShape};

use crate::contestant::Program;

/// Have our scheduler and, where there is one, kube-scheduler place the same pods on the same API server
#[derive(Args, Debug)]
pub(crate) struct Contest {
    /// What pods are like, all shapes unless some are named
    #[arg(long = "shape", value_name = "SHAPE", value_delimiter = ',')]
    shapes: Vec<WorkShape>,
    /// How many nodes
    #[arg(long, default_value_t = 500)]
    nodes: usize,
    /// How many pods
    #[arg(long, default_value_t = 2_500)]
    pods: usize,
    /// How many devices a node has
    #[arg(long, default_value_t = 10)]
    devices: usize,
    /// How many members a gang has
    #[arg(long, default_value_t = 50)]
    gang_size: usize,
    /// How many racks there are
    #[arg(long, default_value_t = 20)]
    racks: usize,
    /// How often each scheduler has its turn
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// A kube-scheduler to compare with; by default the one beside kube-apiserver, if it is there
    #[arg(long, value_name = "FILE")]
    kube_scheduler: Option<PathBuf>,
    /// Measure only ours, even where there is another
    #[arg(long)]
    ours_only: bool,
    /// Work on our own API server, even where there is a real one
    #[arg(long)]
    own_server: bool,
    /// Features that the server and the schedulers have besides, such as DRANodeAllocatableResources=true
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    feature_gates: Vec<String>,
    /// For how many seconds a scheduler may work before it counts as not coming to an end
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    patience: u64,
}

impl Contest {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let ours = env::current_exe()?.with_file_name("supercargo");
        ensure!(ours.is_file(), "{} is not there\nhint: cargo build --release -p supercargo", ours.display());
        let found = assets();
        let server = match &found {
            Ok(folder) if !self.own_server => Program::Real(folder.clone()),
            Err(why) if !self.own_server => {
                println!("{why}\nour own API server is used instead\n");
                Program::Ours(ours.clone())
            }
            _ => Program::Ours(ours.clone()),
        };
        let theirs = self.kube_scheduler.clone().or_else(|| Some(found.ok()?.join("kube-scheduler")));
        let theirs = theirs.filter(|path| path.is_file() && !self.ours_only).map(Entrant::Theirs);
        let entrants: Vec<Entrant> = [Entrant::Ours(ours)].into_iter().chain(theirs).collect();
        println!(
            "{} nodes, {} pods, on {}, median of {}\n",
            self.nodes,
            self.pods,
            server.name(),
            self.rounds
        );
        println!(
            "{:14}{:16}{:>8}{:>9}{:>9}{:>9}{:>11}{:>12}{:>10}{:>8}",
            "shape",
            "scheduler",
            "first s",
            "pods/s",
            "CPU s",
            "in all",
            "ms a pod",
            "memory MiB",
            "pods/s",
            "CPU"
        );
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let dir = env::temp_dir().join(format!("supercargo-contest-{}", process::id()));
        let shapes = if self.shapes.is_empty() { WorkShape::value_variants() } else { &self.shapes };
        let played = shapes.iter().try_for_each(|shape| {
            let rounds = runtime.block_on(self.play(*shape, &server, &entrants, &dir))?;
            report(*shape, &entrants, &rounds, self.pods);
            anyhow::Ok(())
        });
        // Logs are kept if something went wrong.
        played?;
        Ok(fs::remove_dir_all(&dir)?)
    }

    /// The outcomes of each entrant, in turns.
    async fn play(
        &self,
        shape: WorkShape,
        program: &Program,
        entrants: &[Entrant],
        dir: &Path,
    ) -> anyhow::Result<Vec<Vec<Outcome>>> {
        let Self { nodes, pods, devices, gang_size, racks, .. } = *self;
        let work = Work { shape, nodes, pods, devices, gang_size, racks };
        let own = shape.features().iter().map(ToString::to_string);
        let features: Vec<String> = own.chain(self.feature_gates.iter().cloned()).collect();
        let mut outcomes = vec![Vec::new(); entrants.len()];
        for round in 0..self.rounds {
            for (at, entrant) in entrants.iter().enumerate() {
                let dir = &dir.join(format!("{shape}-{round}-{at}"));
                fs::create_dir_all(dir)?;
                let patience = Duration::from_secs(self.patience);
                let ring = Ring { program, dir, features: features.clone(), patience };
                outcomes[at].push(bout(&ring, &work, entrant).await?);
                fs::remove_dir_all(dir)?;
            }
        }
        Ok(outcomes)
    }
}

/// The median of some figures.
fn median(outcomes: &[Outcome], figure: impl Fn(&Outcome) -> f64) -> f64 {
    let mut figures: Vec<f64> = outcomes.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Tells what came of a shape: a line for each scheduler, and how ours compares.
fn report(shape: WorkShape, entrants: &[Entrant], outcomes: &[Vec<Outcome>], pods: usize) {
    let rate = |at: usize| median(&outcomes[at], |one| one.rate);
    let cpu = |at: usize| median(&outcomes[at], |one| one.used.cpu.as_secs_f64());
    let in_all = |at: usize| median(&outcomes[at], |one| one.used_in_all.cpu.as_secs_f64());
    for (at, entrant) in entrants.iter().enumerate() {
        let bound = median(&outcomes[at], |one| one.bound as f64);
        let first = median(&outcomes[at], |one| one.first.as_secs_f64());
        let memory = median(&outcomes[at], |one| one.used_in_all.bytes as f64 / f64::from(1 << 20));
        print!(
            "{shape:14}{:16}{first:8.1}{:9.0}{:9.2}{:9.2}{:11.2}{memory:12.0}",
            entrant.name(),
            rate(at),
            cpu(at),
            in_all(at),
            cpu(at) / bound * 1e3
        );
        if at == 0 && entrants.len() > 1 {
            print!("{:9.1}x{:>8}", rate(0) / rate(1), format!("1/{:.0}", cpu(1) / cpu(0)));
        }
        println!();
        for outcome in &outcomes[at] {
            if outcome.bound < pods {
                println!("    only {} of {pods} pods were bound in time", outcome.bound);
            }
            outcome.broken.iter().for_each(|what| println!("    {what}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Outcome, median};
    use crate::contest::entrant::Used;

    #[test]
    fn a_lone_slow_round_does_not_count() {
        let outcome = |rate| Outcome {
            bound: 1,
            rate,
            first: Duration::ZERO,
            used: Used::default(),
            used_in_all: Used::default(),
            broken: Vec::new(),
        };
        assert_eq!(median(&[900.0, 10.0, 1_000.0].map(outcome), |one| one.rate), 900.0);
    }
}
