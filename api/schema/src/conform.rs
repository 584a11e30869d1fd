//! Brings a JSON value into the shape of a structure: types are checked, unknown fields taken out and
//! reported, nulls dropped, times made canonical.
//!
//! What an explicit empty list or zero means, or how an amount was written, is left to validation, so they
//! stay; `fill` settles them when the object is written.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::path::Path;
use crate::table::{Shape, StructId, Table};

/// A value of another type than the field has.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{path}: expected {expected}, found {found}")]
pub struct Mismatch {
    /// Where.
    pub path: String,
    /// What the field holds.
    pub expected: &'static str,
    /// What was there.
    pub found: String,
}

/// A field that the structure does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// Where, such as `spec.bogus`.
    pub path: String,
}

/// Checks `value` against the structure `id` and returns its canonical form.
///
/// # Errors
/// The first value that has another type than its field.
pub fn conform(
    table: &Table,
    id: StructId,
    value: Value,
    oddities: &mut Vec<Oddity>,
) -> Result<Value, Mismatch> {
    Walk { table, oddities }.structure(id, value, &Path::ROOT)
}

struct Walk<'t> {
    table: &'t Table,
    oddities: &'t mut Vec<Oddity>,
}

impl Walk<'_> {
    fn structure(&mut self, id: StructId, value: Value, path: &Path<'_>) -> Result<Value, Mismatch> {
        let Value::Object(fields) = value else { return Err(mismatch(path, "an object", &value)) };
        let known = self.table.get(id);
        let root = path.to_string().is_empty();
        let mut kept = Map::new();
        for (name, value) in fields {
            let Some(field) = known.field(&name) else {
                if root && matches!(name.as_str(), "apiVersion" | "kind") {
                    kept.insert(name, value);
                } else {
                    self.oddities.push(Oddity { path: path.field(&name).to_string() });
                }
                continue;
            };
            if value.is_null() {
                continue;
            }
            let value = self.shape(&field.shape, value, &path.field(&name))?;
            kept.insert(name, value);
        }
        Ok(Value::Object(kept))
    }

    fn shape(&mut self, shape: &Shape, value: Value, path: &Path<'_>) -> Result<Value, Mismatch> {
        if value.is_null() {
            return Ok(zero(shape));
        }
        match shape {
            Shape::Any => Ok(value),
            Shape::Struct(id) => self.structure(*id, value, path),
            Shape::Scalar(scalar) => {
                let found = describe(&value);
                scalar.canonical(value).ok_or_else(|| Mismatch {
                    path: path.to_string(),
                    expected: scalar.label(),
                    found,
                })
            }
            Shape::List(element) => {
                let Value::Array(items) = value else { return Err(mismatch(path, "a list", &value)) };
                let items = items.into_iter().enumerate();
                let checked: Result<Vec<Value>, Mismatch> =
                    items.map(|(at, item)| self.shape(element, item, &path.index(at))).collect();
                checked.map(Value::Array)
            }
            Shape::Map(element) => {
                let Value::Object(entries) = value else { return Err(mismatch(path, "a map", &value)) };
                let mut checked = Map::new();
                for (key, entry) in entries {
                    let entry = self.shape(element, entry, &path.key(&key))?;
                    checked.insert(key, entry);
                }
                Ok(Value::Object(checked))
            }
        }
    }
}

/// The value of an element that was given as null.
fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::Scalar(scalar) => scalar.zero(),
        Shape::Struct(_) | Shape::Map(_) => Value::Object(Map::new()),
        Shape::List(_) => Value::Array(Vec::new()),
        Shape::Any => Value::Null,
    }
}

fn mismatch(path: &Path<'_>, expected: &'static str, found: &Value) -> Mismatch {
    Mismatch { path: path.to_string(), expected, found: describe(found) }
}

/// Names a value shortly, so that a hostile one does not fill the log.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) => {
            let start: String = text.chars().take(40).collect();
            let more = if start.len() < text.len() { "…" } else { "" };
            format!("{start:?}{more}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::conform;
    use crate::table::table;

    fn check(api_version: &str, kind: &str, value: Value) -> Result<(Value, Vec<String>), String> {
        let kind = table().kind(api_version, kind).expect("a kind of the table");
        let mut oddities = Vec::new();
        let value = conform(table(), kind.object, value, &mut oddities).map_err(|error| error.to_string())?;
        Ok((value, oddities.into_iter().map(|oddity| oddity.path).collect()))
    }

    #[test]
    fn unknown_fields_are_taken_out_and_named() {
        let given =
            json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "bogus": 1}]}});
        let (value, oddities) = check("v1", "Pod", given).expect("the types are right");
        assert_eq!(oddities, ["spec.containers[0].bogus"]);
        assert_eq!(value["spec"]["containers"], json!([{"name": "c"}]));
    }

    #[test]
    fn a_value_of_another_type_names_its_place() {
        let given = json!({"spec": {"devices": [{"name": "a", "capacity": {"m": {"value": "1 Gi"}}}]}});
        let error = check("resource.k8s.io/v1", "ResourceSlice", given).expect_err("1 Gi is no quantity");
        assert_eq!(
            error,
            "spec.devices[0].capacity[m].value: expected a quantity such as 500m or 2Gi, found \"1 Gi\""
        );
    }

    #[test]
    fn nulls_are_dropped_and_numbers_become_quantities() {
        let given = json!({"spec": {"devices": [{"name": "a", "nodeName": null, "capacity": {"m": {"value": 0.5}}}]}});
        let (value, _) = check("resource.k8s.io/v1", "ResourceSlice", given).expect("the types are right");
        assert_eq!(value["spec"]["devices"][0], json!({"name": "a", "capacity": {"m": {"value": "0.5"}}}));
    }

    #[test]
    fn an_integer_must_fit_its_field() {
        let given = json!({"spec": {"schedulingPolicy": {"gang": {"minCount": 2_147_483_648_i64}}}});
        assert!(check("scheduling.k8s.io/v1beta1", "PodGroup", given).is_err());
    }
}
