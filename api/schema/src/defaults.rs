//! Sets the fields that have a default and were left unset, wherever their structure occurs.
//!
//! Defaults that depend on other fields are code in `admission`; these do not.

use serde_json::{Map, Value};

use crate::table::{Field, Presence, Shape, StructId, Table};

/// Applies the table's defaults to `value`, an object of the structure `id`.
pub fn apply_defaults(table: &Table, id: StructId, value: &mut Value) {
    let Value::Object(fields) = value else { return };
    let known = table.get(id);
    for field in known.defaulted.iter().map(|at| &known.fields[*at]) {
        let have = fields.get(&field.name);
        match (&field.default, &field.shape) {
            (Some(default), _) if is_unset(field, have) => {
                fields.insert(field.name.clone(), default.clone());
            }
            // A structure that is always written is there even if nobody named it, and so are its defaults.
            (None, Shape::Struct(id)) if have.is_none() => {
                let mut value = Value::Object(Map::new());
                apply_defaults(table, *id, &mut value);
                if value.as_object().is_some_and(|inner| !inner.is_empty()) {
                    fields.insert(field.name.clone(), value);
                }
            }
            _ => {}
        }
    }
    for (name, value) in fields.iter_mut().filter(|(_, value)| value.is_object() || value.is_array()) {
        if let Some(field) = known.field(name) {
            inside(table, &field.shape, value);
        }
    }
}

fn is_unset(field: &Field, value: Option<&Value>) -> bool {
    let left_out_when_zero = field.presence == Presence::OmitZero;
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty() && left_out_when_zero,
        Some(Value::Array(items)) => items.is_empty() && left_out_when_zero,
        Some(Value::Number(number)) => number.as_i64() == Some(0) && left_out_when_zero,
        Some(_) => false,
    }
}

fn inside(table: &Table, shape: &Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::Struct(id), value) => apply_defaults(table, *id, value),
        (Shape::List(element), Value::Array(items)) => {
            items.iter_mut().for_each(|item| inside(table, element, item));
        }
        (Shape::Map(element), Value::Object(entries)) => {
            entries.values_mut().for_each(|entry| inside(table, element, entry));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::apply_defaults;
    use crate::table::table;

    #[test]
    fn defaults_reach_every_place_where_a_structure_occurs() {
        let kind = table().kind("batch/v1", "Job").expect("jobs are served");
        let mut job =
            json!({"spec": {"template": {"spec": {"containers": [{"ports": [{"containerPort": 1}]}]}}}});
        apply_defaults(table(), kind.object, &mut job);
        let port = &job["spec"]["template"]["spec"]["containers"][0]["ports"][0];
        assert_eq!(port, &json!({"containerPort": 1, "protocol": "TCP"}));
    }

    #[test]
    fn a_structure_that_is_always_there_gets_its_defaults_unnamed() {
        let kind = table().kind("v1", "Namespace").expect("namespaces are served");
        let mut namespace = json!({"metadata": {"name": "n"}});
        apply_defaults(table(), kind.object, &mut namespace);
        assert_eq!(namespace, json!({"metadata": {"name": "n"}, "status": {"phase": "Active"}}));
    }

    #[test]
    fn an_empty_list_that_would_be_left_out_counts_as_unset() {
        let kind = table().kind("storage.k8s.io/v1", "CSIDriver").expect("drivers are served");
        let mut driver = json!({"spec": {"volumeLifecycleModes": []}});
        apply_defaults(table(), kind.object, &mut driver);
        assert_eq!(driver["spec"]["volumeLifecycleModes"], json!(["Persistent"]));
    }

    #[test]
    fn a_value_that_was_given_is_kept() {
        let kind = table().kind("scheduling.k8s.io/v1beta1", "PodGroup").expect("pod groups are served");
        let mut group = json!({"spec": {"disruptionMode": {"all": {}}}});
        apply_defaults(table(), kind.object, &mut group);
        assert_eq!(group["spec"]["disruptionMode"], json!({"all": {}}));
    }
}
