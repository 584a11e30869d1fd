//! Jobs: pods that run to completion.

use crate::core::pod::PodTemplateSpec;
use crate::meta::{LabelSelector, ObjectMeta};
use crate::scheduling::job::JobSchedulingPolicy;
use crate::scheduling::pod_group::{DisruptionMode, PodGroupResourceClaim, PodGroupSchedulingConstraints};
use crate::value::Time;
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
        managed_by: Option<String> = "managedBy",
        manual_selector: Option<bool> = "manualSelector",
        max_failed_indexes: Option<i32> = "maxFailedIndexes",
        parallelism: Option<i32> = "parallelism",
        pod_failure_policy: Option<PodFailurePolicy> = "podFailurePolicy",
        pod_replacement_policy: Option<String> = "podReplacementPolicy",
        scheduling: Option<JobScheduling> = "scheduling",
        selector: Option<LabelSelector> = "selector",
        success_policy: Option<SuccessPolicy> = "successPolicy",
        suspend: Option<bool> = "suspend",
        template: PodTemplateSpec = "template",
        ttl_seconds_after_finished: Option<i32> = "ttlSecondsAfterFinished",
    }
}

wire! {
    /// What becomes of failures: the first rule that applies decides.
    pub struct PodFailurePolicy {
        rules: Vec<PodFailurePolicyRule> = "rules",
    }
}

wire! {
    /// What to do about pods that failed like this; by exit codes or by conditions.
    pub struct PodFailurePolicyRule {
        action: String = "action",
        on_exit_codes: Option<PodFailurePolicyOnExitCodesRequirement> = "onExitCodes",
        on_pod_conditions: Vec<PodFailurePolicyOnPodConditionsPattern> = "onPodConditions",
    }
}

wire! {
    /// Exit codes of a container, or of any.
    pub struct PodFailurePolicyOnExitCodesRequirement {
        container_name: Option<String> = "containerName",
        operator: String = "operator",
        values: Vec<i32> = "values",
    }
}

wire! {
    /// A condition of a pod.
    pub struct PodFailurePolicyOnPodConditionsPattern {
        status: String = "status",
        type_: String = "type",
    }
}

wire! {
    /// When an indexed job has succeeded before all of its indexes have: one rule that applies is enough.
    pub struct SuccessPolicy {
        rules: Vec<SuccessPolicyRule> = "rules",
    }
}

wire! {
    /// Which indexes, or how many of them, are to succeed.
    pub struct SuccessPolicyRule {
        succeeded_count: Option<i32> = "succeededCount",
        succeeded_indexes: Option<String> = "succeededIndexes",
    }
}

wire! {
    /// How the pods of a job are scheduled together.
    pub struct JobScheduling {
        disruption_mode: Option<DisruptionMode> = "disruptionMode",
        resource_claims: Vec<PodGroupResourceClaim> = "resourceClaims",
        scheduling_constraints: Option<PodGroupSchedulingConstraints> = "schedulingConstraints",
        scheduling_policy: Option<JobSchedulingPolicy> = "schedulingPolicy",
    }
}

wire! {
    /// How far it is.
    pub struct JobStatus {
        active: i32 = "active",
        completed_indexes: String = "completedIndexes",
        completion_time: Option<Time> = "completionTime",
        conditions: Vec<JobCondition> = "conditions",
        failed: i32 = "failed",
        failed_indexes: Option<String> = "failedIndexes",
        ready: Option<i32> = "ready",
        start_time: Option<Time> = "startTime",
        succeeded: i32 = "succeeded",
        terminating: Option<i32> = "terminating",
        uncounted_terminated_pods: Option<UncountedTerminatedPods> = "uncountedTerminatedPods",
    }
}

wire! {
    /// Pods that ended and are not in the counters yet, by uid.
    pub struct UncountedTerminatedPods {
        failed: Vec<String> = "failed",
        succeeded: Vec<String> = "succeeded",
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
