//! Gangs with claims that drivers' own controllers give devices: members are negotiated about one by one, and bound together.

use decisions::settings::Settings;
use gates::{Gate, Gates};
use scheduler::engine::Engine;
use scheduler::write::Write;

use crate::gangs::{group, member};
use crate::negotiation::{DRIVER, class, lent, negotiating};
use crate::world::{World, claim_id, node, settings};

/// A gang of which two are placed at once, with nodes a and b, after drivers were asked.
fn with_gang(members: &[&str], cpu_milli: i64) -> World {
    let mut world = negotiating();
    let gates =
        Gates::default().with(Gate::DRAControlPlaneController, true).with(Gate::GenericWorkload, true);
    world.engine = Engine::new(Settings { gates, ..settings() });
    world.fact(class("lent", DRIVER, None));
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world.fact(group(2, &[]));
    for name in members {
        world.add_claim(lent(name));
        world.add_pod(member(name, cpu_milli, &[name]));
    }
    world.settle();
    world
}

#[test]
fn members_of_a_gang_are_negotiated_about_one_by_one_and_bound_together() {
    let mut world = with_gang(&["x", "y"], 600);
    let seats = [world.selected("x").map(str::to_owned), world.selected("y").map(str::to_owned)];
    let [Some(first), Some(second)] = seats else { panic!("both are asked about: {seats:?}") };
    assert_ne!(first, second, "there is no room for both on one node");
    world.give("x", DRIVER, Some(&first), &["x"]);
    world.settle();
    assert_eq!((world.node_of("x"), world.node_of("y")), (None, None), "one is not enough");
    world.give("y", DRIVER, Some(&second), &["y"]);
    world.settle();
    assert_eq!((world.node_of("x"), world.node_of("y")), (Some(first), Some(second)));
    assert!(world.contexts.is_empty());
}

#[test]
fn a_gang_that_has_no_seats_asks_back_what_its_members_were_given() {
    let mut world = with_gang(&["x", "y"], 600);
    let first = world.selected("x").expect("chosen").to_owned();
    world.give("x", DRIVER, Some(&first), &["x"]);
    world.settle();
    // The other can be had nowhere.
    world.answer("y", "y", &["a", "b"]);
    world.settle();
    let given = &world.claims[&claim_id("x")];
    assert!(given.control.leaving && given.reserved_for.is_empty(), "{given:?}");
    assert_eq!(world.selected("x"), None);
}

#[test]
fn what_a_member_was_given_for_several_claims_is_asked_back_with_one_word_to_drivers() {
    let mut world = with_gang(&["y"], 600);
    let claims = ["c0", "c1", "c2"];
    claims.iter().for_each(|name| world.add_claim(lent(name)));
    world.add_pod(member("x", 600, &claims));
    world.settle();
    claims.iter().for_each(|name| world.answer("x", name, &[]));
    world.settle();
    let chosen = world.selected("x").expect("chosen").to_owned();
    claims.iter().for_each(|name| world.give(name, DRIVER, Some(&chosen), &["x"]));
    world.settle();
    // The other can be had nowhere.
    world.answer("y", "y", &["a", "b"]);
    world.turn();
    let is_about_x =
        |(_, write): &&(_, Write)| matches!(write, Write::Negotiate { pod, .. } if &*pod.name == "x");
    assert_eq!(world.open.iter().filter(is_about_x).count(), 1, "{:?}", world.open);
    world.settle();
    for name in claims {
        let given = &world.claims[&claim_id(name)];
        assert!(given.control.leaving && given.reserved_for.is_empty(), "{given:?}");
    }
    assert_eq!(world.selected("x"), None);
}

#[test]
fn a_gang_that_has_become_too_small_gives_back_what_its_members_were_given() {
    let mut world = with_gang(&["x", "y"], 600);
    let chosen = world.selected("x").expect("chosen").to_owned();
    world.give("x", DRIVER, Some(&chosen), &["x"]);
    world.settle();
    world.remove_pod("y");
    world.settle();
    let given = &world.claims[&claim_id("x")];
    assert!(given.control.leaving && given.reserved_for.is_empty(), "{given:?}");
    assert_eq!(world.selected("x"), None);
    // A driver that did not hear of it in time gives it something once more.
    world.take_back("x");
    world.give("x", DRIVER, Some(&chosen), &["x"]);
    world.settle();
    assert!(world.claims[&claim_id("x")].control.leaving, "it is held back, and holds nothing");
    world.take_back("x");
    world.add_pod(member("z", 600, &[]));
    world.settle();
    assert!(world.selected("x").is_some(), "they are enough again");
}

