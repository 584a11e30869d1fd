//! Pods that share one claim, in gangs and without: it is reserved for all of them in a few writes, however many they are.

use anyhow::{Result, ensure};
use e2e::gang::{GangOptions, SHARED, Writes, a_large_node, add_gang, all_bound};
use e2e::judge::all_is_well;
use e2e::shapes::{claim, claims_of, pod};
use e2e::{Account, Cluster, Served, Terms, Worker};
use objects::resource::claim::ResourceClaim;
use serde_json::json;
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

/// The long form, which has a limit of time, is `cargo run --release -p e2e -- gang`.
async fn share(cluster: &Cluster, members: usize) -> Result<()> {
    let report = GangOptions { members }.run(cluster).await?;
    eprintln!(
        "a gang of {members} that shares a claim was bound {:?} after its last pod was made",
        report.took
    );
    ensure!(report.writes <= WRITES, "it was written {} times", report.writes);
    Ok(())
}

async fn two_hundred_pods_without_a_gang_share_a_claim_that_is_written_a_few_times(
    cluster: &Cluster,
) -> Result<()> {
    let count = 200;
    a_large_node(cluster).await?;
    let made = cluster.create(&claim(SHARED, 1)?).await?;
    let writes = Writes::follow(cluster, &made.metadata.resource_version)?;
    for at in 0..count {
        let spec = json!({ "resourceClaims": claims_of(&[SHARED]) });
        cluster.create(&pod(&format!("p-{at}"), spec)?).await?;
    }
    // All of them wait when the scheduler begins, which is when the most of them meet at the claim.
    let began = Instant::now();
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    all_bound(cluster, count).await?;
    eprintln!("{count} pods that share a claim were bound {:?} after the scheduler began", began.elapsed());
    ensure!(writes.count() <= 20, "it was written {} times", writes.count());
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    all_is_well(cluster).await
}

async fn members_share_a_claim_that_somebody_else_writes_all_the_time(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 1).await?;
    cluster.create(&claim(SHARED, 1)?).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let busy = async {
        // What is written has nothing to do with the gang, but each time the claim has another version.
        for at in 0.. {
            let body = json!({ "metadata": { "annotations": { "example.com/at": at.to_string() } } });
            cluster.patch::<ResourceClaim>(SHARED, body).await?;
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
    let claim: ResourceClaim = cluster.read(SHARED).await?;
    ensure!(claim.status.reserved_for.len() == 20, "{:?}", claim.status.reserved_for);
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    all_is_well(cluster).await
}
