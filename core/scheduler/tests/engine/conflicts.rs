//! Claims that several pods use, and writes that others were faster than.

use std::sync::Arc;

use cluster::change::Change;
use cluster::claims::ClaimState;
use model::identity::ConsumerUid;
use model::pod::Pod;
use scheduler::write::Write;

use crate::deallocate::held;
use crate::with_gpus;
use crate::world::{World, claim, claim_id, gpus, node, pod};

fn told<'w>(world: &'w World, pod: &str) -> &'w str {
    let prefix = format!("{pod}: ");
    world.told.iter().rev().find(|line| line.starts_with(&prefix)).map_or("nothing", |line| line.as_str())
}

/// Another client writes a claim; the engine is told if it is to know.
fn elsewhere(world: &mut World, state: ClaimState, is_told: bool) {
    world.claims.insert(state.wish.id.clone(), state.clone());
    if is_told {
        world.add_claim(state);
    }
}

#[test]
fn a_claim_has_256_users_at_most_and_the_next_waits_until_one_leaves() {
    let users: Vec<String> = (0..256).map(|number| format!("uid-{number}")).collect();
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    let mut world = with_gpus();
    world.add_claim(held("one", "a", &users));
    world.add_pod(pod("p", 100, &["one"]));
    world.settle();
    assert_eq!(
        told(&world, "p"),
        "p: 0/2 nodes are available: resourceclaim \"one\" has 256 consumers, which is the limit. preemption: 0/2 \
            nodes are available: 2 Preemption is not helpful for scheduling."
    );
    elsewhere(&mut world, held("one", "a", &users[1..]), true);
    world.later(2);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
    assert_eq!(world.claims[&claim_id("one")].reserved_for.len(), 256);
}

#[test]
fn a_pod_that_is_among_the_256_already_gets_in() {
    let mut users: Vec<String> = (1..256).map(|number| format!("uid-{number}")).collect();
    users.push("uid-p".to_owned());
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    let mut world = with_gpus();
    world.add_claim(held("one", "a", &users));
    world.add_pod(pod("p", 100, &["one"]));
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
}

#[test]
fn a_claim_that_others_leave_lets_its_devices_go_for_the_pod_that_waits() {
    let mut world = with_gpus();
    world.fact(node("a", 50));
    world.add_claim(held("one", "a", &["uid-other"]));
    world.add_pod(pod("p", 100, &["one"]));
    world.settle();
    assert_eq!(world.node_of("p"), None);
    elsewhere(&mut world, held("one", "a", &[]), true);
    for _ in 0..2 {
        world.later(20);
        world.settle();
    }
    assert_eq!(
        (world.node_of("p").as_deref(), world.devices_of("one")),
        (Some("b"), vec!["gpu-b".to_owned()])
    );
}

#[test]
fn a_claim_that_another_scheduler_allocates_first_is_used_as_it_is() {
    for is_told_early in [false, true] {
        let mut world = with_gpus();
        world.fact(node("b", 9_000));
        world.add_claim(claim("one"));
        world.add_pod(pod("p", 100, &["one"]));
        world.turn();
        assert!(matches!(&world.open[..], [(_, Write::Allocate { .. })]));
        elsewhere(&mut world, held("one", "a", &["uid-other"]), is_told_early);
        world.carry_out();
        assert_eq!(told(&world, "p"), "p: claim default/one: it has devices already");
        elsewhere(&mut world, held("one", "a", &["uid-other"]), true);
        world.later(2);
        world.settle();
        assert_eq!(world.node_of("p").as_deref(), Some("a"), "told early: {is_told_early}");
        assert_eq!(world.devices_of("one"), ["gpu-a"]);
        assert_eq!(
            world.claims[&claim_id("one")].reserved_for,
            [ConsumerUid::from("uid-other"), ConsumerUid::from("uid-p")]
        );
        // The card that was ours for a moment is free again.
        world.add_claim(claim("two"));
        world.add_pod(pod("q", 100, &["two"]));
        world.settle();
        assert_eq!(world.devices_of("two"), ["gpu-b"]);
    }
}

