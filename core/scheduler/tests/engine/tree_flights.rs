//! Trees of groups on their way: enough groups with enough pods are bound together, whatever becomes of others meanwhile.

use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use model::pod::{LabelSelector, Pod, PodTerm, Shape};
use scheduler::engine::Engine;
use scheduler::write::Write;

use crate::group_trees::{add_zones, id, leaf, tree, tree_settings, zones};
use crate::readying::{fabric, fail};
use crate::world::{World, claim, claim_id, gpu_class, gpus, pod};

fn member(group: &str, name: &str, claims: &[&str]) -> Pod {
    Pod { group: Some(group.into()), ..pod(name, 1_000, claims) }
}

/// A tree of two groups of one pod each, of which `y0` has yet to get its device.
fn on_its_way() -> World {
    let mut world = zones();
    world.fact(gpu_class());
    world.fact(gpus("z0-r0-a", &["gpu-0"]));
    world.add_claim(claim("c"));
    world.fact(tree("t", 2, None, None));
    world.fact(leaf("x", 1, None, "t"));
    world.fact(leaf("y", 1, None, "t"));
    world.add_pod(member("x", "x0", &[]));
    world.add_pod(member("y", "y0", &["c"]));
    world.turn();
    assert_eq!((world.engine.placing(), binds(&world)), (2, 0), "{:?}", world.open);
    world
}

fn binds(world: &World) -> usize {
    world.open.iter().filter(|(_, write)| matches!(write, Write::Bind { .. })).count()
}

fn bound(world: &World) -> usize {
    world.pods.values().filter(|pod| pod.node.is_some()).count()
}

fn holds_nothing(world: &World) -> bool {
    world.claims.values().all(|state| state.allocation.is_none() && state.reserved_for.is_empty())
}

#[test]
fn pods_of_one_group_do_not_stand_for_those_of_another() {
    let mut world = on_its_way();
    world.add_pod(member("x", "x1", &[]));
    world.turn();
    assert_eq!(world.engine.placing(), 3, "it joins them");
    world.fail.push(|write| matches!(write, Write::Allocate { .. }));
    world.carry_out();
    assert_eq!(binds(&world), 0, "two pods of x are one group: {:?}", world.open);
    world.later(20);
    world.settle();
    assert_eq!(bound(&world), 3, "{:?}", world.told);
}

#[test]
fn a_tree_that_needs_more_groups_than_are_on_their_way_is_taken_back() {
    let mut world = on_its_way();
    world.fact(leaf("z", 1, None, "t"));
    world.fact(tree("t", 3, None, None));
    world.settle();
    assert_eq!((world.engine.placing(), bound(&world)), (0, 0), "{:?}", world.told);
    assert!(holds_nothing(&world));
    world.fact(tree("t", 2, None, None));
    world.later(20);
    world.settle();
    assert_eq!(bound(&world), 2, "{:?}", world.told);
}

#[test]
fn a_tree_whose_group_needs_more_pods_than_are_on_their_way_is_taken_back() {
    let mut world = on_its_way();
    world.fact(leaf("x", 2, None, "t"));
    world.settle();
    assert_eq!((world.engine.placing(), bound(&world)), (0, 0), "{:?}", world.told);
    assert!(holds_nothing(&world));
    world.add_pod(member("x", "x1", &[]));
    world.later(20);
    world.settle();
    assert_eq!(bound(&world), 3, "{:?}", world.told);
}

#[test]
fn a_tree_on_its_way_that_loses_a_group_is_taken_back() {
    for gone in [GroupChange::Gone(id("x")), GroupChange::CompositeGone(id("t"))] {
        let mut world = on_its_way();
        world.fact(Change::Group(gone));
        world.settle();
        assert_eq!((world.engine.placing(), bound(&world)), (0, 0), "{:?}", world.told);
        assert!(holds_nothing(&world));
    }
}

#[test]
fn a_tree_on_its_way_that_loses_a_pod_on_a_node_is_taken_back() {
    let mut world = zones();
    world.fact(gpu_class());
    world.fact(gpus("z0-r0-a", &["gpu-0"]));
    world.add_claim(claim("c"));
    world.fact(tree("t", 2, None, None));
    world.fact(leaf("x", 1, None, "t"));
    world.fact(leaf("y", 1, None, "t"));
    world.add_pod(Pod { node: Some("z0-r0-a".into()), ..member("x", "x0", &[]) });
    world.add_pod(member("y", "y0", &["c"]));
    world.turn();
    assert_eq!(world.engine.placing(), 1);
    world.remove_pod("x0");
    world.settle();
    assert_eq!((world.engine.placing(), bound(&world)), (0, 0), "{:?}", world.told);
    assert!(holds_nothing(&world));
}

#[test]
fn a_tree_gives_back_devices_that_failed_before_the_scheduler_began() {
    let facts = || {
        let cards = [fabric("z0-r0-a", &["gpu-0"]), fabric("z1-r0-a", &["gpu-1"])];
        [gpu_class(), tree("t", 1, None, None), leaf("x", 1, None, "t")].into_iter().chain(cards)
    };
    let mut world = zones();
    facts().for_each(|fact| world.fact(fact));
    world.add_claim(claim("c"));
    world.add_pod(member("x", "x0", &["c"]));
    world.settle();
    assert_eq!(world.engine.readying(), 1, "{:?}", world.told);

    world.engine = Engine::new(tree_settings());
    add_zones(&mut world);
    facts().for_each(|fact| world.fact(fact));
    fail(&mut world, "c");
    world.add_pod(member("x", "x0", &["c"]));
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(world.engine.readying(), 1, "{:?}", world.told);
    let preparation = world.claims[&claim_id("c")].preparation.as_ref().expect("it has devices");
    assert!(preparation.devices[0].failed.is_none(), "it got them anew: {preparation:?}");
}

#[test]
fn members_that_have_room_are_placed_though_others_of_the_tree_have_none() {
    let mut world = zones();
    world.fact(tree("t", 2, None, None));
    world.fact(leaf("x", 1, None, "t"));
    world.fact(leaf("y", 1, None, "t"));
    world.add_pod(Pod { node: Some("z0-r0-a".into()), ..member("y", "y0", &[]) });
    // One is too large, and two would be alone in their zones, of which there are two. The group of the others has enough without them.
    world.add_pod(member("x", "x0", &[]));
    world.add_pod(Pod { group: Some("x".into()), ..pod("x9", 9_000, &[]) });
    world.add_pod(member("y", "y1", &[]));
    for name in ["y2", "y3"] {
        let mut lonely = member("y", name, &[]);
        let apart = PodTerm {
            selector: LabelSelector::All(Vec::new()),
            namespaces: vec!["default".into()],
            namespace_selector: None,
            key: "zone".into(),
        };
        lonely.shape = Arc::new(Shape { apart: vec![apart], ..Shape::clone(&lonely.shape) });
        world.add_pod(lonely);
    }
    world.settle();
    world.later(20);
    world.settle();
    assert!(world.node_of("x0").is_some() && world.node_of("y1").is_some(), "{:?}", world.told);
    assert_eq!(world.node_of("x9"), None);
}
