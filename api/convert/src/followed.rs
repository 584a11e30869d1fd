//! The kinds that a scheduler follows, in one table: the live scheduler and simulated ones follow these.
//!
//! Invariant: every kind that has facts is in the table, once.

use gates::{Gate, Gates};
use objects::Object;
use objects::apps::{ReplicaSet, StatefulSet};
use objects::core::kinds::{
    Namespace, PersistentVolume, PersistentVolumeClaim, ReplicationController, Service,
};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::policy::PodDisruptionBudget;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::{DeviceClass, DeviceTaintRule};
use objects::resource::slice::ResourceSlice;
use objects::scheduling::composite_pod_group::CompositePodGroup;
use objects::scheduling::pod_group::PodGroup;
use objects::storage::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use objects::supercargo::node_topology::NodeTopology;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use objects::supercargo::workload::Workload;
use serde_json::Value;

use crate::bare;
use crate::change::Fact;
use crate::error::{ConvertError, ObjectName};

/// A kind that a scheduler follows, as a type.
pub trait Followed: Object + Fact {
    /// Its name in addresses of the API.
    const PLURAL: &'static str;
    /// Which objects matter, as a field selector.
    const FIELDS: &'static str = "";
    /// The feature that it belongs to; without it nobody cares.
    const GATE: Option<Gate> = None;
    /// It may come and go while a server runs: one of our own, which is a CRD elsewhere, or one that not every server has. All
    /// others are always there.
    const COMES_AND_GOES: bool = false;

    /// Removes what nothing is decided by and what may be secret, beyond what all objects do without.
    fn strip(&mut self) {}

    /// Removes what nothing is decided by and what may be secret. The facts that it gives are the same.
    fn make_bare(&mut self) {
        bare::metadata(self.metadata_mut());
        self.strip();
    }
}

/// A kind that a scheduler follows, as a value.
#[derive(Clone, Copy, Debug)]
pub struct FollowedKind {
    /// Its name.
    pub kind: &'static str,
    /// Its group and version.
    pub api_version: &'static str,
    /// See [`Followed::PLURAL`].
    pub plural: &'static str,
    /// See [`Followed::FIELDS`].
    pub fields: &'static str,
    /// See [`Followed::GATE`].
    pub gate: Option<Gate>,
    /// See [`Followed::COMES_AND_GOES`].
    pub comes_and_goes: bool,
    pub(crate) read: fn(&Value) -> Result<Box<dyn Fact>, ConvertError>,
    pub(crate) bare: fn(&Value) -> Result<Vec<u8>, ConvertError>,
}

impl FollowedKind {
    /// The row of a kind.
    #[must_use]
    pub const fn of<K: Followed + 'static>() -> FollowedKind {
        FollowedKind {
            kind: K::KIND,
            api_version: K::API_VERSION,
            plural: K::PLURAL,
            fields: K::FIELDS,
            gate: K::GATE,
            comes_and_goes: K::COMES_AND_GOES,
            read: read::<K>,
            bare: bare::<K>,
        }
    }

    /// Whether anybody cares for it with these features.
    #[must_use]
    pub fn matters(&self, gates: Gates) -> bool {
        self.gate.is_none_or(|gate| gates.enabled(gate))
    }
}

/// Every kind that a scheduler follows.
pub const FOLLOWED: [FollowedKind; 24] = [
    FollowedKind::of::<Node>(),
    FollowedKind::of::<Namespace>(),
    FollowedKind::of::<Pod>(),
    FollowedKind::of::<ResourceSlice>(),
    FollowedKind::of::<DeviceClass>(),
    FollowedKind::of::<ResourceClaim>(),
    FollowedKind::of::<DeviceTaintRule>(),
    FollowedKind::of::<PersistentVolume>(),
    FollowedKind::of::<PersistentVolumeClaim>(),
    FollowedKind::of::<StorageClass>(),
    FollowedKind::of::<CSINode>(),
    FollowedKind::of::<CSIDriver>(),
    FollowedKind::of::<CSIStorageCapacity>(),
    FollowedKind::of::<VolumeAttachment>(),
    FollowedKind::of::<PodDisruptionBudget>(),
    FollowedKind::of::<Service>(),
    FollowedKind::of::<ReplicationController>(),
    FollowedKind::of::<ReplicaSet>(),
    FollowedKind::of::<StatefulSet>(),
    FollowedKind::of::<PodGroup>(),
    FollowedKind::of::<CompositePodGroup>(),
    FollowedKind::of::<Workload>(),
    FollowedKind::of::<NodeTopology>(),
    FollowedKind::of::<PodSchedulingContext>(),
];

static TABLE: [FollowedKind; FOLLOWED.len()] = FOLLOWED;

