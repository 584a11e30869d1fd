//! What becomes of writes: when all claims of a pod are written it is bound, and when something fails all is taken back.

use std::collections::BTreeSet;

use decisions::binding_part::BindingPart;
use decisions::giving_back::Why;
use decisions::in_the_way::{InTheWay, Remedy};
use decisions::not_bound::NotBound;
use decisions::readiness::ReadyOutcome;
use decisions::wake::{Wake, Wakes};
use model::claim::ClaimId;
use model::identity::{NodeName, PodUid};
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::outlook::Outlook;
use super::{Announcement, Engine};
use crate::life_cycles::binding::{Binding, BindingStage, CannotBind, Event, OpenWrite, Waited};
use crate::outbox::Owner;
use crate::queue::Failure;
use crate::write::{Consumer, Write, WriteId, WriteOutcome};

impl Engine {
    /// It is known what became of a write, and with that of all that were carried out with it.
    pub(super) fn settle(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) {
        let owners = self.outbox.settle(write);
        // All of them hear of it before the first goes on, which may take the others of its gang along.
        let pods: Vec<PodUid> =
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
    ) -> Option<PodUid> {
        match owner {
            Owner::Binding(uid) => return self.settle_binding(now, write, uid, outcome),
            Owner::Abandoned => self.settle_abandoned(now, write, outcome),
            Owner::GivingUp => self.settle_given_up(now, write, outcome),
            Owner::Eviction { victim, preemptor } => self.settle_eviction(now, &victim, &preemptor, outcome),
            Owner::GroupNote(id) => self.settle_note(now, write, id, outcome),
            Owner::PodNote(uid) => self.settle_pod_note(&uid, outcome),
            Owner::Context => self.settle_negotiation(now, write, outcome),
        }
        None
    }

    /// The answer to a write for a pod on its way, which goes on with it.
    fn settle_binding(
        &mut self,
        now: Timestamp,
        write: WriteId,
        uid: PodUid,
        outcome: &WriteOutcome,
    ) -> Option<PodUid> {
        let binding = self.bindings.get_mut(&uid)?;
        if let Some(open) = binding.open.remove(&write) {
            let event = match outcome {
                WriteOutcome::Done => {
                    binding.written.push(open.part.clone());
                    Event::Answered
                }
                WriteOutcome::Failed(reason) => {
                    let why = NotBound::Refused(open.part.clone(), reason.clone());
                    Event::Failed(CannotBind { why, because: Why::NotBound })
                }
            };
            self.bindings.step(&uid, event);
            self.settle_part(now, &open, &uid, outcome);
            self.settle_unmade(&uid);
            return Some(uid);
        }
        match (binding.stage(), outcome) {
            (BindingStage::Binding(known), WriteOutcome::Done) if *known == write => {
                self.bound(&uid);
                None
            }
            (BindingStage::Binding(known), WriteOutcome::Failed(reason)) if *known == write => {
                let why =
                    CannotBind { why: NotBound::BindRefused(reason.clone()), because: Why::BindRefused };
                self.bindings.step(&uid, Event::Failed(why));
                Some(uid)
            }
            (BindingStage::Undoing { writes, .. }, _) if writes.contains(&write) => {
                self.bindings.step(&uid, Event::Released(write));
                self.put_back(now, &uid);
                None
            }
            _ => None,
        }
    }

    /// Binds a pod whose claims are all written, lets it wait for what it lacks, or takes back what was done for it.
    pub(crate) fn go_on(&mut self, now: Timestamp, uid: &PodUid) {
        let Some(binding) = self.bindings.get(uid).filter(|binding| !binding.awaits_answers()) else {
            return;
        };
        if !self.facts.waiting.contains_key(uid) {
            // Another has bound it meanwhile: where it is and what it uses is theirs to say.
            if let Some(binding) = self.bindings.step(uid, Event::Left) {
                self.release_volumes(now, uid, &binding.volumes);
            }
            return self.slip_from_flight(now, uid);
        }
        match binding.stage() {
            BindingStage::Failing(_) => self.take_back(now, uid, None),
            BindingStage::Writing => {
                let outlook = self.outlook(now, binding);
                self.bindings.step(uid, Event::Written);
                self.go_by(now, uid, outlook);
            }
            _ => self.go_by(now, uid, self.outlook(now, binding)),
        }
    }

