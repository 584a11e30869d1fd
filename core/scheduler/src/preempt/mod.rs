//! Preemption: a pod that fits nowhere makes room for itself by the going of less important pods.
//!
//! Invariant: nobody is evicted unless a trial has shown that the pod then fits on the node, with its devices. What was
//! decided is written, and the pod waits for it asleep: it wakes when a victim or a claim of one goes, or by the clock.

mod absence;
mod nominations;
mod trial;
mod units;
mod victims;

pub(crate) use absence::Absence;
pub(crate) use nominations::{Nomination, planned};
pub(crate) use units::{Unit, broken, pods_of};
pub(crate) use victims::{Harm, harm};

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::nodes::NodeIdx;
use model::claim::ClaimId;
use model::group::Grouping;
use model::pod::Pod;
use model::timestamp::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::certainty::Certainty;
use crate::cycle::{Claims, PodRefusal};
use crate::engine::{Announcement, Engine};
use crate::filters::{Around, Mounts};
use crate::profile::Profile;
use crate::queue::Failure;
use crate::reason::Reason;
use crate::wake::{Wake, Wakes};
use crate::write::{Preemptor, Write, WriteId, WriteOutcome};
use nominations::Nominations;
use trial::{Ground, Lack, StillRefused};
use victims::{Candidate, least_harm};

/// What people may set about preemption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreemptionSettings {
    /// Among how many nodes a choice is made at least, in percent of those where it could help.
    pub candidates_percent_min: usize,
    /// Among how many at least.
    pub candidates_min: usize,
}

impl Default for PreemptionSettings {
    fn default() -> Self {
        PreemptionSettings { candidates_percent_min: 10, candidates_min: 100 }
    }
}

impl PreemptionSettings {
    /// Among how many a choice is made, of so many where it could help.
    fn candidates(self, nodes: usize) -> usize {
        (nodes * self.candidates_percent_min / 100).max(self.candidates_min).min(nodes)
    }
}

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct Preempting {
    pub nominations: Nominations,
    /// Pods whose eviction was asked for and that are not seen to go yet, by uid.
    leaving: FxHashSet<Arc<str>>,
    /// Evictions that are not answered yet: who goes, and for whom.
    evictions: FxHashMap<WriteId, (Arc<str>, Arc<str>)>,
    /// Grows when the users of a claim change, though its devices stay the same.
    users_changed: u64,
}

impl Preempting {
    /// A pod is gone, or is seen to go.
    pub fn went(&mut self, uid: &str) {
        self.leaving.remove(uid);
    }

    /// Other pods use a claim now, whose devices stay the same.
    pub fn users_changed(&mut self) {
        self.users_changed += 1;
    }
}

/// For whom somebody goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Displacer<'d> {
    /// The pod, or one of the group.
    pub pod: &'d Arc<Pod>,
    /// The group, if it is one.
    pub group: Option<&'d Grouping>,
    /// The node or the domain where that is to be.
    pub place: &'d Arc<str>,
}

/// Why nobody's going would help a pod.
#[derive(Clone, Debug)]
pub(crate) struct Hopeless {
    /// How many nodes there are.
    nodes: usize,
    /// How many have which reason.
    reasons: BTreeMap<Reason, usize>,
    /// What could give hope, besides what undoes the refusal.
    wakes_on: Wakes,
}

