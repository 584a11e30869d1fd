//! Devices that another scheduler gave to another claim at the same moment. The API has no lock on devices, so that both
//! are written; who comes second finds out, and gives its own back.
//!
//! Invariant: a pod is not bound before the API has told of the devices of its claims. It tells of writes in the order in
//! which they were made, so by then everything is known that was given out before, and of two schedulers that keep to this
//! one binds its pod and the other does not. Others do not keep to it, kube-scheduler for one: they bind their pods although
//! they come second. While pods with claims wait for them, a pod of ours waits until they have written what they decided on
//! before they could know of ours, and gives way to them.

use std::sync::Arc;

use model::claim::ClaimId;
use model::timestamp::Timestamp;

use super::Engine;
use crate::deallocate::InTheWay;

impl Engine {
    /// The first claim of a pod on its way of which nothing was heard since it was written.
    pub(super) fn unheard_of(&self, uid: &str) -> Option<ClaimId> {
        let placing = self.placing.get(uid)?;
        placing.reserved.iter().find(|claim| self.claims.is_decided(claim)).cloned()
    }

    /// A claim of a pod on its way that has no devices any more.
    pub(super) fn lost_claim(&self, uid: &str) -> Option<ClaimId> {
        let placing = self.placing.get(uid)?;
        placing.reserved.iter().find(|claim| self.claims.allocation(claim).is_none()).cloned()
    }

    /// The API told of a claim. A pod that waited for that goes on.
    pub(super) fn heard_of(&mut self, now: Timestamp, claim: &ClaimId) {
        if self.claims.is_decided(claim) {
            return;
        }
        if let Some(uid) = self.unheard.remove(claim) {
            self.go_on(now, &uid);
        }
    }

    /// Whether a pod whose devices are known waits for what others may have decided on before.
    pub(super) fn waits_for_rivals(&mut self, now: Timestamp, uid: &Arc<str>) -> bool {
        let Some(placing) = self.placing.get_mut(uid) else { return false };
        if placing.reserved.is_empty() {
            return false;
        }
        if placing.settles_at.is_none() {
            placing.settles_at = self.rivals.quiet_at(now);
            self.settling.extend(placing.settles_at.map(|time| (time, uid.clone())));
        }
        placing.settles_at.is_some_and(|time| now < time)
    }

    /// Pods that have waited long enough go on.
    pub(super) fn end_waits(&mut self, now: Timestamp) {
        while self.settling.first().is_some_and(|(time, _)| *time <= now) {
            if let Some((_, uid)) = self.settling.pop_first() {
                self.go_on(now, &uid);
            }
        }
    }

    /// The claim of a pod on its way that has to give its devices back, and why.
    pub(super) fn clash_of(&self, now: Timestamp, uid: &str) -> Option<(InTheWay, String)> {
        let placing = self.placing.get(uid)?;
        // One of ours that came second has given its own back by the end of the wait. Who has not will never do so.
        let gives_way = placing.settles_at.is_some_and(|time| now >= time);
        placing.reserved.iter().find_map(|claim| {
            let state = self.claims.get(claim)?;
            let why = self.clash(claim, uid, gives_way)?;
            Some((InTheWay { claim: claim.clone(), uid: state.uid.clone() }, why))
        })
    }

    /// Why a claim that nobody but this pod uses has to give its devices back: another claim had one of them first, or is in
    /// use by now, or just has it.
    pub(crate) fn clash(&self, claim: &ClaimId, pod: &str, gives_way: bool) -> Option<String> {
        let state = self.claims.get(claim)?;
        if state.reserved_for.iter().any(|user| **user != *pod) {
            return None;
        }
        let is_in_use = |user: &Arc<str>| self.nodes.has_pod(user) && !self.placing.contains_key(user);
        let has_user = |rival: &ClaimId| {
            let rival = self.claims.get(rival);
            rival.is_some_and(|rival| rival.reserved_for.iter().any(is_in_use))
        };
        let mut clashes = self.claims.clashes(claim);
        let clash = clashes.find(|clash| gives_way || clash.rival_was_first || has_user(&clash.rival))?;
        Some(format!("device {} of claim {claim} was given to claim {} as well", clash.device, clash.rival))
    }
}
