//! Pods that share one claim, in gangs and without: it is reserved for all of them in a few writes, however many they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use client::{Event as Watched, Selectors, WatchOptions};
use e2e::judge::all_is_well;
use e2e::shapes::{claim, claims_of, class, object, pod, slice};
use e2e::{Account, Cluster, Kind, Served, Terms, Worker, until};
use futures_util::StreamExt;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::devices::nodes_with_devices;

crate::with_groups![
    twenty_members_share_a_claim_that_is_written_twice,
    two_hundred_members_share_a_claim_that_is_written_twice,
    two_hundred_pods_without_a_gang_share_a_claim_that_is_written_a_few_times,
    members_share_a_claim_that_somebody_else_writes_all_the_time,
];

/// A finalizer, and then devices with a reservation for everybody.
const WRITES: usize = 2;

fn terms() -> Terms {
    Terms { gates: Served::Groups.gates(), ..Terms::default() }
}

async fn twenty_members_share_a_claim_that_is_written_twice(cluster: &Cluster) -> Result<()> {
    share(cluster, 20).await
}

pub async fn two_hundred_members_share_a_claim_that_is_written_twice(cluster: &Cluster) -> Result<()> {
    share(cluster, 200).await
}

async fn two_hundred_pods_without_a_gang_share_a_claim_that_is_written_a_few_times(
    cluster: &Cluster,
) -> Result<()> {
    let count = 200;
    a_large_node(cluster).await?;
    let made = cluster.create(&claim("shared", 1)?).await?;
    let (seen, watching) = follow(cluster, &made.metadata.resource_version)?;
    for at in 0..count {
        let spec = json!({ "resourceClaims": claims_of(&["shared"]) });
        cluster.create(&pod(&format!("p-{at}"), spec)?).await?;
    }
    // All of them wait when the scheduler begins, which is when the most of them meet at the claim.
    let began = Instant::now();
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    all_bound(cluster, count).await?;
    eprintln!("{count} pods that share a claim were bound {:?} after the scheduler began", began.elapsed());
    let writes = seen.load(Ordering::Relaxed);
    watching.abort();
    ensure!(writes <= 20, "it was written {writes} times");
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    all_is_well(cluster).await
}

async fn share(cluster: &Cluster, count: usize) -> Result<()> {
    a_large_node(cluster).await?;
    let made = cluster.create(&claim("shared", 1)?).await?;
    let (seen, watching) = follow(cluster, &made.metadata.resource_version)?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    add_gang(cluster, count).await?;
    let began = Instant::now();
    all_bound(cluster, count).await?;
    eprintln!(
        "a gang of {count} that shares a claim was bound {:?} after its last pod was made",
        began.elapsed()
    );
    let claim: ResourceClaim = cluster.read("shared").await?;
    ensure!(claim.status.reserved_for.len() == count, "{} users", claim.status.reserved_for.len());
    let writes = seen.load(Ordering::Relaxed);
    watching.abort();
    ensure!(writes <= WRITES, "it was written {writes} times");
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    all_is_well(cluster).await
}

async fn members_share_a_claim_that_somebody_else_writes_all_the_time(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 1).await?;
    cluster.create(&claim("shared", 1)?).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let busy = async {
        // What is written has nothing to do with the gang, but each time the claim has another version.
        for at in 0.. {
            let body = json!({ "metadata": { "annotations": { "example.com/at": at.to_string() } } });
            cluster.patch::<ResourceClaim>("shared", body).await?;
        }
        anyhow::Ok(())
    };
    let bound = async {
        add_gang(cluster, 20).await?;
        all_bound(cluster, 20).await
    };
    tokio::select! {
        done = bound => done?,
        failed = busy => failed?,
    }
    let claim: ResourceClaim = cluster.read("shared").await?;
    ensure!(claim.status.reserved_for.len() == 20, "{:?}", claim.status.reserved_for);
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    all_is_well(cluster).await
}

/// A node with a device and with room for hundreds of pods.
async fn a_large_node(cluster: &Cluster) -> Result<()> {
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
    cluster.create(&slice("n-1", 1)?).await?;
    Ok(())
}

/// A gang of so many members with the same claim.
async fn add_gang(cluster: &Cluster, count: usize) -> Result<()> {
    let group: PodGroup = object(&json!({
        "metadata": { "name": "g", "namespace": "default" },
        "spec": { "schedulingPolicy": { "gang": { "minCount": count } } },
    }))?;
    cluster.create(&group).await?;
    for at in 0..count {
        let spec = json!({
            "schedulingGroup": { "podGroupName": "g" }, "resourceClaims": claims_of(&["shared"]),
        });
        cluster.create(&pod(&format!("g-{at}"), spec)?).await?;
    }
    Ok(())
}

async fn all_bound(cluster: &Cluster, count: usize) -> Result<()> {
    until("all members are bound", async || {
        let pods: Vec<Pod> = cluster.list().await?;
        let bound = pods.iter().filter(|pod| !pod.spec.node_name.is_empty()).count();
        Ok((bound == count).then_some(()))
    })
    .await
}

/// Counts how often the claim is written after this version of it.
fn follow(cluster: &Cluster, version: &str) -> Result<(Arc<AtomicUsize>, JoinHandle<()>)> {
    let seen = Arc::new(AtomicUsize::new(0));
    let (connection, counted, version) = (cluster.connect()?, seen.clone(), version.to_owned());
    let task = tokio::spawn(async move {
        let options = WatchOptions::default();
        let stream = connection.list_and_watch(&ResourceClaim::resource(), &Selectors::default(), &options);
        let mut stream = Box::pin(stream);
        while let Some(event) = stream.next().await {
            if let Watched::Applied(claim) = event
                && claim.metadata.resource_version != version
            {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    Ok((seen, task))
}
