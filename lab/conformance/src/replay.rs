//! Puts every case of some files to a suite, and prints what went wrong.
//!
//! Invariant: every case is counted once, as passed or as failed; a case that cannot be answered has failed.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};

use crate::{Agreement, Difference, Form, Suite, vectors};

/// How many cases passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases with the expected answer.
    pub passed: usize,
    /// Cases with another answer, or none.
    pub failed: usize,
}

/// Replays the files in order. Failures and the tally go to `out`, our own answers, a line a case, to `dump`.
pub fn run(
    suite: Suite,
    files: &[PathBuf],
    out: &mut dyn Write,
    mut dump: Option<&mut dyn Write>,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut agreement = Agreement::default();
    let mut times = Times::default();
    for file in files {
        for case in vectors::open(file)? {
            let case = case?;
            let expected = &(suite.expected)(&case.content);
            let answer = answer(suite, &case.content);
            if let Some(dump) = dump.as_mut() {
                writeln!(dump, "{}", dump_line(suite.form, &case.name, &answer))
                    .context("cannot write the dump")?;
            }
            if let (Form::Timed, Ok(actual)) = (suite.form, &answer) {
                times.count(&case.name, actual.get("micros").and_then(Value::as_u64).unwrap_or(0));
            }
            if let (Some((_, count)), Ok(actual)) = (suite.agreement, &answer) {
                let one = count(expected, actual);
                agreement.equal += one.equal;
                agreement.compared += one.compared;
            }
            let differences = match &answer {
                Ok(actual) => (suite.differences)(expected, actual),
                Err(error) => vec![Difference {
                    at: String::new(),
                    expected: expected.clone(),
                    actual: Value::String(format!("no answer: {error:#}")),
                }],
            };
            if differences.is_empty() {
                tally.passed += 1;
                continue;
            }
            tally.failed += 1;
            print_failure(&case.name, &differences, out).context("cannot write the report")?;
        }
    }
    if let Some((name, _)) = suite.agreement {
        let Agreement { equal, compared } = agreement;
        let share = if compared == 0 { 100.0 } else { equal as f64 * 100.0 / compared as f64 };
        writeln!(out, "{name}: {share:.2} % ({equal} of {compared})").context("cannot write the report")?;
    }
    if suite.form == Form::Timed {
        let Times { total, slowest, slowest_case } = times;
        writeln!(out, "{} ms in total, slowest {} ms: {slowest_case}", millis(total), millis(slowest))
            .context("cannot write the report")?;
    }
    writeln!(out, "{} passed, {} failed", tally.passed, tally.failed).context("cannot write the report")?;
    Ok(tally)
}

/// How long answers took, in microseconds.
#[derive(Debug, Default)]
struct Times {
    total: u64,
    slowest: u64,
    slowest_case: String,
}

impl Times {
    fn count(&mut self, case: &str, micros: u64) {
        self.total += micros;
        if micros > self.slowest || self.slowest_case.is_empty() {
            self.slowest = micros;
            case.clone_into(&mut self.slowest_case);
        }
    }
}

fn millis(micros: u64) -> String {
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

/// A case that cannot be answered has a line too.
fn dump_line(form: Form, name: &str, answer: &anyhow::Result<Value>) -> Value {
    match (form, answer) {
        (Form::Any, answer) => json!({"name": name, "result": answer.as_ref().unwrap_or(&Value::Null)}),
        (Form::Timed, Ok(Value::Object(fields))) => {
            let mut line = fields.clone();
            line.insert("name".to_owned(), json!(name));
            Value::Object(line)
        }
        (Form::Timed, Ok(_)) => json!({"name": name}),
        (Form::Timed, Err(error)) => json!({"name": name, "error": format!("no answer: {error:#}")}),
    }
}

/// A panic in our code is one failed case; the cases after it still count. Its message is already on stderr.
fn answer(suite: Suite, case: &Value) -> anyhow::Result<Value> {
    std::panic::catch_unwind(|| (suite.answer)(case)).unwrap_or_else(|_| Err(anyhow::anyhow!("it panicked")))
}

fn print_failure(name: &str, differences: &[Difference], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{name}")?;
    for Difference { at, expected, actual } in differences {
        let at = if at.is_empty() { String::new() } else { format!("{at}: ") };
        writeln!(out, "  {at}expected {expected}")?;
        writeln!(out, "  {at}actual   {actual}")?;
    }
    Ok(())
}
