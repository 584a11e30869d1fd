//! Devices that others attached, and devices of which nobody can tell whether they are in use: counted, and left alone.

use super::world::{Fate, World};
use crate::fabric::HandOver;
use crate::fabric::names::FABRIC_LABEL;

/// A world of one node, to which an administrator attached the first device by hand.
fn with_one_by_hand(devices: usize) -> World {
    let mut world = World::new(1, &[("a", devices)]);
    world.attach_by_hand("serial-a-0", 0);
    world.settle();
    world
}

/// A long time goes by, and everything that is to be done in it is.
fn an_hour_later(world: &mut World) {
    for _ in 0..4 {
        world.wait(900_000);
        world.settle();
    }
}

#[test]
fn what_others_attached_is_neither_offered_nor_detached() {
    let mut world = with_one_by_hand(2);
    assert_eq!(world.offered("rack.attached.a.n-0"), Vec::<String>::new());
    assert_eq!(world.offered("rack.free.a"), ["slot-0"]);
    an_hour_later(&mut world);
    assert_eq!((world.detachments.len(), world.attached()), (0, vec!["serial-a-0".to_owned()]));
    let entry = world.ledger.values().next().expect("it is listed");
    assert_eq!((entry.spec.origin.as_str(), &entry.status.idle_since), ("Found", &None));
    assert!(entry.status.message.contains("was not attached by this controller"), "{}", entry.status.message);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!(world.attachments, [("serial-a-1".to_owned(), "host-0".to_owned())]);
    world.claims.clear();
    world.settle();
    an_hour_later(&mut world);
    assert_eq!(world.detachments, ["serial-a-1"], "what was attached for the claim is ours to detach");
}

#[test]
fn what_others_attached_counts_for_the_room_of_its_node() {
    let mut world = World::new(1, &[("a", 6)]);
    (0..3).for_each(|at| world.attach_by_hand(&format!("serial-a-{at}"), 0));
    world.settle();
    world.claim("c", "a", 2);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!((world.standing("c"), world.attachments.len()), (Err("NodeFull".to_owned()), 1));
}

#[test]
fn what_others_detach_is_free_again() {
    let mut world = with_one_by_hand(1);
    assert_eq!((world.ledger.len(), world.offered("rack.free.a").len()), (1, 0));
    world.truth.units.get_mut("serial-a-0").expect("it is there").attached = None;
    world.wait(1_000);
    world.settle();
    assert_eq!((world.ledger.len(), world.offered("rack.free.a").len()), (0, 1));
}

#[test]
fn what_others_attached_is_no_longer_listed_when_its_node_leaves_the_fabric() {
    let mut world = with_one_by_hand(1);
    assert_eq!(world.ledger.len(), 1);
    world.nodes[0].metadata.labels.remove(FABRIC_LABEL);
    world.wait(1_000);
    world.settle();
    assert_eq!((world.ledger.len(), world.detachments.len()), (0, 0));
}

#[test]
fn an_entry_that_does_not_say_who_attached_the_device_is_left_alone_until_it_does() {
    for phase in ["Attached", "Detaching"] {
        let mut world = World::new(1, &[("a", 1)]);
        world.claim("c", "a", 1);
        assert!(world.schedule("c", "n-0"));
        world.settle();
        world.claims.clear();
        world.settle();
        let entry = world.ledger.values_mut().next().expect("it is written down");
        entry.spec.origin.clear();
        entry.status.phase = phase.to_owned();
        an_hour_later(&mut world);
        assert_eq!((world.detachments.len(), world.ledger.len()), (0, 1), "{phase}");
        assert_eq!(world.offered("rack.attached.a.n-0"), Vec::<String>::new());
        let entry = world.ledger.values_mut().next().expect("it is written down");
        assert!(entry.status.message.contains("spec.origin"), "{}", entry.status.message);
        // An administrator says that it is to be looked after.
        entry.spec.origin = "Attached".to_owned();
        world.settle();
        assert_eq!(world.offered("rack.attached.a.n-0"), ["slot-0"], "{phase}");
        let message = world.ledger.values().next().map(|entry| entry.status.message.clone());
        assert_eq!(message.as_deref(), Some(""), "{phase}");
        an_hour_later(&mut world);
        assert_eq!((world.detachments.len(), world.ledger.len()), (1, 0), "{phase}");
    }
}

