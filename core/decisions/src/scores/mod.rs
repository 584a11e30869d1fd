//! What makes one node better than another, one file for each kind of reason.
//!
//! Each kind gives every candidate 0 to 100. Some can say so of a node alone, others only among all candidates, after a
//! raw score for each. A kind about which a pod says nothing is left out.

pub mod balanced;
pub mod devices;
pub mod images;
pub mod node_affinity;
pub mod pod_affinity;
pub mod resources;
pub mod spread;
pub mod taints;

use std::sync::Arc;

use cluster::images::ImageCounts;
use cluster::namespaces::Namespaces;
use cluster::nodes::{NodeIdx, NodeState, Nodes};
use model::node::NodeTerm;
use model::pod::{LabelSelector, Shape, Spread};

use self::pod_affinity::PodWishes;
use self::resources::Strategy;
use self::spread::SpreadWishes;
use crate::filters::node_of;

/// The best score.
pub const BEST: i64 = 100;

/// A kind of score.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Score {
    /// Fewer taints that the pod had better not bear.
    Taints,
    /// Nodes that the pod would like.
    NodeAffinity,
    /// More left, or less.
    Resources,
    /// Pods spread evenly.
    Spread,
    /// Pods that would like to be near or apart.
    PodAffinity,
    /// All resources used alike.
    Balanced,
    /// Images that are there already.
    Images,
    /// Devices that come closer to what claims would like. Told by the devices that were found, see [`devices`].
    Devices,
}

/// What people may set about scores.
#[derive(Clone, PartialEq, Debug)]
pub struct ScoreSettings {
    /// How much each kind counts; what is not listed does not count.
    pub weights: Vec<(Score, i64)>,
    /// Whether more or less should be left of a node, and of what.
    pub strategy: Strategy,
    /// Resources that should be used alike.
    pub balanced: Vec<Arc<str>>,
    /// Nodes that any pod would like, by how much.
    pub preferred_nodes: Vec<(i32, NodeTerm)>,
    /// How much it counts for a node that a pod there must be near the new one.
    pub required_near: i32,
    /// Whether the wishes of placed pods do not count for a pod that has none itself.
    pub ignores_wishes_of_others: bool,
    /// Whether tolerations may compare numbers.
    pub compares_taints: bool,
    /// How pods should be spread that say nothing about it, if it is known among which pods. Selectors are left open here.
    pub default_spread: Vec<Spread>,
    /// Whether nodes that lack a label of these rules are worst, as they are for the rules of pods.
    pub default_spread_needs_labels: bool,
}

impl Default for ScoreSettings {
    fn default() -> ScoreSettings {
        ScoreSettings {
            weights: vec![
                (Score::Taints, 3),
                (Score::NodeAffinity, 2),
                (Score::Resources, 1),
                (Score::Spread, 2),
                (Score::PodAffinity, 2),
                (Score::Devices, 2),
                (Score::Balanced, 1),
                (Score::Images, 1),
            ],
            strategy: Strategy::default(),
            balanced: vec!["cpu".into(), "memory".into()],
            preferred_nodes: Vec::new(),
            required_near: 1,
            ignores_wishes_of_others: false,
            compares_taints: false,
            default_spread: spread::system_rules(),
            default_spread_needs_labels: false,
        }
    }
}

impl ScoreSettings {
    /// How much a kind counts.
    #[must_use]
    pub fn weight(&self, kind: Score) -> i64 {
        self.weights.iter().filter(|(weighted, _)| *weighted == kind).map(|(_, weight)| weight).sum()
    }
}

/// What scores look at besides the pod and the candidates.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// All nodes, with the pods on them.
    pub nodes: &'a Nodes,
    /// All namespaces.
    pub namespaces: &'a Namespaces,
    /// How common images are.
    pub images: &'a ImageCounts,
    /// Which pods a pod without rules of its own is to be spread among: those of its services and of its owner.
    pub companions: Option<&'a LabelSelector>,
    /// What people have set.
    pub settings: &'a ScoreSettings,
}

