//! How devices come to pods and go again: statements 17, 19, 20, 21, 23, 24 and 25 of the design.

use super::world::{Fate, World};
use crate::fabric::HandOver;
use crate::fabric::inventory::Place;

fn re_pick(nodes: usize, devices: usize) -> World {
    let mut world = World::new(nodes, &[("a", devices)]);
    world.options.hand_over_by_model.insert("a".to_owned(), HandOver::RePick);
    world.nodes_publish = true;
    world.settle();
    world
}

#[test]
fn a_claim_has_a_device_of_its_model_attached_to_its_node() {
    let mut world = World::new(2, &[("a", 2), ("b", 2)]);
    world.claim("c", "b", 2);
    assert!(world.schedule("c", "n-1"));
    assert_eq!(world.standing("c"), Ok(false));
    world.settle();
    assert_eq!(world.standing("c"), Ok(true));
    let host = "host-1".to_owned();
    assert_eq!(world.attachments, [("serial-b-0".to_owned(), host.clone()), ("serial-b-1".to_owned(), host)]);
}

#[test]
fn other_conditions_and_devices_of_others_are_left_alone() {
    let mut world = World::new(1, &[("a", 1)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    let theirs =
        serde_json::json!({ "driver": "other.example.com", "pool": "p", "device": "d", "conditions": [] });
    let claim = world.claims.get_mut("c").expect("it is there");
    claim.status.devices = serde_json::from_value(serde_json::json!([theirs])).expect("a report");
    world.settle();
    assert_eq!(world.claims["c"].status.devices.len(), 2);
    assert_eq!(world.standing("c"), Ok(true));
}

#[test]
fn a_shared_claim_has_one_attachment() {
    let mut world = World::new(1, &[("a", 3)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    let users = serde_json::json!([{ "resource": "pods", "name": "p", "uid": "1" }, { "resource": "pods", "name": "q", "uid": "2" }]);
    world.claims.get_mut("c").expect("it is there").status.reserved_for =
        serde_json::from_value(users).expect("users");
    world.settle();
    assert_eq!((world.standing("c"), world.attachments.len()), (Ok(true), 1));
}

#[test]
fn losing_a_device_to_another_cluster_fails_the_claim_and_the_next_try_takes_another() {
    let mut world = World::new(1, &[("a", 2)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    // The other cluster is faster, after we last looked.
    world.refresh();
    let actions = world.decision().actions;
    actions.into_iter().for_each(|action| world.take(action));
    let theirs = Place { host: "theirs".to_owned(), port: "theirs".to_owned() };
    world.truth.units.get_mut("serial-a-0").expect("it is there").attached = Some(theirs);
    let actions = world.decision().actions;
    actions.into_iter().for_each(|action| world.take(action));
    world.settle();
    assert_eq!(world.standing("c"), Err("AttachFailed".to_owned()));
    world.clear("c");
    world.settle();
    assert!(world.ledger.is_empty(), "what is not ours is not written down: {:?}", world.ledger);
    assert_eq!(world.offered("rack.free.a").len(), 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!(world.standing("c"), Ok(true));
    assert_eq!(world.attachments, [("serial-a-1".to_owned(), "host-0".to_owned())]);
}

#[test]
fn idle_devices_are_offered_again_and_detached_after_ten_minutes() {
    let mut world = World::new(1, &[("a", 2)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    world.clear("c");
    world.settle();
    assert_eq!(world.offered("rack.attached.a.n-0"), ["slot-0"]);
    world.wait(590_000);
    world.settle();
    assert!(world.schedule("c", "n-0"));
    assert_eq!(world.devices("c")[0].0, "rack.attached.a.n-0");
    world.settle();
    assert_eq!(
        (world.standing("c"), world.attachments.len()),
        (Ok(true), 1),
        "it is used again, not attached again"
    );
    world.wait(3_600_000);
    world.settle();
    assert!(world.detachments.is_empty(), "what is in use stays");
    world.clear("c");
    world.settle();
    world.wait(590_000);
    world.settle();
    assert!(world.detachments.is_empty(), "its time began anew");
    assert!(world.decision().again_at.is_some());
    world.wait(20_000);
    world.settle();
    assert_eq!(world.detachments, ["serial-a-0"]);
    assert!(world.ledger.is_empty() && world.attached().is_empty());
    assert_eq!(world.offered("rack.free.a").len(), 2);
}

#[test]
fn a_claim_that_takes_a_device_while_it_is_detached_gets_one_all_the_same() {
    let mut world = World::new(1, &[("a", 1)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    world.clear("c");
    world.settle();
    assert!(world.schedule("c", "n-0"));
    let late = world.claims["c"].clone();
    world.clear("c");
    world.wait(601_000);
    world.refresh();
    let actions = world.decision().actions;
    actions.into_iter().for_each(|action| world.take(action));
    world.claims.insert("c".to_owned(), late);
    world.settle();
    assert_eq!(world.standing("c"), Ok(true));
    assert_eq!(world.attached().len(), 1);
}

#[test]
fn a_pod_that_went_elsewhere_leaves_its_device_to_others() {
    let mut world = World::new(2, &[("a", 2)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    world.clear("c");
    assert!(world.schedule("c", "n-1"));
    world.settle();
    assert_eq!((world.standing("c"), world.attached().len()), (Ok(true), 2));
    world.claim("d", "a", 1);
    assert!(world.schedule("d", "n-0"));
    world.settle();
    assert_eq!((world.standing("d"), world.attachments.len()), (Ok(true), 2));
}

#[test]
fn a_device_that_is_taken_away_is_told_or_attached_again() {
    let mut world = World::new(1, &[("a", 1)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    world.wait(1_000);
    world.truth.units.get_mut("serial-a-0").expect("it is there").attached = None;
    world.settle();
    assert_eq!(world.standing("c"), Err("DeviceLost".to_owned()));
    world.clear("c");
    world.settle();
    assert!(world.ledger.is_empty());
    assert_eq!(world.offered("rack.free.a").len(), 1);
}

#[test]
fn a_pod_that_picks_again_ends_on_the_device_that_was_attached_for_it() {
    let mut world = re_pick(2, 4);
    world.nodes_publish = false;
    world.claim("c", "a", 2);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!(
        world.standing("c"),
        Ok(false),
        "nobody is sent round before the node's driver has found the devices"
    );
    world.nodes_publish = true;
    world.settle();
    assert_eq!(world.standing("c"), Err("AttachedToNode".to_owned()));
    world.clear("c");
    assert!(world.schedule("c", "n-0"));
    world.settle();
    let pools: Vec<String> = world.devices("c").into_iter().map(|(pool, _)| pool).collect();
    assert_eq!((pools, world.attachments.len()), (vec!["n-0".to_owned(), "n-0".to_owned()], 2));
    world.wait(3_600_000);
    world.settle();
    assert!(world.detachments.is_empty(), "what is in use stays");
}

#[test]
fn whoever_is_sent_round_and_errs_is_sent_back_without_a_second_attachment() {
    let mut world = re_pick(2, 4);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!(world.standing("c"), Err("AttachedToNode".to_owned()));
    world.clear("c");
    assert!(world.schedule("c", "n-1"), "the scheduler errs");
    world.settle();
    assert_eq!((world.standing("c"), world.attachments.len()), (Err("AttachedAlready".to_owned()), 1));
    world.clear("c");
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!((world.devices("c")[0].0.as_str(), world.attachments.len()), ("n-0", 1));
}

#[test]
fn whoever_cannot_come_back_gets_another_device_in_the_end_and_the_first_is_detached() {
    let mut world = re_pick(2, 4);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    world.clear("c");
    world.settle();
    world.wait(61_000);
    world.settle();
    assert!(world.schedule("c", "n-1"));
    world.settle();
    assert_eq!(world.standing("c"), Err("AttachedToNode".to_owned()));
    world.clear("c");
    assert!(world.schedule("c", "n-1"));
    world.settle();
    assert_eq!(world.devices("c")[0].0, "n-1");
    world.wait(600_000);
    world.settle();
    assert_eq!(world.guards.len(), 1, "nobody may take it while it goes");
    world.wait(6_000);
    world.settle();
    assert_eq!((world.detachments.len(), world.guards.len(), world.attached().len()), (1, 0, 1));
}

#[test]
fn a_device_that_somebody_takes_before_it_is_detached_stays() {
    let mut world = re_pick(1, 1);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    world.clear("c");
    world.settle();
    world.wait(61_000);
    world.settle();
    assert!(world.schedule("c", "n-0"));
    let late = world.claims["c"].clone();
    world.clear("c");
    world.wait(601_000);
    world.settle();
    assert_eq!(world.guards.len(), 1);
    world.claims.insert("c".to_owned(), late);
    world.wait(6_000);
    world.settle();
    assert_eq!((world.detachments.len(), world.guards.len()), (0, 0));
    assert_eq!(world.attached().len(), 1);
}

#[test]
fn a_class_says_how_its_devices_are_handed_over() {
    let mut world = World::new(1, &[("a", 2)]);
    world.options.hand_over_by_class.insert("gpu".to_owned(), HandOver::RePick);
    world.nodes_publish = true;
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!(world.standing("c"), Err("AttachedToNode".to_owned()));
}

#[test]
fn a_refused_attachment_is_a_failure_with_its_reason() {
    let mut world = World::new(1, &[("a", 1)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.fate = Fate::Refused;
    world.settle();
    let conditions = &world.claims["c"].status.devices[0].conditions;
    let expected = "cannot attach a device to node n-0: the fabric is in a bad mood";
    assert!(conditions.iter().any(|one| one.message == expected), "{conditions:?}");
}

#[test]
fn nodes_that_are_no_hosts_are_told_so() {
    let mut world = World::new(1, &[("a", 1)]);
    let stranger = super::world::read(
        serde_json::json!({ "metadata": { "name": "stranger", "labels": { "supercargo.dev/fabric": "rack" } } }),
    );
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "stranger"), "it was not known yet");
    world.nodes.push(stranger);
    world.settle();
    assert_eq!(world.standing("c"), Err("NotInFabric".to_owned()));
    world.clear("c");
    assert!(!world.schedule("c", "stranger"));
}

#[test]
fn a_device_that_is_in_use_in_place_is_kept_from_others_if_its_node_publishes_it() {
    let mut world = World::new(1, &[("a", 1)]);
    world.nodes_publish = true;
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!((world.standing("c"), world.guards.len()), (Ok(true), 1));
    world.claim("d", "a", 1);
    assert!(!world.schedule("d", "n-0"));
    world.clear("c");
    world.settle();
    assert!(world.guards.is_empty());
    assert!(world.schedule("d", "n-0"));
    assert_eq!(world.devices("d")[0].0, "n-0");
}
