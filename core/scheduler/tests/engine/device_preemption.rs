//! Pods displace those that hold the devices they need, and no others.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::budgets::DisruptionBudget;
use cluster::change::Change;
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::ledger::{Holding, ShareId};
use cluster::published::Published;
use model::claim::{Amount, Claim, Wish};
use model::device::{Capacity, CounterSet, Device, DeviceId, Draw, PoolId, Reach, Slice};
use model::node::{NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{LabelSelector, Pod};
use model::quantity::{Format, Quantity};
use scheduler::write::Write;
use selector::SliceRevision;

use crate::preemption::running;
use crate::readying::fabric;
use crate::world::{World, claim, claim_id, gpu_class, gpus, node, pod, world};

/// Two nodes with cards of these names.
fn cards(on_a: &[&str], on_b: &[&str]) -> World {
    let mut world = world();
    world.fact(gpu_class());
    for (name, names) in [("a", on_a), ("b", on_b)] {
        world.fact(node(name, 4_000));
        world.fact(gpus(name, names));
    }
    world
}

/// Cards that every node can use.
pub fn network(names: &[&str]) -> Change {
    let device = |name: &&str| Device { name: (*name).into(), ..Device::default() };
    published("net", Reach::Everywhere, names.iter().map(device).collect(), Vec::new())
}

fn published(pool: &str, reach: Reach, devices: Vec<Device>, counter_sets: Vec<CounterSet>) -> Change {
    let revision = SliceRevision { slice: 1_000 + devices.len() as u64, revision: counter_sets.len() as u64 };
    // Counters and devices are published in slices of their own.
    let slice = Slice {
        name: format!("{pool}-{}", devices.len()).into(),
        pool: PoolId { driver: "gpu.example.com".into(), pool: pool.into() },
        generation: 1,
        slices_in_pool: if pool == "parts" { 2 } else { 1 },
        reach,
        devices,
        counter_sets,
        skip_node_operations: Vec::new(),
    };
    Change::SliceApplied(Arc::new(Published::new(slice, revision)))
}

/// A claim that has a card of a pool.
fn allocated(name: &str, pool: &str, card: &str, users: &[&str]) -> ClaimState {
    let device = DeviceId { driver: "gpu.example.com".into(), pool: pool.into(), device: card.into() };
    let holding =
        Holding { holder: claim_id(name).into(), groups: BTreeMap::new(), consumed: BTreeMap::new() };
    let term = |node: &str| NodeTerm {
        fields: vec![Requirement {
            key: "metadata.name".into(),
            operator: Operator::In,
            values: vec![node.into()],
        }],
        labels: Vec::new(),
    };
    let is_local = matches!(pool, "a" | "b");
    let nodes = is_local.then(|| NodeSelector { terms: vec![term(pool)] });
    ClaimState {
        allocation: Some(Arc::new(Allocated {
            nodes,
            held: vec![Held { device, share: None, holding, tolerations: Vec::new() }],
        })),
        reserved_for: users.iter().map(|user| format!("uid-{user}").into()).collect(),
        ..claim(name)
    }
}

/// A pod on a node that uses a claim.
fn user(name: &str, priority: i32, node: &str, claim: &str) -> Pod {
    Pod { priority, node: Some(node.into()), ..pod(name, 100, &[claim]) }
}

impl World {
    /// A pod on a node with a card of its own.
    fn holder(&mut self, name: &str, priority: i32, (node, pool): (&str, &str), card: &str) {
        self.add_claim(allocated(name, pool, card, &[name]));
        self.add_pod(user(name, priority, node, name));
    }

    /// A waiting pod that wants so many cards.
    fn want(&mut self, name: &str, priority: i32, cards: i64) {
        let mut state = claim(name);
        let mut wish = Claim::clone(&state.wish);
        if let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish {
            ask.amount = Amount::Exactly(cards);
        }
        state.wish = Arc::new(wish);
        self.add_claim(state);
        self.add_pod(Pod { priority, ..pod(name, 100, &[name]) });
    }
}

#[test]
fn an_important_pod_gets_the_device_of_a_less_important_one() {
    let mut world = cards(&["gpu-a"], &["gpu-b"]);
    world.holder("same", 10, ("a", "a"), "gpu-a");
    world.holder("low", 0, ("b", "b"), "gpu-b");
    world.add_pod(running("bystander", 0, "b", 100));
    world.want("high", 10, 1);
    world.turn();
    assert_eq!(world.evicted(), ["low"]);
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("b"));
    assert_eq!(world.devices_of("high"), ["gpu-b"]);
    assert!(world.node_of("bystander").is_some() && world.node_of("same").is_some());
}

