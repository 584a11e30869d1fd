//! Rows by kind: an object and the cells that Kubernetes shows for it.

use model::timestamp::Timestamp;
use serde_json::{Value, json};

use super::{cells, columns};

mod pods;
mod rest;

const CREATED: &str = "2026-01-01T00:00:00Z";
const NOW: &str = "2026-01-01T00:05:00Z";

/// The object, created five minutes ago and named `x`, has these cells.
#[expect(clippy::needless_pass_by_value, reason = "a value reads better at the calls")]
fn check(api_version: &str, kind: &str, mut object: Value, expected: Value) {
    let kind = schema::table().kind(api_version, kind).expect("a kind of the table");
    let now = Timestamp::parse(NOW).expect("valid");
    let mut metadata = json!({"name": "x", "creationTimestamp": CREATED});
    if let Some(given) = object["metadata"].as_object() {
        let all = metadata.as_object_mut().expect("an object");
        all.extend(given.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    object["metadata"] = metadata;
    assert_eq!(Value::Array(cells(kind, &object, now)), expected, "{} {object}", kind.kind);
}

#[test]
fn every_kind_has_a_cell_for_each_column_even_when_it_is_empty() {
    for kind in schema::table().kinds() {
        let cells = cells(kind, &json!({}), Timestamp::default());
        assert_eq!(cells.len(), columns(kind).len(), "{}", kind.kind);
        // Kubernetes calls the driver of an attachment a name, too.
        let names = if kind.kind == "VolumeAttachment" { 2 } else { 1 };
        let named = columns(kind).iter().filter(|column| column.format == "name").count();
        assert_eq!(named, names, "{}", kind.kind);
        for (column, cell) in columns(kind).iter().zip(cells) {
            let fits = match column.kind {
                "integer" => cell.is_i64() || cell.is_u64(),
                "boolean" => cell.is_boolean(),
                // Kubernetes declares some numbers as text.
                _ => !cell.is_null() && !cell.is_array() && !cell.is_object(),
            };
            assert!(fits, "{} {}: {cell}", kind.kind, column.name);
        }
    }
}
