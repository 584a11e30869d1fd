//! All resources under one revision.

use std::ops::Bound;
use std::sync::Arc;

use schema::{Kind, table};
use thiserror::Error;

use crate::collection::{Change, Collection, Event, TooOld};
use crate::record::Record;
use crate::select::Selection;
use crate::stored_object::{Body, Key, StoredObject};

/// A resource that is stored: the position of its kind in the schema table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource(u16);

impl Resource {
    /// The resource as which objects of `kind` are stored, if `kind` is in the table.
    pub fn of(kind: &Kind) -> Option<Self> {
        let at = table()
            .kinds()
            .iter()
            .position(|have| have.api_version == kind.api_version && have.kind == kind.kind)?;
        u16::try_from(at).ok().map(Self)
    }

    /// The kind that is stored.
    pub fn kind(self) -> &'static Kind {
        &table().kinds()[usize::from(self.0)]
    }
}

/// What a write expects to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No object of that name.
    Absent,
    /// The object as it was at this revision.
    Revision(u64),
}

/// A write that came too late or too early.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum WriteError {
    /// There is an object of that name already.
    #[error("an object of that name is already there")]
    Exists,
    /// There is no object of that name.
    #[error("no object of that name is there")]
    Missing,
    /// Somebody changed the object meanwhile.
    #[error("the object was changed at revision {now}")]
    Changed {
        /// The revision it has now.
        now: u64,
    },
}

/// A change that was made.
#[derive(Clone, Debug)]
pub struct Committed {
    /// What happened.
    pub event: Arc<Event>,
    /// What a journal keeps of it.
    pub record: Record,
}

/// At which revision to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListAt {
    /// Now.
    Latest,
    /// As it was at this revision.
    Revision(u64),
}

/// A part of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// The revision that the whole list shows.
    pub revision: u64,
    /// The objects.
    pub items: Vec<(Key, Arc<StoredObject>)>,
    /// The last key of this part, if more objects follow.
    pub more_after: Option<Key>,
    /// How many objects follow, if no selector makes that unknown.
    pub remaining: Option<usize>,
}

/// Objects by resource, namespace and name.
#[derive(Debug)]
pub struct Store {
    revision: u64,
    /// Changes up to this revision are never taken back.
    settled: u64,
    collections: Vec<Collection>,
}

impl Default for Store {
    fn default() -> Self {
        let collections = table().kinds().iter().map(|_| Collection::default()).collect();
        Self { revision: 0, settled: u64::MAX, collections }
    }
}

impl Store {
    /// The revision of the last change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// How many objects a resource has.
    pub fn count(&self, resource: Resource) -> usize {
        self.collection(resource).len()
    }

    fn collection(&self, resource: Resource) -> &Collection {
        &self.collections[usize::from(resource.0)]
    }

    /// The object of a key.
    pub fn get(&self, resource: Resource, key: &Key) -> Option<Arc<StoredObject>> {
        self.collection(resource).get(key).map(Arc::clone)
    }

    /// Makes or replaces an object.
    ///
    /// # Errors
    /// When the object is not as the writer expected it.
    pub fn put(
        &mut self,
        resource: Resource,
        key: Key,
        body: Body,
        expected: Expected,
    ) -> Result<Committed, WriteError> {
        let before = self.check(resource, &key, expected)?;
        let revision = self.revision + 1;
        let stored = Arc::new(body.at(revision));
        let record = Record::of(resource, &key, &stored);
        let change = if before.is_some() { Change::Modified } else { Change::Added };
        let event = Event { change, key, object: stored, before };
        Ok(self.commit(resource, event, record))
    }

    /// Removes an object.
    ///
    /// # Errors
    /// When the object is not as the writer expected it.
    pub fn remove(
        &mut self,
        resource: Resource,
        key: Key,
        expected: Expected,
    ) -> Result<Committed, WriteError> {
        let before = self.check(resource, &key, expected)?.ok_or(WriteError::Missing)?;
        let revision = self.revision + 1;
        let record = Record::remove(resource, &key, revision);
        let stored = Arc::new(before.moved_to(revision));
        let event = Event { change: Change::Deleted, key, object: stored, before: Some(before) };
        Ok(self.commit(resource, event, record))
    }

