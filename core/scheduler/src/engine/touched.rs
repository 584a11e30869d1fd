//! What a change touches, by every sort of object by which a pod that waits may name it.

use cluster::change::StorageChange;
use decisions::wake::{Object, Wake, Wakes};
use model::claim::ClaimId;
use model::node::Node;
use model::pod::Pod;

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

/// Whom a fact about volumes could help. What goes helps nobody.
pub(super) fn helped_by(change: &StorageChange) -> Wakes {
    match change {
        StorageChange::VolumeApplied(_) => Wake::Volume.into(),
        StorageChange::VolumeClaimApplied(_) => Wake::VolumeClaim.into(),
        StorageChange::StorageClassApplied(_) => Wake::StorageClass.into(),
        StorageChange::VolumeGone(_)
        | StorageChange::VolumeClaimGone(_)
        | StorageChange::StorageClassGone(_) => Wakes::NONE,
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
