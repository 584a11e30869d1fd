//! Changes that may let a pod in that was refused: by kind, and where that is enough only for one object.
//!
//! A refusal names an object only if it is certain that changes of this kind to other objects are of no use. A change names every
//! object that it touches, by each sort of object by which a refusal may name it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use model::claim::ClaimId;
use model::identity::NodeName;
use model::volume::VolumeClaimId;

use crate::values::renaming::Renaming;

/// A kind of change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Wake {
    /// A node came.
    NodeAdded,
    /// A node went.
    NodeRemoved,
    /// Labels of a node changed.
    NodeLabels,
    /// Taints of a node changed, or pods may come to it again.
    NodeTaints,
    /// A node has another amount of something for pods.
    NodeAllocatable,
    /// The agent of a node declared other features.
    NodeFeatures,
    /// A pod was placed.
    PodAdded,
    /// A placed pod went.
    PodRemoved,
    /// Labels of a placed pod changed, or it is being deleted: rules about pods read both.
    PodLabels,
    /// A placed pod needs less.
    PodShrunk,
    /// The waiting pod has other labels.
    OwnLabels,
    /// The waiting pod bears other taints.
    OwnTolerations,
    /// The waiting pod needs less.
    OwnRequests,
    /// Something else of the waiting pod changed.
    OwnSpec,
    /// A claim for devices was made for the waiting pod.
    OwnClaims,
    /// A claim for devices came, changed or went.
    Claim,
    /// A class of devices came or changed.
    Class,
    /// A slice of devices came or changed.
    Slice,
    /// A claim for storage came or changed.
    VolumeClaim,
    /// A volume came or changed.
    Volume,
    /// A class of storage came or changed.
    StorageClass,
    /// Storage drivers say something else about a node.
    StorageNode,
    /// A storage driver came, changed or went.
    StorageDriver,
    /// There is another amount of storage somewhere.
    StorageCapacity,
    /// A volume is attached to a node no more.
    Attachment,
    /// Labels of a namespace changed, or a namespace came.
    Namespace,
    /// A group of pods came or changed.
    Group,
}

impl Wake {
    /// All kinds.
    pub const ALL: [Wake; 27] = [
        Wake::NodeAdded,
        Wake::NodeRemoved,
        Wake::NodeLabels,
        Wake::NodeTaints,
        Wake::NodeAllocatable,
        Wake::NodeFeatures,
        Wake::PodAdded,
        Wake::PodRemoved,
        Wake::PodLabels,
        Wake::PodShrunk,
        Wake::OwnLabels,
        Wake::OwnTolerations,
        Wake::OwnRequests,
        Wake::OwnSpec,
        Wake::OwnClaims,
        Wake::Claim,
        Wake::Class,
        Wake::Slice,
        Wake::VolumeClaim,
        Wake::Volume,
        Wake::StorageClass,
        Wake::StorageNode,
        Wake::StorageDriver,
        Wake::StorageCapacity,
        Wake::Attachment,
        Wake::Namespace,
        Wake::Group,
    ];

    /// This kind of change, of these objects alone.
    pub fn of(self, objects: impl IntoIterator<Item = Object>) -> Wakes {
        let mut wakes = Wakes::NONE;
        objects.into_iter().for_each(|object| wakes.add(self, &object));
        wakes
    }

    /// This kind of change of a node.
    #[must_use]
    pub fn of_node(self, node: &NodeName) -> Wakes {
        self.of([Object::Node(node.clone())])
    }
}

/// An object that changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Object {
    /// A node, or what is on it.
    Node(NodeName),
    /// A claim.
    Claim(ClaimId),
    /// A driver: its devices, as published, or as given to claims.
    Driver(Arc<str>),
    /// A claim for storage.
    VolumeClaim(VolumeClaimId),
}

impl Object {
    /// How many objects of this sort are named for a kind of change; with more of them, all count.
    fn named_max(&self) -> usize {
        match self {
            // Pods that no node takes would name all of them.
            Object::Node(_) => 8,
            Object::Claim(_) | Object::VolumeClaim(_) => 32,
            Object::Driver(_) => 16,
        }
    }
}

