//! The lives of many claims in short, and pods that were bound by hand: the long form is `cargo run -p e2e -- life`.

use anyhow::{Result, ensure};
use e2e::judge::{all_is_well, devices_of};
use e2e::life::LifeOptions;
use e2e::shapes::{claim, pod_of_cpus, pod_with_claims};
use e2e::{Account, Cluster, Terms, Worker, until};
use objects::resource::claim::ResourceClaim;

use crate::devices::nodes_with_devices;

crate::on_both![a_pod_that_is_bound_by_hand_gets_devices_on_its_node_or_says_why_not;
    embedded: of_hundred_and_twenty_pods_with_claims_from_a_template_nothing_is_left];

async fn of_hundred_and_twenty_pods_with_claims_from_a_template_nothing_is_left(
    cluster: &Cluster,
) -> Result<()> {
    let options = LifeOptions { pods: 120, at_once: 60, nodes: 4, devices: 8 };
    let report = options.run(cluster).await?;
    ensure!(report.complaints.is_empty(), "{:?}", report.complaints);
    Ok(())
}

async fn a_pod_that_is_bound_by_hand_gets_devices_on_its_node_or_says_why_not(
    cluster: &Cluster,
) -> Result<()> {
    nodes_with_devices(cluster, &["n-1", "n-2"], 1).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    for name in ["first", "second"] {
        cluster.create(&claim(name, 1)?).await?;
        let mut pod = pod_with_claims(name, &[name])?;
        pod.spec.node_name = "n-2".to_owned();
        cluster.create(&pod).await?;
        if name == "first" {
            until("the first claim has its device", async || {
                let claim: ResourceClaim = cluster.read(name).await?;
                Ok((!claim.status.reserved_for.is_empty()).then_some(()))
            })
            .await?;
        }
    }
    let first: ResourceClaim = cluster.read("first").await?;
    ensure!(devices_of(&first) == ["n-2/gpu-0"], "it has {:?}", devices_of(&first));
    let event = cluster.event("second", "FailedScheduling").await?;
    let told = "bound to node n-2 without devices for its claims: cannot allocate all claims.";
    ensure!(event.note.starts_with(told), "{}", event.note);
    // When the device is free again, the other gets it.
    cluster.delete::<objects::core::pod::Pod>("first").await?;
    // Who hears of a pod that was made later has heard that the first is gone, and gives its claim nothing any more.
    cluster.create(&pod_of_cpus("later", 1)?).await?;
    cluster.bound("later").await?;
    let status = serde_json::json!({ "status": { "allocation": null, "reservedFor": null } });
    cluster.patch_status::<ResourceClaim>("first", status).await?;
    until("the second claim has its device", async || {
        let claim: ResourceClaim = cluster.read("second").await?;
        Ok((devices_of(&claim) == ["n-2/gpu-0"]).then_some(()))
    })
    .await?;
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    all_is_well(cluster).await
}
