//! Devices that draw on several counter sets at once, such as those of a card and those of a switch, in two pools.

use serde_json::{Value, json};

use super::dice::Dice;
use super::node::{self, Pool, claim, class_of, counter_set, device, draw, request, wanted};
use crate::instances::Instance;

const DRIVERS: [&str; 2] = ["gpu.example.com", "dpu.example.com"];

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let mut pools = Vec::new();
    let mut asked: Vec<Value> = Vec::new();
    let shares = [requests - requests / 3, requests / 3];
    for ((number, driver), share) in DRIVERS.into_iter().enumerate().zip(shares) {
        if share == 0 {
            continue;
        }
        let on_card = dice.within(4, 8);
        let sizes = [1, 2, 3, on_card];
        let wants: Vec<usize> =
            (0..share).map(|_| sizes[if dice.one_in(3) { 3 } else { dice.below(3) }]).collect();
        let total: usize = wants.iter().sum();
        let cards = (total.div_ceil(on_card) + dice.below(3)).min(24);
        let switches = cards.div_ceil(dice.within(2, 4));
        // What devices take of a switch is as much as of their card, or one more.
        let on_switch = (total + dice.below(share + 1)).div_ceil(switches) + dice.below(3);
        let grouped = dice.one_in(4);
        let mut devices: Vec<Value> = Vec::new();
        for card in 0..cards {
            for size in sizes {
                for _ in 0..(on_card / size).min(3) {
                    let mut made = device(devices.len(), &[("size", size), ("card", card)]);
                    let groups: Vec<String> =
                        if grouped { vec![format!("g{}", dice.below(2))] } else { Vec::new() };
                    let mut draws = vec![draw(card, &[("slices", size)], &groups)];
                    // Of the switch some take more than others.
                    let lanes = size + dice.below(2);
                    draws.push(draw(cards + card % switches, &[("lanes", lanes)], &[]));
                    made["consumesCounters"] = json!(draws);
                    devices.push(made);
                }
            }
        }
        devices.truncate(256);
        let sets = (0..cards).map(|card| counter_set(card, &[("slices", on_card)]));
        let sets = sets.chain((cards..cards + switches).map(|at| counter_set(at, &[("lanes", on_switch)])));
        let name = class_of(driver);
        for size in wants {
            let expression = format!("device.attributes[\"{driver}\"].size == {size}");
            let mut ask = wanted(1, "size", &[]);
            ask["deviceClassName"] = json!(name);
            ask["selectors"] = json!([{"cel": {"expression": expression}}]);
            asked.push(request(asked.len(), &ask));
        }
        let counter_sets = sets.collect();
        pools.push(Pool { name, driver, devices, counter_sets, is_shared: number == 1 && dice.one_in(2) });
    }
    if pools.len() == 1 {
        asked.iter_mut().for_each(|request| request["exactly"]["deviceClassName"] = json!("any"));
    }
    node::instance_of(&pools, vec![claim(0, &asked, &[])])
}
