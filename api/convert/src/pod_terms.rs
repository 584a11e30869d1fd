//! Pods that a pod is to be near, apart from, or spread among.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::node::Operator;
use model::pod::{PodTerm, Spread};
use objects::core::affinity::{PodAffinityTerm, TopologySpreadConstraint, WeightedPodAffinityTerm};
use objects::core::pod::Pod;

use crate::label_selector::{label_selector, with_own_labels};

/// The terms of a pod's required rules.
pub(crate) fn pod_terms(pod: &Pod, terms: &[PodAffinityTerm]) -> Vec<PodTerm> {
    terms.iter().map(|term| pod_term(pod, term)).collect()
}

/// The terms of a pod's wishes, with their weights times a sign.
pub(crate) fn weighted_terms(
    pod: &Pod,
    terms: &[WeightedPodAffinityTerm],
    sign: i32,
) -> impl Iterator<Item = (i32, PodTerm)> {
    terms.iter().map(move |term| (term.weight.saturating_mul(sign), pod_term(pod, &term.pod_affinity_term)))
}

fn pod_term(pod: &Pod, term: &PodAffinityTerm) -> PodTerm {
    let labels = &pod.metadata.labels;
    let selector = label_selector(term.label_selector.as_ref());
    let selector = with_own_labels(selector, &term.match_label_keys, &Operator::In, labels);
    let namespace_selector = term.namespace_selector.as_ref().map(|selector| label_selector(Some(selector)));
    PodTerm {
        selector: with_own_labels(selector, &term.mismatch_label_keys, &Operator::NotIn, labels),
        namespaces: namespaces(pod, term),
        namespace_selector,
        key: term.topology_key.as_str().into(),
    }
}

/// The namespaces that a term names, in order and once each. A term that says nothing about namespaces means the pod's own.
fn namespaces(pod: &Pod, term: &PodAffinityTerm) -> Vec<Arc<str>> {
    if term.namespaces.is_empty() && term.namespace_selector.is_none() {
        return vec![pod.metadata.namespace.as_str().into()];
    }
    let mut names: Vec<Arc<str>> = term.namespaces.iter().map(|name| name.as_str().into()).collect();
    names.sort();
    names.dedup();
    names
}

/// How a pod is to be spread.
pub(crate) fn spread(object: &TopologySpreadConstraint, labels: &BTreeMap<String, String>) -> Spread {
    let selector = label_selector(object.label_selector.as_ref());
    Spread {
        max_skew: object.max_skew,
        key: object.topology_key.as_str().into(),
        required: object.when_unsatisfiable == "DoNotSchedule",
        selector: with_own_labels(selector, &object.match_label_keys, &Operator::In, labels),
        min_domains: object.min_domains.unwrap_or(1),
        honor_affinity: object.node_affinity_policy.as_deref().is_none_or(|policy| policy == "Honor"),
        honor_taints: object.node_taints_policy.as_deref() == Some("Honor"),
    }
}
