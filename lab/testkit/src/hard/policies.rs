//! Shares of capacities that are had in steps, in ranges or as one of some values, so that a device gives more than is asked for.

use serde_json::{Value, json};

use super::dice::Dice;
use super::node::{self, claim, constraint, device, first_available, request, wanted};
use crate::instances::Instance;

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let models: Vec<(usize, Value)> = (0..dice.within(1, 3)).map(|_| model(dice)).collect();
    let amounts: Vec<usize> = (0..requests).map(|_| dice.within(1, 12)).collect();
    let total: usize = amounts.iter().map(|amount| amount + 2).sum();
    let mut devices: Vec<Value> = Vec::new();
    let mut held = 0;
    let slack = dice.below(16);
    while held + 8 < total + slack {
        let number = dice.below(models.len());
        let (room, mem) = &models[number];
        let mut made = device(devices.len(), &[("model", number)]);
        made["allowMultipleAllocations"] = json!(true);
        made["capacity"] = json!({"mem": mem, "ports": {"value": "6", "requestPolicy": {"default": "1"}}});
        devices.push(made);
        held += room;
    }
    let mut ask = |amount: usize| {
        let some: Vec<usize> = if dice.one_in(4) { vec![dice.below(models.len())] } else { Vec::new() };
        let mut ask = wanted(1, "model", &some);
        ask["capacity"] = json!({"requests": {"mem": amount.to_string()}});
        if dice.one_in(4) {
            ask["capacity"]["requests"]["ports"] = json!(dice.within(1, 3).to_string());
        }
        ask
    };
    let asked = amounts.iter().enumerate().map(|(at, amount)| match at % 5 {
        4 => first_available(at, vec![ask(*amount + 4), ask(*amount)]),
        _ => request(at, &ask(*amount)),
    });
    let asked: Vec<Value> = asked.collect();
    let mut rules = Vec::new();
    if requests >= 6 && dice.one_in(3) {
        rules.push(constraint("distinctAttribute", "index", [0, 1, 2]));
        rules.push(constraint("matchAttribute", "model", [3, 4]));
        rules.push(constraint("matchAttribute", "index", [4, 5]));
    }
    node::instance(&devices, &[], vec![claim(0, &asked, &rules)])
}

/// How much a device has, and how it is had. The amounts that are asked for can be had of every model.
fn model(dice: &mut Dice) -> (usize, Value) {
    let room = dice.within(20, 48);
    let policy = match dice.below(4) {
        0 => json!({"default": "4", "validRange": {"min": "4", "step": "4", "max": "20"}}),
        1 => json!({"default": "3", "validRange": {"min": "3", "step": "5", "max": "18"}}),
        2 => json!({"default": "2", "validValues": ["2", "5", "9", "16"]}),
        _ => json!({"default": "1", "validRange": {"min": "1", "max": "17"}}),
    };
    (room, json!({"value": room.to_string(), "requestPolicy": policy}))
}
