//! Devices of the node and devices that all nodes reach, some with taints, some held by others, for claims that tie them together.

use serde_json::{Value, json};

use super::dice::Dice;
use super::node::{self, Pool, claim, constraint, counter_set, device, draw, request, wanted};
use crate::instances::{Instance, decode};

/// All pools are of one driver, so that they can be told apart only by what is in them.
const DRIVER: &str = "gpu.example.com";

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let zones = dice.within(2, 5);
    let kinds = dice.within(2, 4);
    let per_pool = (requests * dice.within(2, 6) / 4).clamp(2, 250);
    let units = dice.within(2, 4);
    let mut pools = Vec::new();
    for (name, is_shared) in [("near", false), ("far", true)] {
        let sets = per_pool.div_ceil(units + 1);
        let devices: Vec<Value> = (0..per_pool)
            .map(|at| {
                let mut made = device(at, &[("zone", dice.below(zones)), ("kind", dice.below(kinds))]);
                if dice.one_in(5) {
                    let effect = if dice.one_in(2) { "NoSchedule" } else { "NoExecute" };
                    made["taints"] = json!([{"key": "worn", "value": "yes", "effect": effect}]);
                }
                if is_shared {
                    made["consumesCounters"] = json!([draw(at % sets, &[("units", 1)], &[])]);
                }
                made
            })
            .collect();
        let counter_sets =
            (0..sets).filter(|_| is_shared).map(|set| counter_set(set, &[("units", units)])).collect();
        pools.push(Pool { name, driver: DRIVER, devices, counter_sets, is_shared });
    }
    let held: Vec<(&str, usize)> = (0..dice.below(per_pool / 2 + 1))
        .map(|_| (if dice.one_in(2) { "near" } else { "far" }, dice.below(per_pool)))
        .collect();
    let claims = if requests > 4 { dice.within(1, 3) } else { 1 };
    let mut made: Vec<Value> = Vec::new();
    for number in 0..claims {
        let count = (requests / claims).max(1);
        let asked: Vec<Value> = (0..count)
            .map(|at| {
                let mut ask = wanted(1, "kind", &[dice.below(kinds)]);
                if dice.one_in(3) {
                    let toleration = match dice.below(3) {
                        0 => json!({"operator": "Exists"}),
                        1 => json!({"operator": "Equal", "key": "worn", "value": "yes", "effect": "NoSchedule"}),
                        _ => json!({"operator": "Exists", "key": "worn", "effect": "NoExecute", "tolerationSeconds": 60}),
                    };
                    ask["tolerations"] = json!([toleration]);
                }
                request(at, &ask)
            })
            .collect();
        let mut rules = Vec::new();
        for _ in 0..dice.below(1 + count / 3) {
            let first = dice.below(count.max(2) - 1);
            let members = first..(first + dice.within(2, zones)).min(count);
            let rule = if dice.one_in(2) { "distinctAttribute" } else { "matchAttribute" };
            if members.len() > 1 {
                rules.push(constraint(rule, "zone", members));
            }
        }
        made.push(claim(number, &asked, &rules));
    }
    let mut instance = node::instance_of(&pools, made);
    instance.holders = holders(&held, units, per_pool.div_ceil(units + 1)).into_iter().map(decode).collect();
    instance
}

/// Claims that hold one of these devices each: none twice, and no more of a counter set than it has.
fn holders(held: &[(&str, usize)], units: usize, sets: usize) -> Vec<Value> {
    let mut taken: Vec<(&str, usize)> = Vec::new();
    for (pool, at) in held {
        let beside = taken.iter().filter(|(other, there)| other == pool && there % sets == at % sets);
        if !taken.contains(&(*pool, *at)) && (*pool == "near" || beside.count() < units) {
            taken.push((*pool, *at));
        }
    }
    let holder = |(number, (pool, at)): (usize, &(&str, usize))| {
        let result = json!({"request": "r0", "driver": DRIVER, "pool": pool, "device": format!("d{at:03}")});
        let mut holder = claim(number, &[request(0, &wanted(1, "kind", &[]))], &[]);
        let name = format!("holder-{number}");
        holder["metadata"] = json!({"name": name, "namespace": "default", "uid": format!("{name}-uid")});
        holder["status"] = json!({"allocation": {"devices": {"results": [result]}}});
        holder
    };
    taken.iter().enumerate().map(holder).collect()
}
