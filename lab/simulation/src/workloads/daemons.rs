//! Pods of a DaemonSet: one for each node that it may run on, which says by its node affinity which node that is.

use std::collections::{BTreeMap, BTreeSet};

use controllers::node_taints::bears;
use model::node::NAME_FIELD;
use objects::core::affinity::Toleration;
use objects::core::node::Node;
use objects::core::pod::{PodSpec, PodTemplateSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{hash_of, pod_of};
use crate::manifest::BadInput;
use crate::shelf::Key;
use crate::simulation::Simulation;

/// Where required node affinity is in the spec of a pod.
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// Taints that pods of all daemon sets tolerate.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// One that pods in the network of their node tolerate besides.
const TOLERATED_IN_HOST_NETWORK: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

impl Simulation {
    /// Makes a pod for each node that a set may run on and has none on.
    pub(super) fn make_daemons(
        &mut self,
        key: &Key,
        pods: &BTreeMap<String, Vec<Key>>,
    ) -> Result<(), BadInput> {
        let Some(set) = self.shelf.get(key).cloned() else { return Ok(()) };
        let template = PodTemplateSpec::deserialize(&set["spec"]["template"]);
        let PodTemplateSpec { mut spec, .. } =
            template.map_err(|error| self.workloads.bad(key, &error.to_string()))?;
        let wanted = if spec.host_network { Some(TOLERATED_IN_HOST_NETWORK) } else { None };
        for (key, effect) in TOLERATED.into_iter().chain(wanted) {
            let toleration = Toleration {
                key: key.to_owned(),
                operator: "Exists".to_owned(),
                effect: effect.to_owned(),
                ..Toleration::default()
            };
            if !spec.tolerations.contains(&toleration) {
                spec.tolerations.push(toleration);
            }
        }
        let uid = set["metadata"]["uid"].as_str().unwrap_or_default();
        let given = pods.get(uid).into_iter().flatten().filter_map(|pod| self.shelf.get(pod));
        let served: BTreeSet<String> = given.filter_map(node_of).map(str::to_owned).collect();
        let nodes = self.shelf.read_all::<Node>().map(|(_, node)| node);
        let nodes: Vec<String> = nodes
            .filter(|node| !served.contains(&node.metadata.name) && runs_on(&spec, node))
            .map(|node| node.metadata.name)
            .collect();
        self.workloads.check_count(key, nodes.len())?;
        let mut pod = pod_of(key, &set, &set["spec"]["template"]);
        pod["metadata"]["generateName"] = json!(format!("{}-", key.name));
        pod["metadata"]["labels"]["controller-revision-hash"] = json!(hash_of(&set["spec"]["template"]));
        pod["metadata"]["labels"]["pod-template-generation"] = json!("1");
        pod["spec"]["tolerations"] = json!(spec.tolerations);
        for node in &nodes {
            let mut pod = pod.clone();
            // The node was chosen by the affinity of the template, which need not be asked again.
            let field = json!({ "key": NAME_FIELD, "operator": "In", "values": [node] });
            pod["spec"]["affinity"]["nodeAffinity"][REQUIRED] =
                json!({ "nodeSelectorTerms": [{ "matchFields": [field] }] });
            self.make_for(key, pod)?;
        }
        self.workloads.count(key, nodes.len());
        Ok(())
    }
}

/// The node that a pod of a daemon set is for.
fn node_of(pod: &Value) -> Option<&str> {
    let bound = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty());
    let terms = &pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"];
    bound.or_else(|| terms[0]["matchFields"][0]["values"][0].as_str())
}

/// Whether a daemon set has a pod on a node, with the tolerations that it adds.
fn runs_on(spec: &PodSpec, node: &Node) -> bool {
    let is_named = spec.node_name.is_empty() || spec.node_name == node.metadata.name;
    let labels = &node.metadata.labels;
    let is_selected = spec.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required =
        affinity.and_then(|nodes| nodes.required_during_scheduling_ignored_during_execution.as_ref());
    let mut strict =
        node.spec.taints.iter().filter(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute"));
    is_named
        && is_selected
        && required.is_none_or(|nodes| nodes.picks(node))
        && strict.all(|taint| spec.tolerations.iter().any(|one| bears(one, taint, false)))
}
