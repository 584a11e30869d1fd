//! The code of each reason: one word that stays the same, for events, metrics and documents, with what it means and what to do.
//!
//! Invariant: no two reasons have the same code, whichever enum they are in.

use allocation::AllocationError;
use model::code::Code;
use model::codes;

use crate::values::gang_preemption::{GangPreemption, Helpless};
use crate::values::gang_reason::{GangReason, SetShortage};
use crate::values::lacking::Lacking;
use crate::values::not_ready::NotReady;
use crate::values::preemption::{Ineligible, PodPreemption};
use crate::values::reason::{
    ClaimReason, DeviceReason, PreemptionReason, Reason, ResourceName, Rule, VolumeRefusal,
};

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
            Reason::NoSuchNode => NO_SUCH_NODE.name,
        }
    }

    /// All codes, in groups with the title of each.
    #[must_use]
    pub fn catalogue() -> [(&'static str, Vec<Code>); 8] {
        [
            ("Nodes", [&[NO_SUCH_NODE], RULES].concat()),
            ("Volumes", VOLUMES.to_vec()),
            ("ResourceClaims", [CLAIMS, NOT_READY].concat()),
            ("Devices on a node", DEVICES.to_vec()),
            ("Claims that cannot be allocated on any node", QUESTIONS.to_vec()),
            ("Pod groups", [GANGS, SETS].concat()),
            ("Pods that are not considered yet", LACKING.to_vec()),
            ("Preemption", [PREEMPTION, INELIGIBLE, POD_PREEMPTION, GANG_PREEMPTION, HELPLESS].concat()),
        ]
    }
}

const NO_SUCH_NODE: Code = Code {
    name: "NodeNotFound",
    meaning: "The pod is bound to a node that does not exist.",
    advice: "Delete the pod, or add the node.",
};

