//! Devices that another scheduler gave to another claim at the same moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::change::Change;
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::ledger::Holding;
use model::device::DeviceId;
use model::identity::ConsumerUid;
use model::node::NodeSelector;
use model::pod::Pod;
use scheduler::engine::Input;
use scheduler::write::{Write, WriteOutcome};

use crate::with_gpus;
use crate::world::{World, claim, claim_id, pod};

/// A claim that has the card of a node, and these users.
fn held(name: &str, node: &str, users: &[&str]) -> ClaimState {
    let device = DeviceId {
        driver: "gpu.example.com".into(),
        pool: node.into(),
        device: format!("gpu-{node}").into(),
    };
    let holding =
        Holding { holder: claim_id(name).into(), groups: BTreeMap::new(), consumed: BTreeMap::new() };
    let held = vec![Held { device, share: None, holding, tolerations: Vec::new() }];
    let nodes = Some(NodeSelector::only(&node.into()));
    ClaimState {
        allocation: Some(Arc::new(Allocated { nodes, held })),
        reserved_for: users.iter().map(|user| ConsumerUid::from(*user)).collect(),
        ..claim(name)
    }
}

/// A pod of which the claim is on its way to a card, and the node of that card.
fn on_its_way() -> (World, &'static str) {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    let [(_, Write::Allocate { allocation, .. })] = &world.open[..] else { unreachable!("{:?}", world.open) };
    let node = if *allocation.grants[0].device.device == *"gpu-a" { "a" } else { "b" };
    (world, node)
}

/// Carries out what is open, without asking whether a device is given twice for a moment.
fn carry_out(world: &mut World) {
    for (id, write) in std::mem::take(&mut world.open) {
        let outcome = world.apply(&write);
        world.tell(Input::Settled(id, outcome));
    }
}

fn binds(world: &World) -> bool {
    world.open.iter().any(|(_, write)| matches!(write, Write::Bind { .. }))
}

fn deallocates(world: &World) -> bool {
    world.open.iter().any(|(_, write)| matches!(write, Write::Deallocate { .. }))
}

#[test]
fn who_comes_second_gives_the_device_back_and_gets_another() {
    let (mut world, node) = on_its_way();
    world.add_claim(held("rival", node, &["uid-other"]));
    carry_out(&mut world);
    assert!(deallocates(&world) && !binds(&world), "{:?}", world.open);
    let told = format!(
        "p: device gpu.example.com/{node}/gpu-{node} of claim default/one was given to claim default/rival as well"
    );
    assert_eq!(world.told, [told]);
    carry_out(&mut world);
    world.later(20);
    world.settle();
    let elsewhere = if node == "a" { "b" } else { "a" };
    assert_eq!(world.node_of("p").as_deref(), Some(elsewhere));
    assert_eq!(world.devices_of("one"), [format!("gpu-{elsewhere}")]);
}

#[test]
fn who_comes_first_keeps_the_device() {
    let (mut world, node) = on_its_way();
    let (id, write) = world.open.remove(0);
    // The API tells of our devices, of the other's, and then answers.
    assert_eq!(world.apply(&write), WriteOutcome::Done);
    world.add_claim(held("rival", node, &["uid-other"]));
    world.tell(Input::Settled(id, WriteOutcome::Done));
    assert!(binds(&world) && !deallocates(&world), "{:?}", world.open);
}

/// The devices of the claim are written, and the answer says so before the watch tells of it. Gives what the watch will tell.
fn answered_first(world: &mut World, version: u64) -> ClaimState {
    let (id, write) = world.open.remove(0);
    let mut ahead = with_gpus();
    ahead.add_claim(world.claims[&claim_id("one")].clone());
    ahead.apply(&write);
    let written =
        ClaimState { version: version.to_string().into(), ..ahead.claims[&claim_id("one")].clone() };
    world.claims.insert(claim_id("one"), written.clone());
    world.fact(Change::ClaimAnswered(Box::new(written.clone())));
    world.tell(Input::Settled(id, WriteOutcome::Done));
    written
}

#[test]
fn where_nobody_else_gives_out_devices_a_pod_is_bound_as_soon_as_its_claims_are_written() {
    let (mut world, _) = on_its_way();
    answered_first(&mut world, 10);
    assert!(binds(&world), "{:?}", world.open);
}

#[test]
fn where_others_do_a_pod_is_bound_only_once_the_watch_has_told_of_its_devices() {
    let (mut world, _) = on_its_way();
    world.add_pod(Pod { node: Some("a".into()), ..of_another("another") });
    let written = answered_first(&mut world, 10);
    assert!(!binds(&world), "{:?}", world.open);
    world.fact(Change::ClaimApplied(Box::new(written)));
    assert!(binds(&world), "{:?}", world.open);
}

