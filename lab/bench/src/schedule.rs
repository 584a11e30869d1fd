//! Places many pods with a claim each, without any API: facts in, writes out, and every write is carried out at once.

use std::sync::Arc;

use clap::Args;
use cluster::change::Change;
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::ledger::Holding;
use cluster::published::Published;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::Gates;
use model::claim::{Amount, Ask, Claim, ClaimId, ClaimSpec, Class, Request, Wish};
use model::device::{Attribute, Device, PoolId, Reach, Slice};
use model::node::Node;
use model::pod::{ClaimSource, Pod, PodClaim, PodId, Resources, Shape};
use model::timestamp::Timestamp;
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::{Write, WriteOutcome};
use selector::SliceRevision;

use crate::clock::clock;
use crate::considering;
use crate::memory::resident_bytes;

/// The time, which does not pass.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_000_000);

const DRIVER: &str = "gpu.example.com";

/// How many decisions a second have to be reached.
const DECISIONS_MIN: f64 = 20_000.0;
/// How much memory it may take.
const BYTES_MAX: u64 = 1 << 30;
/// How much more a pod may cost with ten times the nodes.
const GROWTH_MAX: f64 = 3.0;

/// Place pods with claims on nodes with devices
#[derive(Debug, Args)]
pub(crate) struct Schedule {
    /// How many nodes
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// How many devices each has; there is a pod with a claim for each
    #[arg(long, default_value_t = 8)]
    devices: usize,
    /// How many lanes look at nodes. With several, the time on the wall counts
    #[arg(long, default_value_t = 1)]
    lanes: u32,
}

/// What came of a run.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) placed: usize,
    /// Processor time for decisions alone, and for all that the engine did.
    pub(crate) deciding: f64,
    /// Nominal nanoseconds of decisions, where turns are one decision each.
    pub(crate) work: u64,
    all: f64,
}

impl Schedule {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let before = resident_bytes().unwrap_or(0);
        let large = play((self.nodes, self.devices), self.lanes)?;
        let bytes = resident_bytes().unwrap_or(0).saturating_sub(before);
        let small = play(((self.nodes / 10).max(1), self.devices), self.lanes)?;
        let cost = |run: &Run| run.deciding / run.placed as f64 * 1e6;
        println!("nodes  devices   pods   decisions/s   µs a decision   µs a pod with all facts and answers");
        for (nodes, run) in [(self.nodes, &large), ((self.nodes / 10).max(1), &small)] {
            let rate = run.placed as f64 / run.deciding;
            let all = run.all / run.placed as f64 * 1e6;
            println!(
                "{nodes:5}  {:7}  {:5}  {rate:12.0}  {:14.1}  {all:35.1}",
                self.devices,
                run.placed,
                cost(run)
            );
        }
        println!("memory after the larger run: {} MiB more", bytes >> 20);
        let met = |goal: bool| if goal { "met" } else { "not met" };
        let rate = large.placed as f64 / large.deciding;
        println!("goal: {DECISIONS_MIN} decisions a second on one core: {}", met(rate >= DECISIONS_MIN));
        println!("goal: under 1 GiB: {}", met(bytes < BYTES_MAX));
        let growth = cost(&large) / cost(&small);
        let goal = met(growth <= GROWTH_MAX);
        println!(
            "goal: a decision costs at most {GROWTH_MAX} times as much with ten times the nodes: {goal}, {growth:.2}"
        );
        Ok(())
    }
}

pub(crate) fn node(number: usize) -> Node {
    let allocatable = Resources { cpu_milli: 64_000, memory: 256 << 30, ..Resources::default() };
    Node { name: format!("node-{number}").into(), allocatable, pods_max: 110, ..Node::default() }
}

pub(crate) fn slice(number: usize, devices: usize) -> Published {
    let device = |at: usize| Device {
        name: format!("gpu-{at}").into(),
        attributes: [
            ("model".into(), Attribute::String("h100".into())),
            ("index".into(), Attribute::Int(at as i64)),
        ]
        .into(),
        ..Device::default()
    };
    let name: Arc<str> = format!("node-{number}").into();
    let slice = Slice {
        name: format!("node-{number}-gpus").into(),
        pool: PoolId { driver: DRIVER.into(), pool: name.clone() },
        generation: 1,
        slices_in_pool: 1,
        reach: Reach::Node(name.into()),
        devices: (0..devices).map(device).collect(),
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    };
    Published::new(slice, SliceRevision { slice: number as u64, revision: 1 })
}

pub(crate) fn claim(number: usize) -> ClaimState {
    let model = format!("device.attributes[\"{DRIVER}\"].model == \"h100\"");
    let ask = Ask {
        class: "gpu".into(),
        selectors: vec![Some(model.into())],
        amount: Amount::Exactly(1),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    };
    let request = Request { name: "gpu".into(), wish: Wish::Exactly(ask) };
    let id = ClaimId { namespace: "default".into(), name: format!("claim-{number}").into() };
    ClaimState {
        uid: format!("claim-uid-{number}").into(),
        version: "1".into(),
        wish: Arc::new(Claim { id, spec: ClaimSpec { requests: vec![request], ..ClaimSpec::default() } }),
        allocation: None,
        reserved_for: Vec::new(),
        owner: None,
        extended: false,
        deleting: false,
        protected: false,
        preparation: None,
        control: Default::default(),
    }
}

