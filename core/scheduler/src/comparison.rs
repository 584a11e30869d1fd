//! How nodes compare for a pod, for those who want to know why one was chosen.

use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::pod::Pod;

use crate::engine::Engine;
use crate::filters::{self, Around, Mounts};
use crate::scores::{self, Score, View};

/// The scores of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeScores {
    /// The node.
    pub node: Arc<str>,
    /// The score of each kind that counts and about which the pod says something.
    pub scores: Vec<(Score, i64)>,
    /// Their weighted sum.
    pub total: i64,
}

impl Engine {
    /// How the nodes compare that are not out of the question for a pod, whatever devices it needs. There are none for a pod
    /// that asks for no profile of ours, or whose volumes cannot be had.
    #[must_use]
    pub fn compare(&self, pod: &Pod) -> Vec<NodeScores> {
        let Some(profile) = self.settings.profile(pod) else { return Vec::new() };
        let (shape, settings) = (&pod.shape, &profile.filters);
        let companions = self.companions_of(shape, profile);
        let around =
            Around::new(shape, &self.facts.nodes, &self.facts.namespaces, settings, companions.as_ref());
        let around = around.with_volumes(&self.facts.nodes, &self.facts.volumes, settings);
        let Ok(mounts) = Mounts::new(shape, &self.facts.volumes, settings) else { return Vec::new() };
        let fits = |(_, state): &(NodeIdx, &cluster::nodes::NodeState)| {
            let node = filters::node_of(state);
            filters::fixed(shape, node, settings)
                .and_then(|()| filters::usage(shape, state, settings))
                .and_then(|()| mounts.check(node))
                .and_then(|()| around.check(state))
                .is_ok()
        };
        let candidates: Vec<NodeIdx> = self.facts.nodes.iter().filter(fits).map(|(at, _)| at).collect();
        let view = View {
            nodes: &self.facts.nodes,
            namespaces: &self.facts.namespaces,
            images: &self.facts.images,
            companions: companions.as_ref(),
            settings: &profile.scores,
        };
        let by_kind = scores::by_kind(shape, &candidates, &view);
        let totals = scores::totals(shape, &candidates, &view);
        let of_node = |(at, (node, total)): (usize, (&NodeIdx, i64))| NodeScores {
            node: filters::node_of(self.facts.nodes.get(*node)).name.clone(),
            scores: by_kind.iter().map(|(kind, scores)| (*kind, scores[at])).collect(),
            total,
        };
        candidates.iter().zip(totals).enumerate().map(of_node).collect()
    }
}
