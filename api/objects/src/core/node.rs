//! Nodes: what there is to run pods on.

use std::collections::BTreeMap;

use crate::meta::ObjectMeta;
use crate::value::{Quantity, Time};
use crate::wire::{Raw, wire};

wire! {
    /// A machine that runs pods.
    pub object Node of "v1" {
        metadata: ObjectMeta = "metadata",
        spec: NodeSpec = "spec",
        status: NodeStatus = "status",
    }
}

wire! {
    /// What the node is to be.
    pub struct NodeSpec {
        config_source: Option<Raw> = "configSource",
        external_id: String = "externalID",
        pod_cidr: String = "podCIDR",
        pod_cidrs: Vec<String> = "podCIDRs",
        pod_preemption_policy: Option<Raw> = "podPreemptionPolicy",
        provider_id: String = "providerID",
        taints: Vec<Taint> = "taints",
        unschedulable: bool = "unschedulable",
    }
}

wire! {
    /// What the node is now.
    pub struct NodeStatus {
        addresses: Vec<NodeAddress> = "addresses",
        allocatable: BTreeMap<String, Quantity> = "allocatable",
        capacity: BTreeMap<String, Quantity> = "capacity",
        conditions: Vec<NodeCondition> = "conditions",
        config: Option<Raw> = "config",
        declared_features: Vec<String> = "declaredFeatures",
        images: Vec<ContainerImage> = "images",
        node_info: NodeSystemInfo = "nodeInfo",
    }
}

wire! {
    /// What the node's machine is.
    pub struct NodeSystemInfo {
        swap: Option<NodeSwapStatus> = "swap",
    }
}

wire! {
    /// Memory that can be moved to disk.
    pub struct NodeSwapStatus {
        capacity: Option<i64> = "capacity",
    }
}

wire! {
    /// An address of the node.
    pub struct NodeAddress {
        address: String = "address",
        type_: String = "type",
    }
}

wire! {
    /// An observation of a node, such as `Ready`.
    pub struct NodeCondition {
        last_heartbeat_time: Option<Time> = "lastHeartbeatTime",
        last_transition_time: Option<Time> = "lastTransitionTime",
        message: String = "message",
        reason: String = "reason",
        status: String = "status",
        type_: String = "type",
    }
}

wire! {
    /// An image that the node already has.
    pub struct ContainerImage {
        names: Vec<String> = "names",
        size_bytes: i64 = "sizeBytes",
    }
}

wire! {
    /// A reason to keep pods off the node.
    pub struct Taint {
        effect: String = "effect",
        key: String = "key",
        time_added: Option<Time> = "timeAdded",
        value: String = "value",
    }
}
