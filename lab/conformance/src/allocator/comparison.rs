//! What counts as a difference between two answers of an allocator.

use serde_json::{Map, Value, json};

use super::kind;
use crate::Difference;

/// What in our answer differs from the reference's in a way that matters.
pub(super) fn differences(expected: &Value, actual: &Value) -> Vec<Difference> {
    let outcome = |answer: &Value| answer.get("outcome").and_then(Value::as_str).unwrap_or("").to_owned();
    let (wanted, given) = (outcome(expected), outcome(actual));
    let mut found = Vec::new();
    // Where the reference gave up, any answer will do that is one.
    let accepted =
        if wanted == "timeout" { given == "allocated" || given == "none" } else { wanted == given };
    if !accepted {
        found.push(difference("outcome", &summary(expected), &summary(actual)));
        return found;
    }
    match wanted.as_str() {
        "allocated" => found.extend(results(expected, actual)),
        "error" => {
            let ours = actual.get("kind").and_then(Value::as_str).unwrap_or("");
            if !kind::agrees(kind::of(text(expected)), ours) {
                found.push(difference("kind of error", &summary(expected), &summary(actual)));
            }
        }
        _ => {}
    }
    // The recorded answer vouches for one that equals it; any other is judged by itself.
    if let Some(violation) = actual.get("invalid").filter(|_| wanted == "timeout" || !found.is_empty()) {
        found.push(difference("validity", &Value::Null, violation));
    }
    found
}

fn difference(at: &str, expected: &Value, actual: &Value) -> Difference {
    Difference { at: at.to_owned(), expected: expected.clone(), actual: actual.clone() }
}

fn text(answer: &Value) -> &str {
    answer.get("error").and_then(Value::as_str).unwrap_or("")
}

/// An answer without what it took to find.
fn summary(answer: &Value) -> Value {
    let mut summary = json!({ "outcome": answer.get("outcome") });
    match answer.get("kind") {
        Some(ours) => summary["kind"] = ours.clone(),
        None if answer.get("error").is_some() => summary["kind"] = json!(kind::of(text(answer))),
        None => {}
    }
    for key in ["error", "results"] {
        if let Some(value) = answer.get(key) {
            summary[key] = value.clone();
        }
    }
    summary
}

/// Claim by claim.
fn results(expected: &Value, actual: &Value) -> Vec<Difference> {
    let list = |answer: &Value| answer.get("results").and_then(Value::as_array).cloned().unwrap_or_default();
    let (wanted, given) = (list(expected), list(actual));
    if wanted.len() != given.len() {
        return vec![difference("number of results", &json!(wanted.len()), &json!(given.len()))];
    }
    let mut found = Vec::new();
    for (at, (wanted, given)) in wanted.iter().zip(&given).enumerate() {
        for Difference { at: field, expected, actual } in
            crate::exact(&comparable(wanted), &comparable(given))
        {
            let at =
                if field.is_empty() { format!("results[{at}]") } else { format!("results[{at}].{field}") };
            found.push(Difference { at, expected, actual });
        }
    }
    found
}

/// A result without what is not compared, and without fields that say nothing.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, value) in fields {
                let value = match key.as_str() {
                    "compatibilityGroups" => continue,
                    "shareID" => json!("any"),
                    // What only the driver understands is not ours to tidy up.
                    "parameters" => value.clone(),
                    _ => comparable(value),
                };
                if !is_empty(&value) {
                    kept.insert(key.clone(), value);
                }
            }
            Value::Object(kept)
        }
        Value::Array(elements) => Value::Array(elements.iter().map(comparable).collect()),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(expected: &Value, actual: &Value) -> Vec<String> {
        differences(expected, actual).into_iter().map(|difference| difference.at).collect()
    }

    fn allocated(results: &Value) -> Value {
        json!({ "outcome": "allocated", "results": results })
    }

    #[test]
    fn ids_of_shares_noted_groups_and_empty_fields_do_not_matter() {
        let wanted =
            json!([{ "devices": { "results": [{ "device": "a", "shareID": "x" }], "config": null } }]);
        let groups = json!({ "set": ["mig"] });
        let given = json!([{ "devices": {
            "results": [{ "device": "a", "shareID": "y", "compatibilityGroups": groups, "tolerations": [] }],
        } }]);
        assert_eq!(places(&allocated(&wanted), &allocated(&given)), Vec::<String>::new());
        let unshared = json!([{ "devices": { "results": [{ "device": "a" }] } }]);
        assert_eq!(places(&allocated(&wanted), &allocated(&unshared)), ["results[0].devices.results"]);
        let none = json!([{ "devices": {} }]);
        assert_eq!(places(&allocated(&none), &allocated(&json!([{}]))), Vec::<String>::new());
        assert_eq!(places(&allocated(&none), &allocated(&json!([]))), ["number of results"]);
    }

    #[test]
    fn another_device_or_order_matters() {
        let results = |devices: [&str; 2]| {
            let results = devices.map(|device| json!({ "device": device }));
            allocated(&json!([{ "devices": { "results": results } }]))
        };
        assert_eq!(places(&results(["a", "b"]), &results(["b", "a"])), ["results[0].devices.results"]);
        let selector = json!([{ "nodeSelector": { "nodeSelectorTerms": [{}] } }]);
        assert_eq!(places(&allocated(&selector), &allocated(&json!([{}]))), ["results[0].nodeSelector"]);
    }

    #[test]
    fn errors_agree_by_kind() {
        let wanted =
            json!({ "outcome": "error", "error": "claim c: number of requested devices 33 exceeds" });
        let ours = |kind: &str| json!({ "outcome": "error", "kind": kind, "error": "our own words" });
        assert_eq!(places(&wanted, &ours("limit")), Vec::<String>::new());
        assert_eq!(places(&wanted, &ours("gate")), ["kind of error"]);
        assert_eq!(places(&wanted, &json!({ "outcome": "none" })), ["outcome"]);
    }

    #[test]
    fn where_the_reference_gave_up_only_a_valid_answer_will_do() {
        let wanted = json!({ "outcome": "timeout" });
        let given = |outcome: &str| json!({ "outcome": outcome });
        assert_eq!(places(&wanted, &given("none")), Vec::<String>::new());
        assert_eq!(places(&wanted, &given("allocated")), Vec::<String>::new());
        assert_eq!(places(&wanted, &given("timeout")), ["outcome"]);
        let invalid = json!({ "outcome": "allocated", "invalid": "device a is taken twice" });
        assert_eq!(places(&wanted, &invalid), ["validity"]);
    }
}
