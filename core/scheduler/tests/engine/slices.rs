//! What a slice of work counts, and what is kept of that which took longer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::claim::{Amount, Claim, Wish};
use model::pod::{Pod, PodTerm, Shape};
use scheduler::engine::Input;

use crate::lanes::{Backwards, selector};
use crate::preemption::running;
use crate::world::{World, claim, gpu_class, gpus, node, pod, world};

const NODES: usize = 300;

/// The first of the nodes that have four devices. Each of the others has one.
const RICH: usize = NODES - 10;

/// An engine that has little time at once, and considerations that wait for the test.
fn nodes_with_devices() -> World {
    let mut world = world();
    world.engine = world.engine.with_slice_max(0);
    world.holds_considerations = true;
    world.fact(gpu_class());
    for number in 0..NODES {
        let name = format!("n{number}");
        world.fact(node(&name, 4_000));
        let devices: Vec<String> =
            (0..if number < RICH { 1 } else { 4 }).map(|device| format!("{name}-{device}")).collect();
        world.fact(gpus(&name, &devices.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    world
}

/// A pod that wants two devices.
fn add_pod(world: &mut World, name: &str) {
    let mut state = claim(name);
    let mut wish = Claim::clone(&state.wish);
    if let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish {
        ask.amount = Amount::Exactly(2);
    }
    state.wish = Arc::new(wish);
    world.add_claim(state);
    world.add_pod(pod(name, 100, &[name]));
}

#[test]
fn what_a_consideration_learned_of_nodes_is_kept_for_pods_of_the_same_kind() {
    let mut world = nodes_with_devices();
    add_pod(&mut world, "first");
    world.turn();
    assert_eq!(world.to_consider.len(), 1, "too many nodes have to be looked at");
    // Meanwhile something changes on some nodes.
    let full = |node: &str| ["n290", "n291", "n292"].contains(&node);
    for number in RICH..RICH + 3 {
        let node = format!("n{number}");
        world.add_pod(running(&format!("on-{node}"), 0, &node, 4_000));
    }
    for number in 0..5 {
        let name = format!("next-{number}");
        if number > 0 {
            add_pod(&mut world, &name);
        }
        world.consider_all();
        world.settle();
        // The node that was chosen for the first is full by now, and it is decided anew after a pause.
        world.later(1);
        world.settle();
        let name = if number > 0 { &*name } else { "first" };
        assert!(world.to_consider.is_empty(), "{name}: what is known of nodes is enough");
        assert!(world.node_of(name).is_some_and(|node| !full(&node)), "{name}: {:?}", world.told);
    }
}

#[test]
fn a_consideration_is_done_in_as_many_lanes_as_there_are() {
    let mut chosen = Vec::new();
    for count in [1, 4] {
        let mut world = nodes_with_devices();
        let lanes = Arc::new(Backwards::new(count));
        world.engine = world.engine.with_lanes(lanes.clone());
        add_pod(&mut world, "first");
        world.turn();
        assert_eq!(world.to_consider.len(), 1);
        let before = lanes.runs.load(Ordering::Relaxed);
        world.consider_all();
        assert_eq!(lanes.runs.load(Ordering::Relaxed) > before, count > 1, "{count} lanes");
        world.settle();
        chosen.push((world.node_of("first"), world.considered.clone()));
    }
    assert!(chosen[0].0.is_some());
    assert_eq!(chosen[0], chosen[1], "it is decided the same, with the same work");
}

/// Nodes that are full of less important pods, but for one they are all of the same importance.
fn full_nodes() -> World {
    let mut world = world();
    for number in 0..NODES {
        world.fact(node(&format!("n{number}"), 4_000));
        for part in 0..4 {
            let priority = if number == 7 { 1 } else { 2 };
            world.add_pod(running(&format!("p{number}-{part}"), priority, &format!("n{number}"), 1_000));
        }
    }
    world
}

#[test]
fn preemption_that_takes_long_is_considered_while_others_have_their_turns() {
    let urgent = || Pod { priority: 10, ..pod("urgent", 2_000, &[]) };
    let mut at_once = full_nodes();
    at_once.add_pod(urgent());
    at_once.turn();
    let mut world = full_nodes();
    // Long enough to look at all nodes, and not to try what would be without their pods.
    world.engine = world.engine.with_slice_max(NODES as u64 * 500);
    world.holds_considerations = true;
    world.add_pod(urgent());
    world.turn();
    assert_eq!(world.to_consider.len(), 1, "{:?}", world.told);
    assert!(world.evicted().is_empty());
    world.add_pod(Pod { priority: 20, ..running("other", 0, "n3", 0) });
    world.consider_all();
    world.turn();
    assert_eq!(at_once.evicted(), ["p7-2", "p7-3"]);
    assert_eq!(world.evicted(), at_once.evicted());
}

#[test]
fn answers_are_kept_for_pods_that_a_nominee_with_rules_does_not_concern() {
    let of_app = |pod: Pod, app: &str, is_apart: bool| {
        let labels = BTreeMap::from([("app".into(), app.into())]);
        let term = PodTerm {
            selector: selector(app),
            namespaces: vec!["default".into()],
            namespace_selector: None,
            key: "host".into(),
        };
        let apart = if is_apart { vec![term] } else { Vec::new() };
        Pod { shape: Arc::new(Shape { labels, apart, ..Shape::clone(&pod.shape) }), ..pod }
    };
    let mut world = full_nodes();
    world.lingering = true;
    world.add_pod(of_app(Pod { priority: 10, ..pod("urgent", 2_000, &[]) }, "db", true));
    world.settle();
    assert!(!world.evicted().is_empty() || world.pods["uid-urgent"].nominated_node.is_some());
    world.fact(node("free", 4_000));
    let mut work = |app: &str, name: &str| {
        world.add_pod(of_app(pod(name, 100, &[]), app, false));
        world.engine.handle(world.now, Input::Turn { attempts: 1 });
        world.engine.work_done()
    };
    assert!(work("web", "web-0") >= NODES as u64 * 500, "all nodes are looked at");
    assert!(work("web", "web-1") < NODES as u64 * 100, "they are known");
    assert!(work("db", "db-0") >= NODES as u64 * 500, "the nominee must be apart from it");
    assert!(work("db", "db-1") >= NODES as u64 * 500);
}
