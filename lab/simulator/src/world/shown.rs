//! An object as the API shows it, and what is read from it.
//!
//! Invariant: what is remembered follows from the object alone. An object never changes: a write makes another, with its own
//! version. So reading it once is enough for everybody, however often and however late they look at it.

use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use cluster::change::Change;
use convert::change::{self, Fact};
use objects::Object;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::slice::ResourceSlice;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
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
        let told = || {
            let revision = text(&self.value["metadata"]["resourceVersion"]).parse().unwrap_or_default();
            match self.fact() {
                Some(fact) => fact.applied(revision).map(Some),
                None => change::applied(&self.value, revision),
            }
        };
        self.applied.get_or_init(|| told().expect("what was admitted can be converted")).clone()
    }

    /// The fact that it is gone, if that matters to an engine.
    pub fn gone(&self) -> Option<Change> {
        let told = || match self.fact() {
            Some(fact) => Ok(Some(fact.gone())),
            None => change::gone(&self.value),
        };
        self.gone.get_or_init(|| told().expect("what was admitted can be converted")).clone()
    }

    /// The object as a fact, if it is of a kind that others read as well.
    fn fact(&self) -> Option<&dyn Fact> {
        Some(match text(&self.value["kind"]) {
            Node::KIND => &**self.read::<Node>(),
            Pod::KIND => &**self.read::<Pod>(),
            ResourceClaim::KIND => &**self.read::<ResourceClaim>(),
            ResourceSlice::KIND => &**self.read::<ResourceSlice>(),
            PodSchedulingContext::KIND => &**self.read::<PodSchedulingContext>(),
            _ => return None,
        })
    }
}

impl Deref for Shown {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}
