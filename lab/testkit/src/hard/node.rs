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

/// A node with these devices, and claims.
pub(super) fn instance(devices: &[Value], counter_sets: &[Value], claims: Vec<Value>) -> Instance {
    let parts = devices.chunks(IN_SLICE).map(|part| json!({"devices": part}));
    let sets = counter_sets.chunks(SETS_IN_SLICE).map(|part| json!({"sharedCounters": part}));
    let mut slices: Vec<Value> = parts.chain(sets).collect();
    let count = slices.len();
    for (at, slice) in slices.iter_mut().enumerate() {
        let mut spec = slice.take();
        spec["driver"] = json!(DRIVER);
        spec["nodeName"] = json!("node-1");
        spec["pool"] = json!({"name": "p", "generation": 1, "resourceSliceCount": count});
        *slice = json!({"metadata": {"name": format!("slice-{at}")}, "spec": spec});
    }
    Instance {
        gates: Gates::all_on(),
        node: decode(json!({"metadata": {"name": "node-1"}})),
        slices: slices.into_iter().map(decode).collect(),
        classes: vec![decode(json!({"metadata": {"name": "any"}, "spec": {}}))],
        claims: claims.into_iter().map(decode).collect(),
        holders: Vec::new(),
    }
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
