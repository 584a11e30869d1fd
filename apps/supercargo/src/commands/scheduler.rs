//! `supercargo scheduler`: places the pods of a cluster.

mod watcher;

use std::fs;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use client::{Candidacy, Connection, Terms, identity};
use config::{LeaderElection, SchedulerSettings};
use gates::Gates;
use runtime::Ended;
use telemetry::logs::{self, Format};
use telemetry::metrics::Metrics;
use telemetry::surface::{self, Checks, PORT, Readers, Surface, Transport};
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tracing::info;
use watcher::Watcher;

use crate::commands::apiserver::stopped;
use crate::commands::features::refusal;
use crate::configuration;
use crate::failure::Failure;
use crate::reach;

const EXAMPLES: &str = "\
Examples:
  supercargo scheduler --kubeconfig ~/.kube/config
  supercargo scheduler --config scheduler.yaml        a KubeSchedulerConfiguration
  supercargo scheduler --shadow                       decides, writes nothing, and tells where it would differ
  supercargo scheduler                                within a pod, as its service account";

/// How many writes may be on their way before no more pods are looked at.
const WRITES_MAX: usize = 256;

/// How long writes that are on their way may take once it is to stop.
const STOP_WITHIN: Duration = Duration::from_secs(20);

/// Place the pods of a cluster, and the devices that they claim
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Scheduler {
    /// A KubeSchedulerConfiguration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the API server is and who we are; without it the configuration's, $KUBECONFIG, or the pod's service account
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig, if not its current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Features to switch on or off, such as AllAlpha=true,DRADeviceTaints=false
    #[arg(long, value_name = "GATES", default_value = "")]
    feature_gates: String,
    /// Whether one of several schedulers is elected to do the work, if not as the configuration says
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    leader_elect: Option<bool>,
    /// Where to serve metrics and health; they are for everybody who reaches it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind_address: IpAddr,
    /// The port for metrics and health; 0 serves none
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    secure_port: u16,
    /// The certificate for that port, if it is not to be made at the start
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// How to write the log: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    logging_format: Format,
    /// How much to log: 0 what matters, 4 every decision, 6 everything
    #[arg(short, long, value_name = "LEVEL", default_value_t = 0)]
    v: u8,
    /// Decide, but write nothing, and tell where what is bound differs from what we would have done
    #[arg(long)]
    shadow: bool,
}

impl Scheduler {
    pub(crate) fn run(&self, _: &mut dyn Write) -> Result<(), Failure> {
        let gates: Gates = self.feature_gates.parse().map_err(|error| refusal(&error))?;
        let mut settings = self.settings(gates)?;
        logs::start(self.logging_format, self.v).map_err(|error| failed(error.to_string()))?;
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
        let connection = self.connect(settings).await?;
        let candidacy = match candidacy(&settings.leader_election).filter(|_| !self.shadow) {
            Some(candidacy) => Some((self.connect(settings).await?, candidacy)),
            None => None,
        };
        let metrics = Arc::new(Metrics::default());
        let lease = candidacy.as_ref().map(|(_, candidacy)| candidacy.name.clone());
        let (watcher, checks) = Watcher::new(metrics.clone(), lease);
        let options = runtime::Options {
            settings: convert::settings(settings, gates),
            candidacy,
            aside: Some(aside.clone()),
            shadow: self.shadow,
            writes_max: WRITES_MAX,
            stop_within: STOP_WITHIN,
            listener: Arc::new(watcher),
        };
        info!(server = connection.server(), shadow = self.shadow, "starting");
        let (stop_surface, stopping) = watch::channel(());
        let surface = self.surface(settings, metrics, checks, aside).await?;
        let serving = surface.map(|surface| aside.spawn(surface.serve(closed(stopping))));
        let ended = runtime::run(connection, options, stopped()).await;
        drop(stop_surface);
        if let Some(serving) = serving {
            // Whoever still reads is cut off soon.
            let _ = serving.await;
        }
        let ended = ended.map_err(|error| failed(error.to_string()))?;
        info!("stopped");
        match ended {
            Ended::Stopped => Ok(()),
            Ended::LostLeadership { why } => Err(Failure::Failed {
                wrong: format!("leads no longer: {why}"),
                hint: "start it again; whoever leads now goes on".to_owned(),
            }),
        }
    }

    /// The port for metrics and health, if there is to be one.
    async fn surface(
        &self,
        settings: &SchedulerSettings,
        metrics: Arc<Metrics>,
        checks: Checks,
        aside: &Handle,
    ) -> Result<Option<Surface>, Failure> {
        if self.secure_port == 0 {
            return Ok(None);
        }
        let read = |path: &PathBuf| {
            fs::read(path).map_err(|error| failed(format!("cannot read {}: {error}", path.display())))
        };
        let transport = match (&self.tls_cert_file, &self.tls_private_key_file) {
            (Some(chain), Some(key)) => Transport::Certificate { chain: read(chain)?, key: read(key)? },
            _ => Transport::SelfSigned,
        };
        let options = surface::Options {
            listen: SocketAddr::new(self.bind_address, self.secure_port),
            transport,
            checks,
            configuration: settings.document(),
            metrics,
            readers: Readers::Everyone,
        };
        // What listens is driven by the thread that it was made on.
        let bound = aside.spawn(Surface::bind(options)).await.map_err(|error| failed(error.to_string()))?;
        let surface = bound.map_err(|error| {
            let hint = "name another port with --secure-port, or none with --secure-port 0";
            Failure::Failed { wrong: error.to_string(), hint: hint.to_owned() }
        })?;
        if let Ok(address) = surface.address() {
            info!(%address, "serving metrics and health");
        }
        Ok(Some(surface))
    }

    async fn connect(&self, settings: &SchedulerSettings) -> Result<Connection, Failure> {
        let options = client::Options {
            qps: settings.client.queries_per_second.unwrap_or(0.0),
            burst: settings.client.burst,
            ..client::Options::default()
        };
        let configured =
            (!settings.client.kubeconfig.is_empty()).then(|| PathBuf::from(&settings.client.kubeconfig));
        let path = self.kubeconfig.clone().or(configured);
        reach::connect(path.as_deref(), self.context.as_deref(), &options).await
    }
}

/// Done when the other end is dropped.
async fn closed(mut stopping: watch::Receiver<()>) {
    while stopping.changed().await.is_ok() {}
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

fn failed(wrong: String) -> Failure {
    match wrong.split_once("; hint: ") {
        Some((wrong, hint)) => Failure::Failed { wrong: wrong.to_owned(), hint: hint.to_owned() },
        None => Failure::Failed { wrong, hint: String::new() },
    }
}