codes! { Rule, RULES:
    OtherNode => "NodeNameMismatch": "The pod names another node in `spec.nodeName`.",
        "Nothing, unless the named node does not exist.";
    Unschedulable => "NodeUnschedulable": "The node is cordoned.",
        "Run `kubectl uncordon NODE` when the maintenance is over.";
    Taint => "UntoleratedTaint": "The node has a taint that the pod does not tolerate.",
        "Remove the taint, or add a toleration to the pod.";
    NotNamed => "NodeNotNamed": "The node affinity of the pod names other nodes.",
        "Change the `matchFields` of the node affinity.";
    NamesConflict => "NodeNamesConflict": "The terms of the node affinity name nodes so that no node meets them.",
        "Correct the `matchFields` of the node affinity.";
    NodeAffinity => "NodeAffinityMismatch": "The node does not match the node selector or node affinity of the pod.",
        "Label the node, or change the node selector or node affinity of the pod.";
    EnforcedNodeAffinity => "EnforcedNodeAffinityMismatch": "The node does not match the node affinity that the scheduler's configuration adds to all pods.",
        "Label the node, or change `addedAffinity` in the KubeSchedulerConfiguration.";
    Port => "HostPortTaken": "Another pod on the node uses a host port that the pod asks for.",
        "Use another host port, or a Service instead of a host port.";
    Short(ResourceName::Pods) => "TooManyPods": "The node has as many pods as it can have.",
        "Add nodes, or raise `maxPods` of the kubelet.";
    Short(ResourceName::Cpu) => "InsufficientCpu": "The node has less CPU left than the pod requests.",
        "Lower the request, add nodes, or end other pods.";
    Short(ResourceName::Memory) => "InsufficientMemory": "The node has less memory left than the pod requests.",
        "Lower the request, add nodes, or end other pods.";
    Short(ResourceName::EphemeralStorage) => "InsufficientEphemeralStorage": "The node has less ephemeral storage left than the pod requests.",
        "Lower the request, add nodes, or end other pods.";
    Short(ResourceName::Other(_)) => "InsufficientResource": "The node has less of an extended resource left than the pod requests.",
        "Lower the request, add nodes with the resource, or end other pods.";
    NoSpreadLabel => "TopologySpreadLabelMissing": "The node lacks the label that is the topology key of a topology spread constraint.",
        "Label the node, or use another topology key.";
    Skewed => "TopologySpreadSkew": "On this node the pod would exceed the `maxSkew` of a topology spread constraint.",
        "Add capacity to the domains with fewer pods, or raise `maxSkew`.";
    NotNear => "PodAffinityMismatch": "The domain of the node has no pod that the pod affinity of the pod selects.",
        "Start the pods that it selects, or change the pod affinity.";
    NotApart => "PodAntiAffinityMismatch": "The domain of the node has a pod that the pod anti-affinity of the pod selects.",
        "Add nodes or domains, or change the pod anti-affinity.";
    Unwelcome => "ExistingPodAntiAffinityMismatch": "The domain of the node has a pod whose pod anti-affinity selects the pod.",
        "Add nodes or domains, or change the anti-affinity of the other pod.";
    VolumeInUse => "VolumeClaimInUse": "Another pod uses a PersistentVolumeClaim with access mode `ReadWriteOncePod`.",
        "Wait until that pod ends, or use another access mode.";
    DiskInUse => "DiskInUse": "Another pod on the node uses a disk that the pod names itself.",
        "Wait until that pod ends, or mount the disk read-only in both.";
    TooManyVolumes => "NodeVolumeLimitReached": "The node would have more volumes of a CSI driver than the driver can attach.",
        "Add nodes, or end pods with volumes on this node.";
    DriverMissing(_) => "VolumeDriverMissing": "The CSI driver of a volume is not installed on the node.",
        "Install the driver on the node.";
    VolumeElsewhere => "VolumeNodeAffinityMismatch": "A PersistentVolume of the pod cannot be used from the node.",
        "Free capacity on the nodes that reach the volume.";
    NoVolumeForClaim => "NoVolumeForClaim": "No PersistentVolume that the node reaches fits a claim of the pod, and none can be provisioned there.",
        "Add a PersistentVolume, or a StorageClass with a provisioner that serves the node.";
    StorageShort => "InsufficientStorage": "There is too little storage to provision a volume for the node.",
        "Add storage for the node, or ask for less.";
    VolumeMissing => "BoundVolumeNotFound": "A PersistentVolumeClaim is bound to a PersistentVolume that does not exist.",
        "Restore the PersistentVolume, or recreate the claim.";
    VolumeZone => "VolumeZoneMismatch": "A volume of the pod is in another zone than the node.",
        "Free capacity on nodes in the zone of the volume.";
    Feature => "NodeFeatureMissing": "The kubelet of the node has not declared a feature that the pod needs.",
        "Upgrade the kubelet of the node, or turn the feature on there.";
}

codes! { VolumeRefusal, VOLUMES:
    NoClaim { .. } => "VolumeClaimNotFound": "A PersistentVolumeClaim of the pod does not exist.",
        "Create the claim, or correct its name in the pod.";
    NotMade { .. } => "VolumeClaimNotCreated": "The PersistentVolumeClaim of an ephemeral volume has not been created yet.",
        "Wait; if it stays so, check the ephemeral volume controller.";
    NotOwn { .. } => "VolumeClaimNotOwned": "A PersistentVolumeClaim has the name that the pod's ephemeral volume needs, and belongs to another object.",
        "Delete or rename that claim, or rename the pod.";
    Lost { .. } => "VolumeClaimLost": "The PersistentVolume of a claim is gone.",
        "Restore the volume, or recreate the claim.";
    Deleting { .. } => "VolumeClaimDeleting": "A PersistentVolumeClaim of the pod is being deleted.",
        "Recreate the claim when it is gone.";
    Unbound { .. } => "VolumeClaimUnbound": "A PersistentVolumeClaim whose StorageClass binds immediately is not bound yet.",
        "Check why the claim is pending: `kubectl describe pvc CLAIM`.";
    NoVolume { .. } => "VolumeNotFound": "The PersistentVolume of a claim is not known.",
        "Check that the PersistentVolume exists.";
}