#[test]
fn a_victim_whose_eviction_failed_is_asked_to_go_again() {
    let mut world = cards(&["gpu-a"], &[]);
    world.add_claim(allocated("low", "a", "gpu-a", &["low"]));
    world.add_pod(user("low", 1, "a", "low"));
    world.add_claim(claim("high"));
    world.fail.push(|write| matches!(write, Write::Evict { .. }));
    world.add_pod(Pod { priority: 10, ..pod("high", 100, &["high"]) });
    world.turn();
    world.carry_out();
    assert!(world.pods.contains_key("uid-low"), "the API had too much to do");
    for _ in 0..3 {
        world.later(30);
        world.settle();
    }
    assert_eq!((world.node_of("high").as_deref(), world.pods.contains_key("uid-low")), (Some("a"), false));
}

#[test]
fn only_as_many_holders_go_as_are_needed_and_the_least_important() {
    let mut world = cards(&["one", "two", "three"], &[]);
    for (name, priority, card) in [("mid", 3, "one"), ("low", 1, "two"), ("lower", 0, "three")] {
        world.holder(name, priority, ("a", "a"), card);
    }
    world.want("high", 10, 2);
    world.turn();
    assert_eq!(world.evicted(), ["low", "lower"]);
    world.settle();
    assert_eq!(world.devices_of("high"), ["two", "three"]);
}

#[test]
fn nobody_is_evicted_if_the_devices_would_still_not_be_enough() {
    let mut world = cards(&["one", "two"], &["one"]);
    world.holder("low", 0, ("a", "a"), "one");
    world.holder("top", 50, ("a", "a"), "two");
    world.holder("other", 0, ("b", "b"), "one");
    world.want("high", 10, 2);
    world.settle();
    assert!(["low", "top", "other"].iter().all(|name| world.node_of(name).is_some()));
    let hope = "0/2 nodes are available: 2 cannot allocate all claims.";
    assert_eq!(world.hope("high"), hope);
}

#[test]
fn a_claim_that_is_shared_with_a_pod_that_stays_is_not_freed() {
    let mut world = cards(&["card"], &[]);
    world.add_claim(allocated("shared", "a", "card", &["low", "same"]));
    world.add_pod(user("low", 0, "a", "shared"));
    world.add_pod(user("same", 10, "a", "shared"));
    world.want("high", 10, 1);
    world.settle();
    assert!(world.node_of("low").is_some(), "its going would free nothing");
    world.let_go("same");
    world.later(2);
    world.turn();
    assert_eq!(world.evicted(), ["low"], "now it would");
}

#[test]
fn all_who_share_a_claim_go_together() {
    let mut world = cards(&["card", "spare"], &[]);
    world.add_claim(allocated("shared", "a", "card", &["one", "two"]));
    world.add_pod(user("one", 0, "a", "shared"));
    world.add_pod(user("two", 1, "a", "shared"));
    world.holder("top", 50, ("a", "a"), "spare");
    world.want("high", 10, 1);
    world.turn();
    assert_eq!(world.evicted(), ["two", "one"]);
    world.settle();
    assert_eq!(world.devices_of("high"), ["card"]);
}

#[test]
fn a_claim_that_something_else_than_a_pod_on_a_node_uses_is_not_freed() {
    let mut world = cards(&["card"], &[]);
    world.add_claim(allocated("shared", "a", "card", &["low", "a-group-of-pods"]));
    world.add_pod(user("low", 0, "a", "shared"));
    world.want("high", 10, 1);
    world.settle();
    assert!(world.node_of("low").is_some());
}

#[test]
fn a_claim_that_the_pod_itself_uses_stays_as_it_is() {
    let mut world = cards(&["card"], &[]);
    world.add_claim(allocated("shared", "a", "card", &["low"]));
    world.add_pod(user("low", 0, "a", "shared"));
    world.add_pod(Pod { priority: 10, ..pod("high", 100, &["shared"]) });
    world.settle();
    assert!(world.node_of("low").is_some() && world.node_of("high").as_deref() == Some("a"));
}

