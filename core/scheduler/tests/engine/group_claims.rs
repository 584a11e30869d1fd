//! Claims that a group uses in its members' stead.

use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use gates::{Gate, Gates};
use model::device::{PoolId, Reach, Slice};
use model::group::{Group, GroupId};
use model::identity::ConsumerUid;
use model::node::{NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{ClaimSource, Pod, PodClaim};
use scheduler::engine::Engine;
use scheduler::write::Write;

use crate::gangs::{node_in, seats};
use crate::world::{World, claim, claim_id, gpu_class, gpus, pod, settings, world};

fn shared_world() -> World {
    let mut settings = settings();
    let gates =
        [Gate::GenericWorkload, Gate::TopologyAwareWorkloadScheduling, Gate::DRAWorkloadResourceClaims];
    settings.gates = gates.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true));
    let mut world = World { engine: Engine::new(settings), ..world() };
    for (rack, name) in [("r0", "a"), ("r0", "b"), ("r1", "c"), ("r1", "d")] {
        world.fact(node_in(rack, name, 4_000));
    }
    world.fact(gpu_class());
    world
}

/// A group that names the claim `shared`.
fn group(at_least: u32) -> Change {
    Change::Group(GroupChange::Applied(Box::new(Group {
        id: GroupId { namespace: "default".into(), name: "gang".into() },
        uid: "uid-gang".into(),
        at_least,
        claims: [("shared".into(), "shared".into())].into(),
        preempts: true,
        ..Group::default()
    })))
}

fn member(name: &str, cpu_milli: i64, claims: &[&str]) -> Pod {
    Pod { group: Some("gang".into()), ..pod(name, cpu_milli, claims) }
}

fn users(world: &World, claim: &str) -> Vec<ConsumerUid> {
    world.claims[&claim_id(claim)].reserved_for.clone()
}

#[test]
fn a_claim_of_the_group_is_written_once_and_reserved_for_the_group() {
    let mut world = shared_world();
    world.fact(gpus("c", &["gpu-c"]));
    world.fact(group(3));
    world.add_claim(claim("shared"));
    ["m0", "m1", "m2"].into_iter().for_each(|name| world.add_pod(member(name, 1_000, &["shared"])));
    world.turn();
    assert!(matches!(world.open[..], [(_, Write::Allocate { .. })]), "{:?}", world.open);
    world.carry_out();
    let binding = |write: &Write| matches!(write, Write::Bind { .. });
    assert!(world.open.iter().all(|(_, write)| binding(write)), "{:?}", world.open);
    world.settle();
    assert_eq!(seats(&world), "m0@c m1@c m2@c");
    assert_eq!(users(&world, "shared"), ["uid-gang".into()]);
    // A pod that comes later uses it as well, and nothing has to be written for that.
    world.add_pod(member("m3", 1_000, &["shared"]));
    world.turn();
    assert!(world.open.iter().all(|(_, write)| binding(write)), "{:?}", world.open);
    world.settle();
    assert_eq!(seats(&world), "m0@c m1@c m2@c m3@c");
}

#[test]
fn a_claim_that_was_made_for_the_group_is_the_groups() {
    let mut world = shared_world();
    world.fact(gpus("b", &["gpu-b"]));
    world.fact(group(2));
    let mut made = claim("made");
    made.owner = Some("uid-gang".into());
    world.add_claim(made);
    for name in ["m0", "m1"] {
        let source = ClaimSource::Generated("made".into());
        world.add_pod(Pod {
            claims: vec![PodClaim { name: "gpu".into(), source }],
            ..member(name, 1_000, &[])
        });
    }
    world.settle();
    assert_eq!(seats(&world), "m0@b m1@b");
    assert_eq!(users(&world, "made"), ["uid-gang".into()]);
}

