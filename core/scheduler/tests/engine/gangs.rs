//! Pods that are placed together or not at all.

use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use decisions::settings::Settings;
use gates::{Gate, Gates};
use model::group::{Disruption, Group, GroupId};
use model::node::Node;
use model::pod::{LabelSelector, Pod, PodTerm, Resources, Shape};
use scheduler::engine::Engine;
use scheduler::write::Write;

use crate::world::{World, claim, gpu_class, gpus, pod, settings, world};

/// How an engine decides that knows pod groups.
pub fn gang_settings() -> Settings {
    let gates = [Gate::GenericWorkload, Gate::TopologyAwareWorkloadScheduling];
    let gates = gates.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true));
    Settings { gates, ..settings() }
}

pub fn gang_world() -> World {
    World { engine: Engine::new(gang_settings()), ..world() }
}

fn group_id() -> GroupId {
    GroupId { namespace: "default".into(), name: "gang".into() }
}

pub fn group(at_least: u32, levels: &[&str]) -> Change {
    let levels = levels.iter().map(|level| (*level).into()).collect();
    Change::Group(GroupChange::Applied(Box::new(Group {
        id: group_id(),
        uid: "uid-gang".into(),
        at_least,
        levels,
        preempts: true,
        ..Group::default()
    })))
}

/// A group of a name and a priority that wants so many pods in one rack.
pub fn gang(name: &str, at_least: u32, priority: i32, disruption: Disruption) -> Group {
    Group {
        id: GroupId { namespace: "default".into(), name: name.into() },
        uid: format!("uid-{name}").into(),
        at_least,
        levels: vec!["rack".into()],
        priority,
        disruption,
        preempts: true,
        ..Group::default()
    }
}

pub fn applied(group: Group) -> Change {
    Change::Group(GroupChange::Applied(Box::new(group)))
}

/// A pod of a group and a priority.
pub fn member_of(gang: &str, priority: i32, pod: Pod) -> Pod {
    Pod { group: Some(gang.into()), priority, ..pod }
}

pub fn member(name: &str, cpu_milli: i64, claims: &[&str]) -> Pod {
    Pod { group: Some("gang".into()), ..pod(name, cpu_milli, claims) }
}

pub fn node_in(rack: &str, name: &str, cpu_milli: i64) -> Change {
    let allocatable = Resources { cpu_milli, memory: 1 << 30, ..Resources::default() };
    let labels = [("rack".into(), rack.into()), ("host".into(), name.into())].into();
    let node = Node { name: name.into(), allocatable, pods_max: 10, labels, ..Node::default() };
    Change::NodeApplied(Box::new(node))
}

/// Two racks with two nodes each, of four processors.
pub fn racks() -> World {
    let mut world = gang_world();
    for (rack, name) in [("r0", "a"), ("r0", "b"), ("r1", "c"), ("r1", "d")] {
        world.fact(node_in(rack, name, 4_000));
    }
    world
}

/// Where members are: for each `name@node`, or its name alone.
pub fn seats(world: &World) -> String {
    let seat = |pod: &Pod| match &pod.node {
        Some(node) => format!("{}@{node}", pod.id.name),
        None => pod.id.name.to_string(),
    };
    world.pods.values().map(seat).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_gang_waits_for_its_group_and_for_enough_members() {
    let mut world = racks();
    world.add_pod(member("m0", 1_000, &[]));
    world.settle();
    assert_eq!(seats(&world), "m0");
    world.fact(group(2, &[]));
    world.settle();
    assert_eq!(seats(&world), "m0");
    world.add_pod(member("m1", 1_000, &[]));
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@a");
}

#[test]
fn a_gang_never_straddles_racks() {
    let mut world = racks();
    world.fact(group(3, &["rack"]));
    world.add_pod(Pod { node: Some("a".into()), ..pod("other", 4_000, &[]) });
    for name in ["m0", "m1", "m2"] {
        world.add_pod(member(name, 2_000, &[]));
    }
    world.settle();
    assert_eq!(seats(&world), "m0@c m1@c m2@d other@a");
}

#[test]
fn a_gang_without_room_holds_nothing_and_is_woken_by_what_can_help() {
    let mut world = racks();
    world.fact(group(5, &["rack"]));
    for name in ["m0", "m1", "m2", "m3", "m4"] {
        world.add_pod(member(name, 2_000, &[]));
    }
    world.add_pod(pod("single", 4_000, &[]));
    world.settle();
    assert_eq!(seats(&world), "m0 m1 m2 m3 m4 single@a");
    let told = "m0: pod group is unschedulable, 5 members fit in none of 2 domains at once; \
                r0 comes closest: 4 of 5 fit, insufficient cpu: 10 needed, 8 free";
    assert!(world.told.iter().any(|line| line == told), "{:?}", world.told);
    world.later(20);
    world.fact(node_in("r1", "e", 2_000));
    world.settle();
    assert_eq!(seats(&world), "m0@c m1@c m2@d m3@d m4@e single@a");
}

#[test]
fn later_members_join_the_others_in_their_rack() {
    let mut world = racks();
    world.fact(group(2, &["rack"]));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name, 3_000, &[])));
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@b");
    world.add_pod(member("m2", 1_000, &[]));
    world.add_pod(member("m3", 3_000, &[]));
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@b m2@a m3", "the other rack has room, but is not theirs");
    world.let_go("m1");
    world.later(20);
    world.settle();
    assert_eq!(seats(&world), "m0@a m2@a m3@b", "who is lost is replaced in the same rack");
}

