//! What is wrong with devices for claims, or with those that they have.

use std::fmt;
use std::fmt::Display;

use super::{Out, list};
use crate::values::not_ready::{Awaited, NotReady, Unready};
use crate::values::reason::DeviceReason;

impl Display for NotReady {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            NotReady::Failed { claim, device, failed } => {
                write!(out, "device binding failed: claim={claim}, device={device}: {failed}")
            }
            NotReady::TimedOut { claim, device, after_ms } => {
                write!(out, "device binding timeout: claim={claim}, {device} after {} s", after_ms / 1000)
            }
        }
    }
}

impl Display for Unready {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Unready::Awaited(device) => device.fmt(out),
            Unready::Broken(why) => why.fmt(out),
        }
    }
}

impl Display for Awaited {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        write!(out, "claim {}, {}", self.claim, self.device)
    }
}

impl Display for DeviceReason {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            DeviceReason::ClaimElsewhere => write!(out, "resourceclaim not available on the node"),
            DeviceReason::ExcludedByClass => write!(out, "excluded by device class node filter"),
            DeviceReason::ExcludedByDriver => {
                write!(out, "resourceclaim cannot be allocated for the node (unsuitable)")
            }
            DeviceReason::Insufficient => write!(out, "cannot allocate all claims"),
            DeviceReason::InvalidPools => write!(out, "invalid resource pools were encountered"),
            DeviceReason::LimitReached => write!(out, "reached the search limit for devices"),
            DeviceReason::ShortForDevices(resources) => out.write_str(&list(resources)),
            DeviceReason::NotSharedByCapacity { device, resource, capacity } => write!(
                out,
                "device {device} is {resource} by its capacity {capacity}, and allows no sharing of capacity"
            ),
            DeviceReason::RequestTooSmall { resource } => {
                write!(out, "the pod's request for {resource} does not cover what its devices take")
            }
            DeviceReason::SliceSelector(bad) => bad.fmt(out),
            DeviceReason::Question(error) => error.fmt(out),
        }
    }
}
