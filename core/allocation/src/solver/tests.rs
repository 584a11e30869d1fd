//! Each aid is needed: without it, a question takes many times as many steps. And whatever is found is a solution.

use std::collections::BTreeMap;

use model::claim::{Constraint, Request, Rule};
use model::device::{CounterSet, Device, Draw};

use super::aids::{Aid, Aids};
use super::{Solver, Standing};
use crate::worlds::{
    World, amount, crossed, device, distinct, drawing, first_of, matching, picking, request, shareable,
    singles, taking,
};

impl World {
    /// How many steps the search for any solution takes, and whether it finds one; at most `budget`.
    fn any(&self, aids: Aids, budget: u64) -> (u64, Option<bool>) {
        let mut solver = Solver::with(&self.problem(), aids);
        let found = match solver.advance(budget, u64::MAX) {
            Standing::Found(_) => Some(true),
            Standing::Impossible(_) => Some(false),
            Standing::Open => None,
        };
        (solver.steps, found)
    }
}

/// With this aid and those that it builds on the answer takes at most `limit` steps; without it, more than ten times as many. With
/// all aids it is the same answer.
fn needs(aid: Aid, others: &[Aid], world: &World, limit: u64) {
    let with: Vec<Aid> = others.iter().copied().chain([aid]).collect();
    let (steps, found) = world.any(Aids::only(&with), limit * 10);
    assert!(found.is_some() && steps <= limit, "{steps} steps to {found:?}, and {limit} were expected");
    let (without, open) = world.any(Aids::only(others), limit * 10);
    assert!(open.is_none(), "without {aid:?} it takes {without} steps only, with it {steps}");
    let (all, same) = world.any(Aids::ALL, limit);
    assert!(same == found, "with all aids {all} steps to {same:?}, with one {found:?}");
}

/// Requests for shares of devices with memory.
pub(crate) fn shares(amounts: &[i64]) -> Vec<Request> {
    let share = |(at, amount): (usize, &i64)| taking(request(&format!("r{at}"), "gpu", 1), *amount);
    amounts.iter().enumerate().map(share).collect()
}

pub(crate) fn sharing(devices: i64, memory: i64) -> World {
    let gpu = |at: i64| shareable(device(&format!("gpu-{at}"), &[("serial", at)]), memory);
    World::default().devices("gpu", (0..devices).map(gpu))
}

#[test]
fn shares_that_add_up_to_more_than_there_is_are_refused_at_once() {
    let world = sharing(4, 10).claim(shares(&[5, 5, 5, 5, 5, 5, 5, 4, 2]), []);
    needs(Aid::Sums, &[], &world, 1);
}

#[test]
fn what_remains_over_on_several_devices_is_not_put_together() {
    // Whichever two of these are on a device, at least two units of its twelve are left over.
    let world = sharing(5, 12).claim(shares(&[5, 5, 5, 5, 5, 5, 5, 5, 5, 4, 4]), []);
    needs(Aid::Remainders, &[Aid::Sums], &world, 1);
}

#[test]
fn of_large_shares_it_is_counted_how_many_go_where() {
    // One of the large ones goes on each device. All of them together would fit, if they could be cut, and so would what can be
    // drawn of each device.
    let world = sharing(5, 17).claim(shares(&[9, 9, 9, 9, 9, 9, 3, 3, 3, 3, 2, 2, 2, 2, 2]), []);
    needs(Aid::Crowding, &[Aid::Sums], &world, 1);
}

/// Two cards with four slices on each of two switches. For a slice a device takes a lane of the first switch, or three of the second.
fn switched() -> World {
    let counter = |name: &str, value: i64| BTreeMap::from([(name.into(), amount(value))]);
    let mut world = World::default();
    for (switch, lanes, for_slice) in [(0, 20, 1), (1, 6, 3)] {
        let name = format!("switch-{switch}");
        world.counters.push(CounterSet { name: name.as_str().into(), counters: counter("lanes", lanes) });
        for card in 0..2 {
            let set = format!("card-{switch}-{card}");
            let part = |at: i64| {
                let made = device(&format!("{set}-{at}"), &[("serial", 100 * switch + 10 * card + at)]);
                let mut made = drawing(made, &set, 1, &[]);
                let counters = counter("lanes", for_slice);
                made.draws.push(Draw { counter_set: name.as_str().into(), counters, groups: Vec::new() });
                made
            };
            let parts: Vec<Device> = (0..4).map(part).collect();
            world = world.counter_set(&set, 4).devices("gpu", parts);
        }
    }
    world
}

#[test]
fn slices_of_cards_are_counted_as_far_as_their_switch_has_lanes() {
    needs(Aid::Coupling, &[Aid::Sums], &switched().claim(singles("gpu", 11), []), 1);
    let (steps, found) = switched().claim(singles("gpu", 10), []).any(Aids::ALL, 100);
    assert_eq!(found, Some(true), "after {steps} steps");
}

#[test]
fn alternatives_that_all_need_the_same_devices_are_counted_together() {
    let either = |at: i64| {
        let first = picking(request("odd", "gpu", 1), "device.attributes[\"gpu\"].left % 2 == 1");
        let other = picking(request("low", "gpu", 1), "device.attributes[\"gpu\"].left < 103");
        first_of(&format!("r{at}"), [first, other])
    };
    let world = World::default().devices("gpu", distinct("gpu", 9));
    needs(Aid::Pairing, &[], &world.claim((0..7).map(either), []), 1);
}

