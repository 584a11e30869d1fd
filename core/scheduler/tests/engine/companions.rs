//! Pods that say nothing about spreading are spread among those of their services and owners.

use std::sync::Arc;

use cluster::change::{Change, CompanionChange};
use model::node::{Node, Operator, Requirement};
use model::pod::{LabelSelector, Owner, OwnerKind, Pod, Shape};

use crate::world::{World, node, pod, world};

/// A large node and a small one.
fn two_nodes() -> World {
    let mut world = world();
    for (name, cpu_milli) in [("large", 64_000), ("small", 4_000)] {
        let Change::NodeApplied(node) = node(name, cpu_milli) else { unreachable!("a node comes") };
        let labels = [("kubernetes.io/hostname".into(), name.into())].into();
        world.fact(Change::NodeApplied(Box::new(Node { labels, ..*node })));
    }
    world
}

fn set() -> Owner {
    Owner { kind: OwnerKind::ReplicaSet, name: "web".into() }
}

fn web(name: &str, owner: Option<Owner>) -> Pod {
    let pod = pod(name, 100, &[]);
    let labels = [("app".into(), "web".into())].into();
    Pod { shape: Arc::new(Shape { labels, owner, ..Shape::clone(&pod.shape) }), ..pod }
}

/// Where two pods go, one after the other.
fn nodes_of_two(world: &mut World, owner: Option<&Owner>) -> [String; 2] {
    ["p", "q"].map(|name| {
        world.add_pod(web(name, owner.cloned()));
        world.settle();
        world.node_of(name).expect("there is room")
    })
}

#[test]
fn the_pods_of_a_service_are_spread() {
    assert_eq!(nodes_of_two(&mut two_nodes(), None), ["large", "large"]);
    let mut world = two_nodes();
    let labels = [("app".into(), "web".into())].into();
    let service = CompanionChange::ServiceApplied("default".into(), "web".into(), labels);
    world.fact(Change::Companions(service));
    assert_eq!(nodes_of_two(&mut world, None), ["large", "small"]);
    world.fact(Change::Companions(CompanionChange::ServiceGone("default".into(), "web".into())));
    world.add_pod(web("r", None));
    world.add_pod(web("s", None));
    world.settle();
    assert_eq!(
        (world.node_of("r").as_deref(), world.node_of("s").as_deref()),
        (Some("large"), Some("large"))
    );
}

#[test]
fn the_pods_of_an_owner_are_spread() {
    assert_eq!(nodes_of_two(&mut two_nodes(), Some(&set())), ["large", "large"]);
    let mut world = two_nodes();
    let one = Requirement { key: "app".into(), operator: Operator::In, values: vec!["web".into()] };
    let selector = LabelSelector::All(vec![one]);
    world.fact(Change::Companions(CompanionChange::OwnerApplied("default".into(), set(), selector)));
    assert_eq!(nodes_of_two(&mut world, Some(&set())), ["large", "small"]);
}
