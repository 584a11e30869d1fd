//! The scores of candidates, by kind and in all.

use cluster::nodes::{NodeIdx, NodeState};
use model::pod::Shape;

use super::{balanced, images, node_affinity, pod_affinity, taints};
use crate::filters::node_of;
use crate::scores::kind::Score;
use crate::scores::pod_affinity::PodWishes;
use crate::scores::scale::normalised;
use crate::scores::spread::SpreadWishes;
use crate::scores::view::{Candidate, View};

/// The weighted sum for each candidate.
#[must_use]
pub fn totals(shape: &Shape, candidates: &[NodeIdx], view: &View<'_>) -> Vec<i64> {
    let candidates: Vec<Candidate> = candidates.iter().map(|at| (*at).into()).collect();
    weighted(shape, &candidates, view, |_| true)
}

/// The weighted sum for a node of what can be told of it alone.
#[must_use]
pub fn local(shape: &Shape, at: NodeIdx, view: &View<'_>) -> i64 {
    weighted(shape, &[at.into()], view, |kind| !kind.is_relative())[0]
}

/// The weighted sum for each candidate of what can be told only among all of them.
#[must_use]
pub fn relative(shape: &Shape, candidates: &[Candidate], view: &View<'_>) -> Vec<i64> {
    weighted(shape, candidates, view, Score::is_relative)
}

fn weighted(
    shape: &Shape,
    candidates: &[Candidate],
    view: &View<'_>,
    counts: impl Fn(Score) -> bool,
) -> Vec<i64> {
    let mut totals = vec![0; candidates.len()];
    for (kind, weight) in view.settings.weights.iter().filter(|(kind, weight)| *weight != 0 && counts(*kind))
    {
        let scores = among(*kind, shape, candidates, view).into_iter().flatten();
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
    among(kind, shape, &candidates, view)
}

fn among(kind: Score, shape: &Shape, candidates: &[Candidate], view: &View<'_>) -> Option<Vec<i64>> {
    let settings = view.settings;
    let each = |score: &dyn Fn(&NodeState) -> i64| -> Vec<i64> {
        candidates.iter().map(|one| score(view.nodes.get(one.at))).collect()
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
            let raw = |one: &Candidate| wishes.raw(one.at, node_of(view.nodes.get(one.at)));
            wishes.normalised(candidates.iter().map(raw).collect())
        }
        Score::PodAffinity => {
            let wishes = PodWishes::new(shape, view)?;
            pod_affinity::normalised(each(&|state| wishes.raw(node_of(state))))
        }
        Score::Images => each(&|state| images::score(view.images, shape, node_of(state))),
        Score::Devices => return None,
    })
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
