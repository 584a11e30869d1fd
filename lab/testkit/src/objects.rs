//! Objects of any kind of the schema table.
//!
//! An object has the types that the table says. It need not obey the rules of its kind: those are admission's.

use schema::{Field, Kind, Shape, StructId, Table, table};
use serde_json::{Map, Value, json};

use crate::choices::Choices;
use crate::scalars;

/// Structures nest at most so deep; templates of templates have no end of their own.
const DEPTH_MAX: usize = 24;
const ELEMENTS_MAX: usize = 4;

/// An object of the kind. The same bytes make the same object.
pub fn object(kind: &Kind, bytes: &[u8]) -> Value {
    let mut value = structure(table(), kind.object, Choices::new(bytes), 0);
    value["apiVersion"] = json!(kind.api_version);
    value["kind"] = json!(kind.kind);
    value
}

/// A value of the shape in which nothing is zero: lists and maps have one element, structures every field that is no
/// structure itself.
pub fn sample(table: &Table, shape: &Shape) -> Value {
    match shape {
        Shape::Scalar(scalar) => scalars::sample(*scalar),
        Shape::Any => json!({"any": ["thing"]}),
        Shape::List(element) => json!([sample(table, element)]),
        Shape::Map(element) => json!({"key": sample(table, element)}),
        Shape::Struct(id) => {
            let flat = |field: &&Field| !refers_to_structure(&field.shape);
            let fields = table.get(*id).fields.iter().filter(flat);
            Value::Object(fields.map(|field| (field.name.clone(), sample(table, &field.shape))).collect())
        }
    }
}

fn refers_to_structure(shape: &Shape) -> bool {
    match shape {
        Shape::Struct(_) => true,
        Shape::List(element) | Shape::Map(element) => refers_to_structure(element),
        Shape::Scalar(_) | Shape::Any => false,
    }
}

fn structure(table: &Table, id: StructId, mut choices: Choices<'_>, depth: usize) -> Value {
    if depth == DEPTH_MAX {
        return json!({});
    }
    let fields = &table.get(id).fields;
    // Most objects have all their top fields, because what is worth a test is further down.
    let whole = depth == 0 && !choices.one_in(4);
    let chosen: Vec<&Field> = fields.iter().filter(|_| whole || choices.one_in(3)).collect();
    let mut object = Map::new();
    for (field, mut share) in chosen.iter().zip(choices.shares(chosen.len())) {
        let value = if share.one_in(16) {
            Value::Null
        } else if !field.allowed.is_empty() && share.one_in(2) {
            let one = json!(field.allowed[share.below(field.allowed.len())]);
            if matches!(field.shape, Shape::List(_)) { json!([one]) } else { one }
        } else {
            value(table, &field.shape, share, depth + 1)
        };
        object.insert(field.name.clone(), value);
    }
    Value::Object(object)
}

fn value(table: &Table, shape: &Shape, mut choices: Choices<'_>, depth: usize) -> Value {
    match shape {
        Shape::Scalar(scalar) => scalars::scalar(*scalar, &mut choices),
        Shape::Any => scalars::anything(&mut choices),
        Shape::Struct(id) => structure(table, *id, choices, depth),
        Shape::List(element) => {
            let count = choices.below(ELEMENTS_MAX);
            let items = choices.shares(count).map(|share| value(table, element, share, depth));
            Value::Array(items.collect())
        }
        Shape::Map(element) => {
            let count = choices.below(ELEMENTS_MAX);
            let entries = choices.shares(count).map(|mut share| {
                let key = scalars::key(&mut share);
                (key, value(table, element, share, depth))
            });
            Value::Object(entries.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::{conform, table};

    use super::object;

    #[test]
    fn without_bytes_objects_are_nearly_empty_and_with_bytes_they_are_not() {
        let kind = table().kind("v1", "Pod").expect("pods are served");
        assert!(object(kind, &[]).to_string().len() < 200);
        let bytes: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(object(kind, &bytes).to_string().len() > 500);
    }

    #[test]
    fn every_object_has_the_types_of_its_kind_and_no_unknown_field() {
        for kind in table().kinds() {
            for seed in 0..20_u32 {
                let byte = |at: u32| ((at + seed * 7919).wrapping_mul(2_654_435_761) >> 13) as u8;
                let bytes: Vec<u8> = (0..seed * 100).map(byte).collect();
                let mut oddities = Vec::new();
                let made = object(kind, &bytes);
                let conformed = conform(table(), kind.object, made.clone(), &mut oddities);
                assert!(conformed.is_ok(), "{}: {conformed:?} of {made}", kind.kind);
                assert_eq!(oddities, [], "{}: {made}", kind.kind);
            }
        }
    }
}
