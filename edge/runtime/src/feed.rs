//! What the API tells: one stream for each kind, turned into facts for the engine.
//!
//! Invariant: facts of a kind arrive in the order in which they happened, each once. Kinds may overtake each other. A kind that
//! the server does not serve is as good as one without objects, whether it never did or does so no more; it is asked for again
//! from time to time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use client::{
    Answer, AnyObject, Backoff, Connection, Event, Gone, Readers, Selectors, SomeObject, WatchOptions,
};
use convert::claim_id;
use convert::followed::{FOLLOWED, Followed, FollowedKind};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use gates::Gates;
use objects::Object;
use objects::apps::{ReplicaSet, StatefulSet};
use objects::core::kinds::{
    Namespace, PersistentVolume, PersistentVolumeClaim, ReplicationController, Service,
};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::meta::ObjectMeta;
use objects::policy::PodDisruptionBudget;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::{DeviceClass, DeviceTaintRule};
use objects::resource::slice::ResourceSlice;
use objects::scheduling::composite_pod_group::CompositePodGroup;
use objects::scheduling::pod_group::PodGroup;
use objects::storage::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use objects::supercargo::node_topology::NodeTopology;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use objects::supercargo::workload::Workload;
use scheduling::recording::{FactOrigin, RecordedObject};
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::SendError;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::StartError;
use crate::drive::Message;
use crate::kept::Original;
use crate::notice::{Listener, Notice};

/// A kind that the engine is told about. Kinds differ in these functions; following them is the same for all.
pub(crate) struct Feed {
    pub(crate) kind: &'static str,
    pub(crate) row: FollowedKind,
    readers: Readers,
    message: fn(Event<SomeObject>, Telling) -> Option<Message>,
    vanished: fn(Gone, bool) -> Message,
}

/// How an event is told.
#[derive(Clone, Copy)]
struct Telling {
    /// The object may come from a list.
    lists: bool,
    /// Facts are recorded with what they come from.
    records: bool,
    /// Facts are told with what their objects say to people.
    observes: bool,
}

/// Where facts are told.
#[derive(Clone)]
pub(crate) struct Inbox {
    pub(crate) to: Sender<Message>,
    /// Facts are recorded with what they come from.
    pub(crate) records: bool,
    /// Facts are told with what their objects say to people, to someone who writes nothing.
    pub(crate) observes: bool,
}

impl Inbox {
    async fn send(&self, message: Message) -> Sent {
        self.to.send(message).await
    }
}

/// Every kind that the engine is told about: those of the table, in its order.
static FEEDS: [Feed; FOLLOWED.len()] = [
    feed::<Node>(),
    feed::<Namespace>(),
    feed::<Pod>(),
    feed::<ResourceSlice>(),
    feed::<DeviceClass>(),
    feed::<ResourceClaim>(),
    feed::<DeviceTaintRule>(),
    feed::<PersistentVolume>(),
    feed::<PersistentVolumeClaim>(),
    feed::<StorageClass>(),
    feed::<CSINode>(),
    feed::<CSIDriver>(),
    feed::<CSIStorageCapacity>(),
    feed::<VolumeAttachment>(),
    feed::<PodDisruptionBudget>(),
    feed::<Service>(),
    feed::<ReplicationController>(),
    feed::<ReplicaSet>(),
    feed::<StatefulSet>(),
    feed::<PodGroup>(),
    feed::<CompositePodGroup>(),
    feed::<Workload>(),
    feed::<NodeTopology>(),
    feed::<PodSchedulingContext>(),
];

const fn feed<K: Source>() -> Feed {
    let (row, readers) = (FollowedKind::of::<K>(), Readers::of::<K>());
    Feed { kind: K::KIND, row, readers, message: message::<K>, vanished: vanished::<K> }
}

/// An object that facts come from.
trait Source: Followed + Send + Sync + 'static {
    /// The object itself, if writes are made from it.
    fn original(_: &Arc<Self>) -> Option<Original> {
        None
    }

    /// What of the object people want to know.
    fn shown(object: &Arc<Self>) -> Option<Original> {
        Self::original(object)
    }
}

