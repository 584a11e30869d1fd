//! The lines of a recording, as JSON.
//!
//! Invariant: a line stands for itself: what it says does not depend on the lines before.

use cluster::change::Change;
use convert::change;
use convert::followed::row_of;
use model::claim::ClaimId;
use model::identity::ClaimUid;
use model::timestamp::Timestamp;
use scheduler::engine::{ConsiderationId, ConsiderationOutcome, Input};
use scheduler::write::{WriteId, WriteOutcome};
use serde::{Deserialize, Serialize};
use serde_json::json;
use thiserror::Error;

use super::effects::RecordedEffect;
use super::object::RecordedObject;
use super::start::EngineStart;

/// A line that says nothing to this version.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct UnreadableLine(pub(crate) String);

/// The last microsecond of the year 9999.
const LATEST: i64 = 253_402_300_799_999_999;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Line {
    /// An engine begins that knows nothing yet.
    Start(EngineStart),
    /// A file begins with the objects as they are now, since those before it may be gone. The lines that follow say of them what is
    /// new to a reader that has not read the files before.
    #[serde(rename_all = "camelCase")]
    Resumed {
        /// The number of the engine.
        engine: u64,
        /// How many inputs it had until now.
        inputs: u64,
        /// The time, in microseconds.
        at: i64,
        /// How the engine was started.
        start: Box<EngineStart>,
        /// How many objects follow.
        objects: u64,
    },
    /// An object as it is when a file begins.
    Kept {
        /// The object.
        object: RecordedObject,
    },
    /// The engine was told something, and did something.
    Input {
        /// When, in microseconds.
        at: i64,
        /// What it was told.
        told: RecordedInput,
        /// What it did.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        did: Vec<RecordedEffect>,
    },
    /// The scheduler stands otherwise: it leads, or another does, or it has ended.
    Stands {
        /// When, in microseconds.
        at: i64,
        /// How.
        how: String,
    },
}

/// What an engine was told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RecordedInput {
    /// A fact.
    Fact(FactOrigin),
    /// There is time for so many attempts.
    Turn(u32),
    /// A write was carried out, or was not.
    Settled {
        /// Which write.
        write: u64,
        /// Why it was not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// What takes long was decided, or could not be. The verdict follows from what was asked.
    Considered {
        /// Which question.
        id: u64,
        /// Why it could not be decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
}

/// Where a fact comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum FactOrigin {
    /// A watch told of an object.
    Applied {
        /// The revision of its last write.
        revision: u64,
        /// The object.
        object: RecordedObject,
    },
    /// An object is among all that are there.
    Listed {
        /// The revision of its last write.
        revision: u64,
        /// The object.
        object: RecordedObject,
    },
    /// An object was read, or a write was answered with it.
    Answered {
        /// The revision of its last write.
        revision: u64,
        /// The object.
        object: RecordedObject,
    },
    /// An object is gone.
    Gone {
        /// Its kind.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
    },
    /// A claim was looked for, and is not there.
    Missing {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
    },
}

impl FactOrigin {
    /// A claim was looked for, and is not there.
    #[must_use]
    pub fn missing(id: &ClaimId, uid: &ClaimUid) -> FactOrigin {
        let (namespace, name) = (id.namespace.to_string(), id.name.to_string());
        FactOrigin::Missing { namespace, name, uid: uid.to_string() }
    }

    /// The same, with the object made bare.
    #[must_use]
    pub(crate) fn settled(self) -> FactOrigin {
        match self {
            FactOrigin::Applied { revision, object } => {
                FactOrigin::Applied { revision, object: object.settled() }
            }
            FactOrigin::Listed { revision, object } => {
                FactOrigin::Listed { revision, object: object.settled() }
            }
            FactOrigin::Answered { revision, object } => {
                FactOrigin::Answered { revision, object: object.settled() }
            }
            other => other,
        }
    }

    /// The fact.
    ///
    /// # Errors
    /// The object is not what its kind says.
    pub fn change(&self) -> Result<Change, UnreadableLine> {
        match self {
            FactOrigin::Applied { revision, object } => applied(object, *revision),
            FactOrigin::Listed { revision, object } => Ok(applied(object, *revision)?.listed()),
            FactOrigin::Answered { revision, object } => Ok(applied(object, *revision)?.answered()),
            FactOrigin::Gone { kind, namespace, name, uid } => {
                let row = row_of(kind).ok_or_else(|| unheard_of(kind))?;
                let metadata = json!({ "namespace": namespace, "name": name, "uid": uid });
                let object = json!({ "apiVersion": row.api_version, "kind": kind, "metadata": metadata });
                let change = change::gone(&object).map_err(|error| UnreadableLine(error.to_string()))?;
                change.ok_or_else(|| unheard_of(kind))
            }
            FactOrigin::Missing { namespace, name, uid } => {
                let id = ClaimId { namespace: namespace.as_str().into(), name: name.as_str().into() };
                Ok(Change::ClaimMissing(id, uid.as_str().into()))
            }
        }
    }
}

fn unheard_of(kind: &str) -> UnreadableLine {
    UnreadableLine(format!("this version does not follow objects of kind {kind:?}"))
}

fn applied(object: &RecordedObject, revision: u64) -> Result<Change, UnreadableLine> {
    let value = object.value()?;
    let change = change::applied(&value, revision).map_err(|error| UnreadableLine(error.to_string()))?;
    change.ok_or_else(|| unheard_of(value["kind"].as_str().unwrap_or_default()))
}

impl RecordedInput {
    /// An input as it is recorded; nothing for a fact, which does not say what it comes from.
    #[must_use]
    pub fn of(input: &Input) -> Option<RecordedInput> {
        Some(match input {
            Input::Changed(_) => return None,
            Input::Turn { attempts } => RecordedInput::Turn(*attempts),
            Input::Settled(WriteId(write), outcome) => {
                let failed = match outcome {
                    WriteOutcome::Done => None,
                    WriteOutcome::Failed(why) => Some(why.clone()),
                };
                RecordedInput::Settled { write: *write, failed }
            }
            Input::Considered(ConsiderationId(id), outcome) => {
                let failed = match outcome {
                    ConsiderationOutcome::Decided(_) => None,
                    ConsiderationOutcome::Failed(why) => Some(why.clone()),
                };
                RecordedInput::Considered { id: *id, failed }
            }
        })
    }
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    /// It says nothing to this version.
    pub fn read(json: &[u8]) -> Result<Line, UnreadableLine> {
        let line: Line = serde_json::from_slice(json).map_err(|error| UnreadableLine(error.to_string()))?;
        // Deadlines are counted from these, and must not leave the range of numbers.
        match line.at().filter(|at| !(0..=LATEST).contains(&at.micros())) {
            Some(at) => Err(UnreadableLine(format!("no scheduler ran at {} microseconds", at.micros()))),
            None => Ok(line),
        }
    }

    /// Appends the line as JSON.
    pub fn write(&self, into: &mut Vec<u8>) {
        serde_json::to_writer(into, self).expect("lines have string keys and finite numbers");
    }

    /// When it was.
    #[must_use]
    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Line::Start(EngineStart { at, .. })
            | Line::Resumed { at, .. }
            | Line::Input { at, .. }
            | Line::Stands { at, .. } => Some(Timestamp::from_micros(*at)),
            Line::Kept { .. } => None,
        }
    }
}
