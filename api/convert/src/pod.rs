//! Pods: what decides where they can go, and what else placement must know of them.

use std::sync::Arc;

use model::group::GroupName;
use model::pod::{
    ClaimSource, HostPort, Landing, NodeToleration, OwnVolumeClaim, Pod, PodClaim, PodId, Shape, Together,
    TolerationOperator,
};
use model::timestamp::Timestamp;
use objects::core::affinity::Toleration;
use objects::core::container::{Container, ContainerPort, Volume};
use objects::core::pod::{PodCondition, PodResourceClaim};
use objects::supercargo::annotations::{BOUND_TOGETHER, NOT_BOUND_TOGETHER};

use crate::companions::owner;
use crate::device_containers::{claim_containers, device_containers};
use crate::disk::disk;
use crate::error::{ConvertError, named};
use crate::node::{node_selector, node_term};
use crate::pod_features::required_features;
use crate::pod_terms::{pod_terms, spread, weighted_terms};
use crate::requests::{requests, spare, stays};
use crate::text::{shared_map, some};
use crate::workload::replica_of;

/// Says of a pod that it is to go, and why.
pub const DISRUPTION_TARGET: &str = "DisruptionTarget";

/// The reason that another pod of its gang could not be bound.
pub const GANG_BINDING_FAILED: &str = "GangBindingFailed";

/// Which pod an object is.
#[must_use]
pub fn pod_id(object: &objects::core::pod::Pod) -> PodId {
    let meta = &object.metadata;
    PodId { namespace: meta.namespace.as_str().into(), name: meta.name.as_str().into() }
}

/// What core knows of a pod.
///
/// # Errors
/// It has no name or no uid.
pub fn pod(object: &objects::core::pod::Pod) -> Result<Pod, ConvertError> {
    let (meta, spec, status) = (&object.metadata, &object.spec, &object.status);
    named(object, &meta.name, || "metadata.name".to_owned())?;
    let chosen = spec.scheduling_group.as_ref().and_then(|group| group.pod_group_name.as_deref());
    let group = chosen.and_then(some).map(GroupName::Object).or_else(|| replica_of(&meta.labels));
    Ok(Pod {
        id: pod_id(object),
        uid: named(object, &meta.uid, || "metadata.uid".to_owned())?.into(),
        scheduler: spec.scheduler_name.as_str().into(),
        node: some(&spec.node_name).map(Into::into),
        nominated_node: some(&status.nominated_node_name).map(Into::into),
        running: status.phase == "Running",
        finished: matches!(status.phase.as_str(), "Succeeded" | "Failed"),
        deleting: meta.deletion_timestamp.is_some(),
        priority: spec.priority.unwrap_or(0),
        preempts: spec.preemption_policy.as_deref() != Some("Never"),
        created: meta.creation_timestamp.as_ref().map(|time| time.0),
        started: status.start_time.as_ref().map(|time| time.0),
        gates: spec.scheduling_gates.iter().map(|gate| gate.name.as_str().into()).collect(),
        claims: spec.resource_claims.iter().map(|claim| pod_claim(object, claim)).collect(),
        group,
        landing: landing(object),
        shape: Arc::new(shape(object)),
    })
}

/// What was noted when it was bound together with others.
fn landing(object: &objects::core::pod::Pod) -> Option<Landing> {
    let annotations = &object.metadata.annotations;
    let youngest = Timestamp::parse(annotations.get(BOUND_TOGETHER)?).ok()?;
    let left_out = annotations.get(NOT_BOUND_TOGETHER).into_iter().flat_map(|uids| uids.split(','));
    let together = Together { youngest, left_out: left_out.map(Into::into).collect() };
    let is_over = |one: &PodCondition| {
        one.type_ == DISRUPTION_TARGET && one.status == "True" && one.reason == GANG_BINDING_FAILED
    };
    let is_over = object.status.conditions.iter().any(is_over);
    Some(Landing { together, is_over })
}

fn pod_claim(pod: &objects::core::pod::Pod, claim: &PodResourceClaim) -> PodClaim {
    let made = || pod.status.resource_claim_statuses.iter().find(|status| status.name == claim.name);
    let source = match (&claim.resource_claim_name, &claim.resource_claim_template_name) {
        (Some(name), _) => ClaimSource::Named(name.as_str().into()),
        (None, Some(template)) => match made().map(|status| status.resource_claim_name.as_deref()) {
            Some(Some(name)) => ClaimSource::Generated(name.into()),
            Some(None) => ClaimSource::NotNeeded,
            None => ClaimSource::ToBeGenerated { template: template.as_str().into() },
        },
        (None, None) => ClaimSource::Unknown,
    };
    PodClaim { name: claim.name.as_str().into(), source }
}

