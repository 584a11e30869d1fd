//! A whole device, or else halves of it, or else quarters: whoever falls back takes what others would fall back on.

use serde_json::{Value, json};

use super::dice::Dice;
use super::node::{self, claim, constraint, counter_set, device, draw, first_available, request, wanted};
use crate::instances::Instance;

/// Into how many of these a device can be cut.
const CUTS: [usize; 4] = [1, 2, 4, 8];

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    // A claim has 32 devices at most, as first alternatives and otherwise.
    let most = if requests > 16 { 1 } else { 2 };
    let mut eighths = 0;
    let mut asked: Vec<Value> = Vec::new();
    for at in 0..requests {
        let ways = dice.within(1, 4);
        let mut least = usize::MAX;
        let mut options: Vec<Value> = Vec::new();
        for _ in 0..ways {
            let cut = CUTS[dice.below(CUTS.len())];
            let count = dice.within(1, most);
            least = least.min(count * 8 / cut);
            options.push(wanted(count, "cut", &[cut]));
        }
        eighths += least;
        asked.push(if ways == 1 { request(at, &options[0]) } else { first_available(at, options) });
    }
    let gpus = (eighths.div_ceil(8) + dice.below(2)).clamp(1, 32);
    let memory = dice.within(32, 40);
    let mut devices: Vec<Value> = Vec::new();
    for gpu in 0..gpus {
        for cut in CUTS {
            for place in 0..cut {
                let size = 8 / cut;
                // The first half needs a little more, as it has what there is but once.
                let more = usize::from(place == 0 && cut == 2);
                let mut made = device(devices.len(), &[("cut", cut), ("gpu", gpu)]);
                let amounts = [("eighths", size), ("memory", size * 4 + more)];
                made["consumesCounters"] = json!([draw(gpu, &amounts, &[])]);
                devices.push(made);
            }
        }
    }
    devices.truncate(512);
    let sets = (0..gpus).map(|gpu| counter_set(gpu, &[("eighths", 8), ("memory", memory)]));
    let mut rules = Vec::new();
    if requests >= 4 && dice.one_in(3) {
        rules.push(constraint("matchAttribute", "gpu", [0, 1]));
        rules.push(constraint("distinctAttribute", "gpu", [2, 3]));
    }
    node::instance(&devices, &sets.collect::<Vec<_>>(), vec![claim(0, &asked, &rules)])
}
