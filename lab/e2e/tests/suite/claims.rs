//! The life of claims where kube-controller-manager does not run: ours do its work.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use e2e::judge::devices_of;
use e2e::shapes::{claim, pod, pod_with_claims, request, template};
use e2e::{Account, Cluster, Keeper, Terms, Worker, until};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use serde_json::json;

use crate::devices::nodes_with_devices;

crate::on_both![
    claims_from_templates_come_and_go_with_their_pods,
    devices_of_a_pod_that_is_gone_are_for_the_next,
    what_is_allocated_is_reserved_for_a_pod_that_was_bound_by_hand,
    controllers_that_stop_anywhere_leave_nothing_that_others_do_not_put_away,
];

const CLAIMS: &[&str] = &["resourceclaim-controller"];

/// A pod that wants a device of its own.
fn claimant(name: &str) -> Result<Pod> {
    pod(name, json!({ "resourceClaims": [{ "name": "gpu", "resourceClaimTemplateName": "t" }] }))
}

/// Waits until no claim is left.
async fn no_claims(cluster: &Cluster) -> Result<()> {
    let gone = async || Ok(cluster.list::<ResourceClaim>().await?.is_empty().then_some(()));
    until("all claims are gone", gone).await
}

async fn succeed(cluster: &Cluster, name: &str) -> Result<()> {
    cluster.patch_status::<Pod>(name, json!({ "status": { "phase": "Succeeded" } })).await.map(drop)
}

async fn claims_from_templates_come_and_go_with_their_pods(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 2).await?;
    cluster.create(&template("t", &json!({ "requests": [request("gpu", 1)] }))?).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, CLAIMS)?;
    for name in ["a", "b"] {
        cluster.create(&claimant(name)?).await?;
    }
    for name in ["a", "b"] {
        let pod = cluster.bound(name).await?;
        let status = pod.status.resource_claim_statuses.first().context("it names its claim")?;
        let claim = status.resource_claim_name.as_deref().context("it names its claim")?;
        ensure!(claim.starts_with(&format!("{name}-gpu-")), "it is {claim}");
        let claim: ResourceClaim = cluster.read(claim).await?;
        ensure!(claim.status.reserved_for.iter().any(|user| user.uid == pod.metadata.uid));
    }
    // One ends and stays, the other goes.
    succeed(cluster, "a").await?;
    cluster.delete::<Pod>("b").await?;
    no_claims(cluster).await?;
    ensure!(keeper.troubles().is_empty(), "{:?}", keeper.troubles());
    Ok(())
}

async fn devices_of_a_pod_that_is_gone_are_for_the_next(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 1).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, CLAIMS)?;
    for name in ["first", "second"] {
        cluster.create(&claim(name, 1)?).await?;
    }
    cluster.create(&pod_with_claims("first", &["first"])?).await?;
    cluster.bound("first").await?;
    cluster.create(&pod_with_claims("second", &["second"])?).await?;
    cluster.delete::<Pod>("first").await?;
    cluster.bound("second").await?;
    until("the first claim is as it was", async || {
        let claim: ResourceClaim = cluster.read("first").await?;
        let is_free = claim.status.allocation.is_none() && claim.status.reserved_for.is_empty();
        Ok((is_free && claim.metadata.finalizers.is_empty()).then_some(()))
    })
    .await
}

async fn what_is_allocated_is_reserved_for_a_pod_that_was_bound_by_hand(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 1).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("first", &["c"])?).await?;
    cluster.bound("first").await?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, CLAIMS)?;
    let mut by_hand = pod_with_claims("by-hand", &["c"])?;
    by_hand.spec.node_name = "n-1".to_owned();
    // No scheduler of ours looks after it.
    by_hand.spec.scheduler_name = "nobody".to_owned();
    let by_hand = cluster.create(&by_hand).await?;
    until("it is reserved for both", async || {
        let claim: ResourceClaim = cluster.read("c").await?;
        let users: BTreeSet<&str> = claim.status.reserved_for.iter().map(|user| &*user.uid).collect();
        Ok((users.len() == 2 && users.contains(&*by_hand.metadata.uid)).then_some(()))
    })
    .await
}

async fn controllers_that_stop_anywhere_leave_nothing_that_others_do_not_put_away(
    cluster: &Cluster,
) -> Result<()> {
    nodes_with_devices(cluster, &["n-1", "n-2"], 8).await?;
    cluster.create(&template("t", &json!({ "requests": [request("gpu", 1)] }))?).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let names: Vec<String> = (0..16).map(|at| format!("p-{at}")).collect();
    for name in &names {
        cluster.create(&claimant(name)?).await?;
    }
    let all_bound = async || {
        let pods: Vec<Pod> = cluster.list().await?;
        Ok(pods.iter().all(|pod| !pod.spec.node_name.is_empty()))
    };
    in_pieces(cluster, all_bound).await?;
    let claims: Vec<ResourceClaim> = cluster.list().await?;
    let devices: BTreeSet<String> = claims.iter().flat_map(devices_of).collect();
    ensure!(devices.len() == names.len(), "{devices:?}");
    for (at, name) in names.iter().enumerate() {
        if at % 2 == 0 { succeed(cluster, name).await? } else { cluster.delete::<Pod>(name).await? }
    }
    in_pieces(cluster, async || Ok(cluster.list::<ResourceClaim>().await?.is_empty())).await
}

/// Runs controllers for a moment at a time, until something is so.
async fn in_pieces(cluster: &Cluster, is_so: impl AsyncFn() -> Result<bool>) -> Result<()> {
    let mut life = 20;
    until("it is so", async || {
        let keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, CLAIMS)?;
        life += 7;
        tokio::time::sleep(std::time::Duration::from_millis(life)).await;
        drop(keeper);
        Ok(is_so().await?.then_some(()))
    })
    .await
}
