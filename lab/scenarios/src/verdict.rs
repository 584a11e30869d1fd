//! What became of the scenarios of a file.
//!
//! Invariant: a scenario that does not come out as it says is never counted as one that does. If it is marked as pending
//! it is told apart, and once it comes out the mark must go.

use std::fmt;

use crate::document::{Scenario, read};
use crate::failure::{Failure, Fault};
use crate::run::run;

/// A scenario that was run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What it shows.
    pub title: String,
    /// How many steps it has.
    pub steps: usize,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It came out as it says.
    Passed,
    /// It did not, and is known not to.
    Pending {
        /// Why.
        reason: String,
        /// How it came out.
        failure: Failure,
    },
    /// It did not.
    Failed(Failure),
}

/// Runs all scenarios of a file.
///
/// # Errors
/// The file cannot be read as scenarios, or what is given in it is no valid object.
pub fn verdicts(file: &str, text: &str) -> Result<Vec<Outcome>, Failure> {
    let mut outcomes = Vec::new();
    for scenario in read(file, text)? {
        let verdict = match (run(&scenario), &scenario.pending) {
            // What is given is the same for all scenarios of the file, and is complained about once.
            (Err(failure), _) if failure.step.is_none() => return Err(failure),
            (Ok(()), None) => Verdict::Passed,
            (Ok(()), Some(reason)) => Verdict::Failed(no_longer_pending(&scenario, reason)),
            (Err(failure), Some(reason)) if failure.fault == Fault::Decision => {
                Verdict::Pending { reason: reason.clone(), failure }
            }
            (Err(failure), _) => Verdict::Failed(failure),
        };
        outcomes.push(Outcome { steps: scenario.len(), title: scenario.title, verdict });
    }
    Ok(outcomes)
}

fn no_longer_pending(scenario: &Scenario, reason: &str) -> Failure {
    Failure {
        file: scenario.file.clone(),
        line: scenario.line,
        scenario: Some(scenario.title.clone()),
        step: None,
        fault: Fault::Scenario,
        what: format!("it comes out as it says now; hint: take out `pending: {reason}`"),
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { title, steps, verdict } = self;
        let noun = if *steps == 1 { "step" } else { "steps" };
        match verdict {
            Verdict::Passed => write!(out, "ok       {title} ({steps} {noun})"),
            Verdict::Pending { reason, .. } => write!(out, "pending  {title} ({reason})"),
            Verdict::Failed(_) => write!(out, "FAILED   {title}"),
        }
    }
}
