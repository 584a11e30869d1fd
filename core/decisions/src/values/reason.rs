//! Why a pod cannot be placed, everywhere or on a node: one tree of enums with ids and numbers.
//!
//! Nodes are counted by these, so two nodes that are refused for the same have equal reasons: what is particular to a node stands in
//! its [`NodeRefusal`](crate::values::node_refusal::NodeRefusal). The words are made in `sentences`, the codes in `codes.rs`.

use std::sync::Arc;

use allocation::AllocationError;
use cluster::claims::Clash;
use model::claim::ClaimId;
use model::device::DeviceId;
use model::node::BadRequirement;

use crate::values::not_ready::NotReady;
use crate::values::renaming::Renaming;
use crate::values::wake::{Object, Wake, Wakes};

/// Why a pod cannot be placed, everywhere or on a node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// A rule keeps it off the node.
    Rule(Rule),
    /// Its volumes cannot be had on any node.
    Volume(VolumeRefusal),
    /// Its claims cannot be used on any node.
    Claim(ClaimReason),
    /// The node has no devices for its claims, or too little for what these take.
    Devices(DeviceReason),
    /// The preemption of other pods on the node would not help it.
    Preemption(PreemptionReason),
    /// It is bound to a node that does not exist.
    NoSuchNode,
}

/// A rule that keeps a pod off a node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// The pod names another node.
    OtherNode,
    /// The node takes no new pods.
    Unschedulable,
    /// The pod does not tolerate a taint.
    Taint,
    /// The pod wants other nodes by their names.
    NotNamed,
    /// The pod wants nodes by names of which no node can have all.
    NamesConflict,
    /// The pod wants other nodes.
    NodeAffinity,
    /// The scheduler's settings want other nodes.
    EnforcedNodeAffinity,
    /// A port is taken.
    Port,
    /// There is too little left of this.
    Short(ResourceName),
    /// Pods are to be spread by a label that the node does not have.
    NoSpreadLabel,
    /// The node's place would have too many pods more than the one with the fewest.
    Skewed,
    /// Pods that the pod must be near are not there.
    NotNear,
    /// Pods that the pod must be apart from are there.
    NotApart,
    /// Pods that must be apart from the pod are there.
    Unwelcome,
    /// Another pod uses a volume claim of which only one may make use.
    VolumeInUse,
    /// Another pod on the node uses a disk that the pod names itself.
    DiskInUse,
    /// The node would have more volumes than one of its drivers attaches.
    TooManyVolumes,
    /// The node does not have the driver of a volume.
    DriverMissing(Arc<str>),
    /// A volume cannot be reached from the node.
    VolumeElsewhere,
    /// There is no volume for a claim that the node reaches, and none can be provisioned for the node.
    NoVolumeForClaim,
    /// There is too little storage to provision a volume for the node.
    StorageShort,
    /// A claim is bound to a volume that is not there.
    VolumeMissing,
    /// A volume is in another zone.
    VolumeZone,
    /// The node's agent has not declared a feature that the pod needs.
    Feature,
}

/// Something that nodes have for pods.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ResourceName {
    /// Places for pods.
    Pods,
    /// Processor, in thousandths.
    Cpu,
    /// Memory, in bytes.
    Memory,
    /// Local storage, in bytes.
    EphemeralStorage,
    /// Another resource.
    Other(Arc<str>),
}

/// Why a pod's volumes cannot be had on any node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum VolumeRefusal {
    /// There is no such claim.
    NoClaim {
        /// The claim.
        claim: Arc<str>,
    },
    /// The claim has yet to be made for the pod.
    NotMade {
        /// The claim.
        claim: Arc<str>,
    },
    /// The claim was made for another pod, and only has the name of the one for the pod.
    NotOwn {
        /// The claim's namespace.
        namespace: Arc<str>,
        /// The claim.
        claim: Arc<str>,
        /// The pod.
        pod: Arc<str>,
    },
    /// The claim's volume is gone.
    Lost {
        /// The claim.
        claim: Arc<str>,
        /// The volume.
        volume: Arc<str>,
    },
    /// The claim is being deleted.
    Deleting {
        /// The claim.
        claim: Arc<str>,
    },
    /// The volume controller has yet to find a volume for the claim.
    Unbound {
        /// The claim.
        claim: Arc<str>,
    },
    /// The claim has a volume that we do not know.
    NoVolume {
        /// The volume.
        volume: Arc<str>,
    },
}