/// Six counter sets with four devices each, of which two and two are of a group.
fn grouped() -> World {
    let on = |set: usize| {
        let part = move |at: i64| {
            let name = format!("gpu-{set}-{at}");
            let group = if at < 2 { "mig" } else { "vgpu" };
            let serial = device(&name, &[("serial", at + 4 * set as i64)]);
            drawing(serial, &format!("set-{set}"), 1, &[group])
        };
        (0..4).map(part).collect::<Vec<Device>>()
    };
    let world = (0..6).fold(World::default(), |world, set| world.counter_set(&format!("set-{set}"), 9));
    world.devices("gpu", (0..6).flat_map(on))
}

#[test]
fn of_the_groups_on_a_counter_set_one_is_counted() {
    needs(Aid::Seats, &[Aid::Pairing], &grouped().claim([request("many", "gpu", 13)], []), 1);
}

/// A GPU and a NIC for each pair, on boards that have two of one and one of the other.
pub(crate) fn paired(pairs: usize, boards: i64) -> World {
    let two = |board: i64, of: i64| (0..of).map(move |at| (board, at));
    let named = |kind: &str, (board, at): (i64, i64)| {
        let mut made = device(&format!("{kind}-{board}-{at}"), &[("serial", 10 * board + at)]);
        let value = model::device::Attribute::Int(board);
        made.attributes.insert("x/board".into(), value);
        made
    };
    let gpus: Vec<Device> =
        (0..boards).flat_map(|board| two(board, 1 + board % 2)).map(|at| named("gpu", at)).collect();
    let nics: Vec<Device> =
        (0..boards).flat_map(|board| two(board, 2 - board % 2)).map(|at| named("nic", at)).collect();
    let names = |pair: usize| [format!("gpu-{pair}"), format!("nic-{pair}")];
    let requests = (0..pairs).flat_map(|pair| {
        let [gpu, nic] = names(pair);
        [request(&gpu, "gpu", 1), request(&nic, "nic", 1)]
    });
    let tie = |pair: usize| Constraint {
        requests: names(pair).iter().map(|name| name.as_str().into()).collect(),
        rule: Rule::Match("x/board".into()),
    };
    let world = World::default().devices("gpu", gpus).devices("nic", nics);
    world.claim(requests.collect::<Vec<_>>(), (0..pairs).map(tie).collect::<Vec<_>>())
}

#[test]
fn what_is_refuted_for_one_pair_is_refuted_for_all_that_are_like_it() {
    needs(Aid::AlikeRequests, &[Aid::Pairing, Aid::Match], &paired(9, 8), 400);
}

#[test]
fn a_value_that_not_all_can_have_is_seen_before_a_device_is_chosen() {
    let gpus = (0..60).map(|at| device(&format!("gpu-{at}"), &[("numa", at / 3)]));
    let world =
        World::default().devices("gpu", gpus).claim([request("four", "gpu", 4)], [matching("gpu/numa")]);
    needs(Aid::Match, &[], &world, 1);
}

#[test]
fn devices_that_must_differ_need_as_many_values() {
    let gpus = (0..12).map(|at| device(&format!("gpu-{at}"), &[("rail", at / 3), ("serial", at)]));
    let rule = |attribute: &str| Constraint { requests: Vec::new(), rule: Rule::Distinct(attribute.into()) };
    let world = World::default().devices("gpu", gpus);
    let world = world.claim(singles("gpu", 5), [rule("gpu/rail"), rule("gpu/serial")]);
    needs(Aid::Distinct, &[], &world, 1);
}

/// A claim that nothing but trying shows to be impossible.
fn contradiction(world: World) -> World {
    let constraints = [matching("nic/left"), matching("nic/right")];
    world.devices("nic", crossed()).claim([request("pair", "nic", 2)], constraints)
}

#[test]
fn what_is_refuted_for_a_device_is_refuted_for_its_equals() {
    let gpus = (0..3).map(|at| device(&format!("gpu-{at}"), &[]));
    let world = contradiction(World::default().devices("gpu", gpus).claim(singles("gpu", 2), []));
    let (steps, found) = world.any(Aids::only(&[Aid::EqualDevices]), 1_000);
    let (without, same) = world.any(Aids::only(&[]), 1_000);
    assert_eq!((found, same), (Some(false), Some(false)));
    assert!(steps < without, "{steps} steps with it, {without} without");
}

#[test]
fn states_that_failed_are_not_tried_again() {
    let world = sharing(4, 20).claim(shares(&[9, 9, 9, 9, 7, 7, 7, 5, 5, 5, 5, 3]), []);
    let (steps, found) = world.any(Aids::only(&[Aid::FailedStates]), 100_000);
    let (without, _) = world.any(Aids::only(&[]), 100_000);
    assert!(found.is_some() && steps * 3 < without, "{steps} steps to {found:?} with it, {without} without");
}

#[test]
fn pairs_that_a_first_choice_would_break_are_found() {
    let (steps, found) = paired(8, 8).any(Aids::ALL, 100);
    assert_eq!(found, Some(true), "after {steps} steps");
}
