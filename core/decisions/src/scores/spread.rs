//! Pods should be spread evenly over places.

use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::node::Node;
use model::pod::{Shape, Spread};
use rustc_hash::FxHashMap;

use crate::filters::{among, counted, counted_pods, node_of};
use crate::scores::scale::BEST;
use crate::scores::settings::HOST;
use crate::scores::view::{Candidate, View};

/// How a shape should be spread, and how its companions are spread now.
#[derive(Clone, Debug)]
pub struct SpreadWishes {
    wishes: Vec<Wish>,
    /// Whether each candidate is without a label of one of the wishes.
    left_out: Vec<bool>,
}

#[derive(Clone, Debug)]
struct Wish {
    rule: Spread,
    places: Places,
    /// Makes up for there being more or fewer places.
    weight: f64,
}

/// How many pods are where.
#[derive(Clone, Debug)]
enum Places {
    /// On each node.
    Nodes(FxHashMap<NodeIdx, i64>),
    /// In each place that has a candidate, by the value of the label.
    Labels(FxHashMap<Arc<str>, i64>),
}

impl SpreadWishes {
    /// What there is to wish for. A pod that says nothing itself is spread among its companions as the settings say.
    #[must_use]
    pub fn rules(shape: &Shape, view: &View<'_>) -> Vec<Spread> {
        if shape.spread.is_empty() {
            return among(view.companions, &view.settings.default_spread);
        }
        shape.spread.iter().filter(|rule| !rule.required).cloned().collect()
    }

    /// Counts the pods, if there is something to wish for.
    #[must_use]
    pub fn new(shape: &Shape, candidates: &[Candidate], view: &View<'_>) -> Option<SpreadWishes> {
        let settings = view.settings;
        let needs_labels = !shape.spread.is_empty() || settings.default_spread_needs_labels;
        let rules = SpreadWishes::rules(shape, view);
        if rules.is_empty() {
            return None;
        }
        let has_labels =
            |node: &Node| !needs_labels || rules.iter().all(|rule| node.labels.contains_key(&rule.key));
        let nodes: Vec<(&Node, usize)> =
            candidates.iter().map(|one| (&**node_of(view.nodes.get(one.at)), one.stands_for)).collect();
        let left_out = nodes.iter().map(|(node, _)| !has_labels(node)).collect();
        let scored: Vec<(&Node, usize)> = nodes.into_iter().filter(|(node, _)| has_labels(node)).collect();
        let wish = |rule: &Spread| {
            let mut wish = Wish::new(rule, &scored);
            for (at, pods) in counted_pods(&rule.selector, &shape.namespace, view.nodes) {
                let node = view.nodes.get(at).node.as_ref().filter(|node| has_labels(node));
                node.into_iter().for_each(|node| wish.count(shape, at, node, pods, settings.compares_taints));
            }
            wish
        };
        Some(SpreadWishes { wishes: rules.iter().map(wish).collect(), left_out })
    }

    /// How many pods there are in the candidate's places. The more, the worse.
    #[must_use]
    pub fn raw(&self, at: NodeIdx, node: &Node) -> i64 {
        let scores = self.wishes.iter().filter_map(|wish| {
            let place = node.labels.get(&wish.rule.key)?;
            let count = match &wish.places {
                Places::Nodes(nodes) => nodes.get(&at),
                Places::Labels(places) => places.get(place),
            };
            let count = count.copied().unwrap_or(0);
            Some(count as f64 * wish.weight + f64::from(wish.rule.max_skew - 1))
        });
        scores.sum::<f64>().round() as i64
    }

    /// Turns the raw scores of all candidates round: the fewest pods are best. Candidates without a label are worst.
    #[must_use]
    pub fn normalised(&self, mut scores: Vec<i64>) -> Vec<i64> {
        let known =
            || scores.iter().zip(&self.left_out).filter(|(_, left_out)| !**left_out).map(|(score, _)| *score);
        let (least, most) = (known().min().unwrap_or(0), known().max().unwrap_or(0).max(0));
        for (score, left_out) in scores.iter_mut().zip(&self.left_out) {
            *score = match most {
                _ if *left_out => 0,
                0 => BEST,
                _ => BEST * (most + least - *score) / most,
            };
        }
        scores
    }
}

