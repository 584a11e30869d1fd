//! What a controller is: which kinds it follows, what a change makes it look at, and what there is to do about that.
//!
//! Invariant: a controller keeps nothing that matters. It decides from the [`World`] and the time, so that it can be stopped
//! between any two writes and started again. What it notes besides, such as when it first heard of something, makes it
//! wait longer if it is lost, and never do anything else.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use client::{Answer, Clock, Connection, Recorder, Report};
use gates::Gates;
use model::timestamp::Timestamp;
use objects::Object;

use crate::Limits;
use crate::follow::Fact;
use crate::kinds::{Followed, Kind, KindId};
use crate::notice::Listener;
use crate::world::{Change, Name, World, name};

/// How many pieces of work of most controllers may be under way: each is a few calls of the API.
const WORK_MAX: usize = 32;

/// Keeps some objects in order.
pub(crate) trait Controller: Send + Sync {
    /// The name by which it is switched on and off; that of Kubernetes, where it has one.
    fn name(&self) -> &'static str;

    /// The name of its queue in metrics; that of Kubernetes, where it has another.
    fn queue(&self) -> &'static str {
        self.name()
    }

    /// Tells what is counted of a change.
    fn count(&self, _: &Change, _: &dyn Listener) {}

    /// The kinds that must be known before anything can be decided.
    fn follows(&self) -> Vec<Kind>;

    /// What to look at after a change; the world knows of it already.
    fn touched(&self, change: &Change, world: &World) -> Vec<Subject>;

    /// Takes note of what the API does not say, before anything is looked at; most need no notes.
    fn note(&mut self, _change: &Change, _world: &World, _now: Timestamp) {}

    /// Hears how a kind that it follows can be heard.
    fn tune(&mut self, _kind: KindId, _reception: Reception, _now: Timestamp) {}

    /// How many pieces of work of it may be under way.
    fn work_max(&self) -> usize {
        WORK_MAX
    }

    /// What to look at first, before anything has changed; most need nothing.
    fn begins_with(&self) -> Vec<Subject> {
        Vec::new()
    }

    /// What there is to do about a subject.
    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look;
}

/// How a kind can be heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reception {
    /// Everything that is there has been said.
    Whole,
    /// Something may be missed for a while.
    Broken,
}

/// An object that may need work; it may be gone by now.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Subject {
    /// Such as `Pod`.
    pub(crate) kind: &'static str,
    /// Its namespace, if it has one, and its name.
    pub(crate) name: Name,
}

impl Subject {
    /// This object.
    pub(crate) fn of<K: Object>(object: &K) -> Self {
        Self::named::<K>(name(object))
    }

    /// The object of this name.
    pub(crate) fn named<K: Object>(name: Name) -> Self {
        Self { kind: K::KIND, name }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            (namespace, name) if namespace.is_empty() => write!(f, "{} {name}", self.kind),
            (namespace, name) => write!(f, "{} {namespace}/{name}", self.kind),
        }
    }
}

/// What came of looking at a subject.
#[derive(Default)]
pub(crate) struct Look {
    /// What is to be done now.
    pub(crate) work: Option<Work>,
    /// When to look again, even if nothing changes.
    pub(crate) again_at: Option<Timestamp>,
    /// What else is to be looked at.
    pub(crate) besides: Vec<Subject>,
}

/// Work to be done, with all that it needs to know.
pub(crate) type Work = Pin<Box<dyn Future<Output = Result<Done, Undone>> + Send>>;

impl Look {
    /// There is nothing to do.
    pub(crate) const NOTHING: Look = Look { work: None, again_at: None, besides: Vec::new() };

    /// This is to be done.
    pub(crate) fn work(work: impl Future<Output = Result<Done, Undone>> + Send + 'static) -> Look {
        Look { work: Some(Box::pin(work)), ..Look::NOTHING }
    }

    /// Nothing is to be done before this time.
    pub(crate) fn at(time: Timestamp) -> Look {
        Look { again_at: Some(time), ..Look::NOTHING }
    }
}

/// What came of work that was done.
#[derive(Default)]
pub(crate) struct Done {
    /// What answers said, which the streams may say only later.
    pub(crate) learnt: Vec<Fact>,
    /// What was not done beside it.
    pub(crate) trouble: Option<Undone>,
    /// What is to be looked at because of it, even if no object changed.
    pub(crate) besides: Vec<Subject>,
}

impl Done {
    /// An answer said what an object is now.
    pub(crate) fn learn<K: Followed>(&mut self, object: K) {
        self.learnt.push(Box::new(move |world: &mut World| world.learnt(object)));
    }
}

/// Why work was not done.
#[derive(Debug)]
pub(crate) enum Undone {
    /// Somebody else was faster; it is looked at again.
    Overtaken,
    /// It went wrong, and is tried again.
    Failed(String),
    /// It went wrong, and would again unless something changes.
    Hopeless(String),
}

/// The object of an answer, or why there is none.
pub(crate) fn done<T>(answer: Answer<T>) -> Result<T, Undone> {
    match answer {
        Answer::Done(object) => Ok(object),
        Answer::Conflict(_) | Answer::NotFound(_) | Answer::AlreadyExists(_) => Err(Undone::Overtaken),
        other => Err(Undone::Failed(other.trouble().unwrap_or_default())),
    }
}

/// What controllers work with.
#[derive(Clone)]
pub(crate) struct Tools {
    pub(crate) connection: Connection,
    pub(crate) clock: Clock,
    pub(crate) gates: Gates,
    pub(crate) limits: Limits,
    /// How long something is left alone that looks forgotten.
    pub(crate) patience: Duration,
    pub(crate) listener: Arc<dyn Listener>,
    pub(crate) recorder: Arc<Recorder>,
}

impl Tools {
    /// Until when something is left alone that looks forgotten since then.
    pub(crate) fn after_patience(&self, since: Timestamp) -> Timestamp {
        since.plus_millis(i64::try_from(self.patience.as_millis()).unwrap_or(i64::MAX))
    }

    /// Has an event written that somebody should look at.
    pub(crate) fn warn<K: Object>(&self, object: &K, controller: &str, reason: &'static str, note: String) {
        self.event(object, controller, reason, note, true);
    }

    /// Has an event written for those who want to know.
    pub(crate) fn tell<K: Object>(&self, object: &K, controller: &str, reason: &'static str, note: String) {
        self.event(object, controller, reason, note, false);
    }

    fn event<K: Object>(
        &self,
        object: &K,
        controller: &str,
        reason: &'static str,
        note: String,
        is_warning: bool,
    ) {
        self.recorder.record(Report {
            controller: controller.to_owned(),
            regarding: client::reference(object),
            related: None,
            reason,
            action: reason,
            is_warning,
            is_once: false,
            note,
        });
    }
}
