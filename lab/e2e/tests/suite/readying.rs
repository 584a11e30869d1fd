//! Devices that are made ready once they are chosen: what pods wait for, and what becomes of them.

use anyhow::{Context, Result, ensure};
use e2e::judge::{all_is_well, devices_of};
use e2e::shapes::{DRIVER, claim, class, node, object, pod_with_claims, slice};
use e2e::{Account, Cluster, Served, Terms, Worker, until};
use gates::{Gate, Gates};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::events::Event;
use objects::resource::claim::ResourceClaim;
use objects::resource::slice::ResourceSlice;
use objects::scheduling::pod_group::PodGroup;
use serde_json::{Value, json};

use crate::pods::scheduled;

crate::on_both![
    a_pod_is_bound_when_its_device_is_reported_ready,
    a_failure_clears_the_claim_and_the_pod_takes_another_device,
    a_pod_that_is_deleted_while_it_waits_leaves_its_device_to_others,
    a_claim_that_somebody_clears_ends_the_wait,
    a_scheduler_that_begins_anew_waits_on_for_the_same_device,
    a_device_has_a_time_of_its_own,
    a_pod_that_was_bound_by_hand_cannot_wait_and_says_so,
    a_pod_that_waits_says_so_and_leaves_nodes_that_are_cordoned_or_deleted;
    embedded: each_of_several_pods_is_bound_when_its_own_device_is_ready
];

/// A node with so many devices that have to be attached first.
async fn fabric(cluster: &Cluster, devices: u32, timeouts: Value) -> Result<()> {
    cluster.create(&class()?).await?;
    add_node(cluster, "n-1", devices, timeouts).await
}

async fn add_node(cluster: &Cluster, name: &str, devices: u32, timeouts: Value) -> Result<()> {
    cluster.create_node(&node(name, 16)?).await?;
    let mut slice = serde_json::to_value(slice(name, devices)?)?;
    for device in slice["spec"]["devices"].as_array_mut().into_iter().flatten() {
        device["bindsToNode"] = json!(true);
        device["bindingConditions"] = json!(["Attached"]);
        device["bindingFailureConditions"] = json!(["AttachFailed"]);
    }
    // A real server knows no such field.
    slice["metadata"]["annotations"] = json!({ "supercargo.dev/binding-timeouts": timeouts.to_string() });
    cluster.create(&object::<ResourceSlice>(&slice)?).await.map(drop)
}

/// Waits until a claim has devices.
async fn allocated(cluster: &Cluster, name: &str) -> Result<ResourceClaim> {
    until(&format!("claim {name} has devices"), async || {
        let claim = cluster.get::<ResourceClaim>(name).await?;
        Ok(claim.filter(|claim| claim.status.allocation.is_some()))
    })
    .await
}

/// Waits until a pod waits for its devices.
async fn pending(cluster: &Cluster, pod: &str) -> Result<Event> {
    cluster.pod_when(pod, "is nominated", |pod| pod.status.nominated_node_name == "n-1").await?;
    cluster.event(pod, "BindingConditionsPending").await
}

/// Reports a condition of all devices of a claim.
async fn report(cluster: &Cluster, name: &str, condition: &str) -> Result<()> {
    let claim: ResourceClaim = cluster.read(name).await?;
    let results = claim.status.allocation.context("it has devices")?.devices.results;
    let device = |pool: &str, device: &str| {
        let reported = json!({
            "type": condition, "status": "True", "reason": "Test", "message": "said by a test",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        });
        json!({ "driver": DRIVER, "pool": pool, "device": device, "conditions": [reported] })
    };
    let devices: Vec<Value> = results.iter().map(|one| device(&one.pool, &one.device)).collect();
    cluster.patch_status::<ResourceClaim>(name, json!({ "status": { "devices": devices } })).await.map(drop)
}

