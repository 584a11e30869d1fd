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
use server::{Credentials, Identity, Log, NoLog, Options, Server, Users};
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
    /// Keep everything here; without it everything is in memory and gone when the process ends
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
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
            self.feature_gates.parse().map_err(|error| failed(&format!("--feature-gates: {error}")))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.serve(gates, out))
    }

    async fn serve(&self, gates: Gates, out: &mut dyn Write) -> Result<(), Failure> {
        let token = self.admin_token.clone().unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
        let (credentials, store, log, storage) = self.open()?;
        let options = Options {
            listen: self.listen,
            credentials: Some(credentials.clone()),
            users: Users::default().with_admin_token(&token),
            gates,
            store,
            log,
        };
        let server = Server::bind(options).await.map_err(|error| failed(&error.to_string()))?;
        let address = server.address()?;
        if let Some(path) = &self.write_kubeconfig {
            write_private(path, &kubeconfig(address, &credentials))
                .map_err(|error| failed(&format!("cannot write {}: {error}", path.display())))?;
        }
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

type Opened = (Credentials, Store, Box<dyn Log>, String);

impl Apiserver {
    /// Opens the data directory, or says that there is none.
    fn open(&self) -> Result<Opened, Failure> {
        let make = || Credentials::make(&[self.listen.ip()]).map_err(|error| failed(&error.to_string()));
        let Some(dir) = &self.data_dir else {
            let storage =
                "in memory: everything is gone when this process ends; hint: --data-dir keeps it".to_owned();
            return Ok((make()?, Store::default(), Box::new(NoLog), storage));
        };
        let (store, log, recovery) =
            server::open(&dir.join("journal")).map_err(|error| failed(&error.to_string()))?;
        let credentials = credentials(&dir.join("pki"), make)?;
        let storage = format!("{}, at revision {}", dir.display(), recovery.last_revision);
        Ok((credentials, store, Box::new(log), storage))
    }
}

/// The certificates of an earlier start, or new ones that are kept for the next.
fn credentials(
    dir: &Path,
    make: impl FnOnce() -> Result<Credentials, Failure>,
) -> Result<Credentials, Failure> {
    let names = ["authority", "server", "admin"];
    let path = |name: &str, ending: &str| dir.join(format!("{name}.{ending}"));
    if names.iter().all(|name| path(name, "crt").exists() && path(name, "key").exists()) {
        let read = |name: &str| -> io::Result<Identity> {
            let certificate = fs::read_to_string(path(name, "crt"))?;
            Ok(Identity { certificate, key: fs::read_to_string(path(name, "key"))? })
        };
        return Ok(Credentials {
            authority: read("authority")?,
            server: read("server")?,
            admin: read("admin")?,
        });
    }
    let made = make()?;
    fs::create_dir_all(dir)?;
    for (name, identity) in names.iter().zip([&made.authority, &made.server, &made.admin]) {
        write_private(&path(name, "crt"), &identity.certificate)?;
        write_private(&path(name, "key"), &identity.key)?;
    }
    Ok(made)
}

fn failed(wrong: &str) -> Failure {
    let (wrong, hint) = wrong.split_once("; hint: ").map_or((wrong, ""), |(wrong, hint)| (wrong, hint));
    Failure::Failed { wrong: wrong.to_owned(), hint: hint.to_owned() }
}

/// Done when the process is told to stop.
pub(crate) async fn stopped() {
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
