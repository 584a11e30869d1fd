//! The vectors' placeholders, and how an answer is compared with an expectation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Names that stand for values of this run: `{{ns}}`, `{{u}}`, `{{STEP.path}}`.
#[derive(Debug, Default)]
pub(super) struct Variables {
    answers: BTreeMap<String, Value>,
}

/// The characters that stand for `{{u}}`; cases run one at a time on a shelf of their own, so any will do.
const UNIQUE: &str = "abcd1234";

impl Variables {
    pub(super) fn namespace(&self) -> String {
        format!("t-{UNIQUE}")
    }

    pub(super) fn remember(&mut self, step: &str, answer: Value) {
        self.answers.insert(step.to_owned(), answer);
    }

    pub(super) fn answer(&self, step: &str) -> Option<&Value> {
        self.answers.get(step)
    }

    fn get(&self, name: &str) -> Value {
        match name {
            "u" => Value::String(UNIQUE.to_owned()),
            "ns" => Value::String(self.namespace()),
            other => {
                let (step, path) = other.split_once('.').unwrap_or((other, ""));
                let answer = self.answers.get(step).unwrap_or(&Value::Null);
                if path.is_empty() {
                    answer.clone()
                } else {
                    lookup(answer, path).cloned().unwrap_or(Value::Null)
                }
            }
        }
    }

