//! What is written to the API, and what became of it.

use std::fmt;
use std::sync::Arc;

use decisions::event_reasons as reasons;
pub use decisions::extended::RequestMapping;
pub use decisions::footprint::ClaimFootprint;
use model::allocation::Allocation;
use model::claim::{ClaimId, ClaimSpec};
use model::group::{GroupId, GroupName};
use model::identity::{ClaimUid, ConsumerUid, GroupUid, NodeName, PodUid};
use model::pod::{PodId, Together};
use model::volume::VolumeClaimId;

/// Tells writes apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WriteId(pub u64);

/// Something that the API is to do.
#[derive(Clone, PartialEq, Debug)]
pub enum Write {
    /// Give a claim its devices, and reserve it for pods.
    Allocate {
        /// The claim.
        claim: ClaimId,
        /// Its uid.
        uid: ClaimUid,
        /// The version that was looked at.
        version: Arc<str>,
        /// The devices.
        allocation: Box<Allocation>,
        /// The ids of its shares, in the order of grants.
        shares: Vec<Arc<str>>,
        /// The pods or groups that use it; at least one.
        consumers: Vec<Consumer>,
    },
    /// Reserve a claim that has devices for more pods.
    Reserve {
        /// The claim.
        claim: ClaimId,
        /// Its uid.
        uid: ClaimUid,
        /// The pods or groups that use it; at least one.
        consumers: Vec<Consumer>,
    },
    /// Take reservations back, but for pods that are on another node by now.
    Release {
        /// The claim.
        claim: ClaimId,
        /// Its uid.
        uid: ClaimUid,
        /// Whose; at least one.
        consumers: Vec<Consumer>,
        /// The node on which the pods cannot use the claim; none if they are on no node, or are gone.
        node: Option<NodeName>,
    },
    /// Take a claim's devices back, unless another pod uses it by now.
    Deallocate {
        /// The claim.
        claim: ClaimId,
        /// Its uid.
        uid: ClaimUid,
        /// The uid of the one pod or group that may use it, if one may.
        user: Option<ConsumerUid>,
    },
    /// Make a claim for resources that a pod asks for by name, give it its devices, reserve it for the pod, and note on the pod
    /// which container gets what. If it cannot be done to the end, what was made is deleted before it is told.
    MakeClaim {
        /// The pod, which owns the claim.
        pod: PodId,
        /// Its uid.
        uid: PodUid,
        /// What the claim asks for; its name is left to the API.
        spec: Box<ClaimSpec>,
        /// The devices.
        allocation: Box<Allocation>,
        /// The ids of its shares, in the order of grants.
        shares: Vec<Arc<str>>,
        /// Which container gets what.
        mappings: Vec<RequestMapping>,
    },
    /// Delete a claim that was made for a pod, whatever it has.
    DeleteClaim {
        /// The claim.
        claim: ClaimId,
        /// Its uid.
        uid: ClaimUid,
    },
    /// Tell drivers' controllers which nodes would do for a pod, and which one is chosen.
    Negotiate {
        /// The pod.
        pod: PodId,
        /// Its uid.
        uid: PodUid,
        /// The node that is chosen.
        selected: Option<NodeName>,
        /// The nodes that would do.
        potential: Vec<NodeName>,
    },
    /// Take away what was told about a pod, since it has its node.
    EndNegotiation {
        /// The pod.
        pod: PodId,
        /// Its uid.
        uid: PodUid,
    },
    /// Note on a volume which claim it is for.
    BindVolume {
        /// The volume.
        volume: Arc<str>,
        /// Its uid.
        uid: Arc<str>,
        /// The claim.
        claim: VolumeClaimId,
        /// The claim's uid.
        claim_uid: Arc<str>,
        /// The pod that uses the claim.
        pod: PodUid,
    },
    /// Note on a volume claim for which node a volume is to be provisioned.
    SelectNode {
        /// The claim.
        claim: VolumeClaimId,
        /// Its uid.
        uid: Arc<str>,
        /// The node.
        node: NodeName,
        /// The pod that uses the claim.
        pod: PodUid,
    },
    /// Bind a pod to a node.
    Bind {
        /// The pod.
        pod: PodId,
        /// Its uid.
        uid: PodUid,
        /// The node.
        node: NodeName,
        /// The pods with which it is bound, if all of these are let go unless all are bound.
        together: Option<Together>,
    },
    /// Note on a pod what its devices take of its node. An empty list takes back what was noted before.
    NoteResources {
        /// The pod.
        pod: PodId,
        /// Its uid.
        uid: PodUid,
        /// By claim.
        claims: Vec<ClaimFootprint>,
    },
    /// Note on a pod why it waits.
    Note {
        /// The pod.
        pod: PodId,
        /// Its uid.
        uid: PodUid,
        /// In a word, as autoscalers look for it.
        reason: WaitReason,
        /// In a sentence.
        message: String,
    },
    /// Delete a pod, since a more important one needs its place, or its gang is let go.
    Evict {
        /// The pod that goes.
        pod: PodId,
        /// Its uid.
        uid: PodUid,
        /// The scheduler that does so: the one that the more important pod asks for.
        scheduler: Arc<str>,
        /// What needs the place.
        by: Preemptor,
    },
    /// Note on a pod which node is being made free for it.
    Nominate {
        /// The pod.
        pod: PodId,
        /// Its uid.
        uid: PodUid,
        /// The node; none takes a note away.
        node: Option<NodeName>,
    },
    /// Note on a group whether enough of its pods are placed.
    NoteGroup {
        /// The group.
        group: GroupId,
        /// Its uid.
        uid: GroupUid,
        /// What is noted.
        state: GroupState,
    },
}

