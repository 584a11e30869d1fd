//! Hard claims by family and size: how many are decided within so many steps, and how many steps that takes.
//!
//! Steps do not depend on the machine, so the bench fails if too few are decided. With `--json` each instance is written down with our
//! verdict, one to a line and as the API's objects, so that a judge of another kind can be asked about it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use allocation::{AllocationAnswer, DeviceOrder};
use clap::Args;
use fuzz::allocation::{answered, check_allocated};
use serde_json::json;
use testkit::{Family, Instance, hard};

use crate::clock::worked;

/// How many of a hundred have to be decided.
const DECIDED_MIN: usize = 95;

/// Decide claims that are hard, by family and size
#[derive(Args, Debug)]
pub(crate) struct Hard {
    /// How many requests a claim has
    #[arg(long, value_delimiter = ',', default_values_t = [6, 12, 20, 32])]
    requests: Vec<usize>,
    /// How many instances of each family and size
    #[arg(long, default_value_t = 60)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Within how many steps they have to be decided
    #[arg(long, default_value_t = 100_000)]
    steps: u64,
    /// Only families with this text in their names
    #[arg(long, default_value = "")]
    only: String,
    /// Write instances and verdicts to this file, one to a line
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What came of instances.
#[derive(Default)]
struct Seen {
    allocated: usize,
    impossible: usize,
    open: usize,
    steps: Vec<u64>,
    ms: Vec<f64>,
}

impl Hard {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut file = self.json.as_ref().map(File::create).transpose()?.map(BufWriter::new);
        println!(
            "{:12} {:>8} {:>9} {:>10} {:>5} {:>11} {:>9} {:>9} {:>9} {:>9}",
            "family",
            "requests",
            "allocated",
            "impossible",
            "open",
            "steps: half",
            "99 %",
            "most",
            "ms: half",
            "most"
        );
        let mut short = Vec::new();
        for family in Family::ALL.into_iter().filter(|family| self.is_wanted(*family)) {
            for requests in &self.requests {
                let seen = self.look(family, *requests, &mut file)?;
                let Seen { allocated, impossible, open, .. } = seen;
                let name = format!("{family:?}").to_lowercase();
                println!(
                    "{name:12} {requests:>8} {allocated:>9} {impossible:>10} {open:>5} {:>11} {:>9} {:>9} {:>9.2} {:>9.2}",
                    at(&seen.steps, 50),
                    at(&seen.steps, 99),
                    at(&seen.steps, 100),
                    at(&seen.ms, 50),
                    at(&seen.ms, 100)
                );
                if (allocated + impossible) * 100 < DECIDED_MIN * (allocated + impossible + open) {
                    short.push(format!("{name} with {requests} requests"));
                }
            }
        }
        anyhow::ensure!(
            short.is_empty(),
            "fewer than {DECIDED_MIN} in 100 are decided within {} steps: {}",
            self.steps,
            short.join(", ")
        );
        println!("goal: at least {DECIDED_MIN} in 100 decided within {} steps: met", self.steps);
        Ok(())
    }

    fn is_wanted(&self, family: Family) -> bool {
        format!("{family:?}").to_lowercase().contains(&self.only)
    }

    fn look(
        &self,
        family: Family,
        requests: usize,
        file: &mut Option<BufWriter<File>>,
    ) -> anyhow::Result<Seen> {
        let mut seen = Seen::default();
        for seed in self.from..self.from + self.seeds {
            let instance = hard(family, requests, seed);
            let began = worked();
            let reply = answered(&instance, DeviceOrder::Upstream, self.steps);
            seen.ms.push((worked() - began).as_secs_f64() * 1e3);
            let reply = reply.map_err(|error| {
                anyhow::anyhow!(
                    "{family:?} with {requests} requests and seed {seed} cannot be judged: {error}"
                )
            })?;
            let verdict = match &reply.answer {
                AllocationAnswer::Allocated(allocations) => {
                    check_allocated(&instance, allocations);
                    seen.allocated += 1;
                    "allocated"
                }
                AllocationAnswer::Impossible(_) => {
                    seen.impossible += 1;
                    "impossible"
                }
                AllocationAnswer::BudgetSpent => {
                    seen.open += 1;
                    "open"
                }
            };
            seen.steps.push(reply.steps);
            if let Some(file) = file {
                let name = format!("{family:?}").to_lowercase();
                let head = json!({"family": name, "requests": requests, "seed": seed, "verdict": verdict, "steps": reply.steps});
                writeln!(file, "{}", written(head, &instance))?;
            }
        }
        Ok(seen)
    }
}

/// An instance as the API's objects.
fn written(mut head: serde_json::Value, instance: &Instance) -> serde_json::Value {
    head["node"] = json!(instance.node);
    head["slices"] = json!(instance.slices);
    head["classes"] = json!(instance.classes);
    head["claims"] = json!(instance.claims);
    head["holders"] = json!(instance.holders);
    head
}

/// The value below which so many of a hundred are.
fn at<T: Copy + PartialOrd + Default>(values: &[T], percent: usize) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_by(|left, right| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal));
    let last = sorted.len().saturating_sub(1);
    sorted.get((sorted.len() * percent / 100).min(last)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_claims_of_every_family_are_decided_within_their_steps() {
        for (requests, seeds, steps) in [(6, 6, 6_000), (14, 3, 20_000)] {
            let hard =
                Hard { requests: vec![requests], seeds, from: 0, steps, only: String::new(), json: None };
            hard.run().expect("enough of each family are decided");
        }
    }
}
