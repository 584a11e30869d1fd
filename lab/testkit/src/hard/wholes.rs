//! All devices of a kind, beside others that want some of them and admin access to them, for one pod with several claims.

use serde_json::{Value, json};

use super::dice::Dice;
use super::node::{self, all_of, claim, constraint, device, first_available, request, wanted};
use crate::instances::Instance;

/// How many devices a claim holds at most.
const RESULTS_MAX: usize = 32;

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let models = dice.within(3, 8);
    let boards = dice.within(2, 6);
    let on_model: Vec<usize> = (0..models).map(|_| dice.within(1, 4)).collect();
    let mut devices: Vec<Value> = Vec::new();
    for (model, count) in on_model.iter().enumerate() {
        for _ in 0..*count * (1 + requests / 8) {
            devices.push(device(devices.len(), &[("model", model), ("board", dice.below(boards))]));
        }
    }
    let in_model = |model: usize| on_model[model] * (1 + requests / 8);
    let claims = dice.within(1, 3).min(requests);
    let mut made: Vec<Value> = Vec::new();
    for number in 0..claims {
        let count = requests / claims;
        let mut room = RESULTS_MAX;
        let mut asked: Vec<Value> = Vec::new();
        // A request for all devices of which a constraint excludes one cannot be judged.
        let mut some: Vec<usize> = Vec::new();
        for at in 0..count {
            // Each that follows needs at least one.
            let left = room.saturating_sub(count - at);
            let model = dice.below(models);
            let (first, other) = (dice.below(models), dice.below(models));
            let kind = dice.below(6);
            let is_all = kind == 0 && in_model(model) <= left + 1;
            if !is_all {
                some.push(at);
            }
            let (ask, most) = match kind {
                _ if is_all => (all_of("model", &[model]), in_model(model)),
                1 => (wanted(2.min(left + 1), "model", &[model, first]), 2.min(left + 1)),
                _ => (wanted(1, "model", &[model, first, other]), 1),
            };
            room = room.saturating_sub(most);
            if dice.one_in(4) && most == 1 {
                let others = vec![ask, wanted(1, "model", &[other])];
                asked.push(first_available(at, others));
                continue;
            }
            let mut one = request(at, &ask);
            if dice.one_in(6) {
                one["exactly"]["adminAccess"] = json!(true);
            }
            asked.push(one);
        }
        let mut rules = Vec::new();
        if some.len() >= 2 && dice.one_in(2) {
            let rule = if dice.one_in(2) { "distinctAttribute" } else { "matchAttribute" };
            let first = dice.below(some.len() - 1);
            rules.push(constraint(rule, "board", some[first..=first + 1].iter().copied()));
        }
        made.push(claim(number, &asked, &rules));
    }
    node::instance(&devices, &[], made)
}