/// Why a pod's claims cannot be used on any node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ClaimReason {
    /// An earlier attempt left a claim for the pod's extended resources, which has to go first.
    ExtendedLeft(ClaimId),
    /// The claim for the pod's extended resources is being made.
    ExtendedBeingMade,
    /// The claim has yet to be made from its template.
    NotCreated {
        /// The pod's name for it.
        entry: Arc<str>,
    },
    /// The pod refers to the claim in a way that is not known.
    SourceUnknown {
        /// The pod's name for it.
        entry: Arc<str>,
    },
    /// There is no such claim.
    NotFound(ClaimId),
    /// The claim is being deleted.
    Deleting(ClaimId),
    /// The claim was made for another pod, and only has the name of the one for the pod.
    NotOwn(ClaimId),
    /// The claim's devices are being written.
    BeingAllocated(ClaimId),
    /// The claim is giving its devices back.
    BeingDeallocated(ClaimId),
    /// The claim's devices will not become ready.
    NotReady(Box<NotReady>),
    /// A device of the claim has a taint by which pods are evicted.
    Tainted(Box<TaintedDevice>),
    /// A device of the claim was given to another claim as well.
    Clash(Box<DeviceClash>),
    /// The claim has as many consumers as there may be.
    Full {
        /// The claim.
        claim: ClaimId,
        /// How many it has.
        consumers: usize,
    },
    /// The claim would have too many consumers with the other pods of the group.
    FullWithGroup {
        /// The claim.
        claim: ClaimId,
        /// How many there may be.
        consumers_max: usize,
    },
    /// The claim has a device that is a part of its node, and another pod uses it.
    PartOfNode(ClaimId),
    /// The claim is for a driver's controller, and the feature is off.
    ControllerOff(ClaimId),
    /// The driver's controller asked for the claim's devices back.
    MustBeReallocated(ClaimId),
    /// The claim is in use, and its driver does not allow that it is shared.
    NotShareable(ClaimId),
    /// The claim asks for devices of a driver's controller and for others.
    MixedControllers(ClaimId),
    /// The driver's controller is to allocate the claim without waiting for a pod.
    Immediate {
        /// The claim.
        claim: ClaimId,
        /// The driver.
        driver: Arc<str>,
    },
}

/// A device of a claim with a taint by which pods are evicted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TaintedDevice {
    /// The claim.
    pub claim: ClaimId,
    /// The device.
    pub device: DeviceId,
    /// What is wrong with it: the key of the taint.
    pub key: Arc<str>,
    /// More about it, or nothing: the value of the taint.
    pub value: Arc<str>,
}

/// A device that two claims have.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DeviceClash {
    /// The claim that cannot be used.
    pub claim: ClaimId,
    /// The device.
    pub device: DeviceId,
    /// The other claim.
    pub rival: ClaimId,
}

/// Why a node has no devices for a pod's claims.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DeviceReason {
    /// A claim has devices that cannot be used from the node.
    ClaimElsewhere,
    /// A class does not allow the node for devices that its driver's controller gives.
    ExcludedByClass,
    /// A driver's controller has no devices for the node.
    ExcludedByDriver,
    /// No choice of devices satisfies the claims.
    Insufficient,
    /// The same, and there are pools that contradict themselves, whose devices cannot be used.
    InvalidPools,
    /// The search for devices reached its limit.
    LimitReached,
    /// The node has too little of these for what the devices take.
    ShortForDevices(Vec<ResourceName>),
    /// A device is a part of the node by a capacity, and is not shared by capacity.
    NotSharedByCapacity {
        /// The device.
        device: Box<DeviceId>,
        /// What it is a part of.
        resource: Arc<str>,
        /// The capacity.
        capacity: Arc<str>,
    },
    /// What the pod asks for as a whole does not cover what its devices take.
    RequestTooSmall {
        /// The resource.
        resource: Arc<str>,
    },
    /// The nodes of a slice are picked in a way that cannot be judged.
    SliceSelector(BadRequirement),
    /// The claims cannot be judged, whatever devices there are.
    Question(Box<AllocationError>),
}

