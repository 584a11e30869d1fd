//! Gangs and single pods in one queue: none starves, none holds half of what another needs, and what sleeps is woken by
//! what can help and by nothing else.

use std::sync::Arc;

use cluster::change::Change;
use model::group::Disruption;
use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::{Pod, Resources};
use scheduler::engine::Input;

use crate::gangs::{applied, gang, gang_world, member, member_of, node_in, racks, seats};
use crate::world::{World, claim, gpu_class, gpus, pod};

const SINGLE: Disruption = Disruption::Single;

/// How many attempts at a gang there were.
fn looks(world: &World) -> usize {
    world.told.iter().filter(|line| line.starts_with("m0: ")).count()
}

/// A gang that sleeps for want of room, in a world with a card on each node.
fn asleep(at_least: u32, members: &[&str], cpu_milli: i64, claims: bool) -> World {
    let mut world = racks();
    world.fact(gpu_class());
    for name in ["a", "b"] {
        world.fact(gpus(name, &["gpu-0", "gpu-1"]));
    }
    world.fact(applied(gang("gang", at_least, 0, SINGLE)));
    for name in members {
        if claims {
            world.add_claim(claim(name));
        }
        let claimed: &[&str] = if claims { &[name] } else { &[] };
        world.add_pod(member(name, cpu_milli, claimed));
    }
    world.settle();
    assert!(members.iter().all(|name| world.node_of(name).is_none()), "it waits: {}", seats(&world));
    world.later(20);
    world
}

/// Tells a fact, and says whether the gang was looked at for it.
#[track_caller]
fn wakes(world: &mut World, change: Change, expected: bool) {
    let before = looks(world);
    let seats_before = seats(world);
    world.fact(change);
    world.settle();
    let is_woken = looks(world) > before || seats(world) != seats_before;
    assert_eq!(is_woken, expected, "{:?}", world.told.last());
    world.later(20);
}

fn node_with(name: &str, change: impl FnOnce(&mut Node)) -> Change {
    let Change::NodeApplied(mut node) = node_in("r0", name, 4_000) else {
        unreachable!("it is told of a node")
    };
    change(&mut node);
    Change::NodeApplied(node)
}

const FIVE: [&str; 5] = ["m0", "m1", "m2", "m3", "m4"];

#[test]
fn a_node_that_is_added_or_grows_wakes_a_gang() {
    let mut world = asleep(5, &FIVE, 2_000, false);
    wakes(&mut world, node_in("r2", "tiny", 100), true);
    wakes(&mut world, node_with("a", |node| node.allocatable.cpu_milli = 4_500), true);
    wakes(&mut world, node_in("r0", "e", 2_000), true);
    assert!(FIVE.iter().all(|name| world.node_of(name).is_some()));
}

#[test]
fn a_label_wakes_a_gang_that_looks_for_labels() {
    let mut world = asleep(5, &FIVE, 2_000, false);
    wakes(&mut world, node_with("c", |_| {}), true);
    assert!(FIVE.iter().all(|name| world.node_of(name).is_some()), "there is a third node in the rack now");
}

#[test]
fn changes_that_cannot_help_do_not_wake_a_gang() {
    let mut world = asleep(5, &FIVE, 2_000, false);
    wakes(&mut world, gpus("c", &["gpu-0"]), false);
    wakes(&mut world, gpu_class(), false);
    let taint = NodeTaint { key: "busy".into(), value: "".into(), effect: NodeTaintEffect::PreferNoSchedule };
    wakes(&mut world, node_with("a", |node| node.taints.push(taint)), false);
    wakes(&mut world, Change::PodApplied(Arc::new(pod("other", 9_000, &[]))), false);
    wakes(&mut world, applied(gang("another", 2, 0, SINGLE)), false);
    world.add_claim(claim("unrelated"));
    let before = looks(&world);
    world.settle();
    assert_eq!(looks(&world), before, "nobody in it wants devices");
    // A pod takes room, and none gives any.
    world.add_pod(Pod { node: Some("a".into()), ..pod("more", 1_000, &[]) });
    world.settle();
    assert_eq!(looks(&world), before);
}

#[test]
fn a_taint_that_goes_wakes_a_gang_that_it_keeps_off() {
    let mut world = gang_world();
    let taint = NodeTaint { key: "busy".into(), value: "".into(), effect: NodeTaintEffect::NoSchedule };
    world.fact(node_with("a", |node| node.taints.push(taint)));
    world.fact(applied(gang("gang", 2, 0, SINGLE)));
    ["m0", "m1"].iter().for_each(|name| world.add_pod(member(name, 2_000, &[])));
    world.settle();
    world.later(20);
    wakes(&mut world, node_with("a", |_| {}), true);
    assert_eq!(seats(&world), "m0@a m1@a");
}

#[test]
fn a_device_that_is_freed_or_published_wakes_a_gang_that_wants_devices() {
    let mut world = asleep(5, &FIVE, 100, true);
    wakes(&mut world, gpus("a", &["gpu-0", "gpu-1", "gpu-2"]), true);
    assert!(FIVE.iter().all(|name| world.node_of(name).is_some()));

    let mut world = racks();
    world.fact(gpu_class());
    world.fact(gpus("a", &["gpu-0", "gpu-1"]));
    world.add_claim(claim("used"));
    world.add_pod(pod("user", 100, &["used"]));
    world.settle();
    world.fact(applied(gang("gang", 2, 0, SINGLE)));
    for name in ["m0", "m1"] {
        world.add_claim(claim(name));
        world.add_pod(member(name, 100, &[name]));
    }
    world.settle();
    world.later(20);
    world.let_go("user");
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@a");
}