    fn check(
        &self,
        resource: Resource,
        key: &Key,
        expected: Expected,
    ) -> Result<Option<Arc<StoredObject>>, WriteError> {
        let found = self.get(resource, key);
        match (expected, &found) {
            (Expected::Absent, None) => Ok(None),
            (Expected::Absent, Some(_)) => Err(WriteError::Exists),
            (Expected::Revision(_), None) => Err(WriteError::Missing),
            (Expected::Revision(wanted), Some(stored)) if stored.revision() == wanted => Ok(found),
            (Expected::Revision(_), Some(stored)) => Err(WriteError::Changed { now: stored.revision() }),
        }
    }

    fn commit(&mut self, resource: Resource, event: Event, record: Record) -> Committed {
        self.revision = event.revision();
        let event = Arc::new(event);
        self.collections[usize::from(resource.0)].apply(Arc::clone(&event), self.settled);
        Committed { event, record }
    }

    /// Changes after `revision` may still be taken back, so that they stay in the window however long it becomes. Without
    /// this, none may.
    pub fn settle(&mut self, revision: u64) {
        self.settled = revision;
    }

    /// Takes back every change after `revision`, because it could not be made durable, and nobody has seen it.
    pub fn roll_back(&mut self, revision: u64) {
        self.revision = self.revision.min(revision);
        self.collections.iter_mut().for_each(|collection| collection.roll_back(revision));
    }

    /// Puts back what a journal kept. Records must come in the order of their revisions.
    pub fn restore(&mut self, record: &Record) {
        let resource = record.resource();
        let stored = record.object().map(Arc::clone);
        self.revision = self.revision.max(record.revision());
        self.collections[usize::from(resource.0)].restore(record.key(), stored, record.revision());
    }

    /// Ends a restoration: nothing that happened before can be watched.
    pub fn restored(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
        let revision = self.revision;
        self.collections.iter_mut().for_each(|collection| collection.forget_before(revision));
    }

    /// A record of every object, for a snapshot.
    pub fn snapshot(&self) -> Vec<(Resource, Key, Arc<StoredObject>)> {
        let resources = (0..).map(Resource).zip(&self.collections);
        resources
            .flat_map(|(resource, collection)| {
                collection
                    .range(Bound::Unbounded)
                    .map(move |(key, stored)| (resource, key.clone(), Arc::clone(stored)))
            })
            .collect()
    }

    /// A part of a list: of one namespace or of all, what the selection picks, after a key, at most `limit` objects.
    ///
    /// # Errors
    /// When the revision is older than the window of changes.
    pub fn list(
        &self,
        resource: Resource,
        namespace: Option<&str>,
        selection: &Selection,
        at: ListAt,
        after: Option<&Key>,
        limit: Option<usize>,
    ) -> Result<Page, TooOld> {
        let collection = self.collection(resource);
        let first = namespace.map(|namespace| Key::new(namespace, ""));
        let from = match (after, &first) {
            (Some(after), _) => Bound::Excluded(after),
            (None, Some(first)) => Bound::Included(first),
            (None, None) => Bound::Unbounded,
        };
        let within = |key: &Key| namespace.is_none_or(|namespace| &*key.namespace == namespace);
        let picked = |key: &Key, stored: &StoredObject| selection.picks(key, stored);
        let (revision, mut all): (u64, Vec<(Key, Arc<StoredObject>)>) = match at {
            ListAt::Revision(revision) if revision < self.revision => {
                let then = collection.range_at(revision, from)?;
                (
                    revision,
                    then.into_iter()
                        .take_while(|(key, _)| within(key))
                        .filter(|(k, e)| picked(k, e))
                        .collect(),
                )
            }
            _ => {
                let now =
                    collection.range(from).take_while(|(key, _)| within(key)).filter(|(k, e)| picked(k, e));
                (self.revision, now.map(|(key, stored)| (key.clone(), Arc::clone(stored))).collect())
            }
        };
        let left = limit.map_or(0, |limit| all.len().saturating_sub(limit));
        let mut page = Page { revision, items: Vec::new(), more_after: None, remaining: None };
        if left > 0 {
            all.truncate(all.len() - left);
            page.more_after = all.last().map(|(key, _)| key.clone());
            page.remaining = selection.is_everything().then_some(left);
        }
        page.items = all;
        Ok(page)
    }

    /// The changes of a resource after a revision, oldest first, at most `most` of them.
    ///
    /// # Errors
    /// When the revision is older than the window of changes.
    pub fn events_after(
        &self,
        resource: Resource,
        revision: u64,
        most: usize,
    ) -> Result<Vec<Arc<Event>>, TooOld> {
        Ok(self.collection(resource).events_after(revision)?.take(most).map(Arc::clone).collect())
    }
}
