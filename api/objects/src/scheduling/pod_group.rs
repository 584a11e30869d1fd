//! Pod groups: pods that are scheduled together.

use crate::meta::{Condition, ObjectMeta};
use crate::wire::wire;

wire! {
    /// Pods that are scheduled together.
    pub object PodGroup of "scheduling.k8s.io/v1beta1" {
        metadata: ObjectMeta = "metadata",
        spec: PodGroupSpec = "spec",
        status: PodGroupStatus = "status",
    }
}

wire! {
    /// How the group is scheduled.
    pub struct PodGroupSpec {
        disruption_mode: Option<DisruptionMode> = "disruptionMode",
        parent_composite_pod_group_name: Option<String> = "parentCompositePodGroupName",
        preemption_policy: Option<String> = "preemptionPolicy",
        priority: Option<i32> = "priority",
        priority_class_name: String = "priorityClassName",
        resource_claims: Vec<PodGroupResourceClaim> = "resourceClaims",
        scheduling_constraints: Option<PodGroupSchedulingConstraints> = "schedulingConstraints",
        scheduling_policy: PodGroupSchedulingPolicy = "schedulingPolicy",
        workload_ref: Option<WorkloadReference> = "workloadRef",
    }
}

wire! {
    /// What became of the group.
    pub struct PodGroupStatus {
        conditions: Vec<Condition> = "conditions",
        resource_claim_statuses: Vec<PodGroupResourceClaimStatus> = "resourceClaimStatuses",
    }
}

wire! {
    /// A claim that the group's pods share.
    pub struct PodGroupResourceClaim {
        name: String = "name",
        resource_claim_name: Option<String> = "resourceClaimName",
        resource_claim_template_name: Option<String> = "resourceClaimTemplateName",
    }
}

wire! {
    /// The claim that was made for an entry of `resourceClaims`.
    pub struct PodGroupResourceClaimStatus {
        name: String = "name",
        resource_claim_name: Option<String> = "resourceClaimName",
    }
}

wire! {
    /// Where the group's pods may be, relative to each other.
    pub struct PodGroupSchedulingConstraints {
        topology: Vec<TopologyConstraint> = "topology",
    }
}

wire! {
    /// All pods in one domain of this label.
    pub struct TopologyConstraint {
        key: String = "key",
    }
}

wire! {
    /// One by one, or all at once: exactly one is set.
    pub struct PodGroupSchedulingPolicy {
        basic: Option<BasicSchedulingPolicy> = "basic",
        gang: Option<GangSchedulingPolicy> = "gang",
    }
}

wire! {
    /// Pods are scheduled as they come.
    pub struct BasicSchedulingPolicy {
    }
}

wire! {
    /// At least this many pods at once, or none.
    pub struct GangSchedulingPolicy {
        min_count: i32 = "minCount",
    }
}

wire! {
    /// Whether pods of the group may be evicted one by one: exactly one is set.
    pub struct DisruptionMode {
        all: Option<AllDisruptionMode> = "all",
        single: Option<SingleDisruptionMode> = "single",
    }
}

wire! {
    /// One by one.
    pub struct SingleDisruptionMode {
    }
}

wire! {
    /// All or none.
    pub struct AllDisruptionMode {
    }
}

wire! {
    /// The workload and template that the group was made from.
    pub struct WorkloadReference {
        template_name: String = "templateName",
        workload_name: String = "workloadName",
    }
}
