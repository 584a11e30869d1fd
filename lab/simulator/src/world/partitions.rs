//! Cards that are taken whole or in halves, which draw from the same counters; and in some worlds the compatibility groups that
//! say which halves go together.
//!
//! Invariant: where devices have groups, each of them has one, at any time. Which one it is changes for the second half of a card
//! whenever its node publishes anew, so that claims hold it with a group that it has no more.

use serde_json::{Value, json};

use super::setup::Groups;

/// How many cards a node has at most.
const CARDS_MAX: usize = 3;

/// The devices of so many cards.
pub(super) fn devices(count: usize, groups: Groups, generation: i64) -> Vec<Value> {
    let device = |name: String, card: usize, amount: &str, group: &str| {
        let mut draw =
            json!({ "counterSet": format!("card-{card}"), "counters": { "memory": { "value": amount } } });
        if groups != Groups::None {
            draw["compatibilityGroups"] = json!([group]);
        }
        json!({ "name": name, "consumesCounters": [draw] })
    };
    let wholes = (0..count).map(|card| device(format!("gpu-{card}"), card, "2Gi", "whole"));
    let second = ["mig", "vgpu"][usize::from(generation % 2 == 0)];
    let groups_of_halves: &[(usize, &str)] = match groups {
        Groups::None => &[(0, ""), (1, "")],
        Groups::Kept | Groups::Dropped => &[(0, "mig"), (2, "vgpu"), (1, second)],
    };
    let half =
        |card: usize, (at, group): (usize, &str)| device(format!("half-{card}-{at}"), card, "1Gi", group);
    let halves = (0..count).flat_map(|card| groups_of_halves.iter().map(move |one| (card, *one)));
    let halves = halves.map(|(card, one)| half(card, one));
    match groups {
        Groups::None => wholes.chain(halves).collect(),
        // The first device that fits is mostly taken, and the counters alone let any half follow a half.
        Groups::Kept | Groups::Dropped => halves.chain(wholes).collect(),
    }
}

/// What the devices of a node draw from.
pub(super) fn counter_sets() -> Value {
    let set =
        |card: usize| json!({ "name": format!("card-{card}"), "counters": { "memory": { "value": "2Gi" } } });
    (0..CARDS_MAX).map(set).collect()
}
