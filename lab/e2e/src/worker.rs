//! A scheduler in this process, and what it told.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use client::{Candidacy, Connection};
use config::SchedulerSettings;
use gates::{Gate, Gates};
use parking_lot::Mutex;
use runtime::{Comparison, Ended, Listener, Notice, Options, State};
use scheduler::news::Await;
use scheduler::write::Write;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::account::ELECTION;
use crate::cluster::until;

/// How a scheduler is to work.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The name that pods ask for it by.
    pub name: String,
    /// If it stands for election, as whom.
    pub candidate: Option<String>,
    /// It writes nothing.
    pub shadow: bool,
    /// Which features it has.
    pub gates: Gates,
    /// It lets gangs go of which one cannot be bound.
    pub releases: bool,
    /// How long it waits for volumes, in whole seconds; as long as by default if nothing is said.
    pub volumes_within: Option<Duration>,
}

impl Default for Terms {
    fn default() -> Self {
        let (name, gates) = ("default-scheduler".to_owned(), Gates::default());
        Self { name, candidate: None, shadow: false, gates, releases: false, volumes_within: None }
    }
}

impl Terms {
    /// Pods ask for it by this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// It asks drivers' controllers.
    #[must_use]
    pub fn negotiating() -> Self {
        Self { gates: Gates::default().with(Gate::DRAControlPlaneController, true), ..Self::default() }
    }

    /// It stands for election as this candidate.
    #[must_use]
    pub fn candidate(identity: &str) -> Self {
        Self { candidate: Some(identity.to_owned()), ..Self::default() }
    }

    /// What the election is about.
    pub(crate) fn candidacy(&self) -> Option<Candidacy> {
        // Leases count whole seconds.
        let terms = client::Terms {
            lease_duration: Duration::from_secs(3),
            renew_deadline: Duration::from_secs(2),
            retry_period: Duration::from_millis(250),
        };
        self.candidate.clone().map(|identity| Candidacy {
            namespace: "kube-system".to_owned(),
            name: ELECTION.to_owned(),
            identity,
            terms,
        })
    }

    /// What `runtime` needs to know.
    pub(crate) fn options(&self, election: Connection, listener: Arc<dyn Listener>) -> Result<Options> {
        let gates = self.gates;
        let policy = if self.releases { "Release" } else { "Replace" };
        let volumes = self.volumes_within.map(|time| {
            format!(", {{name: VolumeBinding, args: {{bindTimeoutSeconds: {}}}}}", time.as_secs())
        });
        let volumes = volumes.unwrap_or_default();
        let file = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
             profiles: [{{schedulerName: {}, pluginConfig: [{{name: GangScheduling, args: {{bindingFailurePolicy: {policy}}}}}{volumes}]}}]\n",
            self.name
        );
        let settings = SchedulerSettings::read(&file, gates)?;
        Ok(Options {
            settings: scheduling::settings(&settings, gates),
            parallelism: settings.parallelism,
            candidacy: self.candidacy().map(|candidacy| (election, candidacy)),
            aside: None,
            shadow: self.shadow,
            writes_max: 256,
            stop_within: Duration::from_secs(20),
            listener,
            recording: None,
        })
    }
}

/// What a scheduler told.
#[derive(Debug, Default)]
struct Heard {
    states: Mutex<Vec<State>>,
    attempts: Mutex<u64>,
    interruptions: Mutex<u64>,
    compared: Mutex<Vec<(String, String, Comparison)>>,
    negotiating: Mutex<BTreeMap<(Await, Arc<str>), usize>>,
    troubles: Mutex<Vec<String>>,
    /// How long the request took that bound a pod, and how long the rest of what was done for it, by its name.
    bindings: Mutex<BTreeMap<String, Duration>>,
    decisions: Mutex<BTreeMap<String, Duration>>,
}

