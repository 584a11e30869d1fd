//! An object that is written in protobuf and read again is the same, whatever its kind.

use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use schema::{Kind, Shape, StructId, conform, fill, parse_protobuf, table, write_protobuf};
use serde_json::{Value, json};

/// So many bytes make an object of some kilobytes.
const BYTES_MAX: usize = 3_000;

/// Takes out what has no form in protobuf.
fn leave_out_json_only(id: StructId, value: &mut Value) {
    let Value::Object(entries) = value else { return };
    for field in &table().get(id).fields {
        match entries.get_mut(&field.name) {
            Some(_) if field.is_json_only() => drop(entries.remove(&field.name)),
            Some(value) => inside(&field.shape, value),
            None => {}
        }
    }
}

fn inside(shape: &Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::Struct(id), value) => leave_out_json_only(*id, value),
        (Shape::List(element), Value::Array(items)) => {
            items.iter_mut().for_each(|item| inside(element, item))
        }
        (Shape::Map(element), Value::Object(entries)) => {
            entries.values_mut().for_each(|entry| inside(element, entry));
        }
        _ => {}
    }
}

/// The object as the server would show it.
fn settled(kind: &Kind, object: Value) -> Value {
    let mut object = conform(table(), kind.object, object, &mut Vec::new()).expect("the types are right");
    leave_out_json_only(kind.object, &mut object);
    fill(table(), kind.object, &mut object);
    object["apiVersion"] = json!(kind.api_version);
    object["kind"] = json!(kind.kind);
    object
}

#[test]
fn every_kind_survives_protobuf() {
    for kind in table().kinds().iter().filter(|kind| kind.protobuf) {
        let mut runner = TestRunner::deterministic();
        let tried = runner.run(&proptest::collection::vec(any::<u8>(), 0..BYTES_MAX), |bytes| {
            let object = settled(kind, testkit::object(kind, &bytes));
            let written = write_protobuf(table(), &object).expect("the kind has a form");
            let read = parse_protobuf(table(), &written).expect("what was written can be read");
            prop_assert_eq!(settled(kind, read), object);
            Ok(())
        });
        if let Err(TestError::Fail(why, _)) = tried {
            unreachable!("{} {}: {why}", kind.api_version, kind.kind);
        }
    }
}
