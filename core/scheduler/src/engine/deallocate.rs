//! Claims that stand in the way of their own pod: they have devices, no pod uses them, and the devices are where the pod
//! cannot go.
//!
//! One claim at a time gives its devices back, and only if that lets the pod onto a node; the pod is tried again when the
//! API has it. Until the API has answered, no other pod gets the claim.

use cluster::claims::ClaimState;
use decisions::giving_back::{Kept, Why, kept};
use decisions::in_the_way::{InTheWay, Remedy};
use decisions::wake::Wake;
use model::claim::ClaimId;
use model::identity::{ConsumerUid, PodUid};
use model::timestamp::Timestamp;

use crate::engine::Engine;
use crate::life_cycles::giving_back::Request;
use crate::outbox::Owner;
use crate::write::{Write, WriteId, WriteOutcome};

impl Engine {
    /// Why a claim keeps its devices, if it does; they were for this pod.
    pub(crate) fn kept(&self, why: Why, claim: &ClaimId, pod: Option<&PodUid>) -> Option<Kept> {
        kept(&self.facts, &self.bindings, why, claim, pod)
    }

    /// Asks for the devices of a claim to be given back, unless another pod uses it by now, or for it to be deleted.
    pub(crate) fn ask_for(&mut self, one: InTheWay, user: Option<ConsumerUid>) {
        if user
            .as_ref()
            .is_some_and(|user| self.unselects_first(&one, user) || self.releases_first(&one, user))
        {
            return;
        }
        let InTheWay { claim, uid, remedy } = one;
        let write = match remedy {
            Remedy::Deallocate => Write::Deallocate { claim: claim.clone(), uid, user: user.clone() },
            Remedy::Delete => Write::DeleteClaim { claim: claim.clone(), uid },
        };
        let id = self.outbox.submit_for(Owner::GivingUp, write);
        self.bindings.giving_back.ask(id, claim, user);
    }

    /// A pod that is on a node lets go of a claim that it cannot use there before the claim gives its devices back: the
    /// write takes nothing from a pod that may be at work.
    fn releases_first(&mut self, one: &InTheWay, user: &ConsumerUid) -> bool {
        let pod = self.facts.waiting.get(&**user).cloned();
        let Some((pod, node)) = pod.and_then(|pod| pod.node.clone().map(|node| (pod, node))) else {
            return false;
        };
        let is_reserved =
            self.facts.claims.get(&one.claim).is_some_and(|state| state.reserved_for.contains(user));
        if one.remedy != Remedy::Deallocate || !is_reserved || self.facts.may_use_at(&one.claim, &node) {
            return false;
        }
        let (claim, uid) = (one.claim.clone(), one.uid.clone());
        let consumers = vec![self.consumer(&pod, &one.claim)];
        let release = Write::Release { claim, uid, consumers, node: Some(node) };
        let id = self.outbox.submit_for(Owner::GivingUp, release);
        self.bindings.giving_back.ask(id, one.claim.clone(), Some(user.clone()));
        true
    }

    /// A claim that another pod uses is not about to lose its devices. That it has none any more does not end it: a write
    /// that is not answered may be carried out once more, and take what the claim gets meanwhile.
    pub(crate) fn heed_users(&mut self, now: Timestamp, state: &ClaimState) {
        if self.bindings.giving_back.is_empty() || state.extended {
            return;
        }
        if self.bindings.giving_back.in_use(&state.wish.id, &state.reserved_for) {
            self.rouse_users(now, &state.wish.id);
        }
    }

    /// The answer to claims that were to give up their devices. Pods that wait for them look again; a pod that asked for
    /// them in vain does so after a while, as it would ask for the same.
    pub(crate) fn settle_given_up(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) {
        let Some(Request { claims, user, .. }) = self.bindings.giving_back.answered(write) else { return };
        claims.iter().for_each(|claim| self.settle_claim_given_up(now, claim, user.as_ref()));
        let is_ours = |claim: &ClaimId| {
            self.facts.claims.get(claim).is_none_or(|state| !self.facts.is_controlled(state))
        };
        let is_in_vain = *outcome != WriteOutcome::Done && claims.iter().any(is_ours);
        let asker = user.and_then(|user| self.facts.waiting.get(&*user)).filter(|_| is_in_vain);
        if let Some(key) = asker.map(|pod| self.facts.groups.key_of(pod)) {
            self.queue.rest(&key, now);
        }
    }

    fn settle_claim_given_up(&mut self, now: Timestamp, claim: &ClaimId, user: Option<&ConsumerUid>) {
        if self.facts.claims.get(claim).is_some_and(|state| self.facts.is_controlled(state)) {
            // It has its devices until its driver takes them back, which is told to pods that wait for that. Pods that looked at
            // it before the answer have to look again, and not only the pod that it was asked back for.
            let pod = user.and_then(|user| self.facts.waiting.get(&**user));
            let pod = pod.map(|pod| self.facts.groups.key_of(pod));
            pod.into_iter().for_each(|key| self.queue.wake_one(&key, Wake::OwnClaims.into(), now));
            return self.rouse_users(now, claim);
        }
        self.queue.wake(Wake::Claim.into(), now);
    }
}
