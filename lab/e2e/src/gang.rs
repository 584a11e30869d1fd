//! A gang whose members share one claim: how long it takes from its last pod until all are bound, and how often the claim is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use client::{Event as Watched, Selectors, WatchOptions};
use futures_util::StreamExt;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::account::Account;
use crate::cluster::{Cluster, until};
use crate::judge::all_is_well;
use crate::kind::Kind;
use crate::real::Served;
use crate::shapes::{claim, claims_of, class, object, pod, slice};
use crate::worker::{Terms, Worker};

/// The claim that is shared.
pub const SHARED: &str = "shared";

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct GangOptions {
    /// How many members the gang has.
    pub members: usize,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// From the answer that made the last pod until all were seen bound.
    pub took: Duration,
    /// How often the claim was written.
    pub writes: usize,
}

impl GangOptions {
    /// Does it, on a cluster that serves groups of pods.
    ///
    /// # Errors
    /// When a member is not bound in time, or the claim is not reserved for all of them.
    pub async fn run(&self, cluster: &Cluster) -> Result<Report> {
        a_large_node(cluster).await?;
        let made = cluster.create(&claim(SHARED, 1)?).await?;
        let writes = Writes::follow(cluster, &made.metadata.resource_version)?;
        let terms = Terms { gates: Served::Groups.gates(), ..Terms::default() };
        let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms)?;
        add_gang(cluster, self.members).await?;
        let began = Instant::now();
        all_bound(cluster, self.members).await?;
        let took = began.elapsed();
        let claim: ResourceClaim = cluster.read(SHARED).await?;
        let users = claim.status.reserved_for.len();
        ensure!(users == self.members, "{users} users");
        ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
        all_is_well(cluster).await?;
        Ok(Report { took, writes: writes.count() })
    }
}

/// A node with a device and with room for hundreds of pods.
///
/// # Errors
/// When the server does not want it.
pub async fn a_large_node(cluster: &Cluster) -> Result<()> {
    cluster.create(&class()?).await?;
    let resources = json!({ "cpu": "64", "memory": "256Gi", "pods": "500" });
    let node: Node = object(&json!({
        "metadata": { "name": "n-1", "labels": { "kubernetes.io/hostname": "n-1" } },
        "status": {
            "allocatable": resources, "capacity": resources,
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    }))?;
    cluster.create_node(&node).await?;
    cluster.create(&slice("n-1", 1)?).await.map(drop)
}

/// A gang of so many members with the same claim.
///
/// # Errors
/// When the server does not want it.
pub async fn add_gang(cluster: &Cluster, count: usize) -> Result<()> {
    let group: PodGroup = object(&json!({
        "metadata": { "name": "g", "namespace": "default" },
        "spec": { "schedulingPolicy": { "gang": { "minCount": count } } },
    }))?;
    cluster.create(&group).await?;
    for at in 0..count {
        let spec = json!({
            "schedulingGroup": { "podGroupName": "g" }, "resourceClaims": claims_of(&[SHARED]),
        });
        cluster.create(&pod(&format!("g-{at}"), spec)?).await?;
    }
    Ok(())
}

/// Waits until so many pods are bound.
///
/// # Errors
/// When they are not bound in time.
pub async fn all_bound(cluster: &Cluster, count: usize) -> Result<()> {
    until("all pods are bound", async || {
        let pods: Vec<Pod> = cluster.list().await?;
        let bound = pods.iter().filter(|pod| !pod.spec.node_name.is_empty()).count();
        Ok((bound == count).then_some(()))
    })
    .await
}

/// Counts how often the claim is written.
pub struct Writes {
    seen: Arc<AtomicUsize>,
    watching: JoinHandle<()>,
}

impl Writes {
    /// From the version after this one on.
    ///
    /// # Errors
    /// When there is no connection.
    pub fn follow(cluster: &Cluster, version: &str) -> Result<Self> {
        let seen = Arc::new(AtomicUsize::new(0));
        let (connection, counted, version) = (cluster.connect()?, seen.clone(), version.to_owned());
        let watching = tokio::spawn(async move {
            let options = WatchOptions::default();
            let stream =
                connection.list_and_watch(&ResourceClaim::resource(), &Selectors::default(), &options);
            let mut stream = Box::pin(stream);
            while let Some(event) = stream.next().await {
                if let Watched::Applied(claim) = event
                    && claim.metadata.resource_version != version
                {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Ok(Self { seen, watching })
    }

    /// How often it was written until now.
    #[must_use]
    pub fn count(&self) -> usize {
        self.seen.load(Ordering::Relaxed)
    }
}

impl Drop for Writes {
    fn drop(&mut self) {
        self.watching.abort();
    }
}
