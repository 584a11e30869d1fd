//! Devices that another scheduler gave to another claim at the same moment. The API has no lock on devices, so that both
//! are written; who comes second finds out, and gives its own back.
//!
//! Invariant: where others give out devices too, a pod is not bound before the watch has told of the devices of its claims.
//! It tells of writes in the order in which they were made, so by then everything is known that was given out before, and
//! of two schedulers that keep to this one binds its pod and the other does not. Others do not keep to it, kube-scheduler
//! for one: they bind their pods although they come second. While pods with claims wait for them, a pod of ours waits until
//! they have written what they decided on before they could know of ours, and gives way to them.
//! Where nobody else gives out devices, nothing is waited for.
//! A pod that was bound by hand cannot be held back: its node may run it as soon as its claims are reserved. It keeps what
//! it has, and if another has one of its devices that one gives way while it can.

use std::sync::Arc;

use cluster::claims::{ClaimState, Shown};
use decisions::giving_back::Why;
use decisions::in_the_way::{InTheWay, Remedy};
use decisions::reason::ClaimReason;
use model::claim::ClaimId;
use model::timestamp::Timestamp;

use super::Engine;
use crate::claim_waits::For;
use crate::engine::footprint::is_note;

/// How long a list of claims may take from one claim to the next.
const LISTED_WITHIN_MS: i64 = 2_000;

/// How long news of a claim that is written are waited for. A watch that is interrupted may never show a claim that was made
/// and deleted meanwhile.
const HEARS_WITHIN_MS: i64 = 30_000;

impl Engine {
    /// Takes note of somebody else who gives out devices, by a claim that has some which we did not give it.
    pub(super) fn notice_rival(&mut self, state: &ClaimState, shown: Shown) {
        let id = &state.wish.id;
        // A driver's controller gives what is its own.
        if state.control.controller.is_some() {
            return;
        }
        if shown != Shown::Watch || state.allocation.is_none() || self.facts.claims.allocation(id).is_some() {
            return;
        }
        // Claims for pods of ours may be from an earlier life of ours, or from a replica.
        let is_known = |user: &Arc<str>| {
            self.facts.waiting.contains_key(user)
                || self.facts.nodes.has_pod(user)
                || self.facts.groups.by_uid(user).is_some()
        };
        if !state.reserved_for.iter().any(is_known) {
            self.bindings.rivals.meet();
        }
    }

    /// Whether a pod whose claims are written has their devices for itself, as far as can be known. If not it waits, or is
    /// taken back.
    pub(super) fn has_devices_alone(&mut self, now: Timestamp, uid: &Arc<str>) -> bool {
        let claims = self.written_claims(uid);
        if self.waits_for_news(now, uid, &claims) {
            return false;
        }
        if let Some(lost) = claims.iter().find(|claim| self.facts.claims.allocation(claim).is_none()) {
            let why = format!("claim {lost}: it lost its devices in the meantime");
            self.fail(now, uid, why);
            return false;
        }
        if let Some((claim, why)) = self.clash_of(now, uid, &claims) {
            self.yield_to_rival(now, uid, claim, why);
            return false;
        }
        !self.waits_for_rivals(now, uid)
    }

    /// Whether a pod whose claims were written still has their devices for itself.
    pub(crate) fn keeps_devices(&self, now: Timestamp, uid: &str) -> bool {
        let claims = self.written_claims(uid);
        claims.iter().all(|claim| self.facts.claims.allocation(claim).is_some())
            && self.misplaced(uid).is_none()
            && self.clash_of(now, uid, &claims).is_none()
    }

    /// Whether a pod on its way whose claims are written waits neither for news of them nor for what others may have decided on.
    pub(crate) fn has_waited_enough(&self, now: Timestamp, uid: &str) -> bool {
        let Some(placing) = self.bindings.placing.get(uid) else { return false };
        let claims = self.written_claims(uid);
        let is_unheard =
            |claim: &ClaimId| self.facts.claims.is_decided(claim) || !self.facts.claims.is_told(claim);
        let is_listing = || self.list_ends(now).is_some() && !claims.is_empty();
        if self.bindings.rivals.are_met() && (claims.iter().any(is_unheard) || is_listing()) {
            return false;
        }
        let settles_at = placing.settles_at.or_else(|| self.bindings.rivals.quiet_at(now));
        placing.reserved.is_empty() || settles_at.is_none_or(|time| time <= now)
    }

    /// The claims that are written for a pod on its way. One that was made for it and is not known yet has a name that no
    /// claim has.
    pub(super) fn written_claims(&self, uid: &str) -> Vec<ClaimId> {
        let reserved = self.bindings.placing.get(uid).map(|placing| &placing.reserved);
        let claims = reserved.into_iter().flatten().filter(|claim| !is_note(claim));
        claims.map(|claim| self.made_under(claim).unwrap_or(claim).clone()).collect()
    }

