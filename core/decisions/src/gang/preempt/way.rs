//! Whether pods can be preempted for a gang or a tree, are being preempted already, or would be in vain.

use std::sync::Arc;

use cluster::groups::Root;
use model::claim::ClaimId;
use model::identity::{ClaimUid, PodUid};
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::cycle::Cycle;
use crate::gang::party::Party;
use crate::gang::preempt::candidate::{GangCandidate, Going};
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
        let own = self.facts.groups.leaves_of(root);
        let others = pods.filter(|pod| self.facts.groups.gang_of(pod).is_none_or(|id| !own.contains(&id)));
        self.units_below(others.cloned(), importance, now)
    }

    /// The pods that go already, and claims that have yet to give devices back.
    fn going_for(&self, root: &Root, units: Vec<Unit>) -> Going {
        let Some(plan) = self.plans.gangs.get(root) else { return Going { units, ..Going::default() } };
        let is_gone = |uid: &&PodUid| !self.facts.nodes.has_pod(uid);
        let gone: Vec<PodUid> = plan.victims.iter().filter(is_gone).cloned().collect();
        let is_releasing = |(claim, uid): &&(ClaimId, ClaimUid)| {
            let state = self.facts.claims.get(claim);
            state.is_some_and(|state| {
                state.uid == *uid
                    && state.allocation.is_some()
                    && state.reserved_for.iter().all(|user| gone.iter().any(|pod| user.is(pod)))
                    && !self.is_kept_waiting(state)
            })
        };
        let claims = plan.freeing.iter().filter(is_releasing).map(|(claim, _)| claim.clone()).collect();
        Going { units, gone, claims }
    }
}