/// The kinds that are followed with these features.
pub fn followed(gates: Gates) -> impl Iterator<Item = &'static FollowedKind> {
    TABLE.iter().filter(move |row| row.matters(gates))
}

/// The row of a kind by its name.
#[must_use]
pub fn row_of(kind: &str) -> Option<&'static FollowedKind> {
    TABLE.iter().find(|row| row.kind == kind)
}

/// An object as JSON without what nothing is decided by and what may be secret; nothing if its kind is not followed.
///
/// # Errors
/// The object is not what its kind says.
pub fn bare_object(object: &Value) -> Result<Option<Vec<u8>>, ConvertError> {
    let row = row_of(object["kind"].as_str().unwrap_or_default());
    row.filter(|row| object["apiVersion"] == row.api_version).map(|row| (row.bare)(object)).transpose()
}

/// An object of a kind, read from its JSON.
fn read<K: Followed + 'static>(object: &Value) -> Result<Box<dyn Fact>, ConvertError> {
    Ok(Box::new(typed::<K>(object)?))
}

fn bare<K: Followed>(object: &Value) -> Result<Vec<u8>, ConvertError> {
    let mut object: K = typed(object)?;
    object.make_bare();
    Ok(object.write())
}

fn typed<K: Followed>(object: &Value) -> Result<K, ConvertError> {
    K::read_value(object).map_err(|error| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        ConvertError::Unreadable { object: ObjectName::named::<K>(name), reason: error.to_string() }
    })
}

impl Followed for Node {
    const PLURAL: &'static str = "nodes";
}

impl Followed for Namespace {
    const PLURAL: &'static str = "namespaces";
}

impl Followed for Pod {
    const PLURAL: &'static str = "pods";
    // What has ended uses nothing any more.
    const FIELDS: &'static str = "status.phase!=Succeeded,status.phase!=Failed";

    fn strip(&mut self) {
        bare::pod(self);
    }
}

impl Followed for ResourceSlice {
    const PLURAL: &'static str = "resourceslices";
}

impl Followed for DeviceClass {
    const PLURAL: &'static str = "deviceclasses";
}

impl Followed for ResourceClaim {
    const PLURAL: &'static str = "resourceclaims";
}

impl Followed for DeviceTaintRule {
    const PLURAL: &'static str = "devicetaintrules";
}

impl Followed for PersistentVolume {
    const PLURAL: &'static str = "persistentvolumes";

    fn strip(&mut self) {
        bare::persistent_volume(self);
    }
}

impl Followed for PersistentVolumeClaim {
    const PLURAL: &'static str = "persistentvolumeclaims";
}

impl Followed for StorageClass {
    const PLURAL: &'static str = "storageclasses";

    fn strip(&mut self) {
        bare::storage_class(self);
    }
}

impl Followed for CSINode {
    const PLURAL: &'static str = "csinodes";
}

impl Followed for CSIDriver {
    const PLURAL: &'static str = "csidrivers";
}

impl Followed for CSIStorageCapacity {
    const PLURAL: &'static str = "csistoragecapacities";
}

impl Followed for VolumeAttachment {
    const PLURAL: &'static str = "volumeattachments";

    fn strip(&mut self) {
        bare::attachment(self);
    }
}

impl Followed for PodDisruptionBudget {
    const PLURAL: &'static str = "poddisruptionbudgets";
}

impl Followed for Service {
    const PLURAL: &'static str = "services";
}

impl Followed for ReplicationController {
    const PLURAL: &'static str = "replicationcontrollers";

    fn strip(&mut self) {
        bare::replication_controller(self);
    }
}

impl Followed for ReplicaSet {
    const PLURAL: &'static str = "replicasets";

    fn strip(&mut self) {
        bare::replica_set(self);
    }
}

impl Followed for StatefulSet {
    const PLURAL: &'static str = "statefulsets";

    fn strip(&mut self) {
        bare::stateful_set(self);
    }
}

impl Followed for PodGroup {
    const PLURAL: &'static str = "podgroups";
    const GATE: Option<Gate> = Some(Gate::GenericWorkload);
    const COMES_AND_GOES: bool = true;
}

impl Followed for CompositePodGroup {
    const PLURAL: &'static str = "compositepodgroups";
    const GATE: Option<Gate> = Some(Gate::CompositePodGroup);
    const COMES_AND_GOES: bool = true;
}

impl Followed for Workload {
    const PLURAL: &'static str = "workloads";
    const COMES_AND_GOES: bool = true;
}

impl Followed for NodeTopology {
    const PLURAL: &'static str = "nodetopologies";
    const COMES_AND_GOES: bool = true;
}

impl Followed for PodSchedulingContext {
    const PLURAL: &'static str = "podschedulingcontexts";
    const GATE: Option<Gate> = Some(Gate::DRAControlPlaneController);
    const COMES_AND_GOES: bool = true;
}
