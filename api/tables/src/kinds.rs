//! Which kind has which columns, and what stands in them.

mod cluster;
mod devices;
mod event;
mod groups;
mod node;
mod own;
mod pod;
mod replicas;
mod service;
mod storage;

use model::timestamp::Timestamp;
use schema::Kind;
use serde_json::Value;

use crate::column::{AGE, Column, NAME};
use crate::{age, fields};

pub(crate) use pod::row_conditions;
pub(crate) use storage::{default_class, mark_default};

/// The columns of a kind, and the function that fills them.
struct Rows {
    columns: &'static [Column],
    cells: fn(&Value, Timestamp) -> Vec<Value>,
}

/// The columns of a kind, in the order in which kubectl shows them.
pub fn columns(kind: &Kind) -> &'static [Column] {
    rows(kind).columns
}

/// The cells of an object, one for each column of its kind.
///
/// The object may be in any version that is served: the fields that columns show are the same in all of them,
/// but for events, whose two spellings are both read.
pub fn cells(kind: &Kind, object: &Value, now: Timestamp) -> Vec<Value> {
    (rows(kind).cells)(object, now)
}

fn rows(kind: &Kind) -> Rows {
    let row =
        |columns: &'static [Column], cells: fn(&Value, Timestamp) -> Vec<Value>| Rows { columns, cells };
    match (kind.group(), kind.kind.as_str()) {
        ("", "Pod") => row(pod::COLUMNS, pod::cells),
        ("", "Node") => row(node::COLUMNS, node::cells),
        ("" | "events.k8s.io", "Event") => row(event::COLUMNS, event::cells),
        ("", "Namespace") => row(cluster::NAMESPACE, cluster::namespace),
        ("", "Secret") => row(cluster::SECRET, cluster::secret),
        ("", "ConfigMap") => row(cluster::CONFIG_MAP, cluster::config_map),
        ("", "Service") => row(service::COLUMNS, service::cells),
        ("", "PersistentVolume") => row(storage::VOLUME, storage::volume),
        ("", "PersistentVolumeClaim") => row(storage::VOLUME_CLAIM, storage::volume_claim),
        ("", "ReplicationController") => row(replicas::CONTROLLER, replicas::controller),
        ("apps", "ReplicaSet") => row(replicas::REPLICA_SET, replicas::replica_set),
        ("apps", "StatefulSet") => row(replicas::STATEFUL_SET, replicas::stateful_set),
        ("batch", "Job") => row(replicas::JOB, replicas::job),
        ("coordination.k8s.io", "Lease") => row(cluster::LEASE, cluster::lease),
        ("policy", "PodDisruptionBudget") => row(cluster::DISRUPTION_BUDGET, cluster::disruption_budget),
        ("scheduling.k8s.io", "PriorityClass") => row(groups::PRIORITY_CLASS, groups::priority_class),
        ("scheduling.k8s.io", "PodGroup") => row(groups::POD_GROUP, groups::pod_group),
        ("scheduling.k8s.io", "CompositePodGroup") => row(groups::COMPOSITE, groups::composite),
        ("storage.k8s.io", "StorageClass") => row(storage::CLASS, storage::class),
        ("storage.k8s.io", "CSINode") => row(storage::CSI_NODE, storage::csi_node),
        ("storage.k8s.io", "VolumeAttachment") => row(storage::ATTACHMENT, storage::attachment),
        ("storage.k8s.io", "CSIDriver") => row(storage::CSI_DRIVER, storage::csi_driver),
        ("resource.k8s.io", "ResourceClaim") => row(devices::CLAIM, devices::claim),
        ("resource.k8s.io", "ResourceSlice") => row(devices::SLICE, devices::slice),
        ("resource.k8s.io", "DeviceTaintRule") => row(devices::TAINT_RULE, devices::taint_rule),
        ("resource.k8s.io", "ResourcePoolStatusRequest") => row(devices::POOL_STATUS, devices::pool_status),
        ("supercargo.dev", "DeviceAttachment") => row(own::ATTACHMENT, own::attachment),
        ("supercargo.dev", "NodeTopology") => row(own::TOPOLOGY, own::topology),
        ("supercargo.dev", "PodSchedulingContext") => row(own::CONTEXT, own::context),
        ("supercargo.dev", "Workload") => row(own::WORKLOAD, own::workload),
        ("", "ServiceAccount")
        | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate")
        | ("scheduling.k8s.io", "Workload") => row(NAME_AND_AGE, name_and_age),
        // Kubernetes has columns for a CSIStorageCapacity and does not use them; what is left is what any kind gets
        // that nobody described.
        _ => row(UNDESCRIBED, undescribed),
    }
}

const NAME_AND_AGE: &[Column] = &[NAME, AGE];

fn name_and_age(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![fields::name(object), age::age(object, now)]
}

const UNDESCRIBED: &[Column] =
    &[NAME, Column { kind: "date", ..Column::text("Created At", "When the object was created.") }];

fn undescribed(object: &Value, _now: Timestamp) -> Vec<Value> {
    let created = fields::text_or(&object["metadata"]["creationTimestamp"], "0001-01-01T00:00:00Z");
    vec![fields::name(object), created.into()]
}

#[cfg(test)]
mod tests;
