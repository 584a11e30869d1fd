//! Claims whose devices are where their pods cannot go.

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
use crate::world::{World, claim, claim_id, node, pod};

/// A claim that has the card of a node, and these users.
pub fn held(name: &str, node: &str, users: &[&str]) -> ClaimState {
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

/// Node a has a card and no room, node b has both; the claim has the card of a.
fn stuck(users: &[&str]) -> World {
    let mut world = with_gpus();
    world.fact(node("a", 50));
    world.add_claim(held("one", "a", users));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    world
}

fn deallocations(world: &World) -> usize {
    world.open.iter().filter(|(_, write)| matches!(write, Write::Deallocate { .. })).count()
}

#[test]
fn a_claim_that_nobody_uses_gives_its_devices_back_and_gets_others() {
    let mut world = stuck(&[]);
    assert_eq!(deallocations(&world), 1);
    let told = "p: 0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node. \
                Claim default/one, which no pod uses, holds its devices until it is deallocated.";
    assert_eq!(world.told, [told]);
    world.later(2);
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-b"]);
    assert_eq!(world.node_of("p").as_deref(), Some("b"));
}

#[test]
fn a_claim_that_only_the_pod_uses_gives_its_devices_back_too() {
    let mut world = stuck(&["uid-p"]);
    assert_eq!(deallocations(&world), 1);
    world.later(2);
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-b"]);
}

#[test]
fn a_claim_that_could_not_give_its_devices_back_is_asked_again_after_a_while() {
    let mut world = stuck(&[]);
    world.later(20);
    world.fail.push(|write| matches!(write, Write::Deallocate { .. }));
    world.carry_out();
    for _ in 0..5 {
        world.turn();
        assert_eq!(deallocations(&world), 0, "the answer would be the same");
    }
    world.later(20);
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-b"]);
}

#[test]
fn a_claim_that_others_use_keeps_its_devices() {
    for users in [&["uid-other"][..], &["uid-p", "uid-other"]] {
        assert_eq!(deallocations(&stuck(users)), 0, "{users:?}");
    }
}

#[test]
fn a_claim_keeps_its_devices_if_the_pod_could_not_go_elsewhere_without_it_either() {
    let mut world = with_gpus();
    world.fact(node("a", 50));
    world.add_claim(held("one", "a", &[]));
    world.add_claim(held("other", "b", &["uid-other"]));
    world.add_claim(claim("two"));
    world.add_pod(pod("p", 100, &["one", "two"]));
    world.turn();
    assert_eq!(deallocations(&world), 0, "there is no card for the second claim on b");
}

#[test]
fn one_claim_at_a_time_gives_its_devices_back() {
    let mut world = with_gpus();
    world.fact(node("c", 4_000));
    world.add_claim(held("one", "a", &[]));
    world.add_claim(held("two", "b", &[]));
    world.add_pod(pod("p", 100, &["one", "two"]));
    world.turn();
    assert_eq!(deallocations(&world), 1);
    world.turn();
    assert_eq!(deallocations(&world), 1, "what is under way is not asked for again");
}

#[test]
fn nobody_else_gets_a_claim_that_is_about_to_lose_its_devices() {
    let mut world = stuck(&[]);
    world.add_pod(pod("small", 10, &["one"]));
    world.turn();
    let waits = "resource claim default/one is in the process of being deallocated.";
    assert!(
        world.told.iter().any(|line| line.starts_with("small") && line.contains(waits)),
        "{:?}",
        world.told
    );
    for _ in 0..3 {
        world.later(20);
        world.settle();
    }
    assert_eq!((world.node_of("p").as_deref(), world.node_of("small").as_deref()), (Some("b"), Some("b")));
    assert_eq!(world.claims[&claim_id("one")].reserved_for.len(), 2);
}

#[test]
fn a_claim_that_is_taken_into_use_meanwhile_keeps_its_devices() {
    let mut world = stuck(&[]);
    let used = held("one", "a", &["uid-other"]);
    world.claims.insert(claim_id("one"), used.clone());
    world.carry_out();
    assert_eq!(world.devices_of("one"), ["gpu-a"]);
    world.add_claim(used);
    world.later(20);
    world.settle();
    assert_eq!((world.devices_of("one"), world.node_of("p")), (vec!["gpu-a".to_owned()], None));
}

#[test]
fn a_claim_that_another_pod_is_about_to_use_keeps_its_devices() {
    let mut world = with_gpus();
    world.fact(node("a", 150));
    world.add_claim(held("one", "a", &[]));
    world.add_pod(pod("p", 100, &["one"]));
    world.add_pod(pod("q", 100, &["one"]));
    world.turn();
    assert_eq!(deallocations(&world), 0, "the reservation for the first is on its way");
    world.settle();
    assert_eq!(world.claims[&claim_id("one")].reserved_for, [ConsumerUid::from("uid-p")]);
    assert_eq!((world.node_of("p").as_deref(), world.node_of("q")), (Some("a"), None));
}

#[test]
fn a_claim_that_somebody_else_let_go_of_is_open_to_all_once_our_write_is_answered() {
    let mut world = stuck(&[]);
    let asked = std::mem::take(&mut world.open);
    world.add_claim(claim("one"));
    for (id, _) in asked {
        world.tell(Input::Settled(id, WriteOutcome::Failed("another scheduler decides".to_owned())));
    }
    world.later(2);
    world.settle();
    assert_eq!(
        (world.node_of("p").as_deref(), world.devices_of("one")),
        (Some("b"), vec!["gpu-b".to_owned()])
    );
}

#[test]
fn a_claim_gets_no_devices_while_it_may_lose_them_once_more() {
    let mut world = stuck(&[]);
    let (id, write) = world
        .open
        .iter()
        .find(|(_, write)| matches!(write, Write::Deallocate { .. }))
        .cloned()
        .expect("it gives up");
    // It is done, and the answer is lost: it is carried out again.
    assert_eq!(world.apply(&write), WriteOutcome::Done);
    world.open.clear();
    world.later(20);
    world.turn();
    assert!(world.open.iter().all(|(_, write)| !matches!(write, Write::Allocate { .. })), "{:?}", world.open);
    world.open.clear();
    world.tell(Input::Settled(id, WriteOutcome::Done));
    world.later(20);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("b"));
}