/// What came of looking for victims.
enum Attempt {
    /// There are no nodes at all, or nobody makes way for anybody.
    Never,
    /// The pod may not preempt, or not now.
    NotEligible(&'static str),
    /// It would not help, as this sentence says, and this could give hope.
    Hopeless(String, Wakes),
    /// Somebody goes.
    Found(Candidate),
}

const NEVER: &str = "not eligible due to preemptionPolicy=Never.";
const TERMINATING: &str = "not eligible due to a terminating pod on the nominated node.";
const RELEASING: &str = "not eligible due to devices of a preempted pod that are yet to be released.";
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
const NOT_TRIED: &str = "reached the limit of the search for pods to preempt";
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

const CALLED_BACK: &str = "preempted by a higher priority pod before it was bound";

/// What a pod waits for once others go for it.
const GOING: Wakes = Wakes::of(&[Wake::PodRemoved, Wake::Claim]);

impl Engine {
    /// A pod has no place: room is made for it if that helps, and it is put back with the reason.
    pub(crate) fn refused(&mut self, now: Timestamp, pod: &Arc<Pod>, refusal: &PodRefusal) {
        if let Some(one) = refusal.in_the_way() {
            // Nobody has to go if a claim that nobody uses gives its devices back.
            self.ask_for(one, &pod.uid);
            // A claim gives its devices back, and the pod waits for that.
            let failure = Failure::Refused(refusal.wakes_on());
            return self.refuse(now, pod, failure, refusal.to_string(), refusal.filters());
        }
        self.watch_users(pod);
        if pod.node.is_some() {
            // It did not ask whether there is room for it, and nobody goes for that.
            let failure = failure(refusal, refusal.wakes_on());
            return self.refuse(now, pod, failure, refusal.to_string(), refusal.filters());
        }
        let mut wakes = refusal.wakes_on();
        let mut text = String::new();
        let mut is_free_already = false;
        let mut is_room_made = false;
        match self.attempt(now, pod, refusal) {
            Attempt::Never => {
                let freed = self.withdraw(pod);
                self.wake_others(freed, now);
            }
            Attempt::NotEligible(reason) => {
                reason.clone_into(&mut text);
                if self.preempting.nominations.get(&pod.uid).is_some() {
                    wakes = wakes.or(GOING);
                    is_room_made = true;
                }
            }
            Attempt::Hopeless(why, helps) => {
                text = why;
                wakes = wakes.or(helps);
                let freed = self.withdraw(pod);
                self.wake_others(freed, now);
            }
            Attempt::Found(candidate) => {
                let (node, count) = (&candidate.node, candidate.victims.len());
                text =
                    format!("found a potential placement for pod on node {node}, preempting {count} victims");
                wakes = wakes.or(GOING);
                is_room_made = true;
                let victims = self.make_room(now, pod, candidate);
                // Those that were called back at once are gone before the pod falls asleep.
                is_free_already = victims.iter().all(|victim| self.facts.nodes.pod(&victim.uid).is_none());
            }
        }
        let mut message = refusal.to_string();
        if !text.is_empty() {
            let _ = write!(message, " preemption: {text}");
        }
        // If room is being made, it is known what the pod waits for.
        let failure = if is_room_made { Failure::Refused(wakes) } else { failure(refusal, wakes) };
        self.refuse(now, pod, failure, message, refusal.filters());
        if is_free_already {
            self.wake_nominee(&pod.uid, now);
        }
    }

    fn attempt(&mut self, now: Timestamp, pod: &Arc<Pod>, refusal: &PodRefusal) -> Attempt {
        let profile = self.settings.profile_of(pod);
        let Some(settings) = profile.preemption.filter(|_| refusal.nodes() > 0) else {
            return Attempt::Never;
        };
        if !pod.preempts {
            return Attempt::NotEligible(NEVER);
        }
        if let Some(reason) = self.waits_for_victims(now, pod, refusal) {
            return Attempt::NotEligible(reason);
        }
        let curable = refusal.curable();
        let nobody = self.facts.nodes.priority_min().is_none_or(|lowest| lowest >= pod.priority);
        if curable.is_empty() || nobody {
            let lacks = Lacks { without: curable.len(), ..Lacks::default() };
            return lacks.hopeless(refusal).attempt(&[]);
        }
        // The pod was looked at a moment ago, so its claims can be told.
        let Ok(claims) = self.claims_of(pod, &profile) else {
            return Lacks::default().hopeless(refusal).attempt(&[]);
        };
        let is_alike = self.is_alike_to_others(pod, &claims, &profile);
        if is_alike && let Some(known) = self.known_hopeless() {
            return known.attempt(&claims.own());
        }
        let candidates_min = settings.candidates(curable.len());
        match self.find_victims(now, (pod, &profile), &claims, (curable, candidates_min)) {
            Ok(candidate) => Attempt::Found(candidate),
            Err(lacks) => {
                let hopeless = lacks.hopeless(refusal);
                if is_alike {
                    self.remember_hopeless(&hopeless);
                }
                hopeless.attempt(&claims.own())
            }
        }
    }