    /// Does what the outlook of a pod on its way asks for.
    fn go_by(&mut self, now: Timestamp, uid: &PodUid, outlook: Outlook) {
        match outlook {
            Outlook::Lost(why) => self.fail(now, uid, why),
            Outlook::Clash(claim, why) => self.yield_to_rival(now, uid, claim, why),
            Outlook::Unheard { claims, until } => {
                self.bindings.step(uid, Event::Unsettled { claims, until });
            }
            Outlook::Contested { until } => {
                if let Some(binding) = self.bindings.get_mut(uid) {
                    binding.settles_at = Some(until);
                }
                self.bindings.step(uid, Event::Unsettled { claims: Vec::new(), until });
            }
            Outlook::Served => self.served(now, uid),
            Outlook::Unmounted { until } => {
                if let Some(binding) = self.bindings.get_mut(uid) {
                    binding.volumes_since.get_or_insert(now);
                }
                self.bindings.step(uid, Event::Unmounted { until });
            }
            Outlook::Unready { until, claims, what } => self.wait_for_devices(now, uid, until, claims, &what),
            Outlook::Broken { claims, broken } => self.give_up_on(now, uid, &claims, broken),
            Outlook::DrivenOff(why) => self.drive_off(now, uid, why),
            Outlook::LostDevices { claims, why } => {
                let waited = self.bindings.get(uid).and_then(Binding::waited);
                self.tell_devices(now, uid, ReadyOutcome::Error, (&claims, waited.as_ref()));
                self.fail_on_node(now, uid, NotBound::Lost(why));
            }
            Outlook::Ready { claims } => {
                if !claims.is_empty() {
                    let waited = self.bindings.get(uid).and_then(Binding::waited);
                    self.tell_devices(now, uid, ReadyOutcome::Success, (&claims, waited.as_ref()));
                }
                if self.is_held_for_gang(uid) {
                    self.bindings.step(uid, Event::Ready { now, claims });
                    self.complete_flight(now, uid);
                    return self.note_held(uid);
                }
                self.bind(uid);
            }
        }
    }

    fn bind(&mut self, uid: &PodUid) {
        let Some(binding) = self.bindings.get(uid) else { return };
        let (pod, node) = (binding.pod.id.clone(), binding.node.clone());
        let together = self.bound_together(uid);
        let bind = Write::Bind { pod, uid: uid.clone(), node, together };
        let write = self.outbox.submit_for(Owner::Binding(uid.clone()), bind);
        self.bindings.step(uid, Event::Bind(write));
    }

    /// A pod is bound where we wanted it.
    pub(super) fn bound(&mut self, uid: &PodUid) {
        let Some(binding) = self.bindings.step(uid, Event::Bound) else { return };
        self.end_plans(uid, &binding.volumes);
        let key = self.facts.groups.key_of(&binding.pod);
        self.note_landing(uid, true);
        let tries = self.leave_flight(uid).unwrap_or_else(|| self.queue.tries(&key));
        self.forget_waiting(uid);
        self.end_negotiation(&binding.pod);
        let (pod, node) = (binding.pod, binding.node);
        // Only the leader binds pods, so that it may be noted at once.
        self.look_if_gang_bound(&pod);
        self.note_placed();
        self.outbox.announce(Announcement::Scheduled { pod, node, tries });
    }