#[test]
fn enough_members_of_a_gang_go_on_without_one_whose_driver_says_nothing() {
    let mut world = with_gang(&["x", "y", "z"], 300);
    let third = world.selected("z").expect("chosen").to_owned();
    for name in ["x", "y"] {
        let chosen = world.selected(name).expect("chosen").to_owned();
        world.give(name, DRIVER, Some(&chosen), &[name]);
        world.settle();
    }
    assert!(world.node_of("x").is_some() && world.node_of("y").is_some(), "{:?}", world.told);
    world.later(30);
    world.settle();
    assert_eq!(
        world.selected("z"),
        Some(&*third),
        "drivers are asked for the third one still: {:?}",
        world.told
    );
    world.give("z", DRIVER, Some(&third), &["z"]);
    world.settle();
    assert_eq!(world.node_of("z"), Some(third));
}

#[test]
fn a_gang_goes_without_a_member_whose_driver_says_nothing_if_another_can_take_its_place() {
    let mut world = with_gang(&["x", "y", "z"], 600);
    let asked: Vec<&str> =
        ["x", "y", "z"].into_iter().filter(|name| world.selected(name).is_some()).collect();
    let [first, silent] = asked[..] else { panic!("there is room for two: {asked:?}") };
    let spare = ["x", "y", "z"].into_iter().find(|name| !asked.contains(name)).expect("one of three");
    let mut rounds = 0;
    for _ in 0..200 {
        for name in [first, spare] {
            if let Some(chosen) = world.selected(name).map(str::to_owned) {
                world.give(name, DRIVER, Some(&chosen), &[name]);
                world.settle();
            }
        }
        for name in [first, spare] {
            if world.claims[&claim_id(name)].control.leaving {
                world.take_back(name);
                world.settle();
                rounds += 1;
            }
        }
        world.later(1);
        world.settle();
    }
    let seats = [first, silent, spare].map(|name| world.node_of(name));
    assert!(seats[0].is_some() && seats[2].is_some(), "{seats:?} after {rounds} rounds: {:?}", world.told);
    assert!((1..4).contains(&rounds), "it waits for drivers for some time: {rounds}");
}

#[test]
fn a_gang_that_can_do_without_no_member_waits_for_a_slow_driver() {
    let mut world = with_gang(&["x", "y"], 600);
    let chosen = world.selected("x").expect("chosen").to_owned();
    world.give("x", DRIVER, Some(&chosen), &["x"]);
    for _ in 0..100 {
        world.later(10);
        world.settle();
        assert!(!world.claims[&claim_id("x")].control.leaving, "{:?}", world.told);
    }
    let other = world.selected("y").expect("chosen").to_owned();
    world.give("y", DRIVER, Some(&other), &["y"]);
    world.settle();
    assert!(world.node_of("x").is_some() && world.node_of("y").is_some(), "{:?}", world.told);
}

#[test]
fn a_member_of_a_gang_keeps_the_node_that_was_chosen_for_it() {
    let mut world = with_gang(&["x", "y"], 300);
    let chosen = world.selected("y").expect("chosen").to_owned();
    // There is a better node by now.
    world.fact(node("c", 9_000));
    world.answer("x", "x", &[]);
    world.settle();
    assert_eq!(world.selected("y"), Some(&*chosen));
}

#[test]
fn nothing_is_chosen_for_a_gang_that_has_no_seats() {
    let mut world = with_gang(&["x", "y"], 600);
    world.answer("x", "x", &["a", "b"]);
    world.settle();
    assert_eq!((world.selected("x"), world.selected("y")), (None, None));
}

#[test]
fn what_a_driver_gave_at_once_is_not_asked_back_for_a_gang_either() {
    let mut world = with_gang(&["y"], 300);
    let mut immediate = lent("x");
    immediate.control.immediate = true;
    world.add_claim(immediate);
    world.give("x", DRIVER, Some("elsewhere"), &[]);
    world.add_pod(member("x", 300, &["x"]));
    world.settle();
    let last = world.told.last().expect("refused").clone();
    assert!(last.contains("resourceclaim not available on the node"), "{last}");
    assert!(!world.claims[&claim_id("x")].control.leaving);
}

