//! Pods that are easy to place beside claims that are hard to decide, without any API: how long the former wait.
//!
//! Time is what the engine takes. Pods come in bursts, as they do when people scale something up, and each is
//! decided when its binding is asked for. What is hard is tried again whenever the engine does so by itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use cluster::change::Change;
use model::pod::Pod;
use model::timestamp::Timestamp;
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::{Write, WriteOutcome};

use crate::random::Random;
use crate::schedule::{NOW, node, pod};
use crate::turns::{hard, hard_claim};

/// How much longer pods may wait beside what is hard.
const RATIO_MAX: f64 = 2.0;
/// How long a slice may take, and how many of a thousand may take longer.
const SLICE_MS_MAX: f64 = 20.0;
const LONGER_MAX: f64 = 1.0;

/// Place pods beside claims that are hard to decide
#[derive(Debug, Args)]
pub(crate) struct Beside {
    /// How many pods have a hard claim
    #[arg(long, default_value_t = 10)]
    hard: usize,
    /// How many nodes have devices for them
    #[arg(long, default_value_t = 20)]
    nodes: usize,
    /// How many nodes there are besides
    #[arg(long, default_value_t = 500)]
    others: usize,
    /// How many pods come at once, every 200 ms
    #[arg(long, default_value_t = 500)]
    burst: usize,
    /// How many bursts
    #[arg(long, default_value_t = 100)]
    bursts: usize,
}

/// What was seen.
#[derive(Debug, Default)]
struct Seen {
    /// How long pods waited for a decision, in milliseconds.
    waits: Vec<f64>,
    /// How long turns took.
    turns: Vec<f64>,
}

impl Beside {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let alone = self.play(0)?;
        let beside = self.play(self.hard)?;
        println!(
            "hard claims      p50 ms    p99 ms   longest turn ms    turns over {SLICE_MS_MAX} ms in 1,000"
        );
        let over = |seen: &Seen| {
            let over = seen.turns.iter().filter(|ms| **ms > SLICE_MS_MAX).count();
            over as f64 * 1e3 / seen.turns.len() as f64
        };
        for (hard, seen) in [(0, &alone), (self.hard, &beside)] {
            let longest = at(&seen.turns, 1.0);
            let (p50, p99) = (at(&seen.waits, 0.5), at(&seen.waits, 0.99));
            println!("{hard:11}  {p50:10.2}  {p99:8.2}  {longest:16.1}  {:29.2}", over(seen));
        }
        let ratio = at(&beside.waits, 0.99) / at(&alone.waits, 0.99);
        println!("p99 beside what is hard: {ratio:.2} times that without");
        anyhow::ensure!(ratio <= RATIO_MAX, "goal not met: at most {RATIO_MAX} times");
        anyhow::ensure!(over(&beside) <= LONGER_MAX, "goal not met: slices of at most {SLICE_MS_MAX} ms");
        Ok(())
    }

    fn play(&self, hard_pods: usize) -> anyhow::Result<Seen> {
        let mut engine = self.engine(hard_pods);
        let mut seen = Seen::default();
        let mut came: BTreeMap<Arc<str>, f64> = BTreeMap::new();
        let (mut clock, mut next) = (0.0_f64, 0);
        while next < self.bursts || !came.is_empty() {
            let due = next as f64 * 200.0;
            if next < self.bursts && clock >= due {
                for number in 0..self.burst {
                    let number = 1_000_000 + next * self.burst + number;
                    let pod = easy(number);
                    came.insert(pod.id.name.clone(), due);
                    clock += timed(|| {
                        drop(engine.handle(at_ms(clock), Input::Changed(Change::PodApplied(Arc::new(pod)))))
                    });
                }
                next += 1;
            } else if engine.wants_turn(at_ms(clock)) {
                let mut effects = Vec::new();
                let ms = timed(|| effects = engine.handle(at_ms(clock), Input::Turn { attempts: 1 }));
                clock += ms;
                seen.turns.push(ms);
                clock += timed(|| settle(&mut engine, clock, effects, &mut came, &mut seen));
            } else {
                anyhow::ensure!(next < self.bursts, "{} pods have no node", came.len());
                clock = due;
            }
        }
        Ok(seen)
    }

    fn engine(&self, hard_pods: usize) -> Engine {
        let mut engine = hard(self.nodes, false);
        let mut random = Random::new(11);
        let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
        // The claim that is there is one of them.
        if hard_pods == 0 {
            fact(Change::PodGone(pod(0).uid));
        }
        for number in 1..hard_pods {
            fact(Change::ClaimApplied(Box::new(hard_claim(number, &mut random))));
            fact(Change::PodApplied(Arc::new(pod(number))));
        }
        for number in 0..self.others {
            fact(Change::NodeApplied(Box::new(node(self.nodes + number))));
        }
        engine
    }
}

/// A pod without claims.
fn easy(number: usize) -> Pod {
    let mut pod = pod(number);
    Arc::make_mut(&mut pod.shape).requests.cpu_milli = 100;
    Pod { claims: Vec::new(), ..pod }
}

fn at_ms(clock: f64) -> Timestamp {
    NOW.plus_millis(clock as i64)
}

fn timed(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64() * 1e3
}

/// Carries out what was asked for. A pod goes once it is bound, so that there is always room.
fn settle(
    engine: &mut Engine,
    clock: f64,
    mut effects: Vec<Effect>,
    came: &mut BTreeMap<Arc<str>, f64>,
    seen: &mut Seen,
) {
    while !effects.is_empty() {
        let mut next = Vec::new();
        for effect in effects {
            let Effect::Submit(id, write) = effect else { continue };
            if let Write::Bind { pod, uid, .. } = &write {
                if let Some(since) = came.remove(&pod.name) {
                    seen.waits.push(clock - since);
                }
                next.extend(engine.handle(at_ms(clock), Input::Changed(Change::PodGone(uid.clone()))));
            }
            next.extend(engine.handle(at_ms(clock), Input::Settled(id, WriteOutcome::Done)));
        }
        effects = next;
    }
}

/// The value below which this part of all values is.
fn at(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * part) as usize).copied().unwrap_or_default()
}