#[test]
fn devices_on_the_network_are_freed_by_pods_of_other_nodes() {
    let mut world = cards(&[], &[]);
    world.fact(network(&["one", "two"]));
    world.holder("mid", 3, ("a", "net"), "one");
    world.holder("low", 1, ("b", "net"), "two");
    world.add_pod(running("bystander", 0, "a", 100));
    world.add_pod(running("filler", 50, "b", 3_950));
    world.want("high", 10, 1);
    world.turn();
    assert_eq!(world.evicted(), ["low"], "it is on another node than the one for the pod");
    assert_eq!(world.told[0], "low preempted by uid-high on a");
    world.settle();
    assert_eq!(
        (world.node_of("high").as_deref(), world.devices_of("high")),
        (Some("a"), vec!["two".to_owned()])
    );
    assert!(world.node_of("mid").is_some() && world.node_of("bystander").is_some());
}

#[test]
fn of_those_who_hold_devices_on_the_network_the_least_important_goes_wherever_it_is() {
    let mut world = cards(&[], &[]);
    world.fact(network(&["one", "two", "three"]));
    for (name, priority, node, card) in
        [("mid", 3, "a", "one"), ("low", 1, "b", "two"), ("top", 50, "b", "three")]
    {
        world.holder(name, priority, (node, "net"), card);
    }
    world.add_pod(running("filler", 50, "b", 3_950));
    world.want("high", 10, 1);
    world.turn();
    assert_eq!(world.evicted(), ["low"], "mid is on the node for the pod, and stays there");
}

#[test]
fn a_device_on_the_network_whose_claim_an_important_pod_shares_is_not_freed() {
    let mut world = cards(&[], &[]);
    world.fact(network(&["one"]));
    world.add_claim(allocated("shared", "net", "one", &["low", "top"]));
    world.add_pod(user("low", 0, "a", "shared"));
    world.add_pod(user("top", 50, "b", "shared"));
    world.want("high", 10, 1);
    world.settle();
    assert!(world.node_of("low").is_some() && world.node_of("high").is_none());
}

#[test]
fn a_nominee_waits_for_victims_on_other_nodes_too() {
    let mut world = cards(&[], &[]);
    world.lingering = true;
    world.fact(network(&["one", "two"]));
    world.holder("mid", 3, ("a", "net"), "one");
    world.holder("low", 1, ("b", "net"), "two");
    world.add_pod(running("filler", 50, "b", 3_950));
    world.want("high", 10, 1);
    world.settle();
    world.fact(node("c", 10));
    world.later(2);
    world.settle();
    assert!(world.hope("high").contains("preempting "), "{}", world.hope("high"));
    assert!(!world.pods["uid-mid"].deleting);
    world.let_go("low");
    world.later(2);
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
}

#[test]
fn counters_that_a_part_of_a_card_draws_on_are_freed_with_it() {
    let mut world = cards(&[], &[]);
    let memory = |amount: i64| BTreeMap::from([("memory".into(), Quantity::new(amount, Format::DecimalSi))]);
    let part = |name: &str, amount: i64| Device {
        name: name.into(),
        draws: vec![Draw { counter_set: "card".into(), counters: memory(amount), groups: Vec::new() }],
        ..Device::default()
    };
    let here = || Reach::Node("a".into());
    let set = CounterSet { name: "card".into(), counters: memory(80) };
    world.fact(published("parts", here(), Vec::new(), vec![set]));
    let parts = vec![part("half", 40), part("other-half", 40), part("quarter", 20), part("rest", 60)];
    world.fact(published("parts", here(), parts, Vec::new()));
    world.holder("low", 1, ("a", "parts"), "half");
    world.holder("lower", 0, ("a", "parts"), "quarter");
    world.want("high", 10, 1);
    world.turn();
    assert_eq!(
        world.evicted(),
        ["lower"],
        "half of the card is left to low, and the other half is drawn on no more"
    );
    world.settle();
    assert_eq!(world.devices_of("high"), ["other-half"]);
}

