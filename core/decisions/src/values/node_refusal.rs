//! Why a pod cannot go to a node.
//!
//! Each refusal carries its numbers, and says by which reasons the node is counted, whether making room could help, and which
//! changes could undo it.

use std::sync::Arc;

use model::identity::NodeName;
use model::node::NodeTaint;
use model::pod::HostPort;

use crate::values::filter_set::Filter;
use crate::values::reason::{Reason, Rule};
use crate::values::wake::{Object, Wake, Wakes};

pub use crate::values::reason::{ResourceName, VolumeRefusal};

/// Why a pod cannot go to a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeRefusal {
    /// The pod names another node.
    OtherNode,
    /// The node takes no new pods.
    Unschedulable,
    /// The pod does not bear this taint.
    Taint(NodeTaint),
    /// The pod wants other nodes by their names.
    NotNamed,
    /// The pod wants nodes by names of which no node can have all.
    NamesConflict,
    /// The pod wants other nodes.
    NodeAffinity,
    /// The scheduler's settings want other nodes.
    EnforcedNodeAffinity,
    /// The port is taken.
    Port(HostPort),
    /// There is too little left of these; at least one of them.
    Short(Vec<Shortage>),
    /// Pods are to be spread by a label that the node does not have.
    NoSpreadLabel {
        /// The label.
        key: Arc<str>,
    },
    /// The node's place would have too many pods more than the one with the fewest.
    Skewed {
        /// The label that tells places apart.
        key: Arc<str>,
        /// How many pods the node's place would have.
        here: i64,
        /// How many the place with the fewest has.
        least: i64,
        /// By how much they may differ.
        max_skew: i64,
    },
    /// Pods that the pod must be near are not there.
    NotNear,
    /// Pods that the pod must be apart from are there.
    NotApart {
        /// The label that tells places apart.
        key: Arc<str>,
    },
    /// Pods that must be apart from the pod are there.
    Unwelcome {
        /// The label that tells places apart.
        key: Arc<str>,
    },
    /// Another pod uses a volume claim of which only one may make use.
    ClaimInUse,
    /// The pod's volumes cannot be had on any node.
    Volume(VolumeRefusal),
    /// Another pod on the node uses a disk that the pod names itself.
    DiskInUse,
    /// The node would have more volumes than a driver attaches.
    TooManyVolumes {
        /// The driver.
        driver: Arc<str>,
        /// How many it would have.
        count: i64,
        /// How many it may have.
        max: i64,
    },
    /// The node does not have the driver of a volume.
    DriverMissing {
        /// The driver.
        driver: Arc<str>,
    },
    /// Claims of the pod cannot be used from the node, or get no volume there; at least one.
    Volumes(Vec<VolumeLack>),
    /// The volume is in another zone.
    VolumeZone {
        /// The volume.
        volume: Arc<str>,
    },
    /// The node's agent has not declared a feature that the pod needs.
    Feature {
        /// The feature.
        feature: Arc<str>,
    },
}

/// Why a claim cannot be used from a node, or gets no volume there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VolumeLack {
    /// Its volume cannot be reached from the node.
    Elsewhere {
        /// The volume.
        volume: Arc<str>,
    },
    /// The node reaches no volume for it, and none can be provisioned.
    NoMatch {
        /// The claim.
        claim: Arc<str>,
    },
    /// There is too little storage to provision a volume.
    NoSpace {
        /// The claim.
        claim: Arc<str>,
    },
    /// Its volume is not there.
    Missing {
        /// The volume.
        volume: Arc<str>,
    },
}

impl VolumeLack {
    fn rule(&self) -> Rule {
        match self {
            VolumeLack::Elsewhere { .. } => Rule::VolumeElsewhere,
            VolumeLack::NoMatch { .. } => Rule::NoVolumeForClaim,
            VolumeLack::NoSpace { .. } => Rule::StorageShort,
            VolumeLack::Missing { .. } => Rule::VolumeMissing,
        }
    }
}

/// Too little of something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// Of what.
    pub of: ResourceName,
    /// How much the pod needs.
    pub requested: i64,
    /// How much is in use.
    pub used: i64,
    /// How much the node has.
    pub capacity: i64,
}

