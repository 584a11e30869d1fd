//! What differs from what was expected, in lines that people read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::allocate::Given;

/// Requests that got other devices.
pub(crate) fn of_devices(expected: &BTreeMap<String, Vec<String>>, given: &[Given]) -> Vec<String> {
    let mut found: BTreeMap<&str, Vec<&Given>> = BTreeMap::new();
    for given in given {
        found.entry(&given.request).or_default().push(given);
    }
    let requests: BTreeSet<&str> = expected.keys().map(String::as_str).chain(found.keys().copied()).collect();
    let mut lines = Vec::new();
    for request in requests {
        let expected = expected.get(request).map(Vec::as_slice).unwrap_or_default();
        let found = found.get(request).map(Vec::as_slice).unwrap_or_default();
        let same = expected.len() == found.len()
            && expected.iter().zip(found).all(|(expected, found)| found.is_called(expected));
        if !same {
            let named: Vec<_> = found.iter().map(|given| given.device.as_str()).collect();
            lines.push(format!("{request}: expected {}", listed(expected)));
            lines.push(format!("{request}: found    {}", listed(&named)));
        }
    }
    lines
}

fn listed<T: AsRef<str>>(names: &[T]) -> String {
    if names.is_empty() {
        return "no device".to_owned();
    }
    names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// Parts of a sentence that are not in it.
pub(crate) fn of_sentence(fragments: &[String], sentence: &str) -> Vec<String> {
    let missing: Vec<_> = fragments.iter().filter(|fragment| !sentence.contains(fragment.as_str())).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<_> = missing.iter().map(|fragment| format!("expected … {fragment} …")).collect();
    lines.push(format!("found    {sentence}"));
    lines
}

/// What is expected in a value and not in it. A map may have more keys than expected; `null` stands for a key that is
/// not there, and a number for how many there are in a list.
pub(crate) fn of_parts(path: &str, expected: &Value, found: &Value) -> Vec<String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => expected
            .iter()
            .flat_map(|(key, expected)| {
                of_parts(&format!("{path}.{key}"), expected, found.get(key).unwrap_or(&Value::Null))
            })
            .collect(),
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => expected
            .iter()
            .zip(found)
            .enumerate()
            .flat_map(|(at, (expected, found))| of_parts(&format!("{path}[{at}]"), expected, found))
            .collect(),
        (Value::Number(expected), Value::Array(found))
            if expected.as_u64() == u64::try_from(found.len()).ok() =>
        {
            Vec::new()
        }
        (expected, found) if expected == found => Vec::new(),
        (expected, found) => {
            vec![format!("{path}: expected {expected}"), format!("{path}: found    {found}")]
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_expected_is_compared_and_null_is_absence() {
        let found = json!({ "a": 1, "b": [{ "c": 2, "d": 3 }] });
        assert!(of_parts("s", &json!({ "b": [{ "c": 2 }], "e": null }), &found).is_empty());
        let lines = of_parts("s", &json!({ "b": [{ "c": 4 }] }), &found);
        assert_eq!(lines, ["s.b[0].c: expected 4", "s.b[0].c: found    2"]);
        assert!(
            of_parts("s", &json!({ "b": 1 }), &found).is_empty()
                && of_parts("s", &json!({ "b": 2 }), &found).len() == 2
        );
        let lines = of_parts("s", &json!({ "a": null, "b": [] }), &found);
        assert_eq!(lines.len(), 4);
    }
}
