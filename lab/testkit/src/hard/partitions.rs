//! Partitions of devices that share counters: what is asked for fills the counters nearly, exactly, or a little more.
//!
//! Some devices are cut into amounts, others into places as well, so that a partition needs certain neighbouring slices.

use serde_json::{Value, json};

use super::dice::Dice;
use super::node::{self, claim, counter_set, device, draw, request, wanted};
use crate::instances::Instance;

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let slices = dice.within(5, 8);
    let in_places = dice.one_in(3);
    let second = dice.one_in(2);
    let mut sizes: Vec<usize> = (1..=slices.div_ceil(2)).collect();
    while sizes.len() > 4 {
        sizes.remove(dice.below(sizes.len()));
    }
    let memory = |size: usize| 2 * size + size % 2;
    let mut asked: Vec<usize> = (0..requests).map(|_| sizes[dice.below(sizes.len())]).collect();
    if dice.one_in(2) {
        asked.sort_unstable();
    }
    let total: usize = asked.iter().sum();
    let gpus = (total.div_ceil(slices) + dice.below(2)).clamp(1, 32);
    let mut devices: Vec<Value> = Vec::new();
    for gpu in 0..gpus {
        for size in &sizes {
            let copies = if in_places { slices / size } else { (slices / size).min(4) };
            for copy in 0..copies {
                let mut made = device(devices.len(), &[("size", *size), ("gpu", gpu)]);
                let mut amounts = vec![("slices", *size)];
                if second {
                    amounts.push(("memory", memory(*size)));
                }
                let names: Vec<String> = (0..*size).map(|at| format!("place-{}", copy * size + at)).collect();
                if in_places {
                    amounts.extend(names.iter().map(|name| (name.as_str(), 1)));
                }
                made["consumesCounters"] = json!([draw(gpu, &amounts, &[])]);
                devices.push(made);
            }
        }
    }
    devices.truncate(512);
    let names: Vec<String> = (0..slices).map(|at| format!("place-{at}")).collect();
    let sets = (0..gpus).map(|gpu| {
        let mut amounts = vec![("slices", slices)];
        if second {
            amounts.push(("memory", 2 * slices + 1));
        }
        if in_places {
            amounts.extend(names.iter().map(|name| (name.as_str(), 1)));
        }
        counter_set(gpu, &amounts)
    });
    let asked = asked.iter().enumerate().map(|(at, size)| request(at, &wanted(1, "size", &[*size])));
    node::instance(&devices, &sets.collect::<Vec<_>>(), vec![claim(0, &asked.collect::<Vec<_>>(), &[])])
}
