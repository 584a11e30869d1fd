//! What must hold of selectors over nodes and labels.

use objects::core::affinity::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
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
