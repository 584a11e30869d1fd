//! Devices that are made ready once they are chosen.

use std::sync::Arc;

use cluster::change::Change;
use cluster::claims::ClaimState;
use cluster::preparation::{Failed, Preparation};
use decisions::profile::Profile;
use decisions::scores::Score;
use model::device::Binding;
use model::pod::Pod;
use scheduler::engine::Input;
use scheduler::write::{WaitReason, Write};

use crate::world::{
    World, alternatives, claim, claim_id, engine, engine_with, gpu_class, gpus_with, node, pod, world,
};

/// A card on a node that has to be attached before it is used.
pub fn fabric(node: &str, names: &[&str]) -> Change {
    let binding =
        Binding { conditions: vec!["Attached".into()], failures: vec!["AttachFailed".into()], timeout: None };
    gpus_with(node, names, &binding)
}

fn facts() -> [Change; 3] {
    [gpu_class(), node("a", 4_000), fabric("a", &["gpu-0", "gpu-1"])]
}

fn with_fabric() -> World {
    let mut world = world();
    facts().into_iter().for_each(|change| world.fact(change));
    world
}

/// A world in which pods wait for the devices of their claims.
fn waiting(pods: &[(&str, &[&str])], claims: &[&str]) -> World {
    let mut world = with_fabric();
    claims.iter().for_each(|name| world.add_claim(claim(name)));
    pods.iter().for_each(|(name, claims)| world.add_pod(pod(name, 100, claims)));
    world.settle();
    for (name, _) in pods {
        assert_eq!(world.node_of(name), None, "its device is not ready");
    }
    assert_eq!(world.engine.readying(), pods.len());
    world
}

/// A controller reports how the devices of a claim are.
pub fn report(world: &mut World, name: &str, change: impl FnOnce(&mut Preparation)) {
    let mut state = world.claims[&claim_id(name)].clone();
    let mut preparation = Preparation::clone(state.preparation.as_deref().expect("it has conditions"));
    change(&mut preparation);
    state.preparation = Some(Arc::new(preparation));
    world.add_claim(state);
}

pub fn attach(world: &mut World, name: &str) {
    report(world, name, |preparation| preparation.devices.iter_mut().for_each(|one| one.missing.clear()));
}

pub fn fail(world: &mut World, name: &str) {
    let failed =
        Failed { condition: "AttachFailed".into(), reason: "NoPort".into(), message: "none is free".into() };
    report(world, name, |preparation| preparation.devices[0].failed = Some(failed));
}

/// What failed is ready after all.
pub fn mend(world: &mut World, name: &str) {
    report(world, name, |preparation| {
        for one in &mut preparation.devices {
            one.failed = None;
            one.missing.clear();
        }
    });
}

pub fn told(world: &World, part: &str) -> usize {
    world.told.iter().filter(|line| line.contains(part)).count()
}

#[test]
fn a_pod_is_bound_in_the_moment_in_which_its_device_is_reported_ready() {
    let mut world = waiting(&[("one", &["c"])], &["c"]);
    assert_eq!(
        world.pods["uid-one"].nominated_node.as_deref(),
        Some("a"),
        "autoscalers see where it will be"
    );
    world.later(30);
    world.settle();
    assert_eq!(told(&world, "waiting for binding conditions for device on node a: claim default/c"), 1);
    attach(&mut world, "c");
    assert!(matches!(world.open[..], [(_, Write::Bind { .. })]), "without a turn: {:?}", world.open);
    world.carry_out();
    assert_eq!(world.node_of("one").as_deref(), Some("a"));
    assert_eq!(told(&world, "one: success after 30000 ms"), 1);
    assert_eq!(world.engine.readying(), 0);
}

#[test]
fn a_pod_that_cannot_be_bound_gives_devices_back_that_were_made_ready_for_it() {
    let mut world = waiting(&[("one", &["c"])], &["c"]);
    world.fail.push(|write| matches!(write, Write::Bind { .. }));
    attach(&mut world, "c");
    world.turn();
    world.carry_out();
    // The pod may be gone, and the scheduler may stop before it deallocates a claim that it only released.
    let deallocates = |(_, write): &(_, Write)| matches!(write, Write::Deallocate { .. });
    assert!(world.open.iter().any(deallocates), "{:?}", world.open);
    assert!(!world.open.iter().any(|(_, write)| matches!(write, Write::Release { .. })));
    world.settle();
    assert!(world.devices_of("c").is_empty());
}

