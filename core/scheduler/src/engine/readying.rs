//! Devices that are made ready once they are chosen: a pod is bound when all of its devices are reported ready, not before.
//!
//! Invariant: a pod that waits for its devices is a state with a deadline and nothing else. What lets it go on is a change of
//! one of its claims, or the time; nobody looks at it meanwhile. When it has waited in vain, the claims that failed give
//! their devices back in one write each, unless somebody else uses them.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::claims::{ClaimState, Held};
use cluster::ledger::{Holder, Holding, PodRef};
use cluster::preparation::Verdict;
use gates::Gate;
use model::claim::ClaimId;
use model::device::DeviceId;
use model::duration;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::{Announcement, Engine};
use crate::cycle::Choice;
use crate::profile::Profile;
use crate::write::Write;

/// A pod that waits for its devices, or whose devices are ready while those of other members of its gang are not.
#[derive(Clone, Debug)]
pub(super) struct Readying {
    since: Timestamp,
    /// When its time is over; nothing while all of its devices are ready.
    until: Option<Timestamp>,
    claims: Vec<ClaimId>,
}

/// How it ended that devices were made ready for a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ReadyOutcome {
    /// All of them are ready.
    Success,
    /// One failed.
    Failure,
    /// One took too long.
    Timeout,
    /// Nobody waits any more, since the pod or a claim went.
    Error,
}

impl ReadyOutcome {
    /// In a word, as metrics have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Timeout => "timeout",
            Self::Error => "error",
        }
    }
}

/// A claim whose devices will not become ready.
struct Broken {
    claim: ClaimId,
    device: DeviceId,
    outcome: ReadyOutcome,
    why: String,
}

impl Broken {
    /// What a verdict says against a claim, if it does.
    fn of(id: &ClaimId, verdict: Verdict<'_>) -> Option<Broken> {
        let (device, outcome, why) = match verdict {
            Verdict::Ready | Verdict::Pending { .. } => return None,
            Verdict::Failed(progress, failed) => {
                let device = &progress.device;
                let why = format!("device binding failed: claim={id}, device={device}: {failed}");
                (device, ReadyOutcome::Failure, why)
            }
            Verdict::TimedOut { device, after_ms } => {
                let seconds = after_ms / 1000;
                let why = format!("device binding timeout: claim={id}, {device} after {seconds} s");
                (&device.device, ReadyOutcome::Timeout, why)
            }
        };
        Some(Broken { claim: id.clone(), device: device.clone(), outcome, why })
    }
}

/// How the claims of a pod stand.
enum Standing {
    Ready,
    /// Until when, and for what.
    Pending(Timestamp, String),
    /// A claim has its devices no more.
    Lost(String),
    Broken(Vec<Broken>),
}

