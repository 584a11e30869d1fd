//! What is published, and how it follows the fabric: statements 14, 15, 16, 18 and 22 of the design.

use super::world::{DRIVER, Fate, World};
use crate::fabric::names::{ATTACH_FAILED, ATTACHED, FABRIC_LABEL, Pool, RESTING, part};

#[test]
fn free_devices_are_published_by_model_and_have_no_identity() {
    let world = World::new(2, &[("A100", 2), ("H100", 1)]);
    let names: Vec<&String> = world.slices.keys().collect();
    assert_eq!(names.len(), 2, "{names:?}");
    for (pool, count) in [(Pool::Free { model: part("A100") }, 2), (Pool::Free { model: part("H100") }, 1)] {
        let pool = pool.name("rack");
        let slice =
            world.slices.values().find(|slice| slice.spec.pool.name == pool).expect("a pool for each");
        assert_eq!((slice.spec.driver.as_str(), &slice.spec.node_name), (DRIVER, &None));
        let term = &slice.spec.node_selector.as_ref().expect("nodes of the fabric").node_selector_terms[0];
        assert_eq!((term.match_expressions[0].key.as_str(), term.match_fields.len()), (FABRIC_LABEL, 0));
        let devices = slice.spec.devices.as_ref().expect("devices");
        assert_eq!(devices.len(), count);
        for device in devices {
            assert!(device.name.starts_with("slot-"), "{}", device.name);
            assert_eq!(device.binds_to_node, Some(true));
            assert_eq!(
                (&device.binding_conditions[..], &device.binding_failure_conditions[..]),
                (&[ATTACHED.to_owned()][..], &[ATTACH_FAILED.to_owned()][..])
            );
            let attributes: Vec<&String> = device.attributes.keys().collect();
            let expected: &[&str] = if count == 1 { &["model", "serial"] } else { &["model"] };
            assert_eq!(attributes, expected, "what tells one device from another is left out");
            assert_eq!(device.capacity["memory"].value.0.to_string(), "80Gi");
        }
    }
}

#[test]
fn what_is_plugged_in_or_pulled_out_appears_or_goes_at_the_next_look() {
    let mut world = World::new(1, &[("a", 2)]);
    assert_eq!(world.offered("rack.free.a"), ["slot-0", "slot-1"]);
    world.plug("a", "late");
    assert!(world.decision().actions.is_empty(), "nobody has looked yet");
    world.settle();
    assert_eq!(world.offered("rack.free.a"), ["slot-0", "slot-1", "slot-2"]);
    world.truth.units.remove("serial-a-0");
    world.truth.units.get_mut("late").expect("it is there").is_healthy = false;
    world.settle();
    assert_eq!(world.offered("rack.free.a").len(), 1);
    world.truth.units.clear();
    world.settle();
    assert!(world.slices.is_empty(), "a pool without devices is none");
}