impl Source for Node {}
impl Source for Namespace {}
impl Source for ResourceSlice {}
impl Source for DeviceTaintRule {}
impl Source for PersistentVolume {}
impl Source for PersistentVolumeClaim {}
impl Source for StorageClass {}
impl Source for CSINode {}
impl Source for CSIDriver {}
impl Source for CSIStorageCapacity {}
impl Source for VolumeAttachment {}
impl Source for PodDisruptionBudget {}
impl Source for Service {}
impl Source for ReplicationController {}
impl Source for ReplicaSet {}
impl Source for StatefulSet {}
impl Source for CompositePodGroup {}

impl Source for Workload {}
impl Source for NodeTopology {}

impl Source for PodGroup {
    fn original(object: &Arc<Self>) -> Option<Original> {
        // Writes look at who it is and at what was noted on it.
        let noted = PodGroup {
            metadata: ObjectMeta { generation: object.metadata.generation, ..noted(&object.metadata) },
            status: object.status.clone(),
            ..PodGroup::default()
        };
        Some(Original::Group(Arc::new(noted)))
    }
}

impl Source for Pod {
    fn original(object: &Arc<Self>) -> Option<Original> {
        if object.spec.node_name.is_empty() { Self::shown(object) } else { None }
    }

    fn shown(object: &Arc<Self>) -> Option<Original> {
        // Writes look at who it is and at what was noted on it.
        let deletion_timestamp = object.metadata.deletion_timestamp;
        let noted = Pod {
            metadata: ObjectMeta { deletion_timestamp, ..noted(&object.metadata) },
            status: object.status.clone(),
            ..Pod::default()
        };
        Some(Original::Pod(Arc::new(noted)))
    }
}

impl Source for DeviceClass {
    fn original(object: &Arc<Self>) -> Option<Original> {
        Some(Original::Class(object.clone()))
    }
}

impl Source for PodSchedulingContext {
    fn original(object: &Arc<Self>) -> Option<Original> {
        Some(Original::Context(object.clone()))
    }
}

impl Source for ResourceClaim {
    fn original(object: &Arc<Self>) -> Option<Original> {
        Some(Original::Claim(claim_id(object), object.clone()))
    }
}

/// Which object it is, and in which version.
fn noted(meta: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        resource_version: meta.resource_version.clone(),
        ..ObjectMeta::default()
    }
}

/// How long to wait at first before a server that cannot say what it serves is asked again, and at most.
const ASK_AGAIN: Duration = Duration::from_secs(2);
const ASK_AGAIN_MAX: Duration = Duration::from_secs(30);

/// How long to wait at first before a server is asked again whether it serves a kind, and at most.
const ASK_LATER: Duration = Duration::from_secs(1);
const ASK_LATER_MAX: Duration = Duration::from_secs(60);

/// The kinds that matter.
pub(crate) struct Feeds {
    /// Those that the server serves.
    pub(crate) served: Vec<&'static Feed>,
    /// Those that it may serve later.
    pub(crate) unserved: Vec<&'static Feed>,
}

/// The kinds that matter. One that the server does not serve is told of.
pub(crate) async fn feeds(
    connection: &Connection,
    gates: Gates,
    listener: &dyn Listener,
) -> Result<Feeds, StartError> {
    let mut feeds = Feeds { served: Vec::new(), unserved: Vec::new() };
    let mut backoff = Backoff::new(ASK_AGAIN, ASK_AGAIN_MAX);
    for feed in FEEDS.iter().filter(|feed| feed.row.matters(gates)) {
        loop {
            match connection.serves(feed.row.api_version, feed.row.plural).await {
                Answer::Done(true) => feeds.served.push(feed),
                Answer::Done(false) => {
                    listener.hear(&Notice::NotServed { kind: feed.kind });
                    feeds.unserved.push(feed);
                }
                other => {
                    let (server, why) = (connection.server().to_owned(), other.trouble().unwrap_or_default());
                    let error = StartError::Discovery { server, why };
                    if !other.is_passing() {
                        return Err(error);
                    }
                    let (kind, retry_in) = (feed.kind, backoff.pause_after(&other));
                    listener.hear(&Notice::Interrupted { kind, why: &error.to_string(), retry_in });
                    sleep(retry_in).await;
                    continue;
                }
            }
            backoff.reset();
            break;
        }
    }
    Ok(feeds)
}

/// Follows kinds for as long as the tasks live.
pub(crate) fn follow_all(connection: &Connection, feeds: &Feeds, to: &Inbox) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for feed in &feeds.served {
        follow(connection, feed, to.clone(), &mut tasks);
    }
    for feed in &feeds.unserved {
        await_served(connection, feed, to.clone(), &mut tasks);
    }
    tasks
}

