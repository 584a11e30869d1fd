//! Whether an applied configuration has the shape of its kind: every field is known, every value has its type, every
//! element of a list can be told from the others.

use std::collections::BTreeSet;

use schema::{Scalar, Shape, StructId, Table};
use serde_json::Value;

use super::form::{Form, Place};
use super::path_element::PathElement;

/// Checks a configuration.
pub(super) fn check(table: &Table, id: StructId, config: &Value) -> Result<(), String> {
    Check { table }.structure(id, config, true)
}

#[derive(Clone, Copy)]
struct Check<'a> {
    table: &'a Table,
}

impl<'a> Check<'a> {
    fn structure(self, id: StructId, value: &'a Value, root: bool) -> Result<(), String> {
        let known = self.table.get(id);
        let Value::Object(fields) = value else { return expected("a map", value) };
        for (name, value) in fields {
            let checked = match known.field(name) {
                Some(field) => self.place(Place::of(field), value),
                None if root && matches!(name.as_str(), "apiVersion" | "kind") => Ok(()),
                None => Err(": field not declared in schema".to_owned()),
            };
            checked.map_err(|error| format!(".{name}{error}"))?;
        }
        Ok(())
    }

    fn place(self, place: Place<'a>, value: &'a Value) -> Result<(), String> {
        match (place.shape, value) {
            (Shape::Any, _) | (_, Value::Null) => Ok(()),
            (Shape::Scalar(scalar), value) => single(*scalar, value),
            (Shape::Struct(id), value) => self.structure(*id, value, false),
            (Shape::Map(entry), Value::Object(entries)) => entries.iter().try_for_each(|(name, value)| {
                self.place(Place::inside(entry), value).map_err(|error| format!(".{name}{error}"))
            }),
            (Shape::Map(_), value) => expected("a map", value),
            (Shape::List(element), Value::Array(items)) => self.items(place, element, items),
            (Shape::List(_), value) => expected("a list", value),
        }
    }

    fn items(self, place: Place<'a>, element: &'a Shape, items: &'a [Value]) -> Result<(), String> {
        let elements = if let Form::List(elements) = place.form(self.table) { Some(elements) } else { None };
        let mut seen = BTreeSet::new();
        for (at, item) in items.iter().enumerate() {
            let path_element = match elements {
                Some(elements) => {
                    let path_element =
                        elements.path_element(item).map_err(|why| format!(": element {at}: {why}"))?;
                    if !seen.insert(path_element.clone()) {
                        return Err(format!(": duplicate entries for key {path_element}"));
                    }
                    path_element
                }
                None => PathElement::Index(i64::try_from(at).unwrap_or(i64::MAX)),
            };
            self.place(Place::inside(element), item).map_err(|error| format!("{path_element}{error}"))?;
        }
        Ok(())
    }
}

fn single(scalar: Scalar, value: &Value) -> Result<(), String> {
    let (fits, wanted) = match scalar {
        Scalar::String | Scalar::Time | Scalar::MicroTime | Scalar::Bytes => (value.is_string(), "a string"),
        Scalar::Bool => (value.is_boolean(), "a boolean"),
        Scalar::Int32 | Scalar::Int64 | Scalar::Double => (value.is_number(), "a number"),
        Scalar::Quantity | Scalar::IntOrString => (!value.is_object() && !value.is_array(), "a single value"),
    };
    if fits { Ok(()) } else { expected(wanted, value) }
}

fn expected(wanted: &str, found: &Value) -> Result<(), String> {
    let text: String = found.to_string().chars().take(80).collect();
    Err(format!(": expected {wanted}, got {text}"))
}

#[cfg(test)]
mod tests {
    use schema::table;
    use serde_json::json;

    use super::check;

    #[test]
    fn what_is_wrong_is_named() {
        let pod = table().kind("v1", "Pod").expect("pods are served").object;
        let error = |config| check(table(), pod, &config).expect_err("something is wrong");
        assert_eq!(error(json!({"spec": {"bogus": 1}})), ".spec.bogus: field not declared in schema");
        assert_eq!(
            error(json!({"spec": {"containers": [{"name": "a", "image": 1}]}})),
            ".spec.containers[name=\"a\"].image: expected a string, got 1"
        );
        assert_eq!(
            error(json!({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}})),
            ".spec.containers: duplicate entries for key [name=\"a\"]"
        );
        let fine = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"volumes": null, "priority": 1}});
        assert_eq!(check(table(), pod, &fine), Ok(()));
    }
}
