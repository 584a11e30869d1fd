//! Many pods with claims from a template through their whole life: made, placed, run, ended and gone, with their claims.
//!
//! There are fewer devices than pods, so that a device that is not given back is a pod that waits for ever. Only so many
//! pods are there at a time, so that what is kept of those that are gone shows as memory that grows.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use client::{Connection, Event, Patch, Selectors, WatchOptions};
use futures_util::StreamExt;
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use objects::resource::claim::ResourceClaim;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::cluster::{Cluster, PATIENCE, until};
use crate::keeper::Keeper;
use crate::kind::Kind;
use crate::shapes;
use crate::worker::{Terms, Worker};

/// How many devices a node has.
const DEVICES_PER_NODE: u32 = 8;

/// How many pods are made or ended at the same time.
const HANDS: usize = 16;

/// How often is looked how much memory is used.
const MARKS: u32 = 5;

/// How many lives there are.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many pods, each with a claim of one device.
    pub pods: u32,
    /// How many of them are there at a time.
    pub at_once: u32,
    /// How many devices there are.
    pub devices: u32,
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Report {
    /// How long it took until the last claim was gone.
    pub took: Duration,
    /// How much memory this process used, with the server and all that works on it, each time a part of the pods was made.
    pub memory_mib: Vec<u64>,
    /// How many pieces of work controllers had, and how many they had to try again.
    pub worked: (u64, u64),
    /// What controllers could not do at once.
    pub troubles: Vec<String>,
}

impl Plan {
    /// Lives them, on a cluster that is empty.
    ///
    /// # Errors
    /// When a pod or a claim is left in the end.
    pub async fn run(&self, cluster: &Cluster) -> Result<Report> {
        self.prepare(cluster).await?;
        let _worker = Worker::start(&cluster.connect()?, &Terms::default())?;
        let keeper = Keeper::start(&cluster.connect()?, &["resourceclaim-controller"])?;
        let places = Arc::new(Semaphore::new(usize::try_from(self.at_once)?));
        let _nodes = Aborted(tokio::spawn(end_pods(cluster.connect()?, places.clone())));
        let began = Instant::now();
        let memory_mib = self.make_pods(cluster, &places).await?;
        until("all pods and claims are gone", async || {
            let pods = cluster.list::<Pod>().await?.len();
            let claims = cluster.list::<ResourceClaim>().await?.len();
            Ok((pods + claims == 0).then_some(()))
        })
        .await?;
        Ok(Report { took: began.elapsed(), memory_mib, worked: keeper.worked(), troubles: keeper.troubles() })
    }

    async fn prepare(&self, cluster: &Cluster) -> Result<()> {
        cluster.create(&shapes::class()?).await?;
        let devices = json!({ "requests": [shapes::request("gpu", 1)] });
        cluster.create(&shapes::template("t", &devices)?).await?;
        for at in 0..self.devices.div_ceil(DEVICES_PER_NODE) {
            let name = format!("node-{at}");
            let devices = DEVICES_PER_NODE.min(self.devices - at * DEVICES_PER_NODE);
            cluster.create_node(&shapes::node(&name, 64)?).await?;
            cluster.create(&shapes::slice(&name, devices)?).await?;
        }
        Ok(())
    }

    /// Makes pods as others go.
    async fn make_pods(&self, cluster: &Cluster, places: &Semaphore) -> Result<Vec<u64>> {
        let mut makers: JoinSet<Result<()>> = JoinSet::new();
        let mut memory = Vec::new();
        for at in 0..self.pods {
            let place = timeout(PATIENCE, places.acquire()).await;
            place.with_context(|| format!("{at} pods were made, and none of them goes"))??.forget();
            if at % self.pods.div_ceil(MARKS) == 0 {
                memory.push(memory_mib()?);
            }
            if makers.len() >= HANDS
                && let Some(made) = makers.join_next().await
            {
                made??;
            }
            makers.spawn(make(cluster.connection().clone(), format!("pod-{at}")));
        }
        while let Some(made) = makers.join_next().await {
            made??;
        }
        memory.push(memory_mib()?);
        Ok(memory)
    }
}

async fn make(connection: Connection, name: String) -> Result<()> {
    let claims = json!({ "resourceClaims": [{ "name": "gpu", "resourceClaimTemplateName": "t" }] });
    let made = connection.create(&Pod::resource(), &shapes::pod(&name, claims)?).await;
    ensure!(made.trouble().is_none(), "cannot make {name}: {:?}", made.trouble());
    Ok(())
}

/// Is every node: a pod that is placed runs, ends at once, and is deleted, and its place is free for another.
async fn end_pods(connection: Connection, places: Arc<Semaphore>) {
    let placed = Selectors { fields: "spec.nodeName!=".to_owned(), ..Selectors::default() };
    let stream = connection.list_and_watch(&Pod::resource(), &placed, &WatchOptions::default());
    let mut stream = Box::pin(stream);
    let mut under_way = JoinSet::new();
    while let Some(event) = stream.next().await {
        let pod = match event {
            Event::Applied(pod) => pod,
            Event::Deleted(_) | Event::Vanished(_) => {
                places.add_permits(1);
                continue;
            }
            _ => continue,
        };
        while under_way.len() >= HANDS {
            under_way.join_next().await;
        }
        under_way.spawn(end(connection.clone(), pod));
    }
}

async fn end(connection: Connection, pod: Pod) {
    let name = &pod.metadata.name;
    // What goes wrong shows as a pod that is never gone.
    let phase = match pod.status.phase.as_str() {
        "Pending" => "Running",
        "Running" => "Succeeded",
        _ => {
            let at_once = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
            return drop(connection.delete(&Pod::resource(), name, &at_once).await);
        }
    };
    let status = json!({ "status": { "phase": phase } });
    drop(connection.patch_status(&Pod::resource(), name, &Patch::Merge, &status).await);
}

/// How much memory this process has.
fn memory_mib() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("there is no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024)
}

/// A task that ends with us.
struct Aborted(tokio::task::JoinHandle<()>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}
