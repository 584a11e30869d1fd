//! Volumes: on which nodes a pod may be for its volumes and those of others, and which volumes its claims get there.
//!
//! What was recorded is the answer of kube-scheduler's default plugins for each node by itself. So ours is asked about each node by
//! itself too: the pod is placed once for each node, and may go nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use gates::Gates;
use serde_json::{Value, json};
use simulation::{Ending, Manifest, Place, Rules, VolumeBinder, needed_gates, simulate_by};

use crate::{Form, Suite, exact};

/// What says that a claim has its volume.
const BOUND: &str = "pv.kubernetes.io/bind-completed";

/// The suite of `volumes` vectors: the pod may be on the same nodes, and its claims get the same volumes there.
pub const SUITE: Suite = Suite {
    expected: |case| case["want"]["nodes"].clone(),
    answer,
    differences: exact,
    agreement: None,
    form: Form::Any,
};

/// By node on which the pod may be: `{"takes": {"claim": "volume"}, "provisioned": ["claim"]}`, without what is empty.
fn answer(case: &Value) -> anyhow::Result<Value> {
    let objects = case["objects"].as_array().context("no list of objects")?;
    let mut nodes = serde_json::Map::new();
    for node in objects.iter().filter(|object| object["kind"] == "Node") {
        let name = node["metadata"]["name"].as_str().context("a node without a name")?;
        let only = json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [name] }] });
        let mut pod = case["pod"].clone();
        let affinity = &mut pod["spec"]["affinity"]["nodeAffinity"];
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = json!({ "nodeSelectorTerms": [only] });
        let ending = place(objects, &pod)?;
        let Some(placed) = ending.outcome.pods.iter().find(|one| is_it(&pod, &one.namespace, &one.name))
        else {
            bail!("the pod is not in the answer");
        };
        if placed.node.is_some() {
            nodes.insert(name.to_owned(), had(objects, &pod, &ending));
        }
    }
    Ok(Value::Object(nodes))
}

fn is_it(pod: &Value, namespace: &str, name: &str) -> bool {
    let metadata = &pod["metadata"];
    metadata["name"] == name && metadata["namespace"].as_str().unwrap_or("default") == namespace
}

fn place(objects: &[Value], pod: &Value) -> anyhow::Result<Ending> {
    let manifest = |(at, value): (usize, &Value)| {
        Manifest::made(Place { file: "case".to_owned(), line: at as u64 + 1 }, value.clone())
    };
    let manifests: Vec<Manifest> = objects.iter().chain([pod]).enumerate().map(manifest).collect();
    let (gates, _) = Gates::with_needed("", needed_gates(&manifests).keys().copied())?;
    Ok(simulate_by(manifests, &Rules { volumes: VolumeBinder::Following, ..Rules::new(gates) })?)
}

/// What the pod's claims got that had no volume before.
fn had(objects: &[Value], pod: &Value, ending: &Ending) -> Value {
    let named = |kind: &'static str| {
        let of_kind = objects.iter().filter(move |object| object["kind"] == kind);
        of_kind.filter_map(|object| Some((object["metadata"]["name"].as_str()?, object)))
    };
    let given: BTreeSet<&str> = named("PersistentVolume").map(|(name, _)| name).collect();
    let namespace = pod["metadata"]["namespace"].as_str().unwrap_or("default");
    let is_open = |claim: &Value| {
        claim["metadata"]["namespace"] == namespace && claim["metadata"]["annotations"][BOUND].is_null()
    };
    let claims = named("PersistentVolumeClaim").filter(|(_, claim)| is_open(claim));
    let open: BTreeSet<&str> = claims.map(|(name, _)| name).collect();
    let wanted = claims_of(pod);
    let (mut takes, mut provisioned) = (BTreeMap::new(), BTreeSet::new());
    for claim in ending.objects().iter().filter(|object| object["kind"] == "PersistentVolumeClaim") {
        let name = claim["metadata"]["name"].as_str().unwrap_or_default();
        let volume = claim["spec"]["volumeName"].as_str().unwrap_or_default();
        if claim["metadata"]["namespace"] != namespace || !open.contains(name) || !wanted.contains(name) {
            continue;
        }
        if given.contains(volume) {
            takes.insert(name.to_owned(), volume.to_owned());
        } else {
            provisioned.insert(name.to_owned());
        }
    }
    let mut had = serde_json::Map::new();
    if !takes.is_empty() {
        had.insert("takes".to_owned(), json!(takes));
    }
    if !provisioned.is_empty() {
        had.insert("provisioned".to_owned(), json!(provisioned));
    }
    Value::Object(had)
}

/// The names of a pod's claims, also of those that are made for it.
fn claims_of(pod: &Value) -> BTreeSet<String> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let claim = |volume: &Value| match volume["persistentVolumeClaim"]["claimName"].as_str() {
        Some(name) => Some(name.to_owned()),
        None if volume["ephemeral"].is_null() => None,
        None => Some(format!("{}-{}", pod["metadata"]["name"].as_str()?, volume["name"].as_str()?)),
    };
    volumes.filter_map(claim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> Value {
        let node = |name: &str| {
            let room = json!({ "cpu": "4", "memory": "8Gi", "pods": "10" });
            json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": { "in": name } },
                "status": { "capacity": room, "allocatable": room } })
        };
        let class = json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": "fast" },
            "provisioner": "a.example.com", "volumeBindingMode": "WaitForFirstConsumer" });
        let only = json!({ "nodeSelectorTerms": [
            { "matchExpressions": [{ "key": "in", "operator": "In", "values": ["a"] }] },
        ] });
        let volume = json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": "pv" },
            "spec": { "capacity": { "storage": "2Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "csi": { "driver": "a.example.com", "volumeHandle": "h" }, "nodeAffinity": { "required": only } },
            "status": { "phase": "Available" } });
        let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": { "name": "c", "namespace": "default" },
            "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "resources": { "requests": { "storage": "1Gi" } } } });
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "namespace": "default" },
            "spec": { "containers": [{ "name": "c", "image": "i" }],
                "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": "c" } }] } });
        json!({ "objects": [node("a"), node("b"), class, volume, claim], "pod": pod })
    }

    #[test]
    fn a_claim_takes_a_volume_where_there_is_one_and_is_provisioned_elsewhere() {
        let wanted = json!({ "a": { "takes": { "c": "pv" } }, "b": { "provisioned": ["c"] } });
        assert_eq!(answer(&case()).expect("an answer"), wanted);
    }

    #[test]
    fn what_is_not_bound_before_the_scheduler_looks_is_not_bound_for_it() {
        let mut case = case();
        case["objects"][2]["volumeBindingMode"] = json!("Immediate");
        assert_eq!(answer(&case).expect("an answer"), json!({}));
    }
}