#[test]
fn who_was_first_follows_from_versions_and_not_from_answers() {
    let (mut world, node) = on_its_way();
    world.add_pod(Pod { node: Some("a".into()), ..of_another("another") });
    let written = answered_first(&mut world, 10);
    let rival = ClaimState { version: "9".into(), ..held("rival", node, &["uid-third"]) };
    world.fact(Change::ClaimApplied(Box::new(rival)));
    world.fact(Change::ClaimApplied(Box::new(written)));
    assert!(deallocates(&world) && !binds(&world), "{:?}", world.open);
}

#[test]
fn a_claim_of_which_nothing_is_ever_heard_is_not_waited_for_without_end() {
    let (mut world, _) = on_its_way();
    world.add_pod(Pod { node: Some("a".into()), ..of_another("another") });
    answered_first(&mut world, 10);
    world.later(60);
    world.turn();
    assert!(!binds(&world), "{:?}", world.open);
    carry_out(&mut world);
    assert_eq!(world.told, ["p: claim default/one: the API server did not confirm the write"]);
}

#[test]
fn a_device_that_somebody_gives_out_shows_that_there_is_somebody() {
    let (mut world, node) = on_its_way();
    let elsewhere = if node == "a" { "b" } else { "a" };
    world.add_claim(held("rival", elsewhere, &["uid-unknown"]));
    let written = answered_first(&mut world, 10);
    assert!(!binds(&world), "{:?}", world.open);
    world.fact(Change::ClaimApplied(Box::new(written)));
    assert!(binds(&world), "{:?}", world.open);
}

#[test]
fn a_pod_whose_claim_is_gone_by_then_is_not_bound() {
    let (mut world, _) = on_its_way();
    let (id, _) = world.open.remove(0);
    world.fact(Change::ClaimGone(claim_id("one")));
    world.tell(Input::Settled(id, WriteOutcome::Done));
    assert!(!binds(&world), "{:?}", world.open);
    assert_eq!(world.told, ["p: claim default/one was deallocated concurrently"]);
}

#[test]
fn after_a_restart_a_device_that_another_uses_is_given_back() {
    let mut world = with_gpus();
    // What was first is not known any more, but what uses it is.
    world.add_claim(held("one", "a", &["uid-p"]));
    world.add_claim(held("rival", "a", &["uid-other"]));
    world.add_pod(Pod { node: Some("a".into()), ..pod("other", 100, &["rival"]) });
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    assert!(deallocates(&world) && !binds(&world), "{:?}", world.open);
    carry_out(&mut world);
    world.later(20);
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-b"]);
}

#[test]
fn a_claim_that_others_use_keeps_what_it_has() {
    let mut world = with_gpus();
    world.add_claim(held("rival", "a", &["uid-other"]));
    world.add_claim(held("one", "a", &["uid-p", "uid-q"]));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    assert!(binds(&world) && !deallocates(&world), "{:?}", world.open);
}

/// A pod with a claim that waits for another scheduler.
fn of_another(scheduler: &str) -> Pod {
    Pod { scheduler: scheduler.into(), ..pod("other", 100, &["rival"]) }
}

/// A pod of which the claim is written while another pod waits for another scheduler, and the node.
fn beside_another() -> (World, &'static str) {
    let (mut world, node) = on_its_way();
    world.add_pod(of_another("another"));
    carry_out(&mut world);
    assert!(!binds(&world), "another may have decided on the same device: {:?}", world.open);
    (world, node)
}

#[test]
fn while_others_give_out_devices_a_pod_is_bound_a_moment_later() {
    let (mut world, _) = beside_another();
    world.later(1);
    assert!(world.engine.wants_turn(world.now));
    world.turn();
    assert!(binds(&world), "{:?}", world.open);
}

#[test]
fn who_comes_second_and_does_not_give_way_is_given_way_to() {
    let (mut world, node) = beside_another();
    world.add_claim(held("rival", node, &["uid-other"]));
    assert!(!deallocates(&world), "it may yet give way: {:?}", world.open);
    world.later(1);
    world.turn();
    assert!(deallocates(&world) && !binds(&world), "{:?}", world.open);
}

#[test]
fn who_comes_second_and_gives_way_is_not_given_way_to() {
    let (mut world, node) = beside_another();
    world.add_claim(held("rival", node, &["uid-other"]));
    world.add_claim(claim("rival"));
    world.later(1);
    world.turn();
    assert!(binds(&world) && !deallocates(&world), "{:?}", world.open);
}

#[test]
fn pods_with_claims_stand_back_while_the_default_scheduler_is_busy() {
    let mut world = with_gpus();
    world.add_pod(of_another("default-scheduler"));
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.add_pod(pod("plain", 100, &[]));
    world.turn();
    let [(_, Write::Bind { pod: bound, .. })] = &world.open[..] else { unreachable!("{:?}", world.open) };
    assert_eq!(&*bound.name, "plain");
    world.remove_pod("other");
    world.later(1);
    world.turn();
    assert!(world.open.iter().any(|(_, write)| matches!(write, Write::Allocate { .. })), "{:?}", world.open);
    assert!(world.told.is_empty(), "nothing is refused: {:?}", world.told);
}
