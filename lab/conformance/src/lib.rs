//! Replays recorded answers of Kubernetes, the vectors, against our own code.
//!
//! One module a family of vectors. A module says how to answer a case and what counts as a difference; reading,
//! counting and printing are the same for all.

pub mod admission;
pub mod allocator;
pub mod cel;
pub mod gangs;
pub mod plugins;
pub mod quantity;
pub mod replay;
pub mod vectors;
pub mod volumes;

use serde_json::Value;

/// A family of vectors.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// The recorded answer to a case.
    pub expected: fn(case: &Value) -> Value,
    /// Our answer to a case, in the form of the vectors' `expect`.
    pub answer: fn(case: &Value) -> anyhow::Result<Value>,
    /// What in our answer differs from the expected one in a way that matters; empty if nothing does.
    pub differences: fn(expected: &Value, actual: &Value) -> Vec<Difference>,
    /// Something that should be equal but does not fail a case: what it is called, and how to count it.
    pub agreement: Option<(&'static str, CountAgreement)>,
    /// What answers look like.
    pub form: Form,
}

/// What the answers of a suite look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Any value. A dump has it under `result`.
    Any,
    /// An object that says in `micros` how long it took to find. The times are told in the report, and a dump has the
    /// object's fields beside the name.
    Timed,
}

/// Counts how far an answer agrees with the expected one.
pub type CountAgreement = fn(expected: &Value, actual: &Value) -> Agreement;

/// How many of the compared figures are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Figures that are equal.
    pub equal: usize,
    /// Figures that were compared.
    pub compared: usize,
}

/// One thing that should have been equal and was not.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where in the answer, such as `a.canonical`; empty for the answer as a whole.
    pub at: String,
    /// What Kubernetes answered.
    pub expected: Value,
    /// What we answered.
    pub actual: Value,
}

/// The recorded answer of most vectors.
pub fn expect(case: &Value) -> Value {
    case.get("expect").cloned().unwrap_or(Value::Null)
}

/// Compares two answers in full, naming the innermost objects' fields that differ.
pub fn exact(expected: &Value, actual: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    collect_differences("", expected, actual, &mut found);
    found
}

fn collect_differences(at: &str, expected: &Value, actual: &Value, found: &mut Vec<Difference>) {
    let (Value::Object(left), Value::Object(right)) = (expected, actual) else {
        if expected != actual {
            found.push(Difference { at: at.to_owned(), expected: expected.clone(), actual: actual.clone() });
        }
        return;
    };
    let keys = left.keys().chain(right.keys().filter(|key| !left.contains_key(*key)));
    for key in keys {
        let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        let field = |side: &serde_json::Map<String, Value>| side.get(key).cloned().unwrap_or(Value::Null);
        collect_differences(&at, &field(left), &field(right), found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_that_differs_is_named() {
        let found = exact(&json!({"a": {"x": 1, "y": 2}, "b": [1]}), &json!({"a": {"x": 1, "y": 3}, "c": 0}));
        let places: Vec<_> = found.iter().map(|difference| difference.at.as_str()).collect();
        assert_eq!(places, ["a.y", "b", "c"]);
        assert_eq!(found[0].actual, json!(3));
    }

    #[test]
    fn equal_answers_have_no_difference() {
        assert_eq!(exact(&json!({"a": [1, {"b": null}]}), &json!({"a": [1, {"b": null}]})), []);
    }
}
