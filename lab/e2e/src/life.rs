//! Many pods with claims from a template, through their whole lives: made, given devices, run, ended, deleted.
//!
//! The server, the scheduler, the controllers and simulated nodes are all in this process, and so many pods are there at
//! once as are asked for. What counts is how long it takes until all claims are gone again, that nothing is left of them,
//! and that memory does not grow with the number of pods that have been.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use client::{Answer, Connection, Event, Selectors, WatchOptions};
use controllers::simulated::{RUN_SECONDS, SIMULATED, Times};
use futures_util::StreamExt;
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::cluster::{Cluster, PATIENCE, until};
use crate::judge::all_is_well;
use crate::kind::Kind;
use crate::shapes;
use crate::worker::{Terms, Worker};

/// The template of all claims.
const TEMPLATE: &str = "one-device";

/// How many connections make pods, and as many delete them.
const HANDS: u32 = 4;

/// How often memory is looked at, in parts of the whole.
const LOOKS: usize = 4;

/// What is to be lived.
#[derive(Clone, Copy, Debug)]
pub struct LifeOptions {
    /// How many pods there are in all, each with a claim of one device.
    pub pods: u32,
    /// How many of them are there at once.
    pub at_once: u32,
    /// How many nodes there are.
    pub nodes: u32,
    /// How many devices each has.
    pub devices: u32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// How long it took until nothing was left.
    pub took: Duration,
    /// How many bytes the process held after each quarter of the pods; nothing on systems that do not say.
    pub memory: Vec<Option<u64>>,
    /// What the scheduler, controllers or nodes complained of, once each.
    pub complaints: BTreeSet<String>,
}

impl LifeOptions {
    /// Lives all lives, on a cluster that is empty.
    ///
    /// # Errors
    /// When something is left in the end, or is not as it should be.
    pub async fn run(&self, cluster: &Cluster) -> Result<Report> {
        self.prepare(cluster).await?;
        let complaints: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let (_stop, parts) = start(cluster, &complaints)?;
        let worker = Worker::start(&cluster.connect()?, &Terms::default())?;
        worker.working().await?;
        let began = Instant::now();
        let memory = self.live(cluster).await?;
        until("all claims are gone", async || {
            Ok(cluster.list::<ResourceClaim>().await?.is_empty().then_some(()))
        })
        .await?;
        let took = began.elapsed();
        all_is_well(cluster).await?;
        let left: Vec<Pod> = cluster.list().await?;
        ensure!(left.is_empty(), "{} pods are left", left.len());
        drop(parts);
        complaints.lock().extend(worker.troubles());
        let complaints = complaints.lock().clone();
        Ok(Report { took, memory, complaints })
    }

    async fn prepare(&self, cluster: &Cluster) -> Result<()> {
        cluster.create(&shapes::class()?).await?;
        let devices = json!({ "requests": [shapes::request("devices", 1)] });
        let template = shapes::object::<ResourceClaimTemplate>(&json!({
            "metadata": { "name": TEMPLATE, "namespace": "default" }, "spec": { "spec": { "devices": devices } },
        }))?;
        cluster.create(&template).await?;
        for at in 0..self.nodes {
            let name = format!("node-{at}");
            let mut node = shapes::node(&name, 64)?;
            node.metadata.annotations.insert(SIMULATED.to_owned(), "true".to_owned());
            cluster.create_node(&node).await?;
            cluster.create(&shapes::slice(&name, self.devices)?).await?;
        }
        Ok(())
    }

    /// Makes pods as long as there is room for more, deletes those that have ended, and tells how memory went.
    async fn live(&self, cluster: &Cluster) -> Result<Vec<Option<u64>>> {
        let room = Arc::new(Semaphore::new(usize::try_from(self.at_once)?));
        let mut hands = JoinSet::new();
        for hand in 0..HANDS {
            hands.spawn(self.make(cluster.connect()?, hand, room.clone()));
        }
        let (ended, mut to_delete) = unbounded_channel::<String>();
        let connection = cluster.connect()?;
        hands.spawn(async move {
            while let Some(name) = to_delete.recv().await {
                delete(&connection, &name).await?;
            }
            Ok(())
        });
        let gone = follow(cluster.connect()?, ended, room);
        let all = usize::try_from(self.pods)?;
        let mut memory = Vec::new();
        for quarter in 1..=LOOKS {
            reach(gone.clone(), all * quarter / LOOKS).await?;
            memory.push(resident_bytes());
        }
        hands.abort_all();
        while let Some(done) = hands.join_next().await {
            if let Ok(done) = done {
                done?;
            }
        }
        Ok(memory)
    }

