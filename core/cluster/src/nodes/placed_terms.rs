//! What pods on nodes ask about other pods, so that a pod is held against the terms that can mean it and against no others.
//!
//! The pods of an application ask for the same, so each term is kept once, with how many pods have it on which node.
//!
//! Invariant: counts are those of the pods on nodes. A term that no pod has any more is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::pod::{LabelSelector, Pod, PodTerm};
use rustc_hash::FxHashMap;

use crate::node_idx::NodeIdx;

/// What a term is to the pods that have it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TermRole {
    /// Pods that they must be near.
    Near,
    /// Pods that they must be apart from.
    Apart,
    /// Pods that they had better be near by so much, or if negative had better not.
    Preferred(i32),
}

/// A term that pods on nodes have.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PlacedTerm {
    /// The term.
    pub term: PodTerm,
    /// What it is to them.
    pub role: TermRole,
}

/// All terms that pods on nodes have.
#[derive(Clone, Debug, Default)]
pub struct PlacedTerms {
    terms: FxHashMap<u32, (PlacedTerm, BTreeMap<NodeIdx, u32>)>,
    numbers: FxHashMap<PlacedTerm, u32>,
    /// Terms by a label that pods need to be meant.
    by_label: FxHashMap<(Arc<str>, Arc<str>), BTreeSet<u32>>,
    /// Terms that can mean pods whatever label they have.
    others: BTreeSet<u32>,
    last: u32,
}

impl PlacedTerms {
    /// The terms whose selectors pick pods with these labels, with how many pods have them on which node. Which namespaces a term
    /// means is not looked at.
    pub fn picking<'t>(
        &'t self,
        labels: &'t BTreeMap<Arc<str>, Arc<str>>,
    ) -> impl Iterator<Item = (&'t PlacedTerm, &'t BTreeMap<NodeIdx, u32>)> {
        let of_label =
            |(key, value): (&Arc<str>, &Arc<str>)| self.by_label.get(&(key.clone(), value.clone()));
        let numbers = labels.iter().filter(|_| !self.by_label.is_empty()).filter_map(of_label).flatten();
        let found = numbers.chain(&self.others).map(|number| &self.terms[number]);
        found.filter(|(placed, _)| placed.term.selector.picks(labels)).map(|(placed, nodes)| (placed, nodes))
    }

    pub(super) fn add(&mut self, at: NodeIdx, pod: &Pod) {
        for placed in terms_of(pod) {
            let number = match self.numbers.get(&placed) {
                Some(number) => *number,
                None => self.begin(placed),
            };
            let (_, nodes) = self.terms.get_mut(&number).expect("a term that has a number is kept");
            *nodes.entry(at).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, at: NodeIdx, pod: &Pod) {
        for placed in terms_of(pod) {
            let number = self.numbers[&placed];
            let (_, nodes) = self.terms.get_mut(&number).expect("a term that has a number is kept");
            let count = nodes.get_mut(&at).expect("a term was counted on the node of its pod");
            *count -= 1;
            if *count == 0 {
                nodes.remove(&at);
            }
            if nodes.is_empty() {
                self.terms.remove(&number);
                self.unlist(&placed.term.selector, number);
                self.numbers.remove(&placed);
            }
        }
    }

    fn begin(&mut self, placed: PlacedTerm) -> u32 {
        self.last += 1;
        let number = self.last;
        match placed.term.selector.demanded() {
            Some((key, value)) => {
                self.by_label.entry((key.clone(), value.clone())).or_default().insert(number);
            }
            None => {
                self.others.insert(number);
            }
        }
        self.numbers.insert(placed.clone(), number);
        self.terms.insert(number, (placed, BTreeMap::new()));
        number
    }

    fn unlist(&mut self, selector: &LabelSelector, number: u32) {
        let Some((key, value)) = selector.demanded() else {
            self.others.remove(&number);
            return;
        };
        let label = (key.clone(), value.clone());
        if let Some(terms) = self.by_label.get_mut(&label) {
            terms.remove(&number);
            if terms.is_empty() {
                self.by_label.remove(&label);
            }
        }
    }
}

fn terms_of(pod: &Pod) -> impl Iterator<Item = PlacedTerm> {
    let shape = &pod.shape;
    let near = shape.near.iter().map(|term| (TermRole::Near, term));
    let apart = shape.apart.iter().map(|term| (TermRole::Apart, term));
    let preferred = shape.preferred_pods.iter().map(|(weight, term)| (TermRole::Preferred(*weight), term));
    near.chain(apart).chain(preferred).map(|(role, term)| PlacedTerm { term: term.clone(), role })
}

#[cfg(test)]
mod tests {
    use model::node::{Operator, Requirement};
    use model::pod::Shape;

    use super::*;

    fn term(key: &str, value: Option<&str>) -> PodTerm {
        let (operator, values) = match value {
            Some(value) => (Operator::In, vec![value.into()]),
            None => (Operator::Exists, Vec::new()),
        };
        let selector = LabelSelector::All(vec![Requirement { key: key.into(), operator, values }]);
        PodTerm { selector, namespaces: Vec::new(), namespace_selector: None, key: "host".into() }
    }

    fn pod(apart: Vec<PodTerm>, preferred_pods: Vec<(i32, PodTerm)>) -> Pod {
        Pod { shape: Arc::new(Shape { apart, preferred_pods, ..Shape::default() }), ..Pod::default() }
    }

    fn found(terms: &PlacedTerms, labels: &[(&str, &str)]) -> Vec<(TermRole, Vec<(u32, u32)>)> {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let told = |(placed, nodes): (&PlacedTerm, &BTreeMap<NodeIdx, u32>)| {
            (placed.role, nodes.iter().map(|(at, count)| (at.0, *count)).collect())
        };
        terms.picking(&labels).map(told).collect()
    }

    #[test]
    fn terms_are_found_by_the_labels_of_a_pod() {
        let mut terms = PlacedTerms::default();
        let web = pod(vec![term("app", Some("web"))], vec![(5, term("tier", None))]);
        [0, 0, 3].into_iter().for_each(|at| terms.add(NodeIdx(at), &web));
        let nodes = vec![(0, 2), (3, 1)];
        assert_eq!(found(&terms, &[("app", "web")]), [(TermRole::Apart, nodes.clone())]);
        assert_eq!(found(&terms, &[("tier", "x")]), [(TermRole::Preferred(5), nodes)]);
        assert_eq!(found(&terms, &[("app", "db")]), []);
        terms.remove(NodeIdx(3), &web);
        assert_eq!(found(&terms, &[("app", "web")]), [(TermRole::Apart, vec![(0, 2)])]);
    }

    #[test]
    fn what_no_pod_asks_any_more_is_forgotten() {
        let mut terms = PlacedTerms::default();
        let web =
            pod(vec![term("app", Some("web")), term("app", Some("web"))], vec![(5, term("tier", None))]);
        terms.add(NodeIdx(0), &web);
        terms.remove(NodeIdx(0), &web);
        let PlacedTerms { terms, numbers, by_label, others, .. } = terms;
        assert!(terms.is_empty() && numbers.is_empty() && by_label.is_empty() && others.is_empty());
    }
}
