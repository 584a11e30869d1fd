//! Pods with claims: what is written to claims, and what pods wait for.

use anyhow::{Result, ensure};
use e2e::judge::{all_is_well, devices_of};
use e2e::shapes::{claim, claim_of, class, node, pod_with_claims, request, slice};
use e2e::{Account, Cluster, Terms, Worker, until};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use serde_json::json;

use crate::pods::{refused, scheduled};

crate::on_both![
    a_claim_gets_devices_a_reservation_and_a_finalizer,
    pods_that_share_a_claim_share_its_node,
    requests_and_constraints_are_heeded,
    a_pod_waits_for_a_claim_that_has_yet_to_be_made,
    a_pod_waits_for_devices_that_have_yet_to_be_published,
    a_claim_that_is_deleted_gives_its_devices_to_who_waits,
    a_claim_that_nobody_can_satisfy_says_why,
    a_pod_that_is_deleted_on_its_way_leaves_nothing_reserved,
];

/// A node with so many devices, for each name.
pub async fn nodes_with_devices(cluster: &Cluster, names: &[&str], devices: u32) -> Result<()> {
    cluster.create(&class()?).await?;
    for name in names {
        cluster.create_node(&node(name, 16)?).await?;
        cluster.create(&slice(name, devices)?).await?;
    }
    Ok(())
}

async fn a_claim_gets_devices_a_reservation_and_a_finalizer(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 2).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 2)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    let pod = cluster.bound("p").await?;
    let claim: ResourceClaim = cluster.read("c").await?;
    ensure!(devices_of(&claim) == ["n-1/gpu-0", "n-1/gpu-1"], "it has {:?}", devices_of(&claim));
    ensure!(claim.metadata.finalizers == ["resource.kubernetes.io/delete-protection"]);
    let [user] = &*claim.status.reserved_for else { anyhow::bail!("{:?}", claim.status.reserved_for) };
    ensure!((&*user.resource, &*user.name, &user.uid) == ("pods", "p", &pod.metadata.uid), "{user:?}");
    ensure!(claim.status.allocation.is_some_and(|given| given.node_selector.is_some()));
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    all_is_well(cluster).await
}

async fn pods_that_share_a_claim_share_its_node(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1", "n-2"], 1).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("shared", 1)?).await?;
    let names = ["p-0", "p-1", "p-2", "p-3"];
    for name in names {
        cluster.create(&pod_with_claims(name, &["shared"])?).await?;
    }
    let first = cluster.bound("p-0").await?.spec.node_name;
    for name in names {
        ensure!(cluster.bound(name).await?.spec.node_name == first, "{name} is elsewhere");
    }
    all_is_well(cluster).await
}

async fn requests_and_constraints_are_heeded(cluster: &Cluster) -> Result<()> {
    // Of four devices, two are small and two are large.
    nodes_with_devices(cluster, &["n-1"], 4).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let mut large = request("large", 1);
    let expression = "device.attributes['gpu.example.com'].kind == 'large'";
    large["exactly"]["selectors"] = json!([{ "cel": { "expression": expression } }]);
    let alike = json!([{ "requests": ["large", "any"], "matchAttribute": "gpu.example.com/kind" }]);
    let devices = json!({ "requests": [large, request("any", 1)], "constraints": alike });
    cluster.create(&claim_of("c", &devices)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    cluster.bound("p").await?;
    let claim: ResourceClaim = cluster.read("c").await?;
    ensure!(devices_of(&claim) == ["n-1/gpu-2", "n-1/gpu-3"], "it has {:?}", devices_of(&claim));
    all_is_well(cluster).await
}

async fn a_pod_waits_for_a_claim_that_has_yet_to_be_made(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 2).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    // A pod that came later is bound, so the first was looked at.
    cluster.create(&claim("other", 1)?).await?;
    cluster.create(&pod_with_claims("later", &["other"])?).await?;
    cluster.bound("later").await?;
    ensure!(cluster.read::<Pod>("p").await?.spec.node_name.is_empty());
    cluster.create(&claim("c", 1)?).await?;
    cluster.bound("p").await?;
    all_is_well(cluster).await
}

async fn a_pod_waits_for_devices_that_have_yet_to_be_published(cluster: &Cluster) -> Result<()> {
    cluster.create(&class()?).await?;
    cluster.create_node(&node("n-1", 4)?).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    cluster.pod_when("p", "is refused", refused).await?;
    cluster.create(&slice("n-1", 1)?).await?;
    cluster.bound("p").await?;
    all_is_well(cluster).await
}

async fn a_claim_that_is_deleted_gives_its_devices_to_who_waits(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 1).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    for name in ["first", "second"] {
        cluster.create(&claim(name, 1)?).await?;
        cluster.create(&pod_with_claims(name, &[name])?).await?;
        if name == "first" {
            cluster.bound(name).await?;
        }
    }
    cluster.pod_when("second", "is refused", refused).await?;
    cluster.delete::<Pod>("first").await?;
    cluster.delete::<ResourceClaim>("first").await?;
    // What the controller of claims does in a cluster that has one.
    let nothing = json!({ "status": { "allocation": null, "reservedFor": null } });
    cluster.patch_status::<ResourceClaim>("first", nothing).await?;
    let unprotected = json!({ "metadata": { "finalizers": null } });
    cluster.patch::<ResourceClaim>("first", unprotected).await?;
    cluster.bound("second").await?;
    all_is_well(cluster).await
}

async fn a_claim_that_nobody_can_satisfy_says_why(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1", "n-2"], 2).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 3)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    let waits = cluster.pod_when("p", "is refused", refused).await?;
    let message = scheduled(&waits).map(|one| &*one.message).unwrap_or_default();
    let why = "0/2 nodes are available: 2 cannot allocate all claims.";
    ensure!(message.starts_with(why), "it says {message}");
    ensure!(cluster.event("p", "FailedScheduling").await?.note.starts_with(why));
    let claim: ResourceClaim = cluster.read("c").await?;
    ensure!(claim.status.allocation.is_none() && claim.metadata.finalizers.is_empty());
    Ok(())
}

async fn a_pod_that_is_deleted_on_its_way_leaves_nothing_reserved(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 8).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    worker.working().await?;
    // Each pod is deleted as soon as it is made; how far it got by then is left to chance.
    for at in 0..8 {
        let name = format!("p-{at}");
        cluster.create(&claim(&name, 1)?).await?;
        cluster.create(&pod_with_claims(&name, &[&name])?).await?;
        cluster.delete::<Pod>(&name).await?;
    }
    // Those that were bound before they were deleted are left to the controller of claims.
    until("no claim of a pod that was never bound is reserved", async || {
        let claims: Vec<ResourceClaim> = cluster.list().await?;
        let events: Vec<objects::events::Event> = cluster.list().await?;
        let was_bound = |name: &str| {
            events.iter().any(|event| event.regarding.name == name && event.reason == "Scheduled")
        };
        let reserved = claims.iter().filter(|claim| !claim.status.reserved_for.is_empty());
        let left = reserved.filter(|claim| !was_bound(&claim.metadata.name)).count();
        Ok((left == 0).then_some(()))
    })
    .await
}