    /// Whether nobody has told yet of the devices of one of the claims, and that is worth waiting for.
    fn waits_for_news(&mut self, now: Timestamp, uid: &Arc<str>, claims: &[ClaimId]) -> bool {
        if !self.bindings.rivals.are_met() {
            return false;
        }
        let is_unheard =
            |claim: &&ClaimId| self.facts.claims.is_decided(claim) || !self.facts.claims.is_told(claim);
        let Some(claim) = claims.iter().find(is_unheard).cloned() else {
            return self.waits_for_list(now, uid, claims);
        };
        let Some(placing) = self.bindings.placing.get_mut(uid) else { return false };
        let until = *placing.hears_by.get_or_insert_with(|| now.plus_millis(HEARS_WITHIN_MS));
        if until <= now {
            self.fail(now, uid, format!("claim {claim}: nothing was heard of it since it was written"));
            return true;
        }
        self.bindings.settling.insert((until, uid.clone()));
        self.bindings.waits.add(claim, For::News, uid);
        true
    }

    /// Whether claims are being listed. A list tells of them in any order: what was given out before may come yet.
    fn waits_for_list(&mut self, now: Timestamp, uid: &Arc<str>, claims: &[ClaimId]) -> bool {
        let Some(until) = self.list_ends(now).filter(|_| !claims.is_empty()) else { return false };
        self.bindings.settling.insert((until, uid.clone()));
        true
    }

    /// When a list of claims that is being told will be over.
    fn list_ends(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.bindings.claims_listed.map(|time| time.plus_millis(LISTED_WITHIN_MS));
        until.filter(|until| now < *until)
    }

    /// The API told of a claim. Pods that waited for that go on.
    pub(super) fn heard_of(&mut self, now: Timestamp, claim: &ClaimId) {
        if self.facts.claims.is_decided(claim) || !self.facts.claims.is_told(claim) {
            return;
        }
        for uid in self.bindings.waits.take(claim, For::News) {
            self.go_on(now, &uid);
        }
    }

    /// Whether a pod whose devices are known waits for what others may have decided on before.
    fn waits_for_rivals(&mut self, now: Timestamp, uid: &Arc<str>) -> bool {
        let Some(placing) = self.bindings.placing.get_mut(uid) else { return false };
        if placing.settles_at.is_none() {
            placing.settles_at = self.bindings.rivals.quiet_at(now);
            self.bindings.settling.extend(placing.settles_at.map(|time| (time, uid.clone())));
        }
        placing.settles_at.is_some_and(|time| now < time)
    }

    /// Pods that have waited long enough go on.
    pub(super) fn end_waits(&mut self, now: Timestamp) {
        while self.ends_wait(now) {
            if let Some((_, uid)) = self.bindings.settling.pop_first() {
                self.go_on(now, &uid);
            }
        }
    }

    /// The claim of a pod on its way that has to give its devices back, and why.
    fn clash_of(&self, now: Timestamp, uid: &str, claims: &[ClaimId]) -> Option<(ClaimId, String)> {
        let placing = self.bindings.placing.get(uid)?;
        // One of ours that came second has given its own back by the end of the wait. Who has not will never do so.
        let gives_way = placing.settles_at.is_some_and(|time| now >= time);
        let told = |claim: &ClaimId| {
            Some(ClaimReason::clash(claim, self.facts.clash(claim, gives_way)?).to_string())
        };
        claims.iter().find_map(|claim| Some((claim.clone(), told(claim)?)))
    }

    /// Gives the devices of a claim back since another has them, and puts its pod back.
    fn yield_to_rival(&mut self, now: Timestamp, uid: &Arc<str>, claim: ClaimId, why: String) {
        self.give_devices_back(uid, claim, Why::LostClash);
        self.fail(now, uid, why);
    }

    /// Gives the devices of a claim back that was written for a pod. One that others want too gives them back when all of them
    /// have let it go.
    pub(super) fn give_devices_back(&mut self, uid: &Arc<str>, claim: ClaimId, why: Why) {
        if self.kept(why, &claim, Some(uid)).is_some() {
            return;
        }
        let Some(state) = self.facts.claims.get(&claim).cloned() else { return };
        if let Some(placing) = self.bindings.placing.get_mut(uid) {
            placing.reserved.retain(|one| *one != claim);
        }
        let user = self.bindings.placing.get(uid).map(|placing| self.facts.user_of(&placing.pod, &claim));
        let one = InTheWay { claim, uid: state.uid.clone(), remedy: Remedy::Deallocate };
        self.ask_for(one, &user.unwrap_or_else(|| uid.clone()));
    }

    /// Takes a pod on its way back.
    pub(super) fn fail(&mut self, now: Timestamp, uid: &Arc<str>, why: String) {
        if let Some(placing) = self.bindings.placing.get_mut(uid) {
            placing.failed = Some(why);
            self.take_back(now, uid);
        }
    }
}
