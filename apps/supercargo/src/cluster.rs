//! A whole cluster in this process: the API server, the scheduler, controllers, and simulated nodes.
//!
//! Invariant: parts stop in the order in which they need each other. Pods that the scheduler sent on their way are bound,
//! and the server is the last to go.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use client::Connection;
use config::SchedulerSettings;
use gates::Gates;
use kubelet::simulated::Times;
use runtime::{Ended, Listener, Notice, StartError, State};
use server::{Credentials, Server, Users};
use tokio::sync::mpsc::{Sender, error::TrySendError};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::embedded::{self, Opened};
use crate::failure::Failure;
use crate::page::Connector;

/// Maximum number of unanswered writes before no further pods are scheduled.
const WRITES_MAX: usize = 256;

/// Grace period for unanswered writes at shutdown.
const STOP_WITHIN: Duration = Duration::from_secs(20);

/// What the parts tell while they run.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Whether the scheduler has something to do.
    Busy(bool),
    /// Something failed, and is retried.
    Trouble(String),
}

/// A server that listens, with nothing around it yet.
pub(crate) struct Base {
    pub(crate) address: SocketAddr,
    pub(crate) credentials: Credentials,
    /// Where everything is kept, for people.
    pub(crate) storage: String,
    server: Server,
    token: String,
    gates: Gates,
}

/// A cluster that runs.
pub(crate) struct Cluster {
    pub(crate) connection: Connection,
    /// The names that pods ask for to be placed by the scheduler.
    pub(crate) schedulers: Vec<String>,
    stop: watch::Sender<bool>,
    scheduler: JoinHandle<Result<Ended, StartError>>,
    others: JoinSet<()>,
    stop_server: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Base {
    /// Opens the storage and listens.
    pub(crate) async fn listen(
        listen: SocketAddr,
        data_dir: Option<&Path>,
        gates: Gates,
    ) -> Result<Self, Failure> {
        let Opened { credentials, store, log, storage } = embedded::open(listen.ip(), data_dir)?;
        let token = uuid::Uuid::new_v4().simple().to_string();
        let users = Users::default().with_admin_token(&token);
        let options =
            server::Options { listen, credentials: Some(credentials.clone()), users, gates, store, log };
        let server = Server::bind(options).await.map_err(|error| Failure::hinted(&error.to_string()))?;
        Ok(Self { address: server.address()?, credentials, storage, server, token, gates })
    }

    /// The way to the server for the web page, which has connections of its own.
    pub(crate) fn connector(&self) -> Connector {
        let url = format!("https://{}", self.address);
        let authority = self.credentials.authority.certificate.as_bytes().to_vec();
        let token = self.token.clone();
        Arc::new(move |reach| {
            let options = client::Options { reach, ..client::Options::default() };
            let made = Connection::from_parts(&url, Some(&token), Some(&authority), &options);
            let made = made.map_err(|error| error.to_string());
            Box::pin(async { made })
        })
    }

    /// The features of the cluster.
    pub(crate) fn gates(&self) -> Gates {
        self.gates
    }

    /// Starts everything; on simulated nodes things take these times.
    pub(crate) fn start(self, times: Times, ears: &Sender<Heard>) -> Result<Cluster, Failure> {
        let url = format!("https://{}", self.address);
        let authority = self.credentials.authority.certificate.as_bytes();
        let connect = || {
            let options = client::Options { in_flight_max: WRITES_MAX, ..client::Options::default() };
            Connection::from_parts(&url, Some(&self.token), Some(authority), &options)
                .map_err(|error| Failure::hinted(&error.to_string()))
        };
        let (connection, ours) = (connect()?, connect()?);
        let (stop_server, server_stopped) = oneshot::channel();
        let serving = tokio::spawn(self.server.serve(async {
            // Whoever forgets the cluster wants it to stop, too.
            let _ = server_stopped.await;
        }));
        let (stop, stopped) = watch::channel(false);
        let until = |mut stopped: watch::Receiver<bool>| async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        };
        let settings = SchedulerSettings::defaults(self.gates);
        let schedulers = settings.profiles.iter().map(|profile| profile.scheduler_name.clone()).collect();
        let options = runtime::Options {
            settings: scheduling::settings(&settings, self.gates),
            parallelism: settings.parallelism,
            candidacy: None,
            aside: None,
            shadow: false,
            writes_max: WRITES_MAX,
            stop_within: STOP_WITHIN,
            listener: Arc::new(Ears(ears.clone())),
            recording: None,
        };
        let scheduler = tokio::spawn(runtime::run(connect()?, options, until(stopped.clone())));
        let controllers = upkeep::Options {
            gates: self.gates,
            listener: Arc::new(Ears(ears.clone())),
            ..upkeep::Options::default()
        };
        let mut others = JoinSet::new();
        others.spawn(upkeep::run(connection.clone(), controllers, until(stopped.clone())));
        let nodes_ears = ears.clone();
        let complain = move |why: &str| tell(&nodes_ears, Heard::Trouble(format!("simulated nodes: {why}")));
        others.spawn(kubelet::simulated::run(connection, times, Arc::new(complain), until(stopped)));
        Ok(Cluster { connection: ours, schedulers, stop, scheduler, others, stop_server, serving })
    }
}

