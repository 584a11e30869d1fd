//! Claims that have devices and that no pod uses or will use, so that no other claim can have them: their devices failed, or were
//! for a pod that went before it ran, or before they were written. They give their devices back when there is time.
//!
//! Invariant: only a scheduler that decides about pods asks for that. One that merely follows takes note, and goes on from there when it decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::ClaimState;
use decisions::giving_back::Why;
use decisions::in_the_way::{InTheWay, Remedy};
use model::claim::ClaimId;
use model::identity::ConsumerUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::Engine;

/// How long after it was asked for, and for as long as it has not happened, it is asked for again.
const ASKS_EVERY_MS: i64 = 1_000;

/// What is known of claims that no pod uses.
#[derive(Debug, Default)]
pub(crate) struct Forlorn {
    /// Claims that got devices for pods that are gone, with the uids of their users.
    bereaved: BTreeMap<ClaimId, BTreeSet<ConsumerUid>>,
    /// Claims that are to give their devices back, and when.
    due: BTreeMap<ClaimId, Timestamp>,
}

impl Forlorn {
    /// When the next claim is to give its devices back.
    pub(super) fn next_time(&self) -> Option<Timestamp> {
        self.due.values().min().copied()
    }
}

impl Engine {
    /// Lets claims give devices back that no pod uses.
    pub(super) fn clear_forlorn(&mut self, now: Timestamp) {
        let is_due = |(claim, time): (&ClaimId, &Timestamp)| (*time <= now).then(|| claim.clone());
        let due: Vec<ClaimId> = self.bindings.forlorn.due.iter().filter_map(is_due).collect();
        for claim in due {
            if !self.is_forlorn(now, &claim) {
                self.bindings.forlorn.due.remove(&claim);
                continue;
            }
            self.bindings.forlorn.due.insert(claim.clone(), now.plus_millis(ASKS_EVERY_MS));
            if self.kept(Why::Unused, &claim, None).is_none() {
                let uid = self.facts.claims.get(&claim).map(|state| state.uid.clone()).unwrap_or_default();
                self.ask_for(InTheWay { claim, uid, remedy: Remedy::Deallocate }, None);
            }
        }
    }

    /// Takes note that a pod is gone. What its claims got for it would stay theirs, with no pod to use it. What is reserved for a pod
    /// that had a node is taken back by the controller that releases it.
    pub(super) fn bereave_claims(&mut self, now: Timestamp, pod: &Pod) {
        for claim in pod.claim_ids() {
            let state = self.facts.claims.get(&claim).filter(|state| !state.extended);
            // What a driver gave is taken back where claims are looked after.
            let is_ours = state.is_some_and(|state| !self.facts.is_controlled(state));
            let user = self.facts.user_of(pod, &claim);
            let is_released_by_others =
                pod.node.is_some() && state.is_some_and(|state| state.reserved_for.contains(&user));
            if is_ours && !is_released_by_others && self.facts.claims.allocation(&claim).is_some() {
                self.bindings.forlorn.bereaved.entry(claim.clone()).or_default().insert(user);
                self.look_if_forlorn(now, &claim);
            }
        }
    }

    /// A claim changed or went, or its pod did.
    pub(super) fn look_if_forlorn(&mut self, now: Timestamp, claim: &ClaimId) {
        if let Some(gone) = self.bindings.forlorn.bereaved.get(claim) {
            let is_used = |state: &Arc<ClaimState>| state.reserved_for.iter().any(|one| !gone.contains(one));
            let has_devices = self.facts.claims.allocation(claim).is_some();
            if !has_devices || self.facts.claims.get(claim).is_none_or(is_used) {
                self.bindings.forlorn.bereaved.remove(claim);
            }
        }
        if !self.is_forlorn(now, claim) {
            self.bindings.forlorn.due.remove(claim);
        } else if !self.bindings.forlorn.due.contains_key(claim) {
            self.bindings.forlorn.due.insert(claim.clone(), now);
        }
    }

    /// Whether a claim is used by no pod, and its devices were for a pod that is gone or will not become ready.
    fn is_forlorn(&self, now: Timestamp, claim: &ClaimId) -> bool {
        let is_idle = |state: &&Arc<ClaimState>| {
            let has_devices = state.allocation.is_some() && !state.extended;
            has_devices && !state.deleting && state.reserved_for.is_empty()
        };
        let is_for_nobody = |state: &Arc<ClaimState>| {
            self.bindings.forlorn.bereaved.contains_key(claim) || self.readiness().is_broken(now, state)
        };
        self.facts.claims.get(claim).filter(is_idle).is_some_and(is_for_nobody)
    }
}
