//! Claims for which a search by chance takes for ever: each is decided, with devices or by a proof that there are none.
//!
//! Some look as if there were enough, and only counting shows that there is not. Others have devices, but what comes first in the order
//! of devices leaves none for what comes later.

use model::claim::{Constraint, Request};
use model::device::Device;

use crate::expressions::Expressions;
use crate::solver::tests::{paired, shares, sharing};
use crate::worlds::{World, device, distinct, drawing, first_of, picking, request};
use crate::{AllocationAnswer, allocate};

/// How many steps it may take.
const STEPS_MAX: u64 = 100_000;

/// Whether there are devices for all claims.
#[track_caller]
fn check(world: &World, expected: bool) {
    let reply = world.ask(STEPS_MAX, |question| allocate(question, &mut Expressions::default()));
    let reply = reply.expect("it can be judged");
    let found = match &reply.answer {
        AllocationAnswer::Allocated(_) => Some(true),
        AllocationAnswer::Impossible(_) => Some(false),
        AllocationAnswer::BudgetSpent => None,
    };
    assert_eq!(found, Some(expected), "after {} steps", reply.steps);
}

/// Cards of eight slices each, with all their partitions of one slice and of three.
fn cards(count: i64) -> World {
    let of_card = |card: i64| {
        let partition = move |size: i64, at: i64| {
            let made = device(&format!("gpu-{card}-{size}-{at}"), &[("size", size)]);
            drawing(made, &format!("card-{card}"), size, &[])
        };
        (0..8).map(move |at| partition(1, at)).chain((0..2).map(move |at| partition(3, at)))
    };
    let world =
        (0..count).fold(World::default(), |world, card| world.counter_set(&format!("card-{card}"), 8));
    world.devices("gpu", (0..count).flat_map(of_card).collect::<Vec<_>>())
}

fn of_size(name: &str, size: i64, count: i64) -> Request {
    picking(request(name, "gpu", count), &format!("device.attributes[\"gpu\"].size == {size}"))
}

#[test]
fn sixteen_partitions_of_size_one_and_sixteen_of_size_three_fit_on_eight_cards() {
    check(&cards(8).claim([of_size("small", 1, 16), of_size("large", 3, 16)], []), true);
    let one_by_one = |size: i64| (0..16).map(move |at| of_size(&format!("of-{size}-{at}"), size, 1));
    check(&cards(8).claim(one_by_one(1).chain(one_by_one(3)), []), true);
    // A card with less is too much.
    check(&cards(7).claim([of_size("small", 1, 16), of_size("large", 3, 16)], []), false);
}

#[test]
fn twelve_and_sixteen_pairs_that_have_to_match_need_as_many_boards() {
    for pairs in [12, 16] {
        check(&paired(pairs, pairs as i64), true);
        check(&paired(pairs, pairs as i64 - 1), false);
    }
}

/// So many counter sets with six devices each. Any two of a set have a group in common, and no three.
fn pairwise(sets: usize) -> World {
    let on = |set: usize| {
        let one = move |at: usize| {
            let others = (0..6).filter(|other| *other != at);
            let groups: Vec<String> =
                others.map(|other| format!("g-{}-{}", at.min(other), at.max(other))).collect();
            let groups: Vec<&str> = groups.iter().map(|group| &**group).collect();
            let made = device(&format!("gpu-{set}-{at}"), &[("serial", (6 * set + at) as i64)]);
            drawing(made, &format!("set-{set}"), 1, &groups)
        };
        (0..6).map(one).collect::<Vec<Device>>()
    };
    let world = (0..sets).fold(World::default(), |world, set| world.counter_set(&format!("set-{set}"), 6));
    world.devices("gpu", (0..sets).flat_map(on).collect::<Vec<_>>())
}

#[test]
fn seventeen_of_forty_eight_devices_are_too_many_if_groups_let_two_of_each_set_run_together() {
    check(&pairwise(8).claim([request("all", "gpu", 17)], []), false);
    check(&pairwise(8).claim((0..17).map(|at| request(&format!("r{at}"), "gpu", 1)), []), false);
    check(&pairwise(8).claim([request("all", "gpu", 16)], []), true);
}

#[test]
fn shares_of_capacity_whose_sum_is_more_than_there_is_are_refused() {
    // Eight devices of 80 each: each share alone fits many times, and all together are one too many.
    let mut amounts: Vec<i64> = (0..32).map(|at| [25, 19, 17, 19][at % 4]).collect();
    amounts[31] += 1;
    assert_eq!(amounts.iter().sum::<i64>(), 641);
    check(&sharing(8, 80).claim(shares(&amounts), []), false);
    amounts[31] -= 1;
    check(&sharing(8, 80).claim(shares(&amounts), []), true);
}

#[test]
fn thirty_two_requests_with_eight_alternatives_each_do_not_fit_on_thirty_one_devices() {
    let request_of = |at: usize| {
        let listed = (0..8).map(|choice| {
            let left = (at + choice) % 8;
            let selector = format!("device.attributes[\"gpu\"].left % 8 == {left}");
            picking(request(&format!("s{choice}"), "gpu", 1), &selector)
        });
        first_of(&format!("r{at}"), listed.collect::<Vec<_>>())
    };
    let world = |devices: i64| World::default().devices("gpu", distinct("gpu", devices));
    let none: [Constraint; 0] = [];
    check(&world(31).claim((0..32).map(request_of), none.clone()), false);
    check(&world(32).claim((0..32).map(request_of), none), true);
}