    /// Calls a pod back that is on its way and not being bound yet, and says whether it was. It goes back to the queue once
    /// what is being written for it is answered.
    pub(crate) fn call_back(&mut self, now: Timestamp, uid: &PodUid, why: NotBound) -> bool {
        let may_come_back = |binding: &&Binding| !binding.is_being_bound() && binding.pod.node.is_none();
        let Some(binding) = self.bindings.get(uid).filter(may_come_back) else { return false };
        let waited = binding.waited();
        let why = CannotBind { why, because: Why::Preempted };
        self.bindings.step(uid, Event::Failed(why));
        if self.bindings.get(uid).is_some_and(|binding| !binding.awaits_answers()) {
            match self.facts.waiting.contains_key(uid) {
                true => self.take_back(now, uid, waited),
                false => self.go_on(now, uid),
            }
        }
        true
    }

    /// Undoes a placement that failed, and puts the pod back once that is done.
    pub(super) fn take_back(&mut self, now: Timestamp, uid: &PodUid, waited: Option<Waited>) {
        match self.facts.waiting.get(uid).filter(|pod| pod.node.is_some()).cloned() {
            // It stays where it is, without what its devices would have taken.
            Some(bound) => {
                let freed = self.put_on_node(now, &bound);
                self.wake_others(freed, now);
            }
            None => {
                self.facts.take_pod(uid);
                self.plans.leaving.remove(uid);
            }
        }
        if let Some(waited) = waited {
            self.abandon_readying(now, uid, waited);
        }
        let Some(binding) = self.bindings.get_mut(uid) else { return };
        let (pod, mut written) = (binding.pod.clone(), std::mem::take(&mut binding.written));
        let volumes = std::mem::take(&mut binding.volumes);
        let keeps_node = binding.keeps_node;
        let because = match binding.stage() {
            BindingStage::Failing(why) => why.because,
            _ => Why::NotBound,
        };
        self.release_volumes(now, uid, &volumes);
        self.give_up_devices(&pod, &mut written, because);
        if !keeps_node {
            let latest = self.facts.waiting.get(uid).unwrap_or(&pod).clone();
            self.withdraw(&latest);
        }
        let node = self.facts.waiting.get(uid).and_then(|pod| pod.node.clone());
        let mut writes = BTreeSet::new();
        for part in written {
            // What a pod may use where it is stays its own, whatever it lacks besides.
            if self.is_of_use(&part, node.as_ref()) {
                continue;
            }
            let consumer = self.consumer_of(&pod, &part);
            let Some(release) = self.letting_go(&part, consumer, node.clone()) else { continue };
            writes.insert(self.outbox.submit_for(Owner::Binding(uid.clone()), release));
        }
        self.bindings.step(uid, Event::TakenBack(writes));
        let expecting = self.expecting_pod(uid);
        self.wake_expecting(now, Wakes::of(&[Wake::PodRemoved, Wake::Claim]), expecting);
        self.put_back(now, uid);
        self.note_landing(uid, false);
        self.fail_flight(now, uid);
    }

    /// A pod could not be bound, or makes way for another: its claims give their devices back if no other pod uses them. Released
    /// alone, they would keep them for the time when it is tried again, and for good if it is not. What drivers gave is
    /// given back only for another: it is negotiated about for long.
    fn give_up_devices(&mut self, pod: &Pod, written: &mut Vec<BindingPart>, why: Why) {
        for claim in pod.claim_ids() {
            if self.kept(why, &claim, Some(&pod.uid)).is_some() {
                continue;
            }
            let Some(uid) = self.facts.claims.get(&claim).map(|state| state.uid.clone()) else { continue };
            written.retain(|part| *part != BindingPart::Claim(claim.clone()));
            let user = self.consumer(pod, &claim).user();
            self.ask_for(InTheWay { claim, uid, remedy: Remedy::Deallocate }, Some(user));
        }
    }

    /// Puts a pod back whose placement is undone.
    fn put_back(&mut self, now: Timestamp, uid: &PodUid) {
        let why = match self.bindings.get(uid).map(Binding::stage) {
            Some(BindingStage::Undoing { writes, why }) if writes.is_empty() => why.to_string(),
            _ => return,
        };
        let Some(binding) = self.bindings.step(uid, Event::PutBack) else { return };
        self.refuse(now, &binding.pod, Failure::Failed, why.into());
        self.rejoin_gang(now, &binding.pod);
        // What the API has said about its nomination meanwhile counts from now on.
        if let Some(pod) = self.facts.waiting.get(uid).cloned() {
            let freed = self.fold_nomination(now, None, &pod);
            self.wake_others(freed, now);
        }
    }

