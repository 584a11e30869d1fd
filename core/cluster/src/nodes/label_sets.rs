//! Pods on nodes by their namespace and labels, so that a rule about pods looks at those that it can mean and at no others.
//!
//! The pods of an application have the same labels, so what a selector picks is found out once for all of them.
//!
//! Invariant: counts are those of the pods on nodes. A set of labels that no pod has any more is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use model::pod::{LabelSelector, Pod, Shape};
use rustc_hash::FxHashMap;

use crate::node_idx::NodeIdx;

/// How many pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PodCounts {
    /// All of them.
    pub all: u32,
    /// Those that are not being deleted.
    pub staying: u32,
}

/// Pods of one namespace with the same labels.
#[derive(Clone, Debug)]
pub struct LabelSet {
    /// One that has their namespace and labels.
    shape: Arc<Shape>,
    nodes: BTreeMap<NodeIdx, PodCounts>,
}

impl LabelSet {
    /// A shape with their namespace and labels; nothing else of it is theirs.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many of them are on which node.
    pub fn on_nodes(&self) -> impl Iterator<Item = (NodeIdx, PodCounts)> {
        self.nodes.iter().map(|(at, counts)| (*at, *counts))
    }
}

/// All sets of labels that pods on nodes have.
#[derive(Clone, Debug, Default)]
pub struct LabelSets {
    sets: FxHashMap<u32, LabelSet>,
    numbers: FxHashMap<Labels, u32>,
    /// Sets by each of their labels.
    by_label: FxHashMap<(Arc<str>, Arc<str>), BTreeSet<u32>>,
    last: u32,
}

/// A shape of which only namespace and labels count.
#[derive(Clone, Debug)]
struct Labels(Arc<Shape>);

impl PartialEq for Labels {
    fn eq(&self, other: &Labels) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.namespace == other.0.namespace && self.0.labels == other.0.labels)
    }
}

impl Eq for Labels {}

impl Hash for Labels {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.0.namespace, &self.0.labels).hash(state);
    }
}

impl LabelSets {
    /// The sets that a selector picks, in any namespace.
    pub fn picked<'s>(&'s self, selector: &'s LabelSelector) -> impl Iterator<Item = &'s LabelSet> {
        let demanded = selector.demanded();
        let some = demanded.and_then(|(key, value)| self.by_label.get(&(key.clone(), value.clone())));
        let all = demanded.is_none().then(|| self.sets.values());
        let found =
            some.into_iter().flatten().map(|number| &self.sets[number]).chain(all.into_iter().flatten());
        found.filter(|set| selector.picks(&set.shape.labels))
    }

    pub(super) fn add(&mut self, at: NodeIdx, pod: &Pod) {
        let number = match self.numbers.get(&Labels(pod.shape.clone())) {
            Some(number) => *number,
            None => self.begin(&pod.shape),
        };
        let set = self.sets.get_mut(&number).expect("a set that has a number is kept");
        let counts = set.nodes.entry(at).or_default();
        counts.all += 1;
        counts.staying += u32::from(!pod.deleting);
    }

    pub(super) fn remove(&mut self, at: NodeIdx, pod: &Pod) {
        let number = self.numbers[&Labels(pod.shape.clone())];
        let set = self.sets.get_mut(&number).expect("a set that has a number is kept");
        let counts = set.nodes.get_mut(&at).expect("a pod was counted on its node");
        counts.all -= 1;
        counts.staying -= u32::from(!pod.deleting);
        if counts.all == 0 {
            set.nodes.remove(&at);
        }
        if set.nodes.is_empty() {
            self.forget(number);
        }
    }

    fn begin(&mut self, shape: &Arc<Shape>) -> u32 {
        self.last += 1;
        let number = self.last;
        self.numbers.insert(Labels(shape.clone()), number);
        for (key, value) in &shape.labels {
            self.by_label.entry((key.clone(), value.clone())).or_default().insert(number);
        }
        self.sets.insert(number, LabelSet { shape: shape.clone(), nodes: BTreeMap::new() });
        number
    }

    fn forget(&mut self, number: u32) {
        let Some(LabelSet { shape, .. }) = self.sets.remove(&number) else { return };
        for label in &shape.labels {
            let label = (label.0.clone(), label.1.clone());
            if let Some(sets) = self.by_label.get_mut(&label) {
                sets.remove(&number);
                if sets.is_empty() {
                    self.by_label.remove(&label);
                }
            }
        }
        self.numbers.remove(&Labels(shape));
    }
}

#[cfg(test)]
mod tests {
    use model::node::{Operator, Requirement};

    use super::*;

    fn pod(labels: &[(&str, &str)]) -> Pod {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        Pod { shape: Arc::new(Shape { labels, ..Shape::default() }), ..Pod::default() }
    }

    fn selector(key: &str, operator: Operator, values: &[&str]) -> LabelSelector {
        let values = values.iter().map(|value| (*value).into()).collect();
        LabelSelector::All(vec![Requirement { key: key.into(), operator, values }])
    }

    fn counts(sets: &LabelSets, selector: &LabelSelector) -> Vec<(u32, u32, u32)> {
        let mut found: Vec<_> = sets.picked(selector).flat_map(LabelSet::on_nodes).collect();
        found.sort_unstable_by_key(|(at, _)| *at);
        found.into_iter().map(|(at, counts)| (at.0, counts.all, counts.staying)).collect()
    }

    #[test]
    fn a_selector_finds_the_pods_that_it_picks_by_one_label_or_by_looking_at_all() {
        let mut sets = LabelSets::default();
        let (web, db) = (pod(&[("app", "web"), ("tier", "1")]), pod(&[("app", "db")]));
        [(0, &web), (0, &web), (1, &web), (2, &db)]
            .into_iter()
            .for_each(|(at, pod)| sets.add(NodeIdx(at), pod));
        sets.add(NodeIdx(1), &Pod { deleting: true, ..web.clone() });
        let of_web = selector("app", Operator::In, &["web"]);
        assert_eq!(counts(&sets, &of_web), [(0, 2, 2), (1, 2, 1)]);
        assert_eq!(counts(&sets, &selector("tier", Operator::Exists, &[])), [(0, 2, 2), (1, 2, 1)]);
        assert_eq!(counts(&sets, &selector("app", Operator::NotIn, &["web"])), [(2, 1, 1)]);
        assert_eq!(counts(&sets, &LabelSelector::Nothing), []);
        assert_eq!(counts(&sets, &LabelSelector::All(Vec::new())).len(), 3);
        sets.remove(NodeIdx(0), &web);
        assert_eq!(counts(&sets, &of_web), [(0, 1, 1), (1, 2, 1)]);
    }

    #[test]
    fn what_no_pod_has_any_more_is_forgotten() {
        let mut sets = LabelSets::default();
        let web = pod(&[("app", "web")]);
        sets.add(NodeIdx(0), &web);
        sets.remove(NodeIdx(0), &web);
        assert!(sets.sets.is_empty() && sets.numbers.is_empty() && sets.by_label.is_empty());
    }
}
