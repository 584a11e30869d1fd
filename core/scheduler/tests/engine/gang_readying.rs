//! Gangs whose devices are made ready once they are chosen: all of them are, or no member is bound.

use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use model::group::{Group, GroupId};
use model::pod::Pod;
use scheduler::engine::{Engine, Input};
use scheduler::write::{WaitReason, Write, WriteOutcome};

use crate::gangs::{gang_settings, gang_world, node_in};
use crate::readying::{attach, condition, fabric, fail, mend, report, told};
use crate::turmoil::Dice;
use crate::world::{World, claim, claim_id, gpu_class, gpus, pod};

fn facts(cards: &[(&str, &[&str])], at_least: u32) -> Vec<Change> {
    let racks = [("r0", "a"), ("r0", "b"), ("r1", "c"), ("r1", "d")];
    let mut facts = vec![gpu_class()];
    facts.extend(racks.into_iter().map(|(rack, name)| node_in(rack, name, 4_000)));
    facts.extend(cards.iter().map(|(node, names)| fabric(node, names)));
    facts.push(Change::Group(GroupChange::Applied(Box::new(Group {
        id: GroupId { namespace: "default".into(), name: "gang".into() },
        uid: "uid-gang".into(),
        at_least,
        levels: vec!["rack".into()],
        preempts: true,
        ..Group::default()
    }))));
    facts
}

fn member(name: &str, claims: &[&str]) -> Pod {
    Pod { group: Some("gang".into()), ..pod(name, 3_000, claims) }
}

/// A gang of two that waits for its devices, with these cards on nodes.
fn waiting(cards: &[(&str, &[&str])]) -> World {
    let mut world = gang_world();
    facts(cards, 2).into_iter().for_each(|fact| world.fact(fact));
    for (name, claimed) in [("m0", "c0"), ("m1", "c1")] {
        world.add_claim(claim(claimed));
        world.add_pod(member(name, &[claimed]));
    }
    world.settle();
    assert_eq!(world.engine.readying(), 2, "{:?}", world.told);
    assert!(world.engine.is_idle());
    assert_eq!(bound(&world), 0);
    world
}

fn bound(world: &World) -> usize {
    world.pods.values().filter(|pod| pod.node.is_some()).count()
}

fn binds(world: &World) -> usize {
    world.open.iter().filter(|(_, write)| matches!(write, Write::Bind { .. })).count()
}

/// Whether no claim has devices or users.
fn holds_nothing(world: &World) -> bool {
    world.claims.values().all(|state| state.allocation.is_none() && state.reserved_for.is_empty())
}

#[test]
fn nobody_is_bound_before_the_devices_of_all_are_ready() {
    let mut world = waiting(&[("a", &["a-0"]), ("b", &["b-0"])]);
    world.later(5);
    attach(&mut world, "c0");
    world.settle();
    assert_eq!(bound(&world), 0, "the other's device is not ready");
    world.later(5);
    attach(&mut world, "c1");
    assert_eq!(binds(&world), 2, "both in the moment in which the last one is ready: {:?}", world.open);
    world.settle();
    assert_eq!(bound(&world), 2);
    assert_eq!(
        (told(&world, "m0: success after 5000 ms"), told(&world, "m1: success after 10000 ms")),
        (1, 1)
    );
    assert_eq!(told(&world, ": success after"), 2, "{:?}", world.told);
}