    /// Forgets a pod on its way that is gone. What is written for it is released. Devices of writes that are not answered
    /// stay taken until they are: the API may have given them to the claim by now.
    pub(super) fn abandon(&mut self, uid: &PodUid) {
        let waited = self.bindings.get(uid).and_then(Binding::waited);
        if let Some(waited) = waited {
            self.abandon_readying(self.now, uid, waited);
        }
        let Some(binding) = self.bindings.step(uid, Event::Left) else { return };
        self.release_volumes(self.now, uid, &binding.volumes);
        self.fail_flight(self.now, uid);
        self.leave_open(&binding);
        for part in &binding.written {
            let consumer = self.consumer_of(&binding.pod, part);
            self.let_go_unbound(part, consumer, None);
        }
    }

    /// Answers to writes for a pod that is on its way no more are still to come.
    fn leave_open(&mut self, binding: &Binding) {
        for (write, open) in &binding.open {
            self.outbox.hand_over(*write, Owner::Abandoned);
            let consumer = self.consumer_of(&binding.pod, &open.part);
            self.bindings.abandoned.insert(*write, (open.clone(), consumer));
        }
    }

    /// A pod on its way turns out to be bound. If that is our own binding, its answer only comes later or got lost. If
    /// another client was faster, our writes are waited for, and what they reserved is the pod's all the same if it can use
    /// it where it is now.
    pub(super) fn found_bound(&mut self, uid: &PodUid, node: &NodeName) {
        let Some(binding) = self.bindings.get(uid) else { return };
        if binding.pod.node.is_some() {
            // It was bound before, and only its claims are being written.
            return;
        }
        if binding.is_being_bound() && binding.node == *node {
            return self.bound(uid);
        }
        let Some(binding) = self.bindings.step(uid, Event::Left) else { return };
        self.release_volumes(self.now, uid, &binding.volumes);
        self.slip_from_flight(self.now, uid);
        self.leave_open(&binding);
        for part in &binding.written {
            if !self.is_of_use(part, Some(node)) {
                let consumer = self.consumer_of(&binding.pod, part);
                self.release_part(part, consumer, Some(node.clone()));
            }
        }
    }

    /// The answer to a write for a pod that is gone, or that another client has bound.
    fn settle_abandoned(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) {
        let Some((open, consumer)) = self.bindings.abandoned.remove(&write) else { return };
        let user = consumer.uid.clone();
        let node = self.facts.nodes.pod(&user).and_then(|(_, pod)| pod.node.clone());
        if *outcome == WriteOutcome::Done && !self.is_of_use(&open.part, node.as_ref()) {
            self.let_go_unbound(&open.part, consumer, node);
        }
        self.settle_part(now, &open, &user, outcome);
        self.settle_unmade(&user);
    }

    /// What was decided for a claim is written, or is taken back.
    fn settle_part(&mut self, now: Timestamp, open: &OpenWrite, pod: &PodUid, outcome: &WriteOutcome) {
        // Devices may be free again, and pods that share the claim may be able to reserve it now.
        let touched = match (&open.part, &open.decided, outcome) {
            (BindingPart::Claim(claim), Some(uid), outcome) => {
                let touched = self.claim_touched(claim);
                self.facts.touch_claim(claim);
                match outcome {
                    WriteOutcome::Done => self.facts.claims.written(claim, uid),
                    WriteOutcome::Failed(_) => self.facts.claims.undecide(claim, uid),
                };
                if self.facts.claims.is_decided(claim) { Wakes::NONE } else { touched }
            }
            (BindingPart::MadeClaim, _, WriteOutcome::Failed(_)) => {
                self.facts.touch_unmade(pod);
                self.facts.claims.forget_unmade(pod);
                Wake::Claim.into()
            }
            (BindingPart::Claim(_), None, _)
            | (BindingPart::MadeClaim, _, WriteOutcome::Done)
            | (BindingPart::Note(_) | BindingPart::Volume(_), ..) => Wakes::NONE,
        };
        self.wake_others(touched, now);
    }