/// A pod waits, and its claim has a device where it cannot go, as it cannot anywhere else.
fn idle_beside_waiting_pod() -> World {
    let mut world = with_gpus();
    world.add_claim(held("one", "a", &[]));
    world.add_pod(pod("p", 100_000, &["one"]));
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-a"]);
    world
}

#[test]
fn a_pod_that_cannot_be_bound_lets_others_have_its_devices() {
    let mut world = with_gpus();
    world.fact(node("b", 50));
    world.fail.push(|write| matches!(write, Write::Bind { .. }));
    for (name, wanted) in [("p", "one"), ("q", "two")] {
        world.add_claim(claim(wanted));
        world.add_pod(pod(name, 100, &[wanted]));
    }
    world.settle();
    assert_eq!(world.node_of("q").as_deref(), Some("a"), "it was not there first");
    assert!(world.devices_of("one").is_empty());
}

#[test]
fn a_claim_gives_back_what_it_got_for_a_pod_that_went_unbound() {
    let mut world = idle_beside_waiting_pod();
    world.remove_pod("p");
    assert_eq!(deallocations(&world), 0, "who only watches writes nothing");
    world.settle();
    assert!(world.devices_of("one").is_empty());
}

#[test]
fn a_claim_gives_back_what_is_written_for_a_pod_that_goes_meanwhile() {
    for carried in 0..3 {
        let mut world = with_gpus();
        world.fail.push(|write| matches!(write, Write::Bind { .. }));
        world.add_claim(claim("one"));
        world.add_pod(pod("p", 100, &["one"]));
        world.turn();
        (0..carried).for_each(|_| world.carry_out());
        world.remove_pod("p");
        world.settle();
        assert!(world.devices_of("one").is_empty(), "gone after {carried} writes");
    }
}

#[test]
fn a_claim_keeps_what_it_got_for_a_pod_that_is_gone_if_another_uses_it() {
    let mut world = idle_beside_waiting_pod();
    world.add_claim(ClaimState {
        reserved_for: vec!["uid-other".into()],
        ..ClaimState::clone(&world.claims[&claim_id("one")])
    });
    world.remove_pod("p");
    world.settle();
    assert_eq!(world.devices_of("one").len(), 1);
}

#[test]
fn a_claim_is_asked_again_if_it_could_not_give_back_what_nobody_uses() {
    let mut world = idle_beside_waiting_pod();
    world.fail.push(|write| matches!(write, Write::Deallocate { .. }));
    world.remove_pod("p");
    world.settle();
    assert_eq!((world.devices_of("one").len(), world.fail.len()), (1, 0));
    world.later(2);
    world.settle();
    assert!(world.devices_of("one").is_empty());
}

#[test]
fn a_claim_gives_back_what_is_written_while_two_pods_of_a_name_come_and_go() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    world.remove_pod("p");
    world.add_pod(Pod { uid: "uid-next".into(), ..pod("p", 100, &["one"]) });
    world.turn();
    world.fact(Change::PodGone("uid-next".into()));
    world.settle();
    assert!(world.devices_of("one").is_empty());
}

#[test]
fn a_claim_gives_back_what_was_written_for_a_pod_that_ran_after_it_was_released() {
    let mut world = with_gpus();
    world.add_pod(Pod { node: Some("b".into()), running: true, ..pod("p", 100, &["one"]) });
    // The pod is gone, and what it used was taken back; the watch of pods has yet to tell so.
    world.add_claim(held("one", "b", &[]));
    world.settle();
    assert_eq!(world.devices_of("one").len(), 1);
    world.remove_pod("p");
    world.settle();
    assert!(world.devices_of("one").is_empty(), "{:?}", world.told);
}