async fn a_pod_is_bound_when_its_device_is_reported_ready(cluster: &Cluster) -> Result<()> {
    fabric(cluster, 1, json!({})).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    let event = pending(cluster, "p").await?;
    let note = "waiting for binding conditions for device on node n-1: claim default/c, device gpu.example.com/n-1/gpu-0: Attached not reported yet";
    let until = event.note.strip_prefix(note).is_some_and(|rest| rest.starts_with(", until "));
    ensure!(until && event.type_ == "Normal", "{event:?}");
    let claim: ResourceClaim = cluster.read("c").await?;
    let allocation = claim.status.allocation.context("it has devices")?;
    ensure!(
        allocation.allocation_timestamp.is_some() && allocation.node_selector.is_some(),
        "{allocation:?}"
    );
    ensure!(allocation.devices.results[0].binding_conditions == ["Attached"]);
    ensure!(cluster.read::<Pod>("p").await?.spec.node_name.is_empty(), "it is bound too early");
    report(cluster, "c", "Attached").await?;
    cluster.bound("p").await?;
    let events = cluster.list::<Event>().await?.into_iter();
    ensure!(events.filter(|event| event.reason == "BindingConditionsPending").count() == 1);
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    all_is_well(cluster).await
}

async fn a_failure_clears_the_claim_and_the_pod_takes_another_device(cluster: &Cluster) -> Result<()> {
    fabric(cluster, 2, json!({})).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    pending(cluster, "p").await?;
    let first = devices_of(&cluster.read("c").await?);
    report(cluster, "c", "AttachFailed").await?;
    let event = cluster.event("p", "FailedScheduling").await?;
    ensure!(
        event.note.starts_with("device binding failed: claim=default/c, device=gpu.example.com/n-1/gpu-0")
    );
    let second = until("it has another device", async || {
        let devices = devices_of(&cluster.read("c").await?);
        Ok((!devices.is_empty() && devices != first).then_some(devices))
    });
    let second = second.await?;
    ensure!(second == ["n-1/gpu-1"], "{second:?}");
    let claim: ResourceClaim = cluster.read("c").await?;
    ensure!(claim.status.devices.is_empty(), "what was reported of the first device is gone");
    report(cluster, "c", "Attached").await?;
    cluster.bound("p").await?;
    all_is_well(cluster).await
}

async fn a_pod_that_is_deleted_while_it_waits_leaves_its_device_to_others(cluster: &Cluster) -> Result<()> {
    fabric(cluster, 1, json!({})).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    for name in ["first", "second"] {
        cluster.create(&claim(name, 1)?).await?;
    }
    cluster.create(&pod_with_claims("first", &["first"])?).await?;
    pending(cluster, "first").await?;
    cluster.create(&pod_with_claims("second", &["second"])?).await?;
    cluster.delete::<Pod>("first").await?;
    allocated(cluster, "second").await?;
    ensure!(cluster.read::<ResourceClaim>("first").await?.status.reserved_for.is_empty());
    report(cluster, "second", "Attached").await?;
    cluster.bound("second").await?;
    all_is_well(cluster).await
}

async fn a_claim_that_somebody_clears_ends_the_wait(cluster: &Cluster) -> Result<()> {
    fabric(cluster, 1, json!({})).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    pending(cluster, "p").await?;
    let cleared = json!({ "status": { "allocation": null, "reservedFor": null, "devices": null } });
    cluster.patch_status::<ResourceClaim>("c", cleared).await?;
    cluster.event("p", "FailedScheduling").await?;
    allocated(cluster, "c").await?;
    report(cluster, "c", "Attached").await?;
    cluster.bound("p").await?;
    all_is_well(cluster).await
}

async fn a_scheduler_that_begins_anew_waits_on_for_the_same_device(cluster: &Cluster) -> Result<()> {
    fabric(cluster, 4, json!({})).await?;
    let first = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    pending(cluster, "p").await?;
    let before: ResourceClaim = cluster.read("c").await?;
    drop(first);
    let _second = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    until("it waits again", async || {
        let events = cluster.list::<Event>().await?.into_iter();
        let waits = events.filter(|event| event.reason == "BindingConditionsPending").count();
        Ok((waits == 2).then_some(()))
    })
    .await?;
    let after: ResourceClaim = cluster.read("c").await?;
    ensure!(before.status.allocation == after.status.allocation, "{after:?}");
    report(cluster, "c", "Attached").await?;
    cluster.bound("p").await?;
    all_is_well(cluster).await
}