#[test]
fn a_claim_of_the_group_is_let_go_with_its_last_member() {
    let mut world = shared_world();
    world.fact(gpus("a", &["gpu-0", "gpu-1"]));
    world.fact(group(2));
    world.add_claim(claim("shared"));
    world.add_claim(claim("own"));
    world.add_pod(member("m0", 1_000, &["shared"]));
    world.add_pod(member("m1", 1_000, &["shared", "own"]));
    world.fail.push(|write| matches!(write, Write::Allocate { claim, .. } if *claim.name == *"own"));
    world.turn();
    (0..3).for_each(|_| world.carry_out());
    assert_eq!(seats(&world), "m0 m1");
    assert!(users(&world, "shared").is_empty(), "nobody of the group is on its way");
    world.later(20);
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@a");
    assert_eq!(users(&world, "shared"), ["uid-gang".into()]);
}

#[test]
fn some_may_stay_behind_where_the_devices_are() {
    let mut world = shared_world();
    world.fact(gpus("a", &["gpu-a"]));
    world.fact(group(2));
    world.add_claim(claim("shared"));
    ["m0", "m1", "m2"].into_iter().for_each(|name| world.add_pod(member(name, 1_500, &["shared"])));
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@a m2", "the node of the device has room for two");
    assert_eq!(users(&world, "shared"), ["uid-gang".into()]);
}

/// A device of a fabric that the nodes of a rack reach.
fn fabric(rack: &str) -> Change {
    let Change::SliceApplied(published) = gpus(rack, &["fabric"]) else { unreachable!("it is a slice") };
    let here = Requirement { key: "rack".into(), operator: Operator::In, values: vec![rack.into()] };
    let term = NodeTerm { labels: vec![here], ..NodeTerm::default() };
    let reach = Reach::Matching(NodeSelector { terms: vec![term] });
    let pool = PoolId { driver: "gpu.example.com".into(), pool: rack.into() };
    let slice = Slice { pool, reach, ..published.slice.clone() };
    Change::SliceApplied(Arc::new(cluster::published::Published::new(slice, published.revision)))
}

#[test]
fn devices_that_a_rack_reaches_bring_all_members_to_a_rack_with_room() {
    let mut world = shared_world();
    world.fact(fabric("r0"));
    world.fact(fabric("r1"));
    // The first rack has room for one only.
    world.add_pod(Pod { node: Some("a".into()), ..pod("other", 3_000, &[]) });
    world.add_pod(Pod { node: Some("b".into()), ..pod("another", 2_000, &[]) });
    world.fact(group(3));
    world.add_claim(claim("shared"));
    ["m0", "m1", "m2"].into_iter().for_each(|name| world.add_pod(member(name, 2_000, &["shared"])));
    world.settle();
    let seats = seats(&world);
    assert!(
        ["m0", "m1", "m2"]
            .iter()
            .all(|name| { seats.contains(&format!("{name}@c")) || seats.contains(&format!("{name}@d")) }),
        "{seats}"
    );
    assert_eq!(users(&world, "shared"), ["uid-gang".into()]);
}

#[test]
fn a_claim_with_devices_where_the_gang_cannot_go_gives_them_back() {
    let mut world = shared_world();
    world.fact(gpus("a", &["gpu-a"]));
    world.fact(gpus("c", &["gpu-c"]));
    world.fact(group(1));
    world.add_claim(claim("shared"));
    world.add_pod(member("m0", 3_000, &["shared"]));
    world.settle();
    let before = world.node_of("m0").expect("it is bound");
    world.let_go("m0");
    // Another pod takes the room beside the devices.
    world.add_pod(Pod { node: Some(before.as_str().into()), ..pod("other", 3_000, &[]) });
    world.fact(group(2));
    ["m1", "m2"].into_iter().for_each(|name| world.add_pod(member(name, 2_000, &["shared"])));
    (0..3).for_each(|_| {
        world.settle();
        world.later(20);
    });
    let after = world.node_of("m1").expect("it is bound");
    assert_ne!(after, before);
    assert_eq!(world.node_of("m2"), Some(after));
    let told = "1 unused claims are deallocated";
    assert!(world.told.iter().any(|line| line.ends_with(told)), "{:?}", world.told);
}