/// What is noted on a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupState {
    /// Enough of its pods have their nodes. Once that was so, nothing else is noted.
    Placed,
    /// They have none.
    Waiting {
        /// In a word.
        reason: WaitReason,
        /// In a sentence.
        message: String,
    },
}

/// What a write is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About<'a> {
    /// A claim.
    Claim(&'a ClaimId),
    /// A pod.
    Pod {
        /// Which pod.
        id: &'a PodId,
        /// Its uid.
        uid: &'a PodUid,
    },
    /// A group of pods.
    Group(&'a GroupId),
    /// A volume.
    Volume(&'a Arc<str>),
    /// A claim for a volume.
    VolumeClaim(&'a VolumeClaimId),
    /// What is negotiated about a pod.
    Context {
        /// Which pod.
        id: &'a PodId,
        /// Its uid.
        uid: &'a PodUid,
    },
}

impl Write {
    /// The object that is written, or that something is made for.
    #[must_use]
    pub fn about(&self) -> About<'_> {
        match self {
            Write::Allocate { claim, .. }
            | Write::Reserve { claim, .. }
            | Write::Release { claim, .. }
            | Write::Deallocate { claim, .. }
            | Write::DeleteClaim { claim, .. } => About::Claim(claim),
            Write::Negotiate { pod, uid, .. } | Write::EndNegotiation { pod, uid } => {
                About::Context { id: pod, uid }
            }
            Write::Bind { pod, uid, .. }
            | Write::Note { pod, uid, .. }
            | Write::NoteResources { pod, uid, .. }
            | Write::Evict { pod, uid, .. }
            | Write::Nominate { pod, uid, .. }
            | Write::MakeClaim { pod, uid, .. } => About::Pod { id: pod, uid },
            Write::NoteGroup { group, .. } => About::Group(group),
            Write::BindVolume { volume, .. } => About::Volume(volume),
            Write::SelectNode { claim, .. } => About::VolumeClaim(claim),
        }
    }

    /// The uid of the pod that this brings nearer to its node; of several the first.
    #[must_use]
    pub fn places(&self) -> Option<&PodUid> {
        match self {
            Write::Allocate { consumers, .. } | Write::Reserve { consumers, .. } => {
                consumers.first().map(|consumer| &consumer.uid)
            }
            Write::Bind { uid, .. } | Write::MakeClaim { uid, .. } => Some(uid),
            Write::BindVolume { pod, .. } | Write::SelectNode { pod, .. } => Some(pod),
            Write::NoteResources { uid, claims, .. } => (!claims.is_empty()).then_some(uid),
            Write::Release { .. }
            | Write::Deallocate { .. }
            | Write::DeleteClaim { .. }
            | Write::Negotiate { .. }
            | Write::EndNegotiation { .. }
            | Write::Note { .. }
            | Write::Evict { .. }
            | Write::NoteGroup { .. }
            | Write::Nominate { .. } => None,
        }
    }
}

/// What needs the place of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preemptor {
    /// Another pod.
    Pod,
    /// A group of pods, all at once.
    Group,
    /// Its own gang, which is placed anew as a whole since another member could not be bound.
    OwnGang,
}

impl Preemptor {
    /// As Kubernetes calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Preemptor::Pod => "pod",
            Preemptor::Group => "podgroup",
            Preemptor::OwnGang => "gang",
        }
    }
}