pub(crate) fn pod(number: usize) -> Pod {
    let requests = Resources { cpu_milli: 1_000, memory: 1 << 30, ..Resources::default() };
    let shape = Shape {
        namespace: "default".into(),
        scored: requests.clone(),
        requests,
        containers: 1,
        ..Shape::default()
    };
    let source = ClaimSource::Named(format!("claim-{number}").into());
    Pod {
        id: PodId { namespace: "default".into(), name: format!("pod-{number}").into() },
        uid: format!("pod-uid-{number}").into(),
        scheduler: "supercargo".into(),
        node: None,
        nominated_node: None,
        running: false,
        finished: false,
        deleting: false,
        priority: 0,
        preempts: true,
        created: None,
        started: None,
        gates: Vec::new(),
        claims: vec![PodClaim { name: "gpu".into(), source }],
        group: None,
        landing: None,
        shape: Arc::new(shape),
    }
}

/// An engine that knows nodes with devices.
pub(crate) fn cluster(nodes: usize, devices: usize) -> Engine {
    cluster_with(Gates::default(), nodes, devices)
}

/// The same with features that are wanted.
pub(crate) fn cluster_with(gates: Gates, nodes: usize, devices: usize) -> Engine {
    let mut engine = Engine::new(Settings {
        profiles: vec![Arc::new(Profile::named("supercargo"))],
        gates,
        patience: Patience::default(),
        search_steps_max: 10_000,
    });
    let selector = format!("device.driver == \"{DRIVER}\"").into();
    let class = Class { name: "gpu".into(), selectors: vec![Some(selector)], ..Class::default() };
    let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
    fact(Change::ClassApplied(class));
    for number in 0..nodes {
        fact(Change::NodeApplied(Box::new(node(number))));
        fact(Change::SliceApplied(Arc::new(slice(number, devices))));
    }
    engine
}

/// Tells the engine about everything, and lets it place all pods.
fn play((nodes, devices): (usize, usize), lanes: u32) -> anyhow::Result<Run> {
    let mut engine = cluster(nodes, devices).with_lanes(crate::lanes::lanes(lanes));
    let worked = clock(lanes);
    let now = NOW;
    let mut fact = |change: Change| drop(engine.handle(now, Input::Changed(change)));
    let pods = nodes * devices;
    for number in 0..pods {
        fact(Change::ClaimApplied(Box::new(claim(number))));
        fact(Change::PodApplied(Arc::new(pod(number))));
    }
    let mut run = Run::default();
    let began = worked();
    while run.placed < pods {
        let turn = worked();
        let (effects, _) = considering::turn(&mut engine, now, 1_000);
        run.deciding += (worked() - turn).as_secs_f64();
        let placed = run.placed;
        carry_out(&mut engine, now, effects, &mut run);
        anyhow::ensure!(run.placed > placed, "no pod was placed any more after {placed} of {pods}");
    }
    run.all = (worked() - began).as_secs_f64();
    Ok(run)
}

/// Does what the engine asks for, and tells it.
pub(crate) fn carry_out(engine: &mut Engine, now: Timestamp, mut effects: Vec<Effect>, run: &mut Run) {
    while !effects.is_empty() {
        let mut next = Vec::new();
        for effect in effects {
            let Effect::Submit(id, write) = effect else { continue };
            if let Some(change) = written(&write, run) {
                next.extend(engine.handle(now, Input::Changed(change)));
            }
            next.extend(engine.handle(now, Input::Settled(id, WriteOutcome::Done)));
        }
        effects = next;
    }
}

/// What the API would tell after a write.
pub(crate) fn written(write: &Write, run: &mut Run) -> Option<Change> {
    let number = |name: &str| name.rsplit('-').next().and_then(|number| number.parse().ok());
    match write {
        Write::Allocate { claim: id, allocation, consumers, .. } => {
            let held = allocation.grants.iter().map(|grant| Held {
                device: grant.device.clone(),
                share: None,
                holding: Holding {
                    holder: id.clone().into(),
                    groups: grant.groups.clone(),
                    consumed: Default::default(),
                },
                tolerations: grant.tolerations.clone(),
            });
            let allocated = Allocated { nodes: allocation.nodes.clone(), held: held.collect() };
            let mut state = claim(number(&id.name)?);
            state.allocation = Some(Arc::new(allocated));
            state.reserved_for = vec![consumers[0].user()];
            Some(Change::ClaimApplied(Box::new(state)))
        }
        Write::Bind { pod: id, node, .. } => {
            run.placed += 1;
            let bound = Pod { node: Some(node.clone()), ..pod(number(&id.name)?) };
            Some(Change::PodApplied(Arc::new(bound)))
        }
        // Nothing else changes where anything is, and the rest is asked for by nobody here.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::play;

    #[test]
    fn every_pod_gets_a_device() {
        let run = play((20, 4), 1).expect("all pods are placed");
        assert_eq!(run.placed, 80);
    }
}