#[test]
fn a_failure_clears_the_claim_in_one_write_and_the_pod_is_placed_anew() {
    let mut world = waiting(&[("one", &["c"])], &["c"]);
    let first = world.devices_of("c");
    fail(&mut world, "c");
    let writes: Vec<&Write> = world.open.iter().map(|(_, write)| write).collect();
    assert!(writes.iter().any(|write| matches!(write, Write::Deallocate { .. })), "{writes:?}");
    assert!(
        !writes.iter().any(|write| matches!(write, Write::Release { .. })),
        "it is one write: {writes:?}"
    );
    world.carry_out();
    let state = &world.claims[&claim_id("c")];
    assert_eq!((&state.allocation, &state.reserved_for[..]), (&None, &[][..]));
    let message = "one: device binding failed: claim=default/c, device=gpu.example.com/a/gpu-0: condition \
                   AttachFailed is True, reason=\"NoPort\", message=\"none is free\"";
    assert_eq!(told(&world, message), 1, "{:?}", world.told);
    assert_eq!(told(&world, "one: failure after"), 1);
    world.later(20);
    world.settle();
    assert_eq!(world.engine.readying(), 1, "it waits again: {first:?}");
}

#[test]
fn a_time_that_is_over_counts_from_the_allocation() {
    let mut world = waiting(&[("one", &["c"])], &["c"]);
    world.later(599);
    world.settle();
    assert_eq!(world.engine.readying(), 1);
    world.later(1);
    world.settle();
    assert_eq!(told(&world, "one: device binding timeout: claim=default/c"), 1, "{:?}", world.told);
    assert_eq!(told(&world, "one: timeout after 600000 ms"), 1, "{:?}", world.told);
}

#[test]
fn a_restart_goes_on_with_the_same_claim_and_the_same_clock() {
    let mut world = waiting(&[("one", &["c"])], &["c"]);
    world.later(500);
    world.engine = engine();
    facts().into_iter().for_each(|change| world.fact(change));
    let (claims, pods) = (world.claims.clone(), world.pods.clone());
    claims.into_values().for_each(|state| world.fact(Change::ClaimApplied(Box::new(state))));
    pods.into_values().for_each(|pod| world.fact(Change::PodApplied(Arc::new(pod))));
    world.settle();
    assert_eq!(world.engine.readying(), 1);
    let before = world.devices_of("c");
    world.later(99);
    world.settle();
    assert_eq!((world.engine.readying(), world.devices_of("c")), (1, before));
    world.later(1);
    world.settle();
    assert_eq!(told(&world, "device binding timeout: claim=default/c"), 1, "{:?}", world.told);
}

#[test]
fn a_pod_that_is_deleted_while_it_waits_gives_its_device_back_at_once() {
    let mut world = waiting(&[("one", &["c"]), ("two", &["d"])], &["c", "d"]);
    world.add_claim(claim("e"));
    world.add_pod(pod("three", 100, &["e"]));
    world.settle();
    assert!(world.devices_of("e").is_empty(), "there are two cards");
    world.remove_pod("one");
    world.carry_out();
    assert!(world.devices_of("c").is_empty() && world.claims[&claim_id("c")].reserved_for.is_empty());
    world.later(20);
    world.settle();
    assert_eq!(world.devices_of("e").len(), 1);
    assert_eq!(told(&world, "one: error after"), 1);
}

#[test]
fn a_claim_that_loses_its_devices_or_goes_ends_the_wait_at_once() {
    let mut world = waiting(&[("one", &["c"])], &["c"]);
    let mut state = world.claims[&claim_id("c")].clone();
    (state.allocation, state.preparation) = (None, None);
    state.reserved_for.clear();
    world.add_claim(state);
    assert_eq!(told(&world, "one: claim default/c was deallocated concurrently"), 1, "{:?}", world.told);
    let mut world = waiting(&[("one", &["c"])], &["c"]);
    world.claims.remove(&claim_id("c"));
    world.fact(Change::ClaimGone(claim_id("c")));
    assert_eq!(told(&world, "one: claim default/c was de"), 1, "{:?}", world.told);
    assert_eq!(world.engine.readying(), 0);
}

