//! The code of each reason: one word that stays the same, for events, metrics and documents.
//!
//! Invariant: no two reasons have the same code, whichever enum they are in.

use allocation::AllocationError;

use crate::values::gang_preemption::{GangPreemption, Helpless};
use crate::values::gang_reason::{GangReason, SetShortage};
use crate::values::lacking::Lacking;
use crate::values::not_ready::NotReady;
use crate::values::preemption::{Ineligible, PodPreemption};
use crate::values::reason::{
    ClaimReason, DeviceReason, PreemptionReason, Reason, ResourceName, Rule, VolumeRefusal,
};

/// Gives each variant of an enum its code, and the enum a list of all of them.
macro_rules! codes {
    ($type:ident, $list:ident: $($pattern:pat => $code:literal),* $(,)?) => {
        const $list: &[&str] = &[$($code),*];

        impl $type {
            /// The code of the reason, which is the same in all versions.
            #[must_use]
            pub fn code(&self) -> &'static str {
                use $type::*;
                match self { $($pattern => $code),* }
            }
        }
    };
}

impl Reason {
    /// The code of the reason, which is the same in all versions.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Reason::Rule(rule) => rule.code(),
            Reason::Volume(refusal) => refusal.code(),
            Reason::Claim(ClaimReason::NotReady(why)) => why.code(),
            Reason::Claim(reason) => reason.code(),
            Reason::Devices(DeviceReason::Question(error)) => code_of(error),
            Reason::Devices(reason) => reason.code(),
            Reason::Preemption(reason) => reason.code(),
            Reason::NoSuchNode => NO_SUCH_NODE,
        }
    }

    /// All codes.
    pub fn codes() -> impl Iterator<Item = &'static str> {
        let lists =
            [RULES, VOLUMES, CLAIMS, NOT_READY, DEVICES, QUESTIONS, PREEMPTION, INELIGIBLE, POD_PREEMPTION];
        let lists =
            lists.into_iter().chain([LACKING, GANGS, SETS, GANG_PREEMPTION, HELPLESS, &[NO_SUCH_NODE]]);
        lists.flatten().copied()
    }
}

const NO_SUCH_NODE: &str = "NodeNotFound";

codes! { Rule, RULES:
    OtherNode => "NodeNameMismatch",
    Unschedulable => "NodeUnschedulable",
    Taint => "UntoleratedTaint",
    NotNamed => "NodeNotNamed",
    NamesConflict => "NodeNamesConflict",
    NodeAffinity => "NodeAffinityMismatch",
    EnforcedNodeAffinity => "EnforcedNodeAffinityMismatch",
    Port => "HostPortTaken",
    Short(ResourceName::Pods) => "TooManyPods",
    Short(ResourceName::Cpu) => "InsufficientCpu",
    Short(ResourceName::Memory) => "InsufficientMemory",
    Short(ResourceName::EphemeralStorage) => "InsufficientEphemeralStorage",
    Short(ResourceName::Other(_)) => "InsufficientResource",
    NoSpreadLabel => "TopologySpreadLabelMissing",
    Skewed => "TopologySpreadSkew",
    NotNear => "PodAffinityMismatch",
    NotApart => "PodAntiAffinityMismatch",
    Unwelcome => "ExistingPodAntiAffinityMismatch",
    VolumeInUse => "VolumeClaimInUse",
    DiskInUse => "DiskInUse",
    TooManyVolumes => "NodeVolumeLimitReached",
    DriverMissing(_) => "VolumeDriverMissing",
    VolumeElsewhere => "VolumeNodeAffinityMismatch",
    NoVolumeForClaim => "NoVolumeForClaim",
    StorageShort => "InsufficientStorage",
    VolumeMissing => "BoundVolumeNotFound",
    VolumeZone => "VolumeZoneMismatch",
    Feature => "NodeFeatureMissing",
}

codes! { VolumeRefusal, VOLUMES:
    NoClaim { .. } => "VolumeClaimNotFound",
    NotMade { .. } => "VolumeClaimNotCreated",
    NotOwn { .. } => "VolumeClaimNotOwned",
    Lost { .. } => "VolumeClaimLost",
    Deleting { .. } => "VolumeClaimDeleting",
    Unbound { .. } => "VolumeClaimUnbound",
    NoVolume { .. } => "VolumeNotFound",
}

