//! One node for a pod that preempts: the pods there that have to go, and those that can stay after all.
//!
//! All less important pods are taken away first. If the pod fits then, as many as possible are put back, the most important first.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::filters::{Around, Mounts};
use crate::preempt::candidate::{Candidate, sort_by_importance};
use crate::preempt::lack::{Lack, Preemptor, StillRefused};
use crate::preempt::node_trial::NodeTrial;
use crate::preempt::units::{Unit, broken, pods_of};
use crate::profile::Profile;
use crate::values::pod_claims::PodClaims;
use crate::values::work;

impl Cycle<'_> {
    /// Whether a pod would fit on a node if less important pods went, and which have to.
    pub(crate) fn try_node(
        &mut self,
        preemptor: &mut Preemptor<'_>,
        at: NodeIdx,
    ) -> Result<Candidate, StillRefused> {
        let (importance, now) = (preemptor.pod.priority, preemptor.now);
        let lower = self.facts.nodes.get(at).pods.values().filter(|one| one.priority < importance);
        let here: Vec<Arc<Pod>> = lower.cloned().collect();
        self.caches.work.spend(work::NODE + here.len() as u64 * work::POD);
        let units = self.units_below(here.iter().cloned(), importance, now);
        let tried = (!units.is_empty()).then(|| self.try_without(preemptor, at, units));
        // Devices that are reached from elsewhere too may be had from pods there, perhaps with less harm.
        let is_about_devices = match &tried {
            None => true,
            Some(Ok(candidate)) => !candidate.freeing.is_empty(),
            Some(Err(lack)) => lack.is_of_devices,
        };
        let mut elsewhere = Vec::new();
        if is_about_devices && preemptor.claims.need_devices() {
            elsewhere = self.holders_elsewhere(preemptor, at);
        }
        if elsewhere.is_empty() {
            return match tried {
                None => Err(StillRefused::NoVictims),
                Some(tried) => tried.map_err(StillRefused::Lacks),
            };
        }
        self.caches.work.spend((here.len() + elsewhere.len()) as u64 * work::POD);
        let units = self.units_below(here.into_iter().chain(elsewhere), importance, now);
        if units.is_empty() {
            return Err(StillRefused::NoVictims);
        }
        let with_others = self.try_without(preemptor, at, units);
        match (tried, with_others) {
            (Some(Ok(one)), Ok(other)) => Ok(one.or_less_harm(other, preemptor.now)),
            (Some(Ok(one)), Err(_)) | (_, Ok(one)) => Ok(one),
            (_, Err(lack)) => Err(StillRefused::Lacks(lack)),
        }
    }

    /// Whether a pod would fit on a node if some of these went, and which have to.
    fn try_without(
        &mut self,
        preemptor: &mut Preemptor<'_>,
        at: NodeIdx,
        victims: Vec<Unit>,
    ) -> Result<Candidate, Lack> {
        let mut trial = self.trial(preemptor, at);
        self.caches.work.spend(work::NODE);
        let was_in_vain = self.check_room(&mut trial).is_ok();
        pods_of(&victims).for_each(|victim| self.take_away(&mut trial, victim));
        let fits = self.check(&mut trial, was_in_vain).map(|()| self.reprieve(&mut trial, victims));
        self.end_trial(&mut trial);
        fits
    }

    /// The devices that a pod would get on a node once pods that are going are gone, the claims that would give them back,
    /// and the pods that hold them.
    pub(crate) fn look_ahead(
        &mut self,
        preemptor: &mut Preemptor<'_>,
        at: NodeIdx,
        going: &[Arc<Pod>],
    ) -> Option<Candidate> {
        let mut trial = self.trial(preemptor, at);
        going.iter().for_each(|victim| self.take_away(&mut trial, victim));
        let fits = self.check(&mut trial, false).is_ok();
        let candidate = fits.then(|| candidate(&mut trial, going.to_vec(), (0, 0, 0)));
        self.end_trial(&mut trial);
        candidate
    }

    /// Lets as many pods stay as can, the most important first; before all others the pods that a disruption budget would keep.
    fn reprieve(&mut self, trial: &mut NodeTrial<'_, '_>, victims: Vec<Unit>) -> Candidate {
        let (kept, others): (Vec<_>, Vec<_>) =
            self.with_violations(victims).into_iter().partition(|(_, violations)| *violations > 0);
        let mut violations = 0;
        let mut going: Vec<Unit> = Vec::new();
        for (victim, of_budgets) in kept.into_iter().chain(others) {
            let found = trial.found.clone();
            victim.pods.iter().for_each(|pod| self.put_back(trial, pod));
            if self.check(trial, false).is_ok() {
                continue;
            }
            victim.pods.iter().for_each(|pod| self.take_away(trial, pod));
            // The devices are as free again as they were when these were found.
            trial.found = found;
            violations += of_budgets;
            going.push(victim);
        }
        let harm = (going.len(), violations, broken(&going));
        let mut going: Vec<Arc<Pod>> = pods_of(&going).cloned().collect();
        sort_by_importance(&mut going, trial.preemptor.now);
        candidate(trial, going, harm)
    }

    pub(crate) fn preemptor<'p>(
        &self,
        (pod, profile): (&'p Pod, &'p Profile),
        claims: &'p PodClaims,
    ) -> Option<Preemptor<'p>> {
        let settings = &profile.filters;
        let companions = self.companions_of(&pod.shape, profile);
        let around =
            Around::new(&pod.shape, &self.facts.nodes, &self.facts.namespaces, settings, companions.as_ref());
        let around = around.with_volumes(&self.facts.nodes, &self.facts.volumes, settings);
        let mounts = Mounts::new(&pod.shape, &self.facts.volumes, settings).ok()?;
        Some(Preemptor { pod, profile, claims, around, mounts, now: self.now, holders: BTreeMap::new() })
    }
}

fn candidate(
    trial: &mut NodeTrial<'_, '_>,
    victims: Vec<Arc<Pod>>,
    (units, violations, broken): (usize, usize, usize),
) -> Candidate {
    Candidate {
        node: trial.node.name.clone(),
        victims,
        units,
        violations,
        broken,
        allocations: trial.found.take().unwrap_or_default(),
        freeing: trial.aside.iter().map(|(id, (uid, _))| (id.clone(), uid.clone())).collect(),
    }
}
