//! `supercargo controllers`: keeps the claims, nodes and pods of a cluster in order where nothing else does.

mod beside;
pub(super) mod watcher;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use client::{Candidacy, Connection, Terms, identity};
use gates::Gates;
use serde_json::json;
use telemetry::metrics::ControllerMetrics;
use telemetry::surface::CONTROLLERS_PORT;
use tokio::runtime::{Builder, Handle};
use tracing::info;
use upkeep::{Choice, Ended, Grace, Limits};
use watcher::Watcher;

use crate::commands::apiserver::stopped;
use crate::commands::features::refusal;
use crate::daemon::{Daemon, Shown};
use crate::failure::Failure;
use crate::troubles::Troubles;

const EXAMPLES: &str = "\
Examples:
  supercargo controllers --kubeconfig ~/.kube/config
  supercargo controllers --controllers resourceclaim-controller             only one of them
  supercargo controllers --controllers='*,-node-lifecycle-controller'       all but one
  supercargo controllers --list                                             their names
  supercargo controllers                                                    in a pod, with its service account";

/// Maximum number of concurrent requests.
const REQUESTS_MAX: usize = 64;

/// Run the controllers for claims, nodes and pods, in a cluster that does not run its own
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Controllers {
    /// Controllers to run: '*' for all, 'name' for one, '-name' to exclude one
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "*",
        allow_hyphen_values = true
    )]
    controllers: Vec<String>,
    /// Print the names of all controllers and exit
    #[arg(long)]
    pub(crate) list: bool,
    /// Feature gates to set, such as GenericWorkload=true
    #[arg(long, value_name = "GATES", default_value = "")]
    feature_gates: String,
    /// Elect a leader among replicas, so that only one is active
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    leader_elect: bool,
    /// Namespace of the leader election lease
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    leader_elect_resource_namespace: String,
    /// Name of the leader election lease
    #[arg(long, value_name = "NAME", default_value = "supercargo-controllers")]
    leader_elect_resource_name: String,
    /// How long a node may miss heartbeats before it is marked unhealthy
    #[arg(long, value_name = "TIME", value_parser = model::duration::parse, default_value = "50s")]
    node_monitor_grace_period: Duration,
    /// The same for a node that has never reported its status
    #[arg(long, value_name = "TIME", value_parser = model::duration::parse, default_value = "1m")]
    node_startup_grace_period: Duration,
    /// Number of terminated pods to keep before the oldest are deleted; 0 keeps all
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().ended_pods_max)]
    terminated_pod_gc_threshold: usize,
    /// Port for metrics and health checks; 0 disables it
    #[arg(long, value_name = "PORT", default_value_t = CONTROLLERS_PORT)]
    secure_port: u16,
    #[command(flatten)]
    daemon: Daemon,
}

impl Controllers {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.list {
            for name in upkeep::names() {
                writeln!(out, "{name}")?;
            }
            return Ok(());
        }
        let gates: Gates = self.feature_gates.parse().map_err(|error| refusal(&error))?;
        let choice = self.choice()?;
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(self.work(choice, gates))
    }

    fn choice(&self) -> Result<Choice, Failure> {
        Choice::parse(self.controllers.iter().map(String::as_str)).map_err(|error| {
            let error = error.to_string();
            let (wrong, hint) = error.split_once("; hint: ").unwrap_or((&error, ""));
            Failure::Usage { wrong: wrong.to_owned(), hint: hint.to_owned() }
        })
    }

    async fn work(&self, controllers: Choice, gates: Gates) -> Result<(), Failure> {
        let troubles = Troubles::default();
        let metrics = Arc::new(ControllerMetrics::default());
        let connection = self.connect(&troubles, &metrics).await?;
        self.daemon.introduce(&connection);
        tokio::spawn(troubles.clone().log_outages());
        let lease = self.leader_elect.then(|| self.leader_elect_resource_name.clone());
        let names: Vec<&str> =
            upkeep::names().into_iter().filter(|name| controllers.includes(name)).collect();
        let (watcher, checks) = Watcher::new(metrics.clone(), lease, names.clone(), troubles.clone());
        info!(server = connection.server(), controllers = names.join(","), "starting");
        beside::warn_of_doubles(&connection, &names).await;
        let configuration = json!({
            "controllers": self.controllers,
            "featureGates": gates.iter().map(|gate| gate.to_string()).collect::<Vec<_>>(),
        });
        let shown = Shown {
            part: "controllers",
            port: self.secure_port,
            checks,
            configuration,
            metrics: metrics.clone(),
        };
        let serving = self.daemon.show(shown, &Handle::current()).await?;
        let (limits, listener) = (self.limits(), Arc::new(watcher));
        let options = upkeep::Options { controllers, gates, limits, listener, ..upkeep::Options::default() };
        let ended = if self.leader_elect {
            let election = (self.connect(&troubles, &metrics).await?, self.candidacy());
            upkeep::run_elected(connection, options, election, stopped())
                .await
                .map_err(|error| Failure::hinted(&error.to_string()))?
        } else {
            upkeep::run(connection, options, stopped()).await;
            Ended::Stopped
        };
        if let Some(serving) = serving {
            serving.end().await;
        }
        info!("stopped");
        match ended {
            Ended::Stopped => Ok(()),
            Ended::LostLeadership { why } => Err(Failure::Failed {
                wrong: format!("lost leadership: {why}"),
                hint: "restart it; the new leader continues the work".to_owned(),
            }),
        }
    }

    fn limits(&self) -> Limits {
        let (silent, starting) = (self.node_monitor_grace_period, self.node_startup_grace_period);
        let ended_pods_max = match self.terminated_pod_gc_threshold {
            0 => usize::MAX,
            threshold => threshold,
        };
        Limits { grace: Grace { silent, starting }, ended_pods_max, ..Limits::default() }
    }

    async fn connect(
        &self,
        troubles: &Troubles,
        metrics: &Arc<ControllerMetrics>,
    ) -> Result<Connection, Failure> {
        let reach = troubles.reach();
        let options = client::Options { in_flight_max: REQUESTS_MAX, reach, ..client::Options::default() };
        self.daemon.connect(None, options, metrics.clone()).await
    }

    fn candidacy(&self) -> Candidacy {
        Candidacy {
            namespace: self.leader_elect_resource_namespace.clone(),
            name: self.leader_elect_resource_name.clone(),
            identity: identity(),
            terms: Terms::default(),
        }
    }
}
