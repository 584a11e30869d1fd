//! Single values of every type, the odd ones included.

use schema::Scalar;
use serde_json::{Value, json};

use crate::choices::Choices;

const TEXTS: [&str; 9] =
    ["", "a", "gpu-0.example.com", "0", "Ünïcödé ✓", "\"quoted\"\\", "a\nb\u{0}\u{7f}", "true", " spaces "];
const QUANTITIES: [&str; 8] = ["0", "1", "500m", "2Gi", "1.50", "-3e3", "0.1n", "1000000000000000000000"];
const TIMES: [&str; 4] = [
    "2026-01-02T03:04:05Z",
    "1999-12-31T23:59:59.999999999Z",
    "2026-07-08T09:10:11+02:00",
    "0001-01-01T00:00:00Z",
];
const MICRO_TIMES: [&str; 3] =
    ["2026-01-02T03:04:05.000006Z", "2026-01-02T03:04:05.000000Z", "2026-07-08T09:10:11.999999-07:30"];
const BYTES: [&str; 3] = ["", "aGVsbG8=", "AAECAw=="];

/// A value of the type.
pub(crate) fn scalar(scalar: Scalar, choices: &mut Choices<'_>) -> Value {
    match scalar {
        Scalar::String => json!(choices.pick(&TEXTS)),
        Scalar::Bool => json!(choices.one_in(2)),
        Scalar::Int32 => json!(choices.pick(&[&0, &1, &-1, &8080, &i32::MAX, &i32::MIN])),
        Scalar::Int64 => json!(choices.pick(&[&0, &1, &-1, &(1_i64 << 53), &i64::MAX, &i64::MIN])),
        Scalar::Double => json!(choices.pick(&[&0.0, &0.5, &-1.25, &1e100])),
        Scalar::Quantity => match choices.below(QUANTITIES.len() + 2) {
            at if at < QUANTITIES.len() => json!(QUANTITIES[at]),
            at if at == QUANTITIES.len() => json!(7),
            _ => json!(0.25),
        },
        Scalar::Time => json!(choices.pick(&TIMES)),
        Scalar::MicroTime => json!(choices.pick(&MICRO_TIMES)),
        Scalar::Bytes => json!(choices.pick(&BYTES)),
        Scalar::IntOrString => match choices.below(4) {
            0 => json!(0),
            1 => json!(-80),
            2 => json!("50%"),
            _ => json!(""),
        },
    }
}

/// A value of the type that is not its zero.
pub(crate) fn sample(scalar: Scalar) -> Value {
    match scalar {
        Scalar::String => json!("text"),
        Scalar::Bool => json!(true),
        Scalar::Int32 => json!(-7),
        Scalar::Int64 => json!(1_i64 << 40),
        Scalar::Double => json!(0.5),
        Scalar::Quantity => json!("500m"),
        Scalar::Time => json!("2026-01-02T03:04:05Z"),
        Scalar::MicroTime => json!("2026-01-02T03:04:05.000006Z"),
        Scalar::Bytes => json!("aGVsbG8="),
        Scalar::IntOrString => json!("50%"),
    }
}

/// Any JSON, such as a driver's parameters.
pub(crate) fn anything(choices: &mut Choices<'_>) -> Value {
    match choices.below(7) {
        0 => json!({}),
        1 => json!({"z": 1, "a": {"deep": [null, 1.5, "x"]}}),
        2 => json!([1, [], {}]),
        3 => json!("text"),
        4 => json!(18_446_744_073_709_551_615_u64),
        5 => json!(false),
        _ => json!({"apiVersion": "example.com/v1", "kind": "Parameters", "": ""}),
    }
}

/// The key of a map.
pub(crate) fn key(choices: &mut Choices<'_>) -> String {
    choices.pick(&["a", "example.com/b", "", "ключ", "apiVersion"]).to_owned()
}
