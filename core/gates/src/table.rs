//! The gates there are.
//!
//! Invariant: the enum and the table are written once, together, so a gate cannot lack a line. Stages, defaults, locks
//! and dependencies are those of Kubernetes 1.37 with its default compatibility version, 1.36; that is why
//! `DRAFractionalCapacityRange` is off.

use std::fmt;

/// Everything known about a gate.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The gate itself.
    pub gate: Gate,
    /// Its name in flags and files.
    pub name: &'static str,
    /// How far it has come.
    pub stage: FeatureStage,
    /// What it is unless a setting says otherwise.
    pub preset: Preset,
    /// The gates that must be on for this one to be on.
    pub needs: &'static [Gate],
    /// What being on means, in one sentence.
    pub meaning: &'static str,
}

/// How far a feature has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeatureStage {
    /// May change or go.
    Alpha,
    /// May change, with notice.
    Beta,
    /// Stays.
    Ga,
}

/// What a gate is unless a setting says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Off, may be turned on.
    Off,
    /// On, may be turned off.
    On,
    /// On, and stays so.
    LockedOn,
}

impl Preset {
    /// Whether the gate is on.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On | Self::LockedOn)
    }
}

impl fmt::Display for FeatureStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
            Self::Ga => "GA",
        })
    }
}

impl Gate {
    /// Everything known about the gate.
    pub const fn spec(self) -> &'static Spec {
        &TABLE[self as usize]
    }

    /// The name of the gate in flags and files.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// The gate of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|gate| gate.name() == name)
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

macro_rules! gates {
    ($($gate:ident: $stage:ident, $preset:ident, [$($need:ident),*], $meaning:literal;)*) => {
        /// A feature that can be on or off.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Gate {
            $(#[doc = $meaning] $gate,)*
        }

        impl Gate {
            /// Every gate, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$gate,)*];
        }

        static TABLE: [Spec; Gate::ALL.len()] = [$(Spec {
            gate: Gate::$gate,
            name: stringify!($gate),
            stage: FeatureStage::$stage,
            preset: Preset::$preset,
            needs: &[$(Gate::$need),*],
            meaning: $meaning,
        },)*];
    };
}

