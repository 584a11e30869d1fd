//! What becomes of writes: when all claims of a pod are written it is bound, and when something fails all is taken back.

use std::sync::Arc;

use decisions::filters::FilterSet;
use decisions::giving_back::Why;
use decisions::in_the_way::{InTheWay, Remedy};
use decisions::wake::{Wake, Wakes};
use model::claim::ClaimId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::{Announcement, Engine, OpenClaim, Placing};
use crate::outbox::Owner;
use crate::queue::Failure;
use crate::write::{Consumer, Write, WriteId, WriteOutcome};

impl Engine {
    /// It is known what became of a write, and with that of all that were carried out with it.
    pub(super) fn settle(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) {
        let owners = self.outbox.settle(write);
        // All of them hear of it before the first goes on, which may take the others of its gang along.
        let pods: Vec<Arc<str>> =
            owners.into_iter().filter_map(|(one, owner)| self.settle_one(now, one, owner, outcome)).collect();
        pods.iter().for_each(|uid| self.go_on(now, uid));
    }

    /// Takes note of what became of a write, and tells the pod on its way that goes on with it.
    fn settle_one(
        &mut self,
        now: Timestamp,
        write: WriteId,
        owner: Owner,
        outcome: &WriteOutcome,
    ) -> Option<Arc<str>> {
        match owner {
            Owner::Binding(uid) => return self.settle_binding(now, write, uid, outcome),
            Owner::Abandoned => self.settle_abandoned(now, write, outcome),
            Owner::GivingUp => self.settle_given_up(now, write, outcome),
            Owner::Eviction { victim, preemptor } => self.settle_eviction(now, &victim, &preemptor, outcome),
            Owner::GroupNote(id) => self.settle_note(now, write, id, outcome),
            Owner::Context => self.settle_negotiation(now, write, outcome),
        }
        None
    }

    /// The answer to a write for a pod on its way, which goes on with it.
    fn settle_binding(
        &mut self,
        now: Timestamp,
        write: WriteId,
        uid: Arc<str>,
        outcome: &WriteOutcome,
    ) -> Option<Arc<str>> {
        let placing = self.bindings.placing.get_mut(&uid)?;
        if let Some(open) = placing.open.remove(&write) {
            match outcome {
                WriteOutcome::Done => placing.reserved.push(open.claim.clone()),
                WriteOutcome::Failed(reason) => {
                    placing.failed.get_or_insert_with(|| format!("claim {}: {reason}", open.claim));
                }
            }
            self.settle_claim(now, &open, outcome);
        } else if placing.binding == Some(write) {
            match outcome {
                WriteOutcome::Done => {
                    self.bound(&uid);
                    return None;
                }
                WriteOutcome::Failed(reason) => {
                    placing.binding = None;
                    placing.failed = Some(format!("binding: {reason}"));
                }
            }
        } else if placing.releasing.remove(&write) {
            self.put_back(now, &uid);
            return None;
        }
        self.settle_unmade(&uid);
        Some(uid)
    }

    /// Binds a pod whose claims are all written, or takes back what was done for one that cannot be.
    pub(crate) fn go_on(&mut self, now: Timestamp, uid: &Arc<str>) {
        let Some(placing) = self.bindings.placing.get(uid) else { return };
        if !placing.open.is_empty() || placing.binding.is_some() || !placing.releasing.is_empty() {
            return;
        }
        if !self.facts.waiting.contains_key(uid) {
            // Somebody bound it meanwhile: where it is and what it uses is theirs to say.
            self.stop_readying(uid);
            self.bindings.placing.remove(uid);
            return self.slip_from_flight(now, uid);
        }
        if placing.failed.is_some() {
            return self.take_back(now, uid);
        }
        if let Some(why) = self.misplaced(uid) {
            return self.fail(now, uid, why);
        }
        if self.bindings.placing.get(uid).is_some_and(|placing| !placing.reserved.is_empty())
            && !self.has_devices_alone(now, uid)
        {
            return;
        }
        // Nobody holds a pod back that is on its node already, until its devices are ready.
        if self.bindings.placing.get(uid).is_some_and(|placing| placing.pod.node.is_some()) {
            return self.served(now, uid);
        }
        if self.waits_for_devices(now, uid) {
            return;
        }
        if self.waits_for_gang(now, uid) {
            return;
        }
        let Some(placing) = self.bindings.placing.get(uid) else { return };
        let (pod, node) = (placing.pod.clone(), placing.node.clone());
        let together = self.bound_together(uid);
        let bind = Write::Bind { pod: pod.id.clone(), uid: uid.clone(), node, together };
        let write = self.outbox.submit_for(Owner::Binding(uid.clone()), bind);
        if let Some(placing) = self.bindings.placing.get_mut(uid) {
            placing.binding = Some(write);
        }
    }