    /// Whether a pod can use what is written for it on a node.
    fn is_of_use(&self, part: &BindingPart, node: Option<&NodeName>) -> bool {
        match (part, node) {
            (BindingPart::Claim(claim), Some(node)) => self.facts.may_use_at(claim, node),
            (BindingPart::MadeClaim | BindingPart::Note(_) | BindingPart::Volume(_), _) | (_, None) => false,
        }
    }

    /// What uses a claim that is written for a pod: the pod, or its group.
    fn consumer_of(&self, pod: &Pod, part: &BindingPart) -> Consumer {
        match part {
            BindingPart::Claim(claim) => self.consumer(pod, claim),
            BindingPart::MadeClaim | BindingPart::Note(_) | BindingPart::Volume(_) => {
                Consumer { name: pod.id.name.clone(), uid: pod.uid.clone(), group: None }
            }
        }
    }

    /// Undoes what was written of a claim for a pod that is gone, or that is on a node where it cannot use it. Of one that is gone
    /// the claim gives its devices back at once: a scheduler that dies after a release would leave them with it.
    fn let_go_unbound(&mut self, part: &BindingPart, consumer: Consumer, node: Option<NodeName>) {
        let claim = part.claim();
        let gives_back = |claim: &&ClaimId| {
            node.is_none() && self.kept(Why::PodGone, claim, Some(&consumer.uid)).is_none()
        };
        match claim.filter(gives_back).and_then(|claim| self.facts.claims.get(claim)) {
            Some(state) => {
                let (claim, uid) = (state.wish.id.clone(), state.uid.clone());
                let one = InTheWay { claim, uid, remedy: Remedy::Deallocate };
                self.ask_for(one, Some(consumer.user()));
            }
            None => self.release_part(part, consumer, node),
        }
    }

    fn release_part(&mut self, part: &BindingPart, consumer: Consumer, node: Option<NodeName>) {
        let user = consumer.uid.clone();
        let Some(release) = self.letting_go(part, consumer, node) else { return };
        let write = self.outbox.submit_for(Owner::GivingUp, release);
        let is_there = self.facts.waiting.contains_key(&user) || self.facts.nodes.has_pod(&user);
        // Before it is answered, it could undo a reservation that the pod gets anew.
        if let Some(claim) = part.claim().filter(|_| is_there) {
            self.bindings.giving_back.ask(write, claim.clone(), Some((&user).into()));
        }
    }

    /// Undoes what was written for a pod; a reservation is taken back by the write that this gives. What its group uses is let go
    /// with the last member.
    fn letting_go(
        &mut self,
        part: &BindingPart,
        consumer: Consumer,
        node: Option<NodeName>,
    ) -> Option<Write> {
        let claim = match part {
            BindingPart::Claim(claim) => claim,
            BindingPart::MadeClaim => {
                self.unmake(&consumer.uid);
                return None;
            }
            // It stays as it is: the volume controller may have begun.
            BindingPart::Volume(_) => return None,
            BindingPart::Note(pod) => {
                let (pod, uid) = (pod.clone(), consumer.uid.clone());
                self.outbox.submit(Write::NoteResources { pod, uid, claims: Vec::new() });
                return None;
            }
        };
        let group = consumer.group.as_ref();
        if group.is_some_and(|group| self.facts.has_members_besides(&group.uid, &consumer.uid)) {
            return None;
        }
        let state = self.facts.claims.get(claim)?;
        if state.allocation.is_none() && !state.reserved_for.contains(&consumer.user()) {
            // What lost its devices is reserved for no pod either.
            return None;
        }
        let uid = state.uid.clone();
        Some(Write::Release { claim: claim.clone(), uid, consumers: vec![consumer], node })
    }
}
