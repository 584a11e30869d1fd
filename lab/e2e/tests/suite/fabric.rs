//! Devices of a fabric, from the claim to the emulated machine room and back: attached, waited for, handed over, detached.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use controllers::fabric::inventory::Place;
use controllers::fabric::names::{FABRIC_LABEL, UNIT_ATTRIBUTE};
use controllers::fabric::{HandOver, Options};
use e2e::judge::{all_is_well, devices_of};
use e2e::shapes::{DRIVER, claim, class, node, object, pod_with_claims};
use e2e::{Account, Cluster, Keeper, Terms, Worker, until};
use fabric::{Address, Emulator, Fabric, Redfish, Setup};
use objects::core::pod::Pod;
use objects::events::Event;
use objects::resource::claim::ResourceClaim;
use objects::resource::slice::ResourceSlice;
use objects::supercargo::device_attachment::DeviceAttachment;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::sleep;

crate::on_both![
    a_device_is_attached_for_a_pod_that_waits_and_detached_when_nobody_uses_it,
    a_device_that_fails_is_left_alone_and_the_pod_takes_another,
    a_device_that_another_cluster_took_costs_a_round_and_no_more,
    a_controller_that_dies_while_it_attaches_attaches_nothing_twice,
    a_pod_that_picks_again_ends_on_the_device_that_was_attached_for_it,
    a_shared_claim_has_one_attachment,
    what_others_attached_stays_under_the_pod_that_uses_it,
    after_a_restart_only_what_was_attached_before_is_detached,
    devices_that_come_and_go_appear_and_vanish,
    two_clusters_share_a_fabric;
    embedded: what_comes_too_late_for_the_first_try_is_there_for_the_second
];

/// A machine room with so many devices, and a host for each of two nodes.
async fn room(devices: u32, latency_millis: u64) -> Result<(Emulator, String)> {
    let setup = format!(
        "latencyMillis: {latency_millis}
systems: [{{id: host-1, hostName: n-1}}, {{id: host-2, hostName: n-2}}]
switches:
  - {{id: sw, ports: [{{id: p-1, system: host-1, maxDevices: 4}}, {{id: p-2, system: host-2, maxDevices: 4}}]}}
chassis: [{{id: box, switch: sw, devices: [{{model: a, count: {devices}}}]}}]
"
    );
    let emulator = Emulator::new(Setup::parse(&setup)?);
    let (address, serving) = emulator.listen("127.0.0.1:0".parse()?).await?;
    tokio::spawn(serving);
    Ok((emulator, format!("http://{address}")))
}

fn options() -> Options {
    Options { idle_after_ms: 1_500, rest_first_ms: 2_000, guard_ms: 200, ..Options::new("rack", DRIVER) }
}

