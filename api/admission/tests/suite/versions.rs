//! Objects of every served version fit into the version in which they are stored, and come back as they were.

use admission::{from_stored, stored_kind, to_stored};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use schema::{Kind, Oddity, conform, fill, table};
use serde_json::{Value, json};

const BYTES_MAX: usize = 2_000;

/// An object with the types of its kind, as a client sends it.
fn sent(kind: &Kind, bytes: &[u8]) -> Value {
    let object = testkit::object(kind, bytes);
    let mut object =
        conform(table(), kind.object, object, &mut Vec::new()).expect("the testkit keeps to the table");
    if kind.kind == "ResourceSlice" && kind.version() == "v1beta1" {
        // The stored version has no place for a device that is not basic, so one without comes back with it.
        let devices = object.pointer_mut("/spec/devices").and_then(Value::as_array_mut);
        for device in devices.into_iter().flatten().filter_map(Value::as_object_mut) {
            device.entry("basic").or_insert(json!({}));
        }
    }
    object
}

/// The form in which the object is written.
fn written(kind: &Kind, mut object: Value) -> Value {
    fill(table(), kind.object, &mut object);
    object
}

#[test]
fn an_object_of_any_version_survives_being_stored() {
    let config = ProptestConfig {
        cases: 200,
        max_shrink_iters: 4_096,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    for kind in table().kinds() {
        let target = stored_kind(kind);
        let object = prop::collection::vec(any::<u8>(), 0..BYTES_MAX).prop_map(|bytes| sent(kind, &bytes));
        let outcome = TestRunner::new(config.clone()).run(&object, |object| {
            let mut oddities: Vec<Oddity> = Vec::new();
            let stored = conform(table(), target.object, to_stored(kind, object.clone()), &mut oddities)
                .map_err(|mismatch| TestCaseError::fail(mismatch.to_string()))?;
            prop_assert_eq!(oddities, Vec::<Oddity>::new());
            let back = from_stored(kind, written(target, stored));
            prop_assert_eq!(written(kind, back).to_string(), written(kind, object).to_string());
            Ok(())
        });
        let failure = outcome.err().map(|error| match error {
            TestError::Fail(reason, object) => format!("{reason}\nfor {object}"),
            TestError::Abort(reason) => reason.to_string(),
        });
        let failure = failure.as_deref().unwrap_or_default();
        assert!(failure.is_empty(), "{} {}: {failure}", kind.api_version, kind.kind);
    }
}
