//! Fields that no table knows, as a newer server or client would send them.

use schema::{Kind, Shape, StructId, Table, table};
use serde_json::Value;

use crate::choices::Choices;
use crate::scalars;

/// Adds unknown fields to the object's structures, at random.
pub fn scatter_unknown(kind: &Kind, object: &mut Value, bytes: &[u8]) {
    structure(table(), kind.object, object, &mut Choices::new(bytes));
}

fn structure(table: &Table, id: StructId, value: &mut Value, choices: &mut Choices<'_>) {
    let Value::Object(fields) = value else { return };
    for field in &table.get(id).fields {
        if let Some(value) = fields.get_mut(&field.name) {
            inside(table, &field.shape, value, choices);
        }
    }
    for name in ["unknownToUs", "x-é", ""] {
        if choices.one_in(3) && !fields.contains_key(name) {
            let value = if choices.one_in(4) { Value::Null } else { scalars::anything(choices) };
            fields.insert(name.to_owned(), value);
        }
    }
}

fn inside(table: &Table, shape: &Shape, value: &mut Value, choices: &mut Choices<'_>) {
    match (shape, value) {
        (Shape::Struct(id), value) => structure(table, *id, value, choices),
        (Shape::List(element), Value::Array(items)) => {
            items.iter_mut().for_each(|item| inside(table, element, item, choices));
        }
        (Shape::Map(element), Value::Object(entries)) => {
            entries.values_mut().for_each(|entry| inside(table, element, entry, choices));
        }
        _ => {}
    }
}
