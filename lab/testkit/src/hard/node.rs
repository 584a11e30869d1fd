//! The objects of which hard instances are made: a node with one pool, one class, and claims for what the pool has.

use gates::Gates;
use serde_json::{Value, json};

use crate::instances::{Instance, decode};

/// The driver of all devices.
pub(super) const DRIVER: &str = "gpu.example.com";

/// How many devices a slice has at most; of devices that draw on counters there may be half as many as of others.
const IN_SLICE: usize = 64;

/// How many counter sets a slice has at most.
const SETS_IN_SLICE: usize = 8;

/// A pool of devices.
#[derive(Default)]
pub(super) struct Pool {
    pub(super) name: &'static str,
    pub(super) driver: &'static str,
    pub(super) devices: Vec<Value>,
    pub(super) counter_sets: Vec<Value>,
    /// Every node reaches it, and not only this one.
    pub(super) is_shared: bool,
}

/// A node with these devices, and claims.
pub(super) fn instance(devices: &[Value], counter_sets: &[Value], claims: Vec<Value>) -> Instance {
    let (devices, counter_sets) = (devices.to_vec(), counter_sets.to_vec());
    instance_of(&[Pool { name: "p", driver: DRIVER, devices, counter_sets, is_shared: false }], claims)
}

/// A node that reaches these pools, and claims.
pub(super) fn instance_of(pools: &[Pool], claims: Vec<Value>) -> Instance {
    let drivers: std::collections::BTreeSet<&str> = pools.iter().map(|pool| pool.driver).collect();
    let of_driver = |driver: &&str| {
        let selectors = json!([{"cel": {"expression": format!("device.driver == \"{driver}\"")}}]);
        json!({"metadata": {"name": class_of(driver)}, "spec": {"selectors": selectors}})
    };
    let classes = [json!({"metadata": {"name": "any"}, "spec": {}})];
    let classes = classes.into_iter().chain(drivers.iter().map(of_driver));
    Instance {
        gates: Gates::all_on(),
        node: decode(json!({"metadata": {"name": "node-1"}})),
        slices: pools.iter().flat_map(slices_of).map(decode).collect(),
        classes: classes.map(decode).collect(),
        claims: claims.into_iter().map(decode).collect(),
        holders: Vec::new(),
    }
}

/// The class of the devices of a driver.
pub(super) fn class_of(driver: &str) -> &str {
    driver.split('.').next().unwrap_or(driver)
}

fn slices_of(pool: &Pool) -> Vec<Value> {
    let parts = pool.devices.chunks(IN_SLICE).map(|part| json!({"devices": part}));
    let sets = pool.counter_sets.chunks(SETS_IN_SLICE).map(|part| json!({"sharedCounters": part}));
    let mut slices: Vec<Value> = parts.chain(sets).collect();
    let count = slices.len();
    for (at, slice) in slices.iter_mut().enumerate() {
        let mut spec = slice.take();
        spec["driver"] = json!(pool.driver);
        match pool.is_shared {
            true => spec["allNodes"] = json!(true),
            false => spec["nodeName"] = json!("node-1"),
        }
        spec["pool"] = json!({"name": pool.name, "generation": 1, "resourceSliceCount": count});
        let name = if pool.name == "p" { format!("slice-{at}") } else { format!("{}-{at}", pool.name) };
        *slice = json!({"metadata": {"name": name}, "spec": spec});
    }
    slices
}

/// A device with attributes that are whole numbers.
pub(super) fn device(at: usize, attributes: &[(&str, usize)]) -> Value {
    let mut device = json!({"name": format!("d{at:03}"), "attributes": {"index": {"int": at}}});
    for (name, value) in attributes {
        device["attributes"][*name] = json!({"int": value});
    }
    device
}

/// What a device draws from a counter set.
pub(super) fn draw(set: usize, amounts: &[(&str, usize)], groups: &[String]) -> Value {
    let mut draw = json!({"counterSet": format!("s{set}"), "counters": counters(amounts)});
    if !groups.is_empty() {
        draw["compatibilityGroups"] = json!(groups);
    }
    draw
}

/// A counter set.
pub(super) fn counter_set(set: usize, amounts: &[(&str, usize)]) -> Value {
    json!({"name": format!("s{set}"), "counters": counters(amounts)})
}

fn counters(amounts: &[(&str, usize)]) -> Value {
    let mut counters = json!({});
    for (name, amount) in amounts {
        counters[*name] = json!({"value": amount.to_string()});
    }
    counters
}

/// What is wanted: so many devices, of which each has one of the values of an attribute.
pub(super) fn wanted(count: usize, attribute: &str, values: &[usize]) -> Value {
    let mut wanted = json!({"deviceClassName": "any", "allocationMode": "ExactCount", "count": count});
    if !values.is_empty() {
        let expression = format!("device.attributes[\"{DRIVER}\"].{attribute} in {values:?}");
        wanted["selectors"] = json!([{"cel": {"expression": expression}}]);
    }
    wanted
}

/// What is wanted: all devices, of which each has one of the values of an attribute.
pub(super) fn all_of(attribute: &str, values: &[usize]) -> Value {
    let mut wanted = wanted(1, attribute, values);
    wanted["allocationMode"] = json!("All");
    wanted.as_object_mut().expect("it is an object").remove("count");
    wanted
}

/// A request for that.
pub(super) fn request(at: usize, wanted: &Value) -> Value {
    json!({"name": format!("r{at}"), "exactly": wanted})
}

/// A request for the first of these that is available.
pub(super) fn first_available(at: usize, alternatives: Vec<Value>) -> Value {
    let named = alternatives.into_iter().enumerate().map(|(at, mut wanted)| {
        wanted["name"] = json!(format!("a{at}"));
        wanted
    });
    json!({"name": format!("r{at}"), "firstAvailable": named.collect::<Vec<_>>()})
}

/// A constraint on devices of these requests.
pub(super) fn constraint(rule: &str, attribute: &str, requests: impl IntoIterator<Item = usize>) -> Value {
    let names: Vec<String> = requests.into_iter().map(|at| format!("r{at}")).collect();
    json!({rule: format!("{DRIVER}/{attribute}"), "requests": names})
}

/// A claim.
pub(super) fn claim(at: usize, requests: &[Value], constraints: &[Value]) -> Value {
    let mut devices = json!({"requests": requests});
    if !constraints.is_empty() {
        devices["constraints"] = json!(constraints);
    }
    json!({
        "metadata": {"name": format!("claim-{at}"), "namespace": "default", "uid": format!("uid-{at}")},
        "spec": {"devices": devices},
    })
}