/// Kinds that a leader before us may have written a moment ago.
const WRITTEN: [&str; 3] = [Pod::KIND, ResourceClaim::KIND, PodSchedulingContext::KIND];

/// Reads again what a leader before us may have written: what we were told may be older than its last writes.
pub(crate) fn read_again(
    connection: &Connection,
    feeds: &[&'static Feed],
    to: &Inbox,
    tasks: &mut JoinSet<()>,
) -> Vec<&'static str> {
    let written = feeds.iter().filter(|feed| WRITTEN.contains(&feed.kind));
    written.inspect(|feed| read(connection, feed, to.clone(), tasks)).map(|feed| feed.kind).collect()
}

/// Says what is there once.
fn read(connection: &Connection, feed: &'static Feed, to: Inbox, tasks: &mut JoinSet<()>) {
    let mut stream = stream(connection, feed, "");
    tasks.spawn(async move {
        while let Some(event) = stream.next().await {
            let message = match (feed.message)(
                event,
                Telling { lists: true, records: to.records, observes: to.observes },
            ) {
                Some(Message::Synced(kind)) => Message::ReadAgain(kind),
                Some(message) => message,
                None => continue,
            };
            let is_last = matches!(message, Message::ReadAgain(_));
            if to.send(message).await.is_err() || is_last {
                return;
            }
        }
    });
}

fn stream(connection: &Connection, feed: &Feed, namespace: &str) -> BoxStream<'static, Event<SomeObject>> {
    let resource = (feed.row.api_version, feed.row.plural, namespace);
    let selectors = Selectors { fields: feed.row.fields.to_owned(), ..Selectors::default() };
    connection.list_and_watch_any(feed.readers, resource, &selectors, &WatchOptions::default())
}

/// Follows a kind in one namespace, for as long as it is served and the receiver is there.
pub(crate) fn follow_within(
    connection: &Connection,
    feed: &'static Feed,
    namespace: String,
    to: Inbox,
    tasks: &mut JoinSet<()>,
) {
    let connection = connection.clone();
    tasks.spawn(async move {
        let _ = tell_until_unserved(&connection, feed, &namespace, &to).await;
    });
}

pub(crate) fn follow(connection: &Connection, feed: &'static Feed, to: Inbox, tasks: &mut JoinSet<()>) {
    let connection = connection.clone();
    tasks.spawn(async move {
        // The receiver is gone, and needs no more facts.
        while tell_until_unserved(&connection, feed, "", &to).await.is_ok() {
            if until_served(&connection, feed, &to).await.is_err() {
                return;
            }
        }
    });
}

/// Follows it from when it is served.
pub(crate) fn await_served(connection: &Connection, feed: &'static Feed, to: Inbox, tasks: &mut JoinSet<()>) {
    let connection = connection.clone();
    tasks.spawn(async move {
        while until_served(&connection, feed, &to).await.is_ok() {
            if tell_until_unserved(&connection, feed, "", &to).await.is_err() {
                return;
            }
        }
    });
}

type Sent = Result<(), SendError<Message>>;

/// Asks ever more seldom whether a kind is served, until it is.
async fn until_served(connection: &Connection, feed: &'static Feed, to: &Inbox) -> Sent {
    let mut pause = ASK_LATER;
    loop {
        sleep(pause).await;
        // What else is wrong is told of by the kinds that are followed.
        if let Answer::Done(true) = connection.serves(feed.row.api_version, feed.row.plural).await {
            return to.send(Message::Served(feed)).await;
        }
        pause = (pause * 2).min(ASK_LATER_MAX);
    }
}