/// The weighted sum for each candidate.
#[must_use]
pub fn totals(shape: &Shape, candidates: &[NodeIdx], view: &View<'_>) -> Vec<i64> {
    let mut totals = vec![0; candidates.len()];
    for (kind, scores) in by_kind(shape, candidates, view) {
        let weight = view.settings.weight(kind);
        for (total, score) in totals.iter_mut().zip(scores) {
            *total += weight * score;
        }
    }
    totals
}

/// The scores of each kind that has a weight and about which the pod says something, for each candidate.
#[must_use]
pub fn by_kind(shape: &Shape, candidates: &[NodeIdx], view: &View<'_>) -> Vec<(Score, Vec<i64>)> {
    let weighted = view.settings.weights.iter().filter(|(_, weight)| *weight != 0);
    weighted.filter_map(|(kind, _)| Some((*kind, scores(*kind, shape, candidates, view)?))).collect()
}

/// The scores of one kind for each candidate; none if the pod says nothing about it.
#[must_use]
pub fn scores(kind: Score, shape: &Shape, candidates: &[NodeIdx], view: &View<'_>) -> Option<Vec<i64>> {
    let settings = view.settings;
    let each = |score: &dyn Fn(&NodeState) -> i64| -> Vec<i64> {
        candidates.iter().map(|at| score(view.nodes.get(*at))).collect()
    };
    Some(match kind {
        Score::Taints => {
            let raw = each(&|state| taints::raw(shape, node_of(state), settings.compares_taints));
            normalised(raw, true)
        }
        Score::NodeAffinity => {
            if shape.preferred_nodes.is_empty() && settings.preferred_nodes.is_empty() {
                return None;
            }
            normalised(
                each(&|state| node_affinity::raw(shape, node_of(state), &settings.preferred_nodes)),
                false,
            )
        }
        Score::Resources => each(&|state| settings.strategy.score(shape, state)),
        Score::Balanced => {
            if !balanced::applies(shape, &settings.balanced) {
                return None;
            }
            each(&|state| balanced::score(shape, state, &settings.balanced))
        }
        Score::Spread => {
            let wishes = SpreadWishes::new(shape, candidates, view)?;
            wishes.normalised(each(&|state| wishes.raw(state)))
        }
        Score::PodAffinity => {
            let wishes = PodWishes::new(shape, view)?;
            pod_affinity::normalised(each(&|state| wishes.raw(node_of(state))))
        }
        Score::Images => each(&|state| images::score(view.images, shape, node_of(state))),
        Score::Devices => return None,
    })
}

/// Stretches scores so that the highest becomes the best, or turned round the worst.
#[must_use]
pub fn normalised(mut scores: Vec<i64>, turned: bool) -> Vec<i64> {
    let most = scores.iter().copied().max().unwrap_or(0).max(0);
    for score in &mut scores {
        let share = if most == 0 { 0 } else { score.saturating_mul(BEST) / most };
        *score = if turned { BEST - share } else { share };
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{at, node, nodes, shape, taint};

    #[test]
    fn scores_are_stretched_to_a_hundred() {
        assert_eq!(normalised(vec![1, 2, 4], false), [25, 50, 100]);
        assert_eq!(normalised(vec![1, 2, 3], true), [67, 34, 0]);
        assert_eq!(normalised(vec![0, 0], false), [0, 0]);
        assert_eq!(normalised(vec![0, 0], true), [100, 100]);
    }

    #[test]
    fn kinds_count_by_weight_and_those_without_a_say_are_left_out() {
        let mut shunned = node("b", "");
        shunned.taints.push(taint("k=v:PreferNoSchedule"));
        let nodes = nodes([node("a", ""), shunned], []);
        let (namespaces, images, settings) = Default::default();
        let view = View {
            nodes: &nodes,
            namespaces: &namespaces,
            images: &images,
            companions: None,
            settings: &settings,
        };
        let candidates = [at(&nodes, "a"), at(&nodes, "b")];
        let kinds: Vec<_> =
            by_kind(&shape(""), &candidates, &view).into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [Score::Taints, Score::Resources, Score::Images]);
        assert_eq!(totals(&shape(""), &candidates, &view), [300, 0]);
    }
}
