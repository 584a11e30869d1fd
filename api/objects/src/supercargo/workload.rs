//! Our own workload: pod groups that pods join by label.

use crate::meta::{Condition, ObjectMeta};
use crate::wire::wire;

wire! {
    /// Pod groups that are placed as wholes.
    pub object Workload of "supercargo.dev/v1alpha1" {
        metadata: ObjectMeta = "metadata",
        spec: WorkloadSpec = "spec",
        status: WorkloadStatus = "status",
    }
}

wire! {
    /// The groups.
    pub struct WorkloadSpec {
        pod_groups: Vec<PodGroup> = "podGroups",
    }
}

wire! {
    /// One group and what must hold for its placement.
    pub struct PodGroup {
        name: String = "name",
        policy: PodGroupPolicy = "policy",
        replicas: Option<i32> = "replicas",
        scheduling_constraints: Option<PodGroupSchedulingConstraints> = "schedulingConstraints",
    }
}

wire! {
    /// One by one, or all at once: exactly one is set.
    pub struct PodGroupPolicy {
        basic: Option<BasicPolicy> = "basic",
        gang: Option<GangPolicy> = "gang",
    }
}

wire! {
    /// Pods are placed as they come.
    pub struct BasicPolicy {
    }
}

wire! {
    /// At least this many pods at once, or none.
    pub struct GangPolicy {
        binding_failure_policy: Option<String> = "bindingFailurePolicy",
        min_count: i32 = "minCount",
    }
}

wire! {
    /// Topology and devices that the group shares.
    pub struct PodGroupSchedulingConstraints {
        dra_constraints: Vec<DRAConstraint> = "draConstraints",
        topology_constraints: Vec<TopologyConstraint> = "topologyConstraints",
    }
}

wire! {
    /// All pods in one domain of a level.
    pub struct TopologyConstraint {
        level: String = "level",
        mode: String = "mode",
        rank: i32 = "rank",
    }
}

wire! {
    /// Claims that are met from one set of devices.
    pub struct DRAConstraint {
        match_attribute: Option<String> = "matchAttribute",
        resource_claim_name: Option<String> = "resourceClaimName",
        resource_claim_template_name: Option<String> = "resourceClaimTemplateName",
    }
}

wire! {
    /// What became of the groups.
    pub struct WorkloadStatus {
        conditions: Vec<Condition> = "conditions",
        observed_generation: i64 = "observedGeneration",
        pod_groups: Vec<PodGroupStatus> = "podGroups",
    }
}

wire! {
    /// What became of one group.
    pub struct PodGroupStatus {
        bound: i32 = "bound",
        conditions: Vec<Condition> = "conditions",
        name: String = "name",
        placed_replicas: i32 = "placedReplicas",
        replicas: Vec<ReplicaStatus> = "replicas",
    }
}

wire! {
    /// What became of one replica of a group.
    pub struct ReplicaStatus {
        bound: i32 = "bound",
        domains: Vec<ReplicaDomain> = "domains",
        message: String = "message",
        replica: String = "replica",
        waiting: i32 = "waiting",
    }
}

wire! {
    /// Where a replica is at one level.
    pub struct ReplicaDomain {
        level: String = "level",
        names: Vec<String> = "names",
    }
}
