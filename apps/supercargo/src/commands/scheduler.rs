//! `supercargo scheduler`: places the pods of a cluster.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use client::{Candidacy, Connection, Terms, identity};
use config::{LeaderElection, SchedulerSettings};
use gates::Gates;
use runtime::{Ended, Listener, Notice};

use crate::commands::apiserver::stopped;
use crate::commands::features::refusal;
use crate::failure::Failure;

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
    /// Decide, but write nothing, and tell where what is bound differs from what we would have done
    #[arg(long)]
    shadow: bool,
}

impl Scheduler {
    pub(crate) fn run(&self, _: &mut dyn Write) -> Result<(), Failure> {
        let gates: Gates = self.feature_gates.parse().map_err(|error| refusal(&error))?;
        let mut settings = self.settings(gates)?;
        if let Some(elect) = self.leader_elect {
            settings.leader_election.elect = elect;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(self.schedule(&settings, gates))
    }

    fn settings(&self, gates: Gates) -> Result<SchedulerSettings, Failure> {
        let Some(path) = &self.config else { return Ok(SchedulerSettings::defaults(gates)) };
        let text = fs::read_to_string(path)
            .map_err(|error| failed(format!("cannot read {}: {error}", path.display())))?;
        SchedulerSettings::read(&text, gates)
            .map_err(|bad| failed(format!("{} is no good configuration: {bad}", path.display())))
    }

    async fn schedule(&self, settings: &SchedulerSettings, gates: Gates) -> Result<(), Failure> {
        let connection = self.connect(settings).await?;
        let candidacy = match candidacy(&settings.leader_election).filter(|_| !self.shadow) {
            Some(candidacy) => Some((self.connect(settings).await?, candidacy)),
            None => None,
        };
        let options = runtime::Options {
            settings: convert::settings(settings, gates),
            candidacy,
            shadow: self.shadow,
            writes_max: WRITES_MAX,
            stop_within: STOP_WITHIN,
            listener: Arc::new(Lines),
        };
        let ended =
            runtime::run(connection, options, stopped()).await.map_err(|error| failed(error.to_string()))?;
        match ended {
            Ended::Stopped => Ok(()),
            Ended::LostLeadership { why } => Err(Failure::Failed {
                wrong: format!("leads no longer: {why}"),
                hint: "start it again; whoever leads now goes on".to_owned(),
            }),
        }
    }

    async fn connect(&self, settings: &SchedulerSettings) -> Result<Connection, Failure> {
        let options = client::Options {
            qps: settings.client.queries_per_second.unwrap_or(0.0),
            burst: settings.client.burst,
            ..client::Options::default()
        };
        let configured =
            (!settings.client.kubeconfig.is_empty()).then(|| PathBuf::from(&settings.client.kubeconfig));
        let environment =
            || std::env::var_os("KUBECONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
        let path = self.kubeconfig.clone().or(configured).or_else(environment);
        let connected = match &path {
            Some(path) => {
                Connection::from_kubeconfig(Path::new(path), self.context.as_deref(), &options).await
            }
            None => Connection::in_cluster(&options),
        };
        connected.map_err(|error| failed(error.to_string()))
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

struct Lines;

impl Listener for Lines {
    fn hear(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Attempt { .. }
            | Notice::Waiting { .. }
            | Notice::Bound { .. }
            | Notice::Refused { .. } => {}
            other => eprintln!("{other:?}"),
        }
    }
}

fn failed(wrong: String) -> Failure {
    match wrong.split_once("; hint: ") {
        Some((wrong, hint)) => Failure::Failed { wrong: wrong.to_owned(), hint: hint.to_owned() },
        None => Failure::Failed { wrong, hint: String::new() },
    }
}