codes! { ClaimReason, CLAIMS:
    ExtendedLeft(_) => "ExtendedResourceClaimLeft": "An earlier attempt left a ResourceClaim for the extended resources of the pod.",
        "Wait; the scheduler deletes the claim.";
    ExtendedBeingMade => "ExtendedResourceClaimPending": "The ResourceClaim for the extended resources of the pod is being created.",
        "Wait; it takes one write.";
    NotCreated { .. } => "ClaimNotCreated": "A ResourceClaim has not been created from its template yet.",
        "Wait; if it stays so, check that the ResourceClaimTemplate exists and that the resource claim controller runs.";
    SourceUnknown { .. } => "ClaimSourceUnknown": "The pod refers to a claim in a way that the scheduler does not know.",
        "Upgrade the scheduler, or name a ResourceClaim or ResourceClaimTemplate.";
    NotFound(_) => "ClaimNotFound": "A ResourceClaim of the pod does not exist.",
        "Create the claim, or correct its name in the pod.";
    Deleting(_) => "ClaimDeleting": "A ResourceClaim of the pod is being deleted.",
        "Recreate the claim when it is gone.";
    NotOwn(_) => "ClaimNotOwned": "A ResourceClaim was created for another pod of the same name.",
        "Delete that claim, or rename the pod.";
    BeingAllocated(_) => "ClaimAllocating": "The devices of a claim are being written to its status.",
        "Wait; it takes one write.";
    BeingDeallocated(_) => "ClaimDeallocating": "A claim is being deallocated.",
        "Wait until its status has no allocation.";
    NotReady(_) => "DevicesNotReady": "The devices of a claim will not become ready.",
        "See DeviceBindingFailed and DeviceBindingTimeout.";
    Tainted(_) => "DeviceTainted": "A device of the claim has a taint with effect NoExecute that the claim does not tolerate.",
        "Remove the taint, tolerate it in the claim, or delete the claim to get other devices.";
    Clash(_) => "DeviceClash": "A device of the claim is allocated to another claim too.",
        "Delete one of the claims, and let only one scheduler allocate the devices of a driver.";
    Full { .. } => "ClaimTooManyConsumers": "The claim is reserved for as many pods as it can be.",
        "Wait until a pod that uses the claim ends, or use another claim.";
    FullWithGroup { .. } => "ClaimTooManyConsumersInGroup": "With all pods of the pod group the claim would be reserved for too many pods.",
        "Share the claim among fewer pods, or use a claim of the PodGroup.";
    PartOfNode(_) => "ClaimDeviceNotShareable": "The claim has a device that counts as a resource of its node, and another pod uses it.",
        "Use a claim for each pod.";
    ControllerOff(_) => "DriverControllerDisabled": "The claim is for a driver with a controller of its own, and the feature gate DRAControlPlaneController is off.",
        "Turn the feature gate on.";
    MustBeReallocated(_) => "ClaimMustBeReallocated": "The controller of the driver asked for the devices of the claim back.",
        "Wait; the scheduler retries the pod when the claim has no allocation.";
    NotShareable(_) => "ClaimNotShareable": "The claim is in use, and its driver does not allow pods to share it.",
        "Use a claim for each pod.";
    MixedControllers(_) => "ClaimMixesControllers": "The claim asks for devices of a driver with a controller and for other devices.",
        "Split the claim in two.";
    Immediate { .. } => "ClaimAllocationPending": "The controller of a driver has to allocate the claim before a pod can use it.",
        "Wait; if it stays so, check the controller of the driver.";
}

codes! { NotReady, NOT_READY:
    Failed { .. } => "DeviceBindingFailed": "A binding failure condition was reported for a device of the claim.",
        "Read the condition in the status of the claim; the scheduler chooses other devices.";
    TimedOut { .. } => "DeviceBindingTimeout": "The binding conditions of a device were not reported in time.",
        "Check the controller that prepares the device; the scheduler chooses other devices.";
}

