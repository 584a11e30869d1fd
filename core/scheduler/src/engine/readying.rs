//! Devices that are made ready once they are chosen: a pod is bound when all of its devices are reported ready, not before.
//!
//! Invariant: a pod that waits for its devices is a state with a deadline and nothing else. What lets it go on is a change of
//! one of its claims, or the time; nobody looks at it meanwhile. When it has waited in vain, the claims that failed give
//! their devices back in one write each, unless somebody else uses them.

use std::sync::Arc;

use decisions::giving_back::Why;
use decisions::readiness::{Broken, ReadyOutcome, Standing};
use model::claim::ClaimId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::{Announcement, Engine};
use crate::claim_waits::For;
use crate::write::Write;

/// A pod that waits for its devices, or whose devices are ready while those of other members of its gang are not.
#[derive(Clone, Debug)]
pub(super) struct Readying {
    since: Timestamp,
    /// When its time is over; nothing while all of its devices are ready.
    until: Option<Timestamp>,
    claims: Vec<ClaimId>,
}

impl Engine {
    /// Whether a pod whose claims are written waits for its devices. If it does so in vain it is taken back.
    pub(super) fn waits_for_devices(&mut self, now: Timestamp, uid: &Arc<str>) -> bool {
        let Some(placing) = self.bindings.placing.get(uid) else { return false };
        let pod = placing.pod.clone();
        let claims = self.claims_to_ready(uid, &pod);
        if claims.is_empty() {
            return false;
        }
        let began = placing.readying.as_ref().map_or(now, |readying| readying.since);
        let profile = self.settings.profile_of(&pod);
        match self.readiness().standing(now, began, &claims, &profile) {
            Standing::Ready if self.is_held_for_gang(uid) => {
                self.stay_ready(now, uid, claims);
                false
            }
            Standing::Ready => {
                self.end_readying(now, uid, ReadyOutcome::Success, &claims);
                false
            }
            Standing::Pending(until, what) => {
                self.is_not_ready(uid);
                self.wait_for_devices(now, uid, until, claims, &what.to_string());
                true
            }
            Standing::Lost(why) => {
                self.end_readying(now, uid, ReadyOutcome::Error, &claims);
                self.vacate(uid);
                self.fail(now, uid, why.to_string());
                true
            }
            Standing::Broken(broken) => {
                self.give_up_on(now, uid, &claims, broken);
                true
            }
        }
    }

    /// Whether a pod on its way waits for no device.
    pub(crate) fn has_ready_devices(&self, now: Timestamp, uid: &Arc<str>) -> bool {
        let Some(placing) = self.bindings.placing.get(uid) else { return false };
        let claims = self.claims_to_ready(uid, &placing.pod);
        let profile = self.settings.profile_of(&placing.pod);
        matches!(self.readiness().standing(now, now, &claims, &profile), Standing::Ready)
    }

    /// What claims of a pod lack, if one of them lacks something.
    pub(super) fn what_is_unready(&self, now: Timestamp, pod: &Pod, claims: &[ClaimId]) -> Option<String> {
        if !self.readiness().counts() {
            return None;
        }
        match self.readiness().standing(now, now, claims, &self.settings.profile_of(pod)) {
            Standing::Ready | Standing::Lost(_) => None,
            Standing::Pending(_, what) => Some(what.to_string()),
            Standing::Broken(broken) => broken.into_iter().next().map(|one| one.why.to_string()),
        }
    }

    /// The claims of a pod on its way with devices that have to be made ready, and those that it waits for already.
    fn claims_to_ready(&self, uid: &str, pod: &Pod) -> Vec<ClaimId> {
        let Some(placing) = self.bindings.placing.get(uid).filter(|_| self.readiness().counts()) else {
            return Vec::new();
        };
        if let Some(readying) = &placing.readying {
            return readying.claims.clone();
        }
        let has_conditions =
            |id: &ClaimId| self.facts.claims.get(id).is_some_and(|state| state.preparation.is_some());
        let mut claims: Vec<ClaimId> = pod.claim_ids().chain(self.written_claims(uid)).collect();
        claims.sort_unstable();
        claims.dedup();
        claims.retain(has_conditions);
        claims
    }

