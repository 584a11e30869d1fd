//! What went wrong, and where: file, line, scenario and step.

use std::fmt;

/// A scenario that cannot be read, or that came out otherwise than it says.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Failure {
    /// The file as it was named to us.
    pub file: String,
    /// The line, from 1; 0 if it is not known.
    pub line: u64,
    /// The scenario, once the file could be read.
    pub scenario: Option<String>,
    /// The step, from 1, and what it does.
    pub step: Option<(usize, String)>,
    /// Whose fault it is.
    pub fault: Fault,
    /// What is wrong; lines of a difference are told apart by their first words.
    pub what: String,
}

/// Whose fault it is that a scenario does not come out as it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The scenario's: it says what cannot be understood or done.
    Scenario,
    /// Ours: something else was decided, or the checker objects to what was.
    Decision,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { file, line, scenario, step, fault: _, what } = self;
        write!(out, "{file}:{line}")?;
        if let Some(scenario) = scenario {
            write!(out, ": {scenario}")?;
        }
        if let Some((number, action)) = step {
            write!(out, ": step {number}, {action}")?;
        }
        for line in what.lines() {
            write!(out, "\n    {line}")?;
        }
        Ok(())
    }
}