#[test]
fn a_device_that_another_scheduler_gives_away_first_is_not_asked_for_again() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    let [(_, Write::Allocate { allocation, .. })] = &world.open[..] else {
        unreachable!("one write is open")
    };
    let node = allocation.grants[0].device.pool.to_string();
    elsewhere(&mut world, held("theirs", &node, &["uid-other"]), true);
    world.fail.push(|write| matches!(write, Write::Allocate { .. }));
    world.carry_out();
    world.later(2);
    world.settle();
    let other = if node == "a" { "b" } else { "a" };
    assert_eq!(world.devices_of("one"), [format!("gpu-{other}")]);
    assert_eq!(world.node_of("p").as_deref(), Some(other));
}

#[test]
fn of_two_claims_the_one_that_was_written_follows_the_other_to_another_node() {
    let mut world = with_gpus();
    for name in ["a", "b"] {
        world.fact(gpus(name, &[&format!("gpu-{name}"), &format!("gpu-{name}2")]));
    }
    world.fact(node("a", 9_000));
    for name in ["one", "two"] {
        world.add_claim(claim(name));
    }
    world.add_pod(pod("p", 100, &["one", "two"]));
    world.turn();
    world.fail.push(|write| matches!(write, Write::Allocate { claim, .. } if &*claim.name == "two"));
    // The first claim has a card of a, the second fails, and another client takes the card that is left there.
    let state = held("theirs", "a", &["uid-other"]);
    world.carry_out();
    let taken = world.devices_of("one");
    assert_eq!(taken, ["gpu-a"]);
    let mut theirs = state;
    let allocation = theirs.allocation.as_mut().map(Arc::make_mut).expect("it has a card");
    allocation.held[0].device.device = "gpu-a2".into();
    elsewhere(&mut world, theirs, true);
    for _ in 0..3 {
        world.later(20);
        world.settle();
    }
    assert_eq!(world.node_of("p").as_deref(), Some("b"));
    let mut given = [world.devices_of("one"), world.devices_of("two")].concat();
    given.sort();
    assert_eq!(given, ["gpu-b", "gpu-b2"]);
}

#[test]
fn a_reservation_that_comes_too_late_is_not_taken_for_one() {
    let mut world = with_gpus();
    world.add_claim(held("one", "a", &[]));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    world.fail.push(|write| matches!(write, Write::Reserve { .. }));
    elsewhere(&mut world, claim("one"), false);
    world.carry_out();
    assert_eq!(world.node_of("p"), None);
    elsewhere(&mut world, claim("one"), true);
    world.later(2);
    world.settle();
    let node = world.node_of("p").expect("it is bound");
    assert_eq!(world.devices_of("one"), [format!("gpu-{node}")]);
}

#[test]
fn who_waits_for_devices_of_a_placement_that_failed_is_tried_at_once() {
    let mut world = with_gpus();
    world.add_claim(held("theirs", "b", &["uid-other"]));
    for name in ["one", "two"] {
        world.add_claim(claim(name));
    }
    world.add_pod(Pod { priority: 1, ..pod("one", 100, &["one"]) });
    world.add_pod(pod("two", 100, &["two"]));
    world.turn();
    world.fail.push(|write| matches!(write, Write::Allocate { .. }));
    world.carry_out();
    world.remove_pod("one");
    world.later(2);
    world.settle();
    assert_eq!(world.devices_of("two"), ["gpu-a"]);
}

#[test]
fn a_claim_that_was_not_found_is_gone_whatever_a_late_watch_tells_of_it() {
    let mut world = with_gpus();
    let known = ClaimState { version: "5".into(), ..held("one", "a", &["uid-p"]) };
    world.add_claim(known.clone());
    world.add_claim(claim("two"));
    world.fact(Change::ClaimMissing(claim_id("one"), "of another".into()));
    assert!(world.engine.knows_claim(&claim_id("one"), &known.uid), "it is not the one that is missing");
    world.fact(Change::ClaimMissing(claim_id("one"), known.uid.clone()));
    assert!(!world.engine.knows_claim(&claim_id("one"), &known.uid));
    // What happened to it before it went is heard of now.
    world.fact(Change::ClaimApplied(Box::new(ClaimState { version: "6".into(), ..known.clone() })));
    world.add_pod(pod("p", 100, &["one"]));
    world.settle();
    assert_eq!(world.node_of("p"), None, "its claim is gone");
    world.fact(Change::ClaimGone(claim_id("one")));
    // Another of its name is there then.
    world.add_claim(ClaimState { uid: "another".into(), version: "9".into(), ..claim("one") });
    world.later(20);
    world.settle();
    assert!(world.node_of("p").is_some());
}