impl Write {
    /// What is done, in a word or two.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Write::Allocate { .. } => "allocate",
            Write::Reserve { .. } => "reserve",
            Write::Release { .. } => "release",
            Write::Deallocate { .. } => "deallocate",
            Write::MakeClaim { .. } => "make_claim",
            Write::DeleteClaim { .. } => "delete_claim",
            Write::Negotiate { .. } => "negotiate",
            Write::EndNegotiation { .. } => "end_negotiation",
            Write::BindVolume { .. } => "bind_volume",
            Write::SelectNode { .. } => "select_node",
            Write::Bind { .. } => "bind",
            Write::NoteResources { .. } => "note_resources",
            Write::Note { .. } => "note",
            Write::Evict { .. } => "evict",
            Write::Nominate { .. } => "nominate",
            Write::NoteGroup { .. } => "note_group",
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.about() {
            About::Claim(id) => write!(out, "{} claim {id}", self.name()),
            About::Pod { id, .. } | About::Context { id, .. } => {
                write!(out, "{} pod {}/{}", self.name(), id.namespace, id.name)
            }
            About::Group(id) => write!(out, "{} pod group {id}", self.name()),
            About::Volume(name) => write!(out, "{} persistent volume {name}", self.name()),
            About::VolumeClaim(id) => write!(out, "{} persistent volume claim {id}", self.name()),
        }
    }
}

/// A pod that uses a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consumer {
    /// Its name, in the claim's namespace.
    pub name: Arc<str>,
    /// Its uid.
    pub uid: PodUid,
    /// The group that uses the claim in its stead, with all of its members.
    pub group: Option<GroupUser>,
}

/// A group that uses a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupUser {
    /// Its name, in the claim's namespace.
    pub name: GroupName,
    /// Its uid.
    pub uid: GroupUid,
}

impl Consumer {
    /// The uid under which the claim is reserved.
    #[must_use]
    pub fn user(&self) -> ConsumerUid {
        self.group.as_ref().map_or_else(|| (&self.uid).into(), |group| (&group.uid).into())
    }
}

/// Why a pod waits, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitReason {
    /// No node will do.
    Unschedulable,
    /// Something went wrong.
    SchedulerError,
    /// Nodes would do, and drivers' controllers are asked.
    Negotiating,
    /// It is not known yet whether a node will do.
    Undecided,
    /// It has a node, and waits there for binding conditions of its devices.
    DevicesPending,
}

impl WaitReason {
    /// The reason of the condition.
    #[must_use]
    pub fn code(self) -> &'static str {
        let reason = match self {
            WaitReason::Unschedulable => reasons::UNSCHEDULABLE,
            WaitReason::SchedulerError => reasons::SCHEDULER_ERROR,
            WaitReason::Negotiating => reasons::WAITING_FOR_RESOURCE_DRIVER,
            WaitReason::Undecided => reasons::SCHEDULING_IN_PROGRESS,
            WaitReason::DevicesPending => reasons::BINDING_CONDITIONS_PENDING,
        };
        reason.name
    }
}

/// What became of a write. It is told when it is certain: while a call has no answer, its delivery reads
/// the object and calls again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteOutcome {
    /// It is done.
    Done,
    /// It is not done and will not be, and this is why.
    Failed(String),
}
