//! What comes to a node or changes there wakes the pods that it can help, at once and no others.

use std::sync::Arc;

use cluster::change::Change;
use model::node::{Operator, Requirement};
use model::pod::{LabelSelector, Pod, PodTerm, Shape, Spread};

use crate::gangs::{gang_world, group, member, node_in};
use crate::wakes::{names, tried_after};
use crate::world::{World, pod, world};

pub fn picking(app: &str) -> LabelSelector {
    let requirement = Requirement { key: "app".into(), operator: Operator::In, values: vec![app.into()] };
    LabelSelector::All(vec![requirement])
}

/// Pods of an application, on the same node or in the same place otherwise.
pub fn term(app: &str, key: &str) -> PodTerm {
    PodTerm {
        selector: picking(app),
        namespaces: vec!["default".into()],
        namespace_selector: None,
        key: key.into(),
    }
}

/// At most one pod more of an application in one place than in another.
pub fn evenly(app: &str, key: &str) -> Spread {
    Spread {
        max_skew: 1,
        key: key.into(),
        required: true,
        selector: picking(app),
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    }
}

pub fn with(pod: Pod, change: impl FnOnce(&mut Shape)) -> Pod {
    let mut shape = Shape::clone(&pod.shape);
    change(&mut shape);
    Pod { shape: Arc::new(shape), ..pod }
}

/// A pod of an application.
fn of(app: &str, name: &str) -> Pod {
    with(pod(name, 100, &[]), |shape| shape.labels = [("app".into(), app.into())].into())
}

/// A pod that is there has another shape now.
pub fn reshape(world: &mut World, name: &str, change: impl FnOnce(&mut Shape)) {
    let known = world.pods[&*format!("uid-{name}")].clone();
    world.add_pod(with(known, change));
}

fn relabel(world: &mut World, name: &str, app: &str) {
    reshape(world, name, |shape| shape.labels = [("app".into(), app.into())].into());
}

fn asleep(world: &mut World, pods: Vec<Pod>) {
    let count = pods.len();
    pods.into_iter().for_each(|pod| world.add_pod(pod));
    world.settle();
    assert_eq!(world.engine.counts().asleep, count, "{:?}", world.told);
}

/// Two nodes of one processor.
fn two_nodes() -> World {
    let mut world = world();
    ["a", "b"].into_iter().for_each(|name| world.fact(node_in("r", name, 1_000)));
    world
}

#[test]
fn a_pod_that_takes_less_wakes_those_that_its_node_is_too_full_for() {
    let mut world = two_nodes();
    for (name, node) in [("on-a", "a"), ("on-b", "b")] {
        world.add_pod(Pod { node: Some(node.into()), ..pod(name, 1_000, &[]) });
    }
    let for_node = |name: &str, node: &str, cpu_milli| {
        with(pod(name, cpu_milli, &[]), |shape| shape.node_labels = [("host".into(), node.into())].into())
    };
    asleep(&mut world, vec![for_node("for-a", "a", 500), for_node("for-b", "b", 500)]);
    let resize = |cpu_milli| {
        move |world: &mut World| reshape(world, "on-b", |shape| shape.requests.cpu_milli = cpu_milli)
    };
    assert_eq!(tried_after(&mut world, resize(1_200)), names(&[]));
    assert_eq!(tried_after(&mut world, resize(900)), names(&["for-b"]));
    assert_eq!(world.node_of("for-b"), None);
    assert_eq!(tried_after(&mut world, resize(500)), names(&["for-b"]));
    assert_eq!(world.node_of("for-b").as_deref(), Some("b"));
}

#[test]
fn a_gang_wakes_when_a_pod_takes_less() {
    let mut world = gang_world();
    world.fact(node_in("r", "a", 1_000));
    world.add_pod(Pod { node: Some("a".into()), ..pod("large", 900, &[]) });
    world.fact(group(2, &[]));
    world.add_pod(member("one", 200, &[]));
    world.add_pod(member("two", 200, &[]));
    world.settle();
    assert_eq!(world.node_of("one"), None);
    tried_after(&mut world, |world| reshape(world, "large", |shape| shape.requests.cpu_milli = 500));
    assert_eq!((world.node_of("one").as_deref(), world.node_of("two").as_deref()), (Some("a"), Some("a")));
}