#[test]
fn a_device_that_the_fabric_refused_to_attach_and_others_attached_is_theirs() {
    let mut world = World::new(1, &[("a", 1)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.fate = Fate::Refused;
    world.settle();
    world.fate = Fate::Good;
    world.claims.clear();
    world.settle();
    world.attach_by_hand("serial-a-0", 0);
    world.wait(1_000);
    world.settle();
    assert_eq!(world.offered("rack.attached.a.n-0"), Vec::<String>::new());
    an_hour_later(&mut world);
    assert!(world.detachments.is_empty());
}

#[test]
fn a_device_that_came_after_all_is_ours() {
    let mut world = World::new(1, &[("a", 1)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.fate = Fate::Unanswered;
    world.settle();
    assert_eq!(world.standing("c"), Err("AttachFailed".to_owned()));
    world.fate = Fate::Good;
    world.claims.clear();
    world.settle();
    world.attach_by_hand("serial-a-0", 0);
    world.wait(1_000);
    world.settle();
    assert_eq!(world.offered("rack.attached.a.n-0"), ["slot-0"]);
    an_hour_later(&mut world);
    assert_eq!(world.detachments, ["serial-a-0"]);
}

#[test]
fn a_device_stays_while_its_nodes_driver_does_not_say_which_device_a_pod_has() {
    let mut world = World::new(1, &[("a", 1)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!(world.standing("c"), Ok(true));
    world.claims.clear();
    // Its driver finds it, and another claim takes it from there.
    (world.nodes_publish, world.nodes_identify) = (true, false);
    world.claim("d", "a", 1);
    world.refresh();
    assert!(world.schedule("d", "n-0"));
    assert_eq!(world.devices("d")[0].0, "n-0");
    world.settle();
    assert_eq!(world.offered("rack.attached.a.n-0"), Vec::<String>::new());
    an_hour_later(&mut world);
    assert!(world.detachments.is_empty(), "a device of which nothing is known is not idle");
    let message = &world.ledger.values().next().expect("it is written down").status.message;
    assert!(message.contains("supercargo.dev/fabricUnit"), "{message}");
    // Told which one it is, it is known to be in use, and to be idle.
    world.nodes_identify = true;
    world.settle();
    an_hour_later(&mut world);
    assert!(world.detachments.is_empty(), "it is in use");
    world.claims.clear();
    world.settle();
    world.wait(590_000);
    world.settle();
    assert!(world.detachments.is_empty(), "its time begins when it is known to be idle");
    an_hour_later(&mut world);
    assert_eq!(world.detachments, ["serial-a-0"]);
}

#[test]
fn nothing_is_handed_over_in_place_where_the_nodes_driver_publishes_no_identity() {
    let mut world = World::new(2, &[("a", 3)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"), "its driver has not published anything yet");
    (world.nodes_publish, world.nodes_identify) = (true, false);
    world.attach_by_hand("serial-a-0", 0);
    world.settle();
    assert_eq!(world.standing("c"), Err("NoIdentity".to_owned()));
    assert!(world.attachments.is_empty(), "{:?}", world.attachments);
    let conditions = &world.claims["c"].status.devices[0].conditions;
    let expected = "driver gpu.example.com publishes devices of node n-0 without attribute supercargo.dev/fabricUnit, \
        so no device can be handed over in place there; hint: have the driver publish the attribute, or name the one \
        that it publishes with --unit-attribute";
    assert!(conditions.iter().any(|one| one.message == expected), "{conditions:?}");
    let warned: Vec<String> = world.decision().warnings.into_iter().map(|warning| warning.node).collect();
    assert_eq!(warned, ["n-0"]);
    world.clear("c");
    world.slices.retain(|name, _| !name.ends_with("-local"));
    world.settle();
    world.slices.retain(|name, _| !name.ends_with("-local"));
    assert!(!world.slices.is_empty() && !world.schedule("c", "n-0"), "it is left out of the offer");
    assert!(world.schedule("c", "n-1"), "whose driver publishes nothing");
}

#[test]
fn a_driver_may_say_of_its_own_devices_that_they_are_none_of_the_fabric() {
    let mut world = World::new(1, &[("a", 1)]);
    let slice = |unit: serde_json::Value| {
        super::world::read(serde_json::json!({ "metadata": { "name": "own" }, "spec": {
            "driver": super::world::DRIVER, "nodeName": "n-0",
            "pool": { "name": "own", "generation": 1, "resourceSliceCount": 1 },
            "devices": [{ "name": "built-in", "attributes": { "model": { "string": "b" }, unit["name"].as_str().expect("a name"): { "string": "" } } }],
        } }))
    };
    world.slices.insert("own".to_owned(), slice(serde_json::json!({ "name": "other" })));
    world.settle();
    world.claim("c", "a", 1);
    assert!(!world.schedule("c", "n-0"));
    world.slices.insert("own".to_owned(), slice(serde_json::json!({ "name": "supercargo.dev/fabricUnit" })));
    world.settle();
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!(world.standing("c"), Ok(true));
}

#[test]
fn where_pods_pick_again_a_driver_without_identity_keeps_nothing_from_being_offered() {
    let mut world = World::new(1, &[("a", 1)]);
    world.options.hand_over = HandOver::RePick;
    (world.nodes_publish, world.nodes_identify) = (true, false);
    world.plug("b", "by-hand");
    world.attach_by_hand("by-hand", 0);
    world.settle();
    assert!(world.decision().warnings.is_empty());
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
}
