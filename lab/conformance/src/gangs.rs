//! Gangs: whether all members of a pod group can be in one domain at once, as an exact solver says.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use gates::{Gate, Gates};
use serde_json::{Value, json};
use simulation::{Manifest, Place, simulate};

use crate::{Form, Suite};

/// The suite of `gangs` vectors: all members are bound in one domain if that can be, and otherwise none.
pub const SUITE: Suite =
    Suite { expected, answer, differences: crate::exact, agreement: None, form: Form::Any };

fn expected(case: &Value) -> Value {
    match case["feasible"].as_bool() {
        Some(true) => json!({ "bound": case["members"], "domains": 1 }),
        _ => json!({ "bound": 0, "domains": 0 }),
    }
}

fn answer(case: &Value) -> anyhow::Result<Value> {
    let objects = case["manifests"].as_array().context("no list of manifests")?;
    let manifest = |(at, value): (usize, &Value)| {
        Manifest::made(Place { file: "case".to_owned(), line: at as u64 + 1 }, value.clone())
    };
    let manifests: Vec<Manifest> = objects.iter().enumerate().map(manifest).collect();
    let gates = [Gate::GenericWorkload, Gate::TopologyAwareWorkloadScheduling];
    let gates = gates.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true));
    let ending = simulate(manifests, gates)?;
    let of_kind = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let members: BTreeSet<String> =
        of_kind("Pod").filter(|pod| pod["spec"]["schedulingGroup"].is_object()).map(name).collect();
    let domains: BTreeMap<String, &Value> = match case["level"].as_str() {
        Some(level) => of_kind("Node").map(|node| (name(node), &node["metadata"]["labels"][level])).collect(),
        None => of_kind("Node").map(|node| (name(node), &Value::Null)).collect(),
    };
    let pods = ending.outcome.pods.iter().filter(|pod| members.contains(&pod.name));
    let bound: Vec<&String> = pods.filter_map(|pod| pod.node.as_ref()).collect();
    let used: BTreeSet<String> = bound.iter().map(|node| domains[*node].to_string()).collect();
    Ok(json!({ "bound": bound.len(), "domains": used.len() }))
}
