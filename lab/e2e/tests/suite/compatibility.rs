//! Compatibility groups across restarts of the scheduler: a real server drops the field in which they are noted.

use anyhow::{Context, Result, ensure};
use e2e::judge::devices_of;
use e2e::shapes::{DRIVER, claim_of, node, object, pod_with_claims};
use e2e::{Account, Cluster, Served, Terms, Worker};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::resource::slice::ResourceSlice;
use objects::supercargo::annotations::COMPATIBILITY_GROUPS;
use serde_json::{Value, json};

use crate::pods::refused;

crate::with_groups![
    devices_that_go_together_do_so_after_a_restart,
    groups_count_as_they_were_although_the_driver_renamed_them_before_a_restart,
    a_claim_that_gets_another_device_notes_the_groups_of_that_one,
    a_claim_of_devices_without_groups_notes_nothing,
];

const APART: &str = "0 compatible with devices that share their counters";

fn worker(cluster: &Cluster) -> Result<Worker> {
    let terms = Terms { gates: Served::Groups.gates(), ..Terms::default() };
    Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms)
}

/// A class for each kind of device.
fn class(kind: &str) -> Result<DeviceClass> {
    let expression = format!("device.attributes['{DRIVER}'].kind == '{kind}'");
    let selectors = json!([{ "cel": { "expression": expression } }]);
    object(&json!({ "metadata": { "name": kind }, "spec": { "selectors": selectors } }))
}

/// Devices by kind with their groups, all of which draw on the same counters.
fn devices(kinds: &[(&str, &[&str])]) -> Value {
    let device = |(kind, groups): &(&str, &[&str])| {
        json!({ "name": *kind, "attributes": { "kind": { "string": *kind } }, "consumesCounters": [{
            "counterSet": "gpu-0", "compatibilityGroups": groups, "counters": { "units": { "value": "20" } },
        }] })
    };
    kinds.iter().map(device).collect()
}

const KINDS: &[(&str, &[&str])] =
    &[("foo", &["foo", "foobar"]), ("bar", &["bar", "foobar"]), ("baz", &["baz"])];

/// A node with these devices, and a claim for each kind.
async fn prepare(cluster: &Cluster, kinds: &[(&str, &[&str])]) -> Result<()> {
    cluster.create_node(&node("n-1", 16)?).await?;
    let pool = json!({ "name": "n-1", "generation": 1, "resourceSliceCount": 2 });
    let counters = json!([{ "name": "gpu-0", "counters": { "units": { "value": "100" } } }]);
    let spec = |field: &str, value: Value| json!({ "driver": DRIVER, "nodeName": "n-1", "pool": pool, field: value });
    for (name, spec) in
        [("counters", spec("sharedCounters", counters)), ("devices", spec("devices", devices(kinds)))]
    {
        let slice = json!({ "metadata": { "name": name }, "spec": spec });
        cluster.create(&object::<ResourceSlice>(&slice)?).await?;
    }
    for (kind, _) in kinds {
        offer(cluster, kind).await?;
    }
    Ok(())
}

/// A class and a claim for a kind of device.
async fn offer(cluster: &Cluster, kind: &str) -> Result<()> {
    cluster.create(&class(kind)?).await?;
    let request = json!({ "name": "one", "exactly": { "deviceClassName": kind } });
    cluster.create(&claim_of(kind, &json!({ "requests": [request] }))?).await.map(drop)
}

async fn place(cluster: &Cluster, name: &str) -> Result<()> {
    cluster.create(&pod_with_claims(name, &[name])?).await?;
    cluster.bound(name).await.map(drop)
}

async fn refuse(cluster: &Cluster, name: &str) -> Result<()> {
    cluster.create(&pod_with_claims(name, &[name])?).await?;
    let pod = cluster.pod_when(name, "is refused", refused).await?;
    let said = pod.status.conditions.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("; ");
    ensure!(said.contains(APART), "{name}: {said}");
    Ok(())
}

