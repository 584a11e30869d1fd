//! Pods that wait for devices which are made ready: whether they hold others up, and how much memory they take.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use cluster::change::Change;
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::ledger::Holding;
use cluster::preparation::{Preparation, Progress};
use cluster::published::Published;
use model::claim::{Amount, Ask, Claim, ClaimId, ClaimSpec, Class, Request, Wish};
use model::device::{Binding, Device, PoolId, Reach, Slice};
use model::pod::{ClaimSource, Pod, PodClaim, PodId};
use model::timestamp::Timestamp;
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::{Write, WriteOutcome};
use selector::SliceRevision;

use crate::memory::resident_bytes;
use crate::schedule::{NOW, Run, carry_out, claim, cluster, pod};

const DRIVER: &str = "fabric.example.com";

/// How much longer others may take.
const SLOWER_MAX: f64 = 1.2;
/// How much memory a waiting pod may take.
const BYTES_MAX: u64 = 20 << 10;

/// Place pods while others wait for devices that are made ready
#[derive(Debug, Args)]
pub(crate) struct Waiting {
    /// How many nodes, with eight devices each
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// How many pods wait; each on a node of its own
    #[arg(long, default_value_t = 1_000)]
    waiting: usize,
    /// How many others are placed meanwhile
    #[arg(long, default_value_t = 10_000)]
    others: usize,
}

impl Waiting {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.waiting <= self.nodes && self.others <= self.nodes * 8,
            "there are too few nodes"
        );
        let mut alone = cluster(self.nodes, 8);
        let mut beside = cluster(self.nodes, 8);
        let before = resident_bytes().unwrap_or(0);
        let_wait(&mut beside, self.waiting)?;
        let bytes = resident_bytes().unwrap_or(0).saturating_sub(before) / self.waiting.max(1) as u64;
        // One after the other in turn, so that both have the same neighbours on the machine.
        let (mut quiet, mut busy) = (Vec::new(), Vec::new());
        for number in 0..self.others {
            quiet.push(place(&mut alone, NOW, number)?);
            busy.push(place(&mut beside, NOW, number)?);
        }
        anyhow::ensure!(beside.readying() == self.waiting, "{} still wait", beside.readying());
        let (quiet, busy) = (percentiles(quiet), percentiles(busy));
        println!("µs from a pod to its binding      p50      p99");
        println!("nobody waits                  {:7.1}  {:7.1}", quiet.0, quiet.1);
        println!("{:5} pods wait               {:7.1}  {:7.1}", self.waiting, busy.0, busy.1);
        println!("memory of a waiting pod: {bytes} bytes");
        let met = |goal: bool| if goal { "met" } else { "not met" };
        let ratio = busy.1 / quiet.1;
        println!("goal: p99 at most {SLOWER_MAX} times as long: {}, {ratio:.2}", met(ratio <= SLOWER_MAX));
        println!("goal: under 20 KiB: {}", met(bytes < BYTES_MAX));
        Ok(())
    }
}

