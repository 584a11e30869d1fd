//! Why a pod cannot go to a node.
//!
//! Each refusal carries its numbers, says in Kubernetes' words what is wrong, whether making room could help, and which
//! changes could undo it.

use std::sync::Arc;

use model::node::NodeTaint;
use model::pod::HostPort;

use crate::values::filter_set::Filter;
use crate::values::wake::{Wake, Wakes};

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
    /// The volume cannot be reached from the node.
    VolumeElsewhere {
        /// The volume.
        volume: Arc<str>,
    },
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

/// Why a pod's volumes cannot be had on any node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VolumeRefusal {
    /// There is no such claim.
    NoClaim {
        /// The claim.
        claim: Arc<str>,
    },
    /// The claim has yet to be made for the pod.
    NotMade {
        /// The claim.
        claim: Arc<str>,
    },
    /// The claim was made for another pod, and only has the name of the one for the pod.
    NotOwn {
        /// The claim's namespace.
        namespace: Arc<str>,
        /// The claim.
        claim: Arc<str>,
        /// The pod.
        pod: Arc<str>,
    },
    /// The claim's volume is gone.
    Lost {
        /// The claim.
        claim: Arc<str>,
        /// The volume.
        volume: Arc<str>,
    },
    /// The claim is being deleted.
    Deleting {
        /// The claim.
        claim: Arc<str>,
    },
    /// The volume controller has yet to find a volume for the claim.
    Unbound {
        /// The claim.
        claim: Arc<str>,
    },
    /// The claim gets a volume once it is known where the pod goes, which we cannot do.
    Waits {
        /// The claim.
        claim: Arc<str>,
    },
    /// The claim has a volume that we do not know.
    NoVolume {
        /// The volume.
        volume: Arc<str>,
    },
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

/// Something that nodes have for pods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResourceName {
    /// Places for pods.
    Pods,
    /// Processor, in thousandths.
    Cpu,
    /// Memory, in bytes.
    Memory,
    /// Local storage, in bytes.
    EphemeralStorage,
    /// Another resource.
    Other(Arc<str>),
}

impl Shortage {
    /// Whether there would be too little even if no other pod were there.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.of != ResourceName::Pods && self.requested > self.capacity
    }

    /// What is wrong.
    #[must_use]
    pub fn text(&self) -> String {
        let name = match &self.of {
            ResourceName::Pods => return "Too many pods".to_owned(),
            ResourceName::Cpu => "cpu",
            ResourceName::Memory => "memory",
            ResourceName::EphemeralStorage => "ephemeral-storage",
            ResourceName::Other(name) => name,
        };
        format!("Insufficient {name}")
    }
}

impl VolumeRefusal {
    fn text(&self) -> String {
        match self {
            VolumeRefusal::NoClaim { claim } => format!("persistentvolumeclaim \"{claim}\" not found"),
            VolumeRefusal::NotMade { claim } => {
                format!(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{claim}\""
                )
            }
            VolumeRefusal::NotOwn { namespace, claim, pod } => format!(
                "PVC {namespace}/{claim} was not created for pod {namespace}/{pod} (pod is not owner)"
            ),
            VolumeRefusal::Lost { claim, volume } => {
                format!(
                    "persistentvolumeclaim \"{claim}\" bound to non-existent persistentvolume \"{volume}\""
                )
            }
            VolumeRefusal::Deleting { claim } => {
                format!("persistentvolumeclaim \"{claim}\" is being deleted")
            }
            VolumeRefusal::Unbound { .. } => "pod has unbound immediate PersistentVolumeClaims".to_owned(),
            VolumeRefusal::Waits { claim } => format!(
                "persistentvolumeclaim \"{claim}\" waits for its first consumer, and this scheduler binds no volumes"
            ),
            VolumeRefusal::NoVolume { volume } => format!("persistentvolume \"{volume}\" not found"),
        }
    }
}

impl NodeRefusal {
    /// What is wrong, in Kubernetes' words; several things are separated by commas.
    #[must_use]
    pub fn text(&self) -> String {
        self.reasons().join(", ")
    }

