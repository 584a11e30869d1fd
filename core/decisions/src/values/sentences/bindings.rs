//! Why a pod on its way to a node is not bound.

use std::fmt;
use std::fmt::Display;

use super::Out;
use crate::values::binding_part::BindingPart;
use crate::values::not_bound::{DrivenOff, GangFell, NotBound, VolumeFailure};
use crate::values::reason::TaintedDevice;

impl Display for NotBound {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            NotBound::Refused(BindingPart::Claim(claim), why) => write!(out, "claim {claim}: {why}"),
            NotBound::Refused(BindingPart::MadeClaim, why) => {
                write!(out, "claim for extended resources: {why}")
            }
            NotBound::Refused(BindingPart::Volume(claim), why) => {
                write!(out, "binding volumes: persistentvolumeclaim \"{}\": {why}", claim.name)
            }
            NotBound::Refused(BindingPart::Note(_), why) => {
                write!(out, "recording allocated resources: {why}")
            }
            NotBound::BindRefused(why) => write!(out, "binding: {why}"),
            NotBound::Lost(lost) => lost.fmt(out),
            NotBound::LostMade => out.write_str("claim for extended resources was deallocated concurrently"),
            NotBound::Elsewhere { claim, node } => {
                write!(out, "claim {claim} was allocated concurrently, for another node than {node}")
            }
            NotBound::Unheard(Some(claim)) => {
                write!(out, "claim {claim}: the API server did not confirm the write")
            }
            NotBound::Unheard(None) => {
                out.write_str("claim for extended resources: the API server did not confirm the write")
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

impl Display for GangFell {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(match self {
            GangFell::MemberFailed => "another member of the pod group could not be bound",
            GangFell::MemberGone => "another member of the pod group was deleted",
            GangFell::MemberHeldBack => "another member of the pod group is gated",
            GangFell::NoOtherDevices => {
                "devices of another member of the pod group failed, and no other devices fit"
            }
            GangFell::NeedsMore => "the pod group needs more members than are being bound",
        })
    }
}

impl Display for VolumeFailure {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
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

impl Display for DrivenOff {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            DrivenOff::NodeGone(node) => write!(out, "node {node} was deleted before the pod was bound"),
            DrivenOff::Cordoned(node) => {
                write!(out, "node {node} was cordoned before the pod was bound")
            }
            DrivenOff::NodeTainted { node, taint } => {
                write!(out, "node {node} got the taint {}", taint.key)?;
                write_value(out, &taint.value)?;
                out.write_str(":NoExecute before the pod was bound, and the pod does not tolerate it")
            }
            DrivenOff::DeviceTainted(TaintedDevice { claim, device, key, value }) => {
                write!(out, "claim {claim}: device {device} got the taint {key}")?;
                write_value(out, value)?;
                out.write_str(":NoExecute before the pod was bound, and the claim does not tolerate it")
            }
        }
    }
}

pub(super) fn write_value(out: Out<'_, '_>, value: &str) -> fmt::Result {
    if value.is_empty() { Ok(()) } else { write!(out, "={value}") }
}
