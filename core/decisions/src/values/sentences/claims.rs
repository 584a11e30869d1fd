//! What is wrong with a claim.

use std::fmt;
use std::fmt::Display;

use model::claim::ClaimId;

use super::Out;
use super::bindings::write_value;
use crate::values::not_ready::ClaimLost;
use crate::values::reason::{ClaimReason, DeviceClash, TaintedDevice};

impl Display for ClaimReason {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        let named = |claim: &ClaimId| format!("resourceclaim \"{}\"", claim.name);
        match self {
            ClaimReason::ExtendedLeft(_) => write!(out, "cannot schedule extended resource claim"),
            ClaimReason::ExtendedBeingMade => {
                write!(out, "the pod's extended resource claim is in the process of being made")
            }
            ClaimReason::NotCreated { entry } => write!(out, "resource claim {entry} was not created yet"),
            ClaimReason::SourceUnknown { entry } => {
                write!(out, "resource claim {entry} has no resourceClaimName or resourceClaimTemplateName")
            }
            ClaimReason::NotFound(claim) => write!(out, "{} not found", named(claim)),
            ClaimReason::Deleting(claim) => write!(out, "{} is being deleted", named(claim)),
            ClaimReason::NotOwn(claim) => write!(out, "{} was not created for the pod", named(claim)),
            ClaimReason::BeingAllocated(claim) => {
                write!(out, "resource claim {claim} is in the process of being allocated")
            }
            ClaimReason::BeingDeallocated(claim) => {
                write!(out, "resource claim {claim} is in the process of being deallocated")
            }
            ClaimReason::NotReady(why) => why.fmt(out),
            ClaimReason::Tainted(tainted) => {
                let TaintedDevice { claim, device, key, value } = &**tainted;
                write!(out, "claim {claim}: device {device} has the taint {key}")?;
                write_value(out, value)?;
                out.write_str(":NoExecute, and the claim does not tolerate it")
            }
            ClaimReason::Clash(clash) => clash.fmt(out),
            ClaimReason::Full { claim, consumers } => {
                write!(out, "{} has {consumers} consumers, which is the limit", named(claim))
            }
            ClaimReason::FullWithGroup { claim, consumers_max } => write!(
                out,
                "{} may have {consumers_max} consumers, and other pods of the group use all of them",
                named(claim)
            ),
            ClaimReason::PartOfNode(claim) => {
                write!(out, "{} has a device with node resources, and cannot be shared", named(claim))
            }
            ClaimReason::ControllerOff(claim) => {
                write!(out, "{} depends on disabled DRAControlPlaneController feature", named(claim))
            }
            ClaimReason::MustBeReallocated(claim) => write!(out, "{} must be reallocated", named(claim)),
            ClaimReason::NotShareable(claim) => {
                write!(out, "{} is in use, and cannot be shared", named(claim))
            }
            ClaimReason::MixedControllers(claim) => write!(
                out,
                "{} requests devices that a driver's controller allocates together with other devices, which is not supported",
                named(claim)
            ),
            ClaimReason::Immediate { claim, driver } => {
                write!(
                    out,
                    "unallocated immediate {}: waiting for driver {driver} to allocate it",
                    named(claim)
                )
            }
        }
    }
}

impl Display for DeviceClash {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        let DeviceClash { claim, device, rival } = self;
        write!(out, "device {device} of claim {claim} was given to ")?;
        if rival.namespace == claim.namespace {
            write!(out, "claim {rival} as well")
        } else {
            // A reader may have no access to claims of other namespaces.
            write!(out, "a claim in another namespace as well")
        }
    }
}

impl Display for ClaimLost {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            ClaimLost::Gone(claim) => write!(out, "claim {claim} was deleted"),
            ClaimLost::Deallocated(claim) => {
                write!(out, "claim {claim} was deallocated concurrently")
            }
        }
    }
}
