//! Nodes, and expressions that pick them.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::node::{Node, NodeSelector, NodeTaint, NodeTaintEffect, NodeTerm, Operator, Requirement};
use objects::core::affinity;
use objects::core::node::{ContainerImage, Taint};

use crate::resources::resources;
use crate::text::{owned, shared, shared_map};

/// What core knows of a node.
#[must_use]
pub fn node(object: &objects::core::node::Node) -> Node {
    let status = &object.status;
    Node {
        name: object.metadata.name.as_str().into(),
        labels: shared_map(&object.metadata.labels),
        declared_features: shared(&status.declared_features),
        unschedulable: object.spec.unschedulable,
        taints: object.spec.taints.iter().map(node_taint).collect(),
        allocatable: resources(&status.allocatable),
        pods_max: status.allocatable.get("pods").map_or(0, |amount| amount.0.value()),
        images: images(&status.images),
    }
}

fn node_taint(object: &Taint) -> NodeTaint {
    let effect = NodeTaintEffect::named(&object.effect);
    NodeTaint { key: object.key.as_str().into(), value: object.value.as_str().into(), effect }
}

/// Images by each of their names.
fn images(objects: &[ContainerImage]) -> BTreeMap<Arc<str>, i64> {
    let named = objects.iter().flat_map(|image| image.names.iter().map(|name| (name, image.size_bytes)));
    named.map(|(name, size)| (name.as_str().into(), size)).collect()
}

/// What picks nodes.
#[must_use]
pub fn node_selector(object: &affinity::NodeSelector) -> NodeSelector {
    NodeSelector { terms: object.node_selector_terms.iter().map(node_term).collect() }
}

pub(crate) fn node_term(object: &affinity::NodeSelectorTerm) -> NodeTerm {
    NodeTerm {
        fields: object.match_fields.iter().map(requirement).collect(),
        labels: object.match_expressions.iter().map(requirement).collect(),
    }
}

fn requirement(object: &affinity::NodeSelectorRequirement) -> Requirement {
    Requirement {
        key: object.key.as_str().into(),
        operator: Operator::named(&object.operator),
        values: shared(&object.values),
    }
}

/// What picks nodes, as it is written.
#[must_use]
pub fn node_selector_object(selector: &NodeSelector) -> affinity::NodeSelector {
    let term = |term: &NodeTerm| affinity::NodeSelectorTerm {
        match_fields: term.fields.iter().map(requirement_object).collect(),
        match_expressions: term.labels.iter().map(requirement_object).collect(),
        ..Default::default()
    };
    affinity::NodeSelector {
        node_selector_terms: selector.terms.iter().map(term).collect(),
        ..Default::default()
    }
}

fn requirement_object(requirement: &Requirement) -> affinity::NodeSelectorRequirement {
    affinity::NodeSelectorRequirement {
        key: requirement.key.to_string(),
        operator: requirement.operator.name().to_owned(),
        values: owned(&requirement.values),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_of_a_node_that_placement_cares_about_arrives() {
        let object = json!({
            "metadata": { "name": "a", "labels": { "rack": "r1" } },
            "spec": {
                "unschedulable": true,
                "taints": [
                    { "key": "k", "value": "v", "effect": "NoSchedule" },
                    { "key": "k", "effect": "PreferNoSchedule" },
                    { "key": "k", "effect": "Later" },
                ],
            },
            "status": {
                "declaredFeatures": ["DRAOptionalNodeOperations"],
                "allocatable": {
                    "cpu": "3900m", "memory": "1Gi", "ephemeral-storage": "2k", "pods": "110",
                    "example.com/gpu": "8", "hugepages-2Mi": "4Mi", "storage": "7",
                },
                "images": [{ "names": ["a@sha256:1", "a:1"], "sizeBytes": 5 }, { "names": ["b:1"], "sizeBytes": 6 }],
            },
        });
        let taint = |value: &str, effect| NodeTaint { key: "k".into(), value: value.into(), effect };
        let expected = Node {
            name: "a".into(),
            labels: [("rack".into(), "r1".into())].into(),
            declared_features: vec!["DRAOptionalNodeOperations".into()],
            unschedulable: true,
            taints: vec![
                taint("v", NodeTaintEffect::NoSchedule),
                taint("", NodeTaintEffect::PreferNoSchedule),
                taint("", NodeTaintEffect::Unknown("Later".into())),
            ],
            allocatable: model::pod::Resources {
                cpu_milli: 3900,
                memory: 1 << 30,
                ephemeral_storage: 2000,
                others: [("example.com/gpu".into(), 8), ("hugepages-2Mi".into(), 4 << 20)].into(),
            },
            pods_max: 110,
            images: [("a:1".into(), 5), ("a@sha256:1".into(), 5), ("b:1".into(), 6)].into(),
        };
        assert_eq!(node(&serde_json::from_value(object).expect("a node")), expected);
    }

    #[test]
    fn a_selector_of_nodes_comes_back_as_it_went() {
        let object = json!({ "nodeSelectorTerms": [
            {
                "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["a"] }],
                "matchExpressions": [
                    { "key": "slots", "operator": "Gt", "values": ["7"] },
                    { "key": "rack", "operator": "Exists" },
                    { "key": "rack", "operator": "Like", "values": ["r*", "s*"] },
                ],
            },
            {},
        ] });
        let object: affinity::NodeSelector = serde_json::from_value(object).expect("a selector");
        let selector = node_selector(&object);
        assert_eq!((selector.terms[0].fields.len(), selector.terms[0].labels.len()), (1, 3));
        assert_eq!(selector.terms[0].labels[2].operator, Operator::Unknown("Like".into()));
        assert_eq!(node_selector_object(&selector), object);
    }
}