gates! {
    DynamicResourceAllocation: Ga, LockedOn, [],
        "pods claim devices through resource.k8s.io, and the scheduler allocates them";
    DRAAdminAccess: Ga, LockedOn, [DynamicResourceAllocation],
        "a claim in an admin namespace may look at devices that others use";
    DRAConsumableCapacity: Beta, On, [DynamicResourceAllocation],
        "a device may be shared by claims that each consume a part of its capacity";
    DRAControlPlaneController: Alpha, Off, [DynamicResourceAllocation],
        "a driver's controller may allocate claims, using PodSchedulingContext; only in Supercargo";
    DRADerivedAttributes: Alpha, Off, [DynamicResourceAllocation],
        "a request may compute attributes of devices for its constraints";
    DRADeviceBindingConditions: Beta, On, [DynamicResourceAllocation, DRAResourceClaimDeviceStatus],
        "a pod is bound only after its devices report that they are ready";
    DRADeviceCompatibilityGroups: Alpha, Off, [DynamicResourceAllocation, DRAPartitionableDevices],
        "devices that draw on the same counters are used together only within a common group";
    DRADeviceTaintRules: Ga, On, [DRADeviceTaints],
        "an admin may taint devices with DeviceTaintRule objects";
    DRADeviceTaints: Ga, On, [DynamicResourceAllocation],
        "a tainted device is avoided, and its pods are evicted unless they tolerate it";
    DRAExtendedResource: Ga, LockedOn, [DynamicResourceAllocation],
        "a pod may ask for devices of a class by an extended resource name";
    DRAFractionalCapacityRange: Beta, Off, [DRAConsumableCapacity],
        "the range of a capacity request may have thousandths as its bounds and step";
    DRAListTypeAttributes: Alpha, Off, [DynamicResourceAllocation],
        "a device attribute may be a list of values";
    DRANodeAllocatableResources: Alpha, Off, [DynamicResourceAllocation],
        "devices may account for cpu, memory and other resources of their node";
    DRAOptionalNodeOperations: Alpha, Off, [DynamicResourceAllocation, NodeDeclaredFeatures],
        "a device may need no preparation on the node";
    DRAPartitionableDevices: Beta, On, [DynamicResourceAllocation],
        "devices of a pool may draw on shared counters, so that a whole and its parts exclude each other";
    DRAPartitionableDevicesType: Alpha, Off, [DynamicResourceAllocation, DRAPartitionableDevices, DRAResourcePoolStatus],
        "the status of a pool counts its partitions by type";
    DRAPrioritizedList: Ga, LockedOn, [DynamicResourceAllocation],
        "a request may list alternatives, of which the first that fits is taken";
    DRAResourceClaimDeviceStatus: Ga, LockedOn, [],
        "a driver reports the state of allocated devices in the status of the claim";
    DRAResourceClaimGranularStatusAuthorization: Beta, On, [DynamicResourceAllocation, DRAResourceClaimDeviceStatus],
        "writing the allocation and writing the state of devices need separate permissions";
    DRAResourcePoolStatus: Alpha, Off, [DynamicResourceAllocation],
        "a ResourcePoolStatusRequest asks how much of a pool is in use";
    DRASchedulerFilterTimeout: Beta, On, [DynamicResourceAllocation],
        "the search for devices on one node ends after a time limit";
    DRAWorkloadResourceClaims: Beta, Off, [DynamicResourceAllocation, GenericWorkload],
        "the members of a group may share claims of the group";
    GenericWorkload: Beta, Off, [],
        "pods may be grouped by Workload and PodGroup, and gangs are scheduled as a whole";
    CompositePodGroup: Alpha, Off, [GenericWorkload, TopologyAwareWorkloadScheduling],
        "groups may be made of groups";
    PodGroupPreemptionPolicy: Alpha, Off, [GenericWorkload],
        "a group may say whether it preempts others";
    TopologyAwareWorkloadScheduling: Alpha, Off, [GenericWorkload],
        "a group may ask for one topology domain, and is placed by comparing domains";
    WorkloadWithJob: Alpha, Off, [GenericWorkload],
        "the Job controller makes the Workload and PodGroup of a job";
    OpportunisticBatching: Beta, On, [],
        "pods of one shape reuse the ranking of nodes";
    SchedulerAsyncAPICalls: Beta, Off, [],
        "the scheduler writes to the API without waiting for the answer";
    SchedulerAsyncPreemption: Beta, On, [],
        "victims of preemption are deleted in the background";
    SchedulerPopFromBackoffQ: Beta, On, [],
        "an idle scheduler takes pods whose backoff has not ended";
    SchedulerPreQueueingHints: Alpha, Off, [],
        "a change is matched with the few pods it can concern before each is asked";
    ClearingNominatedNodeNameAfterBinding: Beta, On, [],
        "the nominated node of a pod is cleared when it is bound";
    NominatedNodeNameForExpectation: Beta, On, [],
        "the scheduler names the expected node before a slow binding";
    InterPodAffinityHostnameFastPath: Alpha, Off, [],
        "affinity between pods by host name takes a short cut";
    MatchLabelKeysInPodTopologySpread: Beta, On, [],
        "a spread constraint may name label keys whose values are taken from the pod";
    MatchLabelKeysInPodTopologySpreadSelectorMerge: Beta, On, [MatchLabelKeysInPodTopologySpread],
        "those label keys are merged into the selector when the pod is created";
    NodeInclusionPolicyInPodTopologySpread: Ga, LockedOn, [],
        "a spread constraint may say which nodes count";
    PodTopologyLabelsAdmission: Beta, On, [],
        "a bound pod gets the zone and region labels of its node";
    StorageCapacityScoring: Beta, On, [],
        "nodes are ranked by their free storage capacity";
    NodeDeclaredFeatures: Ga, LockedOn, [],
        "a pod goes only to nodes that declare the features it needs";
    TaintTolerationComparisonOperators: Alpha, Off, [],
        "a toleration may compare the value of a taint with a number, by the operators Gt and Lt";
    UserNamespacesHostNetworkSupport: Alpha, Off, [NodeDeclaredFeatures],
        "a pod may have users of its own (hostUsers: false) on the network of its node";
    InPlacePodVerticalScaling: Ga, LockedOn, [],
        "the resources of a running pod may be changed";
    InPlacePodVerticalScalingSchedulerPreemption: Alpha, Off, [InPlacePodVerticalScaling],
        "a pod that waits for a larger size may preempt others";
    ResourceHealthStatus: Beta, On, [DynamicResourceAllocation],
        "the status of a pod shows the health of its devices";
    ResourceHealthStatusMessage: Beta, On, [ResourceHealthStatus],
        "the health of a device may carry a message";
    KubeletPodResourcesDynamicResources: Ga, LockedOn, [],
        "the kubelet lists claimed devices in its pod resources API; no effect here";
    TopologyManagerPolicyAlphaOptions: Alpha, Off, [],
        "alpha options of the kubelet's topology manager; no effect here";
    TopologyManagerPolicyBetaOptions: Beta, On, [],
        "beta options of the kubelet's topology manager; no effect here";
    TopologyManagerPolicyOptions: Ga, LockedOn, [],
        "options of the kubelet's topology manager; no effect here";
}