codes! { ClaimReason, CLAIMS:
    ExtendedLeft(_) => "ExtendedResourceClaimLeft",
    ExtendedBeingMade => "ExtendedResourceClaimPending",
    NotCreated { .. } => "ClaimNotCreated",
    SourceUnknown { .. } => "ClaimSourceUnknown",
    NotFound(_) => "ClaimNotFound",
    Deleting(_) => "ClaimDeleting",
    NotOwn(_) => "ClaimNotOwned",
    BeingAllocated(_) => "ClaimAllocating",
    BeingDeallocated(_) => "ClaimDeallocating",
    NotReady(_) => "DevicesNotReady",
    Tainted(_) => "DeviceTainted",
    Clash(_) => "DeviceClash",
    Full { .. } => "ClaimTooManyConsumers",
    FullWithGroup { .. } => "ClaimTooManyConsumersInGroup",
    PartOfNode(_) => "ClaimDeviceNotShareable",
    ControllerOff(_) => "DriverControllerDisabled",
    MustBeReallocated(_) => "ClaimMustBeReallocated",
    NotShareable(_) => "ClaimNotShareable",
    MixedControllers(_) => "ClaimMixesControllers",
    Immediate { .. } => "ClaimAllocationPending",
}

codes! { NotReady, NOT_READY:
    Failed { .. } => "DeviceBindingFailed",
    TimedOut { .. } => "DeviceBindingTimeout",
}

codes! { DeviceReason, DEVICES:
    ClaimElsewhere => "ClaimNotUsableOnNode",
    ExcludedByClass => "NodeExcludedByClass",
    ExcludedByDriver => "NodeExcludedByDriver",
    Insufficient => "InsufficientDevices",
    InvalidPools => "PoolsInvalid",
    LimitReached => "DeviceSearchLimitReached",
    ShortForDevices(_) => "InsufficientResourceForDevices",
    NotSharedByCapacity { .. } => "DeviceNotSharedByCapacity",
    RequestTooSmall { .. } => "PodRequestBelowDevices",
    SliceSelector(_) => "SliceNodeSelectorInvalid",
    Question(_) => "ClaimInvalid",
}

codes! { PreemptionReason, PREEMPTION:
    NoVictims => "NoPreemptionVictims",
    NotTried => "PreemptionNotTried",
    NotHelpful => "PreemptionNotHelpful",
}

codes! { Ineligible, INELIGIBLE:
    Never => "PreemptionPolicyNever",
    Terminating => "PreemptionVictimsTerminating",
    Releasing => "PreemptionVictimsReleasing",
}

codes! { PodPreemption, POD_PREEMPTION:
    NotEligible(_) => "PreemptionNotEligible",
    Hopeless(_) => "PreemptionHopeless",
    Found { .. } => "PreemptionFound",
}

codes! { GangReason, GANGS:
    Member(_) => "MemberUnschedulable",
    TooFewMembers { .. } => "TooFewMembers",
    EmptyLevel { .. } => "NoNodeInLevel",
    NoDomain { .. } => "NoDomain",
    NoRoom(_) => "InsufficientRoom",
    DevicesNotFoundAgain => "MemberDevicesNotFound",
    DeviceSets { .. } => "InsufficientDeviceSet",
    NoDeviceSet => "NoDeviceSet",
    SetsOutOfReach => "DeviceSetsOutOfReach",
    TooManySets { .. } => "TooManyDeviceSets",
    MemberClaims => "MemberClaimsUnusable",
    RestIsSeated => "NoRoomBesideGroup",
    NotTried => "GangNotTried",
    Tree { .. } => "GroupsUnschedulable",
    Group { .. } => "GroupUnschedulable",
    TooFewWholeGroups { .. } => "TooFewGroupsWithMembers",
    TooFewGroupsFit { .. } => "TooFewGroupsFit",
    NoTreeDomain { .. } => "NoDomainForGroups",
}

