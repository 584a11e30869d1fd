//! Devices that share counters only with devices of the same compatibility group: how many go together is a matter of choosing
//! a group for each counter set.

use serde_json::{Value, json};

use super::dice::Dice;
use super::node::{self, claim, counter_set, device, draw, request, wanted};
use crate::instances::Instance;

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let sets = dice.within(1, 8);
    let groups = dice.within(2, 6);
    let kinds = dice.within(1, 3);
    let on_set = dice.within(3, 8) * requests.div_ceil(8).min(4);
    let two_sets = dice.one_in(4);
    let room = dice.within(2, 12);
    let mut devices: Vec<Value> = Vec::new();
    let mut most = 0;
    for set in 0..sets {
        let mut in_group = vec![0; groups];
        for _ in 0..on_set {
            let first = dice.below(groups);
            let mut named = vec![first];
            if dice.one_in(2) {
                let other = dice.below(groups);
                if other != first {
                    named.push(other);
                }
            }
            named.iter().for_each(|group| in_group[*group] += 1);
            let named: Vec<String> = named.iter().map(|group| format!("g{group}")).collect();
            let mut made = device(devices.len(), &[("kind", dice.below(kinds)), ("set", set)]);
            let mut draws = vec![draw(set, &[("units", 1)], &named)];
            let other = dice.below(sets);
            if two_sets && other != set && dice.one_in(3) {
                draws.push(draw(other, &[("units", 1)], &named));
            }
            made["consumesCounters"] = json!(draws);
            devices.push(made);
        }
        most += in_group.iter().copied().max().unwrap_or_default().min(room);
    }
    let count = (most + dice.below(3)).saturating_sub(1).clamp(1, requests);
    let at_once = kinds == 1 && dice.one_in(2);
    let mut one = |at: usize| {
        let kind = dice.below(kinds);
        let values: Vec<usize> = if dice.one_in(2) { (0..kinds).collect() } else { vec![kind] };
        request(at, &wanted(1, "kind", &values))
    };
    let asked = if at_once {
        vec![request(0, &wanted(count, "kind", &[0]))]
    } else {
        (0..count).map(&mut one).collect()
    };
    let sets = (0..sets).map(|set| counter_set(set, &[("units", room)]));
    node::instance(&devices, &sets.collect::<Vec<_>>(), vec![claim(0, &asked, &[])])
}
