//! Whether a label meets a requirement: the one place that knows what each operator means.
//!
//! A requirement that makes no sense is met by nothing.

use std::collections::BTreeMap;

use crate::core::affinity::{NodeSelector, NodeSelectorRequirement};
use crate::core::node::Node;
use crate::meta::{LabelSelector, LabelSelectorRequirement};

/// What is required of a label. `V` holds the values: borrowed from an object, or read from a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test<V> {
    /// It is there.
    Exists,
    /// It is not there.
    Absent,
    /// It has one of these values.
    In(V),
    /// It is not there, or has none of these values.
    NotIn(V),
    /// It is a larger number.
    Above(i64),
    /// It is a smaller number.
    Below(i64),
}

impl<V: AsRef<[String]>> Test<V> {
    /// Whether the label meets it; `None` is a label that is not there.
    pub fn holds(&self, have: Option<&str>) -> bool {
        let among = |values: &V| have.is_some_and(|have| values.as_ref().iter().any(|value| value == have));
        let number = || have.and_then(|have| have.parse::<i64>().ok());
        match self {
            Self::Exists => have.is_some(),
            Self::Absent => have.is_none(),
            Self::In(values) => among(values),
            Self::NotIn(values) => !among(values),
            Self::Above(limit) => number().is_some_and(|have| have > *limit),
            Self::Below(limit) => number().is_some_and(|have| have < *limit),
        }
    }
}

impl LabelSelectorRequirement {
    /// What is required, if the operator is one that label selectors have.
    pub fn test(&self) -> Option<Test<&[String]>> {
        let values = self.values.as_slice();
        match self.operator.as_str() {
            "In" => Some(Test::In(values)),
            "NotIn" => Some(Test::NotIn(values)),
            "Exists" => Some(Test::Exists),
            "DoesNotExist" => Some(Test::Absent),
            _ => None,
        }
    }
}

impl LabelSelector {
    /// Whether an object with these labels meets all requirements.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|each| {
                each.test().is_some_and(|test| test.holds(labels.get(&each.key).map(String::as_str)))
            })
    }
}

impl NodeSelectorRequirement {
    /// What is required, if the operator is known and its values make sense.
    pub fn test(&self) -> Option<Test<&[String]>> {
        let values = self.values.as_slice();
        let number = || match values {
            [one] => one.parse().ok(),
            _ => None,
        };
        match self.operator.as_str() {
            "In" => Some(Test::In(values)),
            "NotIn" => Some(Test::NotIn(values)),
            "Exists" => Some(Test::Exists),
            "DoesNotExist" => Some(Test::Absent),
            "Gt" => number().map(Test::Above),
            "Lt" => number().map(Test::Below),
            _ => None,
        }
    }
}

impl NodeSelector {
    /// Whether a node meets all requirements of some term. A term without requirements picks none.
    pub fn picks(&self, node: &Node) -> bool {
        let meets = |each: &NodeSelectorRequirement, have: Option<&str>| {
            each.test().is_some_and(|test| test.holds(have))
        };
        self.node_selector_terms.iter().any(|term| {
            let empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
            let labels = &node.metadata.labels;
            let mut by_label = term.match_expressions.iter();
            let mut by_field = term.match_fields.iter();
            !empty
                && by_label.all(|each| meets(each, labels.get(&each.key).map(String::as_str)))
                && by_field.all(|each| meets(each, Some(&node.metadata.name)))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use crate::core::affinity::NodeSelector;
    use crate::core::node::Node;
    use crate::meta::LabelSelector;

    fn selects(selector: Value, labels: &[(&str, &str)]) -> bool {
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let selector: LabelSelector = serde_json::from_value(selector).expect("a selector");
        selector.selects(&labels)
    }

    #[test]
    fn every_operator_of_a_label_selector_does_what_it_says() {
        let one = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]});
        assert!(selects(json!({}), &[]));
        assert!(selects(json!({"matchLabels": {"a": "b"}}), &[("a", "b")]));
        assert!(!selects(json!({"matchLabels": {"a": "b"}}), &[("a", "c")]));
        assert!(
            selects(one("In", json!(["b", "c"])), &[("a", "c")]) && !selects(one("In", json!(["b"])), &[])
        );
        assert!(
            selects(one("NotIn", json!(["b"])), &[]) && !selects(one("NotIn", json!(["b"])), &[("a", "b")])
        );
        assert!(selects(one("Exists", json!([])), &[("a", "")]) && !selects(one("Exists", json!([])), &[]));
        assert!(selects(one("DoesNotExist", json!([])), &[]));
        assert!(!selects(one("Gt", json!(["1"])), &[("a", "2")]), "numbers are compared on nodes alone");
    }

    #[test]
    fn a_node_is_picked_by_label_number_and_name() {
        let picks = |term: Value| {
            let selector: NodeSelector =
                serde_json::from_value(json!({"nodeSelectorTerms": [term]})).expect("a selector");
            let node = json!({"metadata": {"name": "n", "labels": {"gpus": "8"}}});
            let node: Node = serde_json::from_value(node).expect("a node");
            selector.picks(&node)
        };
        let number = |operator: &str, values: Value| {
            picks(json!({"matchExpressions": [{"key": "gpus", "operator": operator, "values": values}]}))
        };
        assert!(number("Gt", json!(["7"])) && !number("Gt", json!(["8"])) && number("Lt", json!(["9"])));
        assert!(!number("Gt", json!(["x"])) && !number("Gt", json!(["1", "2"])) && !number("Odd", json!([])));
        assert!(picks(json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]})));
        assert!(!picks(json!({})), "a term without requirements");
    }
}