    /// Lets a pod wait, and tells so when it begins to.
    fn wait_for_devices(
        &mut self,
        now: Timestamp,
        uid: &Arc<str>,
        until: Timestamp,
        claims: Vec<ClaimId>,
        what: &str,
    ) {
        let Some(placing) = self.bindings.placing.get_mut(uid) else { return };
        self.bindings.settling.insert((until, uid.clone()));
        if let Some(readying) = &mut placing.readying {
            let before = readying.until.replace(until);
            if let Some(before) = before.filter(|before| *before != until) {
                self.bindings.settling.remove(&(before, uid.clone()));
            }
            return;
        }
        let (pod, node) = (placing.pod.clone(), placing.node.clone());
        placing.readying = Some(Readying { since: now, until: Some(until), claims: claims.clone() });
        placing.keeps_node = true;
        self.await_claims(uid, claims);
        // Autoscalers look for it, and the next leader looks there first.
        let nominate = Write::Nominate { pod: pod.id.clone(), uid: uid.clone(), node: Some(node.clone()) };
        self.outbox.submit(nominate);
        let message = format!("waiting for binding conditions for device on node {node}: {what}");
        self.outbox.announce(Announcement::DevicesPending { pod, node, message });
    }

    /// The devices of a member of a gang are ready, and are looked after until those of the others are too.
    fn stay_ready(&mut self, now: Timestamp, uid: &Arc<str>, claims: Vec<ClaimId>) {
        let known = self.bindings.placing.get(uid).and_then(|placing| placing.readying.as_ref());
        if known.is_some_and(|readying| readying.until.is_none()) {
            return;
        }
        let since = known.map_or(now, |readying| readying.since);
        self.end_readying(now, uid, ReadyOutcome::Success, &claims);
        if let Some(placing) = self.bindings.placing.get_mut(uid) {
            placing.readying = Some(Readying { since, until: None, claims: claims.clone() });
            self.await_claims(uid, claims);
        }
    }

    /// Lets a pod go on whenever one of the claims changes.
    fn await_claims(&mut self, uid: &Arc<str>, claims: Vec<ClaimId>) {
        for claim in claims {
            self.bindings.waits.add(claim, For::ReadyDevices, uid);
        }
    }

    /// The claims that failed give their devices back, and the pod goes back to the queue.
    fn give_up_on(&mut self, now: Timestamp, uid: &Arc<str>, claims: &[ClaimId], broken: Vec<Broken>) {
        let Some(first) = broken.first() else { return };
        let (outcome, why) = (first.outcome, first.why.to_string());
        self.end_readying(now, uid, outcome, claims);
        for one in broken {
            self.plans.shunned.entry(uid.clone()).or_default().insert(one.device);
            self.give_devices_back(uid, one.claim, Why::NotReady);
        }
        self.vacate(uid);
        self.fail(now, uid, why);
    }

    /// A pod waits for its devices no more. If it is known already that they are ready, nothing more is said.
    fn end_readying(&mut self, now: Timestamp, uid: &Arc<str>, outcome: ReadyOutcome, claims: &[ClaimId]) {
        let readying = self.stop_readying(uid);
        if readying.as_ref().is_some_and(|one| one.until.is_none()) && outcome != ReadyOutcome::Failure {
            return;
        }
        let Some(placing) = self.bindings.placing.get(uid) else { return };
        let waited_ms = readying.map_or(0, |one| (now.micros() - one.since.micros()) / 1_000);
        let states = claims.iter().filter_map(|id| self.facts.claims.get(id)?.preparation.as_ref());
        let drivers = states.flat_map(|one| &one.devices).map(|one| one.device.driver.clone()).collect();
        let pod = placing.pod.clone();
        self.outbox.announce(Announcement::DevicesDone { pod, outcome, waited_ms, drivers });
    }

    /// Forgets that a pod waits for its devices.
    pub(super) fn stop_readying(&mut self, uid: &Arc<str>) -> Option<Readying> {
        let readying = self.bindings.placing.get_mut(uid)?.readying.take()?;
        if let Some(until) = readying.until {
            self.bindings.settling.remove(&(until, uid.clone()));
        }
        for claim in &readying.claims {
            self.bindings.waits.remove(claim, For::ReadyDevices, uid);
        }
        Some(readying)
    }

    /// A pod that waits for its devices is gone, or is called back. Devices that nobody else wants are not made ready any
    /// further.
    pub(super) fn abandon_readying(&mut self, now: Timestamp, uid: &Arc<str>) {
        let readying = self.bindings.placing.get(uid).and_then(|placing| placing.readying.clone());
        let Some(readying) = readying else { return };
        self.end_readying(now, uid, ReadyOutcome::Error, &readying.claims);
        if let Some(placing) = self.bindings.placing.get_mut(uid) {
            placing.keeps_node = false;
        }
        for claim in readying.claims {
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