/// Tells what is there of a kind and what changes. When the server serves it no more, all of it is told to be gone.
async fn tell_until_unserved(
    connection: &Connection,
    feed: &'static Feed,
    namespace: &str,
    to: &Inbox,
) -> Sent {
    let mut stream = stream(connection, feed, namespace);
    let mut lists = true;
    // Of kinds that are always there nothing has to be remembered.
    let mut there: BTreeSet<Gone> = BTreeSet::new();
    while let Some(event) = stream.next().await {
        lists = may_list(lists, &event);
        if feed.row.comes_and_goes {
            match &event {
                Event::Applied(object) => drop(there.insert(named(&**object))),
                Event::Deleted(object) => drop(there.remove(&named(&**object))),
                Event::Vanished(gone) => drop(there.remove(gone)),
                Event::Interrupted { .. } => {
                    if let Answer::Done(false) =
                        connection.serves(feed.row.api_version, feed.row.plural).await
                    {
                        for gone in there {
                            to.send((feed.vanished)(gone, to.records)).await?;
                        }
                        return to.send(Message::NotServed(feed)).await;
                    }
                }
                Event::Synced { .. } | Event::Progressed { .. } | Event::Unreadable { .. } => {}
            }
        }
        if let Some(message) =
            (feed.message)(event, Telling { lists, records: to.records, observes: to.observes })
        {
            to.send(message).await?;
        }
    }
    Ok(())
}

fn named(object: &dyn AnyObject) -> Gone {
    let metadata = object.metadata();
    let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
    Gone { namespace, name, uid: metadata.uid.clone() }
}

/// Whether objects may come from a list from here on, rather than one by one as they are written. An interruption may end with
/// a list, and nothing says so before the list is over; what only a watch says shows that there was none.
fn may_list<K>(lists: bool, event: &Event<K>) -> bool {
    match event {
        Event::Interrupted { .. } => true,
        Event::Synced { .. } | Event::Progressed { .. } => false,
        _ => lists,
    }
}

/// What an event means for the engine; nothing, if it only says that time passes.
fn message<K: Source>(event: Event<SomeObject>, telling: Telling) -> Option<Message> {
    Some(match event.of::<K>() {
        Event::Applied(mut object) => {
            // Who wrote what is of no use here, and the server keeps it if it is left out.
            object.metadata_mut().managed_fields = None;
            applied(Arc::new(object), telling)
        }
        Event::Deleted(object) => vanished_of(&object, telling.records),
        Event::Vanished(gone) => vanished::<K>(gone, telling.records),
        Event::Synced { .. } => Message::Synced(K::KIND),
        Event::Progressed { .. } => return None,
        Event::Unreadable { object, why } => {
            let object = format!("{} {}", K::KIND, placed(&object.namespace, &object.name));
            Message::Unreadable { object, why }
        }
        Event::Interrupted { why, retry_in } => Message::Interrupted { kind: K::KIND, why, retry_in },
    })
}

/// The fact that an object is there.
fn applied<K: Source>(object: Arc<K>, Telling { lists, records, observes }: Telling) -> Message {
    let revision = revision(&object.metadata().resource_version);
    match object.applied(revision) {
        Ok(change) => {
            let original = if observes { K::shown(&object) } else { K::original(&object) };
            let origin = records.then(|| {
                let object = RecordedObject::of(object);
                match lists {
                    true => FactOrigin::Listed { revision, object },
                    false => FactOrigin::Applied { revision, object },
                }
            });
            Message::Changed(if lists { change.listed() } else { change }, original, origin.map(Box::new))
        }
        Err(error) => {
            let metadata = object.metadata();
            let object = format!("{} {}", K::KIND, placed(&metadata.namespace, &metadata.name));
            Message::Unreadable { object, why: error.to_string() }
        }
    }
}

fn placed(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// The fact that an object is gone of which only the name is left.
fn vanished<K: Source>(gone: Gone, records: bool) -> Message {
    let mut object = K::default();
    let metadata = object.metadata_mut();
    (metadata.namespace, metadata.name, metadata.uid) = (gone.namespace, gone.name, gone.uid);
    vanished_of(&object, records)
}

/// The fact that an object is gone.
fn vanished_of<K: Source>(object: &K, records: bool) -> Message {
    let Gone { namespace, name, uid } = named(object);
    let kind = K::KIND.to_owned();
    let origin = records.then(|| Box::new(FactOrigin::Gone { kind, namespace, name, uid }));
    Message::Changed(object.gone(), None, origin)
}

/// The revision of an object's last write. Servers count their writes; one that does not gets numbers of our own, which
/// no count reaches.
fn revision(version: &str) -> u64 {
    static OURS: AtomicU64 = AtomicU64::new(1 << 63);
    version.parse().unwrap_or_else(|_| OURS.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_table_is_followed_and_no_other() {
        let fed: Vec<&str> = FEEDS.iter().map(|feed| feed.kind).collect();
        assert_eq!(fed, FOLLOWED.map(|row| row.kind));
    }
}
