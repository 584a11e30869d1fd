//! Nodes and devices that are lost, with controllers at work beside the scheduler: what was theirs goes to others.

use std::time::Duration;

use anyhow::{Result, ensure};
use client::{Connection, Patch, Resource};
use e2e::judge::{all_is_well, devices_of};
use e2e::shapes::{DRIVER, claim, class, node, object, pod_with_claims};
use e2e::{Account, Cluster, Terms, Wire, Worker, until};
use objects::coordination::Lease;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::ResourceSlice;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use upkeep::Grace;

crate::on_both![
    a_device_that_other_nodes_reach_is_used_again_after_its_node_is_lost,
    a_device_that_is_tainted_is_left_for_another,
    who_hears_nobody_gives_nobody_up,
];

/// Controllers that work until this is dropped.
fn controllers(connection: Connection, limits: upkeep::Limits) -> JoinSet<()> {
    let options = upkeep::Options { limits, ..upkeep::Options::default() };
    let mut crew = JoinSet::new();
    crew.spawn(upkeep::run(connection, options, std::future::pending()));
    crew
}

/// A node that is gone is missed for a second.
fn hasty() -> upkeep::Limits {
    upkeep::Limits { quarantine: Duration::from_secs(1), ..upkeep::Limits::default() }
}

/// Two nodes, and so many devices that both reach.
async fn fabric(cluster: &Cluster, devices: usize) -> Result<()> {
    cluster.create(&class()?).await?;
    for name in ["n-1", "n-2"] {
        cluster.create_node(&node(name, 16)?).await?;
    }
    let devices: Vec<_> = (0..devices).map(|at| json!({ "name": format!("gpu-{at}") })).collect();
    let pool = json!({ "name": "fabric", "generation": 1, "resourceSliceCount": 1 });
    let slice = json!({
        "metadata": { "name": "fabric" },
        "spec": { "driver": DRIVER, "allNodes": true, "pool": pool, "devices": devices },
    });
    cluster.create(&object::<ResourceSlice>(&slice)?).await?;
    Ok(())
}

async fn a_device_that_other_nodes_reach_is_used_again_after_its_node_is_lost(
    cluster: &Cluster,
) -> Result<()> {
    fabric(cluster, 1).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let _controllers = controllers(cluster.connect_as(Account::Controllers)?, hasty());
    cluster.create(&claim("first", 1)?).await?;
    cluster.create(&pod_with_claims("p-1", &["first"])?).await?;
    let lost = cluster.bound("p-1").await?.spec.node_name;
    cluster.create(&claim("second", 1)?).await?;
    cluster.create(&pod_with_claims("p-2", &["second"])?).await?;
    cluster.pod_when("p-2", "waits", |pod| !pod.status.conditions.is_empty()).await?;
    ensure!(cluster.read::<Pod>("p-2").await?.spec.node_name.is_empty(), "there is one device");
    cluster.delete::<Node>(&lost).await?;
    let pod = cluster.bound("p-2").await?;
    ensure!(pod.spec.node_name != lost, "it is on a node that is not there");
    ensure!(cluster.get::<Pod>("p-1").await?.is_none(), "nobody removed the pod of the lost node");
    let (first, second) = (cluster.read::<ResourceClaim>("first").await?, cluster.read("second").await?);
    ensure!(first.status.allocation.is_none() && first.status.reserved_for.is_empty(), "{:?}", first.status);
    ensure!(devices_of(&second) == ["fabric/gpu-0"], "it has {:?}", devices_of(&second));
    all_is_well(cluster).await
}

async fn a_device_that_is_tainted_is_left_for_another(cluster: &Cluster) -> Result<()> {
    fabric(cluster, 2).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let _controllers = controllers(cluster.connect_as(Account::Controllers)?, hasty());
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    cluster.bound("p").await?;
    let given: ResourceClaim = cluster.read("c").await?;
    ensure!(devices_of(&given) == ["fabric/gpu-0"], "it has {:?}", devices_of(&given));
    let selector = json!({ "driver": DRIVER, "pool": "fabric", "device": "gpu-0" });
    let taint = json!({ "key": "broken", "effect": "NoExecute" });
    let rule = json!({ "metadata": { "name": "r" }, "spec": { "deviceSelector": selector, "taint": taint } });
    cluster.create(&object::<DeviceTaintRule>(&rule)?).await?;
    until("the pod is gone", async || Ok(cluster.get::<Pod>("p").await?.is_none().then_some(()))).await?;
    until("the rule says so", async || {
        let rule: DeviceTaintRule = cluster.read("r").await?;
        Ok(rule.status.conditions.iter().any(|said| said.type_ == "EvictionInProgress").then_some(()))
    })
    .await?;
    // Who comes again gets the other device.
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    cluster.bound("p").await?;
    let given: ResourceClaim = cluster.read("c").await?;
    ensure!(devices_of(&given) == ["fabric/gpu-1"], "it has {:?}", devices_of(&given));
    all_is_well(cluster).await
}

/// A node's signs of life, for as long as this lives.
async fn alive(cluster: &Cluster, node: &'static str) -> Result<JoinSet<()>> {
    let leases = Resource::<Lease>::named("leases").within("kube-node-lease");
    let lease = json!({ "metadata": { "name": node, "namespace": "kube-node-lease" }, "spec": {} });
    let connection = cluster.connect()?;
    // Another case may have left it.
    let _ = connection.create(&leases, &object::<Lease>(&lease)?).await;
    let mut life = JoinSet::new();
    life.spawn(async move {
        for count in 0_u64.. {
            let time = format!("2026-01-02T03:04:05.{:06}Z", count % 1_000_000);
            let renewal = json!({ "spec": { "renewTime": time } });
            let _ = connection.patch(&leases, node, &Patch::Merge, &renewal).await;
            sleep(Duration::from_millis(200)).await;
        }
    });
    Ok(life)
}

async fn ready_and_untainted(cluster: &Cluster, node: &str) -> Result<bool> {
    let node: Node = cluster.read(node).await?;
    let mut conditions = node.status.conditions.iter();
    Ok(node.spec.taints.is_empty() && conditions.any(|one| one.type_ == "Ready" && one.status == "True"))
}

async fn who_hears_nobody_gives_nobody_up(cluster: &Cluster) -> Result<()> {
    let nodes = ["n-1", "n-2"];
    let mut lives = Vec::new();
    for name in nodes {
        cluster.create_node(&node(name, 1)?).await?;
        lives.push(alive(cluster, name).await?);
    }
    let wire = Wire::lay(cluster).await?;
    let silent = Duration::from_secs(2);
    let limits = upkeep::Limits { grace: Grace { silent, starting: silent }, ..hasty() };
    let _controllers = controllers(wire.connect()?, limits);
    let all_stay = async |time: Duration| -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < time {
            for name in nodes {
                ensure!(ready_and_untainted(cluster, name).await?, "{name} was given up");
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    };
    until("taints that nodes are born with are gone", async || {
        Ok(ready_and_untainted(cluster, "n-2").await?.then_some(()))
    })
    .await?;
    all_stay(silent).await?;
    wire.go_dead();
    all_stay(silent * 4).await?;
    wire.cut();
    all_stay(silent * 2).await?;
    // Now it is heard that one is silent.
    lives.pop();
    until("the node is given up", async || Ok((!ready_and_untainted(cluster, "n-2").await?).then_some(())))
        .await?;
    ensure!(ready_and_untainted(cluster, "n-1").await?, "n-1 was given up too");
    Ok(())
}
