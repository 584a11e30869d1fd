//! Two schedulers that know nothing of each other, and give out the same devices.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use e2e::judge::{all_is_well, devices_of};
use e2e::shapes::{claim, claims_of, pod};
use e2e::{Cluster, Terms, Worker, until};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use serde_json::json;

use crate::devices::nodes_with_devices;

crate::on_both![two_of_ours_never_bind_two_pods_to_one_device];

const NODES: [&str; 4] = ["n-1", "n-2", "n-3", "n-4"];
const DEVICES: u32 = 8;

/// As many pods as there are devices, of the two schedulers by turns.
async fn pods_of_both(cluster: &Cluster, schedulers: [&str; 2]) -> Result<usize> {
    let count = NODES.len() * usize::try_from(DEVICES)?;
    for at in 0..count {
        cluster.create(&claim(&format!("p-{at}"), 1)?).await?;
    }
    for (at, scheduler) in (0..count).zip(schedulers.into_iter().cycle()) {
        let name = format!("p-{at}");
        let besides = json!({ "schedulerName": scheduler, "resourceClaims": claims_of(&[&name]) });
        cluster.create(&pod(&name, besides)?).await?;
    }
    Ok(count)
}

/// Waits until all pods are bound, and watches that no device is in the hands of two that are. For a moment two claims may
/// have the same device: the API has no lock on devices. What counts is that no second pod is bound to it.
async fn all_bound(cluster: &Cluster, count: usize) -> Result<usize> {
    let mut contested = BTreeMap::new();
    until("all pods are bound", async || {
        let claims: Vec<ResourceClaim> = cluster.list().await?;
        let pods: Vec<Pod> = cluster.list().await?;
        let is_bound: BTreeMap<&str, bool> =
            pods.iter().map(|pod| (&*pod.metadata.uid, !pod.spec.node_name.is_empty())).collect();
        let mut held: BTreeMap<String, &ResourceClaim> = BTreeMap::new();
        for claim in &claims {
            let has_bound_user = |claim: &ResourceClaim| {
                claim.status.reserved_for.iter().any(|user| is_bound.get(&*user.uid) == Some(&true))
            };
            for device in devices_of(claim) {
                let Some(other) = held.insert(device.clone(), claim) else { continue };
                let (one, two) = (&other.metadata.name, &claim.metadata.name);
                if has_bound_user(other) && has_bound_user(claim) {
                    bail!("{device} is used by both {one} and {two}");
                }
                contested.insert(device, (one.clone(), two.clone()));
            }
        }
        let bound = is_bound.values().filter(|bound| **bound).count();
        Ok((bound == count).then_some(()))
    })
    .await?;
    Ok(contested.len())
}

async fn two_of_ours_never_bind_two_pods_to_one_device(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &NODES, DEVICES).await?;
    let count = pods_of_both(cluster, ["ours", "theirs"]).await?;
    // Both begin with everything there, so that they want the same devices at the same time.
    let ours = Worker::start(&cluster.connect()?, &Terms::named("ours"))?;
    let theirs = Worker::start(&cluster.connect()?, &Terms::named("theirs"))?;
    let contested = all_bound(cluster, count).await?;
    println!("{contested} devices were seen in two claims for a moment");
    for worker in [ours, theirs] {
        ensure!(worker.attempts() > 0);
    }
    all_is_well(cluster).await
}
