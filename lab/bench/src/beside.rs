//! Pods that are easy to place beside claims and gangs that are hard to decide, without any API: how long the former wait.
//!
//! Time is what the engine takes on a processor. Pods come in bursts, as they do when people scale something up, and each is
//! decided when its binding is asked for. What is hard is tried again whenever the engine does so by itself, and is considered on
//! another thread, as a live scheduler does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use cluster::change::Change;
use model::pod::Pod;
use model::timestamp::Timestamp;
use scheduler::engine::{ConsiderationId, ConsiderationOutcome, Effect, Engine, Input};
use scheduler::write::{Write, WriteOutcome};

use crate::clock::worked;
use crate::random::Random;
use crate::schedule::{NOW, node, pod};
use crate::turns::{gang_of, hard, hard_claim, tight, wanting};

/// How much longer pods may wait beside what is hard.
const RATIO_MAX: f64 = 2.0;
/// How long a slice may take, and how many of a thousand may take longer.
const SLICE_MS_MAX: f64 = 20.0;
const LONGER_MAX: f64 = 1.0;

/// The numbers of nodes for gangs, and of members.
const TIGHT_FROM: usize = 100_000;
const GANGS_FROM: usize = 200_000;

/// Place pods beside claims and gangs that are hard to decide
#[derive(Debug, Args)]
pub(crate) struct Beside {
    /// How many pods have a hard claim
    #[arg(long, default_value_t = 10)]
    hard: usize,
    /// How many gangs do not fit, which is hard to tell
    #[arg(long, default_value_t = 2)]
    hard_gangs: usize,
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
    /// How long slices took: turns, and what is heard of considerations.
    slices: Vec<f64>,
    /// How many considerations there were.
    considered: usize,
}

/// Decides what takes long, on other threads.
struct Lanes {
    open: usize,
    sender: Sender<(ConsiderationId, ConsiderationOutcome)>,
    receiver: Receiver<(ConsiderationId, ConsiderationOutcome)>,
}

impl Lanes {
    fn new() -> Lanes {
        let (sender, receiver) = channel();
        Lanes { open: 0, sender, receiver }
    }

    /// Takes considerations out of what is to be done.
    fn begin(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let mut others = Vec::with_capacity(effects.len());
        for effect in effects {
            let Effect::Consider(id, consideration) = effect else {
                others.push(effect);
                continue;
            };
            let sender = self.sender.clone();
            self.open += 1;
            thread::spawn(move || {
                let outcome = ConsiderationOutcome::Decided(Box::new(consideration.run()));
                // If nobody listens any more it is all over.
                let _ = sender.send((id, outcome));
            });
        }
        others
    }

    /// What is decided by now, or within so many milliseconds.
    fn next(&mut self, within_ms: f64) -> Option<Input> {
        if self.open == 0 {
            return None;
        }
        let within = Duration::from_secs_f64(within_ms.max(0.0) / 1e3);
        let (id, outcome) = self.receiver.recv_timeout(within).ok()?;
        self.open -= 1;
        Some(Input::Considered(id, outcome))
    }
}

