//! The objects of one resource, and a window of their recent changes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use thiserror::Error;

use crate::stored_object::{Key, StoredObject};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was made.
    Added,
    /// It was changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// A change that can be watched.
#[derive(Clone, Debug)]
pub struct Event {
    /// What happened.
    pub change: Change,
    /// To which object.
    pub key: Key,
    /// The object after the change; for a deletion as it was, at the deletion's revision.
    pub object: Arc<StoredObject>,
    /// The object before the change.
    pub before: Option<Arc<StoredObject>>,
}

impl Event {
    /// The revision of the change.
    pub fn revision(&self) -> u64 {
        self.object.revision()
    }
}

/// The revision is older than the window of changes that are kept.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "revision {asked} is too old; the oldest available revision is {oldest}; hint: list again and watch from the new revision"
)]
pub struct TooOld {
    /// The revision that was asked for.
    pub asked: u64,
    /// The oldest revision from which everything is still there.
    pub oldest: u64,
}

/// How many changes of a resource are kept, and how many bytes they may hold.
const EVENTS_MAX: usize = 20_000;
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// The objects of one resource in order of namespace and name.
#[derive(Debug, Default)]
pub(crate) struct Collection {
    objects: BTreeMap<Key, Arc<StoredObject>>,
    events: VecDeque<Arc<Event>>,
    event_bytes: usize,
    /// Changes up to this revision are no longer in the window.
    forgotten: u64,
}

impl Collection {
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<StoredObject>> {
        self.objects.get(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Puts an object there without an event, when state is restored.
    pub(crate) fn restore(&mut self, key: Key, stored: Option<Arc<StoredObject>>, revision: u64) {
        match stored {
            Some(stored) => self.objects.insert(key, stored),
            None => self.objects.remove(&key),
        };
        self.forgotten = self.forgotten.max(revision);
    }

    /// Nothing is known of changes up to this revision.
    pub(crate) fn forget_before(&mut self, revision: u64) {
        self.forgotten = self.forgotten.max(revision);
    }

    /// Makes a change. Changes after `settled` may be taken back, and are not forgotten.
    pub(crate) fn apply(&mut self, event: Arc<Event>, settled: u64) {
        match event.change {
            Change::Added | Change::Modified => {
                self.objects.insert(event.key.clone(), Arc::clone(&event.object))
            }
            Change::Deleted => self.objects.remove(&event.key),
        };
        self.event_bytes += event.object.bytes();
        self.events.push_back(event);
        while self.events.len() > EVENTS_MAX || self.event_bytes > BYTES_MAX {
            let Some(oldest) = self.events.pop_front_if(|oldest| oldest.revision() <= settled) else { break };
            self.event_bytes -= oldest.object.bytes();
            self.forgotten = oldest.revision();
        }
    }

    /// Takes back every change after `revision`.
    pub(crate) fn roll_back(&mut self, revision: u64) {
        while let Some(event) = self.events.pop_back_if(|event| event.revision() > revision) {
            self.event_bytes -= event.object.bytes();
            match &event.before {
                Some(before) => self.objects.insert(event.key.clone(), Arc::clone(before)),
                None => self.objects.remove(&event.key),
            };
        }
    }

    /// The changes after `revision`, oldest first.
    pub(crate) fn events_after(&self, revision: u64) -> Result<impl Iterator<Item = &Arc<Event>>, TooOld> {
        if revision < self.forgotten {
            return Err(TooOld { asked: revision, oldest: self.forgotten });
        }
        let start = self.events.partition_point(|event| event.revision() <= revision);
        Ok(self.events.range(start..))
    }

    /// The objects as they are now, from a key on.
    pub(crate) fn range(&self, from: Bound<&Key>) -> impl Iterator<Item = (&Key, &Arc<StoredObject>)> {
        self.objects.range((from.cloned(), Bound::Unbounded))
    }

    /// The objects as they were at an earlier revision, from a key on.
    pub(crate) fn range_at(
        &self,
        revision: u64,
        from: Bound<&Key>,
    ) -> Result<Vec<(Key, Arc<StoredObject>)>, TooOld> {
        let mut then: BTreeMap<Key, Option<Arc<StoredObject>>> = BTreeMap::new();
        for event in self.events_after(revision)? {
            then.entry(event.key.clone()).or_insert_with(|| event.before.clone());
        }
        let unchanged = self.range(from).filter(|(key, _)| !then.contains_key(*key));
        let unchanged = unchanged.map(|(key, stored)| (key.clone(), Arc::clone(stored)));
        let after = |key: &Key| match from {
            Bound::Unbounded => true,
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
        };
        let changed = then.iter().filter(|(key, _)| after(key));
        let changed = changed.filter_map(|(key, stored)| stored.clone().map(|stored| (key.clone(), stored)));
        let mut all: Vec<(Key, Arc<StoredObject>)> = unchanged.chain(changed).collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(all)
    }
}
