//! A random graph whose vertices are requests: neighbours must get devices of different colours, some must get the same size.

use super::dice::Dice;
use super::node::{self, claim, constraint, device, request, wanted};
use crate::instances::Instance;

/// As many constraints as a claim may have.
const CONSTRAINTS_MAX: usize = 32;

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let colours = dice.within(2, 8);
    let sizes = dice.within(1, 4);
    let count = (requests + dice.below(requests + 1) * dice.within(1, 15)).min(512);
    let devices: Vec<_> = (0..count)
        .map(|at| device(at, &[("colour", dice.below(colours)), ("size", dice.below(sizes))]))
        .collect();
    let asked = (0..requests).map(|at| {
        let first = dice.below(colours);
        let values: Vec<usize> = if dice.one_in(3) && colours > 2 {
            (0..colours).filter(|colour| *colour != first).collect()
        } else {
            Vec::new()
        };
        request(at, &wanted(1, "colour", &values))
    });
    let asked: Vec<_> = asked.collect();
    let mut rules = Vec::new();
    for _ in 0..dice.within(requests / 2, requests + 4).min(CONSTRAINTS_MAX) {
        let most = if dice.one_in(3) { (colours + 1).min(requests) } else { 3.min(requests) };
        let mut members: Vec<usize> = Vec::new();
        while members.len() < most {
            let member = dice.below(requests);
            if !members.contains(&member) {
                members.push(member);
            }
        }
        if dice.one_in(4) && sizes > 1 {
            rules.push(constraint("matchAttribute", "size", members.into_iter().take(2)));
        } else {
            let some = dice.within(2, most.max(2)).min(colours);
            rules.push(constraint("distinctAttribute", "colour", members.into_iter().take(some)));
        }
    }
    node::instance(&devices, &[], vec![claim(0, &asked, &rules)])
}
