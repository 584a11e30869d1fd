//! Volumes as far as placement cares: where they can be reached, which claims have one or could have, and how many a node takes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::disk::Handle;
use crate::identity::NodeName;
use crate::node::NodeSelector;
use crate::pod::LabelSelector;
use crate::quantity::Quantity;

/// A volume claim by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct VolumeClaimId {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
}

impl fmt::Display for VolumeClaimId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// A claim for storage.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VolumeClaim {
    /// Which claim it is.
    pub id: VolumeClaimId,
    /// Tells it from others that had or will have its name.
    pub uid: Arc<str>,
    /// Grows with every write of it.
    pub revision: u64,
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
    /// The node for which a volume is to be provisioned.
    pub selected_node: Option<NodeName>,
    /// What it asks of a volume besides its class.
    pub wish: VolumeWish,
}

/// What a claim asks of a volume besides its class.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VolumeWish {
    /// How large it must be at least.
    pub size: Option<Quantity>,
    /// How it is to be used.
    pub access: BTreeSet<Arc<str>>,
    /// Whether it is a device and not a file system.
    pub block: bool,
    /// Labels that it must have.
    pub selector: Option<LabelSelector>,
    /// The class of its attributes; empty if it has none.
    pub attributes: Arc<str>,
}

/// A piece of storage.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Volume {
    /// Its name.
    pub name: Arc<str>,
    /// Tells it from others that had or will have its name.
    pub uid: Arc<str>,
    /// Grows with every write of it.
    pub revision: u64,
    /// The nodes that reach it; all if none is said.
    pub nodes: Option<NodeSelector>,
    /// Its labels, of which some tell zones.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// The class of storage that it is of; empty if it has none.
    pub class: Arc<str>,
    /// How large it is.
    pub capacity: Quantity,
    /// How it can be used.
    pub access: BTreeSet<Arc<str>>,
    /// Whether it is a device and not a file system.
    pub block: bool,
    /// The class of its attributes; empty if it has none.
    pub attributes: Arc<str>,
    /// The claim that has it or is to have it.
    pub claim: Option<VolumeOwner>,
    /// Whether it is free to be taken.
    pub available: bool,
    /// It is being deleted.
    pub deleting: bool,
    /// What attaches it to nodes, if that is counted.
    pub source: VolumeSource,
}

/// The claim that a volume is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VolumeOwner {
    /// The claim.
    pub id: VolumeClaimId,
    /// Its uid, if that is settled.
    pub uid: Option<Arc<str>>,
}

/// What attaches a volume to nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum VolumeSource {
    /// A storage driver.
    Driver {
        /// The driver.
        driver: Arc<str>,
        /// What the driver calls the volume.
        handle: Arc<str>,
    },
    /// What was a part of Kubernetes once, and is a driver on nodes about which drivers say something.
    InTree(Handle),
    /// Something that is not counted.
    #[default]
    Other,
}

impl Volume {
    /// Whether it is for a claim of this name, and not for another that had the name.
    #[must_use]
    pub fn is_for(&self, claim: &VolumeClaim) -> bool {
        let is_its = |owner: &VolumeOwner| {
            owner.id == claim.id && owner.uid.as_ref().is_none_or(|uid| *uid == claim.uid)
        };
        self.claim.as_ref().is_some_and(is_its)
    }

    /// Whether it is as large as a claim wants it and of the right sort, whichever claim has it.
    #[must_use]
    pub fn suits(&self, wish: &VolumeWish) -> bool {
        wish.size.as_ref().is_none_or(|size| *size <= self.capacity)
            && wish.block == self.block
            && wish.attributes == self.attributes
            && !self.deleting
    }

    /// Whether a claim that has no volume may take it.
    #[must_use]
    pub fn is_free_for(&self, wish: &VolumeWish) -> bool {
        self.available
            && self.claim.is_none()
            && wish.selector.as_ref().is_none_or(|selector| selector.picks(&self.labels))
            && wish.access.is_subset(&self.access)
    }
}

/// A class of storage.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StorageClass {
    /// Its name.
    pub name: Arc<str>,
    /// Whether volumes are found only once it is known where the pod goes.
    pub waits_for_pod: bool,
    /// What makes volumes of the class.
    pub provisioner: Arc<str>,
    /// Where it makes them, by labels of nodes: one of the terms holds, or there is none.
    pub topologies: Vec<Vec<TopologyRule>>,
}

/// A label that nodes must have with one of some values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyRule {
    /// The label.
    pub key: Arc<str>,
    /// The values.
    pub values: Vec<Arc<str>>,
}

impl StorageClass {
    /// The provisioner of classes whose volumes people make by hand.
    const BY_HAND: &'static str = "kubernetes.io/no-provisioner";

    /// Whether volumes are made on demand.
    #[must_use]
    pub fn provisions(&self) -> bool {
        !self.provisioner.is_empty() && &*self.provisioner != StorageClass::BY_HAND
    }

    /// Whether volumes are made for nodes with these labels.
    #[must_use]
    pub fn reaches(&self, labels: &BTreeMap<Arc<str>, Arc<str>>) -> bool {
        let holds =
            |rule: &TopologyRule| labels.get(&rule.key).is_some_and(|value| rule.values.contains(value));
        // A term that asks for nothing picks nothing.
        let picks = |term: &Vec<TopologyRule>| !term.is_empty() && term.iter().all(holds);
        self.topologies.is_empty() || self.topologies.iter().any(picks)
    }
}

/// What storage drivers say about a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StorageNode {
    /// The node.
    pub name: NodeName,
    /// The drivers that are there, and how many volumes each attaches at the most, if that is limited.
    pub drivers: BTreeMap<Arc<str>, Option<i64>>,
}

/// A storage driver.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StorageDriver {
    /// Its name.
    pub name: Arc<str>,
    /// Whether it says how much storage there is.
    pub tells_capacity: bool,
    /// Whether pods with its volumes must not go to nodes where it is not.
    pub must_be_there: bool,
}

/// How much storage of a class there is for some nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StorageCapacity {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
    /// The class.
    pub class: Arc<str>,
    /// The nodes, by their labels; none if it is not said.
    pub nodes: LabelSelector,
    /// How much there is in all, in bytes.
    pub capacity: Option<i64>,
    /// How large one volume can be at the most, in bytes, if that is said apart.
    pub volume_max: Option<i64>,
}

impl StorageCapacity {
    /// How large one volume can be, in bytes.
    #[must_use]
    pub fn limit(&self) -> Option<i64> {
        self.volume_max.or(self.capacity)
    }
}

/// A volume that is attached to a node, or is to be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attachment {
    /// Its name.
    pub name: Arc<str>,
    /// The node.
    pub node: NodeName,
    /// The driver that attaches.
    pub driver: Arc<str>,
    /// The volume, if it has a name.
    pub volume: Option<Arc<str>>,
}
