//! Disruption budgets and evictions.

use std::collections::BTreeMap;

use crate::meta::{Condition, DeleteOptions, LabelSelector, ObjectMeta};
use crate::value::{IntOrString, Time};
use crate::wire::wire;

wire! {
    /// How many pods of a set may be down at once.
    pub object PodDisruptionBudget of "policy/v1" {
        metadata: ObjectMeta = "metadata",
        spec: PodDisruptionBudgetSpec = "spec",
        status: PodDisruptionBudgetStatus = "status",
    }
}

wire! {
    /// Which pods, and how many.
    pub struct PodDisruptionBudgetSpec {
        max_unavailable: Option<IntOrString> = "maxUnavailable",
        min_available: Option<IntOrString> = "minAvailable",
        selector: Option<LabelSelector> = "selector",
        unhealthy_pod_eviction_policy: Option<String> = "unhealthyPodEvictionPolicy",
    }
}

wire! {
    /// How many more may be evicted now.
    pub struct PodDisruptionBudgetStatus {
        conditions: Vec<Condition> = "conditions",
        current_healthy: i32 = "currentHealthy",
        desired_healthy: i32 = "desiredHealthy",
        disrupted_pods: BTreeMap<String, Time> = "disruptedPods",
        disruptions_allowed: i32 = "disruptionsAllowed",
        expected_pods: i32 = "expectedPods",
        observed_generation: i64 = "observedGeneration",
    }
}

wire! {
    /// The wish to remove a pod if its budgets allow.
    pub object Eviction of "policy/v1" {
        delete_options: Option<DeleteOptions> = "deleteOptions",
        metadata: ObjectMeta = "metadata",
    }
}