    /// What is wrong, one by one, as nodes are counted by reasons.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let text = match self {
            NodeRefusal::Short(shortages) => return shortages.iter().map(Shortage::text).collect(),
            NodeRefusal::Volume(refusal) => return vec![refusal.text()],
            NodeRefusal::OtherNode => "node(s) didn't match the requested node name",
            NodeRefusal::Unschedulable => "node(s) were unschedulable",
            NodeRefusal::Taint(_) => "node(s) had untolerated taint(s)",
            NodeRefusal::NotNamed => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            NodeRefusal::NamesConflict => "pod affinity terms conflict",
            NodeRefusal::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            NodeRefusal::EnforcedNodeAffinity => "node(s) didn't match scheduler-enforced node affinity",
            NodeRefusal::ClaimInUse => {
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
            }
            NodeRefusal::Port(_) => "node(s) didn't have free ports for the requested pod ports",
            NodeRefusal::NoSpreadLabel { .. } => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            NodeRefusal::Skewed { .. } => "node(s) didn't match pod topology spread constraints",
            NodeRefusal::NotNear => "node(s) didn't match pod affinity rules",
            NodeRefusal::NotApart { .. } => "node(s) didn't match pod anti-affinity rules",
            NodeRefusal::Unwelcome { .. } => "node(s) didn't satisfy existing pods anti-affinity rules",
            NodeRefusal::VolumeElsewhere { .. } => "node(s) didn't match PersistentVolume's node affinity",
            NodeRefusal::VolumeZone { .. } => "node(s) had no available volume zone",
            NodeRefusal::Feature { .. } => "node(s) didn't match Pod's required features",
        };
        vec![text.to_owned()]
    }

    /// Whether taking pods off the node could not help.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            NodeRefusal::ClaimInUse
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
            | NodeRefusal::VolumeElsewhere { .. }
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
            NodeRefusal::ClaimInUse => Filter::ExclusiveVolumes,
            NodeRefusal::Volume(_) | NodeRefusal::VolumeElsewhere { .. } => Filter::Volumes,
            NodeRefusal::VolumeZone { .. } => Filter::VolumeZones,
            NodeRefusal::Feature { .. } => Filter::Features,
        })
    }

    /// The changes that could undo it.
    #[must_use]
    pub fn wakes_on(&self) -> Wakes {
        match self {
            NodeRefusal::OtherNode => Wakes::of(&[Wake::NodeAdded]),
            NodeRefusal::Unschedulable | NodeRefusal::Taint(_) => {
                Wakes::of(&[Wake::NodeAdded, Wake::NodeTaints, Wake::OwnTolerations])
            }
            NodeRefusal::NotNamed
            | NodeRefusal::NamesConflict
            | NodeRefusal::NodeAffinity
            | NodeRefusal::EnforcedNodeAffinity => Wakes::of(&[Wake::NodeAdded, Wake::NodeLabels]),
            NodeRefusal::ClaimInUse => Wakes::of(&[Wake::PodRemoved, Wake::VolumeClaim]),
            NodeRefusal::Port(_) => Wakes::of(&[Wake::PodRemoved, Wake::NodeAdded]),
            NodeRefusal::Short(_) => SHORT,
            NodeRefusal::NoSpreadLabel { .. } | NodeRefusal::Skewed { .. } => SPREAD,
            NodeRefusal::NotNear | NodeRefusal::NotApart { .. } | NodeRefusal::Unwelcome { .. } => PODS,
            NodeRefusal::Volume(_) => Wakes::of(&[Wake::StorageClass, Wake::VolumeClaim, Wake::Volume]),
            NodeRefusal::VolumeElsewhere { .. } | NodeRefusal::VolumeZone { .. } => VOLUMES,
            NodeRefusal::Feature { .. } => Wakes::of(&[Wake::NodeAdded, Wake::NodeFeatures, Wake::OwnSpec]),
        }
    }
}

const SHORT: Wakes = Wakes::of(&[
    Wake::PodRemoved,
    Wake::PodShrunk,
    Wake::OwnRequests,
    Wake::NodeAdded,
    Wake::NodeAllocatable,
    Wake::Class,
]);

const SPREAD: Wakes = Wakes::of(&[
    Wake::PodAdded,
    Wake::PodLabels,
    Wake::PodRemoved,
    Wake::OwnLabels,
    Wake::OwnTolerations,
    Wake::NodeAdded,
    Wake::NodeRemoved,
    Wake::NodeLabels,
    Wake::NodeTaints,
]);

// Kubernetes does not look again when a namespace gets other labels, and leaves the pod to the clock.
const PODS: Wakes = Wakes::of(&[
    Wake::PodAdded,
    Wake::PodLabels,
    Wake::PodRemoved,
    Wake::OwnLabels,
    Wake::NodeAdded,
    Wake::NodeLabels,
    Wake::Namespace,
]);

const VOLUMES: Wakes =
    Wakes::of(&[Wake::StorageClass, Wake::VolumeClaim, Wake::Volume, Wake::NodeAdded, Wake::NodeLabels]);

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
        assert_eq!((refusal.text().as_str(), refusal.is_final()), ("Too many pods, Insufficient cpu", false));
        let refusal = NodeRefusal::Short(vec![tight, gpu]);
        assert_eq!(refusal.reasons(), ["Insufficient cpu", "Insufficient example.com/gpu"]);
        assert!(refusal.is_final() && !many.is_final());
    }

    #[test]
    fn a_missing_volume_claim_is_the_same_everywhere_and_waits_for_the_claim() {
        let refusal = NodeRefusal::Volume(VolumeRefusal::NoClaim { claim: "disk".into() });
        assert_eq!(refusal.text(), "persistentvolumeclaim \"disk\" not found");
        assert!(refusal.is_final() && refusal.is_everywhere());
        assert!(
            refusal.wakes_on().contains(Wake::VolumeClaim) && !refusal.wakes_on().contains(Wake::PodRemoved)
        );
    }
}
