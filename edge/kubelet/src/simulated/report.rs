//! What a simulated node says of itself: that it is ready, and that it lives.

use model::timestamp::Timestamp;
use objects::coordination::{Lease, LeaseSpec};
use objects::core::node::Node;
use objects::meta::{ObjectMeta, OwnerReference};
use objects::{MicroTime, Object};
use serde_json::{Value, json};

/// Where the leases of nodes are.
pub(crate) const LEASES: &str = "kube-node-lease";

/// How long a node counts as alive after a sign of life, in seconds.
const LEASE_SECONDS: i32 = 40;

/// A patch of the status of a node that has not said that it is ready; nothing if it has.
pub(crate) fn ready(node: &Node, now: Timestamp) -> Option<Value> {
    let is_ready = |condition: &objects::core::node::NodeCondition| {
        condition.type_ == "Ready" && condition.status == "True"
    };
    if node.status.conditions.iter().any(is_ready) {
        return None;
    }
    let now = now.to_seconds().to_string();
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "this node is simulated",
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    });
    let machine = json!({
        "architecture": "", "bootID": "", "containerRuntimeVersion": "simulated", "kernelVersion": "",
        "kubeProxyVersion": "", "kubeletVersion": concat!("supercargo-", env!("CARGO_PKG_VERSION")),
        "machineID": "", "operatingSystem": "linux", "osImage": "simulated", "systemUUID": "",
    });
    let mut status = json!({ "conditions": [ready], "nodeInfo": machine });
    if node.status.capacity.is_empty() {
        status["capacity"] = json!(node.status.allocatable);
    }
    if node.status.addresses.is_empty() {
        status["addresses"] = json!([{ "type": "Hostname", "address": node.metadata.name }]);
    }
    Some(json!({ "metadata": { "uid": node.metadata.uid }, "status": status }))
}

/// The lease of a node that has none.
pub(crate) fn lease(node: &Node, now: Timestamp) -> Lease {
    let owner = OwnerReference {
        api_version: Node::API_VERSION.to_owned(),
        kind: Node::KIND.to_owned(),
        name: node.metadata.name.clone(),
        uid: node.metadata.uid.clone(),
        ..OwnerReference::default()
    };
    Lease {
        metadata: ObjectMeta {
            name: node.metadata.name.clone(),
            namespace: LEASES.to_owned(),
            owner_references: vec![owner],
            ..ObjectMeta::default()
        },
        spec: LeaseSpec {
            holder_identity: Some(node.metadata.name.clone()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            renew_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        },
        ..Lease::default()
    }
}

/// A sign of life, as a patch of the lease.
pub(crate) fn renewal(node: &Node, now: Timestamp) -> Value {
    json!({ "spec": { "holderIdentity": node.metadata.name, "renewTime": MicroTime(now) } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(conditions: &Value) -> Node {
        let status = json!({ "allocatable": { "cpu": "8" }, "conditions": conditions });
        let node = json!({ "metadata": { "name": "n", "uid": "u" }, "status": status });
        serde_json::from_value(node).expect("a node")
    }

    #[test]
    fn a_node_says_once_that_it_is_ready() {
        let now = Timestamp::parse("2026-01-02T03:04:05.5Z").expect("a time");
        let said = ready(&node(&json!([])), now).expect("it has not said so yet");
        assert_eq!(said["status"]["conditions"][0]["lastHeartbeatTime"], "2026-01-02T03:04:05Z");
        assert_eq!(said["status"]["capacity"], json!({ "cpu": "8" }));
        let not = node(&json!([{ "type": "Ready", "status": "Unknown" }]));
        assert!(ready(&not, now).is_some());
        assert_eq!(ready(&node(&json!([{ "type": "Ready", "status": "True" }])), now), None);
    }

    #[test]
    fn a_lease_belongs_to_its_node_and_is_renewed_to_the_microsecond() {
        let now = Timestamp::parse("2026-01-02T03:04:05.5Z").expect("a time");
        let lease = serde_json::to_value(lease(&node(&json!([])), now)).expect("it can be written");
        assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], "u");
        let renewed = renewal(&node(&json!([])), now);
        assert_eq!(renewed["spec"]["renewTime"], "2026-01-02T03:04:05.500000Z");
        assert_eq!(lease["spec"]["renewTime"], renewed["spec"]["renewTime"]);
    }
}
