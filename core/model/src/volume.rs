//! Volumes as far as placement cares: where they can be reached, and which claims have one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::node::NodeSelector;

/// A volume claim by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VolumeClaimId {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
}

/// A claim for storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VolumeClaim {
    /// Which claim it is.
    pub id: VolumeClaimId,
    /// The volume that it names.
    pub volume: Option<Arc<str>>,
    /// Whether claim and volume have been joined; until then a volume that it names is only a wish.
    pub bound: bool,
    /// Its volume is gone.
    pub lost: bool,
    /// It is being deleted.
    pub deleting: bool,
    /// The uid of what it was made for and goes with.
    pub owner: Option<Arc<str>>,
    /// Whether only one pod may use it at a time.
    pub one_pod: bool,
    /// The class of storage that it asks for.
    pub class: Option<Arc<str>>,
}

/// A piece of storage.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Volume {
    /// Its name.
    pub name: Arc<str>,
    /// The nodes that reach it; all if none is said.
    pub nodes: Option<NodeSelector>,
    /// Its labels, of which some tell zones.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
}

/// A class of storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StorageClass {
    /// Its name.
    pub name: Arc<str>,
    /// Whether volumes are found only once it is known where the pod goes.
    pub waits_for_pod: bool,
}