    /// A pod is bound where we wanted it.
    pub(super) fn bound(&mut self, uid: &Arc<str>) {
        let Some(placing) = self.bindings.placing.remove(uid) else { return };
        let key = self.facts.groups.key_of(&placing.pod);
        self.note_landing(uid, true);
        let in_flight = self.leave_flight(uid).map(|flight| (flight.attempts, flight.since));
        let (attempts, since) =
            in_flight.unwrap_or_else(|| (self.queue.attempts(&key), self.queue.began(&key)));
        self.forget_waiting(uid);
        self.end_negotiation(&placing.pod);
        let (pod, node) = (placing.pod, placing.node);
        // Only who leads binds pods, so that it may be noted at once.
        self.look_if_gang_bound(&pod);
        self.note_placed();
        self.outbox.announce(Announcement::Scheduled { pod, node, attempts, since });
    }

    /// Calls a pod back that is on its way and not being bound yet, and says whether it was. It goes back to the queue once
    /// what is being written for it is answered.
    pub(crate) fn call_back(&mut self, now: Timestamp, uid: &Arc<str>, reason: &str) -> bool {
        let is_on_its_way = |placing: &&mut Placing| placing.binding.is_none() && placing.pod.node.is_none();
        let Some(placing) = self.bindings.placing.get_mut(uid).filter(is_on_its_way) else { return false };
        placing.failed.get_or_insert_with(|| reason.to_owned());
        placing.displaced = true;
        self.go_on(now, uid);
        true
    }

    /// Undoes a placement that failed, and puts the pod back once that is done.
    pub(super) fn take_back(&mut self, now: Timestamp, uid: &Arc<str>) {
        match self.facts.waiting.get(uid).filter(|pod| pod.node.is_some()).cloned() {
            // It stays where it is, without what its devices would have taken.
            Some(bound) => self.facts.put_pod(bound),
            None => {
                self.facts.take_pod(uid);
                self.plans.leaving.remove(uid);
            }
        }
        self.abandon_readying(now, uid);
        let Some(placing) = self.bindings.placing.get_mut(uid) else { return };
        let (pod, mut reserved) = (placing.pod.clone(), std::mem::take(&mut placing.reserved));
        let (displaced, keeps_node) = (placing.displaced, placing.keeps_node);
        // Ready devices are kept for a pod that tries others beside them on its node.
        if displaced || (!keeps_node && pod.node.is_none()) {
            self.give_up_devices(&pod, &mut reserved, displaced);
        }
        if !keeps_node {
            let latest = self.facts.waiting.get(uid).unwrap_or(&pod).clone();
            self.withdraw(&latest);
        }
        let node = self.facts.waiting.get(uid).and_then(|pod| pod.node.clone());
        for claim in reserved {
            // What a pod may use where it is stays its own, whatever it lacks besides.
            if node.as_ref().is_some_and(|node| self.facts.may_use_at(&claim, node)) {
                continue;
            }
            let consumer = self.consumer(&pod, &claim);
            let Some(release) = self.letting_go(&claim, consumer, node.clone()) else { continue };
            let write = self.outbox.submit_for(Owner::Binding(uid.clone()), release);
            if let Some(placing) = self.bindings.placing.get_mut(uid) {
                placing.releasing.insert(write);
            }
        }
        self.queue.wake(Wakes::of(&[Wake::PodRemoved, Wake::Claim]), now);
        self.put_back(now, uid);
        self.note_landing(uid, false);
        self.fail_flight(now, uid);
    }