async fn a_device_has_a_time_of_its_own(cluster: &Cluster) -> Result<()> {
    fabric(cluster, 1, json!({ "gpu-0": "1s" })).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    let event = cluster.event("p", "FailedScheduling").await?;
    ensure!(event.note.starts_with("device binding timeout: claim=default/c, device"), "{event:?}");
    ensure!(event.note.ends_with("Attached not reported yet after 1 s"), "{event:?}");
    Ok(())
}

async fn a_pod_that_was_bound_by_hand_cannot_wait_and_says_so(cluster: &Cluster) -> Result<()> {
    fabric(cluster, 1, json!({})).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 1)?).await?;
    let mut pod = pod_with_claims("p", &["c"])?;
    pod.spec.node_name = "n-1".to_owned();
    cluster.create(&pod).await?;
    let event = cluster.event("p", "BindingConditionsPending").await?;
    ensure!(event.note.starts_with("already bound to node n-1, so binding conditions"), "{event:?}");
    let claim = allocated(cluster, "c").await?;
    let results = claim.status.allocation.context("it has devices")?.devices.results;
    ensure!(results[0].binding_conditions == ["Attached"], "{results:?}");
    ensure!(!claim.status.reserved_for.is_empty(), "it is the pod's");
    Ok(())
}

async fn a_pod_that_waits_says_so_and_leaves_nodes_that_are_cordoned_or_deleted(
    cluster: &Cluster,
) -> Result<()> {
    fabric(cluster, 1, json!({})).await?;
    for name in ["n-2", "n-3"] {
        add_node(cluster, name, 1, json!({})).await?;
    }
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    let first = waits_on_another_node(cluster, &[]).await?;
    cluster.patch::<Node>(&first, json!({ "spec": { "unschedulable": true } })).await?;
    let second = waits_on_another_node(cluster, &[&first]).await?;
    cluster.delete::<Node>(&second).await?;
    let third = waits_on_another_node(cluster, &[&first, &second]).await?;
    report(cluster, "c", "Attached").await?;
    let bound = cluster.bound("p").await?;
    ensure!(bound.spec.node_name == third, "it is on {}", bound.spec.node_name);
    ensure!(devices_of(&cluster.read("c").await?) == [format!("{third}/gpu-0")]);
    for why in ["was cordoned", "was deleted"] {
        let events = cluster.list::<Event>().await?;
        ensure!(
            events.iter().any(|event| event.note.contains(why)),
            "no event that a node {why}: {events:?}"
        );
    }
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

/// Waits until the pod waits for a device of a node other than these, and its condition names that. Says which node it is.
async fn waits_on_another_node(cluster: &Cluster, but: &[&str]) -> Result<String> {
    let waits = cluster
        .pod_when("p", "waits for its device on another node", |pod| {
            let node = &*pod.status.nominated_node_name;
            let device =
                format!("device on node {node}: claim default/c, device {DRIVER}/{node}/gpu-0: Attached");
            let says = scheduled(pod).is_some_and(|one| {
                (&*one.status, &*one.reason) == ("False", "BindingConditionsPending")
                    && one.message.contains(&device)
            });
            pod.spec.node_name.is_empty() && !node.is_empty() && !but.contains(&node) && says
        })
        .await?;
    Ok(waits.status.nominated_node_name)
}

/// The long form is `cargo run --release -p e2e -- ready`.
async fn each_of_several_pods_is_bound_when_its_own_device_is_ready(cluster: &Cluster) -> Result<()> {
    let report = e2e::ready::ReadyOptions { pods: 12 }.run(cluster).await?;
    ensure!(report.times.len() == 12);
    Ok(())
}

/// What is stored stays while the feature is off, is not chosen, and is chosen when it is on again.
#[test]
fn the_feature_can_be_switched_off_and_on_again() -> Result<()> {
    let off = Gates::default().with(Gate::DRADeviceBindingConditions, false);
    crate::stage::kept(async |cluster| {
        fabric(&cluster, 1, json!({})).await?;
        let cluster = cluster.begun_anew(off)?;
        let label = json!({ "metadata": { "labels": { "touched": "yes" } } });
        let name = cluster.list::<ResourceSlice>().await?[0].metadata.name.clone();
        let kept: ResourceSlice = cluster.patch(&name, label).await?;
        ensure!(has_conditions(&kept), "what is stored already stays: {kept:?}");
        let mut other = serde_json::to_value(&kept)?;
        other["metadata"] = json!({ "name": "other" });
        other["spec"]["pool"]["name"] = json!("other");
        let stripped = cluster.create(&object::<ResourceSlice>(&other)?).await?;
        ensure!(!has_conditions(&stripped), "what is new is stored without: {stripped:?}");
        cluster.delete::<ResourceSlice>("other").await?;
        let worker = Worker::start(
            &cluster.connect_as(Account::Scheduler)?,
            &Terms { gates: off, ..Terms::default() },
        )?;
        cluster.create(&claim("c", 1)?).await?;
        cluster.create(&pod_with_claims("p", &["c"])?).await?;
        let event = cluster.event("p", "FailedScheduling").await?;
        ensure!(
            event.note.contains("usable while feature gate DRADeviceBindingConditions is off"),
            "{event:?}"
        );
        drop(worker);
        let cluster = cluster.begun_anew(Gates::default())?;
        let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
        pending(&cluster, "p").await?;
        report(&cluster, "c", "Attached").await?;
        cluster.bound("p").await?;
        all_is_well(&cluster).await
    })
}

fn has_conditions(slice: &ResourceSlice) -> bool {
    let mut devices = slice.spec.devices.iter().flatten();
    devices.any(|device| !device.binding_conditions.is_empty() && device.binds_to_node == Some(true))
}

/// Members of a group of pods.
mod together {
    use super::*;

    crate::with_groups![a_gang_is_bound_when_the_devices_of_all_members_are_ready];

    /// A gang of two with a device each: one fails, that member alone gets another, and both are bound at last.
    async fn a_gang_is_bound_when_the_devices_of_all_members_are_ready(cluster: &Cluster) -> Result<()> {
        fabric(cluster, 3, json!({})).await?;
        let _worker = Worker::start(
            &cluster.connect_as(Account::Scheduler)?,
            &Terms { gates: Served::Groups.gates(), ..Terms::default() },
        )?;
        let policy = json!({ "gang": { "minCount": 2 } });
        let group = json!({ "metadata": { "name": "gang", "namespace": "default" }, "spec": { "schedulingPolicy": policy } });
        cluster.create(&object::<PodGroup>(&group)?).await?;
        for name in ["one", "two"] {
            cluster.create(&claim(name, 1)?).await?;
            let mut member = serde_json::to_value(pod_with_claims(name, &[name])?)?;
            member["spec"]["schedulingGroup"] = json!({ "podGroupName": "gang" });
            cluster.create(&object::<Pod>(&member)?).await?;
        }
        for name in ["one", "two"] {
            pending(cluster, name).await?;
        }
        let kept = devices_of(&cluster.read("one").await?);
        let failed = devices_of(&cluster.read("two").await?);
        report(cluster, "one", "Attached").await?;
        report(cluster, "two", "AttachFailed").await?;
        let event = cluster.event("two", "FailedScheduling").await?;
        ensure!(event.note.starts_with("device binding failed: claim=default/two"), "{event:?}");
        until("the member has another device", async || {
            let devices = devices_of(&cluster.read("two").await?);
            Ok((!devices.is_empty() && devices != failed).then_some(()))
        })
        .await?;
        ensure!(devices_of(&cluster.read("one").await?) == kept, "the other keeps its own");
        for name in ["one", "two"] {
            ensure!(cluster.read::<Pod>(name).await?.spec.node_name.is_empty(), "{name} is bound too early");
        }
        report(cluster, "two", "Attached").await?;
        for name in ["one", "two"] {
            cluster.bound(name).await?;
        }
        all_is_well(cluster).await
    }
}
