//! Nodes, and expressions that pick them.

use model::node::{Node, NodeSelector, NodeTerm, Operator, Requirement};
use objects::core::affinity;

use crate::text::{owned, shared};

/// What core knows of a node.
#[must_use]
pub fn node(object: &objects::core::node::Node) -> Node {
    let labels = &object.metadata.labels;
    Node {
        name: object.metadata.name.as_str().into(),
        labels: labels.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect(),
        declared_features: shared(&object.status.declared_features),
        ..Node::default()
    }
}

/// What picks nodes.
#[must_use]
pub fn node_selector(object: &affinity::NodeSelector) -> NodeSelector {
    let term = |term: &affinity::NodeSelectorTerm| NodeTerm {
        fields: term.match_fields.iter().map(requirement).collect(),
        labels: term.match_expressions.iter().map(requirement).collect(),
    };
    NodeSelector { terms: object.node_selector_terms.iter().map(term).collect() }
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
    fn a_node_arrives_with_its_labels_and_what_it_declares() {
        let object = json!({
            "metadata": { "name": "a", "labels": { "rack": "r1" } },
            "status": { "declaredFeatures": ["DRAOptionalNodeOperations"] },
        });
        let expected = Node {
            name: "a".into(),
            labels: [("rack".into(), "r1".into())].into(),
            declared_features: vec!["DRAOptionalNodeOperations".into()],
            ..Node::default()
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
