//! Which kind has which rules. A kind's rules are in the file of its name; families of small kinds share one.

mod capacity;
mod change;
mod claim_control;
mod claim_spec;
mod claim_status;
mod composite_pod_group;
mod configuration;
mod container;
mod container_parts;
mod device_attachment;
mod device_attribute;
mod device_class;
mod device_names;
mod device_taint;
mod disruption_budget;
mod environment;
mod event;
mod group_fields;
mod group_priority;
mod group_templates;
mod image;
mod job;
mod job_scheduling;
mod kept;
mod lease;
mod namespace;
mod node;
mod node_allocatable;
mod node_topology;
mod own_workload;
mod persistent_volume;
mod pod;
mod pod_group;
mod pod_placement;
mod pod_priority;
mod pod_requests;
mod pod_resources;
mod pod_scheduling_context;
mod pod_spec;
mod pod_status;
mod pod_template;
mod pod_update;
mod pod_warnings;
mod pool_status;
mod priority_class;
mod replicas;
mod resource_claim;
mod resource_names;
mod resource_slice;
mod service;
mod storage_class;
mod volume;
mod workload;

use std::collections::BTreeSet;

use gates::Gate;
use objects::{
    Object, apps, batch, coordination, core, events, kept as kept_kinds, policy, resource, scheduling,
    storage, supercargo,
};
use schema::Kind;
use serde_json::Value;

use crate::admit::{Request, judge};
use crate::rejection::Rejection;
use crate::{defaulted, used};

/// Hands the kinds that have rules to a macro.
macro_rules! every_kind {
    ($each:ident) => {
        $each!(
            core::pod::Pod,
            core::node::Node,
            core::event::Event,
            core::kinds::Namespace,
            core::kinds::PersistentVolumeClaim,
            core::kinds::PersistentVolume,
            core::kinds::Service,
            core::kinds::ServiceAccount,
            core::kinds::Secret,
            core::kinds::ConfigMap,
            core::kinds::ReplicationController,
            core::kinds::Binding,
            coordination::Lease,
            policy::PodDisruptionBudget,
            policy::Eviction,
            storage::StorageClass,
            storage::CSINode,
            storage::CSIDriver,
            storage::CSIStorageCapacity,
            storage::VolumeAttachment,
            apps::ReplicaSet,
            apps::StatefulSet,
            batch::Job,
            scheduling::priority_class::PriorityClass,
            scheduling::pod_group::PodGroup,
            scheduling::workload::Workload,
            scheduling::composite_pod_group::CompositePodGroup,
            resource::slice::ResourceSlice,
            resource::claim::ResourceClaim,
            resource::claim::ResourceClaimTemplate,
            resource::class::DeviceClass,
            resource::class::DeviceTaintRule,
            resource::pool_status::ResourcePoolStatusRequest,
            kept_kinds::Deployment,
            kept_kinds::DaemonSet,
            kept_kinds::CronJob,
            kept_kinds::HorizontalPodAutoscaler,
            kept_kinds::Ingress,
            kept_kinds::LeaseCandidate,
            kept_kinds::Endpoints,
            supercargo::pod_scheduling_context::PodSchedulingContext,
            supercargo::device_attachment::DeviceAttachment,
            supercargo::node_topology::NodeTopology,
            supercargo::workload::Workload,
        )
    };
}

/// Runs the rules of the request's kind.
pub(crate) fn dispatch(request: Request<'_>) -> Result<(Value, Vec<String>), Rejection> {
    macro_rules! try_each {
        ($($kind:ty),* $(,)?) => {$(
            if request.kind.kind == <$kind>::KIND && request.kind.api_version == <$kind>::API_VERSION {
                return judge::<$kind>(request);
            }
        )*};
    }
    if request.sent.kind == events::Event::KIND && request.sent.api_version == events::Event::API_VERSION {
        return event::judge_reported(request);
    }
    every_kind!(try_each);
    Err(Rejection::BadRequest(format!("{} {} is not served", request.kind.api_version, request.kind.kind)))
}

/// The features whose fields an object of the kind has, in the version in which it is stored.
pub(crate) fn used_gates(kind: &Kind, object: &Value) -> BTreeSet<Gate> {
    macro_rules! try_each {
        ($($type:ty),* $(,)?) => {$(
            if kind.kind == <$type>::KIND && kind.api_version == <$type>::API_VERSION {
                return used::used::<$type>(object);
            }
        )*};
    }
    every_kind!(try_each);
    BTreeSet::new()
}

/// An object of the kind, in the version in which it is stored, with the defaults that depend on other fields.
pub(crate) fn with_defaults(kind: &Kind, object: Value) -> Value {
    macro_rules! try_each {
        ($($type:ty),* $(,)?) => {$(
            if kind.kind == <$type>::KIND && kind.api_version == <$type>::API_VERSION {
                return defaulted::with_defaults::<$type>(object);
            }
        )*};
    }
    every_kind!(try_each);
    object
}
