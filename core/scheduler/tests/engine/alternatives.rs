//! Claims that would rather have one thing than another.

use cluster::change::Change;
use decisions::profile::Profile;
use decisions::scores::{Score, ScoreSettings};
use model::node::{Node, NodeTaint, NodeTaintEffect};

use crate::world::{World, alternatives, engine_with, gpu_class, gpus, node, pod, world};

/// Node a has one card and much room, node b has two cards and less room.
fn uneven() -> Vec<Change> {
    let (few, many) = (gpus("a", &["gpu-a"]), gpus("b", &["gpu-b0", "gpu-b1"]));
    vec![gpu_class(), node("a", 4_000), few, node("b", 2_500), many]
}

fn played(mut world: World) -> World {
    uneven().into_iter().for_each(|change| world.fact(change));
    world.add_claim(alternatives("one", &[2, 1]));
    world.add_pod(pod("p", 1_000, &["one"]));
    world.settle();
    world
}

#[test]
fn the_node_with_the_better_alternative_is_taken() {
    let world = played(world());
    assert_eq!(world.node_of("p").as_deref(), Some("b"));
    assert_eq!(world.devices_of("one"), ["gpu-b0", "gpu-b1"]);
}

#[test]
fn what_counts_for_nothing_is_not_looked_at() {
    let mut world = world();
    let mut scores = ScoreSettings::default();
    scores.weights.retain(|(kind, _)| *kind != Score::Devices);
    world.engine = engine_with(vec![Profile { scores, ..Profile::named("supercargo") }]);
    let world = played(world);
    assert_eq!(world.node_of("p").as_deref(), Some("a"), "there is more room");
    assert_eq!(world.devices_of("one"), ["gpu-a"]);
}

#[test]
fn a_node_that_is_much_better_otherwise_is_taken_with_the_second_best() {
    // A taint is judged among all nodes, so no answer is kept. That of b costs 300, and its devices are worth 26 more.
    let mut world = world();
    uneven().into_iter().for_each(|change| world.fact(change));
    let taint = NodeTaint { key: "k".into(), value: "".into(), effect: NodeTaintEffect::PreferNoSchedule };
    let Change::NodeApplied(plain) = node("b", 2_500) else { unreachable!("it is a node") };
    world.fact(Change::NodeApplied(Box::new(Node { taints: vec![taint], ..*plain })));
    world.add_claim(alternatives("one", &[2, 1]));
    world.add_pod(pod("p", 1_000, &["one"]));
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
    assert_eq!(world.devices_of("one"), ["gpu-a"]);
}
