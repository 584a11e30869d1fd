//! What a simulated node says of itself: whether it is ready, and that it lives.

use std::time::Duration;

use model::timestamp::Timestamp;
use objects::coordination::{Lease, LeaseSpec};
use objects::core::node::Node;
use objects::meta::{ObjectMeta, OwnerReference};
use objects::{MicroTime, Object};
use serde_json::{Value, json};

use super::FAULT;

/// Where the leases of nodes are.
pub const LEASES: &str = "kube-node-lease";

/// How long a node counts as alive after a sign of life, in seconds.
const LEASE_SECONDS: i32 = 40;

/// Whether a node gives signs of life, and does anything.
pub fn lives(node: &Node) -> bool {
    fault(node) != Some("lost")
}

fn fault(node: &Node) -> Option<&str> {
    node.metadata.annotations.get(FAULT).map(String::as_str)
}

/// A patch of the status of a node that has not said whether it is ready; nothing if it has.
pub fn ready(node: &Node, now: Timestamp) -> Option<Value> {
    let (status, reason, message) = match fault(node) {
        Some("not-ready") => (
            "False",
            "KubeletNotReady",
            "this node is simulated, and annotation \
            supercargo.dev/fault makes it not ready",
        ),
        _ => ("True", "KubeletReady", "this node is simulated"),
    };
    let is_said = |condition: &objects::core::node::NodeCondition| {
        condition.type_ == "Ready" && condition.status == status
    };
    if node.status.conditions.iter().any(is_said) {
        return None;
    }
    let now = now.to_seconds().to_string();
    let ready = json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
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

/// How long until the next sign of life of a node, so long after the first could have been. Each node has its own moment in
/// the time between two signs, so that nodes that begin together do not go on together.
pub fn until_sign(node: &str, since: Duration, period: Duration) -> Duration {
    // FNV-1a, with its upper bits mixed into the lower ones: names that differ in their last digit are to be far apart.
    let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let sum = node.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    let part = (sum ^ (sum >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let period = micros(period).max(1);
    let moment = period.saturating_mul(part) / 1024;
    let passed = micros(since) % period;
    Duration::from_micros(if moment > passed { moment - passed } else { period + moment - passed })
}

/// The lease of a node that has none.
pub fn lease(node: &Node, now: Timestamp) -> Lease {
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
pub fn renewal(node: &Node, now: Timestamp) -> Value {
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
    fn a_node_that_is_told_so_is_not_ready_or_lost() {
        let now = Timestamp::parse("2026-01-02T03:04:05.5Z").expect("a time");
        let mut node = node(&json!([{ "type": "Ready", "status": "True" }]));
        node.metadata.annotations.insert(FAULT.to_owned(), "not-ready".to_owned());
        let said = ready(&node, now).expect("it was ready");
        assert_eq!(said["status"]["conditions"][0]["status"], "False");
        assert!(lives(&node));
        node.metadata.annotations.insert(FAULT.to_owned(), "lost".to_owned());
        assert!(!lives(&node));
    }

    #[test]
    fn signs_of_life_are_spread_over_the_time_between_them() {
        let (period, start) = (Duration::from_secs(10), Duration::from_secs(7));
        let mut slots = [0; 10];
        for number in 0..5000 {
            let name = format!("node-{number}");
            let wait = until_sign(&name, start, period);
            assert!(!wait.is_zero() && wait <= period, "{wait:?}");
            assert_eq!(until_sign(&name, start + wait, period), period);
            slots[usize::try_from(wait.as_micros() * 10 / 10_000_001).expect("a small number")] += 1;
        }
        assert!(slots.iter().all(|count| (400..600).contains(count)), "{slots:?}");
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
