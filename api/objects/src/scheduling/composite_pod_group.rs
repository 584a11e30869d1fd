//! Composite pod groups: groups of groups.

use crate::meta::{Condition, ObjectMeta};
use crate::scheduling::pod_group::WorkloadReference;
use crate::scheduling::workload::{
    CompositeDisruptionMode, CompositePodGroupSchedulingConstraints, CompositePodGroupSchedulingPolicy,
};
use crate::wire::wire;

wire! {
    /// Groups that are scheduled together.
    pub object CompositePodGroup of "scheduling.k8s.io/v1alpha3" {
        metadata: ObjectMeta = "metadata",
        spec: CompositePodGroupSpec = "spec",
        status: CompositePodGroupStatus = "status",
    }
}

wire! {
    /// How the groups are scheduled.
    pub struct CompositePodGroupSpec {
        disruption_mode: Option<CompositeDisruptionMode> = "disruptionMode",
        parent_composite_pod_group_name: Option<String> = "parentCompositePodGroupName",
        preemption_policy: Option<String> = "preemptionPolicy",
        priority: Option<i32> = "priority",
        priority_class_name: String = "priorityClassName",
        scheduling_constraints: Option<CompositePodGroupSchedulingConstraints> = "schedulingConstraints",
        scheduling_policy: CompositePodGroupSchedulingPolicy = "schedulingPolicy",
        workload_ref: Option<WorkloadReference> = "workloadRef",
    }
}

wire! {
    /// What became of the groups.
    pub struct CompositePodGroupStatus {
        conditions: Vec<Condition> = "conditions",
    }
}
