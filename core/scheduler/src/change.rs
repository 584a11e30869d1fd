//! Facts that arrive from the API, and what is written to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::published::Published;
use model::allocation::Allocation;
use model::claim::{ClaimId, Class};
use model::node::Node;
use model::pod::{Pod, PodId};

/// A fact that arrived. Names are those of the objects; a thing that is applied twice is the same as once.
#[derive(Clone, Debug)]
pub enum Change {
    /// A node is there, or is otherwise.
    NodeApplied(Box<Node>),
    /// A node went.
    NodeGone(Arc<str>),
    /// A pod is there, or is otherwise.
    PodApplied(Arc<Pod>),
    /// A pod went; the uid tells which.
    PodGone(Arc<str>),
    /// A slice is there, or is otherwise.
    SliceApplied(Arc<Published>),
    /// A slice went.
    SliceGone(Arc<str>),
    /// A class is there, or is otherwise.
    ClassApplied(Class),
    /// A class went.
    ClassGone(Arc<str>),
    /// A claim is there, or is otherwise.
    ClaimApplied(Box<ClaimState>),
    /// A claim went.
    ClaimGone(ClaimId),
    /// A namespace is there, or has other labels.
    NamespaceApplied(Arc<str>, BTreeMap<Arc<str>, Arc<str>>),
    /// A namespace went.
    NamespaceGone(Arc<str>),
}

/// Tells writes apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WriteId(pub u64);

/// Something that the API is to do.
#[derive(Clone, PartialEq, Debug)]
pub enum Write {
    /// Give a claim its devices, and reserve it for a pod.
    Allocate {
        /// The claim.
        claim: ClaimId,
        /// Its uid.
        uid: Arc<str>,
        /// The version that was looked at.
        version: Arc<str>,
        /// The devices.
        allocation: Box<Allocation>,
        /// The ids of its shares, in the order of grants.
        shares: Vec<Arc<str>>,
        /// For whom.
        consumer: Consumer,
    },
    /// Reserve a claim that has devices for one more pod.
    Reserve {
        /// The claim.
        claim: ClaimId,
        /// Its uid.
        uid: Arc<str>,
        /// For whom.
        consumer: Consumer,
    },
    /// Take a reservation back.
    Release {
        /// The claim.
        claim: ClaimId,
        /// Its uid.
        uid: Arc<str>,
        /// Whose.
        consumer: Consumer,
    },
    /// Bind a pod to a node.
    Bind {
        /// The pod.
        pod: PodId,
        /// Its uid.
        uid: Arc<str>,
        /// The node.
        node: Arc<str>,
    },
    /// Note on a pod why it waits.
    Note {
        /// The pod.
        pod: PodId,
        /// Its uid.
        uid: Arc<str>,
        /// In a word, as autoscalers look for it.
        reason: WaitReason,
        /// In a sentence.
        message: String,
    },
}

/// A pod that uses a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consumer {
    /// Its name, in the claim's namespace.
    pub name: Arc<str>,
    /// Its uid.
    pub uid: Arc<str>,
}

/// Why a pod waits, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitReason {
    /// No node will do.
    Unschedulable,
    /// Something went wrong.
    SchedulerError,
}

/// What became of a write. It is told when it is certain: while a call has no answer, whoever carries the write out reads
/// the object and calls again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteOutcome {
    /// It is done.
    Done,
    /// It is not done and will not be, and this is why.
    Failed(String),
}