#[test]
fn a_share_of_a_device_is_freed_with_the_pod_that_has_it() {
    let mut world = cards(&[], &[]);
    let amount = |value: i64| Quantity::new(value, Format::DecimalSi);
    let memory = Capacity { value: amount(80), policy: None };
    let device = Device {
        name: "card".into(),
        capacity: [("memory".into(), memory)].into(),
        shareable: true,
        ..Device::default()
    };
    world.fact(published("shares", Reach::Node("a".into()), vec![device], Vec::new()));
    for (name, priority, share) in [("low", 1, 40), ("lower", 0, 20)] {
        let mut state = allocated(name, "shares", "card", &[name]);
        let mut held = Allocated::clone(state.allocation.as_ref().expect("it has a share"));
        held.held[0].share = Some(ShareId(format!("share-{name}").into()));
        held.held[0].holding.consumed = [("memory".into(), amount(share))].into();
        state.allocation = Some(Arc::new(held));
        world.add_claim(state);
        world.add_pod(user(name, priority, "a", name));
    }
    let mut state = claim("high");
    let mut wish = Claim::clone(&state.wish);
    if let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish {
        ask.capacity = Some([("memory".into(), amount(40))].into());
    }
    state.wish = Arc::new(wish);
    world.add_claim(state);
    world.add_pod(Pod { priority: 10, ..pod("high", 100, &["high"]) });
    world.turn();
    assert_eq!(world.evicted(), ["lower"], "40 of 80 are enough");
}

#[test]
fn a_holder_whom_a_budget_covers_stays_if_another_can_go() {
    let mut world = cards(&["gpu-a"], &["gpu-b"]);
    let one = Requirement { key: "app".into(), operator: Operator::In, values: vec!["web".into()] };
    world.fact(Change::BudgetApplied(Box::new(DisruptionBudget {
        namespace: "default".into(),
        name: "web".into(),
        selector: LabelSelector::All(vec![one]),
        allowed: 0,
        disrupted: Default::default(),
    })));
    world.add_claim(allocated("covered", "a", "gpu-a", &["covered"]));
    let mut covered = user("covered", 0, "a", "covered");
    Arc::make_mut(&mut covered.shape).labels.insert("app".into(), "web".into());
    world.add_pod(covered);
    world.holder("free", 5, ("b", "b"), "gpu-b");
    world.want("high", 10, 1);
    world.turn();
    assert_eq!(world.evicted(), ["free"]);
}

#[test]
fn devices_that_are_planned_for_a_nominee_go_to_nobody_who_matters_less() {
    let mut world = cards(&["card"], &[]);
    world.lingering = true;
    world.holder("low", 0, ("a", "a"), "card");
    world.want("high", 10, 1);
    world.settle();
    world.let_go("low");
    // The nominee is still backing off, and this one is not.
    world.want("less", 5, 1);
    world.want("equal", 10, 1);
    world.turn();
    world.carry_out();
    world.later(2);
    world.settle();
    assert_eq!(world.devices_of("high"), ["card"]);
    assert!(world.devices_of("less").is_empty() && world.devices_of("equal").is_empty());
}

#[test]
fn no_devices_are_kept_for_a_pod_whose_claim_is_gone() {
    let mut world = cards(&["card"], &[]);
    world.lingering = true;
    world.holder("low", 0, ("a", "a"), "card");
    world.want("high", 10, 1);
    world.settle();
    assert_eq!(world.nominated("high").as_deref(), Some("a"));
    world.remove_claim("high");
    // Whatever is heard of it, it waits for its claim from now on.
    world.add_pod(world.pods["uid-high"].clone());
    world.let_go("low");
    world.want("less", 5, 1);
    world.settle();
    assert_eq!((world.devices_of("less"), world.nominated("high")), (vec!["card".to_owned()], None));
}

#[test]
fn who_matters_more_takes_what_is_planned_for_others_and_these_look_again() {
    let mut world = cards(&["gpu-a"], &["gpu-b"]);
    world.lingering = true;
    world.holder("low", 0, ("a", "a"), "gpu-a");
    world.holder("mid", 5, ("b", "b"), "gpu-b");
    world.want("high", 10, 1);
    world.settle();
    assert_eq!(world.nominated("high").as_deref(), Some("a"));
    world.let_go("low");
    world.want("higher", 20, 1);
    world.turn();
    world.carry_out();
    world.settle();
    assert_eq!(world.devices_of("higher"), ["gpu-a"]);
    assert_eq!(world.nominated("high").as_deref(), Some("b"));
    assert!(world.pods["uid-mid"].deleting);
    world.let_go("mid");
    world.later(5);
    world.settle();
    assert_eq!(world.devices_of("high"), ["gpu-b"]);
}

