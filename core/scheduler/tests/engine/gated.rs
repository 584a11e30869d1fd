//! Pods that are held back until something exists are told what that is, once.

use std::sync::Arc;

use cluster::change::Change;
use model::group::Disruption;
use model::pod::{ClaimSource, Pod, PodClaim};
use scheduler::write::{WaitReason, Write};

use crate::gangs::{applied, gang, gang_world, group, member, member_of, node_in, racks};
use crate::world::{World, claim, gpu_class, gpus, node, pod, world};

/// What is noted on pods, in order, once nothing more is to be done at this time.
fn noted(world: &mut World) -> Vec<(String, String)> {
    world.turn();
    let note = |(_, write): &(_, Write)| match write {
        Write::Note { pod, reason, message, .. } => {
            assert_eq!(*reason, WaitReason::Unschedulable);
            Some((pod.name.to_string(), message.clone()))
        }
        _ => None,
    };
    let notes = world.open.iter().filter_map(note).collect();
    world.settle();
    notes
}

fn notes_of(pods: &[&str], message: &str) -> Vec<(String, String)> {
    pods.iter().map(|name| ((*name).to_owned(), message.to_owned())).collect()
}

fn with_gpu() -> World {
    let mut world = world();
    [gpu_class(), node("a", 4_000), gpus("a", &["gpu-a"])].into_iter().for_each(|fact| world.fact(fact));
    world
}

const NO_CLAIM: &str = "resourceclaim \"late\" not found; hint: create ResourceClaim default/late";

#[test]
fn a_pod_whose_claim_does_not_exist_is_told_once() {
    let mut world = with_gpu();
    world.add_pod(pod("p", 100, &["late"]));
    assert_eq!(noted(&mut world), [], "it may be heard of in a moment");
    world.later(1);
    assert!(world.engine.wants_turn(world.now));
    assert_eq!(noted(&mut world), notes_of(&["p"], NO_CLAIM));
    assert_eq!(world.told, [format!("p: {NO_CLAIM}")]);
    // The note itself and whatever else becomes of the pod are no reason to say it again.
    for _ in 0..10 {
        world.fact(Change::PodApplied(Arc::new(pod("p", 100, &["late"]))));
        world.later(10);
        assert_eq!(noted(&mut world), []);
    }
    world.add_claim(claim("late"));
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
}

#[test]
fn a_pod_whose_claim_is_made_in_time_is_told_nothing() {
    for (source, seconds, is_told) in [
        (ClaimSource::Named("late".into()), 1, true),
        (ClaimSource::ToBeGenerated { template: "t".into() }, 4, false),
        (ClaimSource::ToBeGenerated { template: "t".into() }, 5, true),
    ] {
        let mut world = with_gpu();
        let with = |source: ClaimSource| Pod {
            claims: vec![PodClaim { name: "gpu".into(), source }],
            ..pod("p", 100, &[])
        };
        world.add_pod(with(source.clone()));
        (0..seconds).for_each(|_| {
            world.turn();
            world.later(1);
        });
        world.settle();
        assert_eq!(!world.told.is_empty(), is_told, "{source:?}: {:?}", world.told);
        world.add_claim(claim("late"));
        world.add_pod(with(ClaimSource::Named("late".into())));
        world.settle();
        assert_eq!(world.node_of("p").as_deref(), Some("a"), "{source:?}");
    }
}

#[test]
fn a_pod_whose_claim_is_not_made_is_told_of_the_template() {
    let mut world = with_gpu();
    let source = ClaimSource::ToBeGenerated { template: "t".into() };
    world.add_pod(Pod { claims: vec![PodClaim { name: "gpu".into(), source }], ..pod("p", 100, &[]) });
    world.later(10);
    let message = "waiting for a resourceclaim to be created from resourceclaimtemplate \"t\", and no controller \
        creates it; hint: check \
                   that ResourceClaimTemplate default/t exists, and that kube-controller-manager or `supercargo controllers` runs";
    // The first look finds out how long it has to wait, which is over.
    assert_eq!(noted(&mut world), notes_of(&["p"], message));
}

#[test]
fn a_gang_with_too_few_members_tells_each_of_them_once() {
    let mut world = racks();
    world.fact(group(3, &[]));
    world.add_pod(member("m0", 100, &[]));
    world.later(4);
    assert_eq!(noted(&mut world), [], "the others may be made in a moment");
    world.later(1);
    let message = "waiting for pod group gang to have at least 3 pods; hint: create the missing pods, or lower minCount";
    assert_eq!(noted(&mut world), notes_of(&["m0"], message));
    world.later(60);
    world.add_pod(member("m1", 100, &[]));
    world.later(5);
    assert_eq!(noted(&mut world), notes_of(&["m1"], message), "who was told is not told again");
    world.add_pod(member("m2", 100, &[]));
    world.settle();
    assert!(["m0", "m1", "m2"].iter().all(|name| world.node_of(name).is_some()));
}

