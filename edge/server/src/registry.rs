//! The store behind its lock, and the promise that nobody sees what could still be lost.
//!
//! A write changes the store in memory first and is then made durable; readers and watchers that saw it wait until it
//! is. When it cannot be made durable it is taken back, and nobody has seen it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use admission::{Context, Surroundings, stored_kind};
use gates::Gates;
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::scheduling::priority_class::PriorityClass;
use parking_lot::RwLock;
use schema::table;
use serde_json::Value;
use store::{Committed, Entry, Key, ListAt, Record, Resource, Selection, Store, WriteError};
use tokio::sync::{oneshot, watch};

use crate::status::Failure;

/// Called when a record is durable, or when it cannot be made so.
pub type Settled = Box<dyn FnOnce(Result<(), String>) + Send>;

/// Where changes are made durable.
pub trait Log: Send + Sync {
    /// Takes a record; records come in the order of their revisions.
    fn append(&self, revision: u64, record: Vec<u8>, settled: Settled);

    /// The log has become long enough to start it anew.
    fn snapshot_is_due(&self) -> bool {
        false
    }

    /// Replaces everything up to a revision by the records of what is there.
    fn snapshot(&self, _revision: u64, _records: Box<dyn Iterator<Item = Vec<u8>> + Send>) {}
}

/// Keeps nothing: what is written is as durable as it gets.
#[derive(Debug)]
pub struct NoLog;

impl Log for NoLog {
    fn append(&self, _revision: u64, _record: Vec<u8>, settled: Settled) {
        settled(Ok(()));
    }
}

/// All objects, and who waits for them.
pub(crate) struct Registry {
    store: RwLock<Store>,
    log: Box<dyn Log>,
    durable: watch::Sender<u64>,
    /// How often changes were taken back; a reader that waits looks again when it grows.
    taken_back: AtomicU64,
    pub(crate) gates: Gates,
}

impl Registry {
    pub(crate) fn new(store: Store, log: Box<dyn Log>, gates: Gates) -> Arc<Self> {
        let durable = watch::Sender::new(store.revision());
        Arc::new(Self { store: RwLock::new(store), log, durable, taken_back: AtomicU64::new(0), gates })
    }

    /// The moment, for objects.
    pub(crate) fn now() -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context { now: Self::now(), gates: &self.gates, surroundings: self }
    }

    /// Looks at the store as it is, durable or not; only for deciding about a write.
    pub(crate) fn glance<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&self.store.read())
    }

    pub(crate) fn get(&self, resource: Resource, key: &Key) -> Option<Arc<Entry>> {
        self.glance(|store| store.get(resource, key))
    }

    /// Looks at the store, and returns what was seen once all of it is durable.
    pub(crate) async fn read<T>(&self, look: impl Fn(&Store) -> T) -> T {
        loop {
            let before = self.taken_back.load(Ordering::Acquire);
            let (revision, seen) = {
                let store = self.store.read();
                (store.revision(), look(&store))
            };
            let mut durable = self.durable.subscribe();
            let settled = durable.wait_for(|durable| {
                *durable >= revision || self.taken_back.load(Ordering::Acquire) != before
            });
            if settled.await.is_ok_and(|durable| *durable >= revision) {
                return seen;
            }
        }
    }

    /// Tells when more has become durable.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.durable.subscribe()
    }

    /// Makes a change, and returns when it is durable.
    pub(crate) async fn commit(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Store) -> Result<Committed, WriteError>,
    ) -> Result<Result<Committed, WriteError>, Failure> {
        let (tell, told) = oneshot::channel();
        let committed = {
            let mut store = self.store.write();
            let committed = match change(&mut store) {
                Ok(committed) => committed,
                Err(error) => return Ok(Err(error)),
            };
            let revision = committed.event.revision();
            let registry = Arc::clone(self);
            let settled = Box::new(move |result: Result<(), String>| {
                if result.is_ok() {
                    registry.durable.send_if_modified(|durable| {
                        let newer = revision > *durable;
                        *durable = revision.max(*durable);
                        newer
                    });
                }
                // Whoever asked may have gone away; the change stands all the same.
                let _ = tell.send(result);
            });
            self.log.append(revision, committed.record.encode(), settled);
            committed
        };
        match told.await {
            Ok(Ok(())) => Ok(Ok(committed)),
            Ok(Err(why)) => {
                self.take_back();
                Err(Failure::internal(format!(
                    "the change could not be made durable and was taken back: {why}"
                )))
            }
            Err(_) => Err(Failure::internal("the server is stopping")),
        }
    }

    /// Takes back what is not durable.
    fn take_back(&self) {
        let mut store = self.store.write();
        let durable = *self.durable.borrow();
        store.roll_back(durable);
        self.taken_back.fetch_add(1, Ordering::AcqRel);
        self.durable.send_modify(|_| {});
    }

    /// Starts the log anew when it has become long.
    pub(crate) async fn snapshot_if_due(&self) {
        if self.log.snapshot_is_due() {
            let (revision, objects) = self.read(|store| (store.revision(), store.snapshot())).await;
            let records =
                objects.into_iter().map(|(resource, key, entry)| Record::of(resource, &key, &entry).encode());
            self.log.snapshot(revision, Box::new(records));
        }
    }

    /// All objects of a kind that the server itself looks at.
    fn all<T: objects::Object>(&self) -> Vec<T> {
        let Some(resource) = table().kind(T::API_VERSION, T::KIND).map(stored_kind).and_then(Resource::of)
        else {
            return Vec::new();
        };
        let page = self
            .glance(|store| store.list(resource, None, &Selection::default(), ListAt::Latest, None, None));
        let items = page.map(|page| page.items).unwrap_or_default();
        items
            .iter()
            .filter_map(|(_, entry)| serde_json::from_value(entry.value(T::API_VERSION, T::KIND)).ok())
            .collect()
    }

    fn one(&self, api_version: &str, kind: &str, key: &Key) -> Option<Value> {
        let resource = Resource::of(table().kind(api_version, kind)?)?;
        self.get(resource, key).map(|entry| entry.value(api_version, kind))
    }

    /// A namespace, if it is there.
    pub(crate) fn namespace(&self, name: &str) -> Option<Value> {
        self.one("v1", "Namespace", &Key::new("", name))
    }

    /// A node, if it is there.
    pub(crate) fn node(&self, name: &str) -> Option<Value> {
        self.one("v1", "Node", &Key::new("", name))
    }
}

impl Surroundings for Registry {
    fn namespace_labels(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let resource = table().kind("v1", "Namespace").and_then(Resource::of)?;
        self.get(resource, &Key::new("", name)).map(|entry| entry.labels().clone())
    }

    fn priority_class(&self, name: &str) -> Option<PriorityClass> {
        let class = self.one("scheduling.k8s.io/v1", "PriorityClass", &Key::new("", name))?;
        serde_json::from_value(class).ok()
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        self.all::<PriorityClass>()
            .into_iter()
            .filter(|class| class.global_default)
            .min_by_key(|class| class.value)
    }

    fn nodes(&self, wanted: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        self.all::<Node>().into_iter().filter(|node| wanted(node)).collect()
    }
}
