//! `supercargo fabric`: attaches devices of a fabric to the nodes of a cluster, for the claims that were given them.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use client::{Candidacy, Connection, Terms, identity};
use controllers::fabric::{HandOver, Options, names};
use fabric::{Address, Redfish};
use upkeep::{Choice, Ended, Listener, Notice, Site};

use crate::commands::apiserver::stopped;
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

/// Attach devices of a composable fabric to nodes for allocated claims
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FabricController {
    /// Kubeconfig file; if not set, $KUBECONFIG or the service account of the pod
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Kubeconfig context; the current context if not set
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
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
            tell: Arc::new(say),
        };
        let none = Choice::parse([]).expect("no name is a wrong one");
        let troubles = Troubles::default();
        let listener = Arc::new(Complaints(troubles.clone()));
        let options =
            upkeep::Options { controllers: none, fabric: Some(site), listener, ..upkeep::Options::default() };
        let connection = self.connect(&troubles).await?;
        if !connection.verifies_server() {
            say(
                "the certificate of the API server is not verified, because the kubeconfig sets insecure-skip-tls-verify",
            );
        }
        tokio::spawn(troubles.clone().say_outages(say));
        if !self.leader_elect {
            upkeep::run(connection, options, stopped()).await;
            return Ok(());
        }
        let candidacy = Candidacy {
            namespace: "kube-system".to_owned(),
            name: format!("supercargo-fabric-{}", self.name),
            identity: identity(),
            terms: Terms::default(),
        };
        let election = (self.connect(&troubles).await?, candidacy);
        let ended = upkeep::run_elected(connection, options, election, stopped()).await;
        match ended.map_err(|error| Failure::hinted(&error.to_string()))? {
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

    async fn connect(&self, troubles: &Troubles) -> Result<Connection, Failure> {
        let options = client::Options { reach: troubles.reach(), ..client::Options::default() };
        let environment =
            || std::env::var_os("KUBECONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
        let connected = match self.kubeconfig.clone().or_else(environment) {
            Some(path) => Connection::from_kubeconfig(&path, self.context.as_deref(), &options).await,
            None => Connection::in_cluster(&options),
        };
        connected.map_err(|error| Failure::hinted(&error.to_string()))
    }
}

/// Reports what was done. Errors are ignored: stderr may be closed.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Says what goes wrong.
struct Complaints(Troubles);

impl Listener for Complaints {
    fn hear(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Trouble { is_brief: true, .. } => {}
            Notice::Trouble { why, .. } | Notice::ElectionTrouble { why } if self.0.is_news(why) => say(why),
            Notice::Failed { .. } if self.0.is_outage() => {}
            Notice::Standby { leader: Some(leader) } => say(&format!("standing by; {leader} is the leader")),
            Notice::Failed { subject, why, .. } => say(&format!("{subject}: {why}")),
            _ => {}
        }
    }
}
