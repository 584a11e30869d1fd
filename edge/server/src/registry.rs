//! The store behind its lock, and the promise that nobody sees what could still be lost.
//!
//! A write changes the store in memory first and is then made durable; readers and watchers that saw it wait until it
//! is. When it cannot be made durable it is taken back, and nobody has seen it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use admission::{Context, Surroundings, stored_kind};
use gates::Gates;
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::resource::class::DeviceClass;
use objects::scheduling::priority_class::PriorityClass;
use parking_lot::{Mutex, RwLock};
use schema::table;
use serde_json::Value;
use store::{Committed, Key, ListAt, Record, Resource, Selection, Store, StoredObject, WriteError};
use tokio::sync::{oneshot, watch};

use crate::status::Failure;

/// Why a change is not durable.
#[derive(Clone, Debug)]
pub enum NotDurable {
    /// It is not on the disk, and never will be.
    Void(String),
    /// It may be on the disk, and then it is there when the server starts again.
    Uncertain(String),
}

/// Called when a record is durable, or when it cannot be made so.
pub type Settled = Box<dyn FnOnce(Result<(), NotDurable>) + Send>;

/// What became of a record at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is durable, and `settled` is not called.
    Durable,
    /// `settled` is called when its fate is known.
    Waiting,
}

/// Where changes are made durable.
pub trait Log: Send + Sync {
    /// Takes a record, or says why not; records come in the order of their revisions.
    ///
    /// `settled` must be called after this has returned, or by another thread: it may wait for what the caller holds.
    ///
    /// # Errors
    /// When the record is refused; then `settled` is not called.
    fn append(&self, revision: u64, record: Vec<u8>, settled: Settled) -> Result<Appended, String>;

    /// Writes what was appended, or lets somebody else do it. Called without a lock after every `append`.
    fn write(&self) {}

    /// Says what is wrong, if changes cannot be made durable at the moment. It must not wait for anything.
    ///
    /// # Errors
    /// When the last change failed, or waits for too long.
    fn health(&self) -> Result<(), String> {
        Ok(())
    }

    /// Called now and then, where it may wait, to find out whether what was wrong is over.
    fn mend(&self) {}

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
    fn append(&self, _revision: u64, _record: Vec<u8>, _settled: Settled) -> Result<Appended, String> {
        Ok(Appended::Durable)
    }
}

/// How long a request waits for the disk.
const DURABLE_WITHIN: Duration = Duration::from_secs(30);

/// All objects, and who waits for them.
pub(crate) struct Registry {
    store: RwLock<Store>,
    log: Arc<dyn Log>,
    durable: watch::Sender<u64>,
    /// How often changes were taken back; a reader that waits looks again when it grows.
    taken_back: AtomicU64,
    pub(crate) gates: Gates,
    /// The default priority class, and the revisions of the classes when it was found.
    default_class: Mutex<(Vec<u64>, Option<PriorityClass>)>,
}

