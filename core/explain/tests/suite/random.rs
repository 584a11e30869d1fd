//! What holds for explanations of random pods that fit nowhere: each change that is told helps, no smaller set of constraints conflicts,
//! and numbers are those of a recount of the objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use decisions::considering::{Consideration, PodVerdict, SchedulingVerdict};
use decisions::lanes::OneLane;
use decisions::node_refusal::ResourceName;
use decisions::preempt::Attempt;
use decisions::reason::{Reason, Rule};
use explain::{Audience, Case, Effort, Extent, LeadsTo, PodExplanation, RefusedPod, WaitingPod, explain_pod};
use model::claim::{self, Constraint, Toleration, TolerationValue};
use model::device::{Capacity, CounterSet, Device, Draw, Taint, TaintEffect};
use model::node::{Node, NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{HostPort, Pod, Spread};
use model::quantity::{Format, Quantity};

use crate::cluster_of::{
    Cluster, Draft, HOST, ask, claim_with, cluster_with_devices, gpu, labelled, node, on, pod, pod_id,
    tainted, term,
};

/// How many instances that do not fit are looked at.
const INSTANCES: usize = if cfg!(feature = "many-instances") { 2_000 } else { 300 };

/// Numbers from a seed.
#[derive(Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5555)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A cluster with a pod that waits, and the objects that it is made of.
struct Instance {
    cluster: Cluster,
    nodes: Vec<Node>,
    pods: Vec<Pod>,
    pod: Pod,
}

pub fn random_node(dice: &mut Dice, name: &str) -> Node {
    let mut made = labelled(node(name, 2 + 2 * dice.below(4) as i64), "zone", dice.pick(&["z1", "z2"]));
    if dice.one_in(2) {
        made = labelled(made, "disk", dice.pick(&["ssd", "hdd"]));
    }
    if dice.one_in(4) {
        made = tainted(made, dice.pick(&["dedicated", "maintenance"]));
    }
    made.unschedulable = dice.one_in(8);
    if dice.one_in(8) {
        made.pods_max = 1;
    }
    made
}

/// One in so many cards may be shared by claims, each of which then has a part of its memory.
const SHARED_ONE_IN: u64 = 6;

pub fn random_card(dice: &mut Dice, number: usize) -> Device {
    let (model, numa) = (dice.pick(&["large", "small"]), dice.pick(&["0", "1"]));
    let mut card = gpu(number, &[("model", model), ("numa", numa)]);
    if dice.one_in(8) {
        let effect = TaintEffect::NoSchedule;
        card.taints.push(Taint { key: "broken".into(), value: "".into(), effect });
    }
    let memory = amount(10 * (1 + dice.below(3) as i64));
    card.capacity.insert("gpu.example.com/memory".into(), Capacity { value: memory, policy: None });
    card.shareable = dice.one_in(SHARED_ONE_IN);
    card
}

fn amount(value: i64) -> Quantity {
    Quantity::new(value, Format::DecimalSi)
}

/// Lets cards draw on counters that are not enough for all of them, sometimes each in one of two groups that exclude each other.
pub fn with_counters(dice: &mut Dice, cards: &mut [Device]) -> Vec<CounterSet> {
    let counters = |value: i64| BTreeMap::from([("slots".into(), amount(value))]);
    let is_grouped = dice.one_in(2);
    for card in cards.iter_mut() {
        let (counter_set, counters) = ("board".into(), counters(1 + dice.below(2) as i64));
        let groups = if is_grouped { vec![dice.pick(&["mig", "vgpu"]).into()] } else { Vec::new() };
        card.draws.push(Draw { counter_set, counters, groups });
    }
    vec![CounterSet { name: "board".into(), counters: counters(1 + dice.below(4) as i64) }]
}

fn port() -> HostPort {
    HostPort { address: "0.0.0.0".into(), protocol: "TCP".into(), port: 80 }
}

/// A pod with labels, requests and rules.
fn random_pod(dice: &mut Dice, name: &str, cpu_max: u64) -> Draft {
    let mut draft = pod(name).cpu(1 + dice.below(cpu_max) as i64).labels("app", dice.pick(&["web", "db"]));
    if dice.one_in(5) {
        draft = draft.apart("app", dice.pick(&["web", "db"]), dice.pick(&[HOST, "zone"]));
    }
    if dice.one_in(5) {
        draft = draft.shape(|shape| shape.ports.push(port()));
    }
    draft
}

pub fn random_wish(dice: &mut Dice, name: &str) -> cluster::claims::ClaimState {
    let asks = (0..1 + dice.below(2)).map(|number| {
        let mut one = ask(1 + dice.below(3) as i64);
        if dice.one_in(2) {
            let model = dice.pick(&["large", "small"]);
            let text = format!("device.attributes[\"gpu.example.com\"].model == \"{model}\"");
            one.selectors.push(Some(text.into()));
        }
        if dice.one_in(4) {
            let least = amount(10 * (1 + dice.below(3) as i64));
            one.capacity = Some(BTreeMap::from([("gpu.example.com/memory".into(), least)]));
        }
        if dice.one_in(4) {
            let (key, effect, seconds) = Default::default();
            one.tolerations.push(Toleration { key, value: TolerationValue::Any, effect, seconds });
        }
        (if number == 0 { "first" } else { "second" }, one)
    });
    let mut state = claim_with(name, asks.collect());
    if dice.one_in(3) {
        let attribute = "gpu.example.com/numa".into();
        let rule =
            if dice.one_in(3) { claim::Rule::Distinct(attribute) } else { claim::Rule::Match(attribute) };
        let constraint = Constraint { requests: Vec::new(), rule };
        Arc::make_mut(&mut state.wish).spec.constraints.push(constraint);
    }
    state
}

fn instance(seed: u64) -> Instance {
    let mut dice = Dice::new(seed);
    let mut built = cluster_with_devices();
    let (mut nodes, mut pods) = (Vec::new(), Vec::new());
    for number in 0..1 + dice.below(5) {
        let name = format!("n{number}");
        let made = random_node(&mut dice, &name);
        nodes.push(made.clone());
        let count = dice.below(5) as usize;
        let mut cards: Vec<Device> = (0..count).map(|number| random_card(&mut dice, number)).collect();
        let counters = if dice.one_in(3) { with_counters(&mut dice, &mut cards) } else { Vec::new() };
        let (shared, mut free): (Vec<usize>, Vec<usize>) =
            (0..count).partition(|number| cards[*number].shareable);
        built = built.with_counted(made, cards, counters);
        for card in shared {
            if dice.one_in(2) {
                let holder = format!("{name}-share-{card}");
                built = built.sharing(&holder, &name, card, 10 * (1 + dice.below(2) as i64));
                pods.push(on(pod(&holder).0, &name));
            }
        }
        for other in 0..dice.below(3) {
            let there = on(random_pod(&mut dice, &format!("{name}-{other}"), 3).0, &name);
            pods.push(there.clone());
            built = built.pod(there);
        }
        while !free.is_empty() && dice.one_in(2) {
            let cards: Vec<usize> = free.drain(..1 + dice.below(free.len() as u64) as usize).collect();
            let holder = format!("{name}-holder-{}", free.len());
            if dice.one_in(4) {
                built = built.idle(&holder, &name, &cards);
            } else {
                built = built.user(&holder, &name, &cards);
                pods.push(on(pod(&holder).0, &name));
            }
        }
    }
    let mut draft = random_pod(&mut dice, "subject", 6);
    if dice.one_in(4) {
        draft = draft.selects("disk", dice.pick(&["ssd", "hdd"]));
    }
    if dice.one_in(6) {
        let values = vec![dice.pick(&["z1", "z2", "z3"]).into()];
        let wanted = Requirement { key: "zone".into(), operator: Operator::In, values };
        let term = NodeTerm { fields: Vec::new(), labels: vec![wanted] };
        draft = draft.shape(|shape| shape.node_affinity = Some(NodeSelector { terms: vec![term] }));
    }
    if dice.one_in(6) {
        draft = draft.near("app", dice.pick(&["web", "db"]), dice.pick(&[HOST, "zone"]));
    }
    if dice.one_in(6) {
        let spread = Spread {
            max_skew: 1,
            key: dice.pick(&[HOST, "zone"]).into(),
            required: true,
            selector: term("app", dice.pick(&["web", "db"]), "").selector,
            min_domains: 1,
            honor_affinity: true,
            honor_taints: dice.one_in(2),
        };
        draft = draft.shape(|shape| shape.spread.push(spread));
    }
    if dice.one_in(3) {
        draft.0.preempts = false;
    }
    if dice.below(4) != 0 {
        built = built.claim(random_wish(&mut dice, "wish"));
        draft = draft.claims(&["wish"]);
    }
    let subject = draft.0;
    Instance { cluster: built.pod(subject.clone()), nodes, pods, pod: subject }
}

/// What the scheduler decides: a node, a node by preemption, or nothing.
fn decide(case: Case) -> Option<(String, usize)> {
    let Case { snapshot, question } = case;
    let (expressions, lanes) = (Default::default(), Arc::new(OneLane));
    let considered = Consideration { snapshot, question, expressions, work_max: 500_000_000, lanes }.run();
    let SchedulingVerdict::Pod(verdict) = considered.verdict else { return None };
    match *verdict {
        PodVerdict::Placed { choice, .. } => Some((choice.node.to_string(), 0)),
        PodVerdict::Refused { attempt: Some(Attempt::Found(found)), .. } => {
            Some((found.node.to_string(), found.victims.len()))
        }
        PodVerdict::Refused { .. } => None,
    }
}

fn fits(case: Case) -> bool {
    matches!(decide(case), Some((_, 0)))
}

/// The explanation of the pod, if it fits nowhere and no pod is preempted for it.
fn refused(instance: &Instance) -> Option<Box<RefusedPod>> {
    let snapshot = instance.cluster.snapshot();
    let explained = explain_pod(&snapshot, &pod_id("subject"), &Audience::AllNamespaces, Effort::default());
    let PodExplanation::Waiting(WaitingPod::Refused(refused)) = explained else { return None };
    refused.victims.is_empty().then_some(refused)
}

/// Each instance that does not fit, by its seed.
fn for_each(check: impl Fn(u64, &Instance, &RefusedPod)) {
    let mut left = INSTANCES;
    for seed in 0.. {
        let instance = instance(seed);
        let Some(refused) = refused(&instance) else { continue };
        check(seed, &instance, &refused);
        left -= 1;
        if left == 0 {
            return;
        }
    }
}

#[test]
fn every_change_that_is_told_helps() {
    let told = std::cell::RefCell::new(BTreeMap::new());
    for_each(|seed, instance, refused| {
        let case = instance.cluster.waiting("subject");
        for remedy in &refused.remedies.remedies {
            let found = decide(case.after(&remedy.edits));
            let expected = match &remedy.leads_to {
                LeadsTo::Place(_) => 0,
                LeadsTo::Preemption { count, .. } => *count,
            };
            assert_eq!(found.map(|(_, victims)| victims), Some(expected), "seed {seed}: {remedy:?}");
            for fewer in 0..remedy.edits.len() {
                let mut edits = remedy.edits.clone();
                edits.remove(fewer);
                assert!(!fits(case.after(&edits)), "seed {seed}: fewer would do than {remedy:?}");
            }
            for edit in &remedy.edits {
                *told.borrow_mut().entry(edit.code().to_owned()).or_insert(0) += 1;
            }
        }
        let kind = if refused.remedies.remedies.is_empty() { "none" } else { "some" };
        *told.borrow_mut().entry(kind.to_owned()).or_insert(0) += 1;
    });
    let told = told.into_inner();
    for kind in ["EndPod", "FreeClaim", "Uncordon", "RemoveTaint", "LowerRequest", "LowerCount", "AddDevices"]
    {
        assert!(told.get(kind).is_some_and(|count| *count > 0), "no instance has {kind}: {told:?}");
    }
    for kind in ["AddNode", "RaisePriority", "DropConstraint"] {
        assert!(told.get(kind).is_some_and(|count| *count > 0), "no instance has {kind}: {told:?}");
    }
    assert!(told["some"] > 3 * told.get("none").copied().unwrap_or(0), "too few are helped: {told:?}");
}

#[test]
fn no_smaller_set_of_constraints_conflicts() {
    for_each(|seed, instance, refused| {
        let case = instance.cluster.waiting("subject");
        let (all, kept) = (case.constraints(), &refused.conflict.constraints);
        assert_eq!(refused.conflict.extent, Extent::Whole, "seed {seed}");
        assert!(kept.is_subset(&all) && !kept.is_empty(), "seed {seed}: {kept:?}");
        assert!(fits(without_preemption(&case.without(&all))), "seed {seed}: it fits without any constraint");
        let alone = without_preemption(&case.without(all.difference(kept)));
        assert!(!fits(alone), "seed {seed}: these do not conflict: {kept:?}");
        for one in kept {
            let mut fewer = kept.clone();
            fewer.remove(one);
            let case = without_preemption(&case.without(all.difference(&fewer)));
            assert!(fits(case), "seed {seed}: {fewer:?} conflict without {one:?}");
        }
    });
}

fn without_preemption(case: &Case) -> Case {
    let mut case = case.clone();
    if let decisions::considering::SchedulingQuestion::Pod(pod) = &mut case.question {
        Arc::make_mut(pod).preempts = false;
    }
    case
}

#[test]
fn numbers_are_those_of_a_recount() {
    for_each(|seed, instance, refused| {
        let Instance { nodes, pods, pod, .. } = instance;
        let counted: usize = refused.groups.iter().map(|group| group.count).sum();
        assert_eq!(counted, nodes.len(), "seed {seed}: every node is removed by something");
        let sum = |reason: &Reason| -> usize {
            refused
                .groups
                .iter()
                .filter(|group| group.reasons.contains(reason))
                .map(|group| group.count)
                .sum()
        };
        let cpu = |node: &Node| {
            let there = pods.iter().filter(|pod| pod.node.as_ref() == Some(&node.name));
            let used: i64 = there.map(|pod| pod.shape.requests.cpu_milli).sum();
            node.allocatable.cpu_milli - used
        };
        let short = nodes.iter().filter(|node| cpu(node) < pod.shape.requests.cpu_milli).count();
        assert_eq!(sum(&Reason::Rule(Rule::Short(ResourceName::Cpu))), short, "seed {seed}: cpu");
        let count =
            |node: &Node| pods.iter().filter(|pod| pod.node.as_ref() == Some(&node.name)).count() as i64;
        let full = nodes.iter().filter(|node| count(node) >= node.pods_max).count();
        assert_eq!(sum(&Reason::Rule(Rule::Short(ResourceName::Pods))), full, "seed {seed}: pods");
        let cordoned = nodes.iter().filter(|node| node.unschedulable).count();
        assert_eq!(sum(&Reason::Rule(Rule::Unschedulable)), cordoned, "seed {seed}: cordoned");
        let tainted = nodes.iter().filter(|node| !node.taints.is_empty()).count();
        assert_eq!(sum(&Reason::Rule(Rule::Taint)), tainted, "seed {seed}: tainted");
        let zones = |node: &Node| {
            let affinity = pod.shape.node_affinity.as_ref();
            affinity.is_none_or(|affinity| affinity.picks(node).unwrap_or(false))
        };
        let wanted = |node: &Node| {
            zones(node)
                && pod.shape.node_labels.iter().all(|(key, value)| node.labels.get(key) == Some(value))
        };
        let others = nodes.iter().filter(|node| !wanted(node)).count();
        assert_eq!(sum(&Reason::Rule(Rule::NodeAffinity)), others, "seed {seed}: node selector");
        let taken = |node: &Node| {
            pods.iter().any(|pod| pod.node.as_ref() == Some(&node.name) && !pod.shape.ports.is_empty())
        };
        let ports = nodes.iter().filter(|node| !pod.shape.ports.is_empty() && taken(node)).count();
        assert_eq!(sum(&Reason::Rule(Rule::Port)), ports, "seed {seed}: ports");
        // Whatever a decision tells first of a node is among all that is told of it.
        for (reason, removed) in refused.refusal.removed() {
            assert!(sum(reason) >= removed.nodes, "seed {seed}: {reason}");
        }
    });
}
