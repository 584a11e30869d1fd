//! Pods: defaults, what the server decides, what belongs to features, and who checks what.

use gates::Gate;
use objects::core::container::Container;
use objects::core::pod::{Pod, PodCondition};
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context, Gated, strip};
use crate::kinds::image;
use crate::kinds::pod_placement;
use crate::kinds::pod_priority;
use crate::kinds::pod_resources;
use crate::kinds::pod_spec::{self, MIRROR, Owner};
use crate::kinds::pod_status;
use crate::kinds::pod_update;
use crate::kinds::pod_warnings;
use crate::rejection::Rejection;
use crate::same::same;

/// Annotations of releases in which init containers were no fields yet.
const OLD_ANNOTATIONS: [&str; 4] = [
    "pod.alpha.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.beta.kubernetes.io/init-containers",
];
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

impl Admit for Pod {
    const COUNTS_GENERATIONS: bool = true;
    const STATUS_KEEPS_METADATA: bool = false;

    fn set_defaults(&mut self, _context: &Context<'_>) {
        pod_spec::set_defaults(&mut self.spec);
        pod_resources::set_defaults(&mut self.spec);
        let spec = &mut self.spec;
        spec.enable_service_links.get_or_insert(true);
        if spec.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0) {
            spec.termination_grace_period_seconds = Some(1);
        }
        if spec.host_network {
            let ports = containers_mut(self).flat_map(|container| &mut container.ports);
            for port in ports.filter(|port| port.host_port == 0) {
                port.host_port = port.container_port;
            }
        }
        pod_status::set_defaults(&mut self.status);
    }

    fn mutate(&mut self, old: Option<&Self>, context: &Context<'_>) -> Result<(), Rejection> {
        pod_priority::tolerate_lost_nodes(&mut self.spec.tolerations);
        pod_priority::mutate(&mut self.spec, old.map(|old| &old.spec), context)
    }

    fn prepare_create(&mut self, context: &Context<'_>) {
        self.status = Default::default();
        "Pending".clone_into(&mut self.status.phase);
        strip(GATED, self, None, context);
        drop_old_annotations(self);
        if !self.spec.scheduling_gates.is_empty() {
            self.status.conditions.push(gated(context));
        }
        pod_placement::merge_label_keys(&mut self.spec, &self.metadata.labels, context);
        pod_resources::complete(&mut self.spec);
        pod_resources::service_class(&self.spec).clone_into(&mut self.status.qos_class);
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        self.status.clone_from(&old.status);
        if self.spec.resources.is_none() {
            self.spec.resources.clone_from(&old.spec.resources);
        }
        strip(GATED, self, Some(old), context);
        drop_old_annotations(self);
    }

    fn prepare_status(&mut self, old: &Self, context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
        self.metadata.owner_references.clone_from(&old.metadata.owner_references);
        pod_status::keep_unmentioned(&mut self.status, &old.status);
        strip(GATED, self, Some(old), context);
        drop_old_annotations(self);
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        validate_whole(self, None, context, causes);
        let spec = Path::ROOT.field("spec");
        if !self.spec.ephemeral_containers.is_empty() {
            causes.forbidden(&spec.field("ephemeralContainers"), "are added to a pod that runs");
        }
        if !self.spec.node_name.is_empty() && !self.spec.scheduling_gates.is_empty() {
            causes.forbidden(&spec.field("nodeName"), "cannot be set while there are schedulingGates");
        }
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        validate_whole(self, Some(old), context, causes);
        pod_update::validate_annotations(&self.metadata, &old.metadata, causes);
        pod_update::validate(&self.spec, &old.spec, causes);
    }

    fn validate_status(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        pod_update::validate_annotations(&self.metadata, &old.metadata, causes);
        validate_annotations(self, causes);
        pod_status::validate(self, old, context, causes);
    }

    fn same_spec(&self, old: &Self) -> bool {
        same("core.v1.PodSpec", &self.spec, &old.spec)
    }

    fn warnings_on_create(&self) -> Vec<String> {
        pod_warnings::on_create(self)
    }
}

fn containers_mut(pod: &mut Pod) -> impl Iterator<Item = &mut Container> {
    pod.spec.containers.iter_mut().chain(&mut pod.spec.init_containers)
}

fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    pod.spec.containers.iter().chain(&pod.spec.init_containers)
}

fn drop_old_annotations(pod: &mut Pod) {
    for key in OLD_ANNOTATIONS {
        pod.metadata.annotations.remove(key);
    }
}

/// Why a pod with gates is not scheduled.
fn gated(context: &Context<'_>) -> PodCondition {
    PodCondition {
        last_transition_time: Some(context.time()),
        message: model::pod::SCHEDULING_GATED.to_owned(),
        reason: "SchedulingGated".to_owned(),
        status: "False".to_owned(),
        type_: "PodScheduled".to_owned(),
        ..Default::default()
    }
}

