//! Whether a term about pods means a pod.
//!
//! A pod's own terms are asked about many others, so the namespaces that they pick are looked up once. The terms of others
//! are asked about one pod, whose namespace is looked up once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::namespaces::Namespaces;
use model::pod::{LabelSelector, PodTerm, Shape};

/// A term of the pod that is to be placed.
#[derive(Clone, Debug)]
pub(crate) struct OwnTerm {
    selector: LabelSelector,
    /// Whether the namespace does not matter.
    anywhere: bool,
    namespaces: BTreeSet<Arc<str>>,
    /// The node label that tells places apart.
    pub(crate) key: Arc<str>,
}

impl OwnTerm {
    pub(crate) fn new(term: &PodTerm, namespaces: &Namespaces) -> OwnTerm {
        let anywhere = term.namespace_selector.as_ref().is_some_and(LabelSelector::picks_all);
        let mut names: BTreeSet<Arc<str>> = term.namespaces.iter().cloned().collect();
        if let Some(selector) = term.namespace_selector.as_ref().filter(|_| !anywhere) {
            let picked = namespaces.iter().filter(|(_, labels)| selector.picks(labels));
            names.extend(picked.map(|(name, _)| name.clone()));
        }
        OwnTerm { selector: term.selector.clone(), anywhere, namespaces: names, key: term.key.clone() }
    }

    /// Which pods it means, wherever they are.
    pub(crate) fn selector(&self) -> &LabelSelector {
        &self.selector
    }

    /// Whether it means a pod of this shape.
    pub(crate) fn means(&self, shape: &Shape) -> bool {
        (self.anywhere || self.namespaces.contains(&shape.namespace)) && self.selector.picks(&shape.labels)
    }
}

/// Whether a term of another pod means a pod of this shape, whose namespace has these labels.
pub(crate) fn reaches(term: &PodTerm, shape: &Shape, namespace: &BTreeMap<Arc<str>, Arc<str>>) -> bool {
    let by_label = || term.namespace_selector.as_ref().is_some_and(|selector| selector.picks(namespace));
    (term.namespaces.contains(&shape.namespace) || by_label()) && term.selector.picks(&shape.labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{labels, selector, shape, term};

    #[test]
    fn namespaces_are_picked_by_name_or_label() {
        let mut namespaces = Namespaces::default();
        namespaces.apply("ns".into(), labels("team=x"));
        namespaces.apply("other".into(), labels("team=y"));
        let mut pod = shape("app=web");
        pod.namespace = "other".into();
        let check = |names: &[&str], by_label: Option<&str>, expected: bool| {
            let names = names.iter().map(|name| (*name).into()).collect();
            let namespace_selector = by_label.map(selector);
            let term = PodTerm { namespaces: names, namespace_selector, ..term("app=web", "zone") };
            let own = OwnTerm::new(&term, &namespaces).means(&pod);
            let theirs = reaches(&term, &pod, namespaces.labels("other").expect("it exists"));
            assert_eq!((own, theirs), (expected, expected), "{term:?}");
        };
        check(&["ns"], None, false);
        check(&["ns", "other"], None, true);
        check(&[], Some("team=y"), true);
        check(&[], Some("team=x"), false);
        check(&["other"], Some("team=x"), true);
        check(&[], Some(""), true);
    }
}