#[test]
fn a_device_leaves_the_free_pool_when_it_is_attached_and_its_name_is_not_given_again() {
    let mut world = World::new(1, &[("a", 3)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    assert_eq!(world.devices("c"), [("rack.free.a".to_owned(), "slot-0".to_owned())]);
    world.settle();
    assert_eq!(world.offered("rack.free.a"), ["slot-1", "slot-2"]);
    world.plug("a", "late");
    world.settle();
    assert_eq!(world.offered("rack.free.a"), ["slot-1", "slot-2", "slot-3"], "slot-0 is the claim's");
}

#[test]
fn nodes_that_are_full_are_left_out_and_come_back() {
    let mut world = World::new(2, &[("a", 6)]);
    world.claim("big", "a", 4);
    assert!(world.schedule("big", "n-0"));
    world.settle();
    assert_eq!(world.standing("big"), Ok(true));
    world.claim("more", "a", 1);
    assert!(!world.schedule("more", "n-0"), "its port has four devices");
    assert!(world.schedule("more", "n-1"));
    world.claims.remove("big");
    world.settle();
    world.claim("again", "a", 1);
    assert!(world.schedule("again", "n-0"));
    assert_eq!(world.devices("again")[0].0, "rack.attached.a.n-0", "idle ones come before free ones");
}

#[test]
fn a_limit_of_the_node_counts_as_well() {
    let mut world = World::new(1, &[("a", 3)]);
    world.options.units_per_node_max = Some(2);
    world.claim("c", "a", 3);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!(world.standing("c"), Err("NodeFull".to_owned()));
    assert_eq!(world.attachments.len(), 2);
}

#[test]
fn large_pools_have_several_slices_that_change_together() {
    let mut world = World::new(1, &[("a", 70)]);
    let generations = |world: &World| -> Vec<i64> {
        world.slices.values().map(|slice| slice.spec.pool.generation).collect()
    };
    assert_eq!(generations(&world), [1, 1]);
    world.plug("a", "late");
    world.refresh();
    let actions = world.decision().actions;
    world.take(actions[0].clone());
    world.settle();
    let found = generations(&world);
    assert!(found[0] == found[1] && found[0] > 1, "{found:?}");
    assert_eq!(world.offered("rack.free.a").len(), 71);
}

#[test]
fn a_device_that_failed_rests_with_a_taint_and_longer_each_time() {
    let mut world = World::new(1, &[("a", 1)]);
    world.claim("c", "a", 1);
    let mut rests = Vec::new();
    for _ in 0..3 {
        assert!(world.schedule("c", "n-0"));
        world.fate = Fate::Refused;
        world.settle();
        assert_eq!(world.standing("c"), Err("AttachFailed".to_owned()));
        let tainted = world.slices.values().flat_map(|slice| slice.spec.devices.iter().flatten());
        assert_eq!(tainted.map(|device| device.taints[0].key.clone()).collect::<Vec<_>>(), [RESTING]);
        world.clear("c");
        world.settle();
        assert!(!world.schedule("c", "n-0"));
        let until = world.ledger.values().next().and_then(|entry| entry.status.retry_at).expect("it rests").0;
        rests.push((until.micros() - world.now.micros()) / 1_000_000);
        world.now = until;
        world.settle();
    }
    assert!(rests[0] >= 29 && rests[1] >= 59 && rests[2] >= 119, "{rests:?}");
    world.fate = Fate::Good;
    assert!(world.schedule("c", "n-0"));
    world.settle();
    assert_eq!(world.standing("c"), Ok(true));
}

#[test]
fn a_server_that_does_not_know_our_time_is_not_told_again_and_again() {
    let mut world = World::new(1, &[("a", 1)]);
    world.options.binding_timeout = Some("90s".to_owned());
    world.settle();
    let timeout = |world: &World| {
        world
            .slices
            .values()
            .next()
            .and_then(|slice| slice.spec.devices.clone())
            .map(|devices| devices[0].binding_timeout.clone())
    };
    assert_eq!(timeout(&world), Some(None), "what was published before stays");
    world.slices.clear();
    world.settle();
    assert_eq!(timeout(&world), Some(Some("90s".to_owned())));
    world.slices.clear();
    world.server =
        |slice| slice.spec.devices.iter_mut().flatten().for_each(|device| device.binding_timeout = None);
    world.settle();
    assert_eq!(timeout(&world), Some(None));
}

#[test]
fn nothing_is_offered_where_binding_conditions_are_off() {
    let mut world = World::new(1, &[("a", 2)]);
    world.slices.clear();
    world.server = |slice| {
        for device in slice.spec.devices.iter_mut().flatten() {
            device.binding_conditions.clear();
            device.binding_failure_conditions.clear();
            device.binds_to_node = None;
        }
    };
    world.settle();
    assert_eq!(world.offered("rack.free.a"), Vec::<String>::new());
    world.server = |_| {};
    world.slices.clear();
    world.settle();
    assert_eq!(world.offered("rack.free.a").len(), 2, "switched on again, and the empty slices deleted");
}
