//! The order in which nodes are selected for a pod whose claims are negotiated about, so that pods do not all select the same.
//!
//! A driver's devices mean nothing to us, so it is not known for how many pods a node will do. Pods of which all know the same would
//! all select the same node, and all but a few of them in vain. This is a preference and no rule: a node that is selected for others
//! will do if no other is as good.

use std::cmp::Reverse;

use cluster::nodes::NodeIdx;
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::filters::{self, FilterSettings, node_of};
use crate::values::lot::mix;
use crate::values::openings::NODES_MAX;

impl Cycle<'_> {
    /// Nodes in the order in which they are chosen for a pod that is negotiated about: those first that have room for it beside the
    /// others that they are chosen for, then by their score, those first that fewer pods have chosen, and at last by lot. The lot
    /// follows from the pod, so that schedulers that know nothing of each other do not all draw the same.
    pub(crate) fn apart_from_others(
        &self,
        pod: &Pod,
        scored: Vec<(i64, NodeIdx)>,
        settings: &FilterSettings,
    ) -> Vec<NodeIdx> {
        let name = |at: NodeIdx| &node_of(self.facts.nodes.get(at)).name;
        let mut ranked = scored;
        ranked.sort_by_cached_key(|(score, at)| {
            let others = self.plans.selections.others_at(name(*at), &pod.uid).count();
            (Reverse(*score), others, mix(&[&pod.uid, name(*at)]), *at)
        });
        let mut ranked: Vec<NodeIdx> = ranked.into_iter().map(|(_, at)| at).collect();
        // No more than these are named to drivers, so nothing has to be known about the rest.
        let rest = ranked.split_off(ranked.len().min(NODES_MAX));
        let (roomy, crowded): (Vec<_>, Vec<_>) =
            ranked.into_iter().partition(|at| self.has_room_beside(pod, *at, settings));
        [roomy, rest, crowded].concat()
    }

    /// Whether there is room for a pod on a node beside the others that it is chosen for.
    fn has_room_beside(&self, pod: &Pod, at: NodeIdx, settings: &FilterSettings) -> bool {
        let state = self.facts.nodes.get(at);
        let others = self.plans.selections.others_at(&node_of(state).name, &pod.uid);
        // A pod that is on its way is there already.
        let others = others.filter(|uid| !state.pods.contains_key(*uid));
        let mut others = others.filter_map(|uid| self.facts.waiting.get(uid)).peekable();
        if others.peek().is_none() {
            return true;
        }
        let mut state = state.clone();
        others.for_each(|other| state.put(other.clone()));
        filters::usage(&pod.shape, &state, settings).is_ok()
    }
}
