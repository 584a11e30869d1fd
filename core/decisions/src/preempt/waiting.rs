//! Nominees that wait until the pods they preempted are gone and have released their devices.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::nodes::NodeIdx;
use model::identity::{ConsumerUid, NodeName};
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::preempt::candidate::Candidate;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;

/// Pods that are going for a nominee.
#[derive(Debug)]
pub struct Going {
    /// The nominated node.
    pub node: NodeName,
    /// The pods.
    pub victims: Vec<Arc<Pod>>,
    /// What is planned for the nominee, if that was found out only now.
    pub planned: Option<Candidate>,
}

/// What a nominee waits for.
#[derive(Debug)]
pub(crate) enum NomineeWait {
    /// Pods that it preempted are still there.
    Going(Going),
    /// Devices of pods that it preempted are not free yet.
    Releasing,
}

impl Cycle<'_> {
    /// Why a nominee does not preempt again yet: pods are going for it, or have gone and their devices are not back.
    pub(crate) fn waits_for_victims(&mut self, pod: &Arc<Pod>, refusal: &PodRefusal) -> Option<NomineeWait> {
        let nomination = self.plans.nominations.get(&pod.uid)?;
        let at = self.facts.nodes.find(&nomination.node)?;
        // If the node is out of the question by now, it is of no use that pods go.
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
            let (node, is_planned) = (nomination.node.clone(), !nomination.victims.is_empty());
            let planned = if is_planned { None } else { self.plan_again(pod, at, &going) };
            return Some(NomineeWait::Going(Going { node, victims: going, planned }));
        }
        let is_releasing = nomination.freeing.iter().any(|(claim, uid)| {
            self.facts.claims.get(claim).is_some_and(|state| {
                // A pod that is still there and does not go keeps its devices: its eviction failed.
                let is_left = state
                    .reserved_for
                    .iter()
                    .all(|user| nomination.victims.contains(&**user) && !self.facts.nodes.has_pod(user));
                state.uid == *uid && state.allocation.is_some() && is_left && !self.is_kept_waiting(state)
            })
        });
        is_releasing.then_some(NomineeWait::Releasing)
    }

    /// Whether a claim keeps its devices for a pod that waits: it was called back, and what it had could not be given back.
    /// They are not given back before the pod is placed again.
    pub(crate) fn is_kept_waiting(&self, state: &ClaimState) -> bool {
        let claim = &state.wish.id;
        let waits = |user: &ConsumerUid| {
            self.facts.waiting.contains_key(&**user) && !self.underway.is_on_its_way(user)
        };
        let is_underway = || self.underway.is_given_up(claim) || self.underway.is_being_reserved(claim, None);
        state.reserved_for.iter().any(waits) && !is_underway()
    }

    /// The devices of a nominee of which only the nomination is known, as after a restart, and how they are made free.
    fn plan_again(&mut self, pod: &Arc<Pod>, at: NodeIdx, going: &[Arc<Pod>]) -> Option<Candidate> {
        let profile = self.settings.profile_of(pod);
        let claims = self.claims_of(pod, &profile).ok().filter(PodClaims::need_devices)?;
        let mut preemptor = self.preemptor((pod, &profile), &claims)?;
        self.look_ahead(&mut preemptor, at, going)
    }
}
