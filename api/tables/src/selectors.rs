//! Label selectors as one line of text.

use serde_json::Value;

use crate::fields::{entries, items, text};

/// Labels as `a=b,c=d`, or `<none>`.
pub(crate) fn labels(field: &Value) -> String {
    let pairs: Vec<String> = entries(field).map(|(key, value)| format!("{key}={}", text(value))).collect();
    or_none(&pairs)
}

/// A label selector such as `a=b,c in (d,e),!f` in order of keys, or `<none>`.
pub(crate) fn selector(field: &Value) -> String {
    let mut requirements: Vec<(&str, String)> = Vec::new();
    for (key, value) in entries(&field["matchLabels"]) {
        requirements.push((key, format!("{key}={}", text(value))));
    }
    for expression in items(&field["matchExpressions"]) {
        let key = text(&expression["key"]);
        let requirement = match text(&expression["operator"]) {
            "In" => format!("{key} in ({})", values(expression)),
            "NotIn" => format!("{key} notin ({})", values(expression)),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return "<error>".to_owned(),
        };
        requirements.push((key, requirement));
    }
    requirements.sort_by_key(|(key, _)| *key);
    let texts: Vec<String> = requirements.into_iter().map(|(_, text)| text).collect();
    or_none(&texts)
}

fn values(expression: &Value) -> String {
    let mut values: Vec<&str> = items(&expression["values"]).iter().map(text).collect();
    values.sort_unstable();
    values.join(",")
}

fn or_none(parts: &[String]) -> String {
    if parts.is_empty() { "<none>".to_owned() } else { parts.join(",") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{labels, selector};

    #[expect(clippy::needless_pass_by_value, reason = "a value reads better at the calls")]
    fn check(given: Value, expected: &str) {
        assert_eq!(selector(&given), expected, "{given}");
    }

    #[test]
    fn a_selector_is_written_in_order_of_keys() {
        check(
            json!({
                "matchLabels": {"b": "1", "d": ""},
                "matchExpressions": [
                    {"key": "e", "operator": "DoesNotExist"},
                    {"key": "c", "operator": "In", "values": ["y", "x", "y"]},
                    {"key": "a", "operator": "Exists"},
                    {"key": "f", "operator": "NotIn", "values": ["z"]},
                ],
            }),
            "a,b=1,c in (x,y,y),d=,!e,f notin (z)",
        );
    }

    #[test]
    fn a_selector_that_asks_for_nothing_is_none() {
        check(Value::Null, "<none>");
        check(json!({}), "<none>");
        check(json!({"matchExpressions": [{"key": "a", "operator": "Near"}]}), "<error>");
    }

    #[test]
    fn labels_are_pairs() {
        assert_eq!(labels(&json!({"b": "2", "a": "1"})), "a=1,b=2");
        assert_eq!(labels(&Value::Null), "<none>");
    }
}
