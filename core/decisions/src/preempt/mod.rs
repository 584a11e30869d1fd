//! Preemption: who would have to go so that a pod or a gang fits.
//!
//! Invariant: nobody is said to have to go unless a trial has shown that the pod then fits on the node, with its devices.

mod absence;
mod nominations;
mod trial;
mod units;
mod victims;

use crate::cycle::Cycle;
use crate::filters::{Around, Mounts};
use crate::pod::{Claims, PodRefusal};
use crate::profile::Profile;
use crate::reason::Reason;
use crate::wake::Wakes;
pub(crate) use absence::Absence;
use cluster::claims::ClaimState;
use cluster::nodes::NodeIdx;
use model::claim::ClaimId;
use model::pod::Pod;
pub use nominations::{Nomination, Nominations, planned};
use std::collections::BTreeMap;
use std::sync::Arc;
use trial::{Ground, Lack, StillRefused};
pub use units::{Unit, broken, pods_of};
pub use victims::Candidate;
use victims::least_harm;
pub(crate) use victims::{Harm, harm};

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

/// Why nobody's going would help a pod.
#[derive(Clone, Debug)]
pub struct Hopeless {
    /// How many nodes there are.
    nodes: usize,
    /// How many have which reason.
    reasons: BTreeMap<Reason, usize>,
    /// What could give hope, besides what undoes the refusal.
    wakes_on: Wakes,
}

/// What came of looking for pods to preempt.
pub enum Attempt {
    /// There are no nodes at all, or nobody makes way for anybody.
    Never,
    /// The pod may not preempt, or not now. What is planned for it may have been found out only now.
    NotEligible(&'static str, Option<Candidate>),
    /// It would not help, as this sentence says, and this could give hope.
    Hopeless(String, Wakes),
    /// Somebody goes.
    Found(Candidate),
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

const NEVER: &str = "not eligible due to preemptionPolicy=Never.";
const TERMINATING: &str = "not eligible due to a terminating pod on the nominated node.";
const RELEASING: &str = "not eligible due to devices of a preempted pod that are yet to be released.";
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
const NOT_TRIED: &str = "reached the limit of the search for pods to preempt";
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

impl Cycle<'_> {
    /// Looks for pods whose going would help one that was refused. Devices that are planned for less important pods, and its own, do
    /// not matter to it.
    pub fn attempt(&mut self, pod: &Arc<Pod>, refusal: &PodRefusal) -> Attempt {
        let profile = self.settings.profile_of(pod);
        let Some(settings) = profile.preemption.filter(|_| refusal.nodes() > 0) else {
            return Attempt::Never;
        };
        if !pod.preempts {
            return Attempt::NotEligible(NEVER, None);
        }
        if let Some((reason, planned)) = self.waits_for_victims(pod, refusal) {
            return Attempt::NotEligible(reason, planned);
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
        match self.find_victims((pod, &profile), &claims, (curable, candidates_min)) {
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
        (self.facts.touches.now(), self.plans.users_changed)
    }

    /// The candidate that does the least harm, or why there is none.
    fn find_victims(
        &mut self,
        (pod, profile): (&Pod, &Profile),
        claims: &Claims,
        (curable, candidates_min): (&[NodeIdx], usize),
    ) -> Result<Candidate, Lacks> {
        let mut lacks = Lacks::default();
        let Some(mut ground) = self.ground((pod, profile), claims) else { return Err(lacks) };
        let mut candidates: Vec<Candidate> = Vec::new();
        for at in curable {
            if self.caches.work.is_spent() {
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
        least_harm(candidates, self.now).ok_or(lacks)
    }

    fn ground<'p>(&self, (pod, profile): (&'p Pod, &'p Profile), claims: &'p Claims) -> Option<Ground<'p>> {
        let settings = &profile.filters;
        let companions = self.companions_of(&pod.shape, profile);
        let around =
            Around::new(&pod.shape, &self.facts.nodes, &self.facts.namespaces, settings, companions.as_ref());
        let around = around.with_volumes(&self.facts.nodes, &self.facts.volumes, settings);
        let mounts = Mounts::new(&pod.shape, &self.facts.volumes, settings).ok()?;
        Some(Ground { pod, profile, claims, around, mounts, now: self.now, holders: BTreeMap::new() })
    }

    /// Why a nominee does not preempt again yet: pods are going for it, or have gone and their devices are not back.
    fn waits_for_victims(
        &mut self,
        pod: &Arc<Pod>,
        refusal: &PodRefusal,
    ) -> Option<(&'static str, Option<Candidate>)> {
        let nomination = self.plans.nominations.get(&pod.uid)?;
        let at = self.facts.nodes.find(&nomination.node)?;
        // If the node is out of the question by now, nobody goes for any use.
        refusal.curable().binary_search(&at).ok()?;
        let is_going = |one: &Pod| {
            one.priority < pod.priority && (one.deleting || self.plans.leaving.contains(&one.uid))
        };
        let here = self.facts.nodes.get(at).pods.values();
        let elsewhere = nomination.victims.iter().filter_map(|uid| Some(self.facts.nodes.pod(uid)?.1));
        let mut going: Vec<Arc<Pod>> = here.chain(elsewhere).filter(|one| is_going(one)).cloned().collect();
        going.sort_by(|left, right| left.uid.cmp(&right.uid));
        going.dedup_by(|left, right| left.uid == right.uid);
        if !going.is_empty() {
            let is_planned = !nomination.victims.is_empty();
            let planned = if is_planned { None } else { self.plan_again(pod, at, &going) };
            return Some((TERMINATING, planned));
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
        is_releasing.then_some((RELEASING, None))
    }

    /// Whether a claim keeps its devices for a pod that waits: it was called back, and what it had could not be given back.
    /// Nobody else sees to that before the pod is placed again.
    pub(crate) fn is_kept_waiting(&self, state: &ClaimState) -> bool {
        let claim = &state.wish.id;
        let waits =
            |user: &Arc<str>| self.facts.waiting.contains_key(user) && !self.underway.is_on_its_way(user);
        let is_underway = || self.underway.is_given_up(claim) || self.underway.is_being_reserved(claim, None);
        state.reserved_for.iter().any(waits) && !is_underway()
    }

    /// The devices of a nominee of which only the nomination is known, as after a restart, and how they are made free.
    fn plan_again(&mut self, pod: &Arc<Pod>, at: NodeIdx, going: &[Arc<Pod>]) -> Option<Candidate> {
        let profile = self.settings.profile_of(pod);
        let claims = self.claims_of(pod, &profile).ok().filter(Claims::need_devices)?;
        let ground = self.ground((pod, &profile), &claims)?;
        self.look_ahead(&ground, at, going)
    }
}
