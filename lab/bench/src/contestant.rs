//! A server that is measured, with all of its processes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, bail, ensure};
use caller::real::Files;
use caller::{Caller, Launched, Place};
use hyper::Method;
use serde_json::json;
use tokio::time::sleep;

use crate::memory::resident_bytes_of;

pub(crate) const TOKEN: &str = "bench";
const READY: Duration = Duration::from_secs(300);

/// A server that can be started.
pub(crate) enum Program {
    /// `supercargo`.
    Ours(PathBuf),
    /// The folder of `kube-apiserver` and `etcd`.
    Real(PathBuf),
}

impl Program {
    /// The `supercargo` that was built beside this program.
    pub(crate) fn ours() -> anyhow::Result<Self> {
        let path = env::current_exe()?.with_file_name("supercargo");
        ensure!(path.is_file(), "{} is not there\nhint: cargo build --release -p supercargo", path.display());
        Ok(Self::Ours(path))
    }

    /// The real one, if it is in this folder.
    pub(crate) fn real(folder: &Path) -> Option<Self> {
        let complete = ["kube-apiserver", "etcd"].iter().all(|name| folder.join(name).is_file());
        complete.then(|| Self::Real(folder.to_owned()))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Ours(_) => "supercargo",
            Self::Real(_) => "kube-apiserver + etcd",
        }
    }
}

/// A server that runs.
pub(crate) struct Contestant {
    pub(crate) place: Place,
    address: SocketAddr,
    authority: PathBuf,
    processes: Vec<Launched>,
}

impl Contestant {
    /// Starts a server on what an earlier start left in the folder, and says how long that took until it served pods. Besides what
    /// it has by itself it has these features.
    pub(crate) async fn start(
        program: &Program,
        dir: &Path,
        features: &[String],
    ) -> anyhow::Result<(Self, Duration)> {
        // Certificates of the real one are made by us, and do not count.
        let files = Files::make(dir, TOKEN, &[])?;
        let began = Instant::now();
        let server = match program {
            Program::Ours(path) => ours(path, dir, features)?,
            Program::Real(folder) => {
                let mut real = files.programs(folder)?;
                if !features.is_empty() {
                    real.server.arg(format!("--feature-gates={}", features.join(",")));
                    real.server.arg("--runtime-config=api/beta=true,api/alpha=true");
                }
                let (etcd_log, server_log) = (files.log("etcd")?, files.log("kube-apiserver")?);
                let server = Launched::start(real.server.stdout(Stdio::null()).stderr(server_log))?;
                let etcd = Launched::start(real.etcd.stdout(Stdio::null()).stderr(etcd_log))?;
                let place = Place::new(real.address, real.authority.as_bytes(), TOKEN)?;
                let authority = dir.join("authority.crt");
                Self { place, address: real.address, authority, processes: vec![server, etcd] }
            }
        };
        server.ready(began).await
    }

    async fn ready(mut self, began: Instant) -> anyhow::Result<(Self, Duration)> {
        while !serves_pods(&self.place).await {
            for process in &mut self.processes {
                if !process.runs()? {
                    bail!("a server ended while it started");
                }
            }
            ensure!(began.elapsed() < READY, "the server is not ready after {READY:?}");
            sleep(Duration::from_millis(10)).await;
        }
        Ok((self, began.elapsed()))
    }

    /// Writes a kubeconfig for the administrator, and says where.
    pub(crate) fn kubeconfig(&self, dir: &Path) -> anyhow::Result<PathBuf> {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "bench",
            "clusters": [{ "name": "bench", "cluster": {
                "server": format!("https://{}", self.address), "certificate-authority": self.authority,
            } }],
            "users": [{ "name": "bench", "user": { "token": TOKEN } }],
            "contexts": [{ "name": "bench", "context": { "cluster": "bench", "user": "bench" } }],
        });
        let path = dir.join("kubeconfig");
        fs::write(&path, config.to_string())?;
        Ok(path)
    }

    /// Kills all processes.
    pub(crate) fn stop(&mut self) {
        self.processes.clear();
    }

    /// The memory of all processes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.processes.iter().filter_map(|process| resident_bytes_of(&process.id().to_string())).sum()
    }
}

fn ours(path: &Path, dir: &Path, features: &[String]) -> anyhow::Result<Contestant> {
    let mut command = Command::new(path);
    let dir = &dir.canonicalize()?;
    command.args(["apiserver", "--listen", "127.0.0.1:0", "--admin-token", TOKEN, "--data-dir"]).arg(dir);
    command.args(["--feature-gates", &features.join(",")]);
    let (process, address) = Launched::listening(&mut command)?;
    let authority = dir.join("pki").join("authority.crt");
    let place = Place::new(address, &fs::read(&authority).context("the server keeps its authority")?, TOKEN)?;
    Ok(Contestant { place, address, authority, processes: vec![process] })
}

async fn serves_pods(place: &Place) -> bool {
    let Ok(mut caller) = Caller::connect(place).await else { return false };
    for path in ["/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/default/pods?limit=1"] {
        if !caller.call(Method::GET, path, Vec::new()).await.is_ok_and(|answer| answer.code == 200) {
            return false;
        }
    }
    true
}
