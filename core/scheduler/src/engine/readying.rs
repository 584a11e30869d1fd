//! Devices that are made ready once they are chosen: a pod is bound when all of its devices are reported ready, not before.
//!
//! Invariant: a pod that waits for its devices is a state with a deadline and nothing else. What lets it go on is a change of
//! one of its claims, or the time; it is not looked at meanwhile. When it has waited in vain, the claims that failed give
//! their devices back in one write each, unless another pod uses them.

use decisions::giving_back::Why;
use decisions::not_bound::NotBound;
use decisions::not_ready::Awaited;
use decisions::notice::Notice;
use decisions::readiness::{Broken, ReadyOutcome};
use model::claim::ClaimId;
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::{Announcement, Engine};
use crate::claim_waits::For;
use crate::life_cycles::binding::{Binding, CannotBind, Event, Waited};
use crate::write::{WaitReason, Write};

impl Engine {
    /// Lets a pod wait for its devices, and tells so when it begins to.
    pub(super) fn wait_for_devices(
        &mut self,
        now: Timestamp,
        uid: &PodUid,
        until: Timestamp,
        claims: Vec<ClaimId>,
        what: &Awaited,
    ) {
        let Some(binding) = self.bindings.get(uid) else { return };
        let begins = !binding.is_readying();
        let (pod, node) = (binding.pod.clone(), binding.node.clone());
        self.bindings.step(uid, Event::Unready { now, until, claims });
        let notice = Notice::DevicesPending { node: node.clone(), awaited: what.clone(), until };
        // With each device that becomes ready it waits for the next, and not with each condition.
        let told_of = self.bindings.get(uid).and_then(|binding| binding.told_of.as_ref());
        if !told_of.is_some_and(|told| told.is_same_device(what)) {
            self.note_pending(&pod, &notice);
        }
        if let Some(binding) = self.bindings.get_mut(uid) {
            binding.told_of = Some(what.clone());
        }
        if !begins {
            return;
        }
        // Autoscalers look for it, and the next leader looks there first.
        let nominate = Write::Nominate { pod: pod.id.clone(), uid: uid.clone(), node: Some(node.clone()) };
        self.outbox.submit(nominate);
        self.outbox.announce(Announcement::DevicesPending { pod, node, message: notice.to_string() });
    }

    /// Tells of a pod whose devices are ready that it waits for those of other members of its gang.
    pub(super) fn note_held(&mut self, uid: &PodUid) {
        let held = self.bindings.get(uid).filter(|binding| binding.is_held() && binding.told_of.is_some());
        let Some((pod, node)) = held.map(|binding| (binding.pod.clone(), binding.node.clone())) else {
            return;
        };
        if let Some(binding) = self.bindings.get_mut(uid) {
            binding.told_of = None;
        }
        self.note_pending(&pod, &Notice::MembersPending { node });
    }

    /// Notes on a pod what it waits for on its node. Why it waited before is news again.
    fn note_pending(&mut self, pod: &Pod, notice: &Notice) {
        self.queue.forget_told(&self.facts.groups.key_of(pod));
        let (id, uid, reason) = (pod.id.clone(), pod.uid.clone(), WaitReason::DevicesPending);
        let message = notice.to_string();
        self.outbox.submit(Write::Note { pod: id, uid, reason, message });
    }

    /// The claims that failed give their devices back, and the pod goes back to the queue.
    pub(super) fn give_up_on(
        &mut self,
        now: Timestamp,
        uid: &PodUid,
        claims: &[ClaimId],
        broken: Vec<Broken>,
    ) {
        let Some(first) = broken.first() else { return };
        let (why, outcome) = (NotBound::NotReady(first.why.clone()), first.outcome);
        let waited = self.bindings.get(uid).and_then(Binding::waited);
        self.tell_devices(now, uid, outcome, (claims, waited.as_ref()));
        for one in broken {
            self.plans.shunned.entry(uid.clone()).or_default().insert(one.device);
            self.give_devices_back(uid, one.claim, Why::NotReady);
        }
        self.fail_on_node(now, uid, why);
    }

    /// Takes a pod back whose devices did not become ready. Its node is tried first again, and its seat is kept open.
    pub(super) fn fail_on_node(&mut self, now: Timestamp, uid: &PodUid, why: NotBound) {
        self.vacate(uid);
        self.bindings.step(uid, Event::Failed(CannotBind { why, because: Why::NotBound }));
        self.take_back(now, uid, None);
    }

    /// Tells what became of devices that were to be made ready. If it is known already that they are, nothing more is said unless
    /// they fail.
    pub(super) fn tell_devices(
        &mut self,
        now: Timestamp,
        uid: &PodUid,
        outcome: ReadyOutcome,
        (claims, waited): (&[ClaimId], Option<&Waited>),
    ) {
        let Some(binding) = self.bindings.get(uid) else { return };
        if waited.is_some_and(|waited| waited.is_ready) && outcome != ReadyOutcome::Failure {
            return;
        }
        let since = waited.map_or(now, |waited| waited.since);
        let waited_ms = (now.micros() - since.micros()) / 1_000;
        let states = claims.iter().filter_map(|id| self.facts.claims.get(id)?.preparation.as_ref());
        let drivers = states.flat_map(|one| &one.devices).map(|one| one.device.driver.clone()).collect();
        let pod = binding.pod.clone();
        self.outbox.announce(Announcement::DevicesDone { pod, outcome, waited_ms, drivers });
    }

    /// A pod that waited for its devices is gone, or is called back. Devices that no other pod wants are not made ready any
    /// further.
    pub(super) fn abandon_readying(&mut self, now: Timestamp, uid: &PodUid, waited: Waited) {
        self.tell_devices(now, uid, ReadyOutcome::Error, (&waited.claims, Some(&waited)));
        if let Some(binding) = self.bindings.get_mut(uid) {
            binding.keeps_node = false;
        }
        for claim in waited.claims {
            self.give_devices_back(uid, claim, Why::NotReady);
        }
    }

    /// A claim changed or went. Pods that wait for its devices go on.
    pub(super) fn look_at_awaited(&mut self, now: Timestamp, claim: &ClaimId) {
        for uid in self.bindings.waits.pods(claim, For::ReadyDevices) {
            self.go_on(now, &uid);
        }
    }
}
