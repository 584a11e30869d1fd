//! The story of `examples/driver/README.md`: from nothing to pods with devices, to failures, and back to nothing.

use std::fs;
use std::time::{Duration, Instant};

use client::{Answer, Event, Resource, Selectors, WatchOptions};
use futures_util::StreamExt;
use objects::Object;
use objects::core::pod::Pod;
use objects::events;
use objects::meta::DeleteOptions;
use objects::resource::claim::ResourceClaim;
use serde_json::Value;
use tokio::time::sleep;

use crate::stage::{Stage, root, until};

/// How long a pod may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

async fn list<K: Object + Send + 'static>(stage: &Stage, plural: &'static str) -> Vec<K> {
    let resource = Resource::<K>::named(plural);
    let stream = stage.connection.list_and_watch(&resource, &Selectors::default(), &WatchOptions::default());
    let mut stream = std::pin::pin!(stream);
    let mut found = Vec::new();
    while let Some(Event::Applied(object)) = stream.next().await {
        found.push(object);
    }
    found
}

/// Makes the objects of a manifest.
async fn apply(stage: &Stage, file: &str) {
    let text = fs::read_to_string(root().join(file)).expect("it is there");
    for manifest in simulation::read(file, &text).expect("good manifests") {
        make(stage, &manifest.value).await;
    }
}

async fn make(stage: &Stage, object: &Value) {
    let (plural, namespace) = match object["kind"].as_str().unwrap_or_default() {
        "DeviceClass" => ("deviceclasses", ""),
        "ResourceClaimTemplate" => ("resourceclaimtemplates", "default"),
        "Pod" => ("pods", "default"),
        other => unreachable!("{other} is not in the example"),
    };
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let answer = stage.connection.create_untyped(api_version, plural, namespace, object).await;
    assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
}

async fn phase(stage: &Stage, pod: &str) -> String {
    let pods = Resource::<Pod>::named("pods").within("default");
    stage.connection.get(&pods, pod).await.done().map_or("none".to_owned(), |pod| pod.status.phase)
}

async fn is_refused(stage: &Stage, pod: &str) -> bool {
    let pods = Resource::<Pod>::named("pods").within("default");
    let pod = stage.connection.get(&pods, pod).await.done();
    pod.is_some_and(|pod| pod.status.conditions.iter().any(|condition| condition.reason == "Unschedulable"))
}

/// The GPU that a pod has.
async fn gpu_of(stage: &Stage, pod: &str) -> String {
    let claims = list::<ResourceClaim>(stage, "resourceclaims").await;
    let is_its = |claim: &&ResourceClaim| claim.status.reserved_for.iter().any(|user| user.name == pod);
    let claim = claims.iter().find(is_its).expect("the pod has a claim");
    let given = claim.status.allocation.as_ref().expect("the claim has devices");
    let gpu = given.devices.results.iter().find(|result| result.request == "gpu");
    gpu.expect("one is a GPU").device.clone()
}

async fn until_phase(stage: &Stage, pod: &str, wanted: &str) {
    let began = Instant::now();
    while phase(stage, pod).await != wanted {
        let is_late = began.elapsed() > PATIENCE;
        let told = if is_late { told(stage).await } else { String::new() };
        assert!(!is_late, "{pod} is never {wanted}\n{told}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// What the API server says of pods, claims and events, for whoever looks into a test that failed.
async fn told(stage: &Stage) -> String {
    let mut lines = Vec::new();
    for pod in list::<Pod>(stage, "pods").await {
        let (name, status) = (pod.metadata.name, pod.status);
        lines.push(format!("pod {name} on {:?}: {status:?}", pod.spec.node_name));
    }
    for claim in list::<ResourceClaim>(stage, "resourceclaims").await {
        lines.push(format!("claim {}: {:?}", claim.metadata.name, claim.status));
    }
    for event in list::<events::Event>(stage, "events").await {
        lines.push(format!("event {}: {}: {}", event.regarding.name, event.reason, event.note));
    }
    lines.push(stage.log());
    lines.join("\n")
}

async fn delete(stage: &Stage, pod: &str) {
    let pods = Resource::<Pod>::named("pods").within("default");
    stage.connection.delete(&pods, pod, &DeleteOptions::default()).await.done().expect("it is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_get_devices_whatever_becomes_of_the_driver_and_leave_nothing_behind() {
    let mut stage = Stage::cluster("cluster").await;
    stage.start(&[]).await;
    apply(&stage, "examples/driver/pods.yaml").await;
    for pod in ["train", "serve-0", "serve-1"] {
        until_phase(&stage, pod, "Running").await;
    }
    apply(&stage, "examples/driver/too-much.yaml").await;
    until("too-much says why it waits", || async { is_refused(&stage, "too-much").await }).await;
    assert_eq!(stage.cdi_files(), 3);

    // The driver dies. Its next life knows what the last one prepared.
    stage.end(false).await;
    stage.start(&[]).await;
    delete(&stage, "train").await;
    until_phase(&stage, "too-much", "Running").await;
    until_phase(&stage, "train", "none").await;

    // A device breaks, and its pod goes. Which GPU that is depends on who was placed first.
    let gpu = gpu_of(&stage, "too-much").await;
    stage.switch(&format!("unhealthy: [{gpu}]\n")).await;
    until_phase(&stage, "too-much", "none").await;

    // Preparing fails for a while; the event names the driver.
    stage.switch("prepare: fail\n").await;
    let pods = Resource::<Pod>::named("pods").within("default");
    let mut again = stage.connection.get(&pods, "serve-0").await.done().expect("it is there");
    again = Pod { spec: again.spec, ..Pod::default() };
    again.metadata.name = "serve-2".to_owned();
    again.spec.node_name = String::new();
    stage.connection.create(&pods, &again).await.done().expect("a good pod");
    let is_told = || async {
        let told = |event: &events::Event| {
            event.reason == "FailedPrepareDynamicResources" && event.note.contains("device.example.com")
        };
        list::<events::Event>(&stage, "events").await.iter().any(told)
    };
    until("the failure is told", is_told).await;
    stage.switch("prepare: ok\n").await;
    until_phase(&stage, "serve-2", "Running").await;

    for pod in ["serve-0", "serve-1", "serve-2"] {
        delete(&stage, pod).await;
    }
    let is_empty = || async { list::<ResourceClaim>(&stage, "resourceclaims").await.is_empty() };
    until("no claim is left", is_empty).await;
    assert_eq!(stage.cdi_files(), 0);
    assert_eq!(stage.end(true).await, Some(0), "{}", stage.log());
}