impl Shortage {
    /// Whether there would be too little even if no other pod were there.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.of != ResourceName::Pods && self.requested > self.capacity
    }
}

impl NodeRefusal {
    /// What is wrong, one by one, as nodes are counted by reasons.
    pub fn each_reason(&self, mut tell: impl FnMut(Reason)) {
        let rule = match self {
            NodeRefusal::Short(shortages) => {
                return shortages.iter().for_each(|one| tell(Reason::Rule(Rule::Short(one.of.clone()))));
            }
            NodeRefusal::Volume(refusal) => return tell(Reason::Volume(refusal.clone())),
            NodeRefusal::Volumes(lacks) => {
                return lacks.iter().for_each(|lack| tell(Reason::Rule(lack.rule())));
            }
            NodeRefusal::OtherNode => Rule::OtherNode,
            NodeRefusal::Unschedulable => Rule::Unschedulable,
            NodeRefusal::Taint(_) => Rule::Taint,
            NodeRefusal::NotNamed => Rule::NotNamed,
            NodeRefusal::NamesConflict => Rule::NamesConflict,
            NodeRefusal::NodeAffinity => Rule::NodeAffinity,
            NodeRefusal::EnforcedNodeAffinity => Rule::EnforcedNodeAffinity,
            NodeRefusal::ClaimInUse => Rule::VolumeInUse,
            NodeRefusal::Port(_) => Rule::Port,
            NodeRefusal::NoSpreadLabel { .. } => Rule::NoSpreadLabel,
            NodeRefusal::Skewed { .. } => Rule::Skewed,
            NodeRefusal::NotNear => Rule::NotNear,
            NodeRefusal::NotApart { .. } => Rule::NotApart,
            NodeRefusal::Unwelcome { .. } => Rule::Unwelcome,
            NodeRefusal::DiskInUse => Rule::DiskInUse,
            NodeRefusal::TooManyVolumes { .. } => Rule::TooManyVolumes,
            NodeRefusal::DriverMissing { driver } => Rule::DriverMissing(driver.clone()),
            NodeRefusal::VolumeZone { .. } => Rule::VolumeZone,
            NodeRefusal::Feature { .. } => Rule::Feature,
        };
        tell(Reason::Rule(rule));
    }

    /// The label that tells the places apart which a rule is about.
    pub(crate) fn key(&self) -> Option<&Arc<str>> {
        match self {
            NodeRefusal::NoSpreadLabel { key }
            | NodeRefusal::Skewed { key, .. }
            | NodeRefusal::NotApart { key }
            | NodeRefusal::Unwelcome { key } => Some(key),
            NodeRefusal::OtherNode
            | NodeRefusal::Unschedulable
            | NodeRefusal::Taint(_)
            | NodeRefusal::NotNamed
            | NodeRefusal::NamesConflict
            | NodeRefusal::NodeAffinity
            | NodeRefusal::EnforcedNodeAffinity
            | NodeRefusal::Port(_)
            | NodeRefusal::Short(_)
            | NodeRefusal::NotNear
            | NodeRefusal::ClaimInUse
            | NodeRefusal::DiskInUse
            | NodeRefusal::TooManyVolumes { .. }
            | NodeRefusal::DriverMissing { .. }
            | NodeRefusal::Volume(_)
            | NodeRefusal::Volumes(_)
            | NodeRefusal::VolumeZone { .. }
            | NodeRefusal::Feature { .. } => None,
        }
    }

    /// The first thing that is wrong.
    pub(crate) fn reason(&self) -> Reason {
        self.reasons().swap_remove(0)
    }

