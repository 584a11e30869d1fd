//! Two schedulers, of which one leads; and one that follows nobody and writes nothing.

use anyhow::{Result, ensure};
use e2e::shapes::{claim, node, pod, pod_of_cpus, pod_with_claims};
use e2e::{Account, Cluster, Kind, Servant, Terms, Worker, until};
use objects::coordination::Lease;
use objects::core::kinds::Binding;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::events::Event;
use objects::resource::claim::ResourceClaim;
use objects::resource::slice::ResourceSlice;
use runtime::{Comparison, Ended};
use serde_json::json;

use crate::devices::nodes_with_devices;
use crate::stage;

crate::on_both![
    when_the_leader_stops_the_other_goes_on_at_once,
    when_the_leader_is_killed_the_other_goes_on_once_its_lease_has_run_out,
    a_shadow_writes_nothing_and_says_where_it_would_differ,
];

async fn holder(cluster: &Cluster) -> Result<String> {
    let lease: Option<Lease> = cluster.get("e2e").await?;
    Ok(lease.and_then(|lease| lease.spec.holder_identity).unwrap_or_default())
}

async fn when_the_leader_stops_the_other_goes_on_at_once(cluster: &Cluster) -> Result<()> {
    cluster.create_node(&node("n-1", 4)?).await?;
    let first = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::candidate("first"))?;
    first.working().await?;
    let second = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::candidate("second"))?;
    second.following("first").await?;
    cluster.create(&pod("p-1", json!({}))?).await?;
    cluster.bound("p-1").await?;
    ensure!(second.attempts() == 0, "who follows looks at no pod");
    ensure!(first.stop().await? == Ended::Stopped);
    cluster.create(&pod("p-2", json!({}))?).await?;
    second.working().await?;
    ensure!(holder(cluster).await? == "second");
    cluster.bound("p-2").await.map(drop)
}

async fn when_the_leader_is_killed_the_other_goes_on_once_its_lease_has_run_out(
    cluster: &Cluster,
) -> Result<()> {
    cluster.create_node(&node("n-1", 4)?).await?;
    let first = Servant::start(&stage::program(), cluster, &Terms::candidate("first"))?;
    until("the first leads", async || Ok((holder(cluster).await? == "first").then_some(()))).await?;
    let second = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::candidate("second"))?;
    second.following("first").await?;
    cluster.create(&pod("p-1", json!({}))?).await?;
    cluster.bound("p-1").await?;
    first.kill()?;
    cluster.create(&pod("p-2", json!({}))?).await?;
    cluster.bound("p-2").await?;
    ensure!(holder(cluster).await? == "second");
    Ok(())
}

/// Names and versions of everything that a scheduler could write to.
async fn versions(cluster: &Cluster) -> Result<Vec<(String, String)>> {
    async fn add<K: Kind>(cluster: &Cluster, to: &mut Vec<(String, String)>) -> Result<()> {
        for object in cluster.list::<K>().await? {
            let meta = object.metadata();
            to.push((format!("{} {}", K::KIND, meta.name), meta.resource_version.clone()));
        }
        Ok(())
    }
    let mut versions = Vec::new();
    add::<Pod>(cluster, &mut versions).await?;
    add::<ResourceClaim>(cluster, &mut versions).await?;
    add::<Node>(cluster, &mut versions).await?;
    add::<ResourceSlice>(cluster, &mut versions).await?;
    add::<Event>(cluster, &mut versions).await?;
    add::<Lease>(cluster, &mut versions).await?;
    versions.sort();
    Ok(versions)
}

async fn a_shadow_writes_nothing_and_says_where_it_would_differ(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1", "n-2"], 1).await?;
    let on_first = || json!({ "nodeSelector": { "kubernetes.io/hostname": "n-1" } });
    cluster.create(&pod("same", on_first())?).await?;
    cluster.create(&pod("other", on_first())?).await?;
    cluster.create(&pod_of_cpus("refused", 99)?).await?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("with-claim", &["c"])?).await?;
    let before = versions(cluster).await?;
    let shadow =
        Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms { shadow: true, ..Terms::default() })?;
    until("it has looked at all pods", async || Ok((shadow.attempts() >= 4).then_some(()))).await?;
    ensure!(versions(cluster).await? == before, "it wrote something");
    for (name, node) in [("same", "n-1"), ("other", "n-2"), ("refused", "n-2")] {
        let mut binding = Binding::default();
        binding.metadata.namespace = "default".to_owned();
        binding.metadata.name = name.to_owned();
        binding.target.kind = "Node".to_owned();
        binding.target.name = node.to_owned();
        let answer = cluster.connection().bind(&binding).await;
        ensure!(answer.trouble().is_none(), "{:?}", answer.trouble());
    }
    until("it has compared all that was bound", async || Ok((shadow.compared().len() == 3).then_some(())))
        .await?;
    for (name, node, comparison) in shadow.compared() {
        let as_expected = match (&*name, &*node, &comparison) {
            ("same", "n-1", Comparison::Same) => true,
            ("other", "n-2", Comparison::Other { ours }) => **ours == *"n-1",
            ("refused", "n-2", Comparison::Refused { reason }) => reason.contains("2 Insufficient cpu"),
            _ => false,
        };
        ensure!(as_expected, "{name} on {node}: {comparison:?}");
    }
    ensure!(cluster.list::<Event>().await?.is_empty(), "a shadow announces nothing");
    ensure!(cluster.read::<ResourceClaim>("c").await?.status.allocation.is_none());
    Ok(())
}