/// The rules that hold for a pod whenever its spec is written.
fn validate_whole(pod: &Pod, old: Option<&Pod>, context: &Context<'_>, causes: &mut Causes) {
    validate_annotations(pod, causes);
    let path = Path::ROOT.field("spec");
    pod_spec::validate(
        &pod.spec,
        &pod.metadata,
        Owner::Pod,
        old.map(|old| &old.spec),
        &path,
        context,
        causes,
    );
    if pod.spec.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0) {
        causes.invalid(&path.field("terminationGracePeriodSeconds"), "must not be negative");
    }
    for (name, list) in [("containers", &pod.spec.containers), ("initContainers", &pod.spec.init_containers)]
    {
        for (index, container) in list.iter().enumerate() {
            image::validate_edges(&container.image, &path.field(name).index(index), causes);
        }
    }
}

fn validate_annotations(pod: &Pod, causes: &mut Causes) {
    let metadata = Path::ROOT.field("metadata");
    let path = metadata.field("annotations");
    let annotations = &pod.metadata.annotations;
    if annotations.contains_key(MIRROR) && pod.spec.node_name.is_empty() {
        causes.invalid(&path.key(MIRROR), "a mirror of a static pod is on a node");
    }
    if let Some(cost) = annotations.get(DELETION_COST) {
        let first = cost.bytes().next();
        let canonical = cost == "0" || first.is_some_and(|byte| matches!(byte, b'-' | b'1'..=b'9'));
        let number = canonical && cost.parse::<i32>().is_ok();
        if !number {
            causes.invalid(&path.key(DELETION_COST), "must be a 32-bit number");
        }
    }
}

/// What belongs to features: who uses it, and how it is cleared.
const GATED: &[Gated<Pod>] = &[
    Gated {
        gates: &[Gate::DynamicResourceAllocation],
        in_use: |pod| !pod.spec.resource_claims.is_empty(),
        clear: |pod| {
            containers_mut(pod).for_each(|container| container.resources.claims.clear());
            pod.spec.resource_claims.clear();
            pod.status.resource_claim_statuses.clear();
        },
    },
    Gated {
        gates: &[Gate::GenericWorkload],
        in_use: |pod| pod.spec.scheduling_group.is_some(),
        clear: |pod| pod.spec.scheduling_group = None,
    },
    Gated {
        gates: &[Gate::NodeInclusionPolicyInPodTopologySpread],
        in_use: |pod| {
            pod.spec.topology_spread_constraints.iter().any(|constraint| {
                constraint.node_affinity_policy.is_some() || constraint.node_taints_policy.is_some()
            })
        },
        clear: |pod| {
            for constraint in &mut pod.spec.topology_spread_constraints {
                constraint.node_affinity_policy = None;
                constraint.node_taints_policy = None;
            }
        },
    },
    Gated {
        gates: &[Gate::MatchLabelKeysInPodTopologySpread],
        in_use: |pod| {
            let constraints = &pod.spec.topology_spread_constraints;
            constraints.iter().any(|constraint| !constraint.match_label_keys.is_empty())
        },
        clear: |pod| {
            let constraints = &mut pod.spec.topology_spread_constraints;
            constraints.iter_mut().for_each(|constraint| constraint.match_label_keys.clear());
        },
    },
    Gated {
        gates: &[Gate::InPlacePodVerticalScaling],
        in_use: |pod| containers(pod).any(|container| !container.resize_policy.is_empty()),
        clear: |pod| containers_mut(pod).for_each(|container| container.resize_policy.clear()),
    },
    Gated {
        gates: &[Gate::DRAExtendedResource],
        in_use: |pod| pod.status.extended_resource_claim_status.is_some(),
        clear: |pod| pod.status.extended_resource_claim_status = None,
    },
    Gated {
        gates: &[Gate::DRANodeAllocatableResources],
        in_use: |pod| !pod.status.node_allocatable_resource_claim_statuses.is_empty(),
        clear: |pod| pod.status.node_allocatable_resource_claim_statuses.clear(),
    },
    Gated {
        gates: &[Gate::ResourceHealthStatus],
        in_use: |pod| {
            let status = &pod.status;
            let all = status.container_statuses.iter().chain(&status.init_container_statuses);
            all.into_iter().any(|status| !status.allocated_resources_status.is_empty())
        },
        clear: |pod| {
            let status = &mut pod.status;
            let all = status.container_statuses.iter_mut().chain(&mut status.init_container_statuses);
            all.chain(&mut status.ephemeral_container_statuses)
                .for_each(|status| status.allocated_resources_status.clear());
        },
    },
];
