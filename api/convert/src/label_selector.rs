//! Expressions that pick objects by labels.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::node::{Operator, Requirement};
use model::pod::LabelSelector;
use objects::meta;

use crate::text::shared;

/// What picks objects by labels. Without a selector nothing is picked.
#[must_use]
pub fn label_selector(object: Option<&meta::LabelSelector>) -> LabelSelector {
    let Some(object) = object else { return LabelSelector::Nothing };
    let equal = object.match_labels.iter().map(|(key, value)| one_value(key, Operator::In, value));
    LabelSelector::All(equal.chain(object.match_expressions.iter().map(requirement)).collect())
}

fn requirement(object: &meta::LabelSelectorRequirement) -> Requirement {
    // Numbers are compared in selectors of nodes only.
    let operator = match Operator::named(&object.operator) {
        Operator::Gt | Operator::Lt => Operator::Unknown(object.operator.as_str().into()),
        operator => operator,
    };
    Requirement { key: object.key.as_str().into(), operator, values: shared(&object.values) }
}

fn one_value(key: &str, operator: Operator, value: &str) -> Requirement {
    Requirement { key: key.into(), operator, values: vec![value.into()] }
}

/// Adds that labels of these keys must have, or with `NotIn` must not have, the value that the pod itself has.
///
/// An API server may have done so when the pod was made. Then the value of that time stays, whatever became of the
/// pod's labels since.
pub(crate) fn with_own_labels(
    selector: LabelSelector,
    keys: &[String],
    operator: &Operator,
    labels: &BTreeMap<String, String>,
) -> LabelSelector {
    let LabelSelector::All(mut all) = selector else { return selector };
    for key in keys {
        let done = |other: &Requirement| *other.key == **key && other.operator == *operator;
        if let Some(value) = labels.get(key)
            && !all.iter().any(done)
        {
            all.push(Requirement {
                key: Arc::from(key.as_str()),
                operator: operator.clone(),
                values: vec![value.as_str().into()],
            });
        }
    }
    LabelSelector::All(all)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn selector(object: &Value) -> LabelSelector {
        let object: Option<meta::LabelSelector> = serde_json::from_value(object.clone()).expect("a selector");
        label_selector(object.as_ref())
    }

    fn picks(object: &Value, labels: &[(&str, &str)]) -> bool {
        let labels = labels.iter().map(|(key, value)| (Arc::from(*key), Arc::from(*value))).collect();
        selector(object).picks(&labels)
    }

    #[test]
    fn no_selector_picks_nothing_and_an_empty_one_everything() {
        assert!(!picks(&json!(null), &[("a", "1")]));
        assert!(picks(&json!({}), &[("a", "1")]));
    }

    #[test]
    fn labels_and_expressions_must_all_hold() {
        let both = json!({
            "matchLabels": { "a": "1" },
            "matchExpressions": [{ "key": "b", "operator": "NotIn", "values": ["2"] }],
        });
        assert!(picks(&both, &[("a", "1")]));
        assert!(!picks(&both, &[("a", "1"), ("b", "2")]));
        assert!(!picks(&both, &[("b", "3")]));
    }

    #[test]
    fn numbers_are_not_compared() {
        assert!(!picks(
            &json!({ "matchExpressions": [{ "key": "a", "operator": "Gt", "values": ["0"] }] }),
            &[("a", "1")]
        ));
    }

    #[test]
    fn own_labels_are_added_once() {
        let labels = [("app".to_owned(), "x".to_owned())].into();
        let keys = ["app".to_owned(), "absent".to_owned()];
        let add = |selector| with_own_labels(selector, &keys, &Operator::In, &labels);
        let expected = LabelSelector::All(vec![one_value("app", Operator::In, "x")]);
        assert_eq!(add(selector(&json!({}))), expected);
        assert_eq!(add(expected.clone()), expected);
        assert_eq!(add(LabelSelector::Nothing), LabelSelector::Nothing);
    }
}
