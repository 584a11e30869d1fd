//! Devices that another scheduler gave to another claim at the same moment. The API has no lock on devices, so that both
//! are written; the scheduler that comes second finds out, and gives its own back.
//!
//! Invariant: where others give out devices too, a pod is not bound before the watch has told of the devices of its claims.
//! It tells of writes in the order in which they were made, so by then everything is known that was given out before, and
//! of two schedulers that keep to this one binds its pod and the other does not. Others do not keep to it, kube-scheduler
//! for one: they bind their pods although they come second. While pods with claims wait for them, a pod of ours waits until
//! they have written what they decided on before they could know of ours, and gives way to them.
//! Where no other scheduler gives out devices, nothing is waited for.
//! A pod that was bound by hand cannot be held back: its node may run it as soon as its claims are reserved. It keeps what
//! it has, and if another has one of its devices that one gives way while it can.

use cluster::claims::{ClaimState, Shown};
use decisions::binding_part::BindingPart;
use decisions::giving_back::Why;
use decisions::in_the_way::{InTheWay, Remedy};
use decisions::not_bound::NotBound;
use decisions::reason::ClaimReason;
use model::claim::ClaimId;
use model::identity::{ConsumerUid, PodUid};
use model::timestamp::Timestamp;

use super::Engine;
use crate::claim_waits::For;
use crate::life_cycles::binding::{Binding, CannotBind, Event};

impl Engine {
    /// Takes note of another scheduler that gives out devices, by a claim that has some which we did not give it.
    pub(super) fn notice_rival(&mut self, state: &ClaimState, shown: Shown) {
        let id = &state.wish.id;
        // A driver's controller gives what is its own.
        if self.facts.is_of_driver(state) {
            return;
        }
        if shown != Shown::Watch || state.allocation.is_none() || self.facts.claims.allocation(id).is_some() {
            return;
        }
        // Claims for pods of ours may be from an earlier life of ours, or from a replica.
        let is_known = |user: &ConsumerUid| {
            self.facts.waiting.contains_key(&**user)
                || self.facts.nodes.has_pod(user)
                || self.facts.groups.by_uid(user).is_some()
        };
        if !state.reserved_for.iter().any(is_known) {
            self.bindings.rivals.meet();
        }
    }

    /// The API told of a claim. Pods that waited for that go on.
    pub(super) fn heard_of(&mut self, now: Timestamp, claim: &ClaimId) {
        if self.facts.claims.is_decided(claim) || !self.facts.claims.is_told(claim) {
            return;
        }
        for uid in self.bindings.waits.pods(claim, For::News) {
            self.go_on(now, &uid);
        }
    }

    /// Pods that have waited long enough go on.
    pub(super) fn end_waits(&mut self, now: Timestamp) {
        for uid in self.bindings.take_due(now) {
            self.go_on(now, &uid);
        }
    }

    /// Gives the devices of a claim back since another has them, and puts its pod back.
    pub(super) fn yield_to_rival(&mut self, now: Timestamp, uid: &PodUid, claim: ClaimId, why: ClaimReason) {
        self.give_devices_back(uid, claim, Why::LostClash);
        self.fail(now, uid, NotBound::Clash(why));
    }

    /// Gives the devices of a claim back that was written for a pod. One that others want too gives them back when all of them
    /// have let it go.
    pub(super) fn give_devices_back(&mut self, uid: &PodUid, claim: ClaimId, why: Why) {
        if self.kept(why, &claim, Some(uid)).is_some() {
            return;
        }
        let Some(state) = self.facts.claims.get(&claim).cloned() else { return };
        let mut user = ConsumerUid::from(uid);
        if let Some(binding) = self.bindings.get_mut(uid) {
            binding.written.retain(|part| *part != BindingPart::Claim(claim.clone()));
            user = self.facts.user_of(&binding.pod, &claim);
        }
        let one = InTheWay { claim, uid: state.uid.clone(), remedy: Remedy::Deallocate };
        self.ask_for(one, Some(user));
    }

    /// Takes a pod on its way back, as it cannot be bound.
    pub(super) fn fail(&mut self, now: Timestamp, uid: &PodUid, why: NotBound) {
        let waited = self.bindings.get(uid).and_then(Binding::waited);
        self.bindings.step(uid, Event::Failed(CannotBind { why, because: Why::NotBound }));
        self.take_back(now, uid, waited);
    }
}
