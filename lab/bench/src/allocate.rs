//! How many steps and how much time it takes to find devices, on nodes that make it hard and on many nodes that do not.
//!
//! Steps do not depend on the machine, so they have limits, and so have outcomes: the bench fails if one is not kept.
//! Time is only told.

mod cases;
mod fleet;
mod partitions;
mod ties;
mod world;

use std::hint::black_box;
use std::time::Duration;

use allocation::{AllocationAnswer, Asked, Expressions, Reply};
use anyhow::bail;
use clap::Args;

use crate::clock;
use cases::{CASES, Case, Outcome};
use fleet::{Fleet, SWEEPS, Sweep, Swept};

/// A search may go on for so many times its limit, so that what it needs is told and nobody waits for ever.
const BUDGET_FACTOR: u64 = 100;

/// How long to work at least before the time of one call is taken to be known.
const WORK_MIN: Duration = Duration::from_millis(40);

/// How much to measure
#[derive(Args, Debug)]
pub(crate) struct Allocate {
    /// How many nodes of eight GPUs
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// How often to measure; the median is told
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only what has this text in its name
    #[arg(long, default_value = "")]
    only: String,
}

impl Allocate {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut broken = Vec::new();
        println!("{:44} {:>10} {:>8} {:>8} {:>12}", "case", "outcome", "steps", "limit", "time");
        for case in CASES.iter().filter(|case| case.name.contains(&self.only)) {
            broken.extend(self.measure(case)?);
        }
        if SWEEPS.iter().any(|sweep| sweep.name.contains(&self.only)) {
            self.measure_fleet(&mut broken)?;
        }
        if !broken.is_empty() {
            bail!("{} of the limits and outcomes are not kept:\n  {}", broken.len(), broken.join("\n  "));
        }
        Ok(())
    }

    fn measure(&self, case: &Case) -> anyhow::Result<Option<String>> {
        let (world, claims) = ((case.world)()?, case.claims());
        let claims: Vec<Asked<'_>> = claims.iter().map(Asked::from).collect();
        let mut expressions = Expressions::default();
        let budget = case.steps_max * BUDGET_FACTOR;
        let reply = world.ask(&claims, budget, &mut expressions)?;
        let time = median(self.runs, || {
            black_box(world.ask(&claims, budget, &mut expressions)?);
            Ok(())
        })?;
        let (name, outcome) = (case.name, told(&reply.answer));
        println!("{name:44} {outcome:>10} {:>8} {:>8} {:>12}", reply.steps, case.steps_max, text(time));
        Ok(case.complaint(&reply))
    }

    fn measure_fleet(&self, broken: &mut Vec<String>) -> anyhow::Result<()> {
        let fleet = Fleet::new(self.nodes)?;
        let nodes = fleet.len().max(1) as u32;
        println!();
        println!(
            "{:44} {:>10} {:>8} {:>8} {:>12} {:>12}",
            format!("on {nodes} nodes"),
            "fitting",
            "steps",
            "limit",
            "time",
            "per node"
        );
        let row = |name: String, fitting: String, steps: String, limit: String, time: Duration| {
            let (time, each) = (text(time), text(time / nodes));
            println!("{name:44} {fitting:>10} {steps:>8} {limit:>8} {time:>12} {each:>12}");
        };
        let viewing = median(self.runs, || {
            black_box(fleet.view()?);
            Ok(())
        })?;
        row("fleet: pools as nodes see them".into(), "-".into(), "-".into(), "-".into(), viewing);
        for sweep in SWEEPS.iter().filter(|sweep| sweep.name.contains(&self.only)) {
            let (claim, ledger) = (sweep.claim(), fleet.taken(sweep.taken));
            let budget = sweep.steps_max * BUDGET_FACTOR;
            let first = median(self.runs, || {
                black_box(fleet.sweep(&claim, &ledger, budget, &mut Expressions::default())?);
                Ok(())
            })?;
            let mut expressions = Expressions::default();
            let swept = fleet.sweep(&claim, &ledger, budget, &mut expressions)?;
            let time = median(self.runs, || {
                black_box(fleet.sweep(&claim, &ledger, budget, &mut expressions)?);
                Ok(())
            })?;
            let (fitting, steps) = (swept.fitting.to_string(), swept.steps_most.to_string());
            let limit = sweep.steps_max.to_string();
            row(format!("{}, first sweep", sweep.name), fitting.clone(), steps.clone(), limit.clone(), first);
            row(sweep.name.to_owned(), fitting, steps, limit, time);
            broken.extend(sweep.complaint(&swept, fleet.len()));
        }
        Ok(())
    }
}

