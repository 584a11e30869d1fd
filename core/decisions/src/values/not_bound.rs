//! Why a pod on its way to a node is not bound.

use std::sync::Arc;

use model::claim::ClaimId;
use model::identity::NodeName;
use model::node::NodeTaint;
use model::volume::VolumeClaimId;

use crate::values::binding_part::BindingPart;
use crate::values::not_ready::{ClaimLost, NotReady};
use crate::values::reason::{ClaimReason, TaintedDevice};

/// Why a pod is not bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotBound {
    /// A write for it was refused, as this says.
    Refused(BindingPart, String),
    /// The write that binds it was refused, as this says.
    BindRefused(String),
    /// A claim of it is gone, or has no devices any more.
    Lost(ClaimLost),
    /// The claim that was made for it has no devices any more.
    LostMade,
    /// A claim got devices where they cannot be used on the node.
    Elsewhere {
        /// The claim.
        claim: ClaimId,
        /// The node.
        node: NodeName,
    },
    /// The API told nothing of a claim since it was written; without a name it is the one that was made for the pod.
    Unheard(Option<ClaimId>),
    /// Another claim has one of its devices.
    Clash(ClaimReason),
    /// Its devices will not become ready.
    NotReady(NotReady),
    /// It does not get its volumes.
    Volume(VolumeFailure),
    /// It may not go to its node any more, or not with its devices.
    DrivenOff(DrivenOff),
    /// A more important pod needs its place.
    Preempted,
    /// Its gang is not bound.
    Gang(GangFell),
}

/// Why a pod on its way does not get its volumes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VolumeFailure {
    /// The claim is gone.
    ClaimGone {
        /// The claim.
        claim: VolumeClaimId,
    },
    /// The volume is gone.
    VolumeGone {
        /// The volume.
        volume: Arc<str>,
    },
    /// The volume is not for the claim any more.
    Reset {
        /// The volume.
        volume: Arc<str>,
    },
    /// The provisioner of volumes could not do it for the node.
    NotProvisioned {
        /// The claim.
        claim: VolumeClaimId,
    },
    /// The volume cannot be reached from the node.
    Elsewhere {
        /// The volume.
        volume: Arc<str>,
        /// The node.
        node: NodeName,
    },
    /// The claim was not bound in time.
    TimedOut {
        /// The claim.
        claim: VolumeClaimId,
    },
    /// The node is gone.
    NodeGone {
        /// The node.
        node: NodeName,
    },
}

/// Why the members of a gang are taken back that are on their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GangFell {
    /// Another could not be bound.
    MemberFailed,
    /// Another has gone.
    MemberGone,
    /// Another is held back.
    MemberHeldBack,
    /// Devices of another failed, and it gets no others.
    NoOtherDevices,
    /// More are needed than were on their way.
    NeedsMore,
}

/// Why a pod does not go to its node, or not with its devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DrivenOff {
    /// The node was deleted.
    NodeGone(NodeName),
    /// The node was cordoned.
    Cordoned(NodeName),
    /// The node has a taint by which pods are evicted.
    NodeTainted {
        /// The node.
        node: NodeName,
        /// The taint.
        taint: NodeTaint,
    },
    /// A device has such a taint.
    DeviceTainted(TaintedDevice),
}
