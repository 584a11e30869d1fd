//! Claims that stand in the way of their own pod: they have devices, no other pod uses them, and the devices are where the pod
//! cannot go.
//!
//! One claim at a time gives its devices back, and only if that lets the pod onto a node: one that a claim which keeps its devices
//! rules out stays ruled out.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::groups::Key;
use cluster::nodes::NodeIdx;
use model::identity::NodeName;
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::filters::node_of;
use crate::giving_back::Why;
use crate::values::in_the_way::{InTheWay, Remedy};
use crate::values::lot::mix;
use crate::values::pod_claims::PodClaims;

impl Cycle<'_> {
    /// The first claim of a pod that no other pod uses, and whose devices keep the pod off a node that would do otherwise.
    pub(crate) fn in_the_way(
        &mut self,
        pod: &Pod,
        claims: &PodClaims,
        candidates: &[NodeIdx],
    ) -> Option<InTheWay> {
        let gives_back = |state: &Arc<ClaimState>| self.gives_back(Why::BlocksOwnPod, &state.wish.id, pod);
        let (idle, kept): (Vec<_>, Vec<_>) = claims.settled.iter().cloned().partition(gives_back);
        if idle.is_empty() {
            return None;
        }
        let open = PodClaims { settled: kept, ..claims.clone() };
        if !claims.pending.is_empty() || idle.iter().any(|state| self.facts.is_of_driver(state)) {
            return self.one_in_the_way(pod, &idle, &open, candidates);
        }
        for at in candidates {
            let node = node_of(self.facts.nodes.get(*at)).clone();
            let away = |state: &&Arc<ClaimState>| !state.is_usable_on(&node);
            let Some(state) = idle.iter().find(away) else { continue };
            // Of no use if the pod's other claims find no devices there.
            if self.devices_on(&node, &open).is_ok() {
                let (claim, uid) = (state.wish.id.clone(), state.uid.clone());
                return Some(InTheWay { claim, uid, remedy: Remedy::Deallocate });
            }
        }
        None
    }

    /// One of the claims whose devices keep a pod off nodes that would do otherwise, or are of no use to it as things stand. Which
    /// one follows from the pod and the state of its claims only, and is another the next time: to ask for the same one over and
    /// over may lead nowhere. The claims that are open here are those that have no devices yet, and those that keep theirs.
    pub(crate) fn one_in_the_way(
        &mut self,
        pod: &Pod,
        idle: &[Arc<ClaimState>],
        open: &PodClaims,
        candidates: &[NodeIdx],
    ) -> Option<InTheWay> {
        let mut away: Vec<&Arc<ClaimState>> = Vec::new();
        let mut is_ruled_out = false;
        for at in candidates {
            let node = node_of(self.facts.nodes.get(*at)).clone();
            let there: Vec<_> = idle.iter().filter(|state| !state.is_usable_on(&node)).collect();
            let is_refused = there.iter().any(|state| self.is_refused(pod, state, &node.name));
            if is_refused || open.settled.iter().any(|kept| !kept.is_usable_on(&node)) {
                // The driver would give the claim nothing on that node, or another claim keeps the pod off it.
                is_ruled_out = true;
                continue;
            }
            // Of no use if the pod's other claims find no devices there.
            if !there.is_empty() && self.devices_on(&node, open).is_ok() {
                away.extend(there);
            }
        }
        // What drivers do not say of a node now they may have said before, when the pod was negotiated about in vain.
        let has_no_other = (away.is_empty() && is_ruled_out) || self.plans.rounds.failed(&Key::from(pod)) > 0;
        if has_no_other && self.is_chosen_and_full(pod, idle, open) {
            // If no pod can be preempted on the chosen node, all that was given to the pod is given back.
            return None;
        }
        if away.is_empty() && !candidates.is_empty() {
            // What it has is of no use while the rest cannot be had anywhere, and others may wait for it while they have the
            // rest. If only devices are lacking that the scheduler gives, those that it gave before need not be asked for again.
            let is_idle =
                |state: &&Arc<ClaimState>| !open.pending.is_empty() || self.facts.is_of_driver(state);
            away.extend(idle.iter().filter(is_idle));
        }
        away.sort_by_key(|state| state.wish.id.clone());
        away.dedup_by_key(|state| state.wish.id.clone());
        let mut seed = vec![&*pod.uid];
        seed.extend(idle.iter().map(|state| &*state.version));
        let state = away.get((mix(&seed) % away.len().max(1) as u64) as usize)?;
        let (claim, uid) = (state.wish.id.clone(), state.uid.clone());
        Some(InTheWay { claim, uid, remedy: Remedy::Deallocate })
    }

    /// Whether the driver of a claim has said to the pod that a node will not do for it.
    fn is_refused(&self, pod: &Pod, state: &ClaimState, node: &NodeName) -> bool {
        let Some(context) = self.facts.context(pod).filter(|_| state.control.controller.is_some()) else {
            return false;
        };
        let mut entries =
            pod.claims.iter().filter(|entry| pod.claim_id(entry).as_ref() == Some(&state.wish.id));
        entries.any(|entry| context.answers.get(&entry.name).is_some_and(|refused| refused.contains(&**node)))
    }

    /// Whether all claims of a single pod that has no place can be used on the node that was chosen for it, if they have devices, and drivers may
    /// still give the others there: it was chosen because other pods can be preempted there.
    fn is_chosen_and_full(&self, pod: &Pod, idle: &[Arc<ClaimState>], open: &PodClaims) -> bool {
        let chosen = self.plans.selections.of(&pod.uid).filter(|_| self.facts.groups.gang_of(pod).is_none());
        let Some(at) = chosen.and_then(|chosen| self.facts.nodes.find(chosen)) else { return false };
        let node = node_of(self.facts.nodes.get(at));
        let is_open = open.pending.iter().all(|pending| pending.refuses(node).is_none());
        let mut settled = idle.iter().chain(&open.settled);
        is_open && settled.all(|state| state.is_usable_on(node))
    }
}