/// The fabric's controller at work, and the claims' beside it; dropped, they end in the middle of what they do.
struct Running {
    _claims: Keeper,
    task: JoinHandle<()>,
    _stop: oneshot::Sender<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn controller(cluster: &Cluster, url: &str, options: Options) -> Result<Running> {
    let site = upkeep::Site {
        fabric: Arc::new(Redfish::at(Address::parse(url, None, None)?)),
        options,
        period: Duration::from_millis(300),
        tell: Arc::new(|line| eprintln!("{line}")),
    };
    let options = upkeep::Options {
        controllers: upkeep::Choice::parse([])?,
        fabric: Some(site),
        ..upkeep::Options::default()
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let until = async {
        let _ = stopped.await;
    };
    let task = tokio::spawn(upkeep::run(cluster.connect_as(Account::Fabric)?, options, until));
    let claims = Keeper::start(&cluster.connect_as(Account::Controllers)?, &["resourceclaim-controller"])?;
    Ok(Running { _claims: claims, task, _stop: stop })
}

/// A class, and nodes of the fabric.
async fn nodes(cluster: &Cluster, names: &[&str]) -> Result<()> {
    cluster.teach_our_kinds().await?;
    cluster.create(&class()?).await?;
    for name in names {
        let mut node = node(name, 16)?;
        node.metadata.labels.insert(FABRIC_LABEL.to_owned(), "rack".to_owned());
        cluster.create_node(&node).await?;
    }
    Ok(())
}

/// How many devices are offered in pools whose names begin so.
async fn offered(cluster: &Cluster, pool: &str) -> Result<usize> {
    let slices = cluster.list::<ResourceSlice>().await?.into_iter();
    let ours = slices.filter(|slice| slice.spec.pool.name.starts_with(pool));
    Ok(ours
        .flat_map(|slice| slice.spec.devices.unwrap_or_default())
        .filter(|one| one.taints.is_empty())
        .count())
}

async fn offers(cluster: &Cluster, pool: &str, count: usize) -> Result<()> {
    until(&format!("{count} devices are offered in {pool}"), async || {
        Ok((offered(cluster, pool).await? == count).then_some(()))
    })
    .await
}

async fn pod(cluster: &Cluster, name: &str) -> Result<()> {
    cluster.create(&claim(name, 1)?).await?;
    cluster.create(&pod_with_claims(name, &[name])?).await.map(drop)
}

async fn a_device_is_attached_for_a_pod_that_waits_and_detached_when_nobody_uses_it(
    cluster: &Cluster,
) -> Result<()> {
    let (emulator, url) = room(3, 700).await?;
    nodes(cluster, &["n-1"]).await?;
    let _controller = controller(cluster, &url, options())?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    offers(cluster, "rack.free.a", 3).await?;
    pod(cluster, "p").await?;
    cluster.event("p", "BindingConditionsPending").await?;
    cluster.bound("p").await?;
    let attached = emulator.attached();
    // Which one of equal devices it is, is not promised.
    ensure!(attached.len() == 1 && attached[0].1 == "host-1", "{attached:?}");
    let event = cluster.event("p", "FabricDeviceAttached").await?;
    ensure!(event.note.ends_with("to node n-1") && event.type_ == "Normal", "{event:?}");
    let devices = devices_of(&cluster.read("p").await?);
    ensure!(devices.len() == 1 && devices[0].starts_with("rack.free.a/"), "{devices:?}");
    offers(cluster, "rack.free.a", 2).await?;
    all_is_well(cluster).await?;
    // The next one takes what is attached already.
    cluster.delete::<Pod>("p").await?;
    offers(cluster, "rack.attached.a.n-1", 1).await?;
    pod(cluster, "q").await?;
    cluster.bound("q").await?;
    let devices = devices_of(&cluster.read("q").await?);
    ensure!(devices.len() == 1 && devices[0].starts_with("rack.attached.a.n-1/"), "{devices:?}");
    ensure!(emulator.attachments() == 1);
    cluster.delete::<Pod>("q").await?;
    until("it is detached", async || Ok(emulator.attached().is_empty().then_some(()))).await?;
    cluster.event("n-1", "FabricDeviceDetached").await?;
    offers(cluster, "rack.free.a", 3).await?;
    until("nothing is written down", async || {
        Ok(cluster.list::<DeviceAttachment>().await?.is_empty().then_some(()))
    })
    .await
}

async fn a_device_that_fails_is_left_alone_and_the_pod_takes_another(cluster: &Cluster) -> Result<()> {
    let (emulator, url) = room(2, 50).await?;
    nodes(cluster, &["n-1"]).await?;
    let _controller = controller(cluster, &url, Options { rest_first_ms: 60_000, ..options() })?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    offers(cluster, "rack.free.a", 2).await?;
    emulator.fail(1, "the link does not come up");
    pod(cluster, "p").await?;
    let event = cluster.event("p", "FailedScheduling").await?;
    ensure!(
        event.note.contains("reason=\"AttachFailed\"") && event.note.contains("the link does not come up"),
        "{event:?}"
    );
    let event = cluster.event("p", "FabricDeviceFailed").await?;
    ensure!(event.note.contains("the link does not come up") && event.type_ == "Warning", "{event:?}");
    cluster.bound("p").await?;
    let attached = emulator.attached();
    ensure!(attached.len() == 1 && attached[0].1 == "host-1", "{attached:?}");
    let slices = cluster.list::<ResourceSlice>().await?.into_iter();
    let devices = slices.flat_map(|slice| slice.spec.devices.unwrap_or_default());
    ensure!(devices.filter(|device| !device.taints.is_empty()).count() == 1, "the one that failed rests");
    all_is_well(cluster).await
}

async fn a_device_that_another_cluster_took_costs_a_round_and_no_more(cluster: &Cluster) -> Result<()> {
    let (emulator, url) = room(2, 500).await?;
    nodes(cluster, &["n-1"]).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let first = controller(cluster, &url, options())?;
    offers(cluster, "rack.free.a", 2).await?;
    // Between our last look and our order.
    drop(first);
    pod(cluster, "p").await?;
    cluster.event("p", "BindingConditionsPending").await?;
    ensure!(emulator.seize("box-a-1"));
    let _second = controller(cluster, &url, options())?;
    cluster.bound("p").await?;
    ensure!(emulator.attached() == [("box-a-2".to_owned(), "host-1".to_owned())]);
    offers(cluster, "rack.free.a", 0).await
}

async fn a_controller_that_dies_while_it_attaches_attaches_nothing_twice(cluster: &Cluster) -> Result<()> {
    let (emulator, url) = room(4, 600).await?;
    nodes(cluster, &["n-1"]).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let mut running = controller(cluster, &url, options())?;
    offers(cluster, "rack.free.a", 4).await?;
    for name in ["p", "q"] {
        pod(cluster, name).await?;
    }
    for _ in 0..12 {
        sleep(Duration::from_millis(130)).await;
        drop(running);
        running = controller(cluster, &url, options())?;
    }
    for name in ["p", "q"] {
        cluster.bound(name).await?;
    }
    ensure!((emulator.attachments(), emulator.attached().len()) == (2, 2), "{}", emulator.attachments());
    ensure!(cluster.list::<DeviceAttachment>().await?.len() == 2);
    all_is_well(cluster).await
}

/// The driver of a node, which looks for new devices now and then, and publishes them with this attribute.
fn node_driver(cluster: &Cluster, emulator: &Emulator, attribute: &'static str) -> Result<AbortHandle> {
    let (connection, emulator) = (cluster.connect()?, emulator.clone());
    let task = tokio::spawn(async move {
        let slices = client::Resource::<ResourceSlice>::named("resourceslices");
        loop {
            for (node, host) in [("n-1", "host-1"), ("n-2", "host-2")] {
                let attached = emulator.attached().into_iter().filter(|(_, at)| at == host);
                let device = |(unit, _): (String, String)| json!({ "name": unit, "attributes": { attribute: { "string": unit } } });
                let devices: Vec<Value> = attached.map(device).collect();
                let name = format!("{node}-local");
                let old = connection.get(&slices, &name).await.done();
                let generation = old.as_ref().map_or(1, |old| old.spec.pool.generation + 1);
                let spec = json!({ "driver": DRIVER, "nodeName": node, "devices": devices,
                    "pool": { "name": node, "generation": generation, "resourceSliceCount": 1 } });
                let Ok(mut new) =
                    object::<ResourceSlice>(&json!({ "metadata": { "name": name }, "spec": spec }))
                else {
                    return;
                };
                match old {
                    Some(old) if old.spec.devices == new.spec.devices => {}
                    Some(old) => {
                        new.metadata = old.metadata;
                        let _ = connection.update(&slices, &new).await;
                    }
                    None => drop(connection.create(&slices, &new).await),
                }
            }
            sleep(Duration::from_millis(400)).await;
        }
    });
    Ok(task.abort_handle())
}

async fn a_pod_that_picks_again_ends_on_the_device_that_was_attached_for_it(cluster: &Cluster) -> Result<()> {
    let (emulator, url) = room(4, 200).await?;
    nodes(cluster, &["n-1", "n-2"]).await?;
    let driver = node_driver(cluster, &emulator, UNIT_ATTRIBUTE)?;
    let _controller = controller(cluster, &url, Options { hand_over: HandOver::RePick, ..options() })?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    offers(cluster, "rack.free.a", 4).await?;
    for name in ["p", "q", "r"] {
        pod(cluster, name).await?;
    }
    for name in ["p", "q", "r"] {
        let pod = cluster.bound(name).await?;
        let devices = devices_of(&cluster.read(name).await?);
        ensure!(
            devices.len() == 1 && devices[0].starts_with(&format!("{}/box-a-", pod.spec.node_name)),
            "{devices:?}"
        );
    }
    ensure!(emulator.attachments() == 3, "{} attachments for 3 pods", emulator.attachments());
    all_is_well(cluster).await?;
    for name in ["p", "q", "r"] {
        cluster.delete::<Pod>(name).await?;
    }
    until("they are detached", async || Ok(emulator.attached().is_empty().then_some(()))).await?;
    offers(cluster, "rack.free.a", 4).await?;
    driver.abort();
    Ok(())
}

/// An administrator attaches a device by hand.
async fn attach_by_hand(url: &str, unit: &str) -> Result<()> {
    let place = Place { host: "host-1".to_owned(), port: "p-1".to_owned() };
    Ok(Redfish::at(Address::parse(url, None, None)?).attach(unit, &place).await?)
}

/// Waits until a device is listed as one that was found attached.
async fn found(cluster: &Cluster, unit: &str) -> Result<()> {
    until(&format!("{unit} is found"), async || {
        let mut entries = cluster.list::<DeviceAttachment>().await?.into_iter();
        Ok(entries.any(|one| one.spec.unit == unit && one.spec.origin == "Found").then_some(()))
    })
    .await
}

async fn what_others_attached_stays_under_the_pod_that_uses_it(cluster: &Cluster) -> Result<()> {
    let (emulator, url) = room(2, 50).await?;
    nodes(cluster, &["n-1"]).await?;
    attach_by_hand(&url, "box-a-1").await?;
    let driver = node_driver(cluster, &emulator, "serial")?;
    let _controller = controller(cluster, &url, options())?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    found(cluster, "box-a-1").await?;
    pod(cluster, "p").await?;
    cluster.bound("p").await?;
    let devices = devices_of(&cluster.read("p").await?);
    ensure!(devices == ["n-1/box-a-1"], "{devices:?}");
    let event = cluster.event("n-1", "FabricHandOverRefused").await?;
    ensure!(event.type_ == "Warning" && event.note.contains(UNIT_ATTRIBUTE), "{event:?}");
    sleep(Duration::from_secs(4)).await;
    ensure!(
        emulator.attached() == [("box-a-1".to_owned(), "host-1".to_owned())],
        "{:?}",
        emulator.attached()
    );
    driver.abort();
    all_is_well(cluster).await
}

async fn after_a_restart_only_what_was_attached_before_is_detached(cluster: &Cluster) -> Result<()> {
    let (emulator, url) = room(2, 50).await?;
    nodes(cluster, &["n-1"]).await?;
    attach_by_hand(&url, "box-a-1").await?;
    let first = controller(cluster, &url, options())?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    found(cluster, "box-a-1").await?;
    pod(cluster, "p").await?;
    cluster.bound("p").await?;
    ensure!(emulator.attached().len() == 2, "{:?}", emulator.attached());
    drop(first);
    let _second = controller(cluster, &url, options())?;
    cluster.delete::<Pod>("p").await?;
    until("what was attached for the pod is detached", async || {
        Ok((emulator.attached().len() == 1).then_some(()))
    })
    .await?;
    sleep(Duration::from_secs(3)).await;
    ensure!(
        emulator.attached() == [("box-a-1".to_owned(), "host-1".to_owned())],
        "{:?}",
        emulator.attached()
    );
    found(cluster, "box-a-1").await
}

async fn a_shared_claim_has_one_attachment(cluster: &Cluster) -> Result<()> {
    let (emulator, url) = room(3, 400).await?;
    nodes(cluster, &["n-1"]).await?;
    let _controller = controller(cluster, &url, options())?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&claim("shared", 1)?).await?;
    for name in ["p", "q"] {
        cluster.create(&pod_with_claims(name, &["shared"])?).await?;
    }
    for name in ["p", "q"] {
        cluster.bound(name).await?;
    }
    ensure!(emulator.attachments() == 1);
    all_is_well(cluster).await
}

async fn what_comes_too_late_for_the_first_try_is_there_for_the_second(cluster: &Cluster) -> Result<()> {
    let (emulator, url) = room(2, 2_500).await?;
    nodes(cluster, &["n-1"]).await?;
    let late = Options { binding_timeout: Some("1s".to_owned()), idle_after_ms: 60_000, ..options() };
    let _controller = controller(cluster, &url, late)?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    offers(cluster, "rack.free.a", 2).await?;
    pod(cluster, "p").await?;
    let event = cluster.event("p", "FailedScheduling").await?;
    ensure!(event.note.starts_with("device binding timeout"), "{event:?}");
    cluster.bound("p").await?;
    ensure!(emulator.attached().len() <= 2);
    let claim: ResourceClaim = cluster.read("p").await?;
    let results = claim.status.allocation.context("it has a device")?.devices.results;
    ensure!(results[0].pool == "rack.attached.a.n-1", "{results:?}");
    Ok(())
}

async fn devices_that_come_and_go_appear_and_vanish(cluster: &Cluster) -> Result<()> {
    let (emulator, url) = room(1, 100).await?;
    nodes(cluster, &["n-1"]).await?;
    let _controller = controller(cluster, &url, options())?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    offers(cluster, "rack.free.a", 1).await?;
    let new = emulator.plug("a").context("there is such a model")?;
    offers(cluster, "rack.free.a", 2).await?;
    emulator.unplug(&new);
    offers(cluster, "rack.free.a", 1).await?;
    pod(cluster, "p").await?;
    cluster.bound("p").await?;
    // Pulled out of a running pod: its claim is told.
    emulator.unplug("box-a-1");
    until("the claim is told", async || {
        let claim: ResourceClaim = cluster.read("p").await?;
        let conditions = claim.status.devices.iter().flat_map(|device| &device.conditions);
        Ok(conditions.into_iter().any(|one| one.reason == "DeviceLost").then_some(()))
    })
    .await
}

async fn two_clusters_share_a_fabric(cluster: &Cluster) -> Result<()> {
    let (emulator, url) = room(2, 300).await?;
    let other = Cluster::embedded(&std::env::temp_dir())?;
    nodes(cluster, &["n-1"]).await?;
    nodes(&other, &["n-2"]).await?;
    let _ours = controller(cluster, &url, options())?;
    let _theirs = controller(&other, &url, options())?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let _rival = Worker::start(other.connection(), &Terms::default())?;
    offers(cluster, "rack.free.a", 2).await?;
    offers(&other, "rack.free.a", 2).await?;
    let (first, second) = tokio::join!(pod(cluster, "p"), pod(&other, "p"));
    first.and(second)?;
    cluster.bound("p").await?;
    other.bound("p").await?;
    ensure!((emulator.attachments(), emulator.attached().len()) == (2, 2));
    // Nothing is left, and both know.
    offers(cluster, "rack.free.a", 0).await?;
    offers(&other, "rack.free.a", 0).await?;
    let warnings = cluster.list::<Event>().await?.into_iter().chain(other.list::<Event>().await?);
    eprintln!("{} rounds were lost", warnings.filter(|event| event.reason == "FailedScheduling").count());
    Ok(())
}