impl Beside {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        println!(
            "claims  gangs    p50 ms    p99 ms  longest slice ms  slices over {SLICE_MS_MAX} ms in 1,000  considerations"
        );
        let over = |seen: &Seen| {
            let over = seen.slices.iter().filter(|ms| **ms > SLICE_MS_MAX).count();
            over as f64 * 1e3 / seen.slices.len() as f64
        };
        let mut cases = Vec::new();
        for (hard, gangs) in [(0, 0), (self.hard, 0), (self.hard, self.hard_gangs)] {
            let seen = self.play(hard, gangs)?;
            let longest = at(&seen.slices, 1.0);
            let (p50, p99) = (at(&seen.waits, 0.5), at(&seen.waits, 0.99));
            println!(
                "{hard:6}  {gangs:5}  {p50:8.2}  {p99:8.2}  {longest:16.1}  {:31.2}  {:14}",
                over(&seen),
                seen.considered
            );
            cases.push(seen);
        }
        let mut missed = Vec::new();
        for (seen, what) in cases[1..].iter().zip(["claims", "claims and gangs"]) {
            let ratio = at(&seen.waits, 0.99) / at(&cases[0].waits, 0.99);
            println!("p99 beside hard {what}: {ratio:.2} times that without");
            if ratio > RATIO_MAX {
                missed.push(format!("at most {RATIO_MAX} times beside hard {what}"));
            }
            if over(seen) > LONGER_MAX {
                missed.push(format!("slices of at most {SLICE_MS_MAX} ms beside hard {what}"));
            }
        }
        anyhow::ensure!(missed.is_empty(), "goals not met: {}", missed.join(", "));
        Ok(())
    }

    fn play(&self, hard_pods: usize, hard_gangs: usize) -> anyhow::Result<Seen> {
        let mut engine = self.engine(hard_pods, hard_gangs);
        let (mut seen, mut lanes) = (Seen::default(), Lanes::new());
        let mut came: BTreeMap<Arc<str>, f64> = BTreeMap::new();
        let (mut clock, mut next) = (0.0_f64, 0);
        while next < self.bursts || !came.is_empty() {
            let due = next as f64 * 200.0;
            let mut input = lanes.next(0.0);
            if input.is_none() && next < self.bursts && clock >= due {
                for number in 0..self.burst {
                    let number = 1_000_000 + next * self.burst + number;
                    let pod = easy(number);
                    came.insert(pod.id.name.clone(), due);
                    clock += timed(|| {
                        drop(engine.handle(at_ms(clock), Input::Changed(Change::PodApplied(Arc::new(pod)))))
                    });
                }
                next += 1;
                continue;
            }
            if input.is_none() && engine.wants_turn(at_ms(clock)) {
                input = Some(Input::Turn { attempts: 1 });
            }
            if input.is_none() {
                anyhow::ensure!(next < self.bursts || lanes.open > 0, "{} pods have no node", came.len());
                // Nothing is to be done but what other threads do.
                let most = if next < self.bursts { due - clock } else { 10_000.0 };
                let began = Instant::now();
                input = lanes.next(most);
                let waited = began.elapsed().as_secs_f64() * 1e3;
                // That this thread wakes late on a busy machine is no time that the engine takes.
                clock = if input.is_some() { clock + waited.min(most) } else { clock + most };
            }
            let Some(input) = input else { continue };
            seen.considered += usize::from(matches!(input, Input::Considered(..)));
            let mut effects = Vec::new();
            let ms = timed(|| effects = engine.handle(at_ms(clock), input));
            clock += ms;
            seen.slices.push(ms);
            let effects = lanes.begin(effects);
            clock += timed(|| settle(&mut engine, clock, effects, &mut came, &mut seen));
        }
        Ok(seen)
    }

    fn engine(&self, hard_pods: usize, hard_gangs: usize) -> Engine {
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
        // Gangs of which there is room for all members but one, which is hard to tell.
        if hard_gangs > 0 {
            tight(&mut fact, TIGHT_FROM);
        }
        for gang in 0..hard_gangs {
            let name = format!("gang-{gang}");
            fact(gang_of(&name, 65, 0));
            for number in 0..65 {
                let wants = if number < 33 { 3 } else { 2 };
                let number = GANGS_FROM + gang * 100 + number;
                fact(Change::ClaimApplied(Box::new(wanting(number, "other", wants))));
                fact(Change::PodApplied(Arc::new(Pod { group: Some(name.as_str().into()), ..pod(number) })));
            }
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
    let began = worked();
    work();
    (worked() - began).as_secs_f64() * 1e3
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How much work it is until all pods of a burst have a node, and how much the largest slice is, while what is hard is considered and
    /// never decided.
    fn burst(hard_pods: usize, hard_gangs: usize) -> (u64, u64) {
        let beside = Beside { hard: hard_pods, hard_gangs, nodes: 4, others: 100, burst: 300, bursts: 1 };
        let mut engine = beside.engine(hard_pods, hard_gangs);
        let (mut seen, mut came) = (Seen::default(), BTreeMap::new());
        let (mut all, mut largest) = (0, 0);
        let mut slice = |engine: &mut Engine, came: &mut _| {
            let effects = engine.handle(NOW, Input::Turn { attempts: 1 });
            let work = engine.work_done();
            largest = largest.max(work);
            settle(engine, 0.0, effects, came, &mut seen);
            work
        };
        while engine.wants_turn(NOW) {
            slice(&mut engine, &mut came);
        }
        for number in 1_000_000..1_000_000 + beside.burst {
            let pod = easy(number);
            came.insert(pod.id.name.clone(), 0.0);
            engine.handle(NOW, Input::Changed(Change::PodApplied(Arc::new(pod))));
        }
        while !came.is_empty() {
            assert!(engine.wants_turn(NOW), "{} pods have no node", came.len());
            all += slice(&mut engine, &mut came);
        }
        (all, largest)
    }

    #[test]
    fn pods_beside_what_is_hard_wait_for_no_long_slice_and_little_more_work() {
        let (alone, _) = burst(0, 0);
        for (hard, gangs) in [(10, 0), (10, 2)] {
            let (beside, largest) = burst(hard, gangs);
            assert!(
                beside as f64 <= alone as f64 * RATIO_MAX,
                "{beside} beside {hard} and {gangs}, {alone} alone"
            );
            assert!(largest as f64 <= SLICE_MS_MAX * 1e6, "a slice of {largest} beside {hard} and {gangs}");
        }
    }
}
