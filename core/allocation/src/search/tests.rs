//! Each way to skip branches is needed: without it, a question takes many times as many steps.

use model::claim::{Amount, Constraint, Rule, Wish};
use model::device::{CounterSet, Device, DeviceId, Draw};

use super::cuts::{Cut, Cuts};
use super::{Miss, Outcome, Search};
use crate::worlds::{World, crossed, device, distinct, drawing, matching, picking, places, request, singles};

impl World {
    /// How many steps a search takes, and whether it finds devices; at most `budget`.
    fn steps(&self, cuts: Cuts, budget: u64) -> (u64, Option<bool>) {
        let (steps, outcome, _) = self.search(cuts, budget);
        (steps, outcome)
    }

    /// The request that goes short, and how many devices it could have.
    fn short(&self, cuts: Cuts) -> Option<(String, usize)> {
        self.search(cuts, 10).2
    }

    /// The steps, whether devices were found, and which request went short.
    fn search(&self, cuts: Cuts, budget: u64) -> (u64, Option<bool>, Option<(String, usize)>) {
        let problem = self.problem();
        let mut search = Search::with(problem.clone(), cuts);
        let named = |miss: Miss| (problem.alternatives[miss.alternative].name.to_string(), miss.found);
        let (found, short) = match search.advance(budget, u64::MAX) {
            Some(Outcome::Found(_)) => (Some(true), None),
            Some(Outcome::Impossible(miss)) => (Some(false), miss.map(named)),
            Some(Outcome::Spent) | None => (None, None),
            Some(Outcome::Fault(error)) => panic!("no device ends the search: {error}"),
        };
        (search.steps, found, short)
    }
}

/// With this cut and those that it builds on the answer takes at most `limit` steps; without it, more than ten times as
/// many. With all cuts it is the same answer.
fn needs(cut: Cut, others: &[Cut], world: &World, limit: u64) {
    let with: Vec<Cut> = others.iter().copied().chain([cut]).collect();
    let (steps, found) = world.steps(Cuts::only(&with), limit * 10);
    assert!(found.is_some() && steps <= limit, "{steps} steps to {found:?}, and {limit} were expected");
    let (without, open) = world.steps(Cuts::only(others), limit * 10);
    assert!(open.is_none(), "without {cut:?} it takes {without} steps only, with it {steps}");
    let (all, same) = world.steps(Cuts::ALL, limit);
    assert!(same == found, "with all cuts {all} steps to {same:?}, with one {found:?}");
}

/// A claim that nothing but trying shows to be impossible.
fn hidden_contradiction(world: World) -> World {
    let constraints = [matching("nic/left"), matching("nic/right")];
    world.devices("nic", crossed()).claim([request("pair", "nic", 2)], constraints)
}

#[test]
fn states_that_failed_are_not_tried_again() {
    // The devices differ in what the last claim compares, so the order in which the others take them seems to matter.
    let mut gpus = distinct("gpu", 7);
    gpus.iter_mut().for_each(|gpu| {
        gpu.attributes = gpu
            .attributes
            .iter()
            .map(|(name, value)| (format!("nic/{name}").into(), value.clone()))
            .collect();
    });
    let world = World::default().devices("gpu", gpus).claim(singles("gpu", 5), []);
    needs(Cut::FailedStates, &[], &hidden_contradiction(world), 850);
}

#[test]
fn one_of_equal_devices_stands_for_all() {
    let gpus = (0..40).map(|at| device(&format!("gpu-{at}"), &[]));
    let world = World::default().devices("gpu", gpus).claim(singles("gpu", 5), []);
    needs(Cut::EqualDevices, &[], &hidden_contradiction(world), 15);
}

#[test]
fn one_of_equal_counter_sets_stands_for_all() {
    let partition = |set: usize| {
        let set = format!("gpu-{set}");
        let part = |at: i64| drawing(device(&format!("{set}-part-{at}"), &[]), &set, 1, &[]);
        (0..2).map(part).collect::<Vec<_>>()
    };
    let world = (0..12).fold(World::default(), |world, set| world.counter_set(&format!("gpu-{set}"), 4));
    let world = world.devices("gpu", (0..12).flat_map(partition)).claim(singles("gpu", 4), []);
    needs(Cut::EqualSets, &[Cut::EqualDevices], &hidden_contradiction(world), 50);
}

