//! What commands have in common that work on a cluster until they are stopped: where its API server is, and where they serve metrics
//! and health.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use client::Connection;
use serde_json::Value;
use telemetry::metrics::Exposition;
use telemetry::surface::{self, Checks, Component, Readers, Surface, Transport};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::{info, warn};

use crate::failure::Failure;
use crate::page::Connector;
use crate::program::Program;
use crate::reach;
use crate::requests;

/// Options of a command that works on a cluster.
#[derive(Args, Debug)]
pub(crate) struct Daemon {
    /// Kubeconfig file; if not set, the one in the configuration, $KUBECONFIG or the service account of the pod
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Kubeconfig context; the current context if not set
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The address for metrics and health checks; requests are not authenticated [default: 127.0.0.1, or all addresses in a pod, where
    /// the kubelet probes from outside]
    #[arg(long, value_name = "ADDRESS")]
    bind_address: Option<IpAddr>,
    /// TLS certificate for that port; self-signed if not set
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// Private key of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
}

/// What the kubelet tells every container: the address of the API server within the cluster.
const POD: &str = "KUBERNETES_SERVICE_HOST";

/// What is shown on the port for metrics and health.
pub(crate) struct Shown {
    /// The name of the part, such as `scheduler`.
    pub(crate) part: &'static str,
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
    /// Connects to the API server, and counts requests to it; `configured` is the kubeconfig that a configuration file names.
    pub(crate) async fn connect(
        &self,
        configured: Option<PathBuf>,
        options: client::Options,
        metrics: Arc<dyn Exposition>,
    ) -> Result<Connection, Failure> {
        let path = self.kubeconfig.clone().or(configured);
        let options = client::Options { requests: requests::counted(metrics), ..options };
        reach::connect(path.as_deref(), self.context.as_deref(), &options).await
    }

    /// The way to the API server for the web page, which has connections of its own.
    pub(crate) fn connector(&self, configured: Option<PathBuf>) -> Connector {
        let (path, context) = (self.kubeconfig.clone().or(configured), self.context.clone());
        Arc::new(move |reach| {
            let (path, context) = (path.clone(), context.clone());
            Box::pin(async move {
                let options = client::Options { reach, ..client::Options::default() };
                let made = reach::connect(path.as_deref(), context.as_deref(), &options).await;
                made.map_err(|failure| failure.to_string())
            })
        })
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

    /// The address to listen on.
    fn address(&self) -> IpAddr {
        self.bind_address.unwrap_or_else(|| default_address(env::var_os(POD).as_deref()))
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
            listen: SocketAddr::new(self.address(), shown.port),
            transport,
            checks: shown.checks,
            configuration: shown.configuration,
            component: Component {
                name: format!("supercargo-{}", shown.part),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                kubernetes: minor(&discovery::kubernetes_version()),
                flags: Program::current().flags(env::args_os()),
            },
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

/// The minor version of a release, such as `1.37` of `v1.37.0`.
fn minor(release: &str) -> String {
    let parts: Vec<&str> = release.trim_start_matches('v').split('.').take(2).collect();
    parts.join(".")
}

/// Loopback, or in a pod all addresses of the family that the cluster uses.
fn default_address(service: Option<&OsStr>) -> IpAddr {
    match service.filter(|service| !service.is_empty()) {
        None => Ipv4Addr::LOCALHOST.into(),
        Some(service) if service.to_string_lossy().contains(':') => Ipv6Addr::UNSPECIFIED.into(),
        Some(_) => Ipv4Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_and_health_are_reachable_from_outside_in_a_pod_only() {
        let listens = |service: Option<&str>| default_address(service.map(OsStr::new)).to_string();
        assert_eq!(listens(None), "127.0.0.1");
        assert_eq!(listens(Some("")), "127.0.0.1");
        assert_eq!(listens(Some("10.96.0.1")), "0.0.0.0");
        assert_eq!(listens(Some("fd00::1")), "::");
    }
}
