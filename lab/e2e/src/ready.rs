//! How long it takes from the report that a device is ready until its pod is bound.
//!
//! Pods wait for devices of their own, and these are reported ready one after the other. What is measured is the time from the
//! moment in which the server has the report, until a watch tells that the pod is bound: the way of the report to the
//! scheduler, its decision, the call that binds the pod, and the way of that to us. So it is longer than what the scheduler
//! takes from hearing of the report until it asks for the binding.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use client::{Event as Watched, Selectors, WatchOptions};
use futures_util::StreamExt;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::slice::ResourceSlice;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, timeout};

use crate::cluster::{Cluster, PATIENCE, until};
use crate::kind::Kind;
use crate::shapes::{DRIVER, claim, class, node, object, pod_with_claims, slice};
use crate::worker::{Terms, Worker};

/// The condition that says that a device is ready.
const ATTACHED: &str = "Attached";

/// How many devices a node has.
const DEVICES: u32 = 8;

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct ReadyOptions {
    /// How many pods wait at first.
    pub pods: u32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// From a report to the binding, the shortest first.
    pub times: Vec<Duration>,
}

impl Report {
    /// The time below which so many of a hundred are.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Duration {
        let last = self.times.len().saturating_sub(1);
        self.times.get((self.times.len() * percent / 100).min(last)).copied().unwrap_or_default()
    }
}

impl ReadyOptions {
    /// Lets pods wait, and reports their devices ready one after the other.
    ///
    /// # Errors
    /// When a pod is not bound.
    pub async fn run(&self, cluster: &Cluster) -> Result<Report> {
        self.furnish(cluster).await?;
        let _worker = Worker::start(cluster.connection(), &Terms::default())?;
        for number in 0..self.pods {
            let name = format!("p-{number}");
            cluster.create(&claim(&name, 1)?).await?;
            cluster.create(&pod_with_claims(&name, &[&name])?).await?;
        }
        until("all pods wait for their devices", async || {
            let pods = cluster.list::<Pod>().await?;
            let waiting = pods.iter().filter(|pod| !pod.status.nominated_node_name.is_empty()).count();
            Ok((waiting == self.pods as usize).then_some(()))
        })
        .await?;
        let mut bound = follow(cluster);
        let mut times = Vec::new();
        for number in 0..self.pods {
            let name = format!("p-{number}");
            report(cluster, &name).await?;
            let began = Instant::now();
            let next = timeout(PATIENCE, bound.recv()).await.context("no pod is bound")?;
            let (pod, at) = next.context("the watch ended")?;
            ensure!(pod == name, "{pod} is bound, and {name} is ready");
            times.push(at.saturating_duration_since(began));
        }
        times.sort_unstable();
        Ok(Report { times })
    }

    async fn furnish(&self, cluster: &Cluster) -> Result<()> {
        cluster.create(&class()?).await?;
        for number in 0..self.pods.div_ceil(DEVICES) {
            let name = format!("n-{number}");
            cluster.create_node(&node(&name, 16)?).await?;
            let mut slice = serde_json::to_value(slice(&name, DEVICES)?)?;
            for device in slice["spec"]["devices"].as_array_mut().into_iter().flatten() {
                device["bindsToNode"] = json!(true);
                device["bindingConditions"] = json!([ATTACHED]);
                device["bindingFailureConditions"] = json!(["AttachFailed"]);
            }
            cluster.create(&object::<ResourceSlice>(&slice)?).await?;
        }
        Ok(())
    }
}

/// Tells of pods that are bound, and when that was heard.
fn follow(cluster: &Cluster) -> UnboundedReceiver<(String, Instant)> {
    let (tell, told) = unbounded_channel();
    let pods = cluster.connection().list_and_watch(
        &Pod::resource(),
        &Selectors::default(),
        &WatchOptions::default(),
    );
    tokio::spawn(async move {
        let mut pods = Box::pin(pods);
        let mut seen = std::collections::BTreeSet::new();
        while let Some(event) = pods.next().await {
            if let Watched::Applied(pod) = event
                && !pod.spec.node_name.is_empty()
                && seen.insert(pod.metadata.name.clone())
                && tell.send((pod.metadata.name, Instant::now())).is_err()
            {
                return;
            }
        }
    });
    told
}

/// Reports that all devices of a claim are ready.
async fn report(cluster: &Cluster, name: &str) -> Result<()> {
    let claim: ResourceClaim = cluster.read(name).await?;
    let results = claim.status.allocation.context("it has devices")?.devices.results;
    let reported = json!([{
        "type": ATTACHED, "status": "True", "reason": "Measured", "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }]);
    let device = |pool: &str, device: &str| json!({ "driver": DRIVER, "pool": pool, "device": device, "conditions": reported });
    let devices: Vec<Value> = results.iter().map(|one| device(&one.pool, &one.device)).collect();
    cluster.patch_status::<ResourceClaim>(name, json!({ "status": { "devices": devices } })).await.map(drop)
}
