//! Reading fields of an object that may or may not have them.
//!
//! A field that is missing, `null` or of another type reads as its zero value, as it does in Kubernetes.

use serde_json::{Map, Value};

/// An object made of these entries, without copying them.
pub(crate) fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The text of a field, empty when it is unset.
pub(crate) fn text(field: &Value) -> &str {
    field.as_str().unwrap_or_default()
}

/// The text of a field, or `otherwise` when it is unset or empty.
pub(crate) fn text_or<'a>(field: &'a Value, otherwise: &'a str) -> &'a str {
    match text(field) {
        "" => otherwise,
        given => given,
    }
}

/// The text of a field, or `otherwise` when it is unset; empty text counts as set.
pub(crate) fn set_or<'a>(field: &'a Value, otherwise: &'a str) -> &'a str {
    field.as_str().unwrap_or(otherwise)
}

/// The whole number of a field.
pub(crate) fn number(field: &Value) -> i64 {
    field.as_i64().unwrap_or_default()
}

/// The truth value of a field.
pub(crate) fn truth(field: &Value) -> bool {
    field.as_bool().unwrap_or_default()
}

/// The elements of a list.
pub(crate) fn items(field: &Value) -> &[Value] {
    field.as_array().map_or(&[], Vec::as_slice)
}

/// The entries of a map.
pub(crate) fn entries(field: &Value) -> impl Iterator<Item = (&String, &Value)> {
    field.as_object().into_iter().flat_map(Map::iter)
}

/// How many entries a map has.
pub(crate) fn size(field: &Value) -> usize {
    field.as_object().map_or(0, Map::len)
}

/// The texts of a list, joined by commas.
pub(crate) fn joined(field: &Value) -> String {
    items(field).iter().map(text).collect::<Vec<_>>().join(",")
}

/// The value of `name` in every element of a list, joined by commas.
pub(crate) fn joined_by(field: &Value, name: &str) -> String {
    items(field).iter().map(|item| text(&item[name])).collect::<Vec<_>>().join(",")
}

/// The object's name.
pub(crate) fn name(object: &Value) -> Value {
    text(&object["metadata"]["name"]).into()
}

/// The object is being deleted.
pub(crate) fn is_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The condition of a type; of several the last one.
pub(crate) fn last_condition<'a>(conditions: &'a Value, kind: &str) -> Option<&'a Value> {
    items(conditions).iter().rev().find(|condition| text(&condition["type"]) == kind)
}

/// The condition of a type is true; of several the first one decides.
pub(crate) fn holds(conditions: &Value, kind: &str) -> bool {
    let first = items(conditions).iter().find(|condition| text(&condition["type"]) == kind);
    first.is_some_and(is_true)
}

/// The condition is true.
pub(crate) fn is_true(condition: &Value) -> bool {
    text(&condition["status"]) == "True"
}
