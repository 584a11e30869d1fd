//! `supercargo apiserver`: the embedded Kubernetes API server alone.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use gates::Gates;
use server::{Options, Server, Users};

use crate::cli::address;
use crate::embedded::{self, Opened};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  supercargo apiserver --listen 127.0.0.1:6443 --write-kubeconfig kubeconfig
  supercargo apiserver --listen 127.0.0.1:6443 --data-dir data --admin-token secret
  kubectl --kubeconfig kubeconfig get namespaces";

/// Run a Kubernetes API server in this process, for evaluation, driver development, CI and small sites
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Apiserver {
    /// The address to listen on; port 0 chooses a free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Directory for all data; without it, data is kept in memory and lost when the process exits
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Bearer token of the administrator; generated if not set
    #[arg(long, value_name = "TOKEN")]
    admin_token: Option<String>,
    /// File to write the administrator's kubeconfig to, readable by its owner only
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    /// Feature gates to set, such as AllAlpha=true,DRADeviceTaints=false
    #[arg(long, value_name = "GATES", default_value = "")]
    feature_gates: String,
}

impl Apiserver {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let gates: Gates = self
            .feature_gates
            .parse()
            .map_err(|error| Failure::hinted(&format!("--feature-gates: {error}")))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.serve(gates, out))
    }

    async fn serve(&self, gates: Gates, out: &mut dyn Write) -> Result<(), Failure> {
        let token = self.admin_token.clone().unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
        let Opened { credentials, store, log, storage } =
            embedded::open(self.listen.ip(), self.data_dir.as_deref())?;
        let options = Options {
            listen: self.listen,
            credentials: Some(credentials.clone()),
            users: Users::default().with_admin_token(&token),
            gates,
            store,
            log,
        };
        let server = Server::bind(options).await.map_err(|error| Failure::hinted(&error.to_string()))?;
        let address = server.address()?;
        let write = |path: &PathBuf| embedded::write_kubeconfig(path, address, &credentials);
        // The file is this server's as long as it serves.
        let _kubeconfig = self.write_kubeconfig.as_ref().map(write).transpose()?;
        match self.announce(address, &storage, out) {
            // Who closes the pipe has seen enough, and may still want the server.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            announced => announced?,
        }
        server.serve(stopped()).await;
        Ok(())
    }

    fn announce(&self, address: SocketAddr, storage: &str, out: &mut dyn Write) -> io::Result<()> {
        if let Some(path) = &self.write_kubeconfig {
            writeln!(out, "kubeconfig  {}", path.display())?;
        }
        writeln!(out, "address     https://{address}")?;
        writeln!(out, "storage     {storage}")?;
        out.flush()
    }
}

/// Done when the process receives a signal to stop.
pub(crate) async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}
