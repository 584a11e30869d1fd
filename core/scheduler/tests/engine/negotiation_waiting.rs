//! Pods that wait for room, for other pods or for another driver: they keep nothing that drivers gave them, which others could have.

use model::pod::Pod;

use crate::negotiation::{DRIVER, class, lent, negotiating, wanting};
use crate::world::{claim, claim_id, gpu_class, gpus, node, pod};

#[test]
fn a_pod_that_waits_for_others_to_leave_a_claim_gives_back_what_drivers_gave_it() {
    let mut world = negotiating();
    world.fact(node("a", 4_000));
    for name in ["own", "shared"] {
        world.add_claim(lent(name));
    }
    world.give("own", DRIVER, Some("a"), &[]);
    world.give("shared", DRIVER, None, &["another"]);
    world.add_pod(pod("p", 100, &["own", "shared"]));
    world.settle();
    assert!(world.claims[&claim_id("own")].control.leaving, "others could have it: {:?}", world.told);
    assert!(!world.claims[&claim_id("shared")].control.leaving, "it is in use");
    world.take_back("own");
    world.change_claim("shared", |state| state.reserved_for.clear());
    world.later(20);
    world.settle();
    assert_eq!(world.selected("p"), Some("a"), "it is asked for again when the other has left");
}

#[test]
fn a_pod_that_lacks_devices_of_the_scheduler_gives_back_what_drivers_gave_it() {
    let mut world = negotiating();
    world.fact(node("a", 4_000));
    world.fact(gpu_class());
    world.fact(gpus("a", &["gpu-0"]));
    world.add_claim(claim("taken"));
    world.add_pod(pod("first", 100, &["taken"]));
    world.settle();
    assert_eq!(world.node_of("first").as_deref(), Some("a"));
    world.add_claim(lent("own"));
    world.add_claim(claim("card"));
    world.give("own", DRIVER, Some("a"), &[]);
    world.add_pod(pod("p", 100, &["own", "card"]));
    world.settle();
    assert!(world.claims[&claim_id("own")].control.leaving, "others could have it: {:?}", world.told);
    world.take_back("own");
    world.later(20);
    world.settle();
    assert_eq!(world.selected("p"), None, "it is not asked for while the card is not to be had");
    world.remove_pod("first");
    world.remove_claim("taken");
    world.later(20);
    world.settle();
    assert_eq!(world.selected("p"), Some("a"), "it is asked for again when the card is to be had");
}

#[test]
fn a_pod_that_lacks_what_one_driver_gives_keeps_nothing_of_another() {
    let mut world = negotiating();
    world.fact(class("other", "nic.example.com", None));
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 4_000)));
    world.add_claim(lent("own"));
    world.add_claim(wanting("nic", "other"));
    world.give("own", DRIVER, None, &[]);
    world.add_pod(pod("p", 100, &["own", "nic"]));
    world.settle();
    world.answer("p", "nic", &["a", "b"]);
    world.settle();
    assert!(world.claims[&claim_id("own")].control.leaving, "others could have it: {:?}", world.told);
    let why = "resource driver nic.example.com has no devices for claim nic";
    assert!(world.told.iter().any(|told| told.contains(why)), "{:?}", world.told);
    world.take_back("own");
    let written = world.revision;
    world.later(30);
    world.settle();
    assert_eq!(world.revision, written, "it is quiet");
    world.answer("p", "nic", &["a"]);
    world.later(30);
    world.settle();
    world.answer("p", "own", &[]);
    world.settle();
    assert_eq!(world.selected("p"), Some("b"), "both are asked for again");
}

#[test]
fn what_one_driver_gave_is_given_back_where_another_gives_nothing_and_pods_would_have_to_go() {
    let mut world = negotiating();
    world.fact(class("other", "nic.example.com", None));
    for (name, at) in [("x", "a"), ("y", "b")] {
        world.fact(node(at, 1_000));
        world.add_pod(Pod { node: Some(at.into()), ..pod(name, 900, &[]) });
    }
    world.add_claim(lent("own"));
    world.add_claim(wanting("nic", "other"));
    world.add_pod(Pod { priority: 10, ..pod("p", 500, &["own", "nic"]) });
    world.settle();
    ["own", "nic"].iter().for_each(|entry| world.answer("p", entry, &[]));
    world.settle();
    world.later(2);
    world.settle();
    let first = world.selected("p").expect("drivers are asked about a node").to_owned();
    world.answer("p", "nic", &[&first]);
    world.give("own", DRIVER, Some(&first), &["p"]);
    world.settle();
    assert!(world.claims[&claim_id("own")].control.leaving, "the other node could be had: {:?}", world.told);
    world.change_claim("own", |state| state.reserved_for.clear());
    world.take_back("own");
    world.later(15);
    world.settle();
    let second = world.selected("p").expect("drivers are asked about the other node").to_owned();
    assert_ne!(first, second);
    world.give("own", DRIVER, Some(&second), &["p"]);
    world.give("nic", "nic.example.com", Some(&second), &["p"]);
    for _ in 0..2 {
        world.later(2);
        world.settle();
    }
    assert_eq!(world.node_of("p"), Some(second), "{:?}", world.told);
}

#[test]
fn a_pod_that_waits_for_room_on_its_node_keeps_nothing_that_drivers_gave() {
    let mut world = negotiating();
    world.fact(node("a", 1_000));
    world.add_claim(lent("own"));
    world.give("own", DRIVER, None, &[]);
    world.add_pod(Pod { node: Some("a".into()), ..pod("x", 900, &[]) });
    world.add_pod(pod("p", 500, &["own"]));
    world.settle();
    assert!(world.claims[&claim_id("own")].control.leaving, "others could have it: {:?}", world.told);
    world.take_back("own");
    world.settle();
    let written = world.revision;
    world.later(30);
    world.settle();
    assert_eq!(world.revision, written, "it is quiet");
    world.remove_pod("x");
    world.later(15);
    world.settle();
    assert_eq!(world.selected("p"), Some("a"), "it is asked for again when there is room");
}