impl Listener for Heard {
    fn hear(&self, notice: &Notice<'_>) {
        match notice {
            Notice::State(state) => self.states.lock().push((*state).clone()),
            Notice::Attempt { .. } => *self.attempts.lock() += 1,
            Notice::Interrupted { .. } => *self.interruptions.lock() += 1,
            Notice::Settled { write: Write::Bind { pod, .. }, took, .. } => {
                self.bindings.lock().insert(pod.name.to_string(), *took);
            }
            Notice::Bound { pod, waited, .. } => {
                let binding = self.bindings.lock().remove(&*pod.id.name).unwrap_or_default();
                self.decisions.lock().insert(pod.id.name.to_string(), waited.saturating_sub(binding));
            }
            Notice::Drivers { counts } => self.negotiating.lock().clone_from(counts),
            Notice::Compared { pod, node, comparison } => {
                let compared = (pod.name.to_string(), (*node).to_owned(), (*comparison).clone());
                self.compared.lock().push(compared);
            }
            Notice::WriteFailed { .. } | Notice::Unreadable { .. } | Notice::EventsDropped { .. } => {
                self.troubles.lock().push(format!("{notice:?}"));
            }
            _ => {}
        }
    }
}

/// A scheduler in this process. Dropped, it ends in the middle of what it does.
pub struct Worker {
    heard: Arc<Heard>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<Ended>>,
}

impl Worker {
    /// Starts a scheduler.
    ///
    /// # Errors
    /// When its terms make no sense.
    pub fn start(connection: &Connection, terms: &Terms) -> Result<Self> {
        let heard = Arc::new(Heard::default());
        let options = terms.options(connection.clone(), heard.clone())?;
        let (stop, stopped) = oneshot::channel::<()>();
        let connection = connection.clone();
        let task = tokio::spawn(async move {
            let stopped = async {
                // Nothing is ever sent: it is to stop when nobody is left who could.
                let _ = stopped.await;
            };
            Ok(runtime::run(connection, options, stopped).await?)
        });
        Ok(Self { heard, stop: Some(stop), task })
    }

    /// Waits until it schedules pods.
    ///
    /// # Errors
    /// When it does not in time.
    pub async fn working(&self) -> Result<()> {
        self.stands("it works", |state| *state == State::Working).await
    }

    /// Waits until it follows another.
    ///
    /// # Errors
    /// When it does not in time.
    pub async fn following(&self, who: &str) -> Result<()> {
        let follows =
            |state: &State| matches!(state, State::Standby { leader: Some(leader) } if leader == who);
        self.stands(&format!("it follows {who}"), follows).await
    }

    async fn stands(&self, what: &str, so: impl Fn(&State) -> bool) -> Result<()> {
        until(what, async || Ok(self.heard.states.lock().last().is_some_and(&so).then_some(()))).await
    }

    /// How often it looked at a pod.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        *self.heard.attempts.lock()
    }

    /// How long it took for pods whose names begin so, from when it heard of each until it knew it bound, but for the request
    /// that did so; sorted.
    #[must_use]
    pub fn decisions(&self, name: &str) -> Vec<Duration> {
        let all = self.heard.decisions.lock();
        let mut found: Vec<Duration> =
            all.iter().filter(|(pod, _)| pod.starts_with(name)).map(|(_, took)| *took).collect();
        found.sort_unstable();
        found
    }

    /// How often a stream of facts was interrupted.
    #[must_use]
    pub fn interruptions(&self) -> u64 {
        *self.heard.interruptions.lock()
    }

    /// Pods that somebody else bound, where, and how that compares.
    #[must_use]
    pub fn compared(&self) -> Vec<(String, String, Comparison)> {
        self.heard.compared.lock().clone()
    }

    /// How many pods it says that wait for which driver, and for what of it.
    #[must_use]
    pub fn negotiating(&self) -> BTreeMap<(Await, Arc<str>), usize> {
        self.heard.negotiating.lock().clone()
    }

    /// What went wrong.
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        self.heard.troubles.lock().clone()
    }

    /// Lets it end what is under way, and says how it ended.
    ///
    /// # Errors
    /// When it could not start.
    pub async fn stop(mut self) -> Result<Ended> {
        drop(self.stop.take());
        (&mut self.task).await.context("the scheduler fell over")?
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Is a scheduler, as a program, until it is killed.
///
/// # Errors
/// When it cannot start, or leads no longer.
pub async fn serve(kubeconfig: &Path, terms: &Terms) -> Result<()> {
    let options = client::Options::default();
    let connection = Connection::from_kubeconfig(kubeconfig, None, &options).await?;
    let election = Connection::from_kubeconfig(kubeconfig, None, &options).await?;
    let ended =
        runtime::run(connection, terms.options(election, Arc::new(()))?, std::future::pending()).await?;
    bail!("it ended by itself: {ended:?}")
}
