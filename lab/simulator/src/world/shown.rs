//! An object as the API shows it, and what is read from it.
//!
//! Invariant: what is remembered follows from the object alone. An object never changes: a write makes another, with its own
//! version. So reading it once is enough for everybody, however often and however late they look at it.

use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use cluster::change::Change;
use convert::change;
use objects::Object;
use serde_json::Value;

use super::api::text;

/// One version of an object.
#[derive(Debug)]
pub(crate) struct Shown {
    value: Value,
    /// An `Arc` of the type that belongs to its kind.
    typed: OnceLock<Box<dyn Any + Send + Sync>>,
    applied: OnceLock<Option<Change>>,
    gone: OnceLock<Option<Change>>,
}

impl Shown {
    pub fn new(value: Value) -> Shown {
        Shown { value, typed: OnceLock::new(), applied: OnceLock::new(), gone: OnceLock::new() }
    }

    /// The object as its type.
    pub fn read<T: Object + Send + Sync + 'static>(&self) -> &Arc<T> {
        let read = || T::read_value(&self.value).expect("what was admitted is of its kind");
        let typed = self.typed.get_or_init(|| Box::new(Arc::new(read())));
        typed.downcast_ref().expect("a kind has one type")
    }

    /// The fact that it is there as it is, if that matters to an engine.
    pub fn applied(&self) -> Option<Change> {
        let fact = || {
            let revision = text(&self.value["metadata"]["resourceVersion"]).parse().unwrap_or_default();
            change::applied(&self.value, revision).expect("what was admitted can be converted")
        };
        self.applied.get_or_init(fact).clone()
    }

    /// The fact that it is gone, if that matters to an engine.
    pub fn gone(&self) -> Option<Change> {
        let fact = || change::gone(&self.value).expect("what was admitted can be converted");
        self.gone.get_or_init(fact).clone()
    }
}

impl Deref for Shown {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}
