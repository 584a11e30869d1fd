//! Replica sets and stateful sets, as owners of pods.

use crate::meta::{LabelSelector, ObjectMeta};
use crate::wire::wire;

wire! {
    /// Keeps a number of like pods running.
    pub object ReplicaSet of "apps/v1" {
        metadata: ObjectMeta = "metadata",
        spec: ReplicaSetSpec = "spec",
        status: ReplicaSetStatus = "status",
    }
}

wire! {
    /// How many pods, and which.
    pub struct ReplicaSetSpec {
        min_ready_seconds: i32 = "minReadySeconds",
        replicas: Option<i32> = "replicas",
        selector: Option<LabelSelector> = "selector",
    }
}

wire! {
    /// How many there are.
    pub struct ReplicaSetStatus {
        replicas: i32 = "replicas",
        observed_generation: i64 = "observedGeneration",
    }
}

wire! {
    /// Keeps a number of pods with names of their own.
    pub object StatefulSet of "apps/v1" {
        metadata: ObjectMeta = "metadata",
        spec: StatefulSetSpec = "spec",
        status: StatefulSetStatus = "status",
    }
}

wire! {
    /// How many pods, and which.
    pub struct StatefulSetSpec {
        replicas: Option<i32> = "replicas",
        selector: Option<LabelSelector> = "selector",
        service_name: String = "serviceName",
    }
}

wire! {
    /// How many there are.
    pub struct StatefulSetStatus {
        replicas: i32 = "replicas",
        observed_generation: i64 = "observedGeneration",
    }
}
