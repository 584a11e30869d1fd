//! Objects without what nothing is decided by and what may be secret, as they are saved in recordings.
//!
//! Invariant: a bare object gives the same facts as the whole one. What a container or a volume has is a list of what may stay, so that
//! a field that nobody here has heard of does not.

use objects::apps::{ReplicaSet, StatefulSet};
use objects::core::container::{Container, EphemeralVolumeSource, Volume};
use objects::core::kinds::{PersistentVolume, ReplicationController};
use objects::core::pod::{ContainerStatus, Pod, PodSpec, PodStatus};
use objects::meta::ObjectMeta;
use objects::storage::{StorageClass, VolumeAttachment};

/// The annotation in which kubectl keeps the whole object as it was applied, with all its secrets.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What every object does without.
pub(crate) fn metadata(meta: &mut ObjectMeta) {
    meta.managed_fields = None;
    meta.annotations.remove(LAST_APPLIED);
    meta.rest = Default::default();
}

pub(crate) fn pod(pod: &mut Pod) {
    pod.rest = Default::default();
    spec(&mut pod.spec);
    status(&mut pod.status);
}

fn spec(spec: &mut PodSpec) {
    spec.containers.iter_mut().chain(&mut spec.init_containers).for_each(container);
    spec.ephemeral_containers.clear();
    spec.eviction_responders.clear();
    spec.host_aliases.clear();
    spec.image_pull_secrets.clear();
    spec.security_context = None;
    spec.volumes.iter_mut().for_each(volume);
    spec.rest = Default::default();
}

fn container(container: &mut Container) {
    let Container {
        name,
        image,
        ports,
        resources,
        restart_policy,
        restart_policy_rules,
        mut volume_mounts,
        ..
    } = std::mem::take(container);
    // Where a volume is seen tells which features of a node the pod needs.
    volume_mounts.retain(|mount| mount.rest.get("bindMountOptions").is_some());
    *container = Container {
        name,
        image,
        ports,
        resources,
        restart_policy,
        restart_policy_rules,
        volume_mounts,
        ..Container::default()
    };
}

fn volume(volume: &mut Volume) {
    volume.rest = Default::default();
    if volume.ephemeral.is_some() {
        // The claim that is made for the pod is an object of its own.
        volume.ephemeral = Some(EphemeralVolumeSource::default());
    }
}

fn status(status: &mut PodStatus) {
    status.conditions.iter_mut().for_each(|condition| condition.message.clear());
    status.message.clear();
    for list in [
        &mut status.container_statuses,
        &mut status.init_container_statuses,
        &mut status.ephemeral_container_statuses,
    ] {
        list.iter_mut().for_each(container_status);
    }
    status.rest = Default::default();
}

fn container_status(status: &mut ContainerStatus) {
    let ContainerStatus { allocated_resources, name, resources, .. } = std::mem::take(status);
    *status = ContainerStatus { allocated_resources, name, resources, ..ContainerStatus::default() };
}

pub(crate) fn replication_controller(object: &mut ReplicationController) {
    object.spec.template = None;
    (object.spec.rest, object.rest) = Default::default();
}

pub(crate) fn replica_set(object: &mut ReplicaSet) {
    object.spec.template = Default::default();
    (object.spec.rest, object.rest) = Default::default();
}

pub(crate) fn stateful_set(object: &mut StatefulSet) {
    object.spec.template = Default::default();
    object.spec.volume_claim_templates.clear();
    (object.spec.rest, object.rest) = Default::default();
}

pub(crate) fn persistent_volume(object: &mut PersistentVolume) {
    if let Some(csi) = &mut object.spec.csi {
        csi.rest = Default::default();
    }
    (object.spec.rest, object.rest) = Default::default();
}

pub(crate) fn storage_class(object: &mut StorageClass) {
    object.parameters.clear();
    object.mount_options.clear();
    object.rest = Default::default();
}

pub(crate) fn attachment(object: &mut VolumeAttachment) {
    object.spec.source.rest = Default::default();
    object.rest = Default::default();
}