#[test]
fn more_members_than_needed_get_seats_as_far_as_there_is_room() {
    let mut world = racks();
    world.fact(group(2, &["rack"]));
    ["m0", "m1", "m2"].into_iter().for_each(|name| world.add_pod(member(name, 3_000, &[])));
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@b m2");
}

#[test]
fn nobody_is_bound_before_all_have_their_devices() {
    let mut world = racks();
    [gpu_class(), gpus("a", &["gpu-a"]), gpus("b", &["gpu-b"])].into_iter().for_each(|fact| world.fact(fact));
    world.fact(group(2, &["rack"]));
    for (name, claimed) in [("m0", "c0"), ("m1", "c1")] {
        world.add_claim(claim(claimed));
        world.add_pod(member(name, 1_000, &[claimed]));
    }
    world.turn();
    let (mut first, second): (Vec<_>, Vec<_>) = std::mem::take(&mut world.open)
        .into_iter()
        .partition(|(_, write)| matches!(write, Write::Allocate { claim, .. } if *claim.name == *"c0"));
    assert_eq!((first.len(), second.len()), (1, 1), "claims are written first");
    world.open.append(&mut first);
    world.carry_out();
    assert!(world.open.is_empty(), "the other one is waited for: {:?}", world.open);
    world.open = second;
    world.carry_out();
    assert_eq!(world.open.len(), 2, "both are bound");
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@b");
}

#[test]
fn a_gang_of_which_one_fails_is_taken_back_as_a_whole_and_tried_again() {
    let mut world = racks();
    [gpu_class(), gpus("a", &["gpu-a"]), gpus("b", &["gpu-b"])].into_iter().for_each(|fact| world.fact(fact));
    world.fact(group(2, &["rack"]));
    for (name, claimed) in [("m0", "c0"), ("m1", "c1")] {
        world.add_claim(claim(claimed));
        world.add_pod(member(name, 1_000, &[claimed]));
    }
    world.fail.push(|write| matches!(write, Write::Allocate { claim, .. } if *claim.name == *"c1"));
    world.turn();
    world.carry_out();
    world.carry_out();
    assert_eq!(seats(&world), "m0 m1");
    assert!(world.claims.values().all(|claim| claim.reserved_for.is_empty()), "nobody holds anything");
    world.later(20);
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@b");
}

#[test]
fn two_gangs_that_compete_do_not_hold_half_each() {
    let mut world = racks();
    world.fact(group(4, &["rack"]));
    world.fact(applied(gang("rival", 4, 0, Disruption::Single)));
    for name in ["m0", "m1", "m2", "m3"] {
        world.add_pod(member(name, 2_000, &[]));
        world.add_pod(Pod { group: Some("rival".into()), ..pod(&format!("x{name}"), 2_000, &[]) });
    }
    world.add_pod(Pod { node: Some("d".into()), ..pod("other", 1_000, &[]) });
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@a m2@b m3@b other@d xm0 xm1 xm2 xm3");
}

#[test]
fn members_that_must_be_apart_are() {
    let mut world = racks();
    world.fact(group(2, &["rack"]));
    for name in ["m0", "m1"] {
        let mut pod = member(name, 1_000, &[]);
        let apart = PodTerm {
            selector: LabelSelector::All(Vec::new()),
            namespaces: vec!["default".into()],
            namespace_selector: None,
            key: "host".into(),
        };
        pod.shape = Arc::new(Shape { apart: vec![apart], ..Shape::clone(&pod.shape) });
        world.add_pod(pod);
    }
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@b");
}

#[test]
fn members_of_a_group_are_single_pods_while_the_feature_is_off() {
    let mut world = world();
    world.fact(node_in("r0", "a", 1_000));
    world.fact(group(2, &["rack"]));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name, 1_000, &[])));
    world.settle();
    assert_eq!(seats(&world), "m0@a m1");
}

#[test]
fn members_that_share_a_claim_are_together_with_its_devices() {
    let mut world = racks();
    [gpu_class(), gpus("a", &["gpu-a"]), gpus("c", &["gpu-c"])].into_iter().for_each(|fact| world.fact(fact));
    world.add_pod(Pod { node: Some("a".into()), ..pod("other", 2_000, &[]) });
    world.fact(group(3, &["rack"]));
    world.add_claim(claim("shared"));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name, 1_500, &["shared"])));
    world.add_pod(member("m2", 1_000, &[]));
    world.settle();
    assert_eq!(seats(&world), "m0@c m1@c m2@c other@a", "two of them have no room beside the other pod");
    let shared = &world.claims[&crate::world::claim_id("shared")];
    assert_eq!(shared.reserved_for.len(), 2);
}

#[test]
fn members_that_share_a_claim_come_back_together_if_it_gets_no_devices() {
    let mut world = racks();
    [gpu_class(), gpus("a", &["gpu-a"])].into_iter().for_each(|fact| world.fact(fact));
    world.fact(group(2, &["rack"]));
    world.add_claim(claim("shared"));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name, 1_500, &["shared"])));
    world.fail.push(|write| matches!(write, Write::Allocate { .. }));
    world.turn();
    world.carry_out();
    world.carry_out();
    assert_eq!(seats(&world), "m0 m1");
    world.later(20);
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@a");
}