#[test]
fn a_request_without_candidates_is_seen_from_afar() {
    let world = World::default().devices("gpu", distinct("gpu", 8)).devices("nic", crossed());
    let far = picking(request("far", "nic", 1), "device.attributes[\"nic\"].left == 7");
    let claims = world.claim(singles("gpu", 6), []).claim([far], []);
    needs(Cut::Candidates, &[], &claims, 1);
}

#[test]
fn requests_that_need_the_same_devices_are_counted_together() {
    let world = World::default().devices("gpu", distinct("gpu", 9));
    needs(Cut::Together, &[], &world.claim(singles("gpu", 10), []), 1);
}

#[test]
fn a_value_that_too_few_devices_have_is_seen_before_one_is_taken() {
    let gpus = (0..60).map(|at| device(&format!("gpu-{at}"), &[("numa", at / 3)]));
    let world =
        World::default().devices("gpu", gpus).claim([request("four", "gpu", 4)], [matching("gpu/numa")]);
    needs(Cut::Match, &[], &world, 1);
}

#[test]
fn devices_that_must_differ_need_as_many_values() {
    let gpus = (0..12).map(|at| device(&format!("gpu-{at}"), &[("rail", at / 3), ("serial", at)]));
    let rule = Rule::Distinct("gpu/rail".into());
    let unlike = Constraint { requests: vec!["five".into()], rule };
    let serial = Constraint { requests: vec!["five".into()], rule: Rule::Distinct("gpu/serial".into()) };
    let world = World::default().devices("gpu", gpus).claim([request("five", "gpu", 5)], [unlike, serial]);
    needs(Cut::Distinct, &[], &world, 1);
}

/// Three sets with seven partitions each, of which five fit.
fn crowded() -> World {
    let partition = |set: usize| {
        let set = format!("gpu-{set}");
        let part = |at: i64| drawing(device(&format!("{set}-part-{at}"), &[("serial", at)]), &set, 1, &[]);
        (0..7).map(part).collect::<Vec<_>>()
    };
    let world = (0..3).fold(World::default(), |world, set| world.counter_set(&format!("gpu-{set}"), 5));
    world.devices("gpu", (0..3).flat_map(partition))
}

#[test]
fn counters_bound_how_many_devices_fit() {
    let world = crowded().claim([request("many", "gpu", 16)], []);
    needs(Cut::Counters, &[], &world, 1);
}

#[test]
fn counters_bound_all_requests_together() {
    let world = crowded().claim((0..4).map(|at| request(&format!("r{at}"), "gpu", 4)), []);
    needs(Cut::Pools, &[], &world, 1);
}

#[test]
fn what_no_wanted_device_draws_on_is_of_no_use() {
    let world = crowded().counter_set("idle", 100);
    let world = world.claim((0..4).map(|at| request(&format!("r{at}"), "gpu", 4)), []);
    needs(Cut::Pools, &[], &world, 1);
}

/// Three sets of five slices. A partition draws two, so that two fit on each and one slice is left over.
fn with_remainders() -> World {
    let partition = |set: usize| {
        let set = format!("gpu-{set}");
        let part = |at: i64| drawing(device(&format!("{set}-part-{at}"), &[("serial", at)]), &set, 2, &[]);
        (0..5).map(part).collect::<Vec<_>>()
    };
    let world = (0..3).fold(World::default(), |world, set| world.counter_set(&format!("gpu-{set}"), 5));
    let world = world.devices("gpu", (0..3).flat_map(partition));
    world.claim([request("four", "gpu", 4), request("three", "gpu", 3)], [])
}

#[test]
fn what_is_left_over_in_several_sets_is_not_put_together() {
    needs(Cut::Sets, &[Cut::Counters, Cut::Pools], &with_remainders(), 1);
}

/// Three sets of four places each, which halves and quarters take. No counter is drawn on by all devices of a size.
fn in_places() -> World {
    let partitions = |set: usize| {
        let part = move |size: i64, at: i64| {
            let mut part = device(&format!("gpu-{set}-{size}-{at}"), &[("size", size)]);
            let counter_set = format!("gpu-{set}").into();
            part.draws.push(Draw { counter_set, counters: places(at..at + size), groups: Vec::new() });
            part
        };
        [part(2, 0), part(2, 2)].into_iter().chain((0..4).map(move |at| part(1, at)))
    };
    let mut world = World::default().devices("gpu", (0..3).flat_map(partitions));
    let set = |set: usize| CounterSet { name: format!("gpu-{set}").into(), counters: places(0..4) };
    world.counters.extend((0..3).map(set));
    let of = |name: &str, size: i64, count: i64| {
        picking(request(name, "gpu", count), &format!("device.attributes[\"gpu\"].size == {size}"))
    };
    world.claim([of("halves", 2, 4), of("quarters", 1, 5)], [])
}