codes! { Lacking, LACKING:
    Claim(_) => "WaitingForClaim",
    Template { .. } => "WaitingForClaimFromTemplate",
    Gates => "SchedulingGates",
    Group(_) => "WaitingForGroup",
    Workload { .. } => "WaitingForWorkload",
    GroupOfWorkload { .. } => "WaitingForGroupOfWorkload",
    Replica { .. } => "WaitingForReplica",
    Composite { .. } => "WaitingForCompositeGroup",
    CompositeCycle { .. } => "CompositeGroupWithinItself",
    Member { .. } => "WaitingForMember",
    Members { .. } => "WaitingForMembers",
    Groups { .. } => "WaitingForGroups",
}

codes! { SetShortage, SETS:
    Missing => "DeviceSetMissing",
    Split => "DeviceSetSplit",
    Short { .. } => "DeviceSetShort",
}

codes! { GangPreemption, GANG_PREEMPTION:
    ClaimsGiveBack { .. } => "UnusedClaimsGiveDevicesBack",
    NotEligible => "GangPreemptionPolicyNever",
    Hopeless(_) => "GangPreemptionHopeless",
    Ongoing => "GangPreemptionOngoing",
    Found { .. } => "GangPreemptionFound",
}

codes! { Helpless, HELPLESS:
    NoVictims => "NoGangPreemptionVictims",
    Lacks(_) => "GangPreemptionNotEnough",
    LimitReached => "GangPreemptionLimitReached",
}

macro_rules! question_codes {
    ($($pattern:pat => $code:literal),* $(,)?) => {
        const QUESTIONS: &[&str] = &[$($code),*];

        /// The code of what makes claims unanswerable.
        fn code_of(error: &AllocationError) -> &'static str {
            use AllocationError::*;
            match error { $($pattern => $code),* }
        }
    };
}

question_codes! {
    GateOff { .. } => "ClaimFeatureDisabled",
    SelectorCompile { .. } => "SelectorInvalid",
    SelectorRun { .. } => "SelectorFailed",
    SelectorEmpty { .. } => "SelectorUnknown",
    AllOfGathering { .. } => "PoolIncomplete",
    AllOfContradictory { .. } => "PoolContradictory",
    AllAgainstConstraint { .. } => "ConstraintExcludesDevice",
    ClassUnnamed { .. } => "ClassUnnamed",
    ClassUnknown { .. } => "ClassNotFound",
    TooMany { .. } => "TooManyDevices",
    Capacity { .. } => "CapacityInvalid",
    Derived { .. } => "AttributeNotDerived",
    ConstraintEmpty { .. } => "ConstraintUnknown",
    Mode { .. } => "AllocationModeUnknown",
    NodeSelector { .. } => "DeviceNodeSelectorInvalid",
    NodeSelectorTerms { .. } => "DeviceNodeSelectorTooComplex",
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_is_one_word_in_upper_camel_case_and_stands_for_one_reason() {
        let mut seen = BTreeSet::new();
        for code in Reason::codes() {
            assert!(seen.insert(code), "{code} stands for two reasons");
            assert!(code.starts_with(|first: char| first.is_ascii_uppercase()), "{code}");
            assert!(code.chars().all(|one| one.is_ascii_alphanumeric()), "{code}");
        }
        assert!(seen.contains("InsufficientDevices") && seen.contains("ClaimNotFound"));
    }

    #[test]
    fn the_narrowest_reason_gives_the_code() {
        let id = model::claim::ClaimId { namespace: "default".into(), name: "c".into() };
        let claim = allocation::Asker::Claim(id);
        let unknown = AllocationError::ClassUnnamed { claim, request: "r".into() };
        let table = [
            (Reason::from(DeviceReason::Insufficient), "InsufficientDevices"),
            (Reason::from(DeviceReason::Question(Box::new(unknown))), "ClassUnnamed"),
            (Reason::Rule(Rule::Short(ResourceName::Cpu)), "InsufficientCpu"),
            (Reason::NoSuchNode, "NodeNotFound"),
        ];
        for (reason, code) in table {
            assert_eq!(reason.code(), code);
        }
    }
}