/// The groups that are noted on a claim, by device.
async fn noted(cluster: &Cluster, name: &str) -> Result<Value> {
    let claim: ResourceClaim = cluster.read(name).await?;
    let Some(text) = claim.metadata.annotations.get(COMPATIBILITY_GROUPS) else { return Ok(Value::Null) };
    let entries: Vec<Value> = serde_json::from_str(text)?;
    let by_device = entries.into_iter().map(|mut entry| {
        let device = entry["device"].as_str().context("a device without a name")?.to_owned();
        Ok((device, entry["groups"]["gpu-0"].take()))
    });
    Ok(Value::Object(by_device.collect::<Result<_>>()?))
}

pub async fn devices_that_go_together_do_so_after_a_restart(cluster: &Cluster) -> Result<()> {
    prepare(cluster, KINDS).await?;
    let first = worker(cluster)?;
    place(cluster, "foo").await?;
    ensure!(
        noted(cluster, "foo").await? == json!({ "foo": ["foo", "foobar"] }),
        "{}",
        noted(cluster, "foo").await?
    );
    first.stop().await?;
    let second = worker(cluster)?;
    refuse(cluster, "baz").await?;
    place(cluster, "bar").await?;
    ensure!(second.troubles().is_empty(), "{:?}", second.troubles());
    Ok(())
}

async fn groups_count_as_they_were_although_the_driver_renamed_them_before_a_restart(
    cluster: &Cluster,
) -> Result<()> {
    prepare(cluster, KINDS).await?;
    let first = worker(cluster)?;
    place(cluster, "foo").await?;
    first.stop().await?;
    // By the slice, foo would now go with baz and no longer with bar.
    let renamed = devices(&[("foo", &["baz"]), KINDS[1], KINDS[2]]);
    cluster.patch::<ResourceSlice>("devices", json!({ "spec": { "devices": renamed } })).await?;
    let _second = worker(cluster)?;
    refuse(cluster, "baz").await?;
    place(cluster, "bar").await
}

async fn a_claim_that_gets_another_device_notes_the_groups_of_that_one(cluster: &Cluster) -> Result<()> {
    prepare(cluster, &KINDS[..2]).await?;
    let _worker = worker(cluster)?;
    cluster.create(&object::<DeviceClass>(&json!({ "metadata": { "name": "any" }, "spec": {} }))?).await?;
    let either = json!({ "name": "one", "exactly": { "deviceClassName": "any" } });
    cluster.create(&claim_of("either", &json!({ "requests": [either] }))?).await?;
    place(cluster, "either").await?;
    let before = noted(cluster, "either").await?;
    ensure!(before == json!({ "foo": ["foo", "foobar"] }), "{before}");
    // Whoever deallocates a claim writes its status, and leaves the annotation.
    cluster.delete::<Pod>("either").await?;
    let free = json!({ "status": { "allocation": null, "reservedFor": null } });
    cluster.patch_status::<ResourceClaim>("either", free).await?;
    let later = [KINDS[1], ("later", KINDS[1].1)];
    cluster.patch::<ResourceSlice>("devices", json!({ "spec": { "devices": devices(&later) } })).await?;
    // The scheduler has heard of the slice once it gives a device that is only there now.
    offer(cluster, "later").await?;
    place(cluster, "later").await?;
    place(cluster, "either").await?;
    let claim: ResourceClaim = cluster.read("either").await?;
    ensure!(devices_of(&claim) == ["n-1/bar"], "it has {:?}", devices_of(&claim));
    let after = noted(cluster, "either").await?;
    ensure!(after == json!({ "bar": ["bar", "foobar"] }), "{after}");
    Ok(())
}

async fn a_claim_of_devices_without_groups_notes_nothing(cluster: &Cluster) -> Result<()> {
    prepare(cluster, &[("plain", &[])]).await?;
    let _worker = worker(cluster)?;
    place(cluster, "plain").await?;
    ensure!(noted(cluster, "plain").await?.is_null());
    Ok(())
}
