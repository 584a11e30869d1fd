//! What a change touches, by every sort of object by which a pod that waits may name it.

use cluster::change::StorageChange;
use decisions::wake::{Object, Wake, Wakes};
use model::claim::ClaimId;
use model::node::Node;
use model::pod::Pod;
use model::volume::VolumeClaimId;

use super::Engine;

impl Engine {
    /// Something about a claim changed: the claim, and the drivers whose devices it has, or may get by our write. What it had
    /// before is to be asked before the change, and what it has then after it.
    pub(crate) fn claim_touched(&self, id: &ClaimId) -> Wakes {
        let mut wakes = Wake::Claim.of([Object::Claim(id.clone())]);
        for held in self.facts.claims.held(id) {
            wakes.add(Wake::Claim, &Object::Driver(held.device.driver));
        }
        wakes
    }

    /// Something about all claims of a pod changed.
    pub(crate) fn claims_touched(&self, pod: &Pod) -> Wakes {
        let claims = pod.claim_ids().chain(self.facts.made_for(&pod.uid).cloned());
        claims.fold(Wakes::NONE, |wakes, id| wakes.or(self.claim_touched(&id)))
    }

    /// A slice comes, changes or goes: the driver of the one that is known by this name.
    pub(super) fn slice_touched(&self, name: &str) -> Wakes {
        let known = self.facts.slices.get(name);
        Wake::Slice.of(known.map(|known| Object::Driver(known.slice.pool.driver.clone())))
    }
}

/// Which pods a fact about volumes could help. A driver or a volume that goes may have kept a pod from another; what is attached now, or
/// a class that goes, helps no pod.
pub(super) fn helped_by(change: &StorageChange) -> Wakes {
    let of_claim = |id: &VolumeClaimId| Wake::VolumeClaim.of([Object::VolumeClaim(id.clone())]);
    match change {
        StorageChange::VolumeApplied(_) | StorageChange::VolumeAnswered(_) | StorageChange::VolumeGone(_) => {
            Wake::Volume.into()
        }
        StorageChange::VolumeClaimApplied(claim) | StorageChange::VolumeClaimAnswered(claim) => {
            of_claim(&claim.id)
        }
        StorageChange::VolumeClaimGone(id) => of_claim(id),
        StorageChange::StorageClassApplied(_) => Wake::StorageClass.into(),
        StorageChange::NodeApplied(node) => Wake::StorageNode.of_node(&node.name),
        StorageChange::DriverApplied(_) | StorageChange::DriverGone(_) => Wake::StorageDriver.into(),
        StorageChange::CapacityApplied(_) => Wake::StorageCapacity.into(),
        StorageChange::AttachmentGone(_) => Wake::Attachment.into(),
        StorageChange::NodeGone(name) => Wake::StorageNode.of_node(name),
        StorageChange::StorageClassGone(_)
        | StorageChange::CapacityGone(..)
        | StorageChange::AttachmentApplied(_) => Wakes::NONE,
    }
}

/// What changed of a node that could help a pod.
pub(super) fn node_changes(before: &Node, after: &Node) -> Wakes {
    let mut wakes = Wakes::NONE;
    let mut note = |changed: bool, kind: Wake| {
        if changed {
            wakes.add(kind, &Object::Node(after.name.clone()));
        }
    };
    note(before.labels != after.labels, Wake::NodeLabels);
    note(before.taints != after.taints || (before.unschedulable && !after.unschedulable), Wake::NodeTaints);
    note(before.allocatable != after.allocatable || before.pods_max != after.pods_max, Wake::NodeAllocatable);
    note(before.declared_features != after.declared_features, Wake::NodeFeatures);
    wakes
}

/// What changed of a waiting pod that could help itself.
pub(super) fn own_changes(before: &Pod, after: &Pod) -> Wakes {
    let mut wakes = Wakes::NONE;
    let mut note = |changed: bool, kind: Wake| {
        if changed {
            wakes.extend(&kind.into());
        }
    };
    note(before.shape.labels != after.shape.labels, Wake::OwnLabels);
    note(before.shape.tolerations != after.shape.tolerations, Wake::OwnTolerations);
    note(before.shape.requests != after.shape.requests, Wake::OwnRequests);
    note(before.shape != after.shape, Wake::OwnSpec);
    note(before.claims != after.claims, Wake::OwnClaims);
    wakes
}
