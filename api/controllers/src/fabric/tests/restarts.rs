//! Whoever carries actions out dies between any two of them, or right after the fabric did something. Nothing comes of it.

use std::collections::BTreeSet;

use super::world::{Fate, World};
use crate::fabric::{FabricAction, HandOver};

/// Plays a whole life: attach, use, idle, detach. Dies before action `dies_at`; if that touches the fabric, after it.
/// Says how many actions there were.
fn live(hand_over: HandOver, dies_at: usize) -> usize {
    let mut world = World::new(2, &[("a", 3)]);
    world.options.hand_over = hand_over;
    world.nodes_publish = hand_over == HandOver::RePick;
    world.claim("c", "a", 2);
    let mut count = 0;
    let mut work = |world: &mut World| {
        for _ in 0..100 {
            world.refresh();
            let Some(action) = world.decision().actions.into_iter().next() else { return };
            count += 1;
            let dies = count == dies_at;
            world.fate = if dies { Fate::Unheard } else { Fate::Good };
            // What is not done now is found to be undone later.
            if !dies || matches!(action, FabricAction::Attach(_) | FabricAction::Detach(_)) {
                world.take(action);
            }
            assert!(world.attached().len() <= 2, "a claim of two devices has more: {:?}", world.attachments);
        }
        panic!("there is no end to it");
    };
    assert!(world.schedule("c", "n-0"));
    work(&mut world);
    if hand_over == HandOver::RePick {
        assert_eq!(world.standing("c"), Err("AttachedToNode".to_owned()));
        world.clear("c");
        assert!(world.schedule("c", "n-0"));
        work(&mut world);
        assert!(world.devices("c").iter().all(|(pool, _)| pool == "n-0"));
    } else {
        assert_eq!(world.standing("c"), Ok(true));
    }
    let made: BTreeSet<_> = world.attachments.iter().collect();
    assert_eq!((made.len(), world.attachments.len()), (2, 2), "dies at {dies_at}: {:?}", world.attachments);
    world.claims.clear();
    work(&mut world);
    for _ in 0..3 {
        world.wait(601_000);
        work(&mut world);
    }
    assert_eq!(
        (world.attached().len(), world.ledger.len(), world.guards.len()),
        (0, 0, 0),
        "dies at {dies_at}"
    );
    count
}

#[test]
fn dying_between_any_two_steps_attaches_nothing_twice_and_forgets_nothing() {
    for hand_over in [HandOver::InPlace, HandOver::RePick] {
        let actions = live(hand_over, 0);
        assert!(actions > 10, "{actions}");
        (1..=actions).for_each(|at| assert!(live(hand_over, at) >= actions));
    }
}

#[test]
fn what_is_attached_and_not_written_down_is_found_again_with_its_claim() {
    let mut world = World::new(1, &[("a", 2)]);
    world.claim("c", "a", 1);
    assert!(world.schedule("c", "n-0"));
    world.settle();
    world.ledger.clear();
    world.wait(1_000);
    world.settle();
    let entry = world.ledger.values().next().expect("it is written down again");
    assert_eq!(entry.spec.claim.as_ref().map(|claim| claim.name.as_str()), Some("c"));
    world.wait(3_600_000);
    world.settle();
    assert!(world.detachments.is_empty());
    world.claims.clear();
    world.settle();
    world.wait(3_600_000);
    world.settle();
    assert!(world.detachments.is_empty(), "the ledger does not say that we attached it");
    assert_eq!(world.offered("rack.attached.a.n-0"), Vec::<String>::new());
}

/// Random numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Claims come, go and err, attachments fail, looks are late, and deaths happen.
fn story(seed: u64) {
    let mut dice = Dice(seed);
    let mut world = World::new(3, &[("a", 4), ("b", 2)]);
    world.options.hand_over = if seed.is_multiple_of(2) { HandOver::InPlace } else { HandOver::RePick };
    world.nodes_publish = world.options.hand_over == HandOver::RePick;
    world.plug("a", "by-hand");
    world.attach_by_hand("by-hand", 2);
    world.settle();
    for turn in 0..150 {
        let name = format!("c-{}", dice.roll(6));
        let node = format!("n-{}", dice.roll(3));
        match dice.roll(10) {
            0 | 1 if !world.claims.contains_key(&name) => {
                world.claim(&name, if dice.roll(3) == 0 { "b" } else { "a" }, 1 + dice.roll(2) as usize);
            }
            2 => drop(world.claims.remove(&name)),
            3 | 4 if world.claims.contains_key(&name) => {
                if world.standing(&name).is_err() {
                    world.clear(&name);
                }
                if world.devices(&name).is_empty() {
                    world.schedule(&name, &node);
                }
            }
            5 => world.wait(i64::try_from(dice.roll(400_000)).expect("small")),
            6 => world.refresh(),
            _ => {
                if dice.roll(2) == 0 {
                    world.refresh();
                }
                for action in world.decision().actions {
                    world.fate =
                        [Fate::Good, Fate::Good, Fate::Refused, Fate::Unheard][dice.roll(4) as usize];
                    let is_act = matches!(action, FabricAction::Attach(_) | FabricAction::Detach(_));
                    world.take(action);
                    // Whoever acted looks before it decides again, and so does whoever begins anew.
                    if is_act || world.fate == Fate::Unheard {
                        world.refresh();
                    }
                    if world.fate == Fate::Unheard {
                        break;
                    }
                }
            }
        }
        check(&world, seed, turn);
    }
    world.fate = Fate::Good;
    world.claims.clear();
    for _ in 0..6 {
        world.settle();
        world.wait(1_900_000);
    }
    assert_eq!((world.attached(), world.ledger.len()), (vec!["by-hand".to_owned()], 1), "seed {seed}");
    assert_eq!(world.offered("rack.free.a").len(), 4, "seed {seed}");
}

fn check(world: &World, seed: u64, turn: u32) {
    let mut units = BTreeSet::new();
    let mut claims = BTreeSet::new();
    assert!(world.truth.units["by-hand"].attached.is_some(), "seed {seed}, turn {turn}: it is not ours");
    for entry in world.ledger.values() {
        assert!(
            units.insert(&entry.spec.unit),
            "seed {seed}, turn {turn}: {} is there twice",
            entry.spec.unit
        );
        if let Some(claim) = &entry.spec.claim
            && entry.status.phase != "Resting"
        {
            let is_new = claims.insert((&claim.uid, &claim.pool, &claim.device));
            assert!(is_new, "seed {seed}, turn {turn}: two devices for one: {claim:?}");
        }
    }
    for (host, at) in &world.truth.hosts {
        let count = world
            .truth
            .units
            .values()
            .filter(|unit| unit.attached.as_ref().is_some_and(|place| place.host == *host));
        assert!(count.count() <= 4, "seed {seed}, turn {turn}: {} has too many", at.name);
    }
    for (name, claim) in &world.claims {
        if world.standing(name) != Ok(true) {
            continue;
        }
        for device in claim.status.devices.iter().filter_map(|device| device.data.as_ref()) {
            let unit: serde_json::Value = serde_json::from_str(device.text()).expect("JSON");
            let unit = &world.truth.units[unit["unit"].as_str().expect("a name")];
            assert!(
                unit.attached.is_some(),
                "seed {seed}, turn {turn}: {name} is told that it has what it has not"
            );
        }
    }
}

#[test]
fn whatever_happens_nothing_is_attached_twice_or_forgotten() {
    (0..100).for_each(story);
}
