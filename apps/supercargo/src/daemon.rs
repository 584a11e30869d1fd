//! What commands have alike that work on a cluster until they are stopped: where its API server is, who may look at them,
//! and how they log.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use client::Connection;
use serde_json::Value;
use telemetry::logs::{self, Format};
use telemetry::metrics::Exposition;
use telemetry::surface::{self, Checks, Readers, Surface, Transport};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::{info, warn};

use crate::failure::Failure;
use crate::reach;

/// Options of a command that works on a cluster.
#[derive(Args, Debug)]
pub(crate) struct Daemon {
    /// Kubeconfig file; if not set, the one in the configuration, $KUBECONFIG or the service account of the pod
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Kubeconfig context; the current context if not set
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The address for metrics and health checks; requests are not authenticated
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind_address: IpAddr,
    /// TLS certificate for that port; self-signed if not set
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// Private key of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// Log format: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    logging_format: Format,
    /// Log verbosity: 0 important messages, 4 every decision, 6 everything
    #[arg(short, long, value_name = "LEVEL", default_value_t = 0)]
    v: u8,
}

/// What is shown on the port for metrics and health.
pub(crate) struct Shown {
    pub(crate) port: u16,
    pub(crate) checks: Checks,
    pub(crate) configuration: Value,
    pub(crate) metrics: Arc<dyn Exposition>,
}

/// The port for metrics and health while it is served.
pub(crate) struct Serving {
    stop: watch::Sender<()>,
    task: JoinHandle<()>,
}

impl Daemon {
    /// Starts the log.
    pub(crate) fn log(&self) -> Result<(), Failure> {
        logs::start(self.logging_format, self.v).map_err(|error| Failure::hinted(&error.to_string()))
    }

    /// Connects to the API server; `configured` is the kubeconfig that a configuration file names.
    pub(crate) async fn connect(
        &self,
        configured: Option<PathBuf>,
        options: &client::Options,
    ) -> Result<Connection, Failure> {
        let path = self.kubeconfig.clone().or(configured);
        reach::connect(path.as_deref(), self.context.as_deref(), options).await
    }

    /// Says what people should know of a connection, once for all that the command has to the same server.
    pub(crate) fn introduce(&self, connection: &Connection) {
        if !connection.verifies_server() {
            warn!(
                server = connection.server(),
                hint = "set certificate-authority in the kubeconfig in place of insecure-skip-tls-verify",
                "the certificate of the API server is not verified"
            );
        }
    }

    /// Serves metrics and health on another thread's runtime, if a port is given for them.
    pub(crate) async fn show(&self, shown: Shown, on: &Handle) -> Result<Option<Serving>, Failure> {
        if shown.port == 0 {
            return Ok(None);
        }
        let read = |path: &PathBuf| {
            fs::read(path)
                .map_err(|error| Failure::hinted(&format!("cannot read {}: {error}", path.display())))
        };
        let transport = match (&self.tls_cert_file, &self.tls_private_key_file) {
            (Some(chain), Some(key)) => Transport::Certificate { chain: read(chain)?, key: read(key)? },
            _ => Transport::SelfSigned,
        };
        let options = surface::Options {
            listen: SocketAddr::new(self.bind_address, shown.port),
            transport,
            checks: shown.checks,
            configuration: shown.configuration,
            metrics: shown.metrics,
            readers: Readers::Everyone,
        };
        // What listens is driven by the thread that it was made on.
        let bound =
            on.spawn(Surface::bind(options)).await.map_err(|error| Failure::hinted(&error.to_string()))?;
        let surface = bound.map_err(|error| {
            let hint = "choose another port with --secure-port, or disable it with --secure-port 0";
            Failure::Failed { wrong: error.to_string(), hint: hint.to_owned() }
        })?;
        if let Ok(address) = surface.address() {
            info!(%address, "serving metrics and health");
        }
        let (stop, stopping) = watch::channel(());
        Ok(Some(Serving { stop, task: on.spawn(surface.serve(closed(stopping))) }))
    }
}

impl Serving {
    /// Serves no more.
    pub(crate) async fn end(self) {
        drop(self.stop);
        // Whoever still reads is cut off soon.
        let _ = self.task.await;
    }
}

/// Done when the other end is dropped.
async fn closed(mut stopping: watch::Receiver<()>) {
    while stopping.changed().await.is_ok() {}
}
