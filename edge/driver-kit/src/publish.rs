//! Publishing: the driver says which pools there are, and the kit keeps the server's slices so.
//!
//! A [`Publisher`] follows the slices of its scope and corrects them with the fewest writes: [`plan`] decides what to
//! write for one pool and [`desk`] when; both are pure, and here is only what touches the network.
//!
//! Invariant: what was published last is what the server has in the end, whatever happens on the way.

mod carry;
mod desk;
mod difference;
mod dropped;
mod known;
mod layout;
mod naming;
mod plan;
mod pool;
#[cfg(test)]
mod tests;
mod trouble;
mod validate;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{Answer, Connection, Event, Gone, Resource, Selectors, WatchOptions};
use futures_util::StreamExt;
use objects::core::node::Node;
use objects::meta::OwnerReference;
use objects::resource::slice::ResourceSlice;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

pub use pool::{Pool, Reach, Scope};
pub use trouble::PublishTrouble;
pub use validate::{BadPools, Fault};

use carry::carry_out;
use desk::{Desk, Job, Outcome};
use plan::Publication;

/// How many slices may be written at the same time.
const JOBS_MAX: usize = 8;

/// How long to wait before a node that is not there is looked for again.
const NODE_PAUSE: Duration = Duration::from_secs(2);

/// Hears what goes wrong while it is tried again.
pub type Listener = Arc<dyn Fn(&PublishTrouble) + Send + Sync>;

/// Keeps the slices of a driver as the driver wants them.
///
/// Several publishers of one driver must have different scopes, because each deletes what it does not know. Slices
/// outlive the publisher; [`withdraw`](Self::withdraw) takes them away. A publisher that is dropped stops at once.
///
/// A driver on a node has one in its [`Plugin`](crate::Plugin). Devices that no node owns have one of their own:
///
/// ```no_run
/// use std::sync::Arc;
///
/// use driver_kit::api::Device;
/// use driver_kit::{Connection, Describe, Failure, Pool, Publisher, Reach, Scope};
///
/// async fn offer(connection: Connection) -> Result<(), Failure> {
///     let listener = Arc::new(|trouble: &_| eprintln!("warning: {trouble}"));
///     let scope = Scope::Network { owner: None };
///     let publisher = Publisher::start(connection, "recorder.example.com", scope, listener);
///     let devices = vec![Device::named("recorder-0")];
///     publisher.publish(vec![Pool { name: "studio".into(), reach: Reach::AllNodes, devices, ..Pool::default() }])?;
///     publisher.settled().await;
///     Ok(())
/// }
/// ```
pub struct Publisher {
    publication: Publication,
    wishes: watch::Sender<Wish>,
    progress: watch::Receiver<Progress>,
    worker: JoinHandle<()>,
}

/// What is wanted, by number; none before the first.
#[derive(Clone, Debug, Default)]
struct Wish {
    number: u64,
    pools: Option<Arc<Vec<Pool>>>,
    stop: bool,
}

/// How far the work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    number: u64,
    is_settled: bool,
}

impl Publisher {
    /// Begins to follow the slices of a scope. Nothing is written before the first [`publish`](Self::publish).
    ///
    /// Must be called within a tokio runtime.
    pub fn start(connection: Connection, driver: &str, scope: Scope, listener: Listener) -> Self {
        let (wishes, wished) = watch::channel(Wish::default());
        let (told, progress) = watch::channel(Progress::default());
        let publication = Publication { driver: driver.to_owned(), scope: scope.clone(), owner: None };
        let worker = Worker {
            desk: Desk::new(driver, scope.clone()),
            tasks: JoinSet::new(),
            began: Instant::now(),
            connection,
            listener,
            scope,
        };
        let worker = tokio::spawn(worker.run(driver.to_owned(), wished, told));
        Self { publication, wishes, progress, worker }
    }

    /// From now on these pools are offered, and no others. Returns at once; see [`settled`](Self::settled).
    ///
    /// # Errors
    /// When something is wrong with a pool. What was published before stays.
    pub fn publish(&self, pools: Vec<Pool>) -> Result<(), BadPools> {
        validate::check(&self.publication, &pools)?;
        self.wishes.send_modify(|wish| {
            wish.number += 1;
            wish.pools = Some(Arc::new(pools));
        });
        Ok(())
    }

    /// Done when the server has what was published last. Waits without end while the server refuses it.
    pub async fn settled(&self) {
        let number = self.wishes.borrow().number;
        let is_done = |progress: &Progress| progress.number >= number && progress.is_settled;
        // Without a worker nothing more will happen, and nobody should wait for it.
        let _ = self.progress.clone().wait_for(is_done).await;
    }

    /// Stops after the writes that are under way. The slices stay.
    pub async fn stop(mut self) {
        self.wishes.send_modify(|wish| wish.stop = true);
        // A worker that broke has stopped, too.
        let _ = (&mut self.worker).await;
    }

