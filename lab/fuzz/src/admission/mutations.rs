//! Changes to a JSON value at a random place, of the kinds that break validators.

use serde_json::{Map, Value, json};
use testkit::Choices;

const TEXTS: [&str; 10] = [
    "",
    "x",
    "gpu.example.com/attr",
    "-",
    "a..b",
    "True",
    "9223372036854775808",
    "é\u{0}",
    "1Gi",
    "2026-01-02T03:04:05Z",
];
const NAMES: [&str; 8] = ["spec", "name", "devices", "unknown", "a/b", "metadata", "requests", "key"];
/// A list that is longer than any limit on lists.
const MANY: usize = 300;

/// Changes one value somewhere in `value`.
pub fn mutate(value: &mut Value, choices: &mut Choices<'_>) {
    let target = descend(value, choices);
    match choices.below(9) {
        0 => *target = odd(choices),
        1 => shrink(target, choices),
        2 => repeat(target, choices),
        3 => grow(target, choices),
        4 => *target = json!(choices.pick(&TEXTS)),
        5 => *target = json!("x".repeat(1 << (4 + choices.below(14)))),
        6 => nest(target, choices),
        7 => *target = json!(choices.pick(&[&0_i64, &1, &-1, &i64::from(i32::MAX), &i64::MIN, &64, &129])),
        _ => *target = Value::Null,
    }
}

/// A place in the value; the deeper, the rarer.
fn descend<'v>(value: &'v mut Value, choices: &mut Choices<'_>) -> &'v mut Value {
    let count = match &*value {
        Value::Object(fields) => fields.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    if count == 0 || choices.one_in(8) {
        return value;
    }
    let at = choices.below(count);
    let inner = match value {
        Value::Object(fields) => fields.values_mut().nth(at),
        Value::Array(items) => items.get_mut(at),
        _ => None,
    };
    descend(inner.expect("the position is below the count"), choices)
}

fn odd(choices: &mut Choices<'_>) -> Value {
    match choices.below(8) {
        0 => json!({}),
        1 => json!([]),
        2 => json!(true),
        3 => json!(1.5),
        4 => json!([null, {}]),
        5 => json!({ "": "" }),
        6 => json!(["a", "a"]),
        _ => json!({ "cel": { "expression": "device.driver == 'gpu.example.com' && true" } }),
    }
}

fn shrink(value: &mut Value, choices: &mut Choices<'_>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let name = fields.keys().nth(choices.below(fields.len())).cloned();
            name.and_then(|name| fields.remove(&name));
        }
        Value::Array(items) if !items.is_empty() => drop(items.remove(choices.below(items.len()))),
        Value::String(text) => drop(text.pop()),
        other => *other = Value::Null,
    }
}

/// Elements come twice, or too often.
fn repeat(value: &mut Value, choices: &mut Choices<'_>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let item = items[choices.below(items.len())].clone();
            let times = if choices.one_in(4) { MANY } else { 1 };
            items.extend(std::iter::repeat_n(item, times));
        }
        Value::Object(fields) if !fields.is_empty() => {
            let entry = fields.values().nth(choices.below(fields.len())).cloned().unwrap_or_default();
            let times = if choices.one_in(4) { MANY } else { 1 };
            fields.extend((0..times).map(|at| (format!("key{at}"), entry.clone())));
        }
        Value::String(text) => *text = text.repeat(2),
        other => *other = json!([other.clone(), other.clone()]),
    }
}

fn grow(value: &mut Value, choices: &mut Choices<'_>) {
    let added = if choices.one_in(2) { odd(choices) } else { json!(choices.pick(&TEXTS)) };
    match value {
        Value::Object(fields) => drop(fields.insert(choices.pick(&NAMES).to_owned(), added)),
        Value::Array(items) => items.push(added),
        other => *other = added,
    }
}

fn nest(value: &mut Value, choices: &mut Choices<'_>) {
    for _ in 0..choices.below(100) {
        let inner = std::mem::take(value);
        *value = if choices.one_in(2) {
            Value::Array(vec![inner])
        } else {
            Value::Object(Map::from_iter([("metadata".to_owned(), inner)]))
        };
    }
}