impl Registry {
    pub(crate) fn new(store: Store, log: Box<dyn Log>, gates: Gates) -> Arc<Self> {
        let durable = watch::Sender::new(store.revision());
        Arc::new(Self {
            store: RwLock::new(store),
            log: log.into(),
            durable,
            taken_back: AtomicU64::new(0),
            gates,
            default_class: Mutex::default(),
        })
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

    pub(crate) fn get(&self, resource: Resource, key: &Key) -> Option<Arc<StoredObject>> {
        self.glance(|store| store.get(resource, key))
    }

    /// Looks at the store, and returns what was seen once all of it is durable.
    pub(crate) async fn read<T>(&self, look: impl Fn(&Store) -> T) -> Result<T, Failure> {
        let read = tokio::time::timeout(DURABLE_WITHIN, self.read_durable(look)).await;
        read.map_err(|_| too_slow("the last changes are not durable yet"))
    }

    async fn read_durable<T>(&self, look: impl Fn(&Store) -> T) -> T {
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

    /// The log, for questions about its health.
    pub(crate) fn log(&self) -> Arc<dyn Log> {
        Arc::clone(&self.log)
    }

    /// Makes a change, and returns when it is durable.
    ///
    /// Whoever waits for it may go away at any time: the change is settled by whoever makes it durable.
    pub(crate) async fn commit(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Store) -> Result<Committed, WriteError>,
    ) -> Result<Result<Committed, WriteError>, Failure> {
        let (tell, told) = oneshot::channel();
        let committed = {
            let mut store = self.store.write();
            store.settle(*self.durable.borrow());
            let made_in = self.taken_back.load(Ordering::Acquire);
            let committed = match change(&mut store) {
                Ok(committed) => committed,
                Err(error) => return Ok(Err(error)),
            };
            let revision = committed.event.revision();
            let registry = Arc::clone(self);
            let settled = Box::new(move |result: Result<(), NotDurable>| {
                match &result {
                    Ok(()) => registry.is_durable(revision),
                    Err(_) => registry.take_back(made_in),
                }
                // Whoever asked may have gone away; the change stands, or is taken back, all the same.
                let _ = tell.send(result);
            });
            match self.log.append(revision, committed.record.encode(), settled) {
                Ok(Appended::Durable) => {
                    self.is_durable(revision);
                    return Ok(Ok(committed));
                }
                Ok(Appended::Waiting) => committed,
                Err(why) => {
                    // Nobody has seen it, and what came before it may still become durable.
                    store.roll_back(revision - 1);
                    return Err(not_durable(&NotDurable::Void(why)));
                }
            }
        };
        self.log.write();
        match tokio::time::timeout(DURABLE_WITHIN, told).await {
            Ok(Ok(Ok(()))) => Ok(Ok(committed)),
            Ok(Ok(Err(why))) => Err(not_durable(&why)),
            Ok(Err(_)) => Err(Failure::internal("the API server is shutting down")),
            Err(_) => Err(too_slow("the change is not durable yet, and may still become so")),
        }
    }

    fn is_durable(&self, revision: u64) {
        self.durable.send_if_modified(|durable| {
            let newer = revision > *durable;
            *durable = revision.max(*durable);
            newer
        });
    }

    /// Takes back what is not durable, for a change that was made when so many takings-back had been.
    ///
    /// When a write fails, all that waited behind it fails too, and the log takes nothing until one of them has taken
    /// all of it back. What is not durable after that is on its way, and is not for the others to take back. They must
    /// not even wait for the store: whoever has it may wait for the log, which waits for them.
    fn take_back(&self, made_in: u64) {
        if self.taken_back.load(Ordering::Acquire) != made_in {
            return;
        }
        let mut store = self.store.write();
        if self.taken_back.load(Ordering::Acquire) != made_in {
            return;
        }
        store.roll_back(*self.durable.borrow());
        self.taken_back.fetch_add(1, Ordering::AcqRel);
        self.durable.send_modify(|_| {});
    }

    /// Starts the log anew when it has become long.
    pub(crate) async fn snapshot_if_due(&self) {
        if self.log.snapshot_is_due()
            && let Ok((revision, objects)) = self.read(|store| (store.revision(), store.snapshot())).await
        {
            let records = objects
                .into_iter()
                .map(|(resource, key, stored)| Record::of(resource, &key, &stored).encode());
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
            .filter_map(|(_, stored)| T::read_value(&stored.value(T::API_VERSION, T::KIND)).ok())
            .collect()
    }

    fn one(&self, api_version: &str, kind: &str, key: &Key) -> Option<Value> {
        let resource = Resource::of(table().kind(api_version, kind)?)?;
        self.get(resource, key).map(|stored| stored.value(api_version, kind))
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

fn not_durable(why: &NotDurable) -> Failure {
    Failure::internal(match why {
        NotDurable::Void(why) => format!("the change could not be made durable and was taken back: {why}"),
        NotDurable::Uncertain(why) => format!(
            "the change could not be made durable and was taken back, but it may be there again if the server restarts \
             before its disk takes writes again: {why}"
        ),
    })
}

fn too_slow(what: &str) -> Failure {
    let message = format!("the disk is slow ({} s): {what}", DURABLE_WITHIN.as_secs());
    Failure::new(504, "Timeout", message)
}

impl Surroundings for Registry {
    fn namespace_labels(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let resource = table().kind("v1", "Namespace").and_then(Resource::of)?;
        self.get(resource, &Key::new("", name)).map(|stored| stored.labels().clone())
    }

    fn priority_class(&self, name: &str) -> Option<PriorityClass> {
        let class = self.one("scheduling.k8s.io/v1", "PriorityClass", &Key::new("", name))?;
        serde_json::from_value(class).ok()
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        let resource = table().kind("scheduling.k8s.io/v1", "PriorityClass").and_then(Resource::of)?;
        let everything = Selection::default();
        let page =
            self.glance(|store| store.list(resource, None, &everything, ListAt::Latest, None, None)).ok()?;
        // Every pod asks, and the classes hardly ever change.
        let revisions: Vec<u64> = page.items.iter().map(|(_, stored)| stored.revision()).collect();
        let mut known = self.default_class.lock();
        if known.0 != revisions {
            let classes = self.all::<PriorityClass>().into_iter().filter(|class| class.global_default);
            *known = (revisions, classes.min_by_key(|class| class.value));
        }
        known.1.clone()
    }

    fn device_class(&self, name: &str) -> Option<DeviceClass> {
        let class = self.one("resource.k8s.io/v1", "DeviceClass", &Key::new("", name))?;
        serde_json::from_value(class).ok()
    }

    fn nodes(&self, wanted: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        self.all::<Node>().into_iter().filter(|node| wanted(node)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};

    use gates::Gates;
    use parking_lot::Mutex;
    use schema::table;
    use serde_json::json;
    use store::{Body, Expected, Key, Resource, Store};

    use super::{Appended, Log, NoLog, NotDurable, Registry, Settled};

    /// A log whose writes succeed or fail when the test says so.
    #[derive(Clone, Default)]
    struct ByHand(Arc<Mutex<Waiting>>);

    #[derive(Default)]
    struct Waiting {
        entries: Vec<Settled>,
        durable: u64,
        refuses: bool,
    }

    impl Log for ByHand {
        fn append(&self, revision: u64, _record: Vec<u8>, settled: Settled) -> Result<Appended, String> {
            let mut waiting = self.0.lock();
            if waiting.refuses || revision != waiting.durable + waiting.entries.len() as u64 + 1 {
                return Err("refused".to_owned());
            }
            waiting.entries.push(settled);
            Ok(Appended::Waiting)
        }
    }

    impl ByHand {
        fn settle(&self, result: &Result<(), String>) {
            let mut waiting = self.0.lock();
            let entries = std::mem::take(&mut waiting.entries);
            waiting.durable += if result.is_ok() { entries.len() as u64 } else { 0 };
            drop(waiting);
            entries.into_iter().for_each(|settled| settled(result.clone().map_err(NotDurable::Void)));
        }
    }

    fn config_maps() -> Resource {
        table().kind("v1", "ConfigMap").and_then(Resource::of).expect("config maps are stored")
    }

    /// Whether a write was acknowledged, once it is known.
    type Put = Pin<Box<dyn Future<Output = bool>>>;

    fn put(registry: &Arc<Registry>, name: &'static str) -> Put {
        let registry = Arc::clone(registry);
        let mut put: Put = Box::pin(async move {
            let body = Body::new(&json!({"metadata": {"name": name}}), vec![]);
            let key = Key::new("default", name);
            registry.commit(|store| store.put(config_maps(), key, body, Expected::Absent)).await.is_ok()
        });
        // An answer that is there at once stays for the next look.
        match told(&mut put) {
            Poll::Ready(answer) => Box::pin(std::future::ready(answer)),
            Poll::Pending => put,
        }
    }

    fn told(put: &mut Put) -> Poll<bool> {
        put.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    fn registry() -> (Arc<Registry>, ByHand) {
        let log = ByHand::default();
        (Registry::new(Store::default(), Box::new(log.clone()), Gates::default()), log)
    }

    fn there(registry: &Registry, name: &str) -> bool {
        registry.get(config_maps(), &Key::new("default", name)).is_some()
    }

    #[tokio::test]
    async fn who_learns_late_of_a_failed_write_takes_back_nothing_that_came_after() {
        let (registry, log) = registry();
        let (mut first, mut second) = (put(&registry, "first"), put(&registry, "second"));
        log.settle(&Err("the disk is full".to_owned()));
        assert_eq!(told(&mut first), Poll::Ready(false));
        let mut third = put(&registry, "third");
        assert_eq!(told(&mut second), Poll::Ready(false));
        log.settle(&Ok(()));
        assert_eq!(told(&mut third), Poll::Ready(true));
        assert!(there(&registry, "third"), "what was acknowledged is there");
        assert!(!there(&registry, "first") && !there(&registry, "second"));
        let mut fourth = put(&registry, "fourth");
        log.settle(&Ok(()));
        assert_eq!(told(&mut fourth), Poll::Ready(true), "and the log goes on");
    }

    #[tokio::test]
    async fn a_write_that_is_durable_at_once_is_acknowledged_at_once() {
        let registry = Registry::new(Store::default(), Box::new(NoLog), Gates::default());
        assert_eq!(told(&mut put(&registry, "first")), Poll::Ready(true));
        assert!(there(&registry, "first"));
    }

    #[tokio::test]
    async fn a_write_that_the_log_refuses_takes_back_only_itself() {
        let (registry, log) = registry();
        let mut first = put(&registry, "first");
        log.0.lock().refuses = true;
        assert_eq!(told(&mut put(&registry, "second")), Poll::Ready(false));
        log.0.lock().refuses = false;
        let mut third = put(&registry, "third");
        log.settle(&Ok(()));
        assert_eq!(told(&mut first), Poll::Ready(true));
        assert_eq!(told(&mut third), Poll::Ready(true));
        assert!(there(&registry, "first") && !there(&registry, "second") && there(&registry, "third"));
    }

    #[tokio::test]
    async fn a_write_whose_client_hung_up_is_taken_back_when_it_fails() {
        let (registry, log) = registry();
        let first = put(&registry, "first");
        drop(first);
        log.settle(&Err("the sync failed".to_owned()));
        assert!(!there(&registry, "first"), "nobody asks for it any more, and it is taken back all the same");
        let mut second = put(&registry, "second");
        log.settle(&Ok(()));
        assert_eq!(told(&mut second), Poll::Ready(true), "the log goes on");
    }
}
