//! What is wrong with a configuration, and where.
//!
//! Invariant: a refused text has at least one fault, and faults come in the order of the text.

use std::fmt;

use gates::Gate;
use model::duration::NotADuration;
use schema::Path;
use schema::yaml::tree::Place;
use thiserror::Error;

use crate::{Plugin, Point};

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadConfig {
    /// Everything that is wrong with it, in the order of the text.
    pub faults: Vec<Fault>,
}

impl std::error::Error for BadConfig {}

impl fmt::Display for BadConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.faults.iter().enumerate() {
            write!(out, "{}{fault}", if at > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is in the text.
    pub at: Place,
    /// The field, as in `profiles[0].schedulerName`; empty for the whole text.
    pub path: String,
    /// What is wrong with it.
    pub problem: Problem,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, path, problem } = self;
        match path.as_str() {
            "" => write!(out, "{at}: {problem}"),
            path => write!(out, "{at}: {path}: {problem}"),
        }
    }
}

/// What can be wrong with a field.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Problem {
    /// The text is neither YAML nor JSON.
    #[error("invalid YAML: {0}")]
    Syntax(String),
    /// There is no such field.
    #[error("unknown field; hint: the nearest known field is {nearest}")]
    UnknownField {
        /// The known name with the least edits to it.
        nearest: &'static str,
    },
    /// The field comes twice.
    #[error("is set twice, first on line {first}; hint: remove one of them")]
    RepeatedField {
        /// The line of the first one.
        first: u64,
    },
    /// The value is something else than it must be.
    #[error("must be {wanted}, not {found}")]
    WrongType {
        /// What it must be.
        wanted: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// The number is too small or too large.
    #[error("is {found} and must be {}", range(*least, *most))]
    OutOfRange {
        /// The number.
        found: String,
        /// The smallest number allowed.
        least: i64,
        /// The largest number allowed.
        most: i64,
    },
    /// The text is no length of time.
    #[error("cannot read {text:?}: {reason}")]
    BadDuration {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: NotADuration,
    },
    /// The text is none of the few that there are.
    #[error("is {found:?} and must be one of {}", allowed.join(", "))]
    UnknownChoice {
        /// The text.
        found: String,
        /// The texts that there are.
        allowed: Vec<&'static str>,
    },
    /// The field must be there and must not be empty.
    #[error("must be set; hint: {hint}")]
    Required {
        /// What to write.
        hint: &'static str,
    },
    /// There is no such plugin.
    #[error("unknown plugin {name}; hint: the nearest known plugin is {nearest}")]
    UnknownPlugin {
        /// The name as written.
        name: String,
        /// The known name with the least edits to it.
        nearest: &'static str,
    },
    /// The plugin existed once.
    #[error("plugin {name} no longer exists; hint: remove it; NodeVolumeLimits replaces it")]
    RemovedPlugin {
        /// Its name.
        name: String,
    },
    /// The plugin has nothing to do at this point.
    #[error("{plugin} does not run at {point}; hint: it runs at {}", points(*plugin))]
    NotAtPoint {
        /// The plugin.
        plugin: Plugin,
        /// The point.
        point: Point,
    },
    /// The plugin is in a list already.
    #[error("{plugin} is listed twice; hint: remove one of them")]
    RepeatedPlugin {
        /// The plugin.
        plugin: Plugin,
    },
    /// The plugin has nothing to set.
    #[error("{plugin} takes no arguments; hint: remove them")]
    NoArguments {
        /// The plugin.
        plugin: Plugin,
    },
    /// Nothing may be set here while a feature is off.
    #[error("has no effect while feature gate {gate} is off; hint: remove it, or set {gate}=true")]
    GateOff {
        /// The gate.
        gate: Gate,
    },
    /// A name does not have the form of its kind.
    #[error("{name:?} is not a valid name: {fault}")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// Another rule is broken.
    #[error("{0}")]
    Rule(&'static str),
}

fn range(least: i64, most: i64) -> String {
    match most {
        most if most == least => least.to_string(),
        i64::MAX => format!("at least {least}"),
        most if most == i64::from(i32::MAX) => format!("at least {least}, and fit into 32 bits"),
        most => format!("from {least} to {most}"),
    }
}

fn points(plugin: Plugin) -> String {
    plugin.points().iter().map(|point| point.name()).collect::<Vec<_>>().join(", ")
}

/// Faults as they are found.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    pub(crate) fn add(&mut self, at: Place, path: &Path<'_>, problem: Problem) {
        self.0.push(Fault { at, path: path.to_string(), problem });
    }

    /// How many there are so far.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub(crate) fn settle(mut self) -> Result<(), BadConfig> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.0.sort_by_key(|fault| fault.at);
        Err(BadConfig { faults: self.0 })
    }
}