codes! { DeviceReason, DEVICES:
    ClaimElsewhere => "ClaimNotUsableOnNode": "A claim has devices that cannot be used from the node.",
        "Free capacity on the nodes that reach the devices, or deallocate the claim.";
    ExcludedByClass => "NodeExcludedByClass": "The DeviceClass does not allow the node for devices that the controller of its driver allocates.",
        "Change `suitableNodes` of the class, or use another class.";
    ExcludedByDriver => "NodeExcludedByDriver": "The controller of a driver has no devices for the node.",
        "Wait, or add devices that the controller can give to the node.";
    Insufficient => "InsufficientDevices": "No choice of devices on the node satisfies the claims of the pod.",
        "Ask for fewer devices, relax selectors and constraints, free claims, or add devices; `supercargo explain` says which would help.";
    InvalidPools => "PoolsInvalid": "No choice of devices satisfies the claims, and the ResourceSlices of a pool contradict each other.",
        "Check the driver that publishes the pool.";
    LimitReached => "DeviceSearchLimitReached": "The search for devices reached its limit without a decision.",
        "Make the claims simpler: fewer requests, alternatives and constraints.";
    ShortForDevices(_) => "InsufficientResourceForDevices": "The node has too little left of a resource that the devices take from it.",
        "Add nodes, or end other pods.";
    NotSharedByCapacity { .. } => "DeviceNotSharedByCapacity": "A device represents a capacity of the node, and is not shared by capacity.",
        "Correct the ResourceSlice of the driver.";
    RequestTooSmall { .. } => "PodRequestBelowDevices": "The pod as a whole requests less of a resource than its devices take.",
        "Raise `spec.resources` of the pod.";
    SliceSelector(_) => "SliceNodeSelectorInvalid": "The node selector of a ResourceSlice cannot be evaluated.",
        "Correct the ResourceSlice of the driver.";
    Question(_) => "ClaimInvalid": "The claims of the pod cannot be evaluated.",
        "Correct the claims as the message says.";
}

codes! { fn code_of(AllocationError), QUESTIONS:
    GateOff { .. } => "ClaimFeatureDisabled": "The claim uses a feature whose feature gate is off.",
        "Turn the feature gate on, or change the claim.";
    SelectorCompile { .. } => "SelectorInvalid": "A CEL selector of the claim or its DeviceClass does not compile.",
        "Correct the expression as the message says.";
    SelectorRun { .. } => "SelectorFailed": "A CEL selector failed for a device.",
        "Check that attributes exist before using them: `'name' in device.attributes['domain']`.";
    SelectorEmpty { .. } => "SelectorUnknown": "A selector has no form that the scheduler knows.",
        "Upgrade the scheduler, or use a CEL selector.";
    AllOfGathering { .. } => "PoolIncomplete": "The claim asks for all devices, and some ResourceSlices of a pool are missing.",
        "Wait until the driver has published all slices.";
    AllOfContradictory { .. } => "PoolContradictory": "The claim asks for all devices, and the ResourceSlices of a pool contradict each other.",
        "Check the driver that publishes the pool.";
    AllAgainstConstraint { .. } => "ConstraintExcludesDevice": "The claim asks for all devices, and one of them violates a constraint of the claim.",
        "Narrow the request by a selector, or remove the constraint.";
    ClassUnnamed { .. } => "ClassUnnamed": "A request names no DeviceClass.",
        "Set `deviceClassName`.";
    ClassUnknown { .. } => "ClassNotFound": "A request names a DeviceClass that does not exist.",
        "Create the class, or correct its name in the claim.";
    TooMany { .. } => "TooManyDevices": "The claim asks for more devices than a claim can hold.",
        "Ask for fewer devices in one claim.";
    Capacity { .. } => "CapacityInvalid": "The capacity that a request asks for does not fit how the device can be divided.",
        "Ask for an amount that the device allows, as the message says.";
    Derived { .. } => "AttributeNotDerived": "A derived attribute that the claim uses cannot be computed.",
        "Correct the claim or the class as the message says.";
    ConstraintEmpty { .. } => "ConstraintUnknown": "A constraint of the claim has no form that the scheduler knows.",
        "Upgrade the scheduler, or use `matchAttribute` or `distinctAttribute`.";
    Mode { .. } => "AllocationModeUnknown": "The allocation mode of a request is not known.",
        "Use `ExactCount` or `All`.";
    NodeSelector { .. } => "DeviceNodeSelectorInvalid": "The node selector of a device cannot be evaluated.",
        "Correct the ResourceSlice of the driver.";
    NodeSelectorTerms { .. } => "DeviceNodeSelectorTooComplex": "A device selects its nodes by several terms, which cannot be combined with those of other devices.",
        "Publish the device with one node selector term.";
}

