//! How a claim stands: what it has, which pods use it, and what it waits for.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::facts::Facts;
use decisions::considering::Snapshot;
use decisions::not_ready::{Awaited, NotReady};
use decisions::readiness::Standing;
use model::claim::{ClaimId, Wish};
use model::device::DeviceId;
use model::pod::PodId;
use model::timestamp::Timestamp;

use crate::audience::{Audience, Shown};
use crate::nodes::users;
use crate::preparing;

/// What is to be said of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimExplanation {
    /// There is no such claim, or it may not be named.
    NotFound(ClaimId),
    /// It is there.
    Found(Box<FoundClaim>),
}

/// A claim, and how it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundClaim {
    /// The claim.
    pub claim: ClaimId,
    /// How far it is.
    pub standing: ClaimStanding,
    /// The devices that it has, or will have once that is written.
    pub devices: Vec<DeviceId>,
    /// When it got them, if that was written down.
    pub since: Option<Timestamp>,
    /// Pods on nodes that use it.
    pub users: Vec<Shown<PodId>>,
    /// How many pods or groups it is reserved for that are on no node that is known.
    pub other_users: usize,
    /// Pods that name it and wait for a node.
    pub waiting: Vec<Shown<PodId>>,
    /// It is being deleted.
    pub deleting: bool,
}

/// How far a claim is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimStanding {
    /// It has no devices: they are allocated when a pod that names it has a node.
    AwaitsPod,
    /// It has no devices, since classes that it names do not exist.
    AwaitsClasses(Vec<Arc<str>>),
    /// It has no devices: these controllers of drivers are to allocate them.
    AwaitsDrivers(Vec<Arc<str>>),
    /// Its devices are being written.
    BeingAllocated,
    /// Its devices are being given back.
    BeingDeallocated,
    /// It has its devices, and they have to be made ready by a time.
    Preparing {
        /// What is waited for.
        awaited: Box<Awaited>,
        /// Until when.
        until: Timestamp,
    },
    /// It has devices that will not become ready.
    Broken(Vec<NotReady>),
    /// It has its devices.
    Allocated,
}

/// How a claim stands.
#[must_use]
pub fn explain_claim(snapshot: &Snapshot, id: &ClaimId, audience: &Audience) -> ClaimExplanation {
    let facts = &snapshot.facts;
    let Some(state) = facts.claims.get(id).filter(|_| audience.sees(&id.namespace)) else {
        return ClaimExplanation::NotFound(id.clone());
    };
    let pods = users(facts, id);
    let on_nodes = state
        .reserved_for
        .iter()
        .filter(|uid| facts.nodes.has_pod(uid) || facts.groups.seated_by_uid(uid).next().is_some());
    let other_users = state.reserved_for.len() - on_nodes.count();
    let names_it = |pod: &&Arc<model::pod::Pod>| {
        !facts.nodes.has_pod(&pod.uid) && pod.claim_ids().any(|claim| claim == *id)
    };
    let mut waiting: Vec<PodId> = facts.waiting.values().filter(names_it).map(|pod| pod.id.clone()).collect();
    waiting.sort_unstable();
    ClaimExplanation::Found(Box::new(FoundClaim {
        claim: id.clone(),
        standing: standing(snapshot, state),
        devices: facts.claims.held(id).into_iter().map(|held| held.device).collect(),
        since: state.preparation.as_ref().and_then(|preparation| preparation.since),
        users: pods.into_iter().map(|pod| audience.show(pod)).collect(),
        other_users,
        waiting: waiting.into_iter().map(|pod| audience.show(pod)).collect(),
        deleting: state.deleting,
    }))
}

fn standing(snapshot: &Snapshot, state: &ClaimState) -> ClaimStanding {
    let Snapshot { facts, underway, .. } = snapshot;
    let id = &state.wish.id;
    if underway.given_up.contains(id) || (state.control.leaving && state.allocation.is_some()) {
        return ClaimStanding::BeingDeallocated;
    }
    if state.allocation.is_none() {
        if facts.claims.is_decided(id) {
            return ClaimStanding::BeingAllocated;
        }
        return lacking(facts, state);
    }
    match preparing::standing(snapshot, std::slice::from_ref(id)) {
        Some(Standing::Pending(until, awaited)) => {
            ClaimStanding::Preparing { awaited: Box::new(awaited), until }
        }
        Some(Standing::Broken(broken)) => {
            ClaimStanding::Broken(broken.into_iter().map(|broken| broken.why).collect())
        }
        Some(Standing::Ready | Standing::Lost(_)) | None => ClaimStanding::Allocated,
    }
}

fn lacking(facts: &Facts, state: &ClaimState) -> ClaimStanding {
    let mut controllers: Vec<Arc<str>> =
        facts.controls(&state.wish).map(|control| control.controller.clone()).collect();
    controllers.sort_unstable();
    controllers.dedup();
    let named = state.wish.spec.requests.iter().flat_map(|request| match &request.wish {
        Wish::Exactly(ask) => vec![&ask.class],
        Wish::FirstAvailable(asks) => asks.iter().map(|(_, ask)| &ask.class).collect(),
    });
    let mut missing: Vec<Arc<str>> =
        named.filter(|class| !facts.classes.contains_key(*class)).cloned().collect();
    missing.sort_unstable();
    missing.dedup();
    match (missing.is_empty(), controllers.is_empty()) {
        (false, _) => ClaimStanding::AwaitsClasses(missing),
        (true, false) => ClaimStanding::AwaitsDrivers(controllers),
        (true, true) => ClaimStanding::AwaitsPod,
    }
}