/// Lets pods wait, one on each of so many nodes.
fn let_wait(engine: &mut Engine, pods: usize) -> anyhow::Result<()> {
    let selector = format!("device.driver == \"{DRIVER}\"").into();
    let class = Class { name: "fabric".into(), selectors: vec![Some(selector)], ..Class::default() };
    let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
    fact(Change::ClassApplied(class));
    for number in 0..pods {
        fact(Change::SliceApplied(Arc::new(fabric(number))));
        fact(Change::ClaimApplied(Box::new(wanting(number))));
        fact(Change::PodApplied(Arc::new(waiter(number))));
    }
    for _ in 0..pods {
        for effect in engine.handle(NOW, Input::Turn { attempts: 1 }) {
            let Effect::Submit(id, Write::Allocate { claim, allocation, consumers, .. }) = effect else {
                continue;
            };
            let number = claim.name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0);
            let device = allocation.grants[0].device.clone();
            let mut state = wanting(number);
            let holding =
                Holding { holder: claim.into(), groups: Default::default(), consumed: Default::default() };
            let held = vec![Held { device: device.clone(), share: None, holding, tolerations: Vec::new() }];
            state.allocation = Some(Arc::new(Allocated { nodes: allocation.nodes.clone(), held }));
            state.reserved_for = vec![consumers[0].user()];
            let missing = allocation.grants[0].binding.conditions.clone();
            let progress = Progress { device, timeout_ms: None, missing, failed: None };
            state.preparation = Some(Arc::new(Preparation { since: Some(NOW), devices: vec![progress] }));
            drop(engine.handle(NOW, Input::Changed(Change::ClaimApplied(Box::new(state)))));
            drop(engine.handle(NOW, Input::Settled(id, WriteOutcome::Done)));
        }
    }
    anyhow::ensure!(engine.readying() == pods, "{} of {pods} pods wait", engine.readying());
    Ok(())
}

/// A device on a node that has to be attached.
fn fabric(number: usize) -> Published {
    let binding = Binding {
        conditions: vec!["fabric.example.com/attached".into()],
        failures: vec!["fabric.example.com/failed".into()],
        timeout: None,
    };
    let node: Arc<str> = format!("node-{number}").into();
    let slice = Slice {
        name: format!("node-{number}-fabric").into(),
        pool: PoolId { driver: DRIVER.into(), pool: node.clone() },
        generation: 1,
        slices_in_pool: 1,
        reach: Reach::Node(node.into()),
        devices: vec![Device { name: "gpu".into(), binding, ..Device::default() }],
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    };
    Published::new(slice, SliceRevision { slice: (1 << 32) + number as u64, revision: 1 })
}

fn wanting(number: usize) -> ClaimState {
    let ask = Ask {
        class: "fabric".into(),
        selectors: Vec::new(),
        amount: Amount::Exactly(1),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    };
    let requests = vec![Request { name: "gpu".into(), wish: Wish::Exactly(ask) }];
    let id = ClaimId { namespace: "default".into(), name: format!("waiting-{number}").into() };
    let wish = Claim { id, spec: ClaimSpec { requests, ..ClaimSpec::default() } };
    ClaimState { uid: format!("waiting-uid-{number}").into(), wish: Arc::new(wish), ..claim(number) }
}

fn waiter(number: usize) -> Pod {
    let source = ClaimSource::Named(format!("waiting-{number}").into());
    Pod {
        id: PodId { namespace: "default".into(), name: format!("waiter-{number}").into() },
        uid: format!("waiter-uid-{number}").into(),
        claims: vec![PodClaim { name: "gpu".into(), source }],
        ..pod(number)
    }
}

/// Tells of a pod and lets it be bound, and says how many microseconds that took. Whoever was ready before has its turn first.
pub(crate) fn place(engine: &mut Engine, now: Timestamp, number: usize) -> anyhow::Result<f64> {
    let mut run = Run::default();
    let (wish, pod) = (Box::new(claim(number)), Arc::new(pod(number)));
    let began = Instant::now();
    drop(engine.handle(now, Input::Changed(Change::ClaimApplied(wish))));
    drop(engine.handle(now, Input::Changed(Change::PodApplied(pod))));
    while run.placed == 0 && engine.wants_turn(now) {
        let effects = engine.handle(now, Input::Turn { attempts: 1 });
        carry_out(engine, now, effects, &mut run);
    }
    let took = began.elapsed().as_secs_f64() * 1e6;
    anyhow::ensure!(run.placed == 1, "pod {number} was not placed");
    Ok(took)
}

/// The 50th and the 99th of a hundred.
pub(crate) fn percentiles(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    (at(50), at(99))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_placed_while_pods_wait() {
        let small = Waiting { nodes: 20, waiting: 10, others: 40 };
        small.run().expect("all others are placed");
    }
}
