//! Decisions for which every node has to be looked at, without any API: how long they take with one lane, and with several.
//!
//! Each pod is the first of its kind, so that no answer is kept. What is decided has to be the same with any number of lanes.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use cluster::change::Change;
use model::claim::{Amount, Claim, Wish};
use model::pod::{Pod, Resources, Shape};
use scheduler::engine::{Effect, Engine, Input};

use crate::considering;
use crate::schedule::{NOW, claim, cluster};

/// How many devices a node has.
const DEVICES: usize = 8;

/// Decide where every node has to be looked at, in several lanes
#[derive(Debug, Args)]
pub(crate) struct Cold {
    /// How many nodes
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// How many lanes at the most
    #[arg(long, default_value_t = 2)]
    lanes: u32,
    /// How many decisions of each sort; the median counts
    #[arg(long, default_value_t = 9)]
    runs: usize,
}

/// What a pod needs.
#[derive(Clone, Copy, Debug)]
enum Needs {
    /// Processor and memory.
    Little,
    /// More than any node has.
    TooMuch,
    /// A device.
    Device,
    /// More devices than any node has.
    TooManyDevices,
}

const CASES: [(&str, Needs); 4] = [
    ("a plain pod", Needs::Little),
    ("one that fits nowhere", Needs::TooMuch),
    ("one with a claim", Needs::Device),
    ("one whose claim fits nowhere", Needs::TooManyDevices),
];

impl Cold {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        println!("case                          lanes  turns  ms until decided");
        for (name, needs) in CASES {
            let mut told = None;
            let mut lanes = 1;
            while lanes <= self.lanes {
                let (turns, ms, effects) = self.play(needs, lanes);
                println!("{name:28}  {lanes:5}  {turns:5}  {ms:16.2}");
                anyhow::ensure!(
                    *told.get_or_insert_with(|| effects.clone()) == effects,
                    "{name}: other lanes decide otherwise"
                );
                lanes *= 2;
            }
        }
        Ok(())
    }

    /// How many turns a decision takes, how long in the middle, and all that came of it.
    fn play(&self, needs: Needs, lanes: u32) -> (usize, f64, String) {
        let mut engine = cluster(self.nodes, DEVICES).with_lanes(crate::lanes::lanes(lanes));
        let (mut times, mut turns, mut told) = (Vec::new(), 0, String::new());
        for number in 0..self.runs {
            come(&mut engine, number, needs);
            let began = Instant::now();
            let (mut effects, mut work) = (Vec::new(), 0);
            turns = 0;
            while !effects.iter().any(is_decision) {
                assert!(engine.wants_turn(NOW), "a pod that waits is decided about: {effects:?}");
                let (more, done) = considering::turn(&mut engine, NOW, 1);
                effects.extend(more);
                work += done;
                turns += 1;
            }
            times.push(began.elapsed().as_secs_f64() * 1e3);
            told += &format!("{effects:?} {work}\n");
            engine.handle(NOW, Input::Changed(Change::PodGone(format!("pod-uid-{number}").into())));
        }
        times.sort_by(f64::total_cmp);
        (turns, times[times.len() / 2], told)
    }
}

/// Whether something is written for a pod, or of it, since it is known where it goes or why it cannot.
fn is_decision(effect: &Effect) -> bool {
    matches!(effect, Effect::Submit(..))
}

/// A pod that is the first of its kind.
fn come(engine: &mut Engine, number: usize, needs: Needs) {
    let mut pod = crate::schedule::pod(number);
    let cpu_milli = match needs {
        Needs::TooMuch => 1_000_000,
        _ => 1_000,
    };
    let requests =
        Resources { cpu_milli: cpu_milli + number as i64, memory: 1 << 30, ..Resources::default() };
    let shape = Shape { scored: requests.clone(), requests, ..Shape::clone(&pod.shape) };
    if matches!(needs, Needs::Little | Needs::TooMuch) {
        pod.claims.clear();
    } else {
        let mut state = claim(number);
        let mut wish = Claim::clone(&state.wish);
        if let (Needs::TooManyDevices, Wish::Exactly(ask)) = (needs, &mut wish.spec.requests[0].wish) {
            ask.amount = Amount::Exactly(DEVICES as i64 + 1);
        }
        state.wish = Arc::new(wish);
        engine.handle(NOW, Input::Changed(Change::ClaimApplied(Box::new(state))));
    }
    let pod = Pod { shape: Arc::new(shape), ..pod };
    engine.handle(NOW, Input::Changed(Change::PodApplied(Arc::new(pod))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_decide_the_same() {
        let cold = Cold { nodes: 600, lanes: 2, runs: 2 };
        for (name, needs) in CASES {
            let told = cold.play(needs, 1).2;
            assert_eq!(told, cold.play(needs, 2).2, "{name}");
            let fits = matches!(needs, Needs::Little | Needs::Device);
            let is_placed = told.contains("Bind {") || told.contains("Allocate {");
            assert_eq!(is_placed, fits, "{name}: {told}");
        }
    }
}
