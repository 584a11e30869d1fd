//! Why a pod on its way to a node is not bound, as a value, and in words.

use std::fmt;
use std::sync::Arc;

use decisions::driven_off::DrivenOff;
use decisions::not_ready::{ClaimLost, NotReady};
use decisions::reason::ClaimReason;
use model::claim::ClaimId;
use model::identity::NodeName;
use model::volume::VolumeClaimId;

use super::part::Part;

/// Why a pod is not bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NotBound {
    /// A write for it was refused, as this says.
    Refused(Part, String),
    /// The write that binds it was refused, as this says.
    BindRefused(String),
    /// A claim of it is gone, or has no devices any more.
    Lost(ClaimLost),
    /// The claim that was made for it has no devices any more.
    LostMade,
    /// A claim got devices where they cannot be used on the node.
    Elsewhere { claim: ClaimId, node: NodeName },
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
pub(crate) enum VolumeFailure {
    /// The claim is gone.
    ClaimGone { claim: VolumeClaimId },
    /// The volume is gone.
    VolumeGone { volume: Arc<str> },
    /// The volume is not for the claim any more.
    Reset { volume: Arc<str> },
    /// The provisioner of volumes could not do it for the node.
    NotProvisioned { claim: VolumeClaimId },
    /// The volume cannot be reached from the node.
    Elsewhere { volume: Arc<str>, node: NodeName },
    /// The claim was not bound in time.
    TimedOut { claim: VolumeClaimId },
    /// The node is gone.
    NodeGone { node: NodeName },
}

impl fmt::Display for VolumeFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("binding volumes: ")?;
        match self {
            VolumeFailure::ClaimGone { claim } => {
                write!(out, "persistentvolumeclaim \"{}\" not found", claim.name)
            }
            VolumeFailure::VolumeGone { volume } => write!(out, "persistentvolume \"{volume}\" not found"),
            VolumeFailure::Reset { volume } => write!(out, "ClaimRef got reset for pv \"{volume}\""),
            VolumeFailure::NotProvisioned { claim } => {
                write!(out, "provisioning failed for PVC \"{}\"", claim.name)
            }
            VolumeFailure::Elsewhere { volume, node } => {
                write!(out, "pv \"{volume}\" node affinity doesn't match node \"{node}\"")
            }
            VolumeFailure::TimedOut { claim } => {
                write!(out, "timed out waiting for PVC \"{}\" to be bound", claim.name)
            }
            VolumeFailure::NodeGone { node } => write!(out, "node \"{node}\" not found"),
        }
    }
}

/// Why the members of a gang are taken back that are on their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GangFell {
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

impl fmt::Display for NotBound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotBound::Refused(Part::Claim(claim), why) => write!(out, "claim {claim}: {why}"),
            NotBound::Refused(Part::MadeClaim, why) => write!(out, "claim for extended resources: {why}"),
            NotBound::Refused(Part::Volume(claim), why) => {
                write!(out, "binding volumes: persistentvolumeclaim \"{}\": {why}", claim.name)
            }
            NotBound::Refused(Part::Note(_), why) => write!(out, "note of resources: {why}"),
            NotBound::BindRefused(why) => write!(out, "binding: {why}"),
            NotBound::Lost(lost) => lost.fmt(out),
            NotBound::LostMade => {
                out.write_str("claim for extended resources: it lost its devices in the meantime")
            }
            NotBound::Elsewhere { claim, node } => {
                write!(out, "claim {claim}: it got devices elsewhere than on {node} in the meantime")
            }
            NotBound::Unheard(Some(claim)) => {
                write!(out, "claim {claim}: nothing was heard of it since it was written")
            }
            NotBound::Unheard(None) => {
                out.write_str("claim for extended resources: nothing was heard of it since it was written")
            }
            NotBound::Clash(reason) => reason.fmt(out),
            NotBound::NotReady(why) => why.fmt(out),
            NotBound::Volume(why) => why.fmt(out),
            NotBound::DrivenOff(why) => why.fmt(out),
            NotBound::Preempted => out.write_str("preempted by a higher priority pod before it was bound"),
            NotBound::Gang(fell) => fell.fmt(out),
        }
    }
}

impl fmt::Display for GangFell {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            GangFell::MemberFailed => "another member of the pod group could not be bound",
            GangFell::MemberGone => "another member of the pod group has gone",
            GangFell::MemberHeldBack => "another member of the pod group is held back",
            GangFell::NoOtherDevices => {
                "devices of another member of the pod group failed, and there are no others for it"
            }
            GangFell::NeedsMore => "the pod group needs more members than were on their way",
        })
    }
}
