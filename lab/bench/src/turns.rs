//! Turns that are hard to decide, without any API: how long other pods wait for one of them.
//!
//! A turn is not to take long whatever it is about. What is not decided by then is told as such, and tried again later.

use std::sync::Arc;

use clap::Args;
use cluster::change::{Change, GroupChange};
use cluster::claims::ClaimState;
use cluster::published::Published;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::{Gate, Gates};
use model::claim::{Amount, Ask, Claim, ClaimSpec, Class, Constraint, Request, Rule, Wish};
use model::device::{Attribute, Device, PoolId, Reach, Slice};
use model::group::{Group, GroupId};
use model::pod::Pod;
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::Write;
use selector::SliceRevision;

use crate::clock::worked;
use crate::random::Random;
use crate::schedule::{NOW, claim, node, pod, slice};

/// How long a turn may take.
const TURN_MS_MAX: f64 = 1_000.0;

/// As many steps as the default settings allow for a node.
const STEPS_MAX: u64 = 1_000_000;

/// Decide what is hard to decide
#[derive(Debug, Args)]
pub(crate) struct Turns {
    /// How many nodes there are for claims that are hard
    #[arg(long, default_value_t = 20)]
    nodes: usize,
    /// How many nodes there are for a gang whose devices take of their node
    #[arg(long, default_value_t = 5_000)]
    many_nodes: usize,
}

/// What came of a turn.
#[derive(Debug, PartialEq)]
struct Outcome {
    placed: usize,
    told: String,
    ms: f64,
}

impl Turns {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        println!("case                                          placed        ms  told");
        let gang = Gang::default;
        // Each node has room for one that wants three, or for two that want two, and one node is missing.
        let tight =
            || Gang { members: 65, wants: |number| if number < 33 { 3 } else { 2 }, devices: 4, ..gang() };
        let cases: [(&str, Engine); 9] = [
            ("gang", gang().engine()),
            ("gang, beside a shared pool of another kind", Gang { shared: Some("other"), ..gang() }.engine()),
            ("gang, beside a shared pool", Gang { shared: Some("gpu"), ..gang() }.engine()),
            (
                "tight gang, beside a shared pool of another kind",
                Gang { shared: Some("other"), ..tight() }.engine(),
            ),
            ("tight gang, beside a shared pool", Gang { shared: Some("gpu"), ..tight() }.engine()),
            ("large gang", Gang { nodes: self.many_nodes, members: 1_000, ..gang() }.engine()),
            (
                "large gang, devices may take of nodes",
                Gang { nodes: self.many_nodes, members: 1_000, footings: true, ..gang() }.engine(),
            ),
            ("pod with a hard claim", hard(self.nodes, false)),
            ("pod with a hard claim, one easy node", hard(self.nodes, true)),
        ];
        let mut slowest = 0.0_f64;
        for (name, engine) in cases {
            let Outcome { placed, told, ms } = turn(engine);
            println!("{name:44}  {placed:6}  {ms:8.1}  {}", told.chars().take(120).collect::<String>());
            slowest = slowest.max(ms);
        }
        let met = if slowest < TURN_MS_MAX { "met" } else { "not met" };
        println!("goal: every turn in under {TURN_MS_MAX} ms: {met}");
        Ok(())
    }
}

/// All turns until something came of it, and how long the longest took.
fn turn(mut engine: Engine) -> Outcome {
    let (mut effects, mut ms) = (Vec::new(), 0.0_f64);
    while engine.wants_turn(NOW) {
        let began = worked();
        effects.extend(engine.handle(NOW, Input::Turn { attempts: 1 }));
        ms = ms.max((worked() - began).as_secs_f64() * 1e3);
    }
    let is_seat = |effect: &&Effect| matches!(effect, Effect::Submit(_, Write::Allocate { .. }));
    let note = effects.iter().find_map(|effect| match effect {
        Effect::Submit(_, Write::Note { message, .. }) => Some(message.clone()),
        _ => None,
    });
    Outcome { placed: effects.iter().filter(is_seat).count(), told: note.unwrap_or_default(), ms }
}

fn engine(gates: &[Gate]) -> Engine {
    let mut engine = Engine::new(Settings {
        profiles: vec![Arc::new(Profile::named("supercargo"))],
        gates: gates.iter().fold(Gates::default(), |gates, gate| gates.with(*gate, true)),
        patience: Patience::default(),
        search_steps_max: STEPS_MAX,
    });
    for name in ["gpu", "other"] {
        let selector = format!("device.driver == \"{name}.example.com\"").into();
        let class = Class { name: name.into(), selectors: vec![Some(selector)], ..Class::default() };
        engine.handle(NOW, Input::Changed(Change::ClassApplied(class)));
    }
    engine
}

/// A gang of which each member wants a device.
struct Gang {
    nodes: usize,
    members: usize,
    /// How many devices each member wants, by its number.
    wants: fn(usize) -> i64,
    /// Devices of each node.
    devices: usize,
    /// The driver of a pool that all nodes reach.
    shared: Option<&'static str>,
    footings: bool,
}

