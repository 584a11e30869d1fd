//! One node that speaks with drivers of devices as a kubelet does, and runs pods in name only.
//!
//! There is no container runtime. A pod counts as running once its claims are prepared; which devices its containers would
//! get is written to a file of the pod and, as far as their health goes, to its status.
//!
//! Invariant: a pod runs only after every driver has prepared its claims, and is over only after every driver has taken them
//! back.

mod attend;
mod files;
mod heartbeat;
mod life;
mod next;
mod notice;
mod reports;
mod slices;
mod work;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use client::{Clock, Connection, Recorder};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use crate::claims::CheckpointError;
use crate::claims::Desk;
use crate::health::Book;
use crate::plugins::{PLUGINS_DIR, REGISTRY_DIR, Registry, Rules, Steward};
use crate::simulated::{Complaints, Times};
use attend::Attendance;
use heartbeat::Heart;
use life::Means;
pub use notice::{Listener, Notice, Operation};

/// How many pieces of news of drivers may wait; beyond that their tasks do.
const NEWS_MAX: usize = 256;

/// How long the last event may take of a node that cannot start.
const EVENT_WITHIN: Duration = Duration::from_secs(5);

/// What the node is, and how it behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its name.
    pub name: String,
    /// Where plugins register, and where it keeps what it needs after a restart.
    pub root: PathBuf,
    /// Labels of the Node, if it is to be made.
    pub labels: BTreeMap<String, String>,
    /// What the Node has, such as `cpu` and `8`, if it is to be made.
    pub capacity: BTreeMap<String, String>,
    /// How long pods take to start and to stop, and between two signs of life.
    pub times: Times,
    /// How long a driver may take for one call.
    pub call_timeout: Duration,
    /// From the loss of a driver until its slices go.
    pub wipe_after: Duration,
    /// Before something that failed is tried again; doubles each time.
    pub retry_first: Duration,
    /// Before something that failed is tried again, at most.
    pub retry_max: Duration,
    /// Between two looks at the directory in which plugins register.
    pub look_every: Duration,
    /// Before a stream of health that broke is opened again.
    pub health_again: Duration,
}

impl Options {
    /// A node with the times of a kubelet.
    pub fn new(name: &str, root: &Path) -> Self {
        let capacity = [("cpu", "8"), ("memory", "32Gi"), ("pods", "110")];
        Self {
            name: name.to_owned(),
            root: root.to_owned(),
            labels: BTreeMap::new(),
            capacity: capacity.map(|(name, amount)| (name.to_owned(), amount.to_owned())).into(),
            times: Times::default(),
            call_timeout: Duration::from_secs(45),
            wipe_after: Duration::from_secs(30),
            retry_first: Duration::from_millis(500),
            retry_max: Duration::from_secs(30),
            look_every: Duration::from_millis(250),
            health_again: Duration::from_secs(5),
        }
    }

    /// The directory in which plugins register.
    pub fn registry(&self) -> PathBuf {
        self.root.join(REGISTRY_DIR)
    }
}

/// Why the node cannot run.
#[derive(Debug, Error)]
pub enum NodeError {
    /// The directory cannot be used.
    #[error("cannot use {} for the state of the node: {source}; hint: choose another with --root-dir, or run as a \
        user with write access", root.display())]
    Root {
        /// The directory.
        root: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The claims that are prepared are not known.
    #[error(transparent)]
    Claims(#[from] CheckpointError),
}

/// Runs the node until it is told to stop. Claims stay prepared, and the next run goes on with them.
///
/// # Errors
/// Its directory cannot be used, or what it kept there is damaged. The Node gets an event that says so.
pub async fn run(
    connection: Connection,
    options: Options,
    listener: Arc<dyn Listener>,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), NodeError> {
    let hearer = listener.clone();
    let complaints: Complaints = Arc::new(move |why: &str| hearer.hear(&Notice::Trouble { why }));
    let clock = Clock::start();
    let recorder = Recorder::start(connection.clone(), clock);
    let registry = options.registry();
    fs::create_dir_all(&registry)
        .and_then(|()| fs::create_dir_all(options.root.join(PLUGINS_DIR)))
        .map_err(|source| NodeError::Root { root: options.root.clone(), source })?;
    let heart = Heart {
        connection: connection.clone(),
        clock,
        options: options.clone(),
        complaints: complaints.clone(),
    };
    let desk = match Desk::open(&options.root) {
        Ok(desk) => desk,
        Err(error) => {
            if let Some(node) = heart.node().await {
                recorder.record(reports::damaged(&node, &error.to_string()));
                recorder.finish(EVENT_WITHIN).await;
            }
            return Err(error.into());
        }
    };
    let work = async {
        let node = heart.appear().await;
        // Until a driver registers, nobody answers for the devices that were offered before.
        slices::wipe(&connection, &options.name, None, &complaints).await;
        let (news, heard) = mpsc::channel(NEWS_MAX);
        let rules = Rules {
            look_every: options.look_every,
            introduction: Duration::from_secs(1),
            ask_again: options.retry_first,
            health_again: options.health_again,
        };
        let drivers = Arc::new(Mutex::new(Registry::new(options.wipe_after)));
        let steward = Steward { directory: registry, rules, registry: drivers.clone(), news };
        let mut aside = JoinSet::new();
        aside.spawn(steward.run());
        aside.spawn(heart.beat());
        let book = Arc::new(Mutex::new(Book::default()));
        let means = Means { connection, clock, options: options.into(), desk, drivers, book, listener };
        Attendance::new(means, node, recorder, complaints).run(heard).await;
    };
    tokio::select! {
        () = work => {}
        () = stop => {}
    }
    Ok(())
}