impl Wish {
    fn new(rule: &Spread, scored: &[(&Node, usize)]) -> Wish {
        let (places, size) = if &*rule.key == HOST {
            (Places::Nodes(FxHashMap::default()), scored.iter().map(|(_, stands_for)| stands_for).sum())
        } else {
            // A node without the label is in a place of its own kind, which has no name.
            let place =
                |(node, _): &(&Node, usize)| (node.labels.get(&rule.key).cloned().unwrap_or_default(), 0);
            let places: FxHashMap<Arc<str>, i64> = scored.iter().map(place).collect();
            let size = places.len();
            (Places::Labels(places), size)
        };
        Wish { rule: rule.clone(), places, weight: (size as f64 + 2.0).ln() }
    }

    fn count(&mut self, shape: &Shape, at: NodeIdx, node: &Node, pods: i64, compares_taints: bool) {
        match &mut self.places {
            Places::Nodes(nodes) => *nodes.entry(at).or_default() += pods,
            Places::Labels(places) => {
                let place = node.labels.get(&self.rule.key).map_or("", |place| place);
                if let Some(count) = places.get_mut(place)
                    && counted(&self.rule, shape, node, compares_taints)
                {
                    *count += pods;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::pod::LabelSelector;

    use super::*;
    use crate::sample::{node, nodes, pod, selector, shape};
    use crate::scores::settings::ZONE;
    use crate::scores::{Score, ScoreSettings, scores};

    /// Scores of a and b in zone 1, x in zone 2, and a node without a zone.
    fn answer(ours: &Shape, on: &[&str], companions: Option<&LabelSelector>) -> Option<Vec<i64>> {
        let zone = |name: &str, zone: &str| node(name, &format!("{ZONE}={zone} {HOST}={name}"));
        let pods = on.iter().enumerate().map(|(at, on)| pod(&format!("p{at}"), on, shape("app=web")));
        let none = node("none", &format!("{HOST}=none"));
        let nodes = nodes([zone("a", "1"), zone("b", "1"), zone("x", "2"), none], pods);
        let (namespaces, images) = Default::default();
        let settings = ScoreSettings::default();
        let view = View {
            nodes: &nodes,
            namespaces: &namespaces,
            images: &images,
            companions,
            volumes: None,
            settings: &settings,
        };
        let all: Vec<_> = nodes.iter().map(|(at, _)| at).collect();
        scores(Score::Spread, ours, &all, &view)
    }

    fn wishing(max_skew: i32, keys: &[&str]) -> Shape {
        let rule = |key: &&str| Spread { required: false, ..crate::sample::spread(max_skew, key, "app=web") };
        Shape { spread: keys.iter().map(rule).collect(), ..shape("app=web") }
    }

    #[track_caller]
    fn check(ours: &Shape, on: &[&str], expected: [i64; 4]) {
        assert_eq!(answer(ours, on, None), Some(expected.to_vec()));
    }

    #[test]
    fn places_with_fewer_pods_are_better() {
        check(&wishing(1, &[ZONE]), &[], [100, 100, 100, 0]);
        check(&wishing(1, &[ZONE]), &["a"], [0, 0, 100, 0]);
        check(&wishing(1, &[ZONE]), &["a", "b", "x"], [33, 33, 100, 0]);
        check(&wishing(1, &[HOST]), &["a", "a", "x"], [0, 100, 50, 100]);
    }

    #[test]
    fn skew_that_is_allowed_makes_differences_smaller() {
        check(&wishing(1, &[HOST]), &["a", "a", "b", "x", "none"], [50, 100, 100, 100]);
        check(&wishing(5, &[HOST]), &["a", "a", "b", "x", "none"], [75, 100, 100, 100]);
    }

    #[test]
    fn a_pod_that_says_nothing_is_spread_among_its_companions() {
        let web = selector("app=web");
        assert_eq!(answer(&shape("app=web"), &["a"], None), None);
        assert_eq!(answer(&shape("app=web"), &["a"], Some(&selector(""))), None);
        // Raw scores of 9, 8, 6 and 2: a node without a zone is spread over nodes alone.
        let scores = answer(&shape("app=web"), &["a"], Some(&web)).expect("there are companions");
        assert_eq!(scores, [22, 33, 55, 100]);
    }

    #[test]
    fn rules_that_must_be_kept_are_no_wishes() {
        let mut ours = wishing(1, &[ZONE]);
        ours.spread[0].required = true;
        assert_eq!(answer(&ours, &["a"], Some(&selector("app=web"))), None);
    }
}
