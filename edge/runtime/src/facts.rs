//! What Kubernetes calls the event by which a fact arrives. Facts do not tell what is new from what changed, so both are updates.

use cluster::change::{Change, CompanionChange, GroupChange, NegotiationChange, StorageChange};

/// The event, as it is a label of metrics.
pub(crate) fn event_of(change: &Change) -> &'static str {
    match change {
        Change::NodeApplied(_) => "NodeUpdate",
        Change::NodeGone(_) => "NodeDelete",
        Change::PodApplied(pod) if pod.node.is_some() => "AssignedPodUpdate",
        Change::PodApplied(_) => "UnscheduledPodUpdate",
        Change::PodGone(_) => "PodDelete",
        Change::SliceApplied(_) => "ResourceSliceUpdate",
        Change::SliceGone(_) => "ResourceSliceDelete",
        Change::TaintRuleApplied(_) => "DeviceTaintRuleUpdate",
        Change::TaintRuleGone(_) => "DeviceTaintRuleDelete",
        Change::ClassApplied(_) => "DeviceClassUpdate",
        Change::ClassGone(_) => "DeviceClassDelete",
        Change::ClaimApplied(_) | Change::ClaimListed(_) | Change::ClaimAnswered(_) => "ResourceClaimUpdate",
        Change::ClaimGone(_) | Change::ClaimMissing(..) => "ResourceClaimDelete",
        Change::NamespaceApplied(..) => "NamespaceUpdate",
        Change::NamespaceGone(_) => "NamespaceDelete",
        Change::BudgetApplied(_) => "PodDisruptionBudgetUpdate",
        Change::BudgetGone(..) => "PodDisruptionBudgetDelete",
        Change::Storage(change) => of_storage(change),
        Change::Companions(change) => match change {
            CompanionChange::ServiceApplied(..) => "ServiceUpdate",
            CompanionChange::ServiceGone(..) => "ServiceDelete",
            CompanionChange::OwnerApplied(..) => "PodOwnerUpdate",
            CompanionChange::OwnerGone(..) => "PodOwnerDelete",
        },
        Change::Group(change) => match change {
            GroupChange::Applied(_) => "PodGroupUpdate",
            GroupChange::Gone(_) => "PodGroupDelete",
            GroupChange::CompositeApplied(_) => "CompositePodGroupUpdate",
            GroupChange::CompositeGone(_) => "CompositePodGroupDelete",
            GroupChange::WorkloadApplied(_) => "WorkloadUpdate",
            GroupChange::WorkloadGone(_) => "WorkloadDelete",
            GroupChange::TopologyApplied(_) => "NodeTopologyUpdate",
            GroupChange::TopologyGone(_) => "NodeTopologyDelete",
        },
        Change::Negotiation(change) => match change {
            NegotiationChange::Applied(_) => "PodSchedulingContextUpdate",
            NegotiationChange::Gone(..) => "PodSchedulingContextDelete",
        },
    }
}

fn of_storage(change: &StorageChange) -> &'static str {
    match change {
        StorageChange::VolumeApplied(_) | StorageChange::VolumeAnswered(_) => "PersistentVolumeUpdate",
        StorageChange::VolumeGone(_) => "PersistentVolumeDelete",
        StorageChange::VolumeClaimApplied(_) | StorageChange::VolumeClaimAnswered(_) => {
            "PersistentVolumeClaimUpdate"
        }
        StorageChange::VolumeClaimGone(_) => "PersistentVolumeClaimDelete",
        StorageChange::StorageClassApplied(_) => "StorageClassUpdate",
        StorageChange::StorageClassGone(_) => "StorageClassDelete",
        StorageChange::NodeApplied(_) => "CSINodeUpdate",
        StorageChange::NodeGone(_) => "CSINodeDelete",
        StorageChange::DriverApplied(_) => "CSIDriverUpdate",
        StorageChange::DriverGone(_) => "CSIDriverDelete",
        StorageChange::CapacityApplied(_) => "CSIStorageCapacityUpdate",
        StorageChange::CapacityGone(..) => "CSIStorageCapacityDelete",
        StorageChange::AttachmentApplied(_) => "VolumeAttachmentUpdate",
        StorageChange::AttachmentGone(_) => "VolumeAttachmentDelete",
    }
}
