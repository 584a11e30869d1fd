//! The scores of all nodes that would do for a pod, for people who want to know why one was chosen.

use cluster::facts::Facts;
use cluster::nodes::NodeIdx;
use model::identity::NodeName;
use model::pod::Pod;

use crate::filters::{self, Around, Mounts};
use crate::lanes::OneLane;
use crate::pod::companions::companions_of;
use crate::scores::{self, Score, View};
use crate::settings::Settings;

/// The scores of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeScores {
    /// The node.
    pub node: NodeName,
    /// The score of each kind that counts and about which the pod says something.
    pub scores: Vec<(Score, i64)>,
    /// Their weighted sum.
    pub total: i64,
}

/// How the nodes compare that are not out of the question for a pod, whatever devices it needs. There are none for a pod
/// that asks for no profile of ours, or whose volumes cannot be had.
#[must_use]
pub fn compare(settings: &Settings, facts: &Facts, pod: &Pod) -> Vec<NodeScores> {
    let Some(profile) = settings.profile(pod) else { return Vec::new() };
    let (shape, rules) = (&pod.shape, &profile.filters);
    let companions = companions_of(facts, shape, profile);
    let around = Around::new(shape, &facts.nodes, &facts.namespaces, rules, companions.as_ref());
    let around = around.with_volumes(&facts.nodes, &facts.volumes, rules);
    let Ok(mounts) = Mounts::new(shape, &facts.volumes, rules) else { return Vec::new() };
    let fits = |(_, state): &(NodeIdx, &cluster::nodes::NodeState)| {
        let node = filters::node_of(state);
        filters::fixed(shape, node, rules)
            .and_then(|()| filters::usage(shape, state, rules))
            .and_then(|()| mounts.check(state, &facts.volumes))
            .and_then(|()| around.check(state))
            .is_ok()
    };
    let candidates: Vec<NodeIdx> = facts.nodes.iter().filter(fits).map(|(at, _)| at).collect();
    let view = View {
        nodes: &facts.nodes,
        namespaces: &facts.namespaces,
        images: &facts.images,
        companions: companions.as_ref(),
        volumes: Some((&mounts, &*facts.volumes)).filter(|_| shape.has_volumes()),
        settings: &profile.scores,
    };
    let by_kind = scores::by_kind(shape, &candidates, &view);
    let totals = scores::totals(shape, &candidates, &view, &OneLane);
    let of_node = |(at, (node, total)): (usize, (&NodeIdx, i64))| NodeScores {
        node: filters::node_of(facts.nodes.get(*node)).name.clone(),
        scores: by_kind.iter().map(|(kind, scores)| (*kind, scores[at])).collect(),
        total,
    };
    candidates.iter().zip(totals).enumerate().map(of_node).collect()
}