impl Cluster {
    /// Done when the scheduler ended by itself, which it should not; says why.
    pub(crate) async fn broken(&mut self) -> Failure {
        match (&mut self.scheduler).await {
            Ok(Err(error)) => Failure::hinted(&error.to_string()),
            Ok(Ok(_)) => Failure::hinted("the scheduler exited unexpectedly"),
            Err(error) => Failure::hinted(&format!("the scheduler panicked: {error}")),
        }
    }

    /// Stops everything.
    pub(crate) async fn stop(mut self) {
        // One that ended before has nothing left to stop.
        let _ = self.stop.send(true);
        if !self.scheduler.is_finished() {
            let _ = self.scheduler.await;
        }
        while self.others.join_next().await.is_some() {}
        let _ = self.stop_server.send(());
        let _ = self.serving.await;
    }
}

/// Hears the scheduler and the controllers.
struct Ears(Sender<Heard>);

impl Listener for Ears {
    fn hear(&self, notice: &Notice<'_>) {
        let heard = match notice {
            Notice::Waiting { counts, placing } => {
                Heard::Busy(counts.ready + counts.undecided + counts.backing_off + placing > 0)
            }
            Notice::State(State::Working | State::Reading(_) | State::Standby { .. })
            | Notice::Attempt { .. }
            | Notice::Gang { .. }
            | Notice::Bound { .. }
            | Notice::Queued { .. }
            | Notice::TakenIn { .. }
            | Notice::Entities { .. }
            | Notice::Preemptions { .. }
            | Notice::WaitsNoMore { .. }
            | Notice::Refused { .. }
            | Notice::DevicesPending { .. }
            | Notice::DevicesDone { .. }
            | Notice::Negotiating { .. }
            | Notice::Drivers { .. }
            | Notice::Held { .. }
            | Notice::Considering { .. }
            | Notice::Considered { .. }
            | Notice::ConsiderationFailed { .. }
            | Notice::Preempted { .. }
            | Notice::Released { .. }
            | Notice::GroupIgnored { .. }
            | Notice::Submitted { .. }
            | Notice::Settled { .. }
            | Notice::Compared { .. }
            // Not every kind is served with every set of features.
            | Notice::NotServed { .. }
            | Notice::Served { .. } => return,
            Notice::Interrupted { kind, why, .. } => Heard::Trouble(format!("watch of {kind} failed; retrying: {why}")),
            Notice::Unreadable { object, why } => Heard::Trouble(format!("cannot read {object}: {why}")),
            Notice::ElectionTrouble { why } | Notice::LostLeadership { why } => {
                Heard::Trouble((*why).to_owned())
            }
            Notice::WriteFailed { why, .. } => Heard::Trouble(format!("scheduler: {why}")),
            Notice::EventsDropped { count } => Heard::Trouble(format!("{count} events were dropped")),
            Notice::RecordingEnded { why } => Heard::Trouble(format!("the recording has ended: {why}")),
        };
        tell(&self.0, heard);
    }
}

impl upkeep::Listener for Ears {
    fn hear(&self, notice: &upkeep::Notice<'_>) {
        let trouble = match notice {
            upkeep::Notice::Trouble { is_brief: true, .. } => return,
            upkeep::Notice::Trouble { why, .. } => format!("controllers: {why}"),
            upkeep::Notice::Failed { controller, subject, why, .. } => {
                format!("{controller}: {subject}: {why}")
            }
            upkeep::Notice::ElectionTrouble { why } => (*why).to_owned(),
            upkeep::Notice::Standby { .. }
            | upkeep::Notice::Leading
            | upkeep::Notice::Beat
            | upkeep::Notice::Ready { .. }
            // Not every kind is served with every set of features.
            | upkeep::Notice::NotServed { .. }
            | upkeep::Notice::Added { .. }
            | upkeep::Notice::Retried { .. }
            | upkeep::Notice::Worked { .. }
            | upkeep::Notice::ClaimMade { .. }
            | upkeep::Notice::ClaimCounted { .. }
            | upkeep::Notice::Waiting { .. }
            | upkeep::Notice::Evicted { .. }
            | upkeep::Notice::Removed { .. } => return,
        };
        tell(&self.0, Heard::Trouble(trouble));
    }
}

/// Tells without waiting: who does not listen fast enough misses something that comes again.
fn tell(ears: &Sender<Heard>, heard: Heard) {
    match ears.try_send(heard) {
        Ok(()) | Err(TrySendError::Full(_) | TrySendError::Closed(_)) => {}
    }
}
