//! Quantities: two texts, what they parse to, and their order, sum and difference.

use anyhow::Context;
use model::quantity::{ParseQuantityError, Quantity};
use serde_json::{Value, json};

use crate::{Form, Suite};

/// The suite of `quantity` vectors, compared in full.
pub const SUITE: Suite =
    Suite { expected: crate::expect, answer, differences: crate::exact, agreement: None, form: Form::Any };

fn answer(case: &Value) -> anyhow::Result<Value> {
    let text = |key: &str| case.get(key).and_then(Value::as_str).with_context(|| format!("no text {key}"));
    let (a, b) = (text("A")?.parse::<Quantity>(), text("B")?.parse::<Quantity>());
    let mut answer = json!({ "a": parsed(&a), "b": parsed(&b) });
    if let (Ok(a), Ok(b)) = (&a, &b) {
        answer["cmp"] = json!(a.cmp(b) as i8);
        answer["sum"] = json!((a + b).to_string());
        answer["difference"] = json!((a - b).to_string());
    }
    Ok(answer)
}

fn parsed(outcome: &Result<Quantity, ParseQuantityError>) -> Value {
    match outcome {
        Ok(quantity) => json!({
            "canonical": quantity.to_string(),
            "value": quantity.value(),
            "milli": quantity.milli_value(),
        }),
        Err(error) => json!({ "error": error.class() }),
    }
}
