//! Pods that would like to be near each other or apart.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::label_sets::LabelSet;
use cluster::nodes::placed_terms::{PlacedTerm, TermRole};
use cluster::nodes::{NodeIdx, Nodes};
use model::node::Node;
use model::pod::Shape;
use rustc_hash::FxHashMap;

use crate::filters::{OwnTerm, reaches};
use crate::scores::scale::BEST;
use crate::scores::view::View;

/// What each place is worth, by the label that tells places apart and its value.
#[derive(Clone, Debug)]
pub struct PodWishes {
    worth: BTreeMap<Arc<str>, FxHashMap<Arc<str>, i64>>,
}

impl PodWishes {
    /// Looks at the pods that matter. There is no score if no pod wishes for anything.
    #[must_use]
    pub fn new(shape: &Shape, view: &View<'_>) -> Option<PodWishes> {
        let own: Vec<_> = shape
            .preferred_pods
            .iter()
            .map(|(weight, term)| (*weight, OwnTerm::new(term, view.namespaces)))
            .collect();
        if own.is_empty() && (view.settings.ignores_wishes_of_others || view.nodes.pods_with_rules() == 0) {
            return None;
        }
        let mut wishes = PodWishes { worth: BTreeMap::new() };
        for (weight, term) in &own {
            let meant = view.nodes.label_sets().picked(term.selector()).filter(|set| term.means(set.shape()));
            for (at, counts) in meant.flat_map(LabelSet::on_nodes) {
                wishes.add(view.nodes, at, &term.key, i64::from(*weight) * i64::from(counts.all));
            }
        }
        wishes.add_wishes_of_others(shape, view);
        (!wishes.worth.is_empty()).then_some(wishes)
    }

    /// Adds what placed pods wish about the new one. That they must be near counts as a wish here.
    fn add_wishes_of_others(&mut self, shape: &Shape, view: &View<'_>) {
        let namespace = view.namespaces.labels(&shape.namespace).cloned().unwrap_or_default();
        for (PlacedTerm { term, role }, on_nodes) in view.nodes.placed_terms().picking(&shape.labels) {
            let weight = match role {
                TermRole::Near if view.settings.required_near > 0 => view.settings.required_near,
                TermRole::Preferred(weight) => *weight,
                TermRole::Near | TermRole::Apart => continue,
            };
            if reaches(term, shape, &namespace) {
                for (at, count) in on_nodes {
                    self.add(view.nodes, *at, &term.key, i64::from(weight) * i64::from(*count));
                }
            }
        }
    }

    fn add(&mut self, nodes: &Nodes, at: NodeIdx, key: &Arc<str>, worth: i64) {
        if let Some(place) = nodes.get(at).node.as_ref().and_then(|node| node.labels.get(key)) {
            let places = self.worth.entry(key.clone()).or_default();
            *places.entry(place.clone()).or_default() += worth;
        }
    }

    /// The places that are worth something, by the label that tells them apart and its value.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.worth.iter().flat_map(|(key, places)| places.keys().map(move |place| (key, place)))
    }

    /// What a node's places are worth together.
    #[must_use]
    pub fn raw(&self, node: &Node) -> i64 {
        let of = |(key, places): (&Arc<str>, &FxHashMap<Arc<str>, i64>)| {
            places.get(node.labels.get(key)?).copied()
        };
        self.worth.iter().filter_map(of).sum()
    }
}

/// Stretches scores so that the lowest becomes the worst and the highest the best.
#[must_use]
pub fn normalised(mut scores: Vec<i64>) -> Vec<i64> {
    let least = scores.iter().copied().min().unwrap_or(0);
    let range = scores.iter().copied().max().unwrap_or(0) - least;
    for score in &mut scores {
        let share = if range > 0 { (*score - least) as f64 / range as f64 } else { 0.0 };
        *score = (BEST as f64 * share) as i64;
    }
    scores
}

#[cfg(test)]
mod tests {
    use model::pod::Pod;

    use super::*;
    use crate::sample::{at, node, nodes, pod, shape, term};
    use crate::scores::{Score, ScoreSettings, scores};

    /// Scores of a and b in zone 1, and x in zone 2.
    fn answer(ours: &Shape, pods: Vec<Pod>, settings: &ScoreSettings) -> Option<Vec<i64>> {
        let all = [("a", "zone=1"), ("b", "zone=1"), ("x", "zone=2")];
        let nodes = nodes(all.map(|(name, zone)| node(name, &format!("{zone} host={name}"))), pods);
        let (namespaces, images) = Default::default();
        let view = View {
            nodes: &nodes,
            namespaces: &namespaces,
            images: &images,
            companions: None,
            volumes: None,
            settings,
        };
        scores(Score::PodAffinity, ours, &["a", "b", "x"].map(|name| at(&nodes, name)), &view)
    }

    fn wishing(text: &str, wishes: &[(i32, &str, &str)]) -> Shape {
        let wishes = wishes.iter().map(|(weight, text, key)| (*weight, term(text, key)));
        Shape { preferred_pods: wishes.collect(), ..shape(text) }
    }

    #[track_caller]
    fn check(ours: &Shape, pods: Vec<Pod>, expected: [i64; 3]) {
        assert_eq!(answer(ours, pods, &ScoreSettings::default()), Some(expected.to_vec()));
    }

    #[test]
    fn a_pod_likes_places_by_the_pods_there() {
        let pods = || vec![pod("p", "a", shape("app=db")), pod("q", "x", shape("app=mq"))];
        check(&wishing("", &[(5, "app=db", "zone")]), pods(), [100, 100, 0]);
        check(&wishing("", &[(5, "app=db", "host")]), pods(), [100, 0, 0]);
        check(&wishing("", &[(-5, "app=db", "zone")]), pods(), [0, 0, 100]);
        check(
            &wishing("", &[(8, "app=db", "zone"), (2, "app=db", "host"), (-2, "app=mq", "zone")]),
            pods(),
            [100, 83, 0],
        );
    }

    #[test]
    fn placed_pods_have_wishes_too() {
        check(&shape("app=web"), vec![pod("p", "x", wishing("", &[(3, "app=web", "zone")]))], [0, 0, 100]);
        check(&shape("app=web"), vec![pod("p", "x", wishing("", &[(-3, "app=web", "zone")]))], [100, 100, 0]);
        let near = Shape { near: vec![term("app=web", "host")], ..shape("") };
        check(&shape("app=web"), vec![pod("p", "b", near)], [0, 100, 0]);
    }

    #[test]
    fn nobody_who_wishes_means_no_score() {
        assert_eq!(answer(&shape(""), vec![pod("p", "a", shape("app=db"))], &ScoreSettings::default()), None);
        let settings = ScoreSettings { ignores_wishes_of_others: true, ..ScoreSettings::default() };
        let pods = vec![pod("p", "x", wishing("", &[(3, "app=web", "zone")]))];
        assert_eq!(answer(&shape("app=web"), pods, &settings), None);
    }

    #[test]
    fn places_that_are_alike_score_nothing() {
        let pods = vec![pod("p", "a", shape("app=db")), pod("q", "x", shape("app=db"))];
        check(&wishing("", &[(5, "app=db", "zone")]), pods, [0, 0, 0]);
    }
}