/// How many nodes are named that belong together. There are far fewer gangs than pods.
const DOMAIN_MAX: usize = 64;

/// A set of kinds of changes, and of changes to single objects.
///
/// Invariant: no object is named for a kind of which every change is in the set.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Wakes {
    kinds: u32,
    named: BTreeSet<(Wake, Object)>,
}

impl Wakes {
    /// None of them.
    pub const NONE: Wakes = Wakes { kinds: 0, named: BTreeSet::new() };

    /// All changes of these kinds.
    #[must_use]
    pub const fn of(kinds: &[Wake]) -> Wakes {
        let mut bits = 0;
        let mut at = 0;
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u32;
            at += 1;
        }
        Wakes { kinds: bits, named: BTreeSet::new() }
    }

    /// Those of either set.
    #[must_use]
    pub fn or(mut self, other: Wakes) -> Wakes {
        self.add_kinds(other.kinds);
        other.named.into_iter().for_each(|(kind, object)| self.insert(kind, object));
        self
    }

    /// Adds those of another set.
    pub fn extend(&mut self, other: &Wakes) {
        self.add_kinds(other.kinds);
        other.named.iter().for_each(|(kind, object)| self.add(*kind, object));
    }

    /// Adds a kind of change to one object.
    pub fn add(&mut self, kind: Wake, object: &Object) {
        if !self.contains(kind) {
            self.insert(kind, object.clone());
        }
    }

    /// Adds kinds of changes to nodes that belong together, if these are not too many, and otherwise to all.
    pub fn add_domain(&mut self, kinds: &[Wake], nodes: &BTreeSet<NodeName>) {
        for kind in kinds.iter().filter(|kind| !self.contains(**kind)).copied().collect::<Vec<_>>() {
            if nodes.len() > DOMAIN_MAX {
                self.add_kinds(bit(kind));
            } else {
                self.named.extend(nodes.iter().map(|node| (kind, Object::Node(node.clone()))));
            }
        }
    }

    /// Of a kind of change, only those to these objects, if all of them were in the set.
    pub(crate) fn narrow(&mut self, kind: Wake, objects: impl IntoIterator<Item = Object>) {
        if self.contains(kind) {
            self.kinds &= !bit(kind);
            objects.into_iter().for_each(|object| self.insert(kind, object));
        }
    }

    fn insert(&mut self, kind: Wake, object: Object) {
        if self.contains(kind) {
            return;
        }
        let (sort, named_max) = (std::mem::discriminant(&object), object.named_max());
        self.named.insert((kind, object));
        let same = |(one, other): &&(Wake, Object)| *one == kind && std::mem::discriminant(other) == sort;
        if self.named.iter().filter(same).count() > named_max {
            self.add_kinds(bit(kind));
        }
    }

    fn add_kinds(&mut self, kinds: u32) {
        if kinds & !self.kinds != 0 {
            self.kinds |= kinds;
            self.named.retain(|(kind, _)| kinds & bit(*kind) == 0);
        }
    }

    /// Whether every change of a kind is in the set.
    #[must_use]
    pub const fn contains(&self, kind: Wake) -> bool {
        self.kinds & bit(kind) != 0
    }

    /// Whether a change that touched these could be one of the set.
    #[must_use]
    pub fn meets(&self, touched: &Wakes) -> bool {
        self.kinds & touched.kinds != 0
            || self.named.iter().any(|one| touched.contains(one.0) || touched.named.contains(one))
            || touched.named.iter().any(|(kind, _)| self.contains(*kind))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds == 0 && self.named.is_empty()
    }

    /// The kinds of which every change is in the set.
    pub fn kinds(&self) -> impl Iterator<Item = Wake> + use<> {
        let kinds = self.kinds;
        Wake::ALL.into_iter().filter(move |kind| kinds & bit(*kind) != 0)
    }

    /// The changes to single objects.
    pub fn named(&self) -> impl Iterator<Item = &(Wake, Object)> {
        self.named.iter()
    }

    /// The changes to single objects, and nothing else.
    pub fn into_named(self) -> impl Iterator<Item = (Wake, Object)> {
        self.named.into_iter()
    }

    /// The same for a pod whose claims ask for the same.
    pub(crate) fn rename(&mut self, names: Renaming<'_>) {
        let renamed = |(kind, mut object): (Wake, Object)| {
            if let Object::Claim(claim) = &mut object {
                names.apply(claim);
            }
            (kind, object)
        };
        self.named = std::mem::take(&mut self.named).into_iter().map(renamed).collect();
    }
}

