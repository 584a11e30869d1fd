//! Claims of an instance that have devices already, without contradicting each other.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::devices::{Device, SETS};
use super::pools::Pool;
use crate::choices::Choices;

/// Up to two holders, each of one device.
pub(super) fn holders(choices: &mut Choices<'_>, pools: &[Pool]) -> Vec<Value> {
    let mut holders = Vec::new();
    for at in 0..[0, 1, 0, 2][choices.below(4)] {
        let pool = &pools[choices.below(pools.len())];
        let device = &pool.devices[choices.below(pool.devices.len())];
        let admin = choices.one_in(8);
        let held = |holder: &Value| {
            let result = &holder["status"]["allocation"]["devices"]["results"][0];
            result["device"] == device.name.as_str() && result["pool"] == pool.name.as_str()
        };
        if admin || (!holders.iter().any(held) && draws_fit(pool, device, &holders)) {
            holders.push(holder(at, pool, device, admin));
        }
    }
    holders
}

/// Whether the device can be held beside those that are: the counters suffice, and the groups are the same.
fn draws_fit(pool: &Pool, device: &Device, holders: &[Value]) -> bool {
    let results = holders.iter().map(|holder| &holder["status"]["allocation"]["devices"]["results"][0]);
    let here =
        results.filter(|result| result["pool"] == pool.name.as_str() && result["adminAccess"].is_null());
    let names: Vec<&Value> = here.map(|result| &result["device"]).collect();
    let others = pool.devices.iter().filter(|other| names.iter().any(|name| **name == other.name.as_str()));
    let drawn: Vec<_> = others.flat_map(|other| &other.draws).collect();
    device.draws.iter().all(|draw| {
        let same: Vec<_> = drawn.iter().filter(|other| other.set == draw.set).collect();
        let units: u64 = same.iter().map(|other| other.amount).sum();
        let there_is = SETS.iter().find(|(set, _)| *set == draw.set).map_or(0, |(_, units)| *units);
        units + draw.amount <= there_is && same.iter().all(|other| other.groups == draw.groups)
    })
}

fn holder(at: usize, pool: &Pool, device: &Device, admin: bool) -> Value {
    let mut result =
        json!({"request": "r0", "driver": pool.driver, "pool": pool.name, "device": device.name});
    if admin {
        result["adminAccess"] = json!(true);
    }
    if device.shareable {
        result["shareID"] = json!(format!("00000000-0000-4000-9000-{at:012}"));
        if let Some(amount) = device.default {
            result["consumedCapacity"] = json!({"mem": amount.to_string()});
        }
    }
    let groups: BTreeMap<&str, _> = device
        .draws
        .iter()
        .filter(|draw| !draw.groups.is_empty())
        .map(|draw| (draw.set, &draw.groups))
        .collect();
    if !groups.is_empty() {
        result["compatibilityGroups"] = json!(groups);
    }
    let exactly = json!({"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1});
    json!({
        "metadata": {"name": format!("holder-{at}"), "namespace": "default", "uid": format!("holder-uid-{at}")},
        "spec": {"devices": {"requests": [{"name": "r0", "exactly": exactly}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    })
}