    /// What is wrong, one by one; at least one thing.
    #[must_use]
    pub fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        self.each_reason(|reason| reasons.push(reason));
        reasons
    }

    /// Whether taking pods off the node could not help.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            NodeRefusal::ClaimInUse
            | NodeRefusal::DiskInUse
            | NodeRefusal::TooManyVolumes { .. }
            | NodeRefusal::DriverMissing { .. }
            | NodeRefusal::Port(_)
            | NodeRefusal::Skewed { .. }
            | NodeRefusal::NotApart { .. }
            | NodeRefusal::Unwelcome { .. } => false,
            NodeRefusal::Short(shortages) => shortages.iter().any(Shortage::is_final),
            NodeRefusal::OtherNode
            | NodeRefusal::Unschedulable
            | NodeRefusal::Taint(_)
            | NodeRefusal::NotNamed
            | NodeRefusal::NamesConflict
            | NodeRefusal::NodeAffinity
            | NodeRefusal::EnforcedNodeAffinity
            | NodeRefusal::NoSpreadLabel { .. }
            | NodeRefusal::NotNear
            | NodeRefusal::Volume(_)
            | NodeRefusal::Volumes(_)
            | NodeRefusal::VolumeZone { .. }
            | NodeRefusal::Feature { .. } => true,
        }
    }

    /// Whether it is the same on every node, so that looking at another is of no use.
    #[must_use]
    pub fn is_everywhere(&self) -> bool {
        matches!(self, NodeRefusal::Volume(_) | NodeRefusal::NamesConflict)
    }

    /// The filter that says so; the name of a node is no filter of ours.
    #[must_use]
    pub fn filter(&self) -> Option<Filter> {
        Some(match self {
            NodeRefusal::OtherNode => return None,
            NodeRefusal::Unschedulable => Filter::Unschedulable,
            NodeRefusal::Taint(_) => Filter::Taints,
            NodeRefusal::NotNamed
            | NodeRefusal::NamesConflict
            | NodeRefusal::NodeAffinity
            | NodeRefusal::EnforcedNodeAffinity => Filter::NodeAffinity,
            NodeRefusal::Port(_) => Filter::Ports,
            NodeRefusal::Short(_) => Filter::Resources,
            NodeRefusal::NoSpreadLabel { .. } | NodeRefusal::Skewed { .. } => Filter::Spread,
            NodeRefusal::NotNear | NodeRefusal::NotApart { .. } | NodeRefusal::Unwelcome { .. } => {
                Filter::PodAffinity
            }
            NodeRefusal::ClaimInUse | NodeRefusal::DiskInUse => Filter::ExclusiveVolumes,
            NodeRefusal::TooManyVolumes { .. } | NodeRefusal::DriverMissing { .. } => Filter::VolumeLimits,
            NodeRefusal::Volume(_) | NodeRefusal::Volumes(_) => Filter::Volumes,
            NodeRefusal::VolumeZone { .. } => Filter::VolumeZones,
            NodeRefusal::Feature { .. } => Filter::Features,
        })
    }

    /// Adds the changes that could undo it on a node.
    pub(crate) fn add_wakes(&self, node: &NodeName, wakes: &mut Wakes) {
        let (here, anywhere) = self.wakes();
        wakes.extend(&Wakes::of(anywhere));
        for kind in here {
            if !wakes.contains(*kind) {
                wakes.add(*kind, &Object::Node(node.clone()));
            }
        }
    }

    /// The changes that could undo it, if it is on every node.
    #[must_use]
    pub fn wakes_on(&self) -> Wakes {
        let (here, anywhere) = self.wakes();
        Wakes::of(here).or(Wakes::of(anywhere))
    }

    /// The kinds of changes to the node that could undo it, and those that could wherever they happen. What pods elsewhere are
    /// or what volumes there are does not depend on the node alone.
    fn wakes(&self) -> (&'static [Wake], &'static [Wake]) {
        match self {
            NodeRefusal::OtherNode => (&[], &[Wake::NodeAdded]),
            NodeRefusal::Unschedulable | NodeRefusal::Taint(_) => {
                (&[Wake::NodeTaints], &[Wake::NodeAdded, Wake::OwnTolerations])
            }
            NodeRefusal::NotNamed
            | NodeRefusal::NamesConflict
            | NodeRefusal::NodeAffinity
            | NodeRefusal::EnforcedNodeAffinity => (&[Wake::NodeLabels], &[Wake::NodeAdded]),
            NodeRefusal::ClaimInUse => (&[], &[Wake::PodRemoved, Wake::VolumeClaim]),
            NodeRefusal::Port(_) => (&[Wake::PodRemoved], &[Wake::NodeAdded]),
            NodeRefusal::Short(_) => (
                &[Wake::PodRemoved, Wake::PodShrunk, Wake::NodeAllocatable],
                &[Wake::OwnRequests, Wake::NodeAdded, Wake::Class],
            ),
            NodeRefusal::NoSpreadLabel { .. } | NodeRefusal::Skewed { .. } => (&[], SPREAD),
            NodeRefusal::NotNear | NodeRefusal::NotApart { .. } | NodeRefusal::Unwelcome { .. } => {
                (&[], PODS)
            }
            NodeRefusal::Volume(_) => (&[], &[Wake::StorageClass, Wake::VolumeClaim, Wake::Volume]),
            NodeRefusal::DiskInUse => (&[Wake::PodRemoved], &[Wake::NodeAdded]),
            NodeRefusal::TooManyVolumes { .. } | NodeRefusal::DriverMissing { .. } => (
                &[Wake::PodRemoved, Wake::StorageNode, Wake::Attachment],
                &[Wake::NodeAdded, Wake::StorageDriver],
            ),
            NodeRefusal::Volumes(_) => (&[], STORAGE),
            NodeRefusal::VolumeZone { .. } => (&[], VOLUMES),
            NodeRefusal::Feature { .. } => (&[Wake::NodeFeatures], &[Wake::NodeAdded, Wake::OwnSpec]),
        }
    }
}

