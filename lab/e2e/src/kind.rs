//! Kinds that tests make and look at, and where the API has them.

use client::Resource;
use objects::Object;
use objects::coordination::Lease;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::events::Event;
use objects::policy::PodDisruptionBudget;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::resource::class::{DeviceClass, DeviceTaintRule};
use objects::resource::slice::ResourceSlice;
use objects::scheduling::composite_pod_group::CompositePodGroup;
use objects::scheduling::pod_group::PodGroup;
use objects::scheduling::priority_class::PriorityClass;
use objects::storage::{CSINode, StorageClass};
use objects::supercargo::device_attachment::DeviceAttachment;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;

/// A kind, and where its objects are.
pub trait Kind: Object + Send + Sync + 'static {
    /// The last part of the path to all of them.
    const PLURAL: &'static str;
    /// The namespace that tests keep them in; empty if there is none.
    const NAMESPACE: &'static str;

    /// All of them.
    #[must_use]
    fn resource() -> Resource<Self> {
        Resource::named(Self::PLURAL).within(Self::NAMESPACE)
    }
}

impl Kind for Node {
    const PLURAL: &'static str = "nodes";
    const NAMESPACE: &'static str = "";
}

impl Kind for Pod {
    const PLURAL: &'static str = "pods";
    const NAMESPACE: &'static str = "default";
}

impl Kind for Event {
    const PLURAL: &'static str = "events";
    const NAMESPACE: &'static str = "default";
}

impl Kind for Lease {
    const PLURAL: &'static str = "leases";
    const NAMESPACE: &'static str = "kube-system";
}

impl Kind for ResourceClaim {
    const PLURAL: &'static str = "resourceclaims";
    const NAMESPACE: &'static str = "default";
}

impl Kind for ResourceClaimTemplate {
    const PLURAL: &'static str = "resourceclaimtemplates";
    const NAMESPACE: &'static str = "default";
}

impl Kind for ResourceSlice {
    const PLURAL: &'static str = "resourceslices";
    const NAMESPACE: &'static str = "";
}

impl Kind for DeviceClass {
    const PLURAL: &'static str = "deviceclasses";
    const NAMESPACE: &'static str = "";
}

impl Kind for DeviceTaintRule {
    const PLURAL: &'static str = "devicetaintrules";
    const NAMESPACE: &'static str = "";
}

impl Kind for PriorityClass {
    const PLURAL: &'static str = "priorityclasses";
    const NAMESPACE: &'static str = "";
}

impl Kind for PodGroup {
    const PLURAL: &'static str = "podgroups";
    const NAMESPACE: &'static str = "default";
}

impl Kind for CompositePodGroup {
    const PLURAL: &'static str = "compositepodgroups";
    const NAMESPACE: &'static str = "default";
}

impl Kind for DeviceAttachment {
    const PLURAL: &'static str = "deviceattachments";
    const NAMESPACE: &'static str = "";
}

impl Kind for PodSchedulingContext {
    const PLURAL: &'static str = "podschedulingcontexts";
    const NAMESPACE: &'static str = "default";
}

impl Kind for PersistentVolume {
    const PLURAL: &'static str = "persistentvolumes";
    const NAMESPACE: &'static str = "";
}

impl Kind for PersistentVolumeClaim {
    const PLURAL: &'static str = "persistentvolumeclaims";
    const NAMESPACE: &'static str = "default";
}

impl Kind for StorageClass {
    const PLURAL: &'static str = "storageclasses";
    const NAMESPACE: &'static str = "";
}

impl Kind for CSINode {
    const PLURAL: &'static str = "csinodes";
    const NAMESPACE: &'static str = "";
}

impl Kind for PodDisruptionBudget {
    const PLURAL: &'static str = "poddisruptionbudgets";
    const NAMESPACE: &'static str = "default";
}
