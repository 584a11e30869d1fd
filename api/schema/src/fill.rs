//! Gives an object the form in which it is written: what is always there is there, what is empty is gone, and
//! amounts have their canonical text.

use serde_json::{Map, Value};

use crate::scalar::canonical_quantity;
use crate::table::{Field, Presence, Scalar, Shape, StructId, Table};

/// Completes `value`, an object of the structure `id`, in place.
pub fn fill(table: &Table, id: StructId, value: &mut Value) {
    let Value::Object(fields) = value else { return };
    let known = table.get(id);
    let mut left_out = false;
    for (name, value) in fields.iter_mut() {
        let Some(field) = known.field(name) else { continue };
        shape(table, &field.shape, value);
        if is_left_out(field, value) {
            left_out = true;
        } else if is_empty_collection(&field.shape, value) {
            *value = Value::Null;
        }
    }
    if left_out {
        fields.retain(|name, value| !known.field(name).is_some_and(|field| is_left_out(field, value)));
    }
    for field in known.written.iter().map(|at| &known.fields[*at]) {
        if !fields.contains_key(&field.name)
            && let Some(value) = absent(table, field)
        {
            fields.insert(field.name.clone(), value);
        }
    }
}

fn shape(table: &Table, shape_of: &Shape, value: &mut Value) {
    match (shape_of, value) {
        (Shape::Struct(id), value) => fill(table, *id, value),
        (Shape::Scalar(Scalar::Quantity), Value::String(text)) => {
            if let Some(canonical) = canonical_quantity(text) {
                *text = canonical;
            }
        }
        (Shape::List(element), Value::Array(items)) => {
            items.iter_mut().for_each(|item| shape(table, element, item));
        }
        (Shape::Map(element), Value::Object(entries)) => {
            entries.values_mut().for_each(|entry| shape(table, element, entry));
        }
        _ => {}
    }
}

fn is_left_out(field: &Field, value: &Value) -> bool {
    let empty = match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    };
    if !empty || field.presence == Presence::Always || field.presence == Presence::Null {
        return false;
    }
    if value.is_null() {
        return true;
    }
    match field.shape {
        Shape::List(_) | Shape::Map(_) => true,
        Shape::Scalar(_) | Shape::Any | Shape::Struct(_) => field.presence == Presence::OmitZero,
    }
}

/// A list or map without elements is the same as none: Kubernetes stores no difference and writes null for both.
fn is_empty_collection(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::List(_), Value::Array(items)) => items.is_empty(),
        (Shape::Map(_), Value::Object(entries)) => entries.is_empty(),
        _ => false,
    }
}

/// What is written for a field that is not set, if anything.
fn absent(table: &Table, field: &Field) -> Option<Value> {
    match field.presence {
        Presence::OmitZero | Presence::Optional => None,
        Presence::Null => Some(Value::Null),
        Presence::Always => Some(match &field.shape {
            Shape::Scalar(scalar) => scalar.zero(),
            Shape::Struct(id) => {
                let mut value = Value::Object(Map::new());
                fill(table, *id, &mut value);
                value
            }
            Shape::List(_) | Shape::Map(_) | Shape::Any => Value::Null,
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fill;
    use crate::table::table;

    #[test]
    fn a_claim_without_requests_says_so_and_has_a_status() {
        let kind = table().kind("resource.k8s.io/v1", "ResourceClaim").expect("claims are served");
        let mut claim = json!({"metadata": {"name": "c", "labels": {}}});
        fill(table(), kind.object, &mut claim);
        assert_eq!(
            claim,
            json!({"metadata": {"name": "c"}, "spec": {"devices": {"requests": null}}, "status": {}})
        );
    }

    #[test]
    fn an_empty_list_that_is_always_written_is_written_as_null() {
        let kind = table().kind("storage.k8s.io/v1", "CSINode").expect("CSI nodes are served");
        let mut node = json!({"metadata": {"name": "n"}, "spec": {"drivers": []}});
        fill(table(), kind.object, &mut node);
        assert_eq!(node["spec"], json!({"drivers": null}));
    }

    #[test]
    fn a_zero_that_was_set_is_kept_only_where_it_means_something() {
        let kind = table().kind("resource.k8s.io/v1", "ResourceSlice").expect("slices are served");
        let mut slice = json!({"spec": {"allNodes": false, "devices": [{"name": "a", "attributes": {"x": {"int": 0}}, "taints": []}]}});
        fill(table(), kind.object, &mut slice);
        assert_eq!(slice["spec"]["allNodes"], json!(false));
        assert_eq!(slice["spec"]["devices"], json!([{"name": "a", "attributes": {"x": {"int": 0}}}]));
    }
}
