//! Members that share a claim which is reserved for each of them: one write reserves it for all.

use cluster::change::Change;
use model::identity::ConsumerUid;
use model::node::Node;
use model::pod::{Pod, Resources};
use scheduler::write::Write;

use crate::gangs::{gang_world, group, member};
use crate::world::{World, claim, claim_id, gpu_class, gpus, pod};

/// A node with room for hundreds of pods, and one card.
fn large_node() -> World {
    let mut world = gang_world();
    let allocatable = Resources { cpu_milli: 1_000_000, memory: 1 << 40, ..Resources::default() };
    let node = Node { name: "a".into(), allocatable, pods_max: 1_000, ..Node::default() };
    world.fact(Change::NodeApplied(Box::new(node)));
    world.fact(gpu_class());
    world.fact(gpus("a", &["gpu-a"]));
    world.add_claim(claim("shared"));
    world
}

fn add_members(world: &mut World, count: usize) {
    (0..count).for_each(|at| world.add_pod(member(&format!("m{at:03}"), 100, &["shared"])));
}

fn users(world: &World) -> Vec<ConsumerUid> {
    world.claims[&claim_id("shared")].reserved_for.clone()
}

fn bound(world: &World) -> usize {
    world.pods.values().filter(|pod| pod.node.is_some()).count()
}

/// The writes about claims that are open.
fn claim_writes(world: &World) -> Vec<&'static str> {
    let is_of_claim = |name: &&str| !matches!(*name, "bind" | "note" | "note_group");
    world.open.iter().map(|(_, write)| write.name()).filter(is_of_claim).collect()
}

#[test]
fn members_that_share_a_claim_get_it_in_one_write() {
    for count in [2, 20, 100, 256] {
        let mut world = large_node();
        world.fact(group(count as u32, &[]));
        add_members(&mut world, count);
        world.turn();
        assert_eq!(claim_writes(&world), ["allocate"], "{count} members");
        world.carry_out();
        assert_eq!(claim_writes(&world), [""; 0], "{count} members");
        assert_eq!(users(&world).len(), count);
        world.settle();
        assert_eq!(bound(&world), count);
    }
}

#[test]
fn a_claim_with_devices_is_reserved_for_all_members_in_one_write() {
    let mut world = large_node();
    world.add_pod(pod("before", 100, &["shared"]));
    world.settle();
    world.fact(group(20, &[]));
    add_members(&mut world, 20);
    world.turn();
    assert_eq!(claim_writes(&world), ["reserve"]);
    world.settle();
    assert_eq!((bound(&world), users(&world).len()), (21, 21));
}

#[test]
fn a_gang_whose_one_write_fails_is_taken_back_and_tried_again() {
    let mut world = large_node();
    world.fact(group(20, &[]));
    add_members(&mut world, 20);
    world.fail.push(|write| matches!(write, Write::Allocate { .. }));
    world.turn();
    world.carry_out();
    assert_eq!(bound(&world), 0);
    assert!(world.engine.ledger().is_empty(), "nothing is held");
    let told = "m019: claim default/shared: conflict";
    assert!(world.told.iter().any(|line| line == told), "{:?}", world.told);
    world.later(20);
    world.settle();
    assert_eq!((bound(&world), users(&world).len()), (20, 20));
}

#[test]
fn a_gang_that_is_taken_back_lets_a_shared_claim_go_in_one_write() {
    let mut world = large_node();
    world.fact(gpus("a", &["gpu-a", "gpu-b"]));
    world.add_claim(claim("own"));
    world.fact(group(20, &[]));
    add_members(&mut world, 19);
    world.add_pod(member("m019", 100, &["shared", "own"]));
    world.fail.push(|write| matches!(write, Write::Allocate { claim, .. } if *claim.name == *"own"));
    world.turn();
    world.carry_out();
    assert_eq!(claim_writes(&world), ["release"]);
    world.carry_out();
    assert_eq!((bound(&world), users(&world).len()), (0, 0));
    world.later(20);
    world.settle();
    assert_eq!((bound(&world), users(&world).len()), (20, 20));
}

#[test]
fn what_one_write_reserved_for_a_member_that_is_gone_is_released() {
    let mut world = large_node();
    world.fact(group(3, &[]));
    add_members(&mut world, 5);
    world.turn();
    // One whose name the write has first, and one that it has besides.
    ["m000", "m003"].into_iter().for_each(|name| world.remove_pod(name));
    world.settle();
    let mut left = users(&world);
    left.sort();
    assert_eq!(left, ["uid-m001".into(), "uid-m002".into(), "uid-m004".into()]);
    assert_eq!(bound(&world), 3);
}

#[test]
fn a_member_that_somebody_else_bound_keeps_what_one_write_reserved() {
    let mut world = large_node();
    world.fact(group(3, &[]));
    add_members(&mut world, 3);
    world.turn();
    world.add_pod(Pod { node: Some("a".into()), ..member("m001", 100, &["shared"]) });
    world.settle();
    assert_eq!((bound(&world), users(&world).len()), (3, 3));
}

#[test]
fn no_more_members_share_a_claim_than_it_may_have_users() {
    let mut world = large_node();
    world.fact(group(250, &[]));
    add_members(&mut world, 260);
    world.settle();
    assert_eq!((bound(&world), users(&world).len()), (256, 256), "four are left over");
    let mut world = large_node();
    world.fact(group(257, &[]));
    add_members(&mut world, 257);
    world.settle();
    assert_eq!((bound(&world), users(&world).len()), (0, 0));
    let told = "m000: pod group is unschedulable, pod m256: 0/1 nodes are available: resourceclaim \"shared\" \
                may have 256 consumers, and other pods of the group use all of them.";
    assert!(world.told.iter().any(|line| line == told), "{:?}", world.told.last());
}
