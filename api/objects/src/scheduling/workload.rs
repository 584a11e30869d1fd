//! Workloads: templates for pod groups.

use crate::meta::ObjectMeta;
use crate::scheduling::pod_group::{
    DisruptionMode, PodGroupResourceClaim, PodGroupSchedulingConstraints, PodGroupSchedulingPolicy,
    TopologyConstraint,
};
use crate::wire::wire;

wire! {
    /// Templates from which a controller makes pod groups.
    pub object Workload of "scheduling.k8s.io/v1beta1" {
        metadata: ObjectMeta = "metadata",
        spec: WorkloadSpec = "spec",
    }
}

wire! {
    /// The templates: either plain groups or trees of groups.
    pub struct WorkloadSpec {
        composite_pod_group_templates: Vec<CompositePodGroupTemplate> = "compositePodGroupTemplates",
        controller_ref: Option<TypedLocalObjectReference> = "controllerRef",
        pod_group_templates: Vec<PodGroupTemplate> = "podGroupTemplates",
    }
}

wire! {
    /// The object that the workload belongs to.
    pub struct TypedLocalObjectReference {
        api_group: String = "apiGroup",
        kind: String = "kind",
        name: String = "name",
    }
}

wire! {
    /// A pod group to be made.
    pub struct PodGroupTemplate {
        disruption_mode: Option<DisruptionMode> = "disruptionMode",
        name: String = "name",
        preemption_policy: Option<String> = "preemptionPolicy",
        priority: Option<i32> = "priority",
        priority_class_name: String = "priorityClassName",
        resource_claims: Vec<PodGroupResourceClaim> = "resourceClaims",
        scheduling_constraints: Option<PodGroupSchedulingConstraints> = "schedulingConstraints",
        scheduling_policy: PodGroupSchedulingPolicy = "schedulingPolicy",
    }
}

wire! {
    /// A group of groups to be made.
    pub struct CompositePodGroupTemplate {
        composite_pod_group_templates: Vec<CompositePodGroupTemplate> = "compositePodGroupTemplates",
        disruption_mode: Option<CompositeDisruptionMode> = "disruptionMode",
        name: String = "name",
        pod_group_templates: Vec<PodGroupTemplate> = "podGroupTemplates",
        preemption_policy: Option<String> = "preemptionPolicy",
        priority: Option<i32> = "priority",
        priority_class_name: String = "priorityClassName",
        scheduling_constraints: Option<CompositePodGroupSchedulingConstraints> = "schedulingConstraints",
        scheduling_policy: CompositePodGroupSchedulingPolicy = "schedulingPolicy",
    }
}

wire! {
    /// One by one, or all at once: exactly one is set.
    pub struct CompositePodGroupSchedulingPolicy {
        basic: Option<CompositeBasicSchedulingPolicy> = "basic",
        gang: Option<CompositeGangSchedulingPolicy> = "gang",
    }
}

wire! {
    /// Groups are scheduled as they come.
    pub struct CompositeBasicSchedulingPolicy {
    }
}

wire! {
    /// At least this many groups at once, or none.
    pub struct CompositeGangSchedulingPolicy {
        min_group_count: i32 = "minGroupCount",
    }
}

wire! {
    /// Where the groups may be, relative to each other.
    pub struct CompositePodGroupSchedulingConstraints {
        topology: Vec<TopologyConstraint> = "topology",
    }
}

wire! {
    /// Whether groups may be evicted one by one: exactly one is set.
    pub struct CompositeDisruptionMode {
        all: Option<AllCompositeDisruptionMode> = "all",
        single: Option<SingleCompositeDisruptionMode> = "single",
    }
}

wire! {
    /// One by one.
    pub struct SingleCompositeDisruptionMode {
    }
}

wire! {
    /// All or none.
    pub struct AllCompositeDisruptionMode {
    }
}