const SPREAD: &[Wake] = &[
    Wake::PodAdded,
    Wake::PodLabels,
    Wake::PodRemoved,
    Wake::OwnLabels,
    Wake::OwnTolerations,
    Wake::NodeAdded,
    Wake::NodeRemoved,
    Wake::NodeLabels,
    Wake::NodeTaints,
];

// Kubernetes does not look again when a namespace gets other labels, and leaves the pod to the clock.
const PODS: &[Wake] = &[
    Wake::PodAdded,
    Wake::PodLabels,
    Wake::PodRemoved,
    Wake::OwnLabels,
    Wake::NodeAdded,
    Wake::NodeLabels,
    Wake::Namespace,
];

const STORAGE: &[Wake] = &[
    Wake::StorageClass,
    Wake::VolumeClaim,
    Wake::Volume,
    Wake::StorageDriver,
    Wake::StorageCapacity,
    Wake::NodeAdded,
    Wake::NodeLabels,
];

const VOLUMES: &[Wake] =
    &[Wake::StorageClass, Wake::VolumeClaim, Wake::Volume, Wake::NodeAdded, Wake::NodeLabels];

#[cfg(test)]
mod tests {
    use super::*;

    fn short(of: ResourceName, requested: i64, used: i64, capacity: i64) -> Shortage {
        Shortage { of, requested, used, capacity }
    }

    #[test]
    fn a_shortage_is_final_only_if_the_empty_node_is_too_small() {
        let many = short(ResourceName::Pods, 1, 0, 0);
        let tight = short(ResourceName::Cpu, 500, 800, 1000);
        let gpu = short(ResourceName::Other("example.com/gpu".into()), 8, 0, 4);
        let refusal = NodeRefusal::Short(vec![many.clone(), tight.clone()]);
        assert_eq!(
            (refusal.to_string().as_str(), refusal.is_final()),
            ("Too many pods, Insufficient cpu", false)
        );
        let refusal = NodeRefusal::Short(vec![tight, gpu]);
        let told: Vec<String> = refusal.reasons().iter().map(ToString::to_string).collect();
        assert_eq!(told, ["Insufficient cpu", "Insufficient example.com/gpu"]);
        assert!(refusal.is_final() && !many.is_final());
    }

    #[test]
    fn a_missing_volume_claim_is_the_same_everywhere_and_waits_for_the_claim() {
        let refusal = NodeRefusal::Volume(VolumeRefusal::NoClaim { claim: "disk".into() });
        assert_eq!(refusal.to_string(), "persistentvolumeclaim \"disk\" not found");
        assert!(refusal.is_final() && refusal.is_everywhere());
        assert!(
            refusal.wakes_on().contains(Wake::VolumeClaim) && !refusal.wakes_on().contains(Wake::PodRemoved)
        );
    }
}