#[test]
fn a_pod_that_is_placed_wakes_those_that_have_to_be_near_it() {
    let mut world = two_nodes();
    let near = |name: &str, app: &str| with(of("own", name), |shape| shape.near = vec![term(app, "host")]);
    asleep(&mut world, vec![near("near-web", "web"), near("near-db", "db")]);
    assert_eq!(tried_after(&mut world, |world| world.add_pod(of("web", "w"))), names(&["w", "near-web"]));
    assert_eq!(world.node_of("near-web"), world.node_of("w"));
    let by_hand = Pod { node: Some("b".into()), ..of("db", "d") };
    assert_eq!(tried_after(&mut world, |world| world.add_pod(by_hand)), names(&["near-db"]));
    assert_eq!(world.node_of("near-db").as_deref(), Some("b"));
}

#[test]
fn other_labels_of_a_placed_pod_wake_those_with_rules_that_read_them() {
    let mut world = two_nodes();
    for (name, node) in [("on-a", "a"), ("on-b", "b")] {
        world.add_pod(Pod { node: Some(node.into()), ..of("old", name) });
    }
    let near = with(of("x", "near"), |shape| shape.near = vec![term("new", "host")]);
    let apart = with(of("y", "apart"), |shape| shape.apart = vec![term("old", "rack")]);
    asleep(&mut world, vec![near, apart]);
    assert_eq!(tried_after(&mut world, |world| relabel(world, "on-a", "other")), names(&["apart"]));
    assert_eq!(tried_after(&mut world, |world| relabel(world, "on-a", "else")), names(&[]));
    assert_eq!(tried_after(&mut world, |world| relabel(world, "on-b", "new")), names(&["near", "apart"]));
    assert_eq!(world.node_of("near").as_deref(), Some("b"));
    assert!(world.node_of("apart").is_some());
}

/// Pods of an application on one of two nodes, of which the other is full, and one more that has to be spread with them.
fn skewed() -> World {
    let mut world = two_nodes();
    world.add_pod(Pod { node: Some("b".into()), ..pod("full", 1_000, &[]) });
    world.add_pod(Pod { node: Some("a".into()), ..of("web", "first") });
    let evenly = with(of("web", "evenly"), |shape| shape.spread = vec![evenly("web", "host")]);
    asleep(&mut world, vec![evenly]);
    world
}

#[test]
fn pods_that_are_counted_no_more_wake_those_that_are_spread_with_them() {
    let mut world = skewed();
    assert_eq!(tried_after(&mut world, |world| relabel(world, "first", "other")), names(&["evenly"]));
    assert_eq!(world.node_of("evenly").as_deref(), Some("a"));
    let mut world = skewed();
    let leaving = Pod { deleting: true, ..world.pods["uid-first"].clone() };
    assert_eq!(tried_after(&mut world, |world| world.add_pod(leaving)), names(&["evenly"]));
    assert_eq!(world.node_of("evenly").as_deref(), Some("a"));
}

#[test]
fn a_pod_that_evens_the_places_out_wakes_those_that_are_spread() {
    let mut world = skewed();
    let second = Pod { node: Some("b".into()), ..of("web", "second") };
    assert_eq!(tried_after(&mut world, |world| world.add_pod(second)), names(&["evenly"]));
    assert_eq!(world.node_of("evenly").as_deref(), Some("a"));
}

#[test]
fn pods_that_have_to_be_apart_do_not_wake_each_other() {
    let mut world = two_nodes();
    let apart = |name: &str| with(of("web", name), |shape| shape.apart = vec![term("web", "host")]);
    ["first", "second"].into_iter().for_each(|name| world.add_pod(apart(name)));
    world.settle();
    asleep(&mut world, vec![apart("third"), apart("fourth")]);
    let another = |world: &mut World| world.add_pod(Pod { node: Some("a".into()), ..apart("by-hand") });
    assert_eq!(tried_after(&mut world, another), names(&[]));
}

#[test]
fn a_pod_that_another_client_binds_elsewhere_leaves_its_room() {
    let mut world = world();
    world.fact(node_in("r", "a", 1_000));
    world.add_pod(pod("moves", 1_000, &[]));
    world.turn();
    assert_eq!(world.open.len(), 1, "it is being bound to the only node");
    world.fact(node_in("r", "b", 1_000));
    world.add_pod(Pod { node: Some("b".into()), ..pod("there", 1_000, &[]) });
    world.add_pod(pod("waits", 1_000, &[]));
    world.turn();
    assert_eq!(world.engine.counts().asleep, 1);
    world.later(20);
    let bound = Pod { node: Some("b".into()), ..pod("moves", 1_000, &[]) };
    world.fact(Change::PodApplied(Arc::new(bound)));
    world.turn();
    let on_its_way = world.engine.on_its_way("uid-waits").map(|(_, node)| node.to_string());
    assert_eq!(on_its_way.as_deref(), Some("a"), "{:?}", world.told);
}
