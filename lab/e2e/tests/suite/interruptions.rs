//! Work that was left half done, and connections that break.

use anyhow::{Result, ensure};
use e2e::judge::{all_is_well, devices_of};
use e2e::shapes::{DRIVER, claim, pod_with_claims};
use e2e::{Account, Cluster, Terms, Wire, Worker, until};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use serde_json::{Value, json};

use crate::devices::nodes_with_devices;

crate::on_both![
    a_scheduler_goes_on_with_what_another_left_half_done,
    a_claim_that_was_left_on_a_node_that_is_full_moves,
    connections_that_are_cut_cost_nothing_but_time,
];

/// What a scheduler writes to a claim before it binds the pod.
fn allocation(node: &str, device: &str) -> Value {
    let fields = json!([{ "key": "metadata.name", "operator": "In", "values": [node] }]);
    json!({
        "devices": { "results": [
            { "request": "devices", "driver": DRIVER, "pool": node, "device": device },
        ] },
        "nodeSelector": { "nodeSelectorTerms": [{ "matchFields": fields }] },
    })
}

/// A pod with a claim that has a device already, and is reserved for it if so wished.
async fn half_done(cluster: &Cluster, name: &str, node: &str, device: &str, reserved: bool) -> Result<()> {
    let mut new = claim(name, 1)?;
    new.metadata.finalizers = vec!["resource.kubernetes.io/delete-protection".to_owned()];
    cluster.create(&new).await?;
    let pod = cluster.create(&pod_with_claims(name, &[name])?).await?;
    let user = json!({ "resource": "pods", "name": name, "uid": pod.metadata.uid });
    let mut status = json!({ "allocation": allocation(node, device) });
    if reserved {
        status["reservedFor"] = json!([user]);
    }
    cluster.patch_status::<ResourceClaim>(name, json!({ "status": status })).await.map(drop)
}

async fn a_scheduler_goes_on_with_what_another_left_half_done(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1", "n-2"], 2).await?;
    half_done(cluster, "reserved", "n-2", "gpu-1", true).await?;
    half_done(cluster, "allocated", "n-2", "gpu-0", false).await?;
    let mut protected = claim("protected", 1)?;
    protected.metadata.finalizers = vec!["resource.kubernetes.io/delete-protection".to_owned()];
    cluster.create(&protected).await?;
    cluster.create(&pod_with_claims("protected", &["protected"])?).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    for (name, device) in [("reserved", "n-2/gpu-1"), ("allocated", "n-2/gpu-0"), ("protected", "n-1/gpu-0")]
    {
        cluster.bound(name).await?;
        let has = devices_of(&cluster.read(name).await?);
        ensure!(has == [device], "{name} has {has:?}");
    }
    all_is_well(cluster).await
}

async fn a_claim_that_was_left_on_a_node_that_is_full_moves(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1", "n-2"], 1).await?;
    half_done(cluster, "p", "n-1", "gpu-0", true).await?;
    cluster.patch::<objects::core::node::Node>("n-1", json!({ "spec": { "unschedulable": true } })).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    ensure!(cluster.bound("p").await?.spec.node_name == "n-2");
    all_is_well(cluster).await
}

async fn connections_that_are_cut_cost_nothing_but_time(cluster: &Cluster) -> Result<()> {
    const ROUNDS: usize = 4;
    const PODS: usize = 8;
    nodes_with_devices(cluster, &["n-1", "n-2", "n-3", "n-4"], 8).await?;
    let wire = Wire::lay(cluster).await?;
    let worker = Worker::start(&wire.connect()?, &Terms::default())?;
    worker.working().await?;
    for round in 0..ROUNDS {
        for at in 0..PODS {
            let name = format!("p-{round}-{at}");
            cluster.create(&claim(&name, 1)?).await?;
            cluster.create(&pod_with_claims(&name, &[&name])?).await?;
        }
        // In the middle of a round, so that writes and watches are under way.
        bound(cluster, round * PODS + 1).await?;
        wire.cut();
    }
    bound(cluster, ROUNDS * PODS).await?;
    ensure!(worker.interruptions() > 0, "nothing was cut");
    all_is_well(cluster).await
}

/// Waits until at least so many pods are bound.
async fn bound(cluster: &Cluster, count: usize) -> Result<()> {
    until(&format!("{count} pods are bound"), async || {
        let pods: Vec<Pod> = cluster.list().await?;
        let bound = pods.iter().filter(|pod| !pod.spec.node_name.is_empty()).count();
        Ok((bound >= count).then_some(()))
    })
    .await
}