impl Case {
    /// What is wrong with a reply.
    fn complaint(&self, reply: &Reply) -> Option<String> {
        let outcome = match reply.answer {
            AllocationAnswer::Allocated(_) => Some(Outcome::Allocated),
            AllocationAnswer::Impossible(_) => Some(Outcome::Impossible),
            AllocationAnswer::BudgetSpent => None,
        };
        if outcome != Some(self.outcome) {
            let (wanted, told) = (self.outcome, told(&reply.answer));
            return Some(format!("{}: {told} after {} steps instead of {wanted:?}", self.name, reply.steps));
        }
        complain(self.name, reply.steps, self.steps_max)
    }
}

impl Sweep {
    /// What is wrong with what came of a sweep.
    fn complaint(&self, swept: &Swept, nodes: usize) -> Option<String> {
        let wanted = if self.fits { nodes } else { 0 };
        if swept.fitting != wanted {
            return Some(format!("{}: {} nodes fit instead of {wanted}", self.name, swept.fitting));
        }
        complain(self.name, swept.steps_most, self.steps_max)
    }
}

fn complain(name: &str, steps: u64, steps_max: u64) -> Option<String> {
    (steps > steps_max).then(|| format!("{name}: {steps} steps, of which there may be {steps_max}"))
}

fn told(answer: &AllocationAnswer) -> &'static str {
    match answer {
        AllocationAnswer::Allocated(_) => "allocated",
        AllocationAnswer::Impossible(_) => "impossible",
        AllocationAnswer::BudgetSpent => "gave up",
    }
}

/// The median time of one call. Each measurement takes as many calls as the clock needs to tell them.
fn median(runs: usize, mut call: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let (began, mut calls) = (clock::worked(), 0);
        let took = loop {
            call()?;
            calls += 1;
            let took = clock::worked().saturating_sub(began);
            if took >= WORK_MIN {
                break took;
            }
        };
        times.push(took / calls);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

fn text(time: Duration) -> String {
    match time.as_secs_f64() * 1e6 {
        micros if micros < 1e3 => format!("{micros:.1} µs"),
        micros if micros < 1e6 => format!("{:.2} ms", micros / 1e3),
        micros => format!("{:.2} s", micros / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_search_takes_more_steps_than_it_may() {
        let complaint = |case: &Case| {
            let (world, claims) = ((case.world)().expect("the node is well formed"), case.claims());
            let claims: Vec<Asked<'_>> = claims.iter().map(Asked::from).collect();
            let budget = case.steps_max + 1;
            let reply = world.ask(&claims, budget, &mut Expressions::default()).expect("the claims are too");
            case.complaint(&reply)
        };
        let complaints: Vec<String> = CASES.iter().filter_map(complaint).collect();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }

    #[test]
    fn no_sweep_takes_more_steps_than_it_may() {
        let fleet = Fleet::new(20).expect("the nodes are well formed");
        for sweep in SWEEPS {
            let (claim, ledger) = (sweep.claim(), fleet.taken(sweep.taken));
            let swept = fleet.sweep(&claim, &ledger, sweep.steps_max + 1, &mut Expressions::default());
            assert_eq!(sweep.complaint(&swept.expect("the claim is too"), fleet.len()), None);
        }
    }

    #[test]
    fn eight_gpus_have_all_their_partitions() {
        let world = partitions::empty().expect("the node is well formed");
        let [cluster::pools::PoolView::Whole(pool)] = &world.pools[..] else { panic!("one whole pool") };
        let devices: usize = pool.here.iter().map(|slice| slice.slice.devices.len()).sum();
        let sets: usize = pool.counters.iter().map(|slice| slice.slice.counter_sets.len()).sum();
        assert_eq!((devices, sets), (152, 8));
    }
}