    /// The value with every placeholder replaced.
    pub(super) fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill_text(text),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.fill(item)).collect()),
            Value::Object(fields) => {
                let filled = fields.iter().map(|(key, value)| (self.fill_string(key), self.fill(value)));
                Value::Object(filled.collect())
            }
            other => other.clone(),
        }
    }

    pub(super) fn fill_string(&self, text: &str) -> String {
        match self.fill_text(text) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    fn fill_text(&self, text: &str) -> Value {
        if let Some(name) = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"))
            && !name.contains('{')
        {
            return self.get(name);
        }
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{")
            && let Some((name, after)) = after.split_once("}}")
        {
            filled.push_str(before);
            match self.get(name) {
                Value::String(value) => filled.push_str(&value),
                other => filled.push_str(&other.to_string()),
            }
            rest = after;
        }
        filled.push_str(rest);
        Value::String(filled)
    }
}

fn steps(path: &str) -> impl Iterator<Item = String> {
    path.split('.').map(|part| part.replace("~1", ".").replace("~0", "~"))
}

fn lookup<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    steps(path).try_fold(value, |value, part| match value {
        Value::Object(fields) => fields.get(&part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Sets a dotted path; `<unset>` removes it, `+` appends to a list.
pub(super) fn put(value: &mut Value, path: &str, new: Value) {
    let mut parts: Vec<String> = steps(path).collect();
    let Some(last) = parts.pop() else { return };
    let mut holder = value;
    for part in parts {
        holder = match holder {
            Value::Array(items) => match part.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
                Some(item) => item,
                None => return,
            },
            Value::Object(fields) => fields.entry(part).or_insert_with(|| Value::Object(Map::new())),
            _ => return,
        };
    }
    let unset = new == "<unset>";
    match holder {
        Value::Array(items) if last == "+" => items.push(new),
        Value::Array(items) => match last.parse::<usize>() {
            Ok(at) if unset && at < items.len() => drop(items.remove(at)),
            Ok(at) if at < items.len() => items[at] = new,
            _ => {}
        },
        Value::Object(fields) if unset => drop(fields.remove(&last)),
        Value::Object(fields) => drop(fields.insert(last, new)),
        _ => {}
    }
}

/// Causes as a set: which of them repeat is not compared.
pub(super) fn set_of(causes: &Value) -> BTreeSet<String> {
    causes.as_array().into_iter().flatten().map(ToString::to_string).collect()
}

/// Where an answer does not match what is wanted, and why.
pub(super) fn mismatches(want: &Value, have: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(want, have, "", &mut found);
    found
}

fn compare(want: &Value, have: &Value, path: &str, found: &mut Vec<String>) {
    match (want, have) {
        (Value::String(text), have) if text.starts_with('<') && text.ends_with('>') => {
            if !placeholder(text, have) {
                found.push(format!("{path}: want {text}, have {have}"));
            }
        }
        (Value::Object(fields), have)
            if fields.contains_key("<set>") || fields.contains_key("<contains>") =>
        {
            unordered(fields, have, path, found);
        }
        (Value::Object(wanted), Value::Object(had)) => objects(wanted, had, path, found),
        (Value::Array(wanted), Value::Array(had)) if wanted.len() == had.len() => {
            for (index, (want, have)) in wanted.iter().zip(had).enumerate() {
                compare(want, have, &format!("{path}[{index}]"), found);
            }
        }
        (want, have) if want == have => {}
        (want, have) => found.push(format!("{path}: want {want}, have {have}")),
    }
}

fn objects(wanted: &Map<String, Value>, had: &Map<String, Value>, path: &str, found: &mut Vec<String>) {
    let more_allowed = wanted.get("...") == Some(&Value::Bool(true));
    for (key, want) in wanted.iter().filter(|(key, _)| *key != "...") {
        match had.get(key) {
            Some(have) if want == "<absent>" => {
                found.push(format!("{path}.{key}: want it absent, have {have}"))
            }
            None if want == "<absent>" => {}
            Some(have) => compare(want, have, &format!("{path}.{key}"), found),
            None => found.push(format!("{path}.{key}: missing, want {want}")),
        }
    }
    if !more_allowed {
        for (key, have) in had {
            // Who owns which field, and the revision of a dry run, are the store's business.
            if !wanted.contains_key(key) && !matches!(key.as_str(), "managedFields" | "resourceVersion") {
                found.push(format!("{path}.{key}: unexpected {have}"));
            }
        }
    }
}

fn unordered(wanted: &Map<String, Value>, have: &Value, path: &str, found: &mut Vec<String>) {
    let Value::Array(had) = have else {
        found.push(format!("{path}: want a list, have {have}"));
        return;
    };
    let exact = wanted.contains_key("<set>");
    let items = wanted.get("<set>").or_else(|| wanted.get("<contains>")).and_then(Value::as_array);
    let mut left: Vec<&Value> = had.iter().collect();
    for item in items.into_iter().flatten() {
        match left.iter().position(|have| mismatches(item, have).is_empty()) {
            Some(at) => drop(left.remove(at)),
            None => found.push(format!("{path}: no element matches {item}")),
        }
    }
    if exact && !left.is_empty() {
        found.push(format!("{path}: {} elements too many", left.len()));
    }
}

fn placeholder(want: &str, have: &Value) -> bool {
    let text = have.as_str();
    match want {
        "<uid>" => text.is_some_and(|text| text.len() == 36 && text.matches('-').count() == 4),
        "<rv>" => text.is_some_and(|text| text != "0" && text.bytes().all(|byte| byte.is_ascii_digit())),
        "<time>" | "<now>" => text.is_some_and(|text| text.len() >= 20 && text.as_bytes()[10] == b'T'),
        "<str>" | "<continue>" => text.is_some_and(|text| !text.is_empty()),
        "<int>" => have.is_i64() || have.is_u64(),
        "<any>" => !have.is_null(),
        _ => match want.strip_prefix("<gen:").and_then(|rest| rest.strip_suffix('>')) {
            Some(prefix) => {
                text.is_some_and(|text| text.strip_prefix(prefix).is_some_and(|end| end.len() == 5))
            }
            None => want.starts_with("<re:") || text == Some(want),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Variables, mismatches, put};

    #[test]
    fn an_unexpected_field_is_a_mismatch_unless_more_is_allowed() {
        assert_eq!(mismatches(&json!({"a": 1}), &json!({"a": 1, "b": 2})).len(), 1);
        assert!(mismatches(&json!({"a": 1, "...": true}), &json!({"a": 1, "b": 2})).is_empty());
        assert_eq!(mismatches(&json!({"a": "<absent>"}), &json!({"a": 1})).len(), 1);
        assert_eq!(mismatches(&json!({"a": "<uid>"}), &json!({"a": "x"})).len(), 1);
    }

    #[test]
    fn placeholders_take_values_of_earlier_answers() {
        let mut variables = Variables::default();
        variables.remember("0", json!({"metadata": {"uid": "u-1"}, "n": [7]}));
        assert_eq!(variables.fill(&json!("{{0.metadata.uid}}")), json!("u-1"));
        assert_eq!(variables.fill(&json!("x-{{0.n.0}}-y")), json!("x-7-y"));
    }

    #[test]
    fn a_path_is_set_appended_or_removed() {
        let mut value = json!({"a": {"b": [1, 2]}});
        put(&mut value, "a.b.+", json!(3));
        put(&mut value, "a.b.0", json!("<unset>"));
        put(&mut value, "a.c~1d", json!(true));
        assert_eq!(value, json!({"a": {"b": [2, 3], "c.d": true}}));
    }
}
