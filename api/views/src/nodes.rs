//! A node with its devices as the map shows it: what there is to draw, and no more. Everything about one device is in
//! [`device`](crate::devices::device).

use std::sync::Arc;

use cluster::nodes::NodeState;
use inventory::devices::{CounterRow, DeviceRow, HolderRow};
use model::device::PoolId;
use model::node::Node;
use serde_json::{Map, Value, json};

/// A pool with its devices and counters.
#[derive(Clone, Copy, Debug)]
pub struct PoolRows<'r> {
    /// The pool.
    pub id: &'r PoolId,
    /// Its devices.
    pub devices: &'r [DeviceRow],
    /// What is left of its counters.
    pub counters: &'r [CounterRow],
}

/// A node with the pools that only it reaches.
#[must_use]
pub fn node(node: &Node, state: &NodeState, levels: &[Arc<str>], pools: &[PoolRows<'_>]) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("name", json!(*node.name));
    put("domains", levels.iter().map(|level| json!(node.labels.get(level).map(AsRef::as_ref))).collect());
    if node.unschedulable {
        put("unschedulable", json!(true));
    }
    let taints = node.taints.iter().map(|taint| json!(format!("{}:{}", taint.key, taint.effect.name())));
    let taints: Vec<Value> = taints.collect();
    if !taints.is_empty() {
        put("taints", json!(taints));
    }
    put("pods", json!(state.pods.len()));
    put("cpuMilli", json!([state.used.cpu_milli, node.allocatable.cpu_milli]));
    put("memoryBytes", json!([state.used.memory, node.allocatable.memory]));
    put("pools", pools.iter().map(pool).collect());
    Value::Object(fields)
}

/// A pool that several nodes reach.
#[must_use]
pub fn shared_pool(rows: &PoolRows<'_>) -> Value {
    let mut value = pool(rows);
    let place = rows.devices.first().map(|row| row.place.to_string());
    value["place"] = json!(place);
    value
}

fn pool(rows: &PoolRows<'_>) -> Value {
    let mut value = json!({
        "driver": *rows.id.driver,
        "pool": *rows.id.pool,
        "devices": rows.devices.iter().map(device).collect::<Vec<_>>(),
    });
    if !rows.counters.is_empty() {
        let counter = |row: &CounterRow| {
            json!({
                "counterSet": *row.set,
                "counter": *row.counter,
                "left": row.left.to_string(),
                "value": row.value.to_string(),
            })
        };
        value["counters"] = rows.counters.iter().map(counter).collect();
    }
    value
}

fn device(row: &DeviceRow) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("name", json!(*row.id.device));
    put("state", json!(row.state.code()));
    if let Some(detail) = row.state.detail() {
        put("detail", json!(detail));
    }
    if !row.holders.is_empty() {
        put("holders", row.holders.iter().map(holder).collect());
    }
    if !row.taints.is_empty() {
        put("taints", row.taints.iter().map(|taint| json!(crate::devices::taint(taint))).collect());
    }
    if !row.counter_sets.is_empty() {
        put("counterSets", row.counter_sets.iter().map(|set| json!(**set)).collect());
    }
    Value::Object(fields)
}

/// A claim by name with the pods that use it, or that it is hidden.
fn holder(row: &HolderRow) -> Value {
    let mut value = match &row.named {
        None => json!({ "hidden": true }),
        Some(named) => {
            let users: Vec<&str> = named.users.iter().map(|user| &*user.name).collect();
            json!({ "namespace": *named.claim.namespace, "claim": *named.claim.name, "users": users })
        }
    };
    if row.admin {
        value["adminAccess"] = json!(true);
    }
    value
}