fn shape(object: &objects::core::pod::Pod) -> Shape {
    let (meta, spec) = (&object.metadata, &object.spec);
    let (requests, scored) = requests(object);
    let affinity = spec.affinity.as_ref();
    let nodes = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
    let preferred =
        nodes.map_or(&[][..], |nodes| &nodes.preferred_during_scheduling_ignored_during_execution);
    let required = nodes.and_then(|nodes| nodes.required_during_scheduling_ignored_during_execution.as_ref());
    let mut shape = Shape {
        namespace: meta.namespace.as_str().into(),
        labels: shared_map(&meta.labels),
        requests,
        scored,
        node_labels: shared_map(&spec.node_selector),
        node_affinity: required.map(node_selector),
        preferred_nodes: preferred.iter().map(|term| (term.weight, node_term(&term.preference))).collect(),
        tolerations: spec.tolerations.iter().map(toleration).collect(),
        ports: ports(object),
        spread: spec.topology_spread_constraints.iter().map(|rule| spread(rule, &meta.labels)).collect(),
        images: images(object),
        containers: spec.containers.len() + spec.init_containers.len(),
        volume_claims: volume_claims(object),
        own_volume_claims: own_volume_claims(object),
        disks: spec.volumes.iter().filter_map(disk).collect(),
        required_features: required_features(spec),
        owner: owner(&meta.owner_references),
        device_containers: device_containers(spec),
        claim_containers: claim_containers(spec),
        claim_templates: spec
            .resource_claims
            .iter()
            .map(|claim| claim.resource_claim_template_name.as_deref().map(Into::into))
            .collect(),
        spare: spare(object),
        ..Shape::default()
    };
    if let Some(near) = affinity.and_then(|affinity| affinity.pod_affinity.as_ref()) {
        shape.near = pod_terms(object, &near.required_during_scheduling_ignored_during_execution);
        let wishes = &near.preferred_during_scheduling_ignored_during_execution;
        shape.preferred_pods.extend(weighted_terms(object, wishes, 1));
    }
    if let Some(apart) = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref()) {
        shape.apart = pod_terms(object, &apart.required_during_scheduling_ignored_during_execution);
        let wishes = &apart.preferred_during_scheduling_ignored_during_execution;
        shape.preferred_pods.extend(weighted_terms(object, wishes, -1));
    }
    shape
}

/// How a toleration of node taints compares values. Without an operator, they must be equal.
#[must_use]
pub fn toleration_operator(operator: &str) -> TolerationOperator {
    match operator {
        "" | "Equal" => TolerationOperator::Equal,
        "Exists" => TolerationOperator::Exists,
        "Gt" => TolerationOperator::Gt,
        "Lt" => TolerationOperator::Lt,
        other => TolerationOperator::Unknown(other.into()),
    }
}

fn toleration(object: &Toleration) -> NodeToleration {
    NodeToleration {
        key: object.key.as_str().into(),
        operator: toleration_operator(&object.operator),
        value: object.value.as_str().into(),
        effect: object.effect.as_str().into(),
    }
}

/// Ports of the node that containers take while the pod runs. What comes and goes before that takes none.
fn ports(object: &objects::core::pod::Pod) -> Vec<HostPort> {
    let staying = object.spec.init_containers.iter().filter(|container| stays(container));
    let ports = staying.chain(&object.spec.containers).flat_map(|container| &container.ports);
    ports.filter(|port| port.host_port > 0).map(host_port).collect()
}

fn host_port(object: &ContainerPort) -> HostPort {
    let or = |text: &str, default: &str| if text.is_empty() { default.into() } else { text.into() };
    HostPort {
        address: or(&object.host_ip, "0.0.0.0"),
        protocol: or(&object.protocol, "TCP"),
        port: object.host_port,
    }
}

/// The images of containers and volumes, under the names by which nodes list them.
fn images(object: &objects::core::pod::Pod) -> Vec<Arc<str>> {
    let containers = object.spec.init_containers.iter().chain(&object.spec.containers);
    let volumes = object.spec.volumes.iter().filter_map(|volume| volume.image.as_ref());
    let names = containers.map(|container: &Container| &container.image);
    names.chain(volumes.map(|image| &image.reference)).map(|name| with_tag(name)).collect()
}

fn with_tag(image: &str) -> Arc<str> {
    if image.rfind(':') > image.rfind('/') { image.into() } else { format!("{image}:latest").into() }
}

/// The volume claims of a pod, with those that are made for it, whose names follow from its own.
fn volume_claims(object: &objects::core::pod::Pod) -> Vec<Arc<str>> {
    let claims = object.spec.volumes.iter().filter_map(|volume| match &volume.persistent_volume_claim {
        Some(claim) => Some(claim.claim_name.as_str().into()),
        None => volume.ephemeral.as_ref().map(|_| own_claim(object, &volume.name)),
    });
    claims.collect()
}

/// The volume claims that are made for a pod.
fn own_volume_claims(object: &objects::core::pod::Pod) -> Vec<OwnVolumeClaim> {
    let own = object
        .spec
        .volumes
        .iter()
        .filter(|volume| volume.persistent_volume_claim.is_none() && volume.ephemeral.is_some());
    let claim = |volume: &Volume| OwnVolumeClaim {
        claim: own_claim(object, &volume.name),
        pod: object.metadata.name.as_str().into(),
        pod_uid: object.metadata.uid.as_str().into(),
    };
    own.map(claim).collect()
}

fn own_claim(object: &objects::core::pod::Pod, volume: &str) -> Arc<str> {
    format!("{}-{volume}", object.metadata.name).into()
}
