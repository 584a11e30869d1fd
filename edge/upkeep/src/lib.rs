//! Controllers at work: what `controllers` decides, carried out on an API server.
//!
//! Pods, claims, templates and nodes are followed ([`world`]). Whatever changes is looked at again, one object at a time,
//! and what is to be done about it is done ([`work`]).
//!
//! Invariant: an object has at most one piece of work under way. Nothing is kept that the API does not have, so that it
//! can be stopped at any time and started again.

mod work;
mod world;

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use client::{Connection, Event, Resource, Selectors};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use tokio::sync::mpsc::channel;
use tokio::task::JoinSet;

use work::{Done, Task};
use world::{Key, World};

/// How many pieces of work may be under way.
const WORK_MAX: usize = 32;

/// How many facts may wait; beyond that their streams do.
const INBOX_MAX: usize = 1024;

/// How long an object is left alone after something went wrong with it.
const REST: Duration = Duration::from_millis(500);

/// Hears what went wrong. Whatever it is, it is tried again.
pub type Complaints = Arc<dyn Fn(&str) + Send + Sync>;

/// Something that happened to an object that is followed.
pub(crate) enum Fact {
    Pod(Box<Event<Pod>>),
    Claim(Event<ResourceClaim>),
    Template(Event<ResourceClaimTemplate>),
    Node(Event<Node>),
}

/// Keeps objects in order until it is told to stop.
pub async fn run(connection: Connection, complaints: Complaints, stop: impl Future<Output = ()> + Send) {
    tokio::select! {
        () = work(&connection, &complaints) => {}
        () = stop => {}
    }
}

async fn work(connection: &Connection, complaints: &Complaints) {
    let (sender, mut inbox) = channel(INBOX_MAX);
    let mut streams = JoinSet::new();
    let (from, all) = (|| connection.clone(), Selectors::default);
    let pod = |event| Fact::Pod(Box::new(event));
    streams.spawn(from().follow(Resource::named("pods"), all(), pod, sender.clone()));
    streams.spawn(from().follow(Resource::named("resourceclaims"), all(), Fact::Claim, sender.clone()));
    let templates = Resource::named("resourceclaimtemplates");
    streams.spawn(from().follow(templates, all(), Fact::Template, sender.clone()));
    streams.spawn(from().follow(Resource::named("nodes"), all(), Fact::Node, sender));
    let mut world = World::default();
    let mut waiting: BTreeSet<Key> = BTreeSet::new();
    let mut busy: BTreeSet<Key> = BTreeSet::new();
    let mut tasks: JoinSet<Done> = JoinSet::new();
    loop {
        // Before everything was said, an object that is missing may just not have been named yet.
        while world.is_complete() && busy.len() < WORK_MAX {
            let Some(key) = waiting.iter().find(|key| !busy.contains(key)).cloned() else { break };
            waiting.remove(&key);
            if let Some(task) = Task::about(&key, &world) {
                busy.insert(key.clone());
                let connection = connection.clone();
                tasks.spawn(async move { task.carry_out(key, &connection).await });
            }
        }
        tokio::select! {
            Some(fact) = inbox.recv() => waiting.extend(world.take(fact)),
            Some(done) = tasks.join_next() => {
                let done = done.expect("work does not panic, and nobody cancels it");
                busy.remove(&done.key);
                waiting.extend(done.made.into_iter().flat_map(|claim| world.made(claim)));
                if let Some(trouble) = &done.trouble {
                    complaints(trouble);
                }
                if done.again {
                    waiting.insert(done.key);
                }
            }
        }
    }
}
