//! Recorded requests to a Kubernetes API server, judged by admission alone.
//!
//! A shelf of objects stands in for the server: enough to look up the object that a request changes, nothing that a
//! store promises. Watches and lists are not part of these vectors.

mod expectation;
mod request;
mod shelf;

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::{Difference, Form, Suite};
use request::RequestOutcome;
use shelf::Shelf;

/// The suite of `validation` and `updates` vectors.
pub const SUITE: Suite = Suite { expected, answer, differences, agreement: None, form: Form::Any };

/// What the vectors say of each step: accepted or not, the causes, and the object.
fn expected(case: &Value) -> Value {
    let steps = case["steps"].as_array().map_or(&[][..], Vec::as_slice);
    Value::Array(steps.iter().map(|step| step["expect"].clone()).collect())
}

/// What became of each step.
fn answer(case: &Value) -> anyhow::Result<Value> {
    let steps = case["steps"].as_array().context("a case has steps")?;
    let labels: BTreeMap<String, String> =
        serde_json::from_value(case.get("ns_labels").cloned().unwrap_or(json!({}))).context("ns_labels")?;
    let mut variables = expectation::Variables::default();
    let mut shelf = Shelf::new(variables.namespace(), labels);
    let mut answers = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let id = step["id"].as_str().map_or_else(|| index.to_string(), str::to_owned);
        let answer = request::perform(&mut shelf, step, &variables)?;
        let body = answer.body();
        let mut said = json!({"code": answer.code(), "body": body});
        if let RequestOutcome::Refused { causes, .. } = &answer {
            said["causes"] = json!(causes);
        }
        if let Some(wanted) = step["expect"].get("body") {
            said["mismatches"] = json!(expectation::mismatches(&variables.fill(wanted), &said["body"]));
        }
        variables.remember(&id, said["body"].clone());
        answers.push(said);
    }
    Ok(Value::Array(answers))
}

/// Which aspects of a case an answer can differ in, from the most to the least serious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// Accepted instead of rejected, or the reverse.
    Verdict,
    /// Rejected for another reason.
    Code,
    /// Rejected with other causes.
    Causes,
    /// Accepted with another object.
    Object,
}

impl Aspect {
    /// The aspect that a difference is about.
    pub fn of(difference: &Difference) -> Self {
        match difference.at.rsplit(' ').next() {
            Some("verdict") => Self::Verdict,
            Some("code") => Self::Code,
            Some("causes") => Self::Causes,
            _ => Self::Object,
        }
    }
}

fn differences(expected: &Value, actual: &Value) -> Vec<Difference> {
    let steps = expected.as_array().map_or(&[][..], Vec::as_slice);
    let answers = actual.as_array().map_or(&[][..], Vec::as_slice);
    let mut found = Vec::new();
    for (index, (want, have)) in steps.iter().zip(answers).enumerate() {
        let mut differ = |aspect: &str, expected: Value, actual: Value| {
            found.push(Difference { at: format!("step {index} {aspect}"), expected, actual });
        };
        let (wanted, got) = (want["code"].as_i64().unwrap_or(200), have["code"].as_i64().unwrap_or(0));
        if (wanted < 300) != (got < 300) {
            let why = json!({"code": got, "causes": have["causes"], "message": have["body"]["message"]});
            differ("verdict", json!({"code": wanted, "causes": want["error"]["causes"]}), why);
            break;
        }
        if wanted != got {
            differ("code", json!(wanted), json!({"code": got, "message": have["body"]["message"]}));
        } else if let Some(causes) = want["error"].get("causes") {
            if expectation::set_of(causes) != expectation::set_of(&have["causes"]) {
                differ("causes", causes.clone(), have["causes"].clone());
            }
        } else if let Some(mismatches) = have["mismatches"].as_array() {
            for mismatch in mismatches {
                differ("object", Value::Null, mismatch.clone());
            }
        }
    }
    found
}
