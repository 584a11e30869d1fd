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
    /// The structure that does not have it.
    pub within: StructId,
}

/// So many unknown fields tell a reader enough.
const ODDITIES_MAX: usize = 1_000;

/// Checks `value` against the structure `id` and returns its canonical form.
///
/// # Errors
/// The first value that has another type than its field.
pub fn conform(
    table: &Table,
    id: StructId,
    mut value: Value,
    oddities: &mut Vec<Oddity>,
) -> Result<Value, Mismatch> {
    Walk { table, oddities }.structure(id, &mut value, &Path::ROOT)?;
    Ok(value)
}

struct Walk<'t> {
    table: &'t Table,
    oddities: &'t mut Vec<Oddity>,
}

impl Walk<'_> {
    fn structure(&mut self, id: StructId, value: &mut Value, path: &Path<'_>) -> Result<(), Mismatch> {
        let Value::Object(fields) = value else { return Err(mismatch(path, "an object", value)) };
        let known = self.table.get(id);
        let mut checked = Ok(());
        fields.retain(|name, value| {
            let Some(field) = known.field(name) else {
                let is_head = path.is_root() && matches!(name.as_str(), "apiVersion" | "kind");
                if !is_head && checked.is_ok() && self.oddities.len() < ODDITIES_MAX {
                    self.oddities.push(Oddity { path: path.field(name).to_string(), within: id });
                }
                return is_head;
            };
            if value.is_null() {
                return false;
            }
            if checked.is_ok() {
                checked = self.shape(&field.shape, value, &path.field(name));
            }
            true
        });
        checked
    }

    fn shape(&mut self, shape: &Shape, value: &mut Value, path: &Path<'_>) -> Result<(), Mismatch> {
        if value.is_null() {
            *value = zero(shape);
            return Ok(());
        }
        match shape {
            Shape::Any => Ok(()),
            Shape::Struct(id) => self.structure(*id, value, path),
            Shape::Scalar(scalar) if scalar.make_canonical(value) => Ok(()),
            Shape::Scalar(scalar) => Err(mismatch(path, scalar.label(), value)),
            Shape::List(element) => {
                let Value::Array(items) = value else { return Err(mismatch(path, "a list", value)) };
                let mut items = items.iter_mut().enumerate();
                items.try_for_each(|(at, item)| self.shape(element, item, &path.index(at)))
            }
            Shape::Map(element) => {
                let Value::Object(entries) = value else { return Err(mismatch(path, "a map", value)) };
                entries.iter_mut().try_for_each(|(key, entry)| self.shape(element, entry, &path.key(key)))
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
