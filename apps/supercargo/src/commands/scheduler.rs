//! `supercargo scheduler`: places the pods of a cluster.

mod watcher;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use client::{Candidacy, Connection, Terms, identity};
use config::{LeaderElection, SchedulerSettings};
use gates::{FeatureStage, Gate, Gates};
use inventory::observed::Namespaces;
use runtime::{Ended, Recording, Target};
use telemetry::metrics::Metrics;
use telemetry::surface::PORT;
use tokio::runtime::{Builder, Handle};
use tracing::info;
use watcher::Watcher;

use crate::cli::{address, bytes};
use crate::commands::apiserver::stopped;
use crate::commands::features::refusal;
use crate::configuration;
use crate::daemon::{Daemon, Shown};
use crate::failure::Failure;
use crate::page::{Serving, ShownCluster};
use crate::troubles::Troubles;

const EXAMPLES: &str = "\
Examples:
  supercargo scheduler --kubeconfig ~/.kube/config
  supercargo scheduler --config scheduler.yaml        a KubeSchedulerConfiguration
  supercargo scheduler --shadow                       write nothing; log where decisions differ
  supercargo scheduler --record recordings            record inputs and decisions, for `supercargo replay`
  supercargo scheduler                                in a pod, with its service account";

/// How many requests are sent at once: the API server and etcd take more of them together for less than one after the other.
const REQUESTS_MAX: usize = 96;

/// Maximum number of unanswered writes before no further pods are scheduled.
const WRITES_MAX: usize = 256;

/// Grace period for unanswered writes at shutdown.
const STOP_WITHIN: Duration = Duration::from_secs(20);

/// Schedule the pods of a cluster, and allocate the devices that they claim
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Scheduler {
    /// KubeSchedulerConfiguration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Feature gates to set, such as AllAlpha=true,DRADeviceTaints=false
    #[arg(long, value_name = "GATES", default_value = "")]
    feature_gates: String,
    /// Elect a leader among replicas; overrides the configuration
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    leader_elect: Option<bool>,
    /// Port for metrics and health checks; 0 disables it
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    secure_port: u16,
    /// Write nothing; log where the decisions of another scheduler differ from ours
    #[arg(long)]
    shadow: bool,
    /// Record the inputs and decisions of the scheduler in files of this folder, for `supercargo replay` and `supercargo explain --state`
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// How much the recording may take of the disk; the oldest files go when there is more
    #[arg(long, value_name = "SIZE", default_value = "256Mi", value_parser = record_size)]
    record_max_size: u64,
    /// Serve a web page of the cluster on this address of this machine, such as 127.0.0.1:6480; the log has its link. The page shows what
    /// the scheduler may read [default: no page]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    page: Option<SocketAddr>,
    #[command(flatten)]
    daemon: Daemon,
}

/// The size of a ring. A smaller one cannot hold its parts.
fn record_size(text: &str) -> Result<u64, String> {
    let size = bytes(text)?;
    if size < RECORD_SIZE_MIN { Err("must be 4Mi or more".to_owned()) } else { Ok(size) }
}

/// The least that a recording may take of the disk.
const RECORD_SIZE_MIN: u64 = 4 << 20;

