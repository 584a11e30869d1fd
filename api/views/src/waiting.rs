//! Pods that wait for a node, as rows: since when, and why.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::facts::Facts;
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;
use serde_json::{Map, Value, json};

/// What a pod says of itself beyond what decisions need.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodNote {
    /// Its condition `PodScheduled`.
    pub scheduled: Option<Told>,
    /// Its condition `DisruptionTarget`, if it is to be evicted.
    pub disrupted: Option<Told>,
}

/// A condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Whether it is `True`.
    pub holds: bool,
    /// Its reason.
    pub reason: Arc<str>,
    /// Its message.
    pub message: Arc<str>,
    /// Since when it is so.
    pub since: Option<Timestamp>,
}

/// A pod that waits.
#[derive(Clone, Debug)]
pub struct WaitingPod {
    /// The pod.
    pub pod: Arc<Pod>,
    /// What it says of itself.
    pub note: PodNote,
}

/// The pods that wait, by uid.
pub type WaitingPods = BTreeMap<PodUid, WaitingPod>;

impl WaitingPod {
    /// The pod as a row.
    #[must_use]
    pub fn document(&self, facts: &Facts) -> Value {
        let pod = &self.pod;
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        put("uid", json!(*pod.uid));
        put("namespace", json!(*pod.id.namespace));
        put("name", json!(*pod.id.name));
        put("scheduler", json!(*pod.scheduler));
        put("priority", json!(pod.priority));
        if let Some(created) = pod.created {
            put("since", json!(created.to_string()));
        }
        if let Some(group) = facts.groups.gang_of(pod) {
            put("group", json!(group.name.to_string()));
        }
        if let Some(node) = &pod.nominated_node {
            put("nominatedNode", json!(**node));
        }
        let refused = self.note.scheduled.as_ref().filter(|told| !told.holds);
        let state = match refused {
            _ if !pod.gates.is_empty() => "Gated",
            Some(_) => "Unschedulable",
            None => "Queued",
        };
        put("state", json!(state));
        if !pod.gates.is_empty() {
            put("gates", json!(pod.gates.iter().map(|gate| &**gate).collect::<Vec<_>>()));
        }
        if let Some(told) = refused {
            put("reason", json!(*told.reason));
            put("message", json!(*told.message));
        }
        let claims: Vec<String> = pod.claim_ids().map(|claim| claim.name.to_string()).collect();
        if !claims.is_empty() {
            put("claims", json!(claims));
        }
        Value::Object(fields)
    }
}
