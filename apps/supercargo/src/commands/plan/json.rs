//! Plans for programs. Names of fields stay as they are; new ones may come.

use plan::{ClusterUsage, Extent, InUse, Origin, PlannedPod, PodPlan, Standing, Usage};
use serde_json::{Map, Value, json};

use super::tables;

/// A plan.
pub(crate) fn plan(plan: &PodPlan) -> Value {
    let preempted = plan.preempted.iter().map(|one| {
        json!({ "namespace": *one.pod.namespace, "name": *one.pod.name, "node": *one.node, "for": one.by })
    });
    json!({
        "fits": plan.fits(),
        "complete": plan.extent == Extent::Whole,
        "message": tables::verdict(plan),
        "pods": plan.pods.iter().map(pod).collect::<Vec<_>>(),
        "waitingPods": plan.others.iter().map(pod).collect::<Vec<_>>(),
        "preempted": preempted.collect::<Vec<_>>(),
        "nodes": nodes(&plan.before, &plan.after),
        "sharedDevices": shared(&plan.before, &plan.after),
        "notes": plan.notes,
    })
}

/// Where a pod would be, or why nowhere.
pub(super) fn pod(pod: &PlannedPod) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("namespace", json!(*pod.pod.namespace));
    put("name", json!(*pod.pod.name));
    put(
        "origin",
        json!(match pod.origin {
            Origin::New => "Manifest",
            Origin::Moved => "Drained",
            Origin::Waiting => "Waiting",
        }),
    );
    if let Some(from) = &pod.from {
        put("from", json!(**from));
    }
    put("fits", json!(pod.is_placed()));
    match &pod.standing {
        Standing::Placed { node, devices } => {
            put("node", json!(**node));
            let devices = devices.iter().map(|(claim, device)| {
                json!({
                    "claim": *claim.name, "driver": *device.driver, "pool": *device.pool, "device": *device.device,
                })
            });
            put("devices", devices.collect());
        }
        Standing::Waiting { reason } => drop(put("reason", json!(reason))),
    }
    Value::Object(fields)
}

/// The nodes of which something is in use otherwise, or that are new.
fn nodes(before: &ClusterUsage, after: &ClusterUsage) -> Vec<Value> {
    let changed = after.nodes.iter().filter(|(node, usage)| before.nodes.get(*node) != Some(usage));
    let node = |(node, is): (&model::identity::NodeName, &Usage)| {
        let was = before.nodes.get(node);
        json!({ "name": **node, "new": was.is_none(), "before": was.map(usage), "after": usage(is) })
    };
    changed.map(node).collect()
}

fn usage(usage: &Usage) -> Value {
    let devices = usage.devices.iter().map(|(driver, part)| (driver.to_string(), self::part(*part)));
    json!({
        "pods": part(usage.pods),
        "cpuMilli": part(usage.cpu_milli),
        "memoryBytes": part(usage.memory),
        "devices": devices.collect::<Map<_, _>>(),
    })
}

fn shared(before: &ClusterUsage, after: &ClusterUsage) -> Value {
    let driver = |(driver, is): (&std::sync::Arc<str>, &InUse)| {
        let was = before.shared.get(driver).copied().unwrap_or_default();
        (driver.to_string(), json!({ "before": part(was), "after": part(*is) }))
    };
    after.shared.iter().map(driver).collect::<Map<_, _>>().into()
}

fn part(part: InUse) -> Value {
    json!({ "used": part.used, "all": part.all })
}