const fn bit(kind: Wake) -> u32 {
    1 << kind as u32
}

impl From<Wake> for Wakes {
    fn from(kind: Wake) -> Wakes {
        Wakes::of(&[kind])
    }
}

impl fmt::Debug for Wakes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.kinds()).entries(self.named()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> Object {
        Object::Node(name.into())
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        for kind in Wake::ALL {
            let set = Wakes::from(kind);
            assert_eq!(set.kinds().collect::<Vec<_>>(), [kind]);
            assert!(set.meets(&Wakes::of(&Wake::ALL)) && !set.is_empty());
        }
        let both = Wakes::from(Wake::Claim).or(Wakes::from(Wake::Slice));
        assert_eq!(both, Wakes::of(&[Wake::Slice, Wake::Claim]));
        assert!(both.contains(Wake::Slice) && !both.contains(Wake::Class) && !both.meets(&Wakes::NONE));
    }

    #[test]
    fn a_named_object_is_met_by_itself_and_by_changes_that_name_none() {
        let waits = Wake::PodRemoved.of([node("a")]);
        assert!(waits.meets(&Wake::PodRemoved.of([node("a")])));
        assert!(waits.meets(&Wake::PodRemoved.into()), "it may be a");
        assert!(!waits.meets(&Wake::PodRemoved.of([node("b")])));
        assert!(!waits.meets(&Wake::NodeLabels.of([node("a")])));
        assert!(Wakes::from(Wake::PodRemoved).meets(&waits), "any will do");
        assert!(!Wakes::from(Wake::NodeLabels).meets(&waits));
    }

    #[test]
    fn with_too_many_objects_all_count() {
        let mut waits = Wake::PodRemoved.of((0..8).map(|at| node(&at.to_string())));
        assert_eq!((waits.contains(Wake::PodRemoved), waits.named().count()), (false, 8));
        waits.add(Wake::PodRemoved, &node("3"));
        assert!(!waits.contains(Wake::PodRemoved), "it is known");
        waits.add(Wake::PodRemoved, &node("8"));
        assert!(waits.contains(Wake::PodRemoved));
        assert_eq!(waits.named().count(), 0);
        waits.add(Wake::PodRemoved, &node("9"));
        assert_eq!(waits, Wake::PodRemoved.into());
    }

    #[test]
    fn all_nodes_of_a_domain_are_named_unless_they_are_too_many() {
        let nodes = |count: usize| (0..count).map(|at| at.to_string().into()).collect();
        let mut waits = Wakes::NONE;
        waits.add_domain(&[Wake::PodRemoved], &nodes(DOMAIN_MAX));
        assert!(waits.meets(&Wake::PodRemoved.of([node("63")])));
        assert!(!waits.meets(&Wake::PodRemoved.of([node("64")])));
        waits.add_domain(&[Wake::PodShrunk], &nodes(DOMAIN_MAX + 1));
        assert!(waits.contains(Wake::PodShrunk) && !waits.contains(Wake::PodRemoved));
    }

    #[test]
    fn a_kind_in_either_set_leaves_no_object_of_it() {
        let named = Wake::Claim.of([node("a")]).or(Wake::Slice.of([node("a")]));
        let all = named.or(Wake::Claim.into());
        assert_eq!(all, Wakes::from(Wake::Claim).or(Wake::Slice.of([node("a")])));
    }
}
