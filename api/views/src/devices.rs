//! Devices for programs. Names of fields stay as they are; new ones may come.

use inventory::devices::{CounterRow, DeviceRow, HolderRow, Inventory};
use inventory::place::DevicePlace;
use model::device::{Taint, TaintEffect};
use serde_json::{Map, Value, json};

/// The devices and counters as one object.
#[must_use]
pub fn document(shown: &Inventory) -> Value {
    let devices: Vec<Value> = shown.devices.iter().map(device).collect();
    let counters: Vec<Value> = shown.counters.iter().map(counter).collect();
    json!({ "devices": devices, "counters": counters })
}

/// The name of the effect of a taint.
#[must_use]
pub fn effect(effect: &TaintEffect) -> &str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::NoExecute => "NoExecute",
        TaintEffect::Told(name) => name,
    }
}

/// A taint as kubectl writes it.
#[must_use]
pub fn taint(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, effect(&taint.effect))
}

/// A device with all that is known of it.
#[must_use]
pub fn device(row: &DeviceRow) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("driver", json!(*row.id.driver));
    put("pool", json!(*row.id.pool));
    put("device", json!(*row.id.device));
    match &row.place {
        DevicePlace::Node(name) => put("nodeName", json!(**name)),
        DevicePlace::Nodes(names) => put("nodeNames", names.iter().map(|name| json!(**name)).collect()),
        DevicePlace::AllNodes => put("allNodes", json!(true)),
    };
    put("state", json!(row.state.code()));
    if let Some(detail) = row.state.detail() {
        put("detail", json!(detail));
    }
    put("holders", row.holders.iter().map(holder).collect());
    if !row.left.is_empty() {
        let left = row.left.iter().map(|(name, (left, all))| {
            (name.to_string(), json!({ "left": left.to_string(), "value": all.to_string() }))
        });
        put("capacity", Value::Object(left.collect()));
    }
    let taints = row.taints.iter();
    let taint =
        |taint: &Taint| json!({ "key": *taint.key, "value": *taint.value, "effect": effect(&taint.effect) });
    put("taints", taints.map(taint).collect());
    put("deviceClasses", row.classes.iter().map(|name| json!(**name)).collect());
    Value::Object(fields)
}

fn holder(row: &HolderRow) -> Value {
    let mut fields = Map::new();
    match &row.named {
        None => drop(fields.insert("hidden".to_owned(), json!(true))),
        Some(named) => {
            fields.insert("namespace".to_owned(), json!(*named.claim.namespace));
            fields.insert("claim".to_owned(), json!(*named.claim.name));
            fields.insert(
                "requests".to_owned(),
                named.requests.iter().map(|name| json!(name.to_string())).collect(),
            );
            let users =
                named.users.iter().map(|user| json!({ "resource": *user.resource, "name": *user.name }));
            fields.insert("reservedFor".to_owned(), users.collect());
            if let Some(since) = named.since {
                fields.insert("since".to_owned(), json!(since.to_string()));
            }
        }
    }
    if row.admin {
        fields.insert("adminAccess".to_owned(), json!(true));
    }
    if !row.consumed.is_empty() {
        let consumed =
            row.consumed.iter().map(|(name, amount)| (name.to_string(), json!(amount.to_string())));
        fields.insert("consumedCapacity".to_owned(), Value::Object(consumed.collect()));
    }
    Value::Object(fields)
}

fn counter(row: &CounterRow) -> Value {
    json!({
        "driver": *row.pool.driver,
        "pool": *row.pool.pool,
        "counterSet": *row.set,
        "counter": *row.counter,
        "left": row.left.to_string(),
        "value": row.value.to_string(),
    })
}
