//! The scores of candidates, by kind and in all.

use cluster::nodes::NodeIdx;
use model::pod::Shape;

use super::{balanced, images, node_affinity, pod_affinity, taints};
use crate::filters::node_of;
use crate::lanes::{Lanes, OneLane, in_parts};
use crate::scores::kind::Score;
use crate::scores::pod_affinity::PodWishes;
use crate::scores::scale::normalised;
use crate::scores::spread::SpreadWishes;
use crate::scores::view::{Candidate, View};
use crate::values::work::NODE;

/// The weighted sum for each candidate.
#[must_use]
pub fn totals(shape: &Shape, candidates: &[NodeIdx], view: &View<'_>, lanes: &dyn Lanes) -> Vec<i64> {
    let candidates: Vec<Candidate> = candidates.iter().map(|at| (*at).into()).collect();
    weighted(shape, &candidates, view, lanes, |_| true)
}

/// The weighted sum for a node of what can be told of it alone.
#[must_use]
pub fn local(shape: &Shape, at: NodeIdx, view: &View<'_>) -> i64 {
    let weighted = view.settings.weights.iter().filter(|(kind, weight)| *weight != 0 && !kind.is_relative());
    let score = |(kind, weight): &(Score, i64)| {
        let raw = Raw::new(*kind, shape, &[at.into()], view)?;
        Some(weight * raw.score(shape, at, view))
    };
    weighted.filter_map(score).sum()
}

/// The weighted sum for each candidate of what can be told only among all of them.
#[must_use]
pub fn relative(shape: &Shape, candidates: &[Candidate], view: &View<'_>) -> Vec<i64> {
    weighted(shape, candidates, view, &OneLane, Score::is_relative)
}

fn weighted(
    shape: &Shape,
    candidates: &[Candidate],
    view: &View<'_>,
    lanes: &dyn Lanes,
    counts: impl Fn(Score) -> bool,
) -> Vec<i64> {
    let weights = view.settings.weights.iter().filter(|(kind, weight)| *weight != 0 && counts(*kind));
    let kinds: Vec<(Raw, i64)> = weights
        .filter_map(|(kind, weight)| Some((Raw::new(*kind, shape, candidates, view)?, *weight)))
        .collect();
    let parts = in_parts(lanes, (candidates.len(), NODE), |part| {
        let of_kind = |(raw, _): &(Raw, i64)| -> Vec<i64> {
            candidates[part.clone()].iter().map(|one| raw.score(shape, one.at, view)).collect()
        };
        kinds.iter().map(of_kind).collect::<Vec<_>>()
    });
    let mut totals = vec![0; candidates.len()];
    for (number, (raw, weight)) in kinds.iter().enumerate() {
        let all = parts.iter().flat_map(|part| &part[number]).copied().collect();
        let scores = raw.compared(all).into_iter();
        totals.iter_mut().zip(scores).for_each(|(total, score)| *total += weight * score);
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
    let candidates: Vec<Candidate> = candidates.iter().map(|at| (*at).into()).collect();
    let raw = Raw::new(kind, shape, &candidates, view)?;
    let scores = candidates.iter().map(|one| raw.score(shape, one.at, view)).collect();
    Some(raw.compared(scores))
}

/// What a kind says of each candidate by itself, before they are compared.
#[derive(Debug)]
enum Raw {
    Taints,
    NodeAffinity,
    Resources,
    Balanced,
    Spread(SpreadWishes),
    PodAffinity(PodWishes),
    Images,
}

impl Raw {
    /// Looks once at what counts for all candidates; nothing if the pod says nothing about it.
    fn new(kind: Score, shape: &Shape, candidates: &[Candidate], view: &View<'_>) -> Option<Raw> {
        let settings = view.settings;
        match kind {
            Score::Taints => Some(Raw::Taints),
            Score::NodeAffinity => {
                let says_nothing = shape.preferred_nodes.is_empty() && settings.preferred_nodes.is_empty();
                (!says_nothing).then_some(Raw::NodeAffinity)
            }
            Score::Resources => Some(Raw::Resources),
            Score::Balanced => balanced::applies(shape, &settings.balanced).then_some(Raw::Balanced),
            Score::Spread => SpreadWishes::new(shape, candidates, view).map(Raw::Spread),
            Score::PodAffinity => PodWishes::new(shape, view).map(Raw::PodAffinity),
            Score::Images => Some(Raw::Images),
            Score::Devices | Score::ReadyDevices => None,
        }
    }

    /// What it says of a candidate.
    fn score(&self, shape: &Shape, at: NodeIdx, view: &View<'_>) -> i64 {
        let (state, settings) = (view.nodes.get(at), view.settings);
        match self {
            Raw::Taints => taints::raw(shape, node_of(state), settings.compares_taints),
            Raw::NodeAffinity => node_affinity::raw(shape, node_of(state), &settings.preferred_nodes),
            Raw::Resources => settings.strategy.score(shape, state),
            Raw::Balanced => balanced::score(shape, state, &settings.balanced),
            Raw::Spread(wishes) => wishes.raw(at, node_of(state)),
            Raw::PodAffinity(wishes) => wishes.raw(node_of(state)),
            Raw::Images => images::score(view.images, shape, node_of(state)),
        }
    }

    /// The scores of all candidates from what was said of each.
    fn compared(&self, scores: Vec<i64>) -> Vec<i64> {
        match self {
            Raw::Taints => normalised(scores, true),
            Raw::NodeAffinity => normalised(scores, false),
            Raw::Spread(wishes) => wishes.normalised(scores),
            Raw::PodAffinity(_) => pod_affinity::normalised(scores),
            Raw::Resources | Raw::Balanced | Raw::Images => scores,
        }
    }
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
        assert_eq!(totals(&shape(""), &candidates, &view, &OneLane), [300, 0]);
    }
}