impl Scheduler {
    pub(crate) fn run(&self, _: &mut dyn Write) -> Result<(), Failure> {
        let gates: Gates = self.feature_gates.parse().map_err(|error| refusal(&error))?;
        let mut settings = self.settings(gates)?;
        if let Some(elect) = self.leader_elect {
            settings.leader_election.elect = elect;
        }
        // One thread decides and talks to the API server: handing things from thread to thread costs more than it gains. What
        // must not wait for a long search, the election and the answers about health, has a thread of its own.
        let aside = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.schedule(&settings, gates, aside.handle()))
    }

    fn settings(&self, gates: Gates) -> Result<SchedulerSettings, Failure> {
        let Some(path) = &self.config else { return Ok(SchedulerSettings::defaults(gates)) };
        configuration::read(path, gates)
    }

    async fn schedule(
        &self,
        settings: &SchedulerSettings,
        gates: Gates,
        aside: &Handle,
    ) -> Result<(), Failure> {
        let troubles = Troubles::default();
        let metrics = Arc::new(Metrics::default());
        for gate in Gate::ALL {
            let stage = match gate.spec().stage {
                FeatureStage::Alpha => "ALPHA",
                FeatureStage::Beta => "BETA",
                FeatureStage::Ga => "",
            };
            metrics.state.feature(gate.name(), stage, gates.enabled(*gate));
        }
        let connection = self.connect(settings, &troubles, &metrics).await?;
        self.daemon.introduce(&connection);
        aside.spawn(troubles.clone().log_outages());
        let candidacy = match candidacy(&settings.leader_election).filter(|_| !self.shadow) {
            Some(candidacy) => Some((self.connect(settings, &troubles, &metrics).await?, candidacy)),
            None => None,
        };
        let server = connection.server().to_owned();
        let lease = candidacy.as_ref().map(|(_, candidacy)| candidacy.name.clone());
        let (watcher, checks) = Watcher::new(metrics.clone(), lease, troubles);
        let options = runtime::Options {
            settings: scheduling::settings(settings, gates),
            parallelism: settings.parallelism,
            candidacy,
            aside: Some(aside.clone()),
            shadow: self.shadow,
            writes_max: WRITES_MAX,
            stop_within: STOP_WITHIN,
            listener: Arc::new(watcher),
            recording: self.record.as_ref().map(|folder| Recording {
                target: Target::Ring { folder: folder.clone(), max: self.record_max_size },
                configuration: settings.document(),
            }),
        };
        metrics.state.records(self.record.is_some());
        info!(server = connection.server(), shadow = self.shadow, "starting");
        let shown = Shown {
            part: "scheduler",
            port: self.secure_port,
            checks,
            configuration: settings.document(),
            metrics,
        };
        let serving = self.daemon.show(shown, aside).await?;
        let page = self.page(settings, gates, aside, &server).await?;
        let ended = runtime::run(connection, options, stopped()).await;
        if let Some(page) = page {
            page.end().await;
        }
        if let Some(serving) = serving {
            serving.end().await;
        }
        let ended = ended.map_err(|error| Failure::hinted(&error.to_string()))?;
        info!("stopped");
        match ended {
            Ended::Stopped => Ok(()),
            Ended::LostLeadership { why } => Err(Failure::Failed {
                wrong: format!("lost leadership: {why}"),
                hint: "restart it; the new leader continues the work".to_owned(),
            }),
        }
    }

    /// Serves the web page on another thread's runtime, if there is to be one.
    async fn page(
        &self,
        settings: &SchedulerSettings,
        gates: Gates,
        on: &Handle,
        server: &str,
    ) -> Result<Option<Serving>, Failure> {
        let Some(listen) = self.page else { return Ok(None) };
        let kubeconfig = &settings.client.kubeconfig;
        let configured = (!kubeconfig.is_empty()).then(|| PathBuf::from(kubeconfig));
        let shown = ShownCluster {
            connector: self.daemon.connector(configured),
            settings: scheduling::settings(settings, gates),
            config: self.config.clone(),
            features: self.feature_gates.clone(),
            title: server.to_owned(),
            named: Namespaces::All,
            namespaces: Vec::new(),
            sessions: None,
        };
        let bound = on.spawn(async move { shown.bind(listen).await }).await;
        let page = bound.map_err(|error| Failure::hinted(&error.to_string()))??;
        info!(link = page.link(), "serving the web page");
        Ok(Some(Serving::start(page, on)))
    }

    async fn connect(
        &self,
        settings: &SchedulerSettings,
        troubles: &Troubles,
        metrics: &Arc<Metrics>,
    ) -> Result<Connection, Failure> {
        let options = client::Options {
            in_flight_max: REQUESTS_MAX,
            qps: settings.client.queries_per_second.unwrap_or(0.0),
            burst: settings.client.burst,
            reach: troubles.reach(),
            ..client::Options::default()
        };
        let configured =
            (!settings.client.kubeconfig.is_empty()).then(|| PathBuf::from(&settings.client.kubeconfig));
        self.daemon.connect(configured, options, metrics.clone()).await
    }
}

/// What it takes to be elected, if anybody is.
fn candidacy(election: &LeaderElection) -> Option<Candidacy> {
    let terms = Terms {
        lease_duration: election.lease_duration,
        renew_deadline: election.renew_deadline,
        retry_period: election.retry_period,
    };
    election.elect.then(|| Candidacy {
        namespace: election.resource_namespace.clone(),
        name: election.resource_name.clone(),
        identity: identity(),
        terms,
    })
}