#[test]
fn pods_that_share_a_claim_wait_by_one_clock_and_the_last_one_clears_it() {
    let mut world = waiting(&[("one", &["c"])], &["c"]);
    world.later(100);
    world.add_pod(pod("two", 100, &["c"]));
    world.settle();
    assert_eq!(world.engine.readying(), 2);
    world.later(500);
    world.tell(Input::Turn { attempts: 0 });
    assert_eq!(told(&world, ": timeout after"), 2, "{:?}", world.told);
    world.carry_out();
    assert_eq!(told(&world, "device binding timeout: claim=default/c"), 2, "{:?}", world.told);
    world.later(20);
    world.settle();
    let since = world.claims[&claim_id("c")].preparation.as_ref().and_then(|one| one.since);
    assert!(
        since.is_some_and(|since| since > world.now.plus_millis(-60_000)),
        "it was allocated anew: {since:?}"
    );
    assert_eq!(world.engine.readying(), 2);
    attach(&mut world, "c");
    world.settle();
    assert_eq!((world.node_of("one").as_deref(), world.node_of("two").as_deref()), (Some("a"), Some("a")));
}

#[test]
fn of_several_claims_only_the_one_that_failed_loses_its_devices() {
    let mut world = waiting(&[("one", &["c", "d"])], &["c", "d"]);
    let kept = world.devices_of("c");
    attach(&mut world, "c");
    assert_eq!(world.engine.readying(), 1, "the other is not ready");
    fail(&mut world, "d");
    world.carry_out();
    assert_eq!((world.devices_of("c"), world.devices_of("d")), (kept, vec![]));
    world.later(20);
    world.settle();
    attach(&mut world, "d");
    world.settle();
    assert_eq!(world.node_of("one").as_deref(), Some("a"));
}

/// What a pod waits for after its device failed.
fn after_failure(world: &mut World) -> (String, Vec<String>) {
    fail(world, "c");
    world.carry_out();
    world.later(60);
    world.settle();
    let node = world.pods["uid-one"].nominated_node.clone().expect("it waits");
    (node.to_string(), world.devices_of("c"))
}

#[test]
fn after_a_failure_the_pod_takes_another_device_and_its_own_node_comes_first() {
    let mut world = world();
    [gpu_class(), node("a", 4_000), fabric("a", &["a-0", "a-1"]), node("b", 4_000), fabric("b", &["b-0"])]
        .into_iter()
        .for_each(|change| world.fact(change));
    world.add_claim(claim("c"));
    world.add_pod(pod("one", 100, &["c"]));
    world.settle();
    assert_eq!(world.devices_of("c"), ["a-0"]);
    assert_eq!(after_failure(&mut world), ("a".to_owned(), vec!["a-1".to_owned()]));
    assert_eq!(after_failure(&mut world), ("b".to_owned(), vec!["b-0".to_owned()]));
    let (_, devices) = after_failure(&mut world);
    assert_eq!(devices.len(), 1, "each has failed once, so any is tried again");
}

#[test]
fn a_claim_whose_devices_are_ready_is_bound_without_a_wait() {
    let mut world = with_fabric();
    let ready: ClaimState = {
        let mut other = waiting(&[("one", &["c"])], &["c"]);
        attach(&mut other, "c");
        ClaimState { reserved_for: Vec::new(), ..other.claims[&claim_id("c")].clone() }
    };
    world.add_claim(ready);
    world.add_pod(pod("one", 100, &["c"]));
    world.settle();
    assert_eq!(world.node_of("one").as_deref(), Some("a"));
    assert_eq!((told(&world, "waiting for"), told(&world, "one: success after 0 ms")), (0, 1));
}

