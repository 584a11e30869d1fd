//! Pools of an instance: their devices, and the slices in which they are published.

use serde_json::{Value, json};

use super::DRIVERS;
use super::devices::{Device, Partitions, SETS, device};
use crate::choices::Choices;

/// A pool and its slices.
pub(super) struct Pool {
    pub(super) driver: &'static str,
    pub(super) name: String,
    pub(super) devices: Vec<Device>,
    pub(super) slices: Vec<Value>,
}

/// One pool or two, with at most five devices.
pub(super) fn pools(choices: &mut Choices<'_>) -> Vec<Pool> {
    let first = 1 + [1, 2, 3, 2, 0][choices.below(5)];
    let mut pools = vec![pool(choices, 0, first)];
    if choices.one_in(2) {
        let second = 1 + choices.below(2);
        pools.push(pool(choices, 1, second.min(5 - first)));
    }
    pools
}

fn pool(choices: &mut Choices<'_>, at: usize, count: usize) -> Pool {
    let partitions =
        [Partitions::None, Partitions::Plain, Partitions::WithGroups, Partitions::None][choices.below(4)];
    let devices: Vec<Device> = (0..count).map(|at| device(choices, at, partitions)).collect();
    let mut pool = Pool { driver: DRIVERS[at], name: format!("p{at}"), devices, slices: Vec::new() };
    pool.slices = slices(choices, &pool, partitions);
    pool
}

fn slices(choices: &mut Choices<'_>, pool: &Pool, partitions: Partitions) -> Vec<Value> {
    let mut devices: Vec<Value> = pool.devices.iter().map(|device| device.json.clone()).collect();
    let reach = [0, 1, 2, 3, 2, 0, 4][choices.below(7)];
    if reach == 4 {
        devices.iter_mut().for_each(|device| own_reach(choices, device));
    }
    // One part of the devices may be published apart, and may be for another node.
    let apart = if devices.len() > 1 && choices.one_in(4) { devices.split_off(1) } else { Vec::new() };
    let mut slices = vec![slice(pool, 0, json!({"devices": devices}))];
    set_reach(&mut slices[0], reach);
    if !apart.is_empty() {
        let mut second = slice(pool, 1, json!({"devices": apart}));
        if reach != 4 && choices.one_in(3) {
            second["spec"]["nodeName"] = json!("node-2");
        } else {
            set_reach(&mut second, reach);
        }
        slices.push(second);
    }
    if partitions != Partitions::None {
        let sets = SETS
            .map(|(name, units)| json!({"name": name, "counters": {"units": {"value": units.to_string()}}}));
        let mut counters = slice(pool, 2, json!({"sharedCounters": sets, "allNodes": true}));
        // A driver that forgets a set publishes an invalid pool.
        if choices.one_in(24) {
            counters["spec"]["sharedCounters"] = json!([sets[1]]);
        }
        slices.push(counters);
    }
    // So does one that publishes a device twice.
    if choices.one_in(24) {
        let mut twin = slices[0].clone();
        twin["metadata"]["name"] = json!(format!("{}-twin", pool.name));
        slices.push(twin);
    }
    if choices.one_in(10) {
        slices[0]["spec"]["skipNodeOperations"] = json!(["*"]);
    }
    number(choices, pool, &mut slices);
    slices
}

/// Generations and counts, including what an update leaves behind or has not brought yet.
fn number(choices: &mut Choices<'_>, pool: &Pool, slices: &mut Vec<Value>) {
    let missing = usize::from(choices.one_in(12));
    let count = slices.len() + missing;
    for slice in slices.iter_mut() {
        slice["spec"]["pool"]["resourceSliceCount"] = json!(count);
    }
    let stray = |name: usize, generation: u64, node: &str| {
        let mut stray = slice(pool, name, json!({"devices": [{"name": "stray"}], "nodeName": node}));
        stray["spec"]["pool"]["generation"] = json!(generation);
        stray
    };
    if choices.one_in(8) {
        slices.push(stray(3, 1, "node-1"));
    }
    if choices.one_in(16) {
        slices.push(stray(4, 3, "node-2"));
    }
}

fn slice(pool: &Pool, at: usize, mut spec: Value) -> Value {
    spec["driver"] = json!(pool.driver);
    spec["pool"] = json!({"name": pool.name, "generation": 2, "resourceSliceCount": 1});
    json!({"metadata": {"name": format!("{}-{at}", pool.name)}, "spec": spec})
}

fn set_reach(slice: &mut Value, reach: usize) {
    let spec = &mut slice["spec"];
    match reach {
        0 | 1 => spec["nodeName"] = json!("node-1"),
        2 => spec["allNodes"] = json!(true),
        3 => spec["nodeSelector"] = zone("a"),
        _ => spec["perDeviceNodeSelection"] = json!(true),
    }
}

fn own_reach(choices: &mut Choices<'_>, device: &mut Value) {
    match choices.below(6) {
        0 => device["nodeName"] = json!("node-1"),
        1 | 5 => device["allNodes"] = json!(true),
        2 => device["nodeSelector"] = zone("a"),
        3 => device["nodeSelector"] = zone("b"),
        _ => device["nodeName"] = json!("node-2"),
    }
}

fn zone(zone: &str) -> Value {
    json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]})
}
