//! Which nodes are chosen for pods that are negotiated about, and how a pod is kept from choosing what others have chosen.
//!
//! A driver's devices mean nothing to us, so nobody knows how many pods a node is good for. Pods of which all know the same would all
//! choose the same node, and all but a few of them in vain. This is a preference and no rule: a node that others have chosen will do
//! if no other is as good.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::pod::Pod;

use super::NODES_MAX;
use super::wish::mix;
use crate::cycle::Cycle;
use crate::filters::{self, FilterSettings, node_of};

/// Nodes that are chosen, in contexts as the API has them or as they are being written.
#[derive(Debug, Default)]
pub struct Selections {
    /// The node of each pod, by its uid.
    of: BTreeMap<Arc<str>, Arc<str>>,
    /// Uids of pods by their node.
    at: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

impl Selections {
    /// This node is chosen for a pod, or none.
    pub fn set(&mut self, pod: &Arc<str>, node: Option<&Arc<str>>) {
        if let Some(before) = self.of.remove(pod) {
            super::forget(&mut self.at, &before, pod);
        }
        if let Some(node) = node {
            self.of.insert(pod.clone(), node.clone());
            self.at.entry(node.clone()).or_default().insert(pod.clone());
        }
    }

    /// The node that is chosen for a pod.
    pub fn of(&self, pod: &str) -> Option<&Arc<str>> {
        self.of.get(pod)
    }

    /// Uids of the other pods that a node is chosen for.
    fn others_at<'s>(&'s self, node: &str, pod: &'s str) -> impl Iterator<Item = &'s Arc<str>> {
        self.at.get(node).into_iter().flatten().filter(move |other| ***other != *pod)
    }
}

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
        // Who is on its way is there already.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_one_node_and_is_no_other_to_itself() {
        let mut selections = Selections::default();
        let mut choose = |pod: &str, node: Option<&str>| {
            let (pod, node) = (Arc::from(pod), node.map(Arc::from));
            selections.set(&pod, node.as_ref());
            let count = |node: &str| selections.others_at(node, "x").count();
            (selections.of(&pod).map(ToString::to_string), count("a"), count("b"))
        };
        assert_eq!(choose("p", Some("a")), (Some("a".to_owned()), 1, 0));
        assert_eq!(choose("p", Some("b")), (Some("b".to_owned()), 0, 1));
        assert_eq!(choose("q", Some("b")), (Some("b".to_owned()), 0, 2));
        assert_eq!(choose("x", Some("b")), (Some("b".to_owned()), 0, 2));
        for pod in ["p", "q", "x"] {
            choose(pod, None);
        }
        assert!(selections.of.is_empty() && selections.at.is_empty());
    }
}