    async fn make(self, connection: Connection, hand: u32, room: Arc<Semaphore>) -> Result<()> {
        for at in (hand..self.pods).step_by(HANDS as usize) {
            // It is given back when the pod is gone.
            room.acquire().await?.forget();
            let mut pod = shapes::pod(
                &format!("pod-{at}"),
                json!({
                    "restartPolicy": "Never",
                    "resourceClaims": [{ "name": "device", "resourceClaimTemplateName": TEMPLATE }],
                }),
            )?;
            pod.metadata.annotations.insert(RUN_SECONDS.to_owned(), "1".to_owned());
            let answer = connection.create(&Pod::resource(), &pod).await;
            ensure!(answer.trouble().is_none(), "cannot make a pod: {:?}", answer.trouble());
        }
        Ok(())
    }
}

/// Starts the controllers and the simulated nodes; they stop when what is given is dropped.
fn start(
    cluster: &Cluster,
    complaints: &Arc<Mutex<BTreeSet<String>>>,
) -> Result<(watch::Sender<bool>, JoinSet<()>)> {
    let (stop, stopped) = watch::channel(false);
    let until = |mut stopped: watch::Receiver<bool>| async move {
        let _ = stopped.wait_for(|stop| *stop).await;
    };
    let mut parts = JoinSet::new();
    parts.spawn(upkeep::run(cluster.connect()?, upkeep::Options::default(), until(stopped.clone())));
    let times =
        Times { start: Duration::from_millis(50), stop: Duration::from_millis(50), ..Times::default() };
    let complaints = complaints.clone();
    let complain = Arc::new(move |why: &str| {
        complaints.lock().insert(why.to_owned());
    });
    parts.spawn(kubelet::simulated::run(cluster.connect()?, times, complain, until(stopped)));
    Ok((stop, parts))
}

/// Watches pods: those that have ended are told once, those that are gone make room for others and are counted.
fn follow(
    connection: Connection,
    ended: UnboundedSender<String>,
    room: Arc<Semaphore>,
) -> watch::Receiver<usize> {
    let (tell, told) = watch::channel(0);
    tokio::spawn(async move {
        let all = Selectors::default();
        let stream = connection.list_and_watch(&Pod::resource(), &all, &WatchOptions::default());
        let mut stream = Box::pin(stream);
        let mut told_ended = BTreeSet::new();
        while let Some(event) = stream.next().await {
            let gone = match event {
                Event::Applied(pod) => {
                    let is_over = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
                    let name = pod.metadata.name;
                    if is_over && told_ended.insert(name.clone()) && ended.send(name).is_err() {
                        return;
                    }
                    continue;
                }
                Event::Deleted(pod) => pod.metadata.name,
                Event::Vanished(gone) => gone.name,
                _ => continue,
            };
            told_ended.remove(&gone);
            room.add_permits(1);
            tell.send_modify(|count| *count += 1);
        }
    });
    told
}

/// Waits until so many pods are gone.
async fn reach(mut gone: watch::Receiver<usize>, count: usize) -> Result<()> {
    let mut last = *gone.borrow_and_update();
    while last < count {
        timeout(PATIENCE, gone.changed())
            .await
            .with_context(|| format!("{last} pods are gone, and no more go"))??;
        last = *gone.borrow_and_update();
    }
    Ok(())
}

async fn delete(connection: &Connection, name: &str) -> Result<()> {
    match connection.delete(&Pod::resource(), name, &DeleteOptions::default()).await {
        Answer::NotFound(_) => Ok(()),
        answer => {
            ensure!(answer.trouble().is_none(), "cannot delete pod {name}: {:?}", answer.trouble());
            Ok(())
        }
    }
}

/// How many bytes this process holds, as Linux counts them.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}
