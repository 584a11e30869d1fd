//! Whether a verdict about an earlier moment holds now.
//!
//! Why there is no place is said as it was: what asked has heard what happened since. A place, and pods that would have to go, count
//! only if they do now.
//!
//! Invariant: what comes out holds for what is known now. What was known earlier only tells where to look.

use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::identity::PodUid;
use model::pod::Pod;

use crate::considering::question::{
    Clearing, GangVerdict, PodVerdict, SchedulingQuestion, SchedulingVerdict, SeatsVerdict,
};
use crate::considering::situation::{Considered, Situation, Snapshot};
use crate::considering::unchanged::Unchanged;
use crate::cycle::Cycle;
use crate::filters::{self, Around, Mounts};
use crate::gang::{GangCandidate, Way, importance};
use crate::pod::Beside;
use crate::preempt::{Absence, Attempt, Candidate, Going, pods_of};
use crate::values::choice::Choice;
use crate::values::node_refusal::NodeRefusal;
use crate::values::pod_refusal::PodRefusal;

impl Situation<'_> {
    /// What of a verdict holds now; nothing if it has to be decided anew.
    pub fn confirm(
        &mut self,
        question: &SchedulingQuestion,
        considered: Considered,
    ) -> Option<SchedulingVerdict> {
        let Considered { verdict, snapshot, .. } = considered;
        match (question, verdict) {
            (SchedulingQuestion::Pod(pod), SchedulingVerdict::Pod(verdict)) => {
                Some(SchedulingVerdict::Pod(Box::new(self.confirm_pod(pod, *verdict, &snapshot)?)))
            }
            (_, SchedulingVerdict::Gang(verdict)) => {
                let GangVerdict { tried, seats } = *verdict;
                let seats = self.confirm_gang(question, seats, &snapshot)?;
                Some(SchedulingVerdict::Gang(Box::new(GangVerdict { tried, seats })))
            }
            (_, SchedulingVerdict::Pod(_)) => None,
        }
    }

    fn confirm_pod(&mut self, pod: &Arc<Pod>, verdict: PodVerdict, before: &Snapshot) -> Option<PodVerdict> {
        if !self.unchanged(before).is_pod(pod) {
            return None;
        }
        match verdict {
            PodVerdict::Placed { choice, .. } => {
                if !self.unchanged(before).is_choice(&choice) {
                    return None;
                }
                let mut cycle = self.cycle();
                let lifted = cycle.lift_plans(pod);
                let holds = pod.node.is_some() || cycle.have_room([(pod, &choice)], before);
                holds.then_some(PodVerdict::Placed { choice, lifted })
            }
            PodVerdict::Refused { refusal, attempt } => {
                let attempt = match attempt {
                    Some(Attempt::Found(candidate)) => {
                        let mut cycle = self.cycle();
                        cycle.lift_plans(pod);
                        Some(Attempt::Found(cycle.try_candidate(pod, &refusal, &candidate, before)?))
                    }
                    Some(Attempt::Going(Going { planned: Some(_), .. })) => {
                        let mut cycle = self.cycle();
                        cycle.lift_plans(pod);
                        Some(cycle.waits_for_victims(pod, &refusal)?.into())
                    }
                    other => other,
                };
                Some(PodVerdict::Refused { refusal, attempt })
            }
        }
    }

    fn confirm_gang(
        &mut self,
        question: &SchedulingQuestion,
        seats: SeatsVerdict,
        before: &Snapshot,
    ) -> Option<SeatsVerdict> {
        let members = question.pods();
        // Why there are no seats was found without members that have come since, which may be all that are left.
        let were_there = || members.iter().all(|pod| before.facts.waiting.contains_key(&pod.uid));
        match seats {
            SeatsVerdict::NoTree => None,
            SeatsVerdict::Unfit(_) | SeatsVerdict::NoSeats(_) if !were_there() => None,
            SeatsVerdict::Unfit(refusal) => Some(SeatsVerdict::Unfit(refusal)),
            SeatsVerdict::Replicas(replicas) => {
                let seated: Vec<&(Arc<Pod>, Choice)> =
                    replicas.iter().flat_map(|(_, seated)| seated).collect();
                let is_first =
                    question.pods().iter().all(|pod| seated.iter().any(|(one, _)| one.uid == pod.uid));
                (is_first && self.holds(&seated, i32::MIN, before).is_some())
                    .then_some(SeatsVerdict::Replicas(replicas))
            }
            SeatsVerdict::Seats { in_the_way, seated, .. } => {
                let importance = self.importance_of(question);
                let all: Vec<&(Arc<Pod>, Choice)> = seated.iter().collect();
                let lifted = self.holds(&all, importance, before)?;
                Some(SeatsVerdict::Seats { in_the_way, seated, lifted })
            }
            SeatsVerdict::NoSeats(none) => {
                let importance = none.sought.party().importance(members);
                if let Clearing::Pods(Way::Coming(candidate) | Way::Found(candidate)) = &none.way
                    && !self.makes_room(candidate, importance, before)
                {
                    return None;
                }
                if let Clearing::Claims(_) = &none.way
                    && !members.iter().all(|pod| self.unchanged(before).is_pod(pod))
                {
                    return None;
                }
                Some(SeatsVerdict::NoSeats(none))
            }
        }
    }

    /// Plans for pods that are less important than this do not matter.
    fn importance_of(&self, question: &SchedulingQuestion) -> i32 {
        let groups = &self.facts.groups;
        match question {
            SchedulingQuestion::Pod(pod) => pod.priority,
            SchedulingQuestion::Gang { group, members, .. } => importance(group, members),
            SchedulingQuestion::Tree { root, members } => {
                let above = groups.composite(root.id()).map_or(i32::MIN, |composite| composite.priority);
                let leaves = groups.leaves_of(root);
                let known = leaves.iter().filter_map(|leaf| groups.get(leaf));
                known.fold(above, |least, group| least.min(importance(group, members)))
            }
        }
    }

    fn unchanged<'u>(&'u self, before: &'u Snapshot) -> Unchanged<'u> {
        Unchanged::new(before, self.facts, (self.plans, self.underway))
    }

    /// Whether members can have their seats; then whose planned devices do not matter to them.
    fn holds(
        &mut self,
        seated: &[&(Arc<Pod>, Choice)],
        importance: i32,
        before: &Snapshot,
    ) -> Option<Vec<PodUid>> {
        let mut unchanged = self.unchanged(before);
        if !seated.iter().all(|(pod, choice)| unchanged.is_pod(pod) && unchanged.is_choice(choice)) {
            return None;
        }
        let mut cycle = self.cycle();
        let lifted = cycle.lift_plans_below(importance, None);
        cycle.have_room(seated.iter().map(|(pod, choice)| (pod, choice)), before).then_some(lifted)
    }

    /// Whether members can have their seats once these pods are gone, which are there and can be asked to go.
    fn makes_room(&mut self, candidate: &GangCandidate, importance: i32, before: &Snapshot) -> bool {
        let mut unchanged = self.unchanged(before);
        let seated = &candidate.seated;
        if !seated.iter().all(|(pod, choice)| unchanged.is_pod(pod) && unchanged.is_choice(choice)) {
            return false;
        }
        let is_there = |victim: &Arc<Pod>| {
            let known = self.facts.nodes.pod(&victim.uid);
            known.is_some_and(|(_, pod)| pod.priority < importance && !self.plans.is_leaving(pod))
        };
        if !pods_of(&candidate.victims).all(is_there) {
            return false;
        }
        let mut cycle = self.cycle_below(importance);
        let own = seated.iter().flat_map(|(pod, _)| cycle.claims_used_by(pod)).collect();
        let mut absence = Absence::new(own, cycle.facts.mark());
        let going: Vec<Arc<Pod>> = {
            let known = candidate.gone.iter().filter_map(|uid| cycle.facts.nodes.pod(uid));
            known.map(|(_, pod)| pod.clone()).collect()
        };
        going.iter().for_each(|pod| cycle.depart_one(&mut absence, pod));
        let gone = candidate.gone.iter().filter(|uid| going.iter().all(|pod| pod.uid != **uid));
        let freeing = candidate.freeing.iter().map(|(claim, _)| claim.clone());
        let gone: Vec<PodUid> = gone.cloned().collect();
        cycle.depart_for_good(&mut absence, gone, freeing);
        let holds = cycle.have_room(seated.iter().map(|(pod, choice)| (pod, choice)), before);
        cycle.end_absence(&absence);
        holds
    }
}

