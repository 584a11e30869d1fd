//! Devices that another scheduler gave to another claim at the same moment. The API has no lock on devices, so that both
//! are written; who comes second finds out, and gives its own back.
//!
//! Invariant: a pod is not bound to a device that another claim is known to have had first, by the versions that the API
//! gave to both. While pods with claims wait for other schedulers, a pod of ours waits a moment between what was written and
//! the binding: what they wrote before is heard of by then, and what they had decided on is written. Of two schedulers that
//! keep to this one binds its pod and the other does not. Others do not keep to it, kube-scheduler for one: they bind their
//! pods although they come second, and are given way to.

use std::sync::Arc;

use model::claim::ClaimId;
use model::timestamp::Timestamp;

use super::Engine;
use crate::deallocate::{InTheWay, Remedy};

impl Engine {
    /// A claim of a pod on its way that has no devices any more.
    pub(super) fn lost_claim(&self, uid: &str) -> Option<ClaimId> {
        let placing = self.placing.get(uid)?;
        let is_lost =
            |claim: &&ClaimId| self.claims.get(claim).is_some() && self.claims.allocation(claim).is_none();
        placing.reserved.iter().find(is_lost).cloned()
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
            Some((InTheWay { claim: claim.clone(), uid: state.uid.clone(), remedy: Remedy::Deallocate }, why))
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
