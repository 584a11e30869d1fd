//! What of a node keeps a pod off.

use std::fmt;
use std::fmt::Display;

use super::Out;
use crate::values::reason::{ResourceName, Rule};

impl Display for Rule {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(match self {
            Rule::Short(resource) => return resource.fmt(out),
            Rule::OtherNode => "node(s) didn't match the requested node name",
            Rule::Unschedulable => "node(s) were unschedulable",
            Rule::Taint => "node(s) had untolerated taint(s)",
            Rule::NotNamed => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            Rule::NamesConflict => "pod affinity terms conflict",
            Rule::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Rule::EnforcedNodeAffinity => "node(s) didn't match scheduler-enforced node affinity",
            Rule::VolumeInUse => {
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
            }
            Rule::Port => "node(s) didn't have free ports for the requested pod ports",
            Rule::NoSpreadLabel => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Rule::Skewed => "node(s) didn't match pod topology spread constraints",
            Rule::NotNear => "node(s) didn't match pod affinity rules",
            Rule::NotApart => "node(s) didn't match pod anti-affinity rules",
            Rule::Unwelcome => "node(s) didn't satisfy existing pods anti-affinity rules",
            Rule::DiskInUse => "node(s) had no available disk",
            Rule::TooManyVolumes => "node(s) exceed max volume count",
            Rule::DriverMissing(driver) => return write!(out, "{driver} CSI driver is not installed on the node"),
            Rule::VolumeElsewhere => "node(s) didn't match PersistentVolume's node affinity",
            Rule::NoVolumeForClaim => "node(s) didn't find available persistent volumes to bind",
            Rule::StorageShort => "node(s) did not have enough free storage",
            Rule::VolumeMissing => "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
            Rule::VolumeZone => "node(s) had no available volume zone",
            Rule::Feature => "node(s) didn't match Pod's required features",
        })
    }
}

impl Display for ResourceName {
    /// That there is too little of it.
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            ResourceName::Pods => write!(out, "Too many pods"),
            ResourceName::Cpu => write!(out, "Insufficient cpu"),
            ResourceName::Memory => write!(out, "Insufficient memory"),
            ResourceName::EphemeralStorage => write!(out, "Insufficient ephemeral-storage"),
            ResourceName::Other(name) => write!(out, "Insufficient {name}"),
        }
    }
}
