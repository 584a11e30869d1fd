//! The order in which nodes are selected for a pod whose claims are negotiated about, so that pods do not all select the same.
//!
//! A driver's devices mean nothing to us, so it is not known for how many pods a node will do. Pods of which all know the same would
//! all select the same node, and all but a few of them in vain. This is a preference and no rule: a node that is selected for others
//! will do if no other is as good.

use std::cmp::Reverse;

use cluster::nodes::NodeIdx;
use model::allocation::Allocation;
use model::pod::Pod;
use rustc_hash::FxHashMap;

use crate::cycle::Cycle;
use crate::filters::{self, FilterSettings, node_of};
use crate::profile::Profile;
use crate::scores::ready_devices;
use crate::values::lot::Lot;
use crate::values::openings::NODES_MAX;
use crate::values::pod_claims::PodClaims;

/// A node with the devices that it has for claims which we allocate.
type Place = (NodeIdx, Vec<Allocation>);

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
        let selections = &self.plans.selections;
        let others = selections.counts(&pod.uid);
        let others: FxHashMap<NodeIdx, usize> =
            others.filter_map(|(node, count)| Some((self.facts.nodes.find(node)?, count))).collect();
        let lot = Lot::of(&[&pod.uid]);
        let key = |(score, at): (i64, NodeIdx)| {
            let others = others.get(&at).copied().unwrap_or_default();
            (Reverse(score), others, lot.drawn(&node_of(self.facts.nodes.get(at)).name), at)
        };
        let mut ranked: Vec<_> = scored.into_iter().map(key).collect();
        ranked.sort_unstable();
        let mut ranked: Vec<NodeIdx> = ranked.into_iter().map(|(.., at)| at).collect();
        // No more than these are named to drivers, so nothing has to be known about the rest.
        let rest = ranked.split_off(ranked.len().min(NODES_MAX));
        let (roomy, crowded): (Vec<_>, Vec<_>) =
            ranked.into_iter().partition(|at| self.has_room_beside(pod, *at, settings));
        [roomy, rest, crowded].concat()
    }

    /// Nodes with devices in the order in which they are chosen for a pod that is negotiated about, by what they score without these.
    pub(crate) fn in_order_for_drivers(
        &self,
        (pod, claims): (&Pod, &PodClaims),
        profile: &Profile,
        found: Vec<Place>,
        scores: &FxHashMap<NodeIdx, i64>,
    ) -> Vec<Place> {
        let weight = self.readiness_weight(profile, claims);
        let score = |(at, found): &Place| {
            let ready = if weight == 0 { 0 } else { weight * ready_devices::score(found) };
            (scores.get(at).copied().unwrap_or_default() + ready, *at)
        };
        let scored = found.iter().map(score).collect();
        let mut found: FxHashMap<NodeIdx, Vec<Allocation>> = found.into_iter().collect();
        let ranked = self.apart_from_others(pod, scored, &profile.filters);
        ranked.into_iter().map(|at| (at, found.remove(&at).unwrap_or_default())).collect()
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