    /// Deletes every slice of the scope, and stops.
    pub async fn withdraw(self) {
        let nothing = self.publish(Vec::new());
        debug_assert!(nothing.is_ok(), "nothing is wrong with no pools");
        self.settled().await;
        self.stop().await;
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

/// What a task found out.
enum Done {
    /// What came of a job about a slice.
    Job(String, Outcome),
    /// What the server says of the node.
    Owner(Answer<OwnerReference>),
}

/// The task that owns the state.
struct Worker {
    desk: Desk,
    tasks: JoinSet<Done>,
    began: Instant,
    connection: Connection,
    listener: Listener,
    scope: Scope,
}

impl Worker {
    async fn run(mut self, driver: String, mut wishes: watch::Receiver<Wish>, told: watch::Sender<Progress>) {
        let node = self.scope.node().unwrap_or_default();
        let fields = format!("spec.driver={driver},spec.nodeName={node}");
        let selectors = Selectors { fields, ..Selectors::default() };
        let slices = Resource::<ResourceSlice>::named("resourceslices");
        let mut events = pin!(self.connection.list_and_watch(&slices, &selectors, &WatchOptions::default()));
        self.look_for_node(Duration::ZERO);
        let mut number = 0;
        loop {
            let room = JOBS_MAX.saturating_sub(self.tasks.len());
            for job in self.desk.jobs(self.began.elapsed(), room) {
                self.begin(job);
            }
            told.send_replace(Progress { number, is_settled: self.desk.is_settled() });
            let now = self.began.elapsed();
            let wake = self.desk.wake_at(now).map(|at| at - now);
            tokio::select! {
                changed = wishes.changed() => {
                    let wish = wishes.borrow_and_update().clone();
                    if changed.is_err() || wish.stop {
                        break;
                    }
                    number = wish.number;
                    self.desk.want(wish.pools.as_deref().cloned().unwrap_or_default());
                }
                Some(event) = events.next() => self.hear(event),
                Some(done) = self.tasks.join_next() => {
                    self.settle(done.expect("jobs do not panic, and nobody cancels them"));
                }
                () = sleep(wake.unwrap_or_default()), if wake.is_some() => {}
            }
        }
        // What was sent is to be answered; what was not begun is left.
        while self.tasks.join_next().await.is_some() {}
    }

    fn begin(&mut self, job: Job) {
        let connection = self.connection.clone();
        self.tasks.spawn(async move {
            let (name, outcome) = carry_out(&connection, job).await;
            Done::Job(name, outcome)
        });
    }

    fn settle(&mut self, done: Done) {
        match done {
            Done::Job(name, outcome) => {
                let (next, trouble) = self.desk.settle(&name, outcome, self.began.elapsed());
                next.into_iter().for_each(|job| self.begin(job));
                trouble.iter().for_each(|trouble| (self.listener)(trouble));
            }
            Done::Owner(Answer::Done(owner)) => self.desk.owned_by(owner),
            Done::Owner(answer) => {
                let node = self.scope.node().unwrap_or_default().to_owned();
                let trouble = match answer {
                    Answer::NotFound(_) => PublishTrouble::NoNode { node },
                    other => {
                        let why = other.trouble().unwrap_or_default();
                        PublishTrouble::Interrupted { what: "the node", why, retry_in: NODE_PAUSE }
                    }
                };
                (self.listener)(&trouble);
                self.look_for_node(NODE_PAUSE);
            }
        }
    }

    fn hear(&mut self, event: Event<ResourceSlice>) {
        match event {
            Event::Applied(slice) => self.desk.applied(slice),
            Event::Deleted(ResourceSlice { metadata: gone, .. }) => self.gone(&gone.name, &gone.uid),
            Event::Vanished(Gone { name, uid, .. }) => self.gone(&name, &uid),
            Event::Synced { .. } => self.desk.synced(),
            Event::Progressed { .. } => {}
            Event::Unreadable { object, why } => {
                (self.listener)(&PublishTrouble::Unreadable { slice: object.name, why });
            }
            Event::Interrupted { why, retry_in } => {
                self.desk.interrupted();
                (self.listener)(&PublishTrouble::Interrupted { what: "slices", why, retry_in });
            }
        }
    }

    /// A slice is gone. If its node was made anew, the garbage collector took it, and the owner has another uid.
    fn gone(&mut self, name: &str, uid: &str) {
        if self.desk.vanished(name, uid) {
            self.look_for_node(Duration::ZERO);
        }
    }

    fn look_for_node(&mut self, pause: Duration) {
        let Some(node) = self.scope.node().map(str::to_owned) else { return };
        let connection = self.connection.clone();
        self.tasks.spawn(async move {
            sleep(pause).await;
            let answer = connection.get(&Resource::named("nodes"), &node).await;
            Done::Owner(answer.map(|node| owner_reference(&node)))
        });
    }
}

fn owner_reference(node: &Node) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node.metadata.name.clone(),
        uid: node.metadata.uid.clone(),
        controller: Some(true),
        ..OwnerReference::default()
    }
}