#[test]
fn members_are_told_which_of_them_is_waited_for() {
    let mut world = racks();
    [gpu_class(), gpus("a", &["gpu-a"])].into_iter().for_each(|fact| world.fact(fact));
    world.fact(group(3, &[]));
    world.add_pod(member("m0", 100, &[]));
    world.add_pod(member("m1", 100, &["late"]));
    world.add_pod(Pod { gates: vec!["example.com/quota".into()], ..member("m2", 100, &[]) });
    world.later(5);
    let waits = "waiting for pod m1 of the same pod group: resourceclaim \"late\" not found";
    let expected = [notes_of(&["m0"], waits), notes_of(&["m1"], NO_CLAIM)].concat();
    assert_eq!(noted(&mut world), expected, "the API server tells who has scheduling gates");
    world.add_claim(claim("late"));
    world.later(60);
    let waits = "waiting for pod m2 of the same pod group: it has scheduling gates";
    assert_eq!(noted(&mut world), notes_of(&["m1"], waits), "m0 was told that it waits for another");
    world.add_pod(member("m2", 100, &[]));
    world.settle();
    assert!(["m0", "m1", "m2"].iter().all(|name| world.node_of(name).is_some()));
}

#[test]
fn many_pods_that_are_held_back_are_told_a_few_at_a_time() {
    let mut world = with_gpu();
    (0..200).for_each(|at| world.add_pod(pod(&format!("p{at}"), 100, &["late"])));
    world.later(1);
    let mut turns = 0;
    while world.engine.wants_turn(world.now) {
        world.turn();
        assert!(world.open.len() <= 64, "{}", world.open.len());
        world.carry_out();
        turns += 1;
    }
    assert_eq!((world.told.len(), turns), (200, 4));
}

#[test]
fn no_room_is_made_for_a_gang_while_a_claim_of_a_member_is_gone() {
    let mut world = gang_world();
    world.lingering = true;
    world.fact(gpu_class());
    world.fact(node_in("r0", "a", 4_000));
    world.fact(gpus("a", &["gpu"]));
    world.add_claim(claim("x"));
    world.add_pod(pod("x", 100, &["x"]));
    world.settle();
    world.fact(applied(gang("urgent", 2, 10, Disruption::Single)));
    for name in ["u0", "u1"] {
        world.add_claim(claim(name));
        world.add_pod(member_of("urgent", 10, pod(name, 100, &[name])));
    }
    world.add_pod(member_of("urgent", 10, pod("u2", 100, &[])));
    world.remove_claim("u0");
    world.settle();
    let nominated = |world: &World| ["u0", "u1", "u2"].map(|pod| world.nominated(pod).is_some());
    assert_eq!(nominated(&world), [false; 3], "{:?}", world.told);
    world.add_claim(claim("u0"));
    world.settle();
    assert!(nominated(&world).contains(&true), "its claim is there again: {:?}", world.told.last());
}

#[test]
fn room_is_kept_no_longer_for_a_gang_that_is_told_what_a_new_member_lacks() {
    let mut world = gang_world();
    world.lingering = true;
    world.fact(gpu_class());
    world.fact(node_in("r0", "a", 4_000));
    world.fact(gpus("a", &["gpu"]));
    world.add_claim(claim("x"));
    world.add_pod(pod("x", 100, &["x"]));
    world.settle();
    world.fact(applied(gang("urgent", 1, 10, Disruption::Single)));
    world.add_claim(claim("u0"));
    world.add_pod(member_of("urgent", 10, pod("u0", 100, &["u0"])));
    world.settle();
    assert_eq!(world.nominated("u0").as_deref(), Some("a"));
    world.add_pod(member_of("urgent", 10, pod("u1", 100, &["missing"])));
    world.settle();
    assert_eq!(world.nominated("u0").as_deref(), Some("a"), "the claim may turn up in a moment");
    world.later(6);
    world.settle();
    assert_eq!(world.nominated("u0"), None, "{:?}", world.told.last());
    world.let_go("x");
    world.add_claim(claim("less"));
    world.add_pod(Pod { priority: 5, ..pod("less", 100, &["less"]) });
    world.settle();
    assert_eq!(world.devices_of("less"), ["gpu"]);
}