/// Why the preemption of other pods on a node would not help.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PreemptionReason {
    /// There is no pod that could go.
    NoVictims,
    /// The node was not tried any more.
    NotTried,
    /// The node is out of the question anyway.
    NotHelpful,
}

impl ClaimReason {
    /// The changes that could undo it.
    pub(crate) fn wakes_on(&self) -> Wakes {
        let changed = |claims: &[&ClaimId]| {
            Wake::Claim.of(claims.iter().map(|claim| Object::Claim(ClaimId::clone(claim))))
        };
        let of_claims = match self {
            ClaimReason::ExtendedBeingMade => Wake::Claim.into(),
            // The pod itself says which claim it is.
            ClaimReason::NotCreated { .. } | ClaimReason::SourceUnknown { .. } => Wakes::NONE,
            ClaimReason::Clash(clash) => changed(&[&clash.claim, &clash.rival]),
            ClaimReason::NotReady(why) => changed(&[why.claim()]),
            ClaimReason::Tainted(tainted) => {
                let driver = Object::Driver(tainted.device.driver.clone());
                changed(&[&tainted.claim]).or(Wake::Slice.of([driver]))
            }
            ClaimReason::ExtendedLeft(claim)
            | ClaimReason::NotFound(claim)
            | ClaimReason::Deleting(claim)
            | ClaimReason::NotOwn(claim)
            | ClaimReason::BeingAllocated(claim)
            | ClaimReason::BeingDeallocated(claim)
            | ClaimReason::Full { claim, .. }
            | ClaimReason::FullWithGroup { claim, .. }
            | ClaimReason::PartOfNode(claim)
            | ClaimReason::ControllerOff(claim)
            | ClaimReason::MustBeReallocated(claim)
            | ClaimReason::NotShareable(claim)
            | ClaimReason::MixedControllers(claim)
            | ClaimReason::Immediate { claim, .. } => changed(&[claim]),
        };
        of_claims.or(Wake::OwnClaims.into())
    }

    /// A claim that lost a device to another.
    #[must_use]
    pub fn clash(claim: &ClaimId, clash: Clash) -> ClaimReason {
        let Clash { device, rival, .. } = clash;
        let claim = claim.clone();
        ClaimReason::Clash(Box::new(DeviceClash { claim, device, rival }))
    }
}

impl Reason {
    /// Whether it is over with the answer to a write that is under way, or of a driver that is to take devices back.
    pub(crate) fn is_passing(&self) -> bool {
        let Reason::Claim(reason) = self else { return false };
        matches!(
            reason,
            ClaimReason::ExtendedBeingMade
                | ClaimReason::BeingAllocated(_)
                | ClaimReason::BeingDeallocated(_)
                | ClaimReason::MustBeReallocated(_)
        )
    }

    /// The same reason for a pod whose claims ask for the same.
    pub(crate) fn rename(&mut self, names: Renaming<'_>) {
        if let Reason::Devices(DeviceReason::Question(error)) = self
            && let Some(claim) = error.claim_mut()
        {
            names.apply(claim);
        }
    }
}

impl From<ClaimReason> for Reason {
    fn from(reason: ClaimReason) -> Reason {
        Reason::Claim(reason)
    }
}

impl From<DeviceReason> for Reason {
    fn from(reason: DeviceReason) -> Reason {
        Reason::Devices(reason)
    }
}