    /// A pod could not be bound, or makes way for another: its claims give their devices back if nobody else uses them. Released
    /// alone, they would keep them for the time when it is tried again, and for good if it is not. What drivers gave is
    /// given back only for another: it is negotiated about for long.
    fn give_up_devices(&mut self, pod: &Pod, reserved: &mut Vec<ClaimId>, displaced: bool) {
        let why = if displaced { Why::Preempted } else { Why::NotBound };
        for claim in pod.claim_ids() {
            if self.kept(why, &claim, Some(&pod.uid)).is_some() {
                continue;
            }
            let Some(uid) = self.facts.claims.get(&claim).map(|state| state.uid.clone()) else { continue };
            reserved.retain(|one| *one != claim);
            let user = self.consumer(pod, &claim).user().clone();
            self.ask_for(InTheWay { claim, uid, remedy: Remedy::Deallocate }, &user);
        }
    }

    /// Puts a pod back whose placement is undone.
    fn put_back(&mut self, now: Timestamp, uid: &Arc<str>) {
        if self.bindings.placing.get(uid).is_none_or(|placing| !placing.releasing.is_empty()) {
            return;
        }
        let Some(placing) = self.bindings.placing.remove(uid) else { return };
        let message = placing.failed.unwrap_or_default();
        self.refuse(now, &placing.pod, Failure::Failed, message, FilterSet::default());
        self.rejoin_gang(now, &placing.pod);
        // What the API has said about its nomination meanwhile counts from now on.
        if let Some(pod) = self.facts.waiting.get(uid).cloned() {
            let freed = self.fold_nomination(now, None, &pod);
            self.wake_others(freed, now);
        }
    }

    /// Forgets a pod on its way that is gone. What is written for it is released. Devices of writes that are not answered
    /// stay taken until they are: the API may have given them to the claim by now.
    pub(super) fn abandon(&mut self, uid: &Arc<str>) {
        self.abandon_readying(self.now, uid);
        let Some(placing) = self.bindings.placing.remove(uid) else { return };
        self.fail_flight(self.now, uid);
        for (write, open) in &placing.open {
            self.outbox.hand_over(*write, Owner::Abandoned);
            self.bindings.abandoned.insert(*write, (open.clone(), self.consumer(&placing.pod, &open.claim)));
        }
        self.release(&placing);
    }

    /// A pod on its way turns out to be bound. If that is our own binding, its answer only comes later or got lost. If
    /// somebody else was faster, our writes are waited for, and what they reserved is the pod's all the same if it can use
    /// it where it is now.
    pub(super) fn found_bound(&mut self, uid: &Arc<str>, node: &Arc<str>) {
        let Some(placing) = self.bindings.placing.get(uid) else { return };
        if placing.pod.node.is_some() {
            // It was bound before, and only its claims are being written.
            return;
        }
        if placing.binding.is_some() && placing.node == *node {
            return self.bound(uid);
        }
        self.stop_readying(uid);
        let Some(placing) = self.bindings.placing.remove(uid) else { return };
        self.slip_from_flight(self.now, uid);
        for (write, open) in placing.open {
            let consumer = self.consumer(&placing.pod, &open.claim);
            self.outbox.hand_over(write, Owner::Abandoned);
            self.bindings.abandoned.insert(write, (open, consumer));
        }
        for claim in &placing.reserved {
            if !self.facts.may_use_at(claim, node) {
                let consumer = self.consumer(&placing.pod, claim);
                self.release_claim(claim, consumer, Some(node.clone()));
            }
        }
    }

