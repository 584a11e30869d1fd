//! `supercargo fabric`: attaches devices of a fabric to the nodes of a cluster, for the claims that were given them.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use client::{Candidacy, Connection, Terms, identity};
use controllers::fabric::{HandOver, Options, names};
use fabric::{Address, Redfish};
use serde_json::json;
use telemetry::metrics::ControllerMetrics;
use tokio::runtime::Handle;
use tracing::info;
use upkeep::{Choice, Ended, Site};

use crate::commands::apiserver::stopped;
use crate::commands::controllers::watcher::Watcher;
use crate::daemon::{Daemon, Shown};
use crate::failure::Failure;
use crate::troubles::Troubles;

const EXAMPLES: &str = "\
Examples:
  supercargo fabric --kubeconfig kubeconfig --manager http://127.0.0.1:8008 --driver gpu.example.com
  supercargo fabric --manager https://fabric.example.com --manager-ca ca.pem --manager-token-file token \\
      --driver gpu.example.com --re-pick-class whole-gpu --idle-after 30m
  kubectl get deviceattachments

Nodes of the fabric have the label supercargo.dev/fabric=NAME, and supercargo.dev/fabric-host=HOST if they and
their hosts have different names.";

/// The controller of the fabric, by the name of its readiness check.
const CONTROLLER: &str = "fabric-controller";

/// Attach devices of a composable fabric to nodes for allocated claims
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FabricController {
    /// URL of the fabric manager
    #[arg(long, value_name = "URL")]
    manager: String,
    /// File with the CA certificate of the fabric manager
    #[arg(long, value_name = "FILE")]
    manager_ca: Option<PathBuf>,
    /// File with the bearer token for the fabric manager
    #[arg(long, value_name = "FILE")]
    manager_token_file: Option<PathBuf>,
    /// Name of the DRA driver of the devices
    #[arg(long, value_name = "NAME")]
    driver: String,
    /// Name of the fabric: the prefix of its pools, and the value of the node label supercargo.dev/fabric
    #[arg(long, value_name = "NAME", default_value = "fabric")]
    name: String,
    /// Elect a leader among replicas, by the lease supercargo-fabric-NAME in kube-system
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    leader_elect: bool,
    /// How often to poll the fabric; it is also polled after each attach and detach
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = model::duration::parse)]
    period: Duration,
    /// How long an attached device may be unused before it is detached
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = model::duration::parse)]
    idle_after: Duration,
    /// Back-off after a device could not be attached; doubles with each failure
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = model::duration::parse)]
    rest: Duration,
    /// How a pod receives an attached device, unless its class or model is listed below
    #[arg(long, value_name = "HOW", default_value = "in-place")]
    hand_over: How,
    /// Use re-pick for devices of this class; can be repeated
    #[arg(long, value_name = "CLASS")]
    re_pick_class: Vec<String>,
    /// Use re-pick for devices of this model; can be repeated
    #[arg(long, value_name = "MODEL")]
    re_pick_model: Vec<String>,
    /// Attribute with which the driver on a node identifies the fabric device
    #[arg(long, value_name = "NAME", default_value = names::UNIT_ATTRIBUTE)]
    unit_attribute: String,
    /// Maximum number of devices of a node, if the fabric reports none
    #[arg(long, value_name = "N")]
    devices_per_node: Option<u32>,
    /// How long pods wait for a device; overrides the scheduler; needs the embedded API server
    #[arg(long, value_name = "TIME")]
    binding_timeout: Option<String>,
    /// The port for metrics and health, such as 10258; 0 serves none
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    secure_port: u16,
    #[command(flatten)]
    daemon: Daemon,
}

/// How a device becomes a pod's.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum How {
    /// Bind the pod with the fabric device that was allocated
    InPlace,
    /// Reschedule the pod, so that it is allocated the device that the driver on the node publishes
    RePick,
}

impl FabricController {
    pub(crate) fn run(&self, _: &mut dyn Write) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.work())
    }

    async fn work(&self) -> Result<(), Failure> {
        let site = Site {
            fabric: Arc::new(Redfish::at(self.address()?)),
            options: self.options(),
            period: self.period,
            tell: Arc::new(|line: &str| info!("{line}")),
        };
        let none = Choice::parse([]).expect("no name is a wrong one");
        let troubles = Troubles::default();
        let metrics = Arc::new(ControllerMetrics::default());
        let connection = self.connect(&troubles, &metrics).await?;
        self.daemon.introduce(&connection);
        tokio::spawn(troubles.clone().log_outages());
        let lease = format!("supercargo-fabric-{}", self.name);
        let elected = self.leader_elect.then(|| lease.clone());
        let (watcher, checks) = Watcher::new(metrics.clone(), elected, vec![CONTROLLER], troubles.clone());
        info!(server = connection.server(), manager = self.manager, "starting");
        let configuration = json!({ "name": self.name, "driver": self.driver, "manager": self.manager });
        let shown =
            Shown { part: "fabric", port: self.secure_port, checks, configuration, metrics: metrics.clone() };
        let serving = self.daemon.show(shown, &Handle::current()).await?;
        let listener = Arc::new(watcher);
        let options =
            upkeep::Options { controllers: none, fabric: Some(site), listener, ..upkeep::Options::default() };
        let ended = if self.leader_elect {
            let candidacy = Candidacy {
                namespace: "kube-system".to_owned(),
                name: lease,
                identity: identity(),
                terms: Terms::default(),
            };
            let election = (self.connect(&troubles, &metrics).await?, candidacy);
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

    fn address(&self) -> Result<Address, Failure> {
        let read = |path: &Option<PathBuf>| match path {
            None => Ok(None),
            Some(path) => std::fs::read(path)
                .map(Some)
                .map_err(|error| Failure::hinted(&format!("cannot read {}: {error}", path.display()))),
        };
        let token = read(&self.manager_token_file)?;
        let token = token.map(|token| String::from_utf8_lossy(&token).trim().to_owned());
        Address::parse(&self.manager, token, read(&self.manager_ca)?.as_deref())
            .map_err(|error| Failure::hinted(&error.to_string()))
    }

    fn options(&self) -> Options {
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let re_picked =
            |names: &[String]| names.iter().map(|name| (name.clone(), HandOver::RePick)).collect();
        Options {
            hand_over: match self.hand_over {
                How::InPlace => HandOver::InPlace,
                How::RePick => HandOver::RePick,
            },
            hand_over_by_class: re_picked(&self.re_pick_class),
            hand_over_by_model: re_picked(&self.re_pick_model),
            unit_attribute: self.unit_attribute.clone(),
            binding_timeout: self.binding_timeout.clone(),
            idle_after_ms: millis(self.idle_after),
            rest_first_ms: millis(self.rest),
            units_per_node_max: self.devices_per_node,
            ..Options::new(&self.name, &self.driver)
        }
    }

    async fn connect(
        &self,
        troubles: &Troubles,
        metrics: &Arc<ControllerMetrics>,
    ) -> Result<Connection, Failure> {
        let options = client::Options { reach: troubles.reach(), ..client::Options::default() };
        self.daemon.connect(None, options, metrics.clone()).await
    }
}
