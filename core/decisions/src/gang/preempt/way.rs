//! Whether pods can be preempted for a gang or a tree, are being preempted already, or would be in vain.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::groups::Root;
use model::claim::ClaimId;
use model::group::GroupId;
use model::identity::{ClaimUid, ConsumerUid, PodUid};
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::cycle::Cycle;
use crate::gang::party::Party;
use crate::gang::preempt::candidate::{GangCandidate, Going};
use crate::plans::gang::GangPlan;
use crate::preempt::Unit;
use crate::values::gang_preemption::Helpless;

/// What came of looking for pods to preempt for a gang.
#[derive(Debug)]
pub enum Way {
    /// The profile has no preemption.
    Never,
    /// The gang may not preempt.
    NotEligible,
    /// It would not help.
    Hopeless(Helpless),
    /// These are going already, and that is enough.
    Coming(GangCandidate),
    /// Pods are to be preempted.
    Found(GangCandidate),
}

impl Cycle<'_> {
    /// Looks for pods that could make way for a gang.
    pub fn look_for_way(&mut self, party: Party<'_>, members: &[Arc<Pod>]) -> Way {
        if party.profile().preemption.is_none() {
            return Way::Never;
        }
        let now = self.now;
        if !party.preempts() || members.iter().any(|pod| !pod.preempts) {
            return Way::NotEligible;
        }
        let root = &party.root();
        let units = self.units_besides(root, party.importance(members), now);
        let (leaving, units): (Vec<_>, Vec<_>) =
            units.into_iter().partition(|unit| unit.pods.iter().all(|pod| self.plans.is_leaving(pod)));
        let going = self.going_for(root, leaving);
        let is_awaited = !going.units.is_empty() || !going.claims.is_empty();
        if is_awaited && let Some(candidate) = self.seats_to_come(party, &going) {
            return Way::Coming(candidate);
        }
        match self.find_gang_victims(now, party, &units, &going) {
            Ok(candidate) => Way::Found(candidate),
            Err(why) => Way::Hopeless(why),
        }
    }

    /// The units that are less important than this, but for a group or all groups of a tree.
    fn units_besides(&self, root: &Root, importance: i32, now: Timestamp) -> Vec<Unit> {
        if self.facts.nodes.priority_min().is_none_or(|lowest| lowest >= importance) {
            return Vec::new();
        }
        let pods = self.facts.nodes.iter().flat_map(|(_, state)| state.pods.values());
        let own: BTreeSet<GroupId> = self.facts.groups.leaves_of(root).into_iter().collect();
        let others = pods.filter(|pod| self.facts.groups.gang_of(pod).is_none_or(|id| !own.contains(&id)));
        self.units_below(others.cloned(), importance, now)
    }

    /// The pods that go already, and claims that have yet to give devices back.
    fn going_for(&self, root: &Root, units: Vec<Unit>) -> Going {
        let Some(plan) = self.plans.gangs.get(root) else { return Going { units, ..Going::default() } };
        let is_gone = |uid: &&PodUid| !self.facts.nodes.has_pod(uid);
        let gone: Vec<PodUid> = plan.victims.iter().filter(is_gone).cloned().collect();
        let claims = plan.freeing.iter().filter(|(claim, uid)| self.is_releasing(plan, claim, uid));
        let claims = claims.map(|(claim, _)| claim.clone()).collect();
        Going { units, gone, claims }
    }

    /// Whether room that is being made for a gang or a tree is not free yet: pods that go for it are still there, or claims have yet to
    /// give devices back.
    #[must_use]
    pub fn awaits_room(&self, root: &Root) -> bool {
        let Some(plan) = self.plans.gangs.get(root) else { return false };
        let is_going = |uid: &PodUid| {
            // One that was called back on its way may be on another node by now.
            self.facts.nodes.pod(uid).is_some_and(|(_, pod)| self.plans.is_leaving(pod))
        };
        plan.victims.iter().any(is_going)
            || plan.freeing.iter().any(|(claim, uid)| self.is_releasing(plan, claim, uid))
    }

    /// Whether a claim has devices of which pods that are gone make no more use, and gives them back.
    fn is_releasing(&self, plan: &GangPlan, claim: &ClaimId, uid: &ClaimUid) -> bool {
        let is_gone = |user: &ConsumerUid| plan.victims.contains(&**user) && !self.facts.nodes.has_pod(user);
        self.facts.claims.get(claim).is_some_and(|state| {
            state.uid == *uid
                && state.allocation.is_some()
                && state.reserved_for.iter().all(is_gone)
                && !self.is_kept_waiting(state)
        })
    }
}
