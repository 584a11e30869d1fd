//! A rolling upgrade: two replicas of one program are replaced by two of another while pods come at a steady pace.
//!
//! As a Deployment does it, a new replica is started and ready before an old one is told to stop. What is measured is the longest time
//! in which no pod was bound, though pods came all the time, and how long each pod waited.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};
use caller::real::Files;
use caller::{Caller, Launched, Place};
use hyper::Method;

use crate::cluster::{Cluster, until};
use crate::judge::all_is_well;
use crate::passers::{Passed, Passers};
use crate::shapes::node;

/// How many replicas there are.
const REPLICAS: usize = 2;

/// How many pods a node takes.
const PODS_PER_NODE: u32 = 100;

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct UpgradeOptions<'a> {
    /// The `supercargo` that runs at first.
    pub from: &'a Path,
    /// The `supercargo` that runs in the end.
    pub to: &'a Path,
    /// How many pods come each second.
    pub per_second: u32,
    /// How many pods are bound before the first replica is replaced, and after each.
    pub pods_between: usize,
    /// Old replicas are killed, and not told to stop, so that the lease has to run out.
    pub kill: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// From the request that made a pod until its node was seen, the shortest first.
    pub waits: Vec<Duration>,
    /// The longest time in which no pod was bound.
    pub gap: Duration,
}

/// A replica that runs.
struct Replica {
    process: Launched,
    health: Place,
}

impl UpgradeOptions<'_> {
    /// Does it, on a cluster that is empty.
    ///
    /// # Errors
    /// When a replica does not become ready, or a pod is not bound in the end.
    pub async fn run(&self, cluster: &Cluster, folder: &Path) -> Result<Report> {
        fs::create_dir_all(folder)?;
        Files::make(folder, "none", &[])?;
        let mut old = Vec::new();
        for at in 0..REPLICAS {
            old.push(Replica::start(self.from, cluster, folder, &format!("old-{at}")).await?);
        }
        // Each replica has its share of the pods, and while one stops pods go on coming.
        let enough = u32::try_from(self.pods_between * (REPLICAS + 2))? + self.per_second * 60;
        for at in 0..enough.div_ceil(PODS_PER_NODE) {
            cluster.create_node(&node(&format!("n-{at}"), 16)?).await?;
        }
        let passers = Passers::start(cluster, "p", self.per_second)?;
        passers.reach(self.pods_between).await?;
        let mut new = Vec::new();
        for (at, mut replica) in old.into_iter().enumerate() {
            new.push(Replica::start(self.to, cluster, folder, &format!("new-{at}")).await?);
            if self.kill {
                replica.process.kill()?
            } else {
                replica.process.stop()?
            }
            passers.reach(passers.bound() + self.pods_between).await?;
        }
        let Passed { waits, moments } = passers.finish().await?;
        for mut replica in new {
            ensure!(replica.process.runs()?, "a new replica ended by itself");
            replica.process.stop()?;
        }
        all_is_well(cluster).await?;
        let gaps = moments.windows(2).map(|pair| pair[1] - pair[0]);
        Ok(Report { waits, gap: gaps.max().unwrap_or_default() })
    }
}

impl Replica {
    /// Starts a replica, and waits until it is ready.
    async fn start(program: &Path, cluster: &Cluster, folder: &Path, name: &str) -> Result<Self> {
        let address = free()?;
        let mut command = Command::new(program);
        command.args(["scheduler", "--leader-elect", "--secure-port", &address.port().to_string()]);
        command.arg("--kubeconfig").arg(cluster.kubeconfig()?);
        command.arg("--tls-cert-file").arg(folder.join("server.crt"));
        command.arg("--tls-private-key-file").arg(folder.join("server.key"));
        let log: PathBuf = folder.join(name).with_extension("log");
        command.stdout(Stdio::null()).stderr(File::create(log)?);
        let health = Place::new(address, &fs::read(folder.join("authority.crt"))?, "none")?;
        let mut replica = Self { process: Launched::start(&mut command)?, health };
        until(&format!("replica {name} is ready"), async || {
            ensure!(replica.process.runs()?, "replica {name} ended by itself");
            // It may not listen yet.
            let Ok(mut caller) = Caller::connect(&replica.health).await else { return Ok(None) };
            let answer = caller.call(Method::GET, "/readyz", Vec::new()).await?;
            Ok((answer.code == 200).then_some(()))
        })
        .await?;
        Ok(replica)
    }
}

/// An address that nobody listens on at this moment.
fn free() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