#[test]
fn a_pod_that_completes_the_gang_lets_it_begin() {
    let mut world = racks();
    world.fact(applied(gang("gang", 3, 0, SINGLE)));
    ["m0", "m1"].iter().for_each(|name| world.add_pod(member(name, 1_000, &[])));
    world.settle();
    assert_eq!(looks(&world), 0, "two are too few to be looked at");
    world.add_pod(member("m2", 1_000, &[]));
    world.settle();
    assert_eq!(seats(&world), "m0@a m1@a m2@a");
}

#[test]
fn a_pod_that_fits_better_than_another_lets_a_gang_in_that_needs_fewer_than_it_has() {
    let mut world = racks();
    world.fact(applied(gang("gang", 2, 0, SINGLE)));
    world.add_pod(member("m0", 1_000, &[]));
    world.add_pod(member("m1", 9_000, &[]));
    world.settle();
    world.later(20);
    world.add_pod(member("m2", 1_000, &[]));
    world.settle();
    assert_eq!(seats(&world), "m0@a m1 m2@a");
}

#[test]
fn a_member_that_is_deleted_frees_the_others_from_its_rack() {
    let mut world = racks();
    world.fact(applied(gang("gang", 1, 0, SINGLE)));
    for (node, cpu) in [("a", 3_000), ("b", 3_000)] {
        world.add_pod(Pod { node: Some(node.into()), ..pod(&format!("x{node}"), cpu, &[]) });
    }
    world.add_pod(Pod { node: Some("a".into()), ..member("first", 500, &[]) });
    world.add_pod(member("m0", 2_000, &[]));
    world.settle();
    assert_eq!(world.node_of("m0"), None, "it has to be where the first is");
    world.later(20);
    world.let_go("first");
    world.settle();
    assert_eq!(world.node_of("m0").as_deref(), Some("c"));
}

#[test]
fn fewer_that_are_needed_let_a_gang_in() {
    let mut world = asleep(5, &FIVE, 2_000, false);
    wakes(&mut world, applied(gang("gang", 4, 0, SINGLE)), true);
    assert_eq!(seats(&world), "m0@a m1@a m2@b m3@b m4");
}

#[test]
fn gangs_and_single_pods_are_looked_at_in_the_order_in_which_they_came() {
    let mut world = racks();
    for number in 0..4 {
        world.later(1);
        world.fact(applied(gang(&format!("g{number}"), 2, 0, SINGLE)));
        for place in 0..2 {
            world.add_pod(member_of(
                &format!("g{number}"),
                0,
                pod(&format!("g{number}-{place}"), 1_000, &[]),
            ));
        }
        world.later(1);
        world.add_pod(pod(&format!("single-{number}"), 1_000, &[]));
    }
    for number in 0..4 {
        world.tell(Input::Turn { attempts: 1 });
        let placing = |name: &str| world.engine.on_its_way(&format!("uid-{name}")).is_some();
        assert!(placing(&format!("g{number}-0")) && placing(&format!("g{number}-1")));
        assert!(!placing(&format!("single-{number}")));
        world.tell(Input::Turn { attempts: 1 });
        assert!(world.engine.on_its_way(&format!("uid-single-{number}")).is_some());
    }
}

#[test]
fn a_gang_that_cannot_be_placed_keeps_nobody_waiting_and_is_placed_once_it_can_be() {
    let mut world = asleep(5, &FIVE, 2_000, false);
    for number in 0..50 {
        let name = format!("single-{number}");
        world.add_pod(pod(&name, 2_000, &[]));
        world.settle();
        assert!(world.node_of(&name).is_some(), "single pods go on past a gang that waits");
        world.later(30);
        if number > 2 {
            world.let_go(&format!("single-{}", number - 3));
        }
    }
    world.fact(node_in("r9", "big", 10_000));
    world.settle();
    assert!(FIVE.iter().all(|name| world.node_of(name).as_deref() == Some("big")));
}

#[test]
fn two_gangs_that_compete_are_placed_one_after_the_other_whichever_came_first() {
    for names in [["g0", "g1"], ["g1", "g0"]] {
        let mut world = gang_world();
        world.fact(gpu_class());
        for (name, node) in [("a", "a"), ("b", "b")] {
            world.fact(node_in("r0", name, 4_000));
            world.fact(gpus(node, &["gpu-0"]));
        }
        for place in 0..2 {
            for gang_name in names {
                world.fact(applied(gang(gang_name, 2, 0, SINGLE)));
                let name = format!("{gang_name}-{place}");
                world.add_claim(claim(&name));
                world.add_pod(member_of(gang_name, 0, pod(&name, 100, &[&name])));
                // In between there is time for each of them to take what there is.
                world.settle();
                world.later(2);
            }
        }
        let count = |world: &World, gang: &str| {
            let places = ["0", "1"].iter();
            places.filter(|place| world.node_of(&format!("{gang}-{place}")).is_some()).count()
        };
        let [first, second] = names;
        assert_eq!((count(&world, first), count(&world, second)), (2, 0));
        ["0", "1"].iter().for_each(|place| world.let_go(&format!("{first}-{place}")));
        world.later(20);
        world.settle();
        assert_eq!(count(&world, second), 2);
    }
}

#[test]
fn a_node_with_room_for_more_of_something_nobody_asked_for_does_not_wake_a_gang() {
    let mut world = asleep(5, &FIVE, 2_000, false);
    let same = Resources { cpu_milli: 4_000, memory: 1 << 30, ..Resources::default() };
    wakes(&mut world, node_with("a", |node| node.allocatable = same), false);
}