    /// The moment until which all is known that decides who could go.
    pub(crate) fn moment(&self) -> (u64, u64) {
        (self.facts.touches.now(), self.preempting.users_changed)
    }

    /// The candidate that does the least harm, or why there is none.
    fn find_victims(
        &mut self,
        now: Timestamp,
        (pod, profile): (&Pod, &Profile),
        claims: &Claims,
        (curable, candidates_min): (&[NodeIdx], usize),
    ) -> Result<Candidate, Lacks> {
        let mut lacks = Lacks::default();
        let Some(mut ground) = self.ground(now, (pod, profile), claims) else { return Err(lacks) };
        let mut candidates: Vec<Candidate> = Vec::new();
        for at in curable {
            if self.work.is_spent() {
                lacks.not_tried += 1;
                continue;
            }
            match self.try_node(&mut ground, *at) {
                Ok(candidate) => candidates.push(candidate),
                Err(StillRefused::NoVictims) => lacks.without += 1,
                Err(StillRefused::Lacks(lack)) => lacks.add(lack),
            }
            if candidates.len() >= candidates_min && candidates.iter().any(|one| one.violations == 0) {
                break;
            }
        }
        least_harm(candidates, now).ok_or(lacks)
    }

    fn ground<'p>(
        &self,
        now: Timestamp,
        (pod, profile): (&'p Pod, &'p Profile),
        claims: &'p Claims,
    ) -> Option<Ground<'p>> {
        let settings = &profile.filters;
        let companions = self.companions_of(&pod.shape, profile);
        let around =
            Around::new(&pod.shape, &self.facts.nodes, &self.facts.namespaces, settings, companions.as_ref());
        let around = around.with_volumes(&self.facts.nodes, &self.facts.volumes, settings);
        let mounts = Mounts::new(&pod.shape, &self.facts.volumes, settings).ok()?;
        Some(Ground { pod, profile, claims, around, mounts, now, holders: BTreeMap::new() })
    }

    /// Why a nominee does not preempt again yet: pods are going for it, or have gone and their devices are not back.
    fn waits_for_victims(
        &mut self,
        now: Timestamp,
        pod: &Arc<Pod>,
        refusal: &PodRefusal,
    ) -> Option<&'static str> {
        let nomination = self.preempting.nominations.get(&pod.uid)?;
        let at = self.facts.nodes.find(&nomination.node)?;
        // If the node is out of the question by now, nobody goes for any use.
        refusal.curable().binary_search(&at).ok()?;
        let is_going = |one: &Pod| {
            one.priority < pod.priority && (one.deleting || self.preempting.leaving.contains(&one.uid))
        };
        let here = self.facts.nodes.get(at).pods.values();
        let elsewhere = nomination.victims.iter().filter_map(|uid| Some(self.facts.nodes.pod(uid)?.1));
        let mut going: Vec<Arc<Pod>> = here.chain(elsewhere).filter(|one| is_going(one)).cloned().collect();
        going.sort_by(|left, right| left.uid.cmp(&right.uid));
        going.dedup_by(|left, right| left.uid == right.uid);
        if !going.is_empty() {
            if nomination.victims.is_empty() {
                self.plan_again(now, pod, at, &going);
            }
            return Some(TERMINATING);
        }
        let is_releasing = nomination.freeing.iter().any(|(claim, uid)| {
            self.facts.claims.get(claim).is_some_and(|state| {
                // Who is still there and does not go keeps its devices: its eviction failed.
                let is_left = state
                    .reserved_for
                    .iter()
                    .all(|user| nomination.victims.contains(user) && !self.facts.nodes.has_pod(user));
                state.uid == *uid && state.allocation.is_some() && is_left && !self.is_kept_waiting(state)
            })
        });
        is_releasing.then_some(RELEASING)
    }

    /// Whether a claim keeps its devices for a pod that waits: it was called back, and what it had could not be given back.
    /// Nobody else sees to that before the pod is placed again.
    pub(crate) fn is_kept_waiting(&self, state: &ClaimState) -> bool {
        let claim = &state.wish.id;
        let waits =
            |user: &Arc<str>| self.facts.waiting.contains_key(user) && !self.placing.contains_key(user);
        let is_underway = || self.is_given_up(claim) || self.is_being_reserved(claim);
        state.reserved_for.iter().any(waits) && !is_underway()
    }

    /// Plans the devices of a nominee of which only the nomination is known, as after a restart.
    fn plan_again(&mut self, now: Timestamp, pod: &Arc<Pod>, at: NodeIdx, going: &[Arc<Pod>]) {
        let profile = self.settings.profile_of(pod);
        let Ok(claims) = self.claims_of(pod, &profile) else { return };
        if !claims.need_devices() {
            return;
        }
        let Some(ground) = self.ground(now, (pod, &profile), &claims) else { return };
        if let Some(candidate) = self.look_ahead(&ground, at, going) {
            self.nominate_for(pod, &candidate);
        }
    }

    /// Evicts the victims, and keeps the room that they leave for the pod.
    fn make_room(&mut self, now: Timestamp, pod: &Arc<Pod>, candidate: Candidate) -> Vec<Arc<Pod>> {
        self.withdraw_less_important(now, pod, &candidate.node);
        for victim in &candidate.victims {
            self.displace(now, victim, &Displacer { pod, group: None, place: &candidate.node });
        }
        self.nominate_for(pod, &candidate);
        let (id, uid, node) = (pod.id.clone(), pod.uid.clone(), Some(candidate.node));
        self.submit_and_forget(Write::Nominate { pod: id, uid, node });
        candidate.victims
    }

    /// Lets a pod go: it is called back if it is still on its way, and evicted otherwise.
    pub(crate) fn displace(&mut self, now: Timestamp, victim: &Arc<Pod>, by: &Displacer<'_>) {
        // With one of a gang that was on its way, others may have come back already.
        let is_here = self.facts.nodes.has_pod(&victim.uid);
        if is_here && (victim.deleting || !self.preempting.leaving.insert(victim.uid.clone())) {
            return;
        }
        if is_here && !self.call_back(now, &victim.uid, CALLED_BACK) {
            self.evict(by, victim);
        }
        self.announce(Announcement::Preempted {
            pod: victim.clone(),
            by: by.pod.clone(),
            group: by.group.cloned(),
            node: by.place.clone(),
        });
    }

    fn evict(&mut self, by: &Displacer<'_>, victim: &Pod) {
        let preemptor = if by.group.is_some() { Preemptor::Group } else { Preemptor::Pod };
        self.send_away(victim, by.pod, preemptor);
    }

    fn send_away(&mut self, victim: &Pod, for_whom: &Pod, by: Preemptor) {
        let (id, uid, scheduler) = (victim.id.clone(), victim.uid.clone(), for_whom.scheduler.clone());
        let write = self.submit_and_forget(Write::Evict { pod: id, uid, scheduler, by });
        self.preempting.evictions.insert(write, (victim.uid.clone(), for_whom.uid.clone()));
    }

    /// Lets a pod go that is bound, for the sake of its own gang, and says whether it was not going already.
    pub(crate) fn let_go(&mut self, pod: &Pod) -> bool {
        let is_staying = !pod.deleting && self.preempting.leaving.insert(pod.uid.clone());
        if is_staying {
            self.send_away(pod, pod, Preemptor::OwnGang);
        }
        is_staying
    }

    /// Whether a pod was asked to go, or is seen to.
    pub(crate) fn is_leaving(&self, pod: &Pod) -> bool {
        pod.deleting || self.preempting.leaving.contains(&pod.uid)
    }

    fn nominate_for(&mut self, pod: &Arc<Pod>, candidate: &Candidate) {
        let planned = planned(pod, &candidate.allocations);
        let victims = candidate.victims.iter().map(|victim| victim.uid.clone()).collect();
        let (node, freeing) = (candidate.node.clone(), candidate.freeing.clone());
        self.nominate(Nomination { node, pod: pod.clone(), planned, victims, freeing });
    }

    /// Less important nominees of a node look for another place at once.
    pub(crate) fn withdraw_less_important(&mut self, now: Timestamp, pod: &Pod, node: &str) {
        let lower = self.preempting.nominations.on(node).map(|one| one.pod.clone());
        let lower: Vec<Arc<Pod>> = lower.filter(|one| one.priority < pod.priority).collect();
        for nominee in lower {
            let freed = self.withdraw(&nominee);
            self.wake_others(freed, now);
            self.wake_nominee(&nominee.uid, now);
        }
    }

    /// The API's answer to an eviction, if the write is one.
    pub(crate) fn settle_eviction(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) -> bool {
        let Some((victim, preemptor)) = self.preempting.evictions.remove(&write) else { return false };
        if let WriteOutcome::Failed(_) = outcome {
            self.preempting.leaving.remove(&victim);
            self.gangs.released.remove(&victim);
            // Nothing will happen that wakes it, and at once it would be the same again.
            self.wake_nominee_later(&preemptor, now);
        }
        true
    }
}

