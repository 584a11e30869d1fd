//! Replica sets and stateful sets, as owners of pods.

use crate::core::pod::PodTemplateSpec;
use crate::meta::{LabelSelector, ObjectMeta};
use crate::value::IntOrString;
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
        template: PodTemplateSpec = "template",
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
        min_ready_seconds: i32 = "minReadySeconds",
        pod_management_policy: String = "podManagementPolicy",
        replicas: Option<i32> = "replicas",
        selector: Option<LabelSelector> = "selector",
        service_name: String = "serviceName",
        template: PodTemplateSpec = "template",
        update_strategy: StatefulSetUpdateStrategy = "updateStrategy",
        volume_claim_templates: Vec<VolumeClaimTemplate> = "volumeClaimTemplates",
    }
}

wire! {
    /// How many there are.
    pub struct StatefulSetStatus {
        replicas: i32 = "replicas",
        observed_generation: i64 = "observedGeneration",
    }
}

wire! {
    /// How a change of the template reaches the pods.
    pub struct StatefulSetUpdateStrategy {
        rolling_update: Option<RollingUpdateStatefulSetStrategy> = "rollingUpdate",
        type_: String = "type",
    }
}

wire! {
    /// Which pods are replaced, and how many at a time.
    pub struct RollingUpdateStatefulSetStrategy {
        max_unavailable: Option<IntOrString> = "maxUnavailable",
        partition: Option<i32> = "partition",
    }
}

wire! {
    /// A claim that is made for each pod.
    pub struct VolumeClaimTemplate {
        metadata: ObjectMeta = "metadata",
    }
}