#[test]
fn counters_with_room_for_one_device_are_counted_as_places() {
    needs(Cut::Places, &[Cut::Counters, Cut::Sets, Cut::Pools], &in_places(), 1);
}

#[test]
fn the_request_that_goes_short_of_counters_is_told_with_what_it_could_have() {
    let check = |cut: Cut, world: &World, name: &str, found: usize| {
        assert_eq!(world.short(Cuts::only(&[cut])), Some((name.to_owned(), found)), "{cut:?}");
    };
    check(Cut::Sets, &with_remainders(), "three", 2);
    check(Cut::Places, &in_places(), "quarters", 4);
    let each_four = crowded().claim((0..4).map(|at| request(&format!("r{at}"), "gpu", 4)), []);
    check(Cut::Pools, &each_four, "r3", 3);
    check(Cut::Sets, &each_four, "r3", 3);
}

/// A claim for the first of two devices, for some others that do not matter, and for the second.
fn around_others(first: Device, second: Device) -> World {
    let of = |name: &str, part: i64| {
        picking(request(name, "gpu", 1), &format!("device.attributes[\"gpu\"].part == {part}"))
    };
    let requests = [of("first", 0)].into_iter().chain(singles("nic", 5)).chain([of("second", 1)]);
    let world = World::default().counter_set("card", 2).devices("gpu", [first, second]);
    world.devices("nic", distinct("nic", 8)).claim(requests, [])
}

#[test]
fn counters_that_are_spent_close_their_devices() {
    let whole = drawing(device("whole", &[("part", 0)]), "card", 2, &[]);
    let half = drawing(device("half", &[("part", 1)]), "card", 1, &[]);
    needs(Cut::Left, &[Cut::Candidates], &around_others(whole, half), 3);
}

#[test]
fn groups_that_hold_a_set_close_other_devices() {
    let mig = drawing(device("mig", &[("part", 0)]), "card", 1, &["mig"]);
    let vgpu = drawing(device("vgpu", &[("part", 1)]), "card", 1, &["vgpu"]);
    needs(Cut::Groups, &[Cut::Candidates], &around_others(mig, vgpu), 3);
}

#[test]
fn a_device_that_would_make_room_by_being_taken_is_not_given() {
    let odd = drawing(device("odd", &[]), "card", -1, &[]);
    let world = World::default().counter_set("card", 2).devices("gpu", [odd]);
    assert_eq!(world.claim(singles("gpu", 1), []).steps(Cuts::ALL, 10).1, Some(false));
}

#[test]
fn devices_that_are_left_out_are_not_given_and_draw_nothing() {
    let id = |name: &str| DeviceId { driver: "gpu".into(), pool: "pool".into(), device: name.into() };
    let without = |names: &[&str]| Constraint {
        requests: Vec::new(),
        rule: Rule::Without(names.iter().map(|name| id(name)).collect()),
    };
    let parts = || {
        let whole = drawing(device("whole", &[]), "set", 2, &[]);
        let halves = ["left", "right"].map(|name| drawing(device(name, &[]), "set", 1, &[]));
        World::default().counter_set("set", 2).devices("gpu", [whole]).devices("gpu", halves)
    };
    let found = |world: World| world.steps(Cuts::ALL, 100).1;
    // What is left out would have taken all of the counter if it were held.
    assert_eq!(found(parts().claim([request("two", "gpu", 2)], [without(&["whole"])])), Some(true));
    assert_eq!(found(parts().claim([request("two", "gpu", 2)], [without(&["whole", "left"])])), Some(false));
    let all = |names: &[&str]| {
        let mut all = request("all", "gpu", 0);
        if let Wish::Exactly(ask) = &mut all.wish {
            ask.amount = Amount::All;
        }
        let cards = [device("a", &[]), device("b", &[])];
        World::default().devices("gpu", cards).claim([all], [without(names)])
    };
    assert_eq!(found(all(&["c"])), Some(true));
    assert_eq!(found(all(&["b"])), Some(false), "who wants all wants this one too");
}