#[test]
fn a_member_whose_device_fails_is_placed_anew_alone_and_the_others_keep_theirs() {
    let roomy: &[&str] = &["x-0", "x-1", "x-2"];
    let mut world = waiting(&[("a", &["a-0"]), ("b", &["b-0", "b-1"]), ("c", roomy), ("d", roomy)]);
    let (failed, kept) = if world.devices_of("c0") == ["b-0"] { ("c0", "c1") } else { ("c1", "c0") };
    assert_eq!(
        (world.devices_of(kept), world.devices_of(failed)),
        (vec!["a-0".to_owned()], vec!["b-0".to_owned()])
    );
    attach(&mut world, kept);
    fail(&mut world, failed);
    world.carry_out();
    assert_eq!(world.devices_of(failed), [""; 0]);
    assert_eq!(world.devices_of(kept), ["a-0"], "who did not fail keeps its device");
    world.later(20);
    world.settle();
    assert_eq!(
        (world.devices_of(kept), world.devices_of(failed)),
        (vec!["a-0".to_owned()], vec!["b-1".to_owned()])
    );
    assert_eq!(bound(&world), 0);
    attach(&mut world, failed);
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn a_device_that_failed_for_a_member_is_tried_again_for_it_once_the_others_have_their_nodes() {
    let mut world = gang_world();
    facts(&[("a", &["a-0"])], 1).into_iter().for_each(|fact| world.fact(fact));
    world.add_claim(claim("c0"));
    world.add_pod(member("m0", &["c0"]));
    world.settle();
    fail(&mut world, "c0");
    world.carry_out();
    world.add_pod(Pod { group: Some("gang".into()), ..pod("m1", 100, &[]) });
    world.later(20);
    world.settle();
    assert!(world.node_of("m1").is_some(), "it needs no device");
    world.later(20);
    world.settle();
    assert_eq!((world.devices_of("c0"), world.engine.readying()), (vec!["a-0".to_owned()], 1));
    attach(&mut world, "c0");
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn a_gang_without_another_device_for_one_member_lets_go_of_everything_and_tries_again() {
    let mut world = waiting(&[("a", &["a-0"]), ("b", &["b-0"])]);
    // The other node of the rack has no room for it besides, and the other rack is not theirs.
    attach(&mut world, "c0");
    world.fact(fabric("b", &[]));
    let failed = if world.devices_of("c1") == ["b-0"] { "c1" } else { "c0" };
    fail(&mut world, failed);
    world.carry_out();
    world.later(20);
    world.turn();
    (0..4).for_each(|_| world.carry_out());
    assert!(holds_nothing(&world), "{:?}", world.claims);
    assert_eq!((bound(&world), world.engine.readying()), (0, 0));
    world.fact(fabric("c", &["c-0"]));
    world.fact(fabric("d", &["d-0"]));
    world.later(60);
    world.settle();
    let devices: Vec<String> = ["c0", "c1"].iter().flat_map(|name| world.devices_of(name)).collect();
    assert_eq!(devices, ["c-0", "d-0"], "in the other rack, as a whole");
    ["c0", "c1"].into_iter().for_each(|name| attach(&mut world, name));
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn a_device_that_is_lost_while_others_are_waited_for_holds_its_member_back() {
    let mut world = waiting(&[("a", &["a-0"]), ("b", &["b-0"])]);
    attach(&mut world, "c0");
    fail(&mut world, "c0");
    world.carry_out();
    attach(&mut world, "c1");
    world.carry_out();
    assert_eq!(bound(&world), 0, "its device was ready, and is not any more");
    world.later(20);
    world.settle();
    assert_eq!(
        world.devices_of("c0").len(),
        1,
        "there is no other, so it is tried once more: {:?}",
        world.told
    );
    attach(&mut world, "c0");
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn a_condition_that_does_not_hold_any_more_is_waited_for_again() {
    let mut world = waiting(&[("a", &["a-0"]), ("b", &["b-0"])]);
    attach(&mut world, "c0");
    report(&mut world, "c0", |preparation| preparation.devices[0].missing = vec!["Attached".into()]);
    attach(&mut world, "c1");
    world.settle();
    assert_eq!((bound(&world), world.engine.readying()), (0, 2));
    attach(&mut world, "c0");
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn a_member_that_is_deleted_while_all_wait_frees_the_devices_of_all() {
    let mut world = waiting(&[("a", &["a-0"]), ("b", &["b-0"])]);
    attach(&mut world, "c0");
    world.remove_pod("m1");
    (0..3).for_each(|_| world.carry_out());
    assert!(holds_nothing(&world), "{:?}", world.claims);
    world.add_pod(member("m2", &["c1"]));
    world.later(20);
    world.settle();
    ["c0", "c1"].into_iter().for_each(|name| attach(&mut world, name));
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn a_member_that_is_deleted_while_its_seat_is_open_frees_the_devices_of_the_others() {
    let mut world = waiting(&[("a", &["a-0"]), ("b", &["b-0", "b-1"])]);
    let failed = if world.devices_of("c1") == ["b-0"] { ("m1", "c1") } else { ("m0", "c0") };
    fail(&mut world, failed.1);
    world.carry_out();
    world.remove_pod(failed.0);
    (0..3).for_each(|_| world.carry_out());
    assert!(holds_nothing(&world), "{:?}", world.claims);
}

#[test]
fn when_the_time_is_over_everything_is_given_back() {
    let mut world = waiting(&[("a", &["a-0"]), ("b", &["b-0"])]);
    attach(&mut world, "c0");
    world.later(600);
    world.tell(Input::Turn { attempts: 0 });
    (0..3).for_each(|_| world.carry_out());
    assert_eq!(told(&world, "m1: device binding timeout: claim=default/c1"), 1, "{:?}", world.told);
    assert_eq!(bound(&world), 0);
    world.later(20);
    world.settle();
    ["c0", "c1"].into_iter().for_each(|name| attach(&mut world, name));
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn a_restart_goes_on_with_the_same_devices_for_all_members() {
    let cards: &[(&str, &[&str])] =
        &[("a", &["a-0", "a-1"]), ("b", &["b-0", "b-1"]), ("c", &["c-0"]), ("d", &["d-0"])];
    let mut world = waiting(cards);
    let before: Vec<_> = ["c0", "c1"].map(|name| world.devices_of(name)).into();
    attach(&mut world, "c0");
    world.later(100);
    restart(&mut world, cards);
    world.settle();
    let after: Vec<_> = ["c0", "c1"].map(|name| world.devices_of(name)).into();
    assert_eq!((before, bound(&world)), (after, 0));
    attach(&mut world, "c1");
    world.settle();
    assert_eq!(bound(&world), 2);
}

/// Another scheduler goes on with what the API has.
fn restart(world: &mut World, cards: &[(&str, &[&str])]) {
    world.engine = Engine::new(gang_settings());
    world.open.clear();
    facts(cards, 2).into_iter().for_each(|fact| world.fact(fact));
    let (claims, pods) = (world.claims.clone(), world.pods.clone());
    claims.into_values().for_each(|state| world.fact(Change::ClaimApplied(Box::new(state))));
    pods.into_values().for_each(|pod| world.fact(Change::PodApplied(Arc::new(pod))));
}

#[test]
fn devices_that_a_scheduler_left_in_places_apart_are_given_back() {
    const CARDS: &[(&str, &[&str])] = &[("a", &["a-0"]), ("b", &["b-0"]), ("c", &["c-0"]), ("d", &["d-0"])];
    let mut world = waiting(CARDS);
    // The claim of another gang, in the other rack, is this member's now.
    let other: Vec<String> = ["c0", "c1"].iter().flat_map(|name| world.devices_of(name)).collect();
    let mut elsewhere = waiting(if other[0] == "a-0" { &CARDS[2..] } else { &CARDS[..2] });
    let mut state = elsewhere.claims.remove(&claim_id("c1")).expect("it has a device");
    state.version = world.next_version();
    world.claims.insert(claim_id("c1"), state);
    restart(&mut world, CARDS);
    for _ in 0..4 {
        world.settle();
        world.later(20);
    }
    assert_eq!(world.engine.readying(), 2, "{:?}", world.told);
    ["c0", "c1"].into_iter().for_each(|name| attach(&mut world, name));
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn members_that_share_a_claim_whose_device_fails_start_again_together() {
    let mut world = gang_world();
    facts(&[("a", &["a-0", "a-1"])], 2).into_iter().for_each(|fact| world.fact(fact));
    world.add_claim(claim("shared"));
    for name in ["m0", "m1"] {
        world.add_pod(Pod { group: Some("gang".into()), ..pod(name, 1_000, &["shared"]) });
    }
    world.settle();
    assert_eq!((world.engine.readying(), world.devices_of("shared")), (2, vec!["a-0".to_owned()]));
    fail(&mut world, "shared");
    for _ in 0..6 {
        world.settle();
        world.later(20);
    }
    assert_eq!((world.engine.readying(), world.devices_of("shared")), (2, vec!["a-1".to_owned()]));
    attach(&mut world, "shared");
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn members_without_devices_wait_for_those_who_have_some() {
    let mut world = gang_world();
    facts(&[("a", &["a-0"])], 2).into_iter().for_each(|fact| world.fact(fact));
    world.fact(gpus("b", &["b-0"]));
    world.add_claim(claim("c0"));
    world.add_claim(claim("c1"));
    world.add_pod(member("m0", &["c0"]));
    world.add_pod(member("m1", &["c1"]));
    world.settle();
    assert_eq!((bound(&world), world.engine.readying()), (0, 1));
    assert!(world.engine.is_idle(), "there is nothing to do until somebody reports");
    let slow = if world.devices_of("c0") == ["a-0"] { "c0" } else { "c1" };
    let plain = if slow == "c0" { "c1" } else { "c0" };
    // Another client takes the other's device away meanwhile: it is noticed before any member is bound.
    let mut state = world.claims[&claim_id(plain)].clone();
    state.allocation = None;
    state.reserved_for.clear();
    world.add_claim(state);
    attach(&mut world, slow);
    world.carry_out();
    assert_eq!(bound(&world), 0, "{:?}", world.told);
    for _ in 0..3 {
        world.later(20);
        world.settle();
    }
    attach(&mut world, slow);
    world.settle();
    assert_eq!(bound(&world), 2, "{:?}", world.told);
}

/// A controller that makes devices ready, or fails to, in no order.
fn drive(world: &mut World, dice: &mut Dice) {
    let waiting: Vec<Arc<str>> = world
        .claims
        .values()
        .filter(|state| state.preparation.as_ref().is_some_and(|one| one.devices[0].failed.is_none()))
        .map(|state| state.wish.id.name.clone())
        .collect();
    for name in waiting {
        let is_its = |write: &Write| matches!(write, Write::Bind { pod, .. } if pod.name == name);
        if world.open.iter().any(|(_, write)| is_its(write)) || world.node_of(&name).is_some() {
            // What becomes of its device from now on is no concern of the scheduler.
            continue;
        }
        match dice.below(6) {
            0 => fail(world, &name),
            1 | 2 => attach(world, &name),
            _ => {}
        }
    }
}

/// Carries out what is open. Writes of claims fail now and then; pods are bound as they are told to be, and then their devices
/// are ready.
fn carry_out(world: &mut World, dice: &mut Dice) {
    assert!(bound(world) > 0 || binds(world) != 1, "the first is not bound alone: {:?}", world.open);
    for (id, write) in std::mem::take(&mut world.open) {
        let outcome = match &write {
            Write::Bind { uid, .. } => {
                for claimed in world.pods.get(uid).into_iter().flat_map(|pod| &pod.claims) {
                    let state = &world.claims[&claim_id(&claimed.name)];
                    let is_ready =
                        |one: &cluster::preparation::Progress| one.missing.is_empty() && one.failed.is_none();
                    let ready = state.preparation.as_ref().is_none_or(|one| one.devices.iter().all(is_ready));
                    assert!(state.allocation.is_some() && ready, "{uid} is bound too early: {state:?}");
                }
                world.apply(&write)
            }
            _ if dice.below(8) == 0 => WriteOutcome::Failed("turmoil".to_owned()),
            _ => world.apply(&write),
        };
        world.tell(Input::Settled(id, outcome));
    }
    world.check();
}

fn play(seed: u64) {
    const CARDS: &[(&str, &[&str])] =
        &[("a", &["a-0", "a-1"]), ("b", &["b-0"]), ("c", &["c-0", "c-1"]), ("d", &["d-0"])];
    let (mut world, mut dice) = (gang_world(), Dice(seed));
    facts(CARDS, 2).into_iter().for_each(|fact| world.fact(fact));
    let mut members: Vec<String> = Vec::new();
    for step in 0..60 {
        match dice.below(8) {
            0 | 1 if members.len() < 3 => {
                let name = format!("m{step}");
                world.add_claim(claim(&name));
                world.add_pod(member(&name, &[&name]));
                members.push(name);
            }
            2 if !members.is_empty() => {
                let name = members.swap_remove(dice.below(members.len() as u64) as usize);
                world.remove_pod(&name);
                // The claim was made for the pod alone.
                world.claims.remove(&claim_id(&name));
                world.fact(Change::ClaimGone(claim_id(&name)));
            }
            3 if dice.below(3) == 0 => restart(&mut world, CARDS),
            _ => drive(&mut world, &mut dice),
        }
        world.turn();
        carry_out(&mut world, &mut dice);
        world.later(dice.below(90) as i64);
    }
    // In the end all devices become ready, and all members are bound.
    while members.len() < 2 {
        let name = format!("last-{}", members.len());
        world.add_claim(claim(&name));
        world.add_pod(member(&name, &[&name]));
        members.push(name);
    }
    for _ in 0..12 {
        world.later(120);
        world.settle();
        let waiting = world.claims.values().filter(|state| state.preparation.is_some());
        let names: Vec<Arc<str>> = waiting.map(|state| state.wish.id.name.clone()).collect();
        names.iter().for_each(|name| attach(&mut world, name));
        world.settle();
    }
    assert!(bound(&world) >= 2, "seed {seed}: {members:?} wait: {:?}", world.told.last());
}

#[test]
fn whatever_fails_nobody_is_bound_too_early_and_nothing_is_lost() {
    (0..80).for_each(play);
}

#[test]
fn a_gang_that_needs_more_members_than_are_on_their_way_is_taken_back() {
    let cards: &[(&str, &[&str])] = &[("a", &["a-0"]), ("b", &["b-0"])];
    let mut world = waiting(cards);
    facts(cards, 3).pop().into_iter().for_each(|resized| world.fact(resized));
    world.settle();
    assert_eq!(world.engine.placing(), 0, "two of three are not bound, and do not wait for ever");
    assert!(holds_nothing(&world));
    facts(cards, 2).pop().into_iter().for_each(|resized| world.fact(resized));
    world.settle();
    assert_eq!(world.engine.readying(), 2, "two are enough again: {:?}", world.told);
}

#[test]
fn a_gang_is_woken_when_devices_that_failed_and_that_another_pod_uses_are_ready_after_all() {
    let mut world = gang_world();
    facts(&[("a", &["a-0"])], 1).into_iter().for_each(|fact| world.fact(fact));
    world.add_claim(claim("c"));
    world.add_pod(pod("one", 100, &["c"]));
    world.settle();
    let one = world.pods["uid-one"].clone();
    world.add_pod(Pod { node: Some("a".into()), ..one });
    fail(&mut world, "c");
    world.add_pod(member("m0", &["c"]));
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(told(&world, "m0: pod group is unschedulable, pod m0: 0/4"), 1, "{:?}", world.told);
    mend(&mut world, "c");
    world.later(20);
    world.settle();
    assert_eq!(world.node_of("m0").as_deref(), Some("a"), "{:?}", world.told);
}

#[test]
fn a_member_whose_node_goes_while_it_waits_is_placed_anew_alone_and_the_others_keep_their_devices() {
    let mut world = waiting(&[("a", &["a-0", "a-1"]), ("b", &["b-0", "b-1"])]);
    world.fact(node_in("r0", "e", 4_000));
    world.fact(fabric("e", &["e-0"]));
    let (lost, kept) = if world.devices_of("c0") == ["b-0"] { ("c0", "c1") } else { ("c1", "c0") };
    assert_eq!(world.devices_of(kept), ["a-0"]);
    world.fact(Change::NodeGone("b".into()));
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(
        (world.devices_of(kept), world.devices_of(lost)),
        (vec!["a-0".to_owned()], vec!["e-0".to_owned()]),
        "{:?}",
        world.told
    );
    attach(&mut world, "c0");
    attach(&mut world, "c1");
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn a_member_that_has_all_it_needs_leaves_a_node_that_goes_while_others_wait() {
    let mut world = waiting(&[("a", &["a-0"]), ("b", &["b-0"]), ("c", &["c-0"]), ("d", &["d-0"])]);
    attach(&mut world, "c0");
    world.settle();
    let there = world.pods["uid-m0"].nominated_node.clone().expect("it waits there");
    world.fact(Change::NodeGone(there));
    world.settle();
    assert_eq!(bound(&world), 0);
    world.later(20);
    world.settle();
    // The rack has one node left, so that both go to the other.
    world.later(20);
    world.settle();
    let devices = [world.devices_of("c0"), world.devices_of("c1")].concat();
    assert!(devices == ["c-0", "d-0"] || devices == ["d-0", "c-0"], "{devices:?} {:?}", world.told);
    attach(&mut world, "c0");
    attach(&mut world, "c1");
    world.settle();
    assert_eq!(bound(&world), 2);
}

#[test]
fn members_that_are_ready_say_that_they_wait_for_others() {
    let mut world = waiting(&[("a", &["a-0"]), ("b", &["b-0"])]);
    attach(&mut world, "c0");
    world.settle();
    let there = world.pods["uid-m0"].nominated_node.clone().expect("it waits there");
    let expected = format!(
        "devices are ready on node {there}; waiting for binding conditions for devices of other members of the pod group"
    );
    assert_eq!(condition(&world, "m0"), (WaitReason::DevicesPending, expected));
    let (_, other) = condition(&world, "m1");
    assert!(other.starts_with("waiting for binding conditions for device on node"), "{other}");
}

#[test]
fn after_a_restart_members_that_wait_keep_the_node_that_they_are_nominated_for() {
    let cards: &[(&str, &[&str])] = &[("a", &["a-0"]), ("b", &["b-0"])];
    let mut world = waiting(cards);
    let nominated = |world: &World| {
        let of = |name: &str| world.pods[name].nominated_node.clone();
        (of("uid-m0"), of("uid-m1"))
    };
    let before = nominated(&world);
    assert!(before.0.is_some() && before.1.is_some());
    world.engine = Engine::new(gang_settings());
    facts(cards, 2).into_iter().for_each(|fact| world.fact(fact));
    let (claims, pods) = (world.claims.clone(), world.pods.clone());
    claims.into_values().for_each(|state| world.fact(Change::ClaimApplied(Box::new(state))));
    pods.into_values().for_each(|pod| world.fact(Change::PodApplied(Arc::new(pod))));
    let withdraws = |(_, write): &(_, Write)| matches!(write, Write::Nominate { node: None, .. });
    assert!(!world.open.iter().any(withdraws), "{:?}", world.open);
    world.settle();
    assert_eq!((nominated(&world), world.engine.readying()), (before, 2));
}
