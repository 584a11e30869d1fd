//! Whether a claim gives its devices back, and why. Nothing else says so.
//!
//! Whatever the reason, a claim keeps its devices while another pod uses it or is about to, and while it was asked to give them back
//! already. One that was made for what a pod asks for by name is deleted and not emptied. Besides, by reason:
//!
//! | why | what a driver's controller gave | else |
//! |---|---|---|
//! | PodGone | is kept: the controller of claims releases it | |
//! | NotBound | is kept: it is negotiated about for long | is kept for a pod that was readied or bound to its node: it tries others beside it |
//! | BindRefused | is kept: it is negotiated about for long | is kept for a pod that was bound to its node |
//! | Preempted | is given back | |
//! | LostClash | is given back | |
//! | NotReady | is given back | |
//! | BlocksOwnPod | is given back, unless it was given for good | is kept where a pod that is on its node may use it |
//! | BlocksOwnGang | is kept: it is asked back with all that the gang has | |
//! | Unused | is kept | is kept while it is reserved or being deleted |
//! | NegotiationFailed | is given back, unless it was given for good or is leaving | what we gave is kept |
//! | DriverAsked | is given back if it is leaving | is kept unless a pod holds it |

use std::fmt;

use cluster::claims::ClaimState;
use cluster::facts::Facts;
use model::claim::ClaimId;
use model::identity::{ConsumerUid, PodUid};

use crate::underway::{Tie, Underway};

/// Why a claim is to give its devices back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// The pod that got them is gone before it was bound.
    PodGone,
    /// The pod that got them could not get all that it needs on its node.
    NotBound,
    /// The pod that got them has all that it needs, and the API server refused to bind it. It may be gone.
    BindRefused,
    /// The pod that got them makes way for a more important one.
    Preempted,
    /// Another claim has one of them, and had it first.
    LostClash,
    /// One of them will not become ready, or must not be used any more.
    NotReady,
    /// They keep the claim's own pod off the nodes that would do otherwise.
    BlocksOwnPod,
    /// They keep the gang of the claim's own pod from its seats.
    BlocksOwnGang,
    /// Nothing uses them or will.
    Unused,
    /// Drivers do not give the pod or its gang everything that it needs.
    NegotiationFailed,
    /// The driver wants to give others.
    DriverAsked,
}

impl Why {
    /// All reasons.
    pub const ALL: [Why; 11] = [
        Why::PodGone,
        Why::NotBound,
        Why::BindRefused,
        Why::Preempted,
        Why::LostClash,
        Why::NotReady,
        Why::BlocksOwnPod,
        Why::BlocksOwnGang,
        Why::Unused,
        Why::NegotiationFailed,
        Why::DriverAsked,
    ];
}

/// Why a claim keeps its devices all the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kept {
    /// There is no such claim, or it has none.
    NoDevices,
    /// It is asked for already.
    AskedFor,
    /// It was made for what a pod asks for by name, and is deleted instead.
    Made,
    /// It is being deleted.
    Deleting,
    /// Another pod uses it, or a pod on a node where it can be used.
    InUse,
    /// A pod on its way is about to use it.
    BeingReserved,
    /// Its pod is tried again on the node where they are.
    ForItsNode,
    /// A driver's controller gave them, which is not ours to take for this reason.
    OfDriver,
    /// We gave them, and only what drivers gave is taken back for this reason.
    OfOurs,
}

impl fmt::Display for Kept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Kept::NoDevices => "it has no devices",
            Kept::AskedFor => "it is being deallocated",
            Kept::Made => "it is deleted with its pod",
            Kept::Deleting => "it is being deleted",
            Kept::InUse => "it is in use",
            Kept::BeingReserved => "it is being reserved for another pod",
            Kept::ForItsNode => "its pod is rescheduled on the node of its devices",
            Kept::OfDriver => "a driver's controller allocated it",
            Kept::OfOurs => "the scheduler allocated it",
        })
    }
}

/// Why a claim keeps its devices, if it does. The pod is the one that they were for.
#[must_use]
pub fn kept(
    facts: &Facts,
    underway: &dyn Underway,
    why: Why,
    claim: &ClaimId,
    pod: Option<&PodUid>,
) -> Option<Kept> {
    let state = facts.claims.get(claim).filter(|state| state.allocation.is_some());
    let Some(state) = state else { return Some(Kept::NoDevices) };
    let of_driver = by_driver(facts, why, state);
    let is_alone = |user: &ConsumerUid| pod.is_some_and(|pod| facts.is_user_alone(user, pod));
    if state.extended {
        Some(Kept::Made)
    } else if of_driver.is_some() {
        of_driver
    } else if pod.is_some_and(|pod| is_for_its_node(why, underway.tie(pod))) {
        Some(Kept::ForItsNode)
    } else if underway.is_given_up(claim) {
        Some(Kept::AskedFor)
    } else if !state.reserved_for.iter().all(is_alone) || is_used_where_its_pod_is(facts, why, state, pod) {
        Some(Kept::InUse)
    } else if underway.is_being_reserved(claim, pod.map(|pod| &**pod)) {
        Some(Kept::BeingReserved)
    } else if why == Why::Unused && state.deleting {
        Some(Kept::Deleting)
    } else {
        None
    }
}

/// What speaks against it, by whether a driver's controller gave the devices.
fn by_driver(facts: &Facts, why: Why, state: &ClaimState) -> Option<Kept> {
    let control = &state.control;
    let is_controlled = facts.is_controlled(state);
    let is_of_driver = facts.is_of_driver(state);
    let is_for_good = is_of_driver && control.immediate;
    match why {
        Why::PodGone | Why::NotBound | Why::BindRefused | Why::Unused | Why::BlocksOwnGang => {
            is_controlled.then_some(Kept::OfDriver)
        }
        Why::Preempted | Why::LostClash | Why::NotReady => None,
        Why::BlocksOwnPod => is_for_good.then_some(Kept::OfDriver),
        Why::NegotiationFailed if !is_of_driver => Some(Kept::OfOurs),
        Why::NegotiationFailed => (is_for_good || control.leaving).then_some(Kept::OfDriver),
        Why::DriverAsked => (!control.leaving).then_some(Kept::OfOurs),
    }
}

/// Whether a pod that was not bound keeps them for the next time on its node.
fn is_for_its_node(why: Why, tie: Tie) -> bool {
    match why {
        Why::NotBound => tie != Tie::None,
        Why::BindRefused => tie == Tie::Bound,
        _ => false,
    }
}

/// What is reserved for a pod on a node may be in use there, whatever became of the node, unless it cannot be used there.
fn is_used_where_its_pod_is(facts: &Facts, why: Why, state: &ClaimState, pod: Option<&PodUid>) -> bool {
    let node = pod.and_then(|pod| facts.waiting.get(pod)).and_then(|pod| pod.node.as_ref());
    why == Why::BlocksOwnPod
        && !state.reserved_for.is_empty()
        && node.is_some_and(|node| facts.may_use_at(&state.wish.id, node))
}
