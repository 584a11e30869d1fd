//! Shares of the capacity of devices: what is asked for fills them nearly, exactly, or a little more.

use serde_json::json;

use super::dice::Dice;
use super::node::{self, claim, constraint, device, request, wanted};
use crate::instances::Instance;

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let room = dice.within(6, 40);
    let kinds = dice.within(1, 8);
    let second = dice.one_in(3);
    let sizes: Vec<usize> = (0..kinds).map(|_| dice.within(1, room * 2 / 3)).collect();
    let amounts: Vec<(usize, usize)> = (0..requests)
        .map(|_| (sizes[dice.below(kinds)], if second { dice.within(1, 10) } else { 0 }))
        .collect();
    let total: usize = amounts.iter().map(|(amount, _)| amount).sum();
    let of_second: usize = amounts.iter().map(|(_, amount)| amount).sum();
    let count = (total.max(of_second * room / 20).div_ceil(room) + dice.below(2)).max(1);
    let mut devices = Vec::new();
    for at in 0..count {
        let mut made = device(at, &[("kind", dice.below(3))]);
        made["allowMultipleAllocations"] = json!(true);
        made["capacity"] = json!({"mem": {"value": room.to_string()}});
        if second {
            made["capacity"]["rate"] = json!({"value": "20"});
        }
        devices.push(made);
    }
    let asked = amounts.iter().enumerate().map(|(at, (mem, rate))| {
        let mut ask = wanted(1, "kind", &[]);
        ask["capacity"] = json!({"requests": {"mem": mem.to_string()}});
        if second {
            ask["capacity"]["requests"]["rate"] = json!(rate.to_string());
        }
        request(at, &ask)
    });
    let mut rules = Vec::new();
    if requests >= 4 && dice.one_in(4) {
        rules.push(constraint("distinctAttribute", "index", [0, 1, 2]));
        rules.push(constraint("matchAttribute", "kind", [2, 3]));
    }
    node::instance(&devices, &[], vec![claim(0, &asked.collect::<Vec<_>>(), &rules)])
}