impl Default for Gang {
    fn default() -> Gang {
        Gang { nodes: 48, members: 63, wants: |_| 1, devices: 2, shared: None, footings: false }
    }
}

impl Gang {
    fn engine(&self) -> Engine {
        let mut gates = vec![Gate::GenericWorkload, Gate::TopologyAwareWorkloadScheduling];
        if self.footings {
            gates.push(Gate::DRANodeAllocatableResources);
        }
        let mut engine = engine(&gates);
        let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
        for number in 0..self.nodes {
            fact(Change::NodeApplied(Box::new(node(number))));
            fact(Change::SliceApplied(Arc::new(slice(number, self.devices))));
        }
        if let Some(driver) = self.shared {
            fact(Change::SliceApplied(Arc::new(shared(driver))));
        }
        fact(Change::Group(GroupChange::Applied(Box::new(Group {
            id: GroupId { namespace: "default".into(), name: "gang".into() },
            uid: "gang-uid".into(),
            at_least: self.members as u32,
            preempts: true,
            ..Group::default()
        }))));
        for number in 0..self.members {
            let mut state = claim(number);
            let mut wish = Claim::clone(&state.wish);
            if let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish {
                ask.amount = Amount::Exactly((self.wants)(number));
            }
            state.wish = Arc::new(wish);
            fact(Change::ClaimApplied(Box::new(state)));
            fact(Change::PodApplied(Arc::new(Pod { group: Some("gang".into()), ..pod(number) })));
        }
        engine
    }
}

/// A pool of one device that all nodes reach.
fn shared(driver: &str) -> Published {
    let slice = Slice {
        name: "shared".into(),
        pool: PoolId { driver: format!("{driver}.example.com").into(), pool: "shared".into() },
        generation: 1,
        slices_in_pool: 1,
        reach: Reach::Everywhere,
        devices: vec![Device { name: "shared-0".into(), ..Device::default() }],
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    };
    Published::new(slice, SliceRevision { slice: u64::MAX, revision: 1 })
}

/// How many requests a hard claim has, and how many pairs of them have to agree in an attribute.
const REQUESTS: u64 = 24;
const PAIRS: u64 = 54;
/// Attributes of devices, and how many values each may have.
const ATTRIBUTES: u64 = 6;
const VALUES: u64 = 9;
/// Devices of a node.
const DEVICES: usize = 96;

/// A pod whose claim wants devices that agree with each other in many ways, and nodes with devices that differ in many.
pub(crate) fn hard(nodes: usize, has_easy: bool) -> Engine {
    let mut engine = engine(&[]);
    let mut random = Random::new(7);
    let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
    for number in 0..nodes {
        fact(Change::NodeApplied(Box::new(node(number))));
        let is_easy = has_easy && number + 1 == nodes;
        let mut slice = slice(number, DEVICES).slice;
        for device in &mut slice.devices {
            for at in 0..ATTRIBUTES {
                let value = if is_easy { 0 } else { random.below(VALUES) as i64 };
                device.attributes.insert(format!("a{at}").into(), Attribute::Int(value));
            }
        }
        let revision = SliceRevision { slice: number as u64, revision: 1 };
        fact(Change::SliceApplied(Arc::new(Published::new(slice, revision))));
    }
    let state = hard_claim(0, &mut random);
    fact(Change::ClaimApplied(Box::new(state)));
    fact(Change::PodApplied(Arc::new(pod(0))));
    engine
}

/// A claim that wants devices that agree with each other in many ways.
pub(crate) fn hard_claim(number: usize, random: &mut Random) -> ClaimState {
    let mut state = claim(number);
    let ask = Ask {
        class: "gpu".into(),
        selectors: Vec::new(),
        amount: Amount::Exactly(1),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    };
    let name = |at: u64| -> Arc<str> { format!("r{at}").into() };
    let request = |at: u64| Request { name: name(at), wish: Wish::Exactly(ask.clone()) };
    let mut pair = || {
        let first = random.below(REQUESTS);
        let second = (first + 1 + random.below(REQUESTS - 1)) % REQUESTS;
        let attribute = format!("gpu.example.com/a{}", random.below(ATTRIBUTES)).into();
        Constraint { requests: vec![name(first).into(), name(second).into()], rule: Rule::Match(attribute) }
    };
    let constraints = (0..PAIRS).map(|_| pair()).collect();
    let requests = (0..REQUESTS).map(request).collect();
    state.wish = Arc::new(Claim {
        id: state.wish.id.clone(),
        spec: ClaimSpec { requests, constraints, ..ClaimSpec::default() },
    });
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_pool_of_another_kind_makes_no_gang_harder() {
        for shared in [None, Some("other")] {
            let gang = Gang { shared, ..Gang::default() };
            assert_eq!(turn(gang.engine()).placed, 63, "{shared:?}");
        }
    }
}