/// A driver that would have each of two members on any node, but not both: not even if the first one is on this node.
fn play_round(world: &mut World, in_vain: Option<&str>) {
    let Some(first) = world.selected("x").map(str::to_owned) else { return };
    world.give("x", DRIVER, Some(&first), &["x"]);
    world.settle();
    if in_vain.is_none_or(|node| node == first) {
        world.answer("y", "y", &["a", "b"]);
        world.settle();
        world.take_back("x");
        world.answer("y", "y", &[]);
        world.settle();
    } else if let Some(second) = world.selected("y").map(str::to_owned) {
        world.give("y", DRIVER, Some(&second), &["y"]);
        world.settle();
    }
}

#[test]
fn a_gang_whose_negotiation_failed_rests_before_the_next_and_ever_longer() {
    let mut world = with_gang(&["x", "y"], 300);
    let mut rounds = 0;
    for _ in 0..600 {
        if world.selected("x").is_some() {
            rounds += 1;
            play_round(&mut world, None);
            assert_eq!(world.selected("x"), None, "not at once");
        }
        world.later(1);
        world.settle();
    }
    assert!((10..40).contains(&rounds), "{rounds} rounds in ten minutes");
    assert!(world.claims[&claim_id("x")].allocation.is_none(), "it holds nothing meanwhile");
}

#[test]
fn who_rests_gives_back_what_somebody_gives_it_late() {
    let mut world = with_gang(&["x", "y"], 300);
    play_round(&mut world, None);
    world.give("x", DRIVER, Some("a"), &["x"]);
    world.settle();
    assert!(world.claims[&claim_id("x")].control.leaving);
}

#[test]
fn other_nodes_are_tried_for_members_that_cannot_have_those_that_seem_best() {
    for in_vain in ["a", "b"] {
        let mut world = with_gang(&["x", "y"], 300);
        for _ in 0..120 {
            play_round(&mut world, Some(in_vain));
            world.later(1);
            world.settle();
        }
        assert!(world.node_of("x").is_some_and(|node| node != in_vain), "{:?}", world.told.last());
        assert!(world.node_of("y").is_some());
    }
}

#[test]
fn a_member_makes_room_for_another_that_has_one_node_only() {
    // Of what is best one of these does at once. The other has to be found.
    for only in ["a", "b"] {
        let mut world = with_gang(&["x", "y"], 300);
        for _ in 0..120 {
            let away = if only == "a" { "b" } else { "a" };
            if world.selected("y").is_some() {
                world.answer("y", "y", &[away]);
                world.settle();
            }
            // The first one takes what the other needs.
            play_round(&mut world, Some(only));
            world.later(1);
            world.settle();
        }
        assert_eq!(world.node_of("y").as_deref(), Some(only), "{:?}", world.told.last());
        assert!(world.node_of("x").is_some_and(|node| node != only));
    }
}

#[test]
fn a_gang_goes_without_a_member_that_would_be_given_what_the_others_need() {
    let mut world = with_gang(&["x", "y", "z"], 200);
    for _ in 0..120 {
        // The driver serves this member first, and has nothing left for others then.
        if let Some(node) = world.selected("z").map(str::to_owned) {
            world.give("z", DRIVER, Some(&node), &["z"]);
            world.settle();
            ["x", "y"].iter().for_each(|name| world.answer(name, name, &["a", "b"]));
            world.settle();
            if world.claims[&claim_id("z")].control.leaving {
                world.take_back("z");
            }
            ["x", "y"].iter().for_each(|name| world.answer(name, name, &[]));
            world.settle();
        } else {
            for name in ["x", "y"] {
                if let Some(node) = world.selected(name).map(str::to_owned) {
                    world.give(name, DRIVER, Some(&node), &[name]);
                    world.answer("z", "z", &["a", "b"]);
                    world.settle();
                }
            }
        }
        world.later(1);
        world.settle();
    }
    assert!(world.node_of("x").is_some() && world.node_of("y").is_some(), "{:?}", world.told.last());
}
