//! The driver over sockets: it does its work, fails as it is told, and comes back after it was killed.

use std::time::Duration;

use client::{Event, Resource, Selectors, WatchOptions};
use futures_util::StreamExt;
use objects::resource::claim::ResourceClaim;
use objects::resource::slice::{Device, ResourceSlice};
use plugin::registration::InfoRequest;
use plugin::registration::registration_client::RegistrationClient;
use tokio::time::timeout;

use crate::stage::{DRIVER, Stage, until};

async fn devices(stage: &Stage) -> Vec<Device> {
    let slices = Resource::<ResourceSlice>::named("resourceslices");
    let stream = stage.connection.list_and_watch(&slices, &Selectors::default(), &WatchOptions::default());
    let mut stream = std::pin::pin!(stream);
    let mut found = Vec::new();
    while let Some(Event::Applied(slice)) = stream.next().await {
        found.extend(slice.spec.devices.into_iter().flatten());
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_are_published_prepared_and_unprepared() {
    let mut stage = Stage::set("life").await;
    stage.start(&[]).await;
    until("everything is published", || async { devices(&stage).await.len() == 25 }).await;
    let claim = stage.claim("a", "nic-1").await;
    let answer = stage.prepare(&claim).await.expect("an answer");
    let id = format!("{DRIVER}/device={}-nic-1", claim.uid);
    assert_eq!(answer[&claim.uid].devices[0].cdi_device_ids, [id]);
    assert_eq!(stage.cdi_files(), 1);
    let claims = Resource::<ResourceClaim>::named("resourceclaims").within("default");
    let told = stage.connection.get(&claims, "a").await.done().expect("it is there").status.devices.remove(0);
    assert_eq!((&*told.conditions[0].type_, &*told.conditions[0].status), ("Ready", "True"));
    assert_eq!(told.network_data.expect("addresses").interface_name, "sim1");

    stage.switch("unhealthy: [nic-0]\n").await;
    let tainted = || async {
        devices(&stage).await.iter().any(|device| device.name == "nic-0" && !device.taints.is_empty())
    };
    until("the device is tainted", tainted).await;
    stage.switch("publish: nothing\n").await;
    until("everything is withdrawn", || async { devices(&stage).await.is_empty() }).await;

    // It is killed, its claim goes meanwhile, and what it left behind is cleaned.
    stage.end(false).await;
    let gone = objects::meta::DeleteOptions::default();
    let other = stage.claim("b", "nic-0").await;
    stage.connection.delete(&claims, "a", &gone).await.done().expect("it is there");
    stage.start(&[]).await;
    assert_eq!(stage.cdi_files(), 0);
    stage.prepare(&other).await.expect("an answer");
    assert_eq!((stage.unprepare(&other).await.as_str(), stage.cdi_files()), ("", 0));
    assert_eq!(stage.unprepare(&claim).await, "", "one that is not prepared");
    assert_eq!(stage.end(true).await, Some(0), "{}", stage.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn it_fails_as_it_is_told() {
    let mut stage = Stage::set("bad").await;
    stage.start(&["--prepare", "fail", "--publish", "fail"]).await;
    assert!(stage.log().contains("pool n1, device Not A Name!: name:"), "{}", stage.log());
    let claim = stage.claim("a", "gpu-0").await;
    let said = stage.prepare(&claim).await.expect("an answer");
    assert_eq!(said[&claim.uid].error, "configured to fail: prepare");
    stage.switch("prepare: wrong-uid\n").await;
    let said = stage.prepare(&claim).await.expect("an answer");
    assert_eq!(said.keys().collect::<Vec<_>>(), ["not-your-claim-0"]);
    stage.switch("prepare: duplicate-device\n").await;
    assert_eq!(stage.prepare(&claim).await.expect("an answer")[&claim.uid].devices.len(), 2);
    stage.switch("prepare: oversize\n").await;
    let status = stage.prepare(&claim).await.expect_err("too large");
    assert_eq!(status.code(), tonic::Code::OutOfRange, "{status}");

    let registration = stage.channel(&format!("plugins_registry/{DRIVER}-reg.sock")).await;
    let mut registration = RegistrationClient::new(registration);
    stage.switch("register: bad-name\n").await;
    let card = registration.get_info(InfoRequest {}).await.expect("an answer").into_inner();
    assert_eq!(card.name, "Not A Name!");

    stage.switch("{prepare: ok, unprepare: fail, delayMs: 300}\n").await;
    let slow = timeout(Duration::from_millis(200), stage.prepare(&claim)).await;
    slow.expect_err("it takes its time");
    assert_eq!(stage.unprepare(&claim).await, "configured to fail: unprepare");
    stage.switch("prepare: hang\n").await;
    timeout(Duration::from_millis(500), stage.prepare(&claim)).await.expect_err("it hangs");
    stage.switch("prepare: ok\n").await;
    stage.prepare(&claim).await.expect("it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_crashes_as_it_is_told_and_leaves_what_a_crash_leaves() {
    let mut stage = Stage::set("crash").await;
    stage.start(&["--prepare", "crash"]).await;
    let claim = stage.claim("a", "gpu-0").await;
    stage.prepare(&claim).await.expect_err("it crashes");
    assert_eq!(stage.ended().await, Some(70));
    assert_eq!(stage.cdi_files(), 1);
    stage.start(&[]).await;
    assert_eq!(stage.cdi_files(), 1, "the claim is still there, and so is its file");
    stage.prepare(&claim).await.expect("an answer");
}

/// As if a scheduler that knows no compatibility groups had allocated both.
#[tokio::test(flavor = "multi_thread")]
async fn a_gpu_is_cut_in_one_way_at_a_time_whatever_was_allocated() {
    let mut stage = Stage::set("groups").await;
    stage.start(&[]).await;
    let (mig, vgpu) = (stage.claim("a", "gpu-0-mig-1g-5gb-0").await, stage.claim("b", "gpu-0-vgpu").await);
    assert_eq!(stage.prepare(&mig).await.expect("an answer")[&mig.uid].error, "");
    let refused = "device gpu-0-vgpu cannot be prepared: its compatibility groups on counter set gpu-0 are vgpu, and those of \
                   device gpu-0-mig-1g-5gb-0 of claim default/a (mig) are not compatible; hint: delete the pods that use one of them";
    assert_eq!(stage.prepare(&vgpu).await.expect("an answer")[&vgpu.uid].error, refused);
    let other = stage.claim("c", "gpu-1-vgpu").await;
    assert_eq!(stage.prepare(&other).await.expect("an answer")[&other.uid].error, "", "of the other GPU");
    // What is prepared outlives the driver.
    stage.end(false).await;
    stage.start(&[]).await;
    assert_eq!(stage.prepare(&vgpu).await.expect("an answer")[&vgpu.uid].error, refused);
    assert_eq!(stage.prepare(&mig).await.expect("an answer")[&mig.uid].error, "", "as before");
    assert_eq!(stage.unprepare(&mig).await, "");
    assert_eq!(stage.prepare(&vgpu).await.expect("an answer")[&vgpu.uid].error, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_api_server_takes_slices_and_states() {
    let Some(mut stage) = Stage::real("real").await else { return };
    stage.start(&[]).await;
    until("everything is published", || async { devices(&stage).await.len() == 25 }).await;
    let claim = stage.claim("a", "nic-1").await;
    stage.prepare(&claim).await.expect("an answer");
    let claims = Resource::<ResourceClaim>::named("resourceclaims").within("default");
    let told = stage.connection.get(&claims, "a").await.done().expect("it is there").status.devices.remove(0);
    assert_eq!((&*told.conditions[0].type_, &*told.conditions[0].status), ("Ready", "True"));
    stage.switch("unhealthy: [gpu-0, nic-0]\n").await;
    let tainted =
        || async { devices(&stage).await.iter().filter(|device| !device.taints.is_empty()).count() == 2 };
    until("the devices are tainted", tainted).await;
    let times = |devices: Vec<Device>| -> Vec<_> {
        devices.into_iter().flat_map(|device| device.taints).map(|taint| taint.time_added).collect()
    };
    let first = times(devices(&stage).await);
    stage.switch("unhealthy: [gpu-0, nic-0, nic-1]\n").await;
    until("one more", || async { times(devices(&stage).await).len() == 3 }).await;
    assert_eq!(times(devices(&stage).await)[..2], first, "the time of a taint is kept");
    assert!(!stage.log().contains("cannot publish"), "{}", stage.log());
    assert_eq!(stage.end(true).await, Some(0));
}
