//! The objects of which a recording says that they were there at a moment.
//!
//! Invariant: of each object the last state that a watch or a list told counts. Answers may be older, so they do not.

use std::collections::BTreeMap;

use serde_json::Value;

use super::line::{FactOrigin, Line, RecordedInput, UnreadableLine};
use super::object::{ObjectKey, RecordedObject};
use super::start::EngineStart;

/// The objects at a moment, and how the engine was started that knew them.
#[derive(Clone, Debug, Default)]
pub struct SavedObjects {
    objects: BTreeMap<ObjectKey, RecordedObject>,
    start: Option<EngineStart>,
}

impl SavedObjects {
    /// Takes the next line.
    ///
    /// # Errors
    /// An object has no name.
    pub fn take(&mut self, line: &Line) -> Result<(), UnreadableLine> {
        match line {
            Line::Start(start) => *self = SavedObjects { start: Some(start.clone()), ..Self::default() },
            Line::Resumed { start, .. } => {
                *self = SavedObjects { start: Some((**start).clone()), ..Self::default() };
            }
            Line::Kept { object } => self.keep(object)?,
            Line::Input { told: RecordedInput::Fact(fact), .. } => match fact {
                FactOrigin::Applied { object, .. } | FactOrigin::Listed { object, .. } => {
                    self.keep(object)?
                }
                FactOrigin::Gone { kind, namespace, name, .. } => {
                    let (kind, namespace, name) = (kind.clone(), namespace.clone(), name.clone());
                    self.objects.remove(&ObjectKey { kind, namespace, name });
                }
                FactOrigin::Answered { .. } | FactOrigin::Missing { .. } => {}
            },
            Line::Input { .. } | Line::Stands { .. } => {}
        }
        Ok(())
    }

    fn keep(&mut self, object: &RecordedObject) -> Result<(), UnreadableLine> {
        self.objects.insert(object.key()?, object.clone());
        Ok(())
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.objects.len()
    }

    /// How the engine was started.
    #[must_use]
    pub fn start(&self) -> Option<&EngineStart> {
        self.start.as_ref()
    }

    /// The objects, by kind, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = &RecordedObject> {
        self.objects.values()
    }

    /// The objects as JSON.
    ///
    /// # Errors
    /// One of them is no JSON.
    pub fn values(&self) -> Result<Vec<Value>, UnreadableLine> {
        self.objects().map(RecordedObject::value).collect()
    }
}
