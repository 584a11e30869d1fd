//! Trees of groups that lose something: a node under their pods, a group, a group of groups.

use cluster::change::{Change, GroupChange};

use crate::group_trees::{add, id, leaf, tree, zones};
use crate::world::World;

/// How many entries wait.
fn waiting(world: &World) -> usize {
    let counts = world.engine.counts();
    counts.ready + counts.undecided + counts.backing_off + counts.asleep + counts.gated
}

#[test]
fn a_tree_with_pods_on_a_node_that_is_gone_waits_until_they_are_gone() {
    let mut world = zones();
    world.fact(tree("t", 1, Some("zone"), None));
    world.fact(leaf("left", 1, Some("rack"), "t"));
    add(&mut world, "left", 1);
    world.settle();
    let node = world.node_of("left0").expect("there is room");
    world.fact(Change::NodeGone(node.as_str().into()));
    world.fact(leaf("right", 1, Some("rack"), "t"));
    add(&mut world, "right", 1);
    world.settle();
    let told = world.told.last().expect("it is told why");
    assert!(told.contains("members that run are not all in one domain of level zone"), "{told}");
    world.fact(Change::PodGone("uid-left0".into()));
    world.later(1);
    world.settle();
    assert!(world.node_of("right0").is_some(), "{:?}", world.told.last());
}

#[test]
fn a_tree_whose_only_group_with_pods_is_gone_waits_no_more() {
    let mut world = zones();
    world.fact(tree("t", 2, None, None));
    world.fact(leaf("left", 1, None, "t"));
    add(&mut world, "left", 2);
    world.settle();
    assert_eq!(waiting(&world), 1, "all of it is one entry");
    world.fact(Change::Group(GroupChange::Gone(id("left"))));
    world.settle();
    assert_eq!(waiting(&world), 1, "its pods wait for the group, and nobody for the tree");
}

#[test]
fn a_tree_that_loses_a_group_of_groups_waits_no_more() {
    let mut world = zones();
    world.fact(tree("t", 2, None, None));
    world.fact(tree("inner", 1, None, Some("t")));
    world.fact(leaf("left", 1, None, "inner"));
    add(&mut world, "left", 1);
    world.settle();
    assert_eq!(waiting(&world), 1, "all of it is one entry");
    world.fact(Change::Group(GroupChange::CompositeGone(id("inner"))));
    world.settle();
    assert_eq!(waiting(&world), 1, "its pods wait for the group of groups, and nobody for the tree");
}