/// What came of looking for a place in vain.
fn failure(refusal: &PodRefusal, wakes_on: Wakes) -> Failure {
    match refusal.certainty() {
        Certainty::Proved => Failure::Refused(wakes_on),
        Certainty::LimitReached => Failure::LimitReached(wakes_on),
    }
}

/// What would be lacking still if pods went.
#[derive(Default)]
struct Lacks {
    /// On how many nodes there is nobody who could go.
    without: usize,
    /// On how many others it would not be enough, by reasons.
    reasons: BTreeMap<Reason, usize>,
    /// On how many others it was not tried any more.
    not_tried: usize,
    wakes_on: Wakes,
}

impl Hopeless {
    /// Why preemption would not help a pod with these claims that need devices, in Kubernetes' words.
    fn told(&self, own: &[ClaimId]) -> String {
        let told = |(reason, count): (&Reason, &usize)| format!("{count} {}", reason.told(own));
        let mut lines: Vec<String> = self.reasons.iter().map(told).collect();
        lines.sort_unstable();
        format!("0/{} nodes are available: {}.", self.nodes, lines.join(", "))
    }

    fn attempt(&self, own: &[ClaimId]) -> Attempt {
        Attempt::Hopeless(self.told(own), self.wakes_on)
    }
}

impl Lacks {
    fn add(&mut self, lack: Lack) {
        lack.reasons.into_iter().for_each(|reason| *self.reasons.entry(reason).or_default() += 1);
        self.wakes_on = self.wakes_on.or(lack.wakes_on);
    }

    /// Why preemption would not help. Nodes that are neither without victims nor lack something are out of the question anyway.
    fn hopeless(self, refusal: &PodRefusal) -> Hopeless {
        let Lacks { without, mut reasons, not_tried, wakes_on } = self;
        let nodes = refusal.nodes();
        let not_helpful = nodes - refusal.curable().len();
        for (reason, count) in [(NO_VICTIMS, without), (NOT_TRIED, not_tried), (NOT_HELPFUL, not_helpful)] {
            if count > 0 {
                reasons.insert(reason.into(), count);
            }
        }
        Hopeless { nodes, reasons, wakes_on }
    }
}
