//! `supercargo apiserver`: the embedded Kubernetes API server alone.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use gates::Gates;
use server::{Credentials, NoLog, Options, Server, Users};
use store::Store;

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  supercargo apiserver --listen 127.0.0.1:6443 --write-kubeconfig kubeconfig
  supercargo apiserver --listen 127.0.0.1:6443 --data-dir data --admin-token secret
  kubectl --kubeconfig kubeconfig get namespaces";

/// Serve the Kubernetes API on this machine, for first minutes, driver authors, CI and small sites
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Apiserver {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// The token of the administrator; without it one is made
    #[arg(long, value_name = "TOKEN")]
    admin_token: Option<String>,
    /// Write a kubeconfig for the administrator here, readable by its owner only
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    /// Features to switch on or off, such as AllAlpha=true,DRADeviceTaints=false
    #[arg(long, value_name = "GATES", default_value = "")]
    feature_gates: String,
}

impl Apiserver {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let gates: Gates =
            self.feature_gates.parse().map_err(|error| failed(format!("--feature-gates: {error}")))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.serve(gates, out))
    }

    async fn serve(&self, gates: Gates, out: &mut dyn Write) -> Result<(), Failure> {
        let token = self.admin_token.clone().unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
        let credentials =
            Credentials::make(&[self.listen.ip()]).map_err(|error| failed(error.to_string()))?;
        let options = Options {
            listen: self.listen,
            credentials: Some(credentials.clone()),
            users: Users::default().with_admin_token(&token),
            gates,
            store: Store::default(),
            log: Box::new(NoLog),
        };
        let server = Server::bind(options).await.map_err(|error| failed(error.to_string()))?;
        let address = server.address()?;
        if let Some(path) = &self.write_kubeconfig {
            write_private(path, &kubeconfig(address, &credentials))
                .map_err(|error| failed(format!("cannot write {}: {error}", path.display())))?;
            writeln!(out, "kubeconfig  {}", path.display())?;
        }
        writeln!(out, "address     https://{address}")?;
        writeln!(out, "storage     in memory: everything is gone when this process ends")?;
        out.flush()?;
        server.serve(stopped()).await;
        Ok(())
    }
}

fn failed(wrong: String) -> Failure {
    let (wrong, hint) =
        wrong.split_once("; hint: ").map_or((wrong.as_str(), ""), |(wrong, hint)| (wrong, hint));
    Failure::Failed { wrong: wrong.to_owned(), hint: hint.to_owned() }
}

/// Done when the process is told to stop.
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// What kubectl needs: where the server is, how to recognise it, and who the administrator is.
fn kubeconfig(address: SocketAddr, credentials: &Credentials) -> String {
    let encode = |text: &str| STANDARD.encode(text);
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: supercargo\nclusters:\n- name: supercargo\n  cluster:\n    \
         server: https://{address}\n    certificate-authority-data: {}\nusers:\n- name: admin\n  user:\n    \
         client-certificate-data: {}\n    client-key-data: {}\ncontexts:\n- name: supercargo\n  context:\n    \
         cluster: supercargo\n    user: admin\n",
        encode(&credentials.authority.certificate),
        encode(&credentials.admin.certificate),
        encode(&credentials.admin.key),
    )
}