impl Engine {
    /// Whether a pod whose claims are written waits for its devices. If it does so in vain it is taken back.
    pub(super) fn waits_for_devices(&mut self, now: Timestamp, uid: &Arc<str>) -> bool {
        let Some(placing) = self.placing.get(uid) else { return false };
        let pod = placing.pod.clone();
        let claims = self.claims_to_ready(uid, &pod);
        if claims.is_empty() {
            return false;
        }
        let began = placing.readying.as_ref().map_or(now, |readying| readying.since);
        let profile = self.settings.profile_of(&pod);
        match self.standing(now, began, &claims, &profile) {
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
                self.wait_for_devices(now, uid, until, claims, &what);
                true
            }
            Standing::Lost(why) => {
                self.end_readying(now, uid, ReadyOutcome::Error, &claims);
                self.vacate(uid);
                self.fail(now, uid, why);
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
        let Some(placing) = self.placing.get(uid) else { return false };
        let claims = self.claims_to_ready(uid, &placing.pod);
        let profile = self.settings.profile_of(&placing.pod);
        matches!(self.standing(now, now, &claims, &profile), Standing::Ready)
    }

    /// What claims of a pod lack, if one of them lacks something.
    pub(super) fn what_is_unready(&self, now: Timestamp, pod: &Pod, claims: &[ClaimId]) -> Option<String> {
        if !self.heeds_conditions() {
            return None;
        }
        match self.standing(now, now, claims, &self.settings.profile_of(pod)) {
            Standing::Ready | Standing::Lost(_) => None,
            Standing::Pending(_, what) => Some(what),
            Standing::Broken(broken) => broken.into_iter().next().map(|one| one.why),
        }
    }

    /// The claims of a pod on its way with devices that have to be made ready, and those that it waits for already.
    fn claims_to_ready(&self, uid: &str, pod: &Pod) -> Vec<ClaimId> {
        let Some(placing) = self.placing.get(uid).filter(|_| self.heeds_conditions()) else {
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

    fn heeds_conditions(&self) -> bool {
        let gates = &self.settings.gates;
        gates.enabled(Gate::DRADeviceBindingConditions) && gates.enabled(Gate::DRAResourceClaimDeviceStatus)
    }

    fn standing(&self, now: Timestamp, began: Timestamp, claims: &[ClaimId], profile: &Profile) -> Standing {
        let mut pending: Option<(Timestamp, String)> = None;
        let mut broken = Vec::new();
        for id in claims {
            let Some(state) = self.facts.claims.get(id) else {
                return Standing::Lost(format!("claim {id}: it is gone"));
            };
            if state.allocation.is_none() {
                return Standing::Lost(format!("claim {id}: it lost its devices in the meantime"));
            }
            let Some(preparation) = &state.preparation else { continue };
            match preparation.verdict(now, began, &self.timeout(profile)) {
                Verdict::Pending { until, device }
                    if pending.as_ref().is_none_or(|(first, _)| until < *first) =>
                {
                    pending = Some((until, format!("claim {id}, {device}")));
                }
                verdict => broken.extend(Broken::of(id, verdict)),
            }
        }
        if !broken.is_empty() {
            return Standing::Broken(broken);
        }
        pending.map_or(Standing::Ready, |(until, what)| Standing::Pending(until, what))
    }

    /// How long a device may take of which its claim does not say so: what its driver says, or what is configured.
    fn timeout<'e>(&'e self, profile: &'e Profile) -> impl Fn(&DeviceId) -> i64 + 'e {
        |device| {
            let published =
                self.facts.slices.device(device).and_then(|device| device.binding.timeout.as_deref());
            let own = published.and_then(|text| duration::parse(text).ok());
            own.map_or(profile.binding_timeout_ms, |own| i64::try_from(own.as_millis()).unwrap_or(i64::MAX))
        }
    }

    /// Why a claim that has devices is of no use to a pod, since they will not become ready.
    pub(crate) fn will_not_be_ready(&self, id: &ClaimId, profile: &Profile) -> Option<String> {
        let preparation =
            self.facts.claims.get(id).filter(|_| self.heeds_conditions())?.preparation.as_ref()?;
        let verdict = preparation.verdict(self.now, self.now, &self.timeout(profile));
        Broken::of(id, verdict).map(|broken| broken.why)
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
        let Some(placing) = self.placing.get_mut(uid) else { return };
        self.settling.insert((until, uid.clone()));
        if let Some(readying) = &mut placing.readying {
            let before = readying.until.replace(until);
            if let Some(before) = before.filter(|before| *before != until) {
                self.settling.remove(&(before, uid.clone()));
            }
            return;
        }
        let (pod, node) = (placing.pod.clone(), placing.node.clone());
        placing.readying = Some(Readying { since: now, until: Some(until), claims: claims.clone() });
        placing.keeps_node = true;
        self.await_claims(uid, claims);
        // Autoscalers look for it, and the next leader looks there first.
        let nominate = Write::Nominate { pod: pod.id.clone(), uid: uid.clone(), node: Some(node.clone()) };
        self.submit_and_forget(nominate);
        let message = format!("waiting for binding conditions for device on node {node}: {what}");
        self.announce(Announcement::DevicesPending { pod, node, message });
    }

    /// The devices of a member of a gang are ready, and are looked after until those of the others are too.
    fn stay_ready(&mut self, now: Timestamp, uid: &Arc<str>, claims: Vec<ClaimId>) {
        let known = self.placing.get(uid).and_then(|placing| placing.readying.as_ref());
        if known.is_some_and(|readying| readying.until.is_none()) {
            return;
        }
        let since = known.map_or(now, |readying| readying.since);
        self.end_readying(now, uid, ReadyOutcome::Success, &claims);
        if let Some(placing) = self.placing.get_mut(uid) {
            placing.readying = Some(Readying { since, until: None, claims: claims.clone() });
            self.await_claims(uid, claims);
        }
    }

    /// Lets a pod go on whenever one of the claims changes.
    fn await_claims(&mut self, uid: &Arc<str>, claims: Vec<ClaimId>) {
        for claim in claims {
            self.awaited.entry(claim).or_default().insert(uid.clone());
        }
    }

    /// The claims that failed give their devices back, and the pod goes back to the queue.
    fn give_up_on(&mut self, now: Timestamp, uid: &Arc<str>, claims: &[ClaimId], broken: Vec<Broken>) {
        let Some(first) = broken.first() else { return };
        let (outcome, why) = (first.outcome, first.why.clone());
        self.end_readying(now, uid, outcome, claims);
        for one in broken {
            self.shunned.entry(uid.clone()).or_default().insert(one.device);
            self.give_devices_back(uid, one.claim);
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
        let Some(placing) = self.placing.get(uid) else { return };
        let waited_ms = readying.map_or(0, |one| (now.micros() - one.since.micros()) / 1_000);
        let states = claims.iter().filter_map(|id| self.facts.claims.get(id)?.preparation.as_ref());
        let drivers = states.flat_map(|one| &one.devices).map(|one| one.device.driver.clone()).collect();
        let pod = placing.pod.clone();
        self.announce(Announcement::DevicesDone { pod, outcome, waited_ms, drivers });
    }

    /// Forgets that a pod waits for its devices.
    pub(super) fn stop_readying(&mut self, uid: &Arc<str>) -> Option<Readying> {
        let readying = self.placing.get_mut(uid)?.readying.take()?;
        if let Some(until) = readying.until {
            self.settling.remove(&(until, uid.clone()));
        }
        for claim in &readying.claims {
            if let Some(pods) = self.awaited.get_mut(claim) {
                pods.remove(uid);
                if pods.is_empty() {
                    self.awaited.remove(claim);
                }
            }
        }
        Some(readying)
    }

    /// A pod that waits for its devices is gone, or is called back. Devices that nobody else wants are not made ready any
    /// further.
    pub(super) fn abandon_readying(&mut self, now: Timestamp, uid: &Arc<str>) {
        let readying = self.placing.get(uid).and_then(|placing| placing.readying.clone());
        let Some(readying) = readying else { return };
        self.end_readying(now, uid, ReadyOutcome::Error, &readying.claims);
        if let Some(placing) = self.placing.get_mut(uid) {
            placing.keeps_node = false;
        }
        for claim in readying.claims {
            self.give_devices_back(uid, claim);
        }
    }

    /// Whether the devices of a claim will not become ready for anybody.
    pub(super) fn is_broken(&self, now: Timestamp, state: &ClaimState) -> bool {
        let Some(preparation) = state.preparation.as_ref().filter(|_| self.heeds_conditions()) else {
            return false;
        };
        let longest = self.settings.profiles.iter().max_by_key(|profile| profile.binding_timeout_ms);
        longest.is_some_and(|profile| {
            Broken::of(&state.wish.id, preparation.verdict(now, now, &self.timeout(profile))).is_some()
        })
    }

    /// A claim changed or went. Pods that wait for its devices go on.
    pub(super) fn look_at_awaited(&mut self, now: Timestamp, claim: &ClaimId) {
        if self.awaited.is_empty() {
            return;
        }
        let pods: BTreeSet<Arc<str>> = self.awaited.get(claim).cloned().unwrap_or_default();
        for uid in pods {
            self.go_on(now, &uid);
        }
    }

    /// The best node for a pod, without the devices that failed for it before. Its own node comes first, if another device is
    /// to be had there.
    pub(super) fn choose_other(&mut self, pod: &Pod) -> Option<Choice> {
        let held = self.hold_shunned([pod])?;
        let chosen = self.choose(pod);
        self.facts.claims.give_back(&held);
        chosen.ok()
    }

    /// Keeps devices that failed for pods before from being chosen, until they are given back; nothing if there are none.
    pub(crate) fn hold_shunned<'p>(&mut self, pods: impl IntoIterator<Item = &'p Pod>) -> Option<Vec<Held>> {
        let mut held: Vec<Held> = Vec::new();
        for pod in pods {
            let holder = Holder::FailedFor(PodRef::from(pod));
            for device in self.shunned.get(&pod.uid).into_iter().flatten() {
                if held.iter().any(|known| known.device == *device) {
                    continue;
                }
                let (groups, consumed) = Default::default();
                let holding = Holding { holder: holder.clone(), groups, consumed };
                held.push(Held { device: device.clone(), share: None, holding });
            }
        }
        self.facts.claims.take(&held);
        (!held.is_empty()).then_some(held)
    }

    /// Whether devices failed for a pod before, so that answers for pods like it are not for it.
    pub(crate) fn has_shunned(&self, pod: &str) -> bool {
        self.shunned.contains_key(pod)
    }
}
