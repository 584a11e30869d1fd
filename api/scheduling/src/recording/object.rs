//! Objects as they are recorded.
//!
//! Invariant: what is written is bare, whatever the object was.

use std::fmt;
use std::sync::Arc;

use convert::followed::{Followed, bare_object};
use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::line::UnreadableLine;

/// An object that facts came from. The thread that writes the recording makes it bare and writes it.
#[derive(Clone)]
pub struct RecordedObject(Arc<dyn Recordable>);

/// The name of an object among all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ObjectKey {
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

/// Something that can be written as a bare object.
trait Recordable: Send + Sync {
    fn bare(&self) -> Box<RawValue>;
}

impl<K: Followed + Send + Sync> Recordable for K {
    fn bare(&self) -> Box<RawValue> {
        let mut object = self.clone();
        object.make_bare();
        raw(object.write())
    }
}

/// An object that is bare already.
struct Bare(Box<RawValue>);

impl Recordable for Bare {
    fn bare(&self) -> Box<RawValue> {
        self.0.clone()
    }
}

fn raw(json: Vec<u8>) -> Box<RawValue> {
    let text = String::from_utf8(json).expect("JSON is text");
    RawValue::from_string(text).expect("an object is written as JSON")
}

impl RecordedObject {
    /// An object of a kind that is followed.
    pub fn of<K: Followed + Send + Sync + 'static>(object: Arc<K>) -> RecordedObject {
        RecordedObject(object)
    }

    /// An object as JSON; nothing if its kind is not followed, or it is not what its kind says.
    #[must_use]
    pub fn of_value(object: &Value) -> Option<RecordedObject> {
        let bare = bare_object(object).ok()??;
        Some(RecordedObject(Arc::new(Bare(raw(bare)))))
    }

    /// The same object, made bare once.
    #[must_use]
    pub(crate) fn settled(&self) -> RecordedObject {
        RecordedObject(Arc::new(Bare(self.0.bare())))
    }

    /// The bare object.
    pub(crate) fn json(&self) -> Box<RawValue> {
        self.0.bare()
    }

    /// The name of the object.
    pub(crate) fn key(&self) -> Result<ObjectKey, UnreadableLine> {
        #[derive(Deserialize)]
        struct Named {
            kind: String,
            metadata: Names,
        }
        #[derive(Deserialize)]
        struct Names {
            #[serde(default)]
            namespace: String,
            name: String,
        }
        let json = self.json();
        let named: Named =
            serde_json::from_str(json.get()).map_err(|error| UnreadableLine(error.to_string()))?;
        let Named { kind, metadata: Names { namespace, name } } = named;
        Ok(ObjectKey { kind, namespace, name })
    }

    /// The bare object.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn value(&self) -> Result<Value, UnreadableLine> {
        serde_json::from_str(self.json().get()).map_err(|error| UnreadableLine(error.to_string()))
    }
}

impl Serialize for RecordedObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.bare().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RecordedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RecordedObject, D::Error> {
        Ok(RecordedObject(Arc::new(Bare(Box::deserialize(deserializer)?))))
    }
}

impl fmt::Debug for RecordedObject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.json().get())
    }
}
