//! Domains for programs. Names of fields stay as they are; new ones may come.

use std::collections::BTreeMap;
use std::sync::Arc;

use inventory::domains::{Domain, Tally};
use serde_json::{Map, Value, json};

/// The levels and the domains of a cluster.
#[must_use]
pub fn document(levels: &[Arc<str>], root: &Domain) -> Value {
    let levels: Vec<&str> = levels.iter().map(AsRef::as_ref).collect();
    json!({ "levels": levels, "cluster": domain(root) })
}

fn domain(one: &Domain) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    if let Some(level) = &one.level {
        put("level", json!(**level));
        put("name", json!(*one.name));
    }
    put("nodes", one.nodes.iter().map(|name| json!(**name)).collect());
    put("pods", json!(one.pods));
    put("cpuFreeMilli", json!(one.free.cpu_milli));
    put("memoryFreeBytes", json!(one.free.memory));
    put("drivers", tallies(&one.by_driver));
    put("deviceClasses", tallies(&one.by_class));
    if !one.domains.is_empty() {
        put("domains", one.domains.iter().map(domain).collect());
        put("nodesInNoDomain", one.elsewhere.iter().map(|name| json!(**name)).collect());
    }
    Value::Object(fields)
}

/// Devices of a domain, counted by driver or class.
pub(crate) fn tallies(tallies: &BTreeMap<Arc<str>, Tally>) -> Value {
    let row = |(name, tally): (&Arc<str>, &Tally)| {
        let on_node = tally.largest_on_node.as_ref();
        let in_domain = tally.largest_in_domain.as_ref();
        let value = json!({
            "name": **name,
            "devices": tally.devices,
            "free": tally.free,
            "allocated": tally.allocated,
            "mostFreeOnNode": on_node.map(|(node, free)| json!({ "name": **node, "free": free })),
            "mostFreeInDomain": in_domain.map(|(domain, free)| json!({ "name": **domain, "free": free })),
            "fragmentationPercent": tally.fragmentation(),
        });
        value
    };
    tallies.iter().map(row).collect()
}