    /// The answer to a write for a pod that is gone, or that somebody else has bound.
    fn settle_abandoned(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) {
        let Some((open, consumer)) = self.bindings.abandoned.remove(&write) else { return };
        let user = consumer.uid.clone();
        let node = self.facts.nodes.pod(&user).and_then(|(_, pod)| pod.node.clone());
        let is_of_use = node.as_ref().is_some_and(|node| self.facts.may_use_at(&open.claim, node));
        if *outcome == WriteOutcome::Done && !is_of_use {
            self.let_go_unbound(&open.claim, consumer, node);
        }
        self.settle_claim(now, &open, outcome);
        self.settle_unmade(&user);
    }

    /// Takes back what was decided for a claim.
    pub(crate) fn undecide(&mut self, claim: &ClaimId) {
        if let Some(uid) = self.facts.claims.decided_for(claim).cloned() {
            self.facts.touch_claim(claim);
            self.facts.claims.undecide(claim, &uid);
        }
    }

    /// What was decided for a claim is written, or is taken back.
    fn settle_claim(&mut self, now: Timestamp, open: &OpenClaim, outcome: &WriteOutcome) {
        if let Some(uid) = &open.decided {
            let touched = self.claim_touched(&open.claim);
            self.facts.touch_claim(&open.claim);
            match outcome {
                WriteOutcome::Done => self.facts.claims.written(&open.claim, uid),
                WriteOutcome::Failed(_) => self.facts.claims.undecide(&open.claim, uid),
            };
            // Devices may be free again, and pods that share the claim may be able to reserve it now.
            if !self.facts.claims.is_decided(&open.claim) {
                self.queue.wake(touched, now);
            }
        }
    }

    fn release(&mut self, placing: &Placing) {
        for claim in &placing.reserved {
            let consumer = self.consumer(&placing.pod, claim);
            self.let_go_unbound(claim, consumer, None);
        }
    }

    /// Undoes what was written of a claim for a pod that is gone, or that is on a node where it cannot use it. Of one that is gone
    /// the claim gives its devices back at once: whoever dies after a release would leave them with it.
    fn let_go_unbound(&mut self, claim: &ClaimId, consumer: Consumer, node: Option<Arc<str>>) {
        let gives_back = node.is_none() && self.kept(Why::PodGone, claim, Some(&consumer.uid)).is_none();
        match self.facts.claims.get(claim).filter(|_| gives_back) {
            Some(state) => {
                let one =
                    InTheWay { claim: claim.clone(), uid: state.uid.clone(), remedy: Remedy::Deallocate };
                self.ask_for(one, &consumer.user().clone());
            }
            None => self.release_claim(claim, consumer, node),
        }
    }

    fn release_claim(&mut self, claim: &ClaimId, consumer: Consumer, node: Option<Arc<str>>) {
        let user = consumer.uid.clone();
        let Some(release) = self.letting_go(claim, consumer, node) else { return };
        let write = self.outbox.submit_for(Owner::GivingUp, release);
        if self.facts.waiting.contains_key(&user) || self.facts.nodes.has_pod(&user) {
            // Before it is answered, it could undo a reservation that the pod gets anew.
            self.bindings.giving_up.insert(write, (vec![claim.clone()], user));
        }
    }

    /// Undoes what was written of a claim for a pod; a reservation is taken back by the write that this gives. What its group
    /// uses is let go with the last member.
    fn letting_go(&mut self, claim: &ClaimId, consumer: Consumer, node: Option<Arc<str>>) -> Option<Write> {
        if consumer
            .group
            .as_ref()
            .is_some_and(|group| self.facts.has_members_besides(&group.uid, &consumer.uid))
        {
            return None;
        }
        self.unmake(claim);
        self.forget_note(claim, &consumer.name);
        let state = self.facts.claims.get(claim)?;
        if state.allocation.is_none() && !state.reserved_for.contains(consumer.user()) {
            // What lost its devices is reserved for no pod either.
            return None;
        }
        let uid = state.uid.clone();
        Some(Write::Release { claim: claim.clone(), uid, consumers: vec![consumer], node })
    }
}
