//! Gangs of our own workloads that sleep: what wakes them, and what does not.

use cluster::change::{Change, GroupChange};
use cluster::topologies::{Level, NodeTopology};
use model::pod::LabelSelector;
use model::workload::{LevelTerm, Terms};

use crate::gangs::{node_in, racks, seats};
use crate::replicas::{add, one_pool, with_claim, workload};
use crate::world::{World, gpu_class, gpus, pod};

/// Tells a fact after a while, and says whether the gang was looked at for it.
#[track_caller]
fn wakes(world: &mut World, change: Change, expected: bool) {
    world.later(20);
    let looks = |world: &World| world.told.iter().filter(|line| line.starts_with("0-0: ")).count();
    let before = (looks(world), seats(world));
    world.fact(change);
    world.settle();
    assert_eq!((looks(world), seats(world)) != before, expected, "{:?}", world.told.last());
}

/// A node of the first rack with another label.
fn relabelled() -> Change {
    let Change::NodeApplied(mut node) = node_in("r0", "a", 4_000) else { unreachable!("it is a node") };
    node.labels.insert("colour".into(), "blue".into());
    Change::NodeApplied(node)
}

fn topology(label: &str) -> Change {
    let levels = vec![Level { name: "shelf".into(), key: label.into() }];
    Change::Group(GroupChange::TopologyApplied(Box::new(NodeTopology {
        name: "floor".into(),
        levels,
        nodes: LabelSelector::All(Vec::new()),
    })))
}

#[test]
fn a_workload_with_a_level_by_name_is_woken_by_topologies_and_labels() {
    let mut world = racks();
    let level = LevelTerm { level: "shelf".into(), rank: None };
    world.fact(workload(1, Terms { levels: vec![level], devices: Vec::new() }));
    add(&mut world, 1, |name, _| pod(name, 1_000, &[]));
    world.settle();
    assert_eq!(seats(&world), "0-0 0-1", "nobody knows that level");
    wakes(&mut world, gpus("a", &["gpu-0"]), false);
    wakes(&mut world, topology("nothing"), true);
    wakes(&mut world, topology("nothing"), false);
    wakes(&mut world, relabelled(), true);
    assert_eq!(seats(&world), "0-0 0-1", "no node has that label");
    wakes(&mut world, topology("rack"), true);
    assert!(world.node_of("0-0").is_some() && world.node_of("0-1").is_some(), "{}", seats(&world));
}

#[test]
fn a_workload_that_wants_devices_of_one_set_is_woken_by_devices() {
    let mut world = racks();
    world.fact(gpu_class());
    for node in ["a", "b"] {
        world.fact(gpus(node, &["gpu-0"]));
    }
    world.fact(workload(1, one_pool()));
    (0..2).for_each(|number| with_claim(&mut world, 0, number));
    world.settle();
    assert_eq!(seats(&world), "0-0 0-1", "two are not in one pool");
    wakes(&mut world, topology("rack"), false);
    wakes(&mut world, Change::PodApplied(pod("other", 9_000, &[]).into()), false);
    wakes(&mut world, gpus("c", &["gpu-0"]), true);
    wakes(&mut world, gpus("c", &["gpu-0", "gpu-1"]), true);
    assert_eq!(seats(&world), "0-0@c 0-1@c");
}