impl Cycle<'_> {
    /// Whether all of these can be on their nodes together, with the devices that were chosen.
    fn have_room<'p>(
        &mut self,
        seated: impl IntoIterator<Item = (&'p Arc<Pod>, &'p Choice)>,
        before: &Snapshot,
    ) -> bool {
        let seated: Vec<(&Arc<Pod>, &Choice)> = seated.into_iter().collect();
        let mark = self.facts.mark();
        let mut fits = true;
        for (pod, choice) in &seated {
            if !self.has_room(pod, choice, before) {
                fits = false;
                break;
            }
            self.assume_choice(pod, choice);
        }
        // They may need each other, so all of them are there when rules about pods are asked.
        let holds = fits && seated.iter().all(|(pod, choice)| self.is_welcome(pod, choice));
        self.facts.rewind(mark);
        holds
    }

    /// Whether a node has room for a pod, besides rules about pods.
    fn has_room(&self, pod: &Pod, choice: &Choice, before: &Snapshot) -> bool {
        let profile = self.settings.profile_of(pod);
        let (shape, settings) = (&pod.shape, &profile.filters);
        let Some(at) = self.facts.nodes.find(&choice.node) else { return false };
        let state = self.facts.nodes.get(at);
        // What devices take of their node is added up while they are looked for.
        let takes_of_node = !choice.claims.is_empty() && self.facts.slices.has_parts();
        if takes_of_node && self.is_touched(at, before) {
            return false;
        }
        // A volume that was planned for the pod may be planned for another by now.
        if !choice.volumes.is_empty() && !Arc::ptr_eq(&self.facts.volumes, &before.facts.volumes) {
            return false;
        }
        let found = filters::anywhere(shape, settings)
            .and_then(|()| filters::fixed(shape, filters::node_of(state), settings))
            .and_then(|()| filters::usage(shape, state, settings))
            .and_then(|()| Mounts::new(shape, &self.facts.volumes, settings))
            .and_then(|mounts| mounts.check(state, &self.facts.volumes));
        found.is_ok()
    }

    fn is_touched(&self, at: NodeIdx, before: &Snapshot) -> bool {
        let touched = self.facts.touches.since(before.facts.touches.now());
        touched.is_none_or(|nodes| nodes.binary_search(&at).is_ok())
    }

    /// Whether rules about pods let a pod be where it is assumed to be.
    fn is_welcome(&mut self, pod: &Arc<Pod>, choice: &Choice) -> bool {
        let Some(at) = self.facts.nodes.find(&choice.node) else { return false };
        let mark = self.facts.mark();
        if self.facts.unseat(&pod.uid).is_none() {
            return false;
        }
        let found = self.check_rules(pod, at);
        self.facts.rewind(mark);
        found.is_ok()
    }

    fn check_rules(&self, pod: &Pod, at: NodeIdx) -> Result<(), NodeRefusal> {
        let profile = self.settings.profile_of(pod);
        let (shape, settings) = (&pod.shape, &profile.filters);
        let companions = self.companions_of(shape, &profile);
        let around =
            Around::new(shape, &self.facts.nodes, &self.facts.namespaces, settings, companions.as_ref());
        let mut around = around.with_volumes(&self.facts.nodes, &self.facts.volumes, settings);
        let state = self.facts.nodes.get(at);
        around.check(state)?;
        let who = (&*pod.uid, pod.priority);
        let mounts = Mounts::new(shape, &self.facts.volumes, settings)?;
        let rules = (settings, Some(&mounts));
        self.check_beside_nominees(shape, who, state, Beside::Counted(&mut around), rules)
    }

    /// The pods of one node that have to go for a pod, as things stand.
    fn try_candidate(
        &mut self,
        pod: &Arc<Pod>,
        refusal: &PodRefusal,
        candidate: &Candidate,
        before: &Snapshot,
    ) -> Option<Candidate> {
        let profile = self.settings.profile_of(pod);
        let at = self.facts.nodes.find(&candidate.node)?;
        // What cannot be cured was asked of the node as it was.
        let labels = |state: &cluster::nodes::NodeState| state.node.clone();
        let is_same = labels(self.facts.nodes.get(at))
            == before.facts.nodes.find(&candidate.node).and_then(|at| labels(before.facts.nodes.get(at)));
        if !is_same || self.waits_for_victims(pod, refusal).is_some() {
            return None;
        }
        filters::fixed(&pod.shape, filters::node_of(self.facts.nodes.get(at)), &profile.filters).ok()?;
        let claims = self.claims_of(pod, &profile).ok()?;
        let mut preemptor = self.preemptor((pod, &profile), &claims)?;
        self.try_node(&mut preemptor, at).ok()
    }
}