#[test]
fn while_devices_of_a_pod_that_went_are_not_released_nobody_else_goes() {
    let mut world = cards(&["gpu-a"], &["gpu-b"]);
    world.lingering = true;
    world.holder("low", 0, ("a", "a"), "gpu-a");
    world.holder("mid", 5, ("b", "b"), "gpu-b");
    world.want("high", 10, 1);
    world.settle();
    world.remove_pod("low");
    world.later(5);
    world.turn();
    assert!(world.evicted().is_empty());
    let hope = "not eligible due to devices of a preempted pod that are yet to be released.";
    assert_eq!(world.hope("high"), hope);
    world.release("low");
    world.later(20);
    world.settle();
    assert_eq!(world.devices_of("high"), ["gpu-a"]);
    assert!(!world.pods["uid-mid"].deleting);
}

#[test]
fn another_engine_plans_the_devices_of_nominees_again() {
    let mut world = cards(&["card"], &[]);
    world.lingering = true;
    world.holder("low", 0, ("a", "a"), "card");
    world.want("high", 10, 1);
    world.settle();
    world.restart([gpu_class(), node("a", 4_000), gpus("a", &["card"])]);
    world.settle();
    world.let_go("low");
    world.want("less", 5, 1);
    world.turn();
    world.carry_out();
    world.later(2);
    world.settle();
    assert_eq!(world.devices_of("high"), ["card"]);
}

#[test]
fn a_pod_that_is_getting_its_devices_is_displaced_once_it_has_them() {
    let mut world = cards(&["card"], &[]);
    world.want("low", 0, 1);
    world.turn();
    assert!(matches!(world.open[..], [(_, Write::Allocate { .. })]));
    world.want("high", 10, 1);
    world.turn();
    assert!(world.evicted().is_empty(), "what is being written cannot be told yet");
    for _ in 0..4 {
        world.carry_out();
        world.later(2);
        world.turn();
    }
    world.settle();
    assert_eq!(world.devices_of("high"), ["card"], "{:#?}", world.told);
}

#[test]
fn room_and_devices_may_have_to_come_from_different_pods() {
    let mut world = cards(&["card"], &[]);
    world.holder("low", 0, ("a", "a"), "card");
    world.add_pod(running("big", 1, "a", 3_500));
    world.add_claim(claim("high"));
    world.add_pod(Pod { priority: 10, ..pod("high", 1_000, &["high"]) });
    world.turn();
    assert_eq!(world.evicted(), ["big", "low"]);
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
}

#[test]
fn a_victim_that_was_called_back_and_could_not_give_its_devices_back_goes_once_it_is_placed_again() {
    let mut world = world();
    for fact in [gpu_class(), node("a", 4_000), fabric("a", &["card"])] {
        world.fact(fact);
    }
    world.want("low", 0, 1);
    world.settle();
    assert_eq!(world.engine.readying(), 1, "its device is being made ready");
    world.fail.push(|write| matches!(write, Write::Deallocate { .. }));
    world.want("high", 10, 1);
    world.turn();
    world.carry_out();
    assert_eq!(world.devices_of("low"), ["card"], "the API had too much to do");
    world.turn();
    world.carry_out();
    assert_eq!(world.nominated("high"), None, "nobody gives anything back for it");
    for _ in 0..3 {
        world.later(20);
        world.settle();
    }
    assert_eq!((world.devices_of("low").len(), world.devices_of("high")), (0, vec!["card".to_owned()]));
}

#[test]
fn who_has_devices_since_an_earlier_life_of_the_scheduler_can_be_displaced_once_it_is_placed() {
    let mut world = cards(&["card"], &[]);
    world.add_claim(allocated("low", "a", "card", &["low"]));
    world.add_pod(pod("low", 100, &["low"]));
    world.want("high", 10, 1);
    world.settle();
    world.later(5);
    world.settle();
    assert_eq!((world.devices_of("high"), world.node_of("low")), (vec!["card".to_owned()], None));
}
