//! Counters, groups, matches, differences, capacity and alternatives at once.

use serde_json::{Value, json};

use super::dice::Dice;
use super::node::{self, claim, constraint, counter_set, device, draw, first_available, request, wanted};
use crate::instances::Instance;

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let boards = dice.within(requests.div_ceil(4), requests.div_ceil(2) + 2);
    let slices = dice.within(3, 7);
    let grouped = dice.one_in(2);
    let mut devices: Vec<Value> = Vec::new();
    for board in 0..boards {
        for _ in 0..dice.within(2, 10) {
            let size = dice.within(1, 3);
            let mut made = device(devices.len(), &[("size", size), ("board", board), ("kind", 0)]);
            let groups: Vec<String> = if grouped { vec![format!("g{}", dice.below(2))] } else { Vec::new() };
            made["consumesCounters"] = json!([draw(board, &[("slices", size)], &groups)]);
            devices.push(made);
        }
        for _ in 0..dice.below(4) {
            devices.push(device(devices.len(), &[("size", 0), ("board", board), ("kind", 1)]));
        }
        if dice.one_in(2) {
            let mut made = device(devices.len(), &[("size", 0), ("board", board), ("kind", 2)]);
            made["allowMultipleAllocations"] = json!(true);
            made["capacity"] = json!({"mem": {"value": "10"}});
            devices.push(made);
        }
    }
    let shared = devices.iter().any(|device| device["capacity"].is_object());
    let ask = |dice: &mut Dice| match dice.below(if shared { 5 } else { 4 }) {
        0 | 1 => wanted(1, "size", &[dice.within(1, 3)]),
        2 => wanted(if requests > 16 { 1 } else { dice.within(1, 2) }, "kind", &[0]),
        3 => wanted(1, "kind", &[1]),
        _ => {
            let mut ask = wanted(1, "kind", &[2]);
            ask["capacity"] = json!({"requests": {"mem": dice.within(2, 6).to_string()}});
            ask
        }
    };
    let mut claims = Vec::new();
    for at in 0..if requests > 4 { dice.within(1, 2) } else { 1 } {
        let count = requests.div_ceil(at + 1) / (1 + at);
        let asked = (0..count.max(1)).map(|at| {
            if dice.one_in(4) {
                let options = (0..dice.within(2, 3)).map(|_| ask(dice));
                first_available(at, options.collect())
            } else {
                request(at, &ask(dice))
            }
        });
        let asked: Vec<Value> = asked.collect();
        let mut rules = Vec::new();
        for _ in 0..dice.below(1 + asked.len() / 2) {
            let first = dice.below(asked.len());
            let members = first..(first + dice.within(2, 3)).min(asked.len());
            let rule = if dice.one_in(3) { "distinctAttribute" } else { "matchAttribute" };
            if members.len() > 1 {
                rules.push(constraint(rule, "board", members));
            }
        }
        claims.push(claim(at, &asked, &rules));
    }
    let sets = (0..boards).map(|board| counter_set(board, &[("slices", slices)]));
    node::instance(&devices, &sets.collect::<Vec<_>>(), claims)
}
