//! The attempt to make room for a pod that was refused, by the preemption of less important pods.

use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::pod::Pod;

use crate::caches::refusals::AlikePods;
use crate::cycle::Cycle;
use crate::preempt::candidate::{Candidate, least_harm};
use crate::preempt::lack::StillRefused;
use crate::preempt::lacks::Lacks;
use crate::preempt::waiting::{Going, NomineeWait};
use crate::profile::Profile;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;
use crate::values::preemption::{Hopeless, Ineligible, PodPreemption};

/// What came of looking for pods to preempt.
#[derive(Debug)]
pub enum Attempt {
    /// There are no nodes at all, or the profile has no preemption.
    Never,
    /// The pod may not preempt, or not now.
    NotEligible(Ineligible),
    /// Pods that it preempted are still there.
    Going(Going),
    /// It would not help.
    Hopeless(Hopeless),
    /// Pods are to be preempted.
    Found(Candidate),
}

impl From<NomineeWait> for Attempt {
    fn from(wait: NomineeWait) -> Attempt {
        match wait {
            NomineeWait::Going(going) => Attempt::Going(going),
            NomineeWait::Releasing => Attempt::NotEligible(Ineligible::Releasing),
        }
    }
}

impl Attempt {
    /// What came of it, as it is told.
    #[must_use]
    pub fn told(&self) -> Option<PodPreemption> {
        match self {
            Attempt::Never => None,
            Attempt::NotEligible(why) => Some(PodPreemption::NotEligible(*why)),
            // For who waits, nothing has changed since they were found.
            Attempt::Going(Going { node, victims, .. }) => {
                Some(PodPreemption::Found { node: node.clone(), victims: victims.len() })
            }
            Attempt::Hopeless(why) => Some(PodPreemption::Hopeless(why.clone())),
            Attempt::Found(candidate) => {
                let (node, victims) = (candidate.node.clone(), candidate.victims.len());
                Some(PodPreemption::Found { node, victims })
            }
        }
    }
}

impl Cycle<'_> {
    /// Looks for pods to preempt for one that was refused. Devices that are planned for less important pods, and its own, do
    /// not matter to it.
    pub fn attempt(&mut self, pod: &Arc<Pod>, refusal: &PodRefusal) -> Attempt {
        let profile = self.settings.profile_of(pod);
        let Some(settings) = profile.preemption.filter(|_| refusal.nodes() > 0) else {
            return Attempt::Never;
        };
        if !pod.preempts {
            return Attempt::NotEligible(Ineligible::Never);
        }
        if let Some(waits) = self.waits_for_victims(pod, refusal) {
            return waits.into();
        }
        let curable = refusal.curable();
        let nobody = self.facts.nodes.priority_min().is_none_or(|lowest| lowest >= pod.priority);
        if curable.is_empty() || nobody {
            let lacks = Lacks { without: curable.len(), ..Lacks::default() };
            return Attempt::Hopeless(lacks.hopeless(refusal));
        }
        // The pod was looked at a moment ago, so its claims can be told.
        let Ok(claims) = self.claims_of(pod, &profile) else {
            return Attempt::Hopeless(Lacks::default().hopeless(refusal));
        };
        let is_alike = self.is_alike_to_others(pod, &claims, &profile);
        let companions = self.companions_of(&pod.shape, &profile);
        let pods = AlikePods { pod, claims: &claims, profile: &profile, companions: companions.as_ref() };
        let known = self.caches.refusals.hopeless(pods, self.moment()).filter(|_| is_alike);
        if let Some(known) = known {
            return Attempt::Hopeless(known.clone().for_claims(claims.own()));
        }
        let candidates_min = settings.candidates(curable.len());
        match self.find_victims((pod, &profile), &claims, (curable, candidates_min)) {
            Ok(candidate) => Attempt::Found(candidate),
            Err(mut lacks) => {
                if let Some(breadth) = lacks.devices {
                    lacks.wakes_on.extend(&self.device_wakes(&claims, breadth));
                }
                let hopeless = Hopeless { own: claims.own(), ..lacks.hopeless(refusal) };
                if is_alike && !self.caches.work.is_cut() {
                    self.caches.refusals.remember_hopeless(pods, self.moment(), &hopeless);
                }
                Attempt::Hopeless(hopeless)
            }
        }
    }

    /// The candidate that does the least harm, or why there is none.
    fn find_victims(
        &mut self,
        (pod, profile): (&Pod, &Profile),
        claims: &PodClaims,
        (curable, candidates_min): (&[NodeIdx], usize),
    ) -> Result<Candidate, Lacks> {
        let mut lacks = Lacks::default();
        let Some(mut preemptor) = self.preemptor((pod, profile), claims) else { return Err(lacks) };
        let mut candidates: Vec<Candidate> = Vec::new();
        for at in curable {
            if self.caches.work.is_spent() {
                lacks.not_tried += 1;
                continue;
            }
            match self.try_node(&mut preemptor, *at) {
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
}
