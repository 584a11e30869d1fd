//! Looks after the registration directory: every socket there has a task that registers the plugin and keeps in touch.
//!
//! Invariant: when a socket is gone, nothing that its task still does can bring its plugin back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use plugin::HealthVersion;
use plugin::health::v1::DeviceHealth;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep};
use tonic::Code;

use super::endpoint::{CallError, Endpoint, Registrar};
use super::link::keep;
use super::registration::{Rejection, judge};
use super::registry::Registry;
use super::sockets::{self, SocketChange, SocketId, Sockets};

/// How plugins are treated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Between two looks at the directory.
    pub(crate) look_every: Duration,
    /// For saying who it is.
    pub(crate) introduction: Duration,
    /// Before a plugin that was not registered is asked again; doubles each time.
    pub(crate) ask_again: Duration,
    /// Before a stream of health that broke is opened again.
    pub(crate) health_again: Duration,
}

/// A plugin that is not registered is asked again after this at the latest.
const ASK_AGAIN_MAX: Duration = Duration::from_secs(120);

/// What happened to drivers.
#[derive(Debug)]
pub(crate) enum News {
    /// A driver can be called, or cannot any more.
    Changed,
    /// A plugin was not registered.
    Rejected(Rejection),
    /// Nobody answers for the slices of a driver any more.
    Abandoned(String),
    /// How the devices of a driver are.
    Health(String, Vec<DeviceHealth>),
    /// Nobody says how the devices of a driver are any more.
    Unwatched(String),
    /// The directory cannot be looked at.
    Blind(String),
}

/// Looks after the plugins of a directory. Clones share the registry.
#[derive(Clone)]
pub(crate) struct Steward {
    pub(crate) directory: PathBuf,
    pub(crate) rules: Rules,
    pub(crate) registry: Arc<Mutex<Registry<Arc<Endpoint>>>>,
    pub(crate) news: mpsc::Sender<News>,
}

impl Steward {
    /// Looks after the directory without end.
    pub(crate) async fn run(self) {
        let mut known = Sockets::new();
        let mut tasks = JoinSet::new();
        let mut by_socket: BTreeMap<PathBuf, AbortHandle> = BTreeMap::new();
        let mut blind = false;
        loop {
            let seen = fs::create_dir_all(&self.directory).and_then(|()| sockets::look(&self.directory));
            match seen {
                Ok(seen) => {
                    blind = false;
                    for change in sockets::changes(&known, &seen) {
                        self.take(change, &mut tasks, &mut by_socket).await;
                    }
                    known = seen;
                }
                Err(error) if !blind => {
                    blind = true;
                    let why = format!("cannot look for plugins in {}: {error}", self.directory.display());
                    self.tell(News::Blind(why)).await;
                }
                Err(_) => {}
            }
            let abandoned = self.registry.lock().take_wipes(Instant::now());
            for driver in abandoned {
                self.tell(News::Abandoned(driver)).await;
            }
            while tasks.try_join_next().is_some() {}
            sleep(self.rules.look_every).await;
        }
    }

    async fn take(
        &self,
        change: SocketChange,
        tasks: &mut JoinSet<()>,
        by_socket: &mut BTreeMap<PathBuf, AbortHandle>,
    ) {
        match change {
            SocketChange::Went(socket) => {
                self.registry.lock().went(&socket, Instant::now());
                if let Some(task) = by_socket.remove(&socket) {
                    task.abort();
                }
                self.tell(News::Changed).await;
            }
            SocketChange::Came(socket, id) => {
                self.registry.lock().came(&socket, id);
                let (steward, path) = (self.clone(), socket.clone());
                by_socket.insert(socket, tasks.spawn(async move { steward.attend(&path, id).await }));
            }
        }
    }

    /// Registers the plugin at a socket, and keeps in touch with it for as long as the socket is there.
    async fn attend(&self, socket: &Path, id: SocketId) {
        let mut pause = self.rules.ask_again;
        let endpoint = loop {
            match self.register(socket, id).await {
                Ok(Some(endpoint)) => break endpoint,
                // The socket went in between, and so will this task.
                Ok(None) => return,
                Err(rejection) => self.tell(News::Rejected(rejection)).await,
            }
            sleep(pause).await;
            pause = (pause * 2).min(ASK_AGAIN_MAX);
        };
        let driver = &endpoint.offer.driver;
        let changed = |connected| {
            self.registry.lock().connection(socket, id, connected, Instant::now());
            // A channel that is full holds news that have the same effect.
            let _ = self.news.try_send(News::Changed);
        };
        let watching = async {
            if let Some(version) = endpoint.offer.health {
                self.watch_health(&endpoint, version).await;
            }
        };
        tracing::info!(driver, socket = %socket.display(), "registered");
        tokio::join!(keep(&endpoint.offer.endpoint, &endpoint.link, changed), watching);
    }

    async fn register(&self, socket: &Path, id: SocketId) -> Result<Option<Arc<Endpoint>>, Rejection> {
        let silent = |why: String| Rejection::Silent { socket: socket.to_owned(), why };
        let registrar = Registrar::at(socket, self.rules.introduction).await.map_err(silent)?;
        let said = registrar.ask().await.map_err(|error| silent(reason(&error)))?;
        let registered = judge(said, socket).and_then(|offer| {
            let endpoint = Arc::new(Endpoint::new(offer));
            let is_there = self.registry.lock().register(socket, id, endpoint.clone(), Instant::now())?;
            Ok(is_there.then_some(endpoint))
        });
        let outcome = registered.as_ref().map(drop).map_err(ToString::to_string);
        let told = registrar.tell(&outcome).await;
        match (registered, told) {
            (Ok(Some(endpoint)), Ok(())) => Ok(Some(endpoint)),
            (Ok(Some(_)), Err(error)) => {
                // One that does not know that it is registered would be called to its surprise.
                let mut registry = self.registry.lock();
                registry.went(socket, Instant::now());
                registry.came(socket, id);
                Err(silent(reason(&error)))
            }
            (Ok(None), _) => Ok(None),
            (Err(rejection), _) => Err(rejection),
        }
    }

    /// Hears how the devices of an endpoint are, without end, unless its driver cannot say it.
    async fn watch_health(&self, endpoint: &Endpoint, version: HealthVersion) {
        let driver = &endpoint.offer.driver;
        loop {
            let ended = match endpoint.watch_health(version).await {
                Ok(mut stream) => loop {
                    match stream.message().await {
                        Ok(Some(said)) => self.tell(News::Health(driver.clone(), said.devices)).await,
                        Ok(None) => break None,
                        Err(status) => break Some(status.code()),
                    }
                },
                Err(CallError::Failed { code, .. }) => Some(code),
                Err(CallError::NotConnected { .. } | CallError::TimedOut { .. }) => None,
            };
            self.tell(News::Unwatched(driver.clone())).await;
            if ended == Some(Code::Unimplemented) {
                return;
            }
            sleep(self.rules.health_again).await;
        }
    }

    async fn tell(&self, news: News) {
        // Nobody listens when the node stops.
        let _ = self.news.send(news).await;
    }
}

/// What went wrong, without the hint that is for calls.
fn reason(error: &CallError) -> String {
    let text = error.to_string();
    text.split_once("; hint: ").map_or(text.clone(), |(why, _)| why.to_owned())
}