codes! { PreemptionReason, PREEMPTION:
    NoVictims => "NoPreemptionVictims": "The node has no pods of lower priority whose preemption would free enough.",
        "Raise the priority of the pod, or add nodes.";
    NotTried => "PreemptionNotTried": "The search for pods to preempt ended before this node.",
        "Nothing; the scheduler retries the pod.";
    NotHelpful => "PreemptionNotHelpful": "The node does not suit the pod, whichever pods are on it.",
        "See why the node does not suit the pod.";
}

codes! { Ineligible, INELIGIBLE:
    Never => "PreemptionPolicyNever": "The pod has `preemptionPolicy: Never`.",
        "Use a PriorityClass that may preempt.";
    Releasing => "PreemptionVictimsReleasing": "Claims of pods that were preempted for the pod still hold their devices.",
        "Wait until the devices are free.";
}

codes! { PodPreemption, POD_PREEMPTION:
    NotEligible(_) => "PreemptionNotEligible": "The pod may not preempt other pods now.",
        "See PreemptionPolicyNever and PreemptionVictimsReleasing.";
    Hopeless(_) => "PreemptionHopeless": "The pod would not fit on any node even if other pods were preempted.",
        "Raise the priority of the pod, or add nodes or devices.";
    Found { .. } => "PreemptionFound": "Pods of lower priority are preempted for the pod, or are still terminating.",
        "Wait until they have ended.";
}

codes! { GangReason, GANGS:
    Member(_) => "MemberUnschedulable": "Too few pods of the group fit on any node, even alone.",
        "See why the named pod does not fit.";
    TooFewMembers { .. } => "TooFewMembers": "Fewer pods of the group exist than `minCount`.",
        "Create the missing pods, or lower `minCount`.";
    EmptyLevel { .. } => "NoNodeInLevel": "No node has the label of a topology level that the group needs.",
        "Label the nodes, or correct the topology constraint.";
    NoDomain { .. } => "NoDomain": "No topology domain can take pods of the group.",
        "Label the nodes, or change the topology constraint.";
    NoRoom(_) => "GroupDoesNotFit": "Too few pods of the group fit in any topology domain.",
        "Free capacity in the domain that comes closest, relax the topology constraint, or lower `minCount`.";
    DevicesNotFoundAgain => "MemberDevicesNotFound": "Devices that suit one pod of the group do not suit others like it.",
        "Nothing; the scheduler retries the group.";
    DeviceSets { .. } => "InsufficientDeviceSet": "No set of devices satisfies the claims that have to be met from one set.",
        "Free devices of one set, or ask for fewer devices.";
    NoDeviceSet => "NoDeviceSet": "There is no set of devices with the attribute that the group names.",
        "Check the attributes that the driver publishes.";
    SetsOutOfReach => "DeviceSetsOutOfReach": "No node reaches all sets of devices that the claims need.",
        "Change the constraint on sets of devices.";
    TooManySets { .. } => "TooManyDeviceSets": "There are too many combinations of sets of devices to try.",
        "Use fewer constraints on sets of devices in one group.";
    MemberClaims => "MemberClaimsUnusable": "Pods of the group have claims that cannot be used.",
        "See why the claims cannot be used.";
    RestIsSeated => "RestOfGroupDoesNotFit": "Other pods of the group have nodes, and this pod does not fit in their domain.",
        "Free capacity in the domain of the group.";
    NotTried => "GangNotTried": "The search reached its limit before the group was tried.",
        "Nothing; the scheduler retries the group.";
    Tree { .. } => "GroupsUnschedulable": "Too few pod groups of the composite group fit.",
        "See why the named groups do not fit.";
    Group { .. } => "GroupUnschedulable": "A pod group of the composite group does not fit.",
        "See why that group does not fit.";
    TooFewWholeGroups { .. } => "TooFewGroupsWithMembers": "Too few pod groups of the composite group have enough pods.",
        "Create the missing pods, or lower the minimum of groups.";
    TooFewGroupsFit { .. } => "TooFewGroupsFit": "Too few pod groups of the composite group fit at the same time.",
        "Free capacity, or lower the minimum of groups.";
    NoTreeDomain { .. } => "NoDomainForGroups": "No topology domain can take the composite group as a whole.",
        "Free capacity in one domain, or relax the topology constraint.";
}