#[test]
fn a_claim_that_nobody_uses_gives_devices_back_that_failed() {
    let mut world = with_fabric();
    let failed: ClaimState = {
        let mut other = waiting(&[("one", &["c"])], &["c"]);
        let mut state = other.claims.remove(&claim_id("c")).expect("it has a device");
        state.reserved_for.clear();
        state
    };
    world.add_claim(failed);
    world.turn();
    assert!(world.open.is_empty(), "it may become ready: {:?}", world.open);
    fail(&mut world, "c");
    assert!(world.open.is_empty() && world.engine.wants_turn(world.now), "only who leads writes");
    world.settle();
    assert_eq!(world.devices_of("c"), [""; 0]);
}

#[test]
fn a_pod_is_woken_when_devices_that_failed_and_that_another_pod_uses_are_ready_after_all() {
    let mut world = waiting(&[("one", &["c"])], &["c"]);
    let one = world.pods["uid-one"].clone();
    world.add_pod(Pod { node: Some("a".into()), ..one });
    fail(&mut world, "c");
    world.add_pod(pod("two", 100, &["c"]));
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(told(&world, "two: 0/1 nodes are available: device binding failed"), 1, "{:?}", world.told);
    mend(&mut world, "c");
    world.later(20);
    world.settle();
    assert_eq!(world.node_of("two").as_deref(), Some("a"), "{:?}", world.told);
}

/// Why a pod waits, as its condition says.
pub fn condition(world: &World, name: &str) -> (WaitReason, String) {
    world.conditions[&*format!("uid-{name}")].clone()
}

#[test]
fn the_condition_of_a_pod_that_waits_says_for_which_device_and_until_when() {
    let two: ClaimState = alternatives("c", &[2]);
    let mut world = with_fabric();
    world.add_claim(two);
    world.add_pod(pod("one", 100, &["c"]));
    world.settle();
    let says = |device: &str| {
        format!(
            "waiting for binding conditions for device on node a: claim default/c, device gpu.example.com/a/{device}: \
             Attached not reported yet, until 1970-01-01T00:26:40Z"
        )
    };
    assert_eq!(condition(&world, "one"), (WaitReason::DevicesPending, says("gpu-0")));
    report(&mut world, "c", |preparation| preparation.devices[0].missing.clear());
    let notes =
        |world: &World| world.open.iter().filter(|(_, write)| matches!(write, Write::Note { .. })).count();
    assert_eq!(notes(&world), 1, "it waits for the next device: {:?}", world.open);
    world.settle();
    assert_eq!(condition(&world, "one"), (WaitReason::DevicesPending, says("gpu-1")));
    world.later(60);
    report(&mut world, "c", |_| {});
    assert_eq!(notes(&world), 0, "it is told once");
    world.later(540);
    world.settle();
    let (reason, message) = condition(&world, "one");
    assert!(
        reason == WaitReason::SchedulerError && message.starts_with("device binding timeout"),
        "what it waits for is told anew: {message}"
    );
}

/// Where four pods go of which each wants a card, if cards on node-2 are ready, those on node-1 are not, and it counts so much.
fn placed_with_weight(weight: i64) -> Vec<String> {
    let mut profile = Profile::named("supercargo");
    profile.scores.weights.retain(|(score, _)| *score != Score::ReadyDevices);
    profile.scores.weights.push((Score::ReadyDevices, weight));
    let mut world = World { engine: engine_with(vec![profile]), ..world() };
    let cards = ["gpu-0", "gpu-1", "gpu-2", "gpu-3"];
    let facts = [
        gpu_class(),
        node("node-1", 64_000),
        node("node-2", 8_000),
        fabric("node-1", &cards),
        gpus_with("node-2", &cards, &Binding::default()),
    ];
    facts.into_iter().for_each(|change| world.fact(change));
    for at in 0..4 {
        world.add_claim(claim(&format!("c{at}")));
        world.add_pod(pod(&format!("p{at}"), 1_000, &[&format!("c{at}")]));
        world.settle();
    }
    let held =
        |at: usize| world.claims[&claim_id(&format!("c{at}"))].allocation.clone().expect("it has a card");
    (0..4).map(|at| held(at).held[0].device.pool.to_string()).collect()
}

#[test]
fn four_pods_take_the_four_cards_that_are_ready_unless_that_counts_nothing() {
    assert_eq!(placed_with_weight(3), ["node-2"; 4]);
    let without = placed_with_weight(0);
    assert!(without.iter().any(|node| node == "node-1"), "the node with more room is better: {without:?}");
}
