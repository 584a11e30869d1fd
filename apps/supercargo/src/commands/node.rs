//! `supercargo node`: a node of a cluster that speaks with drivers of devices.

mod watcher;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use kubelet::node;
use serde_json::json;
use telemetry::metrics::NodeMetrics;
use tokio::runtime::{Builder, Handle};
use tracing::info;
use watcher::Watcher;

use crate::commands::apiserver::stopped;
use crate::daemon::{Daemon, Shown};
use crate::failure::Failure;
use crate::troubles::Troubles;

const EXAMPLES: &str = "\
Examples:
  supercargo node --name node-1 --kubeconfig kubeconfig
  supercargo node --name node-1 --kubeconfig kubeconfig --root-dir target/node-1    without being root
  supercargo node --name node-1 --capacity cpu=64 --label rack=7                    for a Node that does not exist yet

A driver registers with a socket in ROOT/plugins_registry, where ROOT is --root-dir. The CDI devices that the containers of a
pod would receive are in ROOT/pods/UID/devices.json.";

/// Run a simulated kubelet that calls DRA drivers; no containers run
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Node {
    /// Name of the node; the Node object is created if it does not exist
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Directory for plugin sockets and the state of prepared claims
    #[arg(long, value_name = "DIR", default_value = "/var/lib/kubelet")]
    root_dir: PathBuf,
    /// Capacity of the node, if it is created; can be repeated
    #[arg(long, value_name = "NAME=AMOUNT", value_parser = pair)]
    capacity: Vec<(String, String)>,
    /// Label of the node, if it is created; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    label: Vec<(String, String)>,
    /// Timeout of a call to a driver
    #[arg(long, value_name = "SECONDS", default_value_t = 45)]
    call_timeout: u64,
    /// Delay before the ResourceSlices of a disconnected driver are deleted
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wipe_slices_after: u64,
    /// Port for metrics and health checks, such as 10250 as for the kubelet; 0 disables it
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    secure_port: u16,
    #[command(flatten)]
    daemon: Daemon,
}

impl Node {
    pub(crate) fn run(&self, _: &mut dyn Write) -> Result<(), Failure> {
        let options = self.options()?;
        Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(self.be(options))
    }

    async fn be(&self, options: node::Options) -> Result<(), Failure> {
        let troubles = Troubles::default();
        let reach = client::Options { reach: troubles.reach(), ..client::Options::default() };
        let metrics = Arc::new(NodeMetrics::default());
        let connection = self.daemon.connect(None, reach, metrics.clone()).await?;
        self.daemon.introduce(&connection);
        tokio::spawn(troubles.clone().log_outages());
        let plugins = options.registry();
        info!(node = self.name, server = connection.server(), plugins = %plugins.display(), "starting");
        let (watcher, checks) = Watcher::new(metrics.clone(), troubles);
        let configuration = json!({ "name": self.name, "rootDirectory": self.root_dir });
        let shown = Shown { part: "node", port: self.secure_port, checks, configuration, metrics };
        let serving = self.daemon.show(shown, &Handle::current()).await?;
        let ended = node::run(connection, options, Arc::new(watcher), stopped()).await;
        if let Some(serving) = serving {
            serving.end().await;
        }
        ended.map_err(|error| Failure::hinted(&error.to_string()))?;
        info!("stopped; prepared claims stay prepared, and the next start continues with them");
        Ok(())
    }

    fn options(&self) -> Result<node::Options, Failure> {
        let mut options = node::Options::new(&self.name, &self.root_dir);
        for (name, amount) in &self.capacity {
            let read: Result<model::quantity::Quantity, _> = amount.parse();
            if read.is_err() {
                return Err(Failure::Usage {
                    wrong: format!("{amount:?} is not a valid quantity of {name}"),
                    hint: "write it as in a manifest, such as cpu=8 or memory=32Gi".to_owned(),
                });
            }
        }
        options.capacity.extend(self.capacity.iter().cloned());
        options.labels = BTreeMap::from_iter(self.label.iter().cloned());
        options.call_timeout = Duration::from_secs(self.call_timeout);
        options.wipe_after = Duration::from_secs(self.wipe_slices_after);
        Ok(options)
    }
}

/// Two words with an equals sign between them.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("must have the form KEY=VALUE".to_owned()),
    }
}
