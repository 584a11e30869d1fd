//! What must hold of selectors over nodes and labels.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use objects::core::affinity::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use objects::core::node::Node;
use objects::meta::{LabelSelector, LabelSelectorRequirement};
use schema::Path;

use crate::cause::Causes;
use crate::metadata::label_map;
use crate::names;

/// A selector over nodes: at least one term, and every term well formed.
pub(crate) fn node_selector(selector: &NodeSelector, path: &Path<'_>, causes: &mut Causes) {
    let path = path.field("nodeSelectorTerms");
    if selector.node_selector_terms.is_empty() {
        causes.required(&path, "must have at least one term");
    }
    for (index, term) in selector.node_selector_terms.iter().enumerate() {
        node_selector_term(term, &path.index(index), causes);
    }
}

/// The requirements of one term.
fn node_selector_term(term: &NodeSelectorTerm, path: &Path<'_>, causes: &mut Causes) {
    for (index, requirement) in term.match_expressions.iter().enumerate() {
        let path = path.field("matchExpressions");
        node_label_requirement(requirement, &path.index(index), causes);
        label_values(&requirement.values, &path.index(index).field("values"), causes);
    }
    node_fields(term, path, causes);
}

/// The requirements of a term that is only a wish: values that no label can have are let through.
pub(crate) fn preferred_node_term(term: &NodeSelectorTerm, path: &Path<'_>, causes: &mut Causes) {
    for (index, requirement) in term.match_expressions.iter().enumerate() {
        node_label_requirement(requirement, &path.field("matchExpressions").index(index), causes);
    }
    node_fields(term, path, causes);
}

fn node_fields(term: &NodeSelectorTerm, path: &Path<'_>, causes: &mut Causes) {
    for (index, requirement) in term.match_fields.iter().enumerate() {
        node_field_requirement(requirement, &path.field("matchFields").index(index), causes);
    }
}

fn node_label_requirement(requirement: &NodeSelectorRequirement, path: &Path<'_>, causes: &mut Causes) {
    let values = path.field("values");
    match requirement.operator.as_str() {
        "In" | "NotIn" if requirement.values.is_empty() => {
            causes.required(&values, "In and NotIn need at least one value");
        }
        "Exists" | "DoesNotExist" if !requirement.values.is_empty() => {
            causes.forbidden(&values, "Exists and DoesNotExist take no values");
        }
        "Gt" | "Lt" if requirement.values.len() != 1 => {
            causes.required(&values, "Gt and Lt need exactly one value")
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        _ => {
            causes.invalid(&path.field("operator"), "must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt")
        }
    }
    causes.malformed(&path.field("key"), &requirement.key, names::label_key(&requirement.key));
}

fn node_field_requirement(requirement: &NodeSelectorRequirement, path: &Path<'_>, causes: &mut Causes) {
    let values = path.field("values");
    match requirement.operator.as_str() {
        "In" | "NotIn" if requirement.values.len() != 1 => {
            causes.required(&values, "In and NotIn need exactly one value for a field");
        }
        "In" | "NotIn" => {}
        _ => causes.invalid(&path.field("operator"), "must be In or NotIn for a field"),
    }
    if requirement.key == "metadata.name" {
        for (index, value) in requirement.values.iter().enumerate() {
            causes.malformed(&values.index(index), value, names::dns_subdomain(value));
        }
    } else {
        causes.invalid(&path.field("key"), "the only field of a node is metadata.name");
    }
}

/// Whether a node is among those that the selector picks. A requirement that makes no sense picks none.
pub(crate) fn picks(selector: &NodeSelector, node: &Node) -> bool {
    selector.node_selector_terms.iter().any(|term| {
        let empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
        let labels = &node.metadata.labels;
        let by_label =
            term.match_expressions.iter().all(|each| meets(each, labels.get(&each.key).map(String::as_str)));
        let by_field = term.match_fields.iter().all(|each| meets(each, Some(&node.metadata.name)));
        !empty && by_label && by_field
    })
}

fn meets(requirement: &NodeSelectorRequirement, have: Option<&str>) -> bool {
    let listed = |have: &str| requirement.values.iter().any(|value| value == have);
    let compared = || {
        let have: i64 = have?.parse().ok()?;
        let [wanted] = requirement.values.as_slice() else { return None };
        Some(have.cmp(&wanted.parse().ok()?))
    };
    match requirement.operator.as_str() {
        "In" => have.is_some_and(listed),
        "NotIn" => !have.is_some_and(listed),
        "Exists" => have.is_some(),
        "DoesNotExist" => have.is_none(),
        "Gt" => compared() == Some(Ordering::Greater),
        "Lt" => compared() == Some(Ordering::Less),
        _ => false,
    }
}

/// Whether a selector picks an object with these labels. A requirement that makes no sense picks none.
pub(crate) fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let by_label = selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value));
    let meets = |requirement: &LabelSelectorRequirement| {
        let have = labels.get(&requirement.key);
        match requirement.operator.as_str() {
            "In" => have.is_some_and(|have| requirement.values.contains(have)),
            "NotIn" => !have.is_some_and(|have| requirement.values.contains(have)),
            "Exists" => have.is_some(),
            "DoesNotExist" => have.is_none(),
            _ => false,
        }
    };
    by_label && selector.match_expressions.iter().all(meets)
}

/// A selector over labels.
pub(crate) fn label_selector(selector: &LabelSelector, path: &Path<'_>, causes: &mut Causes) {
    label_map(&selector.match_labels, &path.field("matchLabels"), causes);
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        label_requirement(requirement, &path.field("matchExpressions").index(index), causes);
    }
}

fn label_requirement(requirement: &LabelSelectorRequirement, path: &Path<'_>, causes: &mut Causes) {
    let values = path.field("values");
    match requirement.operator.as_str() {
        "In" | "NotIn" if requirement.values.is_empty() => {
            causes.required(&values, "In and NotIn need at least one value");
        }
        "Exists" | "DoesNotExist" if !requirement.values.is_empty() => {
            causes.forbidden(&values, "Exists and DoesNotExist take no values");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => causes.invalid(&path.field("operator"), "must be one of In, NotIn, Exists, DoesNotExist"),
    }
    causes.malformed(&path.field("key"), &requirement.key, names::label_key(&requirement.key));
    label_values(&requirement.values, &values, causes);
}

fn label_values(list: &[String], path: &Path<'_>, causes: &mut Causes) {
    for (index, value) in list.iter().enumerate() {
        causes.malformed(&path.index(index), value, names::label_value(value));
    }
}