codes! { SetShortage, SETS:
    Missing => "DeviceSetMissing": "There is no set of devices with the attribute.",
        "Check the attributes that the driver publishes.";
    Split => "DeviceSetSplit": "Devices that are allocated already are not in one set.",
        "Free the claims, or remove the constraint.";
    Short { .. } => "DeviceSetShort": "No set has enough free devices.",
        "Free devices of one set, or ask for fewer devices.";
}

codes! { Lacking, LACKING:
    Claim(_) => "WaitingForClaim": "A ResourceClaim that the pod names does not exist.",
        "Create the claim.";
    Template { .. } => "WaitingForClaimFromTemplate": "A ResourceClaim has not been created from its template yet.",
        "Check that the ResourceClaimTemplate exists and that the resource claim controller runs.";
    Gates => "SchedulingGates": "The pod has scheduling gates.",
        "Remove the gates, or check the controller that should.";
    Group(_) => "WaitingForGroup": "The PodGroup of the pod does not exist.",
        "Create the PodGroup, or correct its name in the pod.";
    Workload { .. } => "WaitingForWorkload": "The Workload of the pod does not exist.",
        "Create the Workload, or correct its name in the pod.";
    GroupOfWorkload { .. } => "WaitingForGroupOfWorkload": "The Workload of the pod has no pod group of that name.",
        "Correct the name of the pod group in the pod or the Workload.";
    Replica { .. } => "WaitingForReplica": "The pod names a replica that its pod group does not have.",
        "Correct the replica in the pod, or raise the number of replicas.";
    Composite { .. } => "WaitingForCompositeGroup": "A CompositePodGroup above the pod group does not exist.",
        "Create the CompositePodGroup, or correct its name.";
    CompositeCycle { .. } => "CompositeGroupWithinItself": "A CompositePodGroup above the pod group is, directly or not, its own parent.",
        "Correct the parents of the groups.";
    Member { .. } => "WaitingForMember": "Another pod of the group cannot be considered yet.",
        "See what that pod lacks.";
    Members { .. } => "WaitingForMembers": "Fewer pods of the group exist than `minCount`.",
        "Create the missing pods, or lower `minCount`.";
    Groups { .. } => "WaitingForGroups": "Too few pod groups of the composite group have enough pods.",
        "Create the missing pods and groups.";
}

codes! { GangPreemption, GANG_PREEMPTION:
    ClaimsGiveBack { .. } => "UnusedClaimsGiveDevicesBack": "Claims that no pod uses are deallocated for the group.",
        "Wait until the devices are free.";
    NotEligible => "GangPreemptionPolicyNever": "The group may not preempt other pods.",
        "Use a PriorityClass that may preempt.";
    Hopeless(_) => "GangPreemptionHopeless": "The group would not fit even if other pods were preempted.",
        "Raise the priority of the group, or add nodes or devices.";
    Ongoing => "GangPreemptionOngoing": "Pods that were preempted for the group are still terminating.",
        "Wait until they are gone.";
    Found { .. } => "GangPreemptionFound": "Pods of lower priority are preempted for the group.",
        "Wait until they have ended.";
}

codes! { Helpless, HELPLESS:
    NoVictims => "NoGangPreemptionVictims": "There are no pods of lower priority than the group.",
        "Raise the priority of the group, or add nodes.";
    Lacks(_) => "GangPreemptionNotEnough": "The group would not fit even without all pods of lower priority.",
        "Add nodes or devices, or relax the constraints of the group.";
    LimitReached => "GangPreemptionLimitReached": "The search for pods to preempt reached its limit.",
        "Nothing; the scheduler retries the group.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_is_one_word_in_upper_camel_case_and_stands_for_one_reason() {
        let mut seen = BTreeSet::new();
        for Code { name, meaning, advice } in Reason::catalogue().into_iter().flat_map(|(_, codes)| codes) {
            assert!(seen.insert(name), "{name} stands for two reasons");
            assert!(name.starts_with(|first: char| first.is_ascii_uppercase()), "{name}");
            assert!(name.chars().all(|one| one.is_ascii_alphanumeric()), "{name}");
            assert!(meaning.ends_with('.') && advice.ends_with('.'), "{name}: {meaning} {advice}");
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
