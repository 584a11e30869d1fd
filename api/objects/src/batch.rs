//! Jobs: pods that run to completion.

use crate::core::pod::PodTemplateSpec;
use crate::meta::{LabelSelector, ObjectMeta};
use crate::value::Time;
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// A task that ends.
    pub object Job of "batch/v1" {
        metadata: ObjectMeta = "metadata",
        spec: JobSpec = "spec",
        status: JobStatus = "status",
    }
}

wire! {
    /// How many pods, how often, and how they are scheduled.
    pub struct JobSpec {
        active_deadline_seconds: Option<i64> = "activeDeadlineSeconds",
        backoff_limit: Option<i32> = "backoffLimit",
        backoff_limit_per_index: Option<i32> = "backoffLimitPerIndex",
        completion_mode: Option<String> = "completionMode",
        completions: Option<i32> = "completions",
        manual_selector: Option<bool> = "manualSelector",
        parallelism: Option<i32> = "parallelism",
        pod_failure_policy: Option<Raw> = "podFailurePolicy",
        pod_replacement_policy: Option<String> = "podReplacementPolicy",
        scheduling: Option<Raw> = "scheduling",
        selector: Option<LabelSelector> = "selector",
        suspend: Option<bool> = "suspend",
        template: PodTemplateSpec = "template",
        ttl_seconds_after_finished: Option<i32> = "ttlSecondsAfterFinished",
    }
}

wire! {
    /// How far it is.
    pub struct JobStatus {
        active: i32 = "active",
        completion_time: Option<Time> = "completionTime",
        conditions: Vec<JobCondition> = "conditions",
        failed: i32 = "failed",
        ready: Option<i32> = "ready",
        start_time: Option<Time> = "startTime",
        succeeded: i32 = "succeeded",
    }
}

wire! {
    /// An observation of a job, such as `Complete`.
    pub struct JobCondition {
        last_probe_time: Option<Time> = "lastProbeTime",
        last_transition_time: Option<Time> = "lastTransitionTime",
        message: String = "message",
        reason: String = "reason",
        status: String = "status",
        type_: String = "type",
    }
}
