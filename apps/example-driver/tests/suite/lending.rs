//! The driver as a controller of its own, with its part on a node: it gives what the node reports, nothing twice, and is slow,
//! wrong or dead on request.

use client::{Answer, Resource};
use driver_kit::controller::handles;
use objects::core::kinds::ConfigMap;
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use objects::resource::claim::ResourceClaim;
use serde_json::{Value, json};

use crate::stage::{LENDER, Stage, until};

async fn make(stage: &Stage, api_version: &str, plural: &str, namespace: &str, object: &Value) {
    let answer = stage.connection.create_untyped(api_version, plural, namespace, object).await;
    assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
}

/// A class of this kind, by its name.
async fn class(stage: &Stage, kind: &str) {
    let config = json!([{ "opaque": { "driver": LENDER, "parameters": { "kind": kind } } }]);
    let object = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": { "name": kind.to_lowercase() },
        "spec": { "controllerName": LENDER, "config": config },
    });
    make(stage, "resource.k8s.io/v1", "deviceclasses", "", &object).await;
}

/// A pod with a claim of its own name.
async fn pod(stage: &Stage, name: &str, class: &str) {
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": { "name": name },
        "spec": { "devices": { "requests": [{ "name": "r", "exactly": { "deviceClassName": class } }] } },
    });
    make(stage, "resource.k8s.io/v1", "resourceclaims", "default", &claim).await;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": {
            "containers": [{ "name": "main", "image": "example.com/main" }],
            "resourceClaims": [{ "name": "c", "resourceClaimName": name }],
        },
    });
    make(stage, "v1", "pods", "default", &pod).await;
}

/// Whether a pod has a node, and what it says of that.
async fn node(stage: &Stage, name: &str) -> (bool, String) {
    let pods = Resource::<Pod>::named("pods").within("default");
    let pod = stage.connection.get(&pods, name).await.done().unwrap_or_default();
    let scheduled = pod.status.conditions.into_iter().find(|one| one.type_ == "PodScheduled");
    (!pod.spec.node_name.is_empty(), scheduled.map(|one| one.message).unwrap_or_default())
}

async fn until_bound(stage: &Stage, name: &str) {
    until(&format!("{name} is bound"), || async { node(stage, name).await.0 }).await;
}

async fn until_waiting(stage: &Stage, name: &str, says: &str) {
    until(&format!("{name} says {says}"), || async {
        let (is_bound, message) = node(stage, name).await;
        !is_bound && message.contains(says)
    })
    .await;
}

async fn claim(stage: &Stage, name: &str) -> ResourceClaim {
    let claims = Resource::<ResourceClaim>::named("resourceclaims").within("default");
    stage.connection.get(&claims, name).await.done().expect("it is there")
}

/// Checks the devices of a claim with one request, where a kubelet looks for drivers: so many, in this pool, and of a name that no other
/// claim's device has.
async fn has_devices(stage: &Stage, name: &str, count: usize, pool: &str) {
    let claim = claim(stage, name).await;
    let device = format!("lent-{}-0", claim.metadata.uid);
    let results = claim.status.allocation.expect("it is allocated").devices.results;
    let found: Vec<_> =
        results.iter().map(|one| (&*one.request, &*one.driver, &*one.pool, &*one.device)).collect();
    assert_eq!(found, vec![("r", LENDER, pool, &*device); count], "{name}");
}

/// What a claim was given.
async fn given(stage: &Stage, name: &str) -> Value {
    let handles = handles(&claim(stage, name).await).expect("handles that can be read");
    serde_json::from_str(&handles[0].data).expect("what the driver wrote")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_reports_is_given_and_what_is_optional_may_be_none() {
    let mut stage = Stage::cluster("lend").await;
    for kind in ["local", "optional", "fpgaWithNic"] {
        class(&stage, kind).await;
    }
    stage.start_lending("optional: 1\n").await;
    pod(&stage, "a", "local").await;
    until_waiting(&stage, "a", "unsuitable").await;

    stage.start_reporting("{local: 1, fpgas: 2, nics: 1}\n").await;
    until_bound(&stage, "a").await;
    assert_eq!(given(&stage, "a").await, json!({ "kind": "local", "node": "n1", "count": 1 }));
    until("the part on the node prepares it", || async {
        let log = std::fs::read_to_string(stage.dir.join("node-log")).unwrap_or_default();
        log.contains("prepared default/a with 1 of local for node n1")
    })
    .await;

    // The node gets another one.
    pod(&stage, "b", "local").await;
    until_waiting(&stage, "b", "unsuitable").await;
    stage.put_on_shelf("{local: 2, fpgas: 2, nics: 1}\n");
    until_bound(&stage, "b").await;
    has_devices(&stage, "a", 1, "n1").await;
    has_devices(&stage, "b", 1, "n1").await;

    // Of two functions one is short of a NIC, until the other is given back.
    for name in ["f", "g"] {
        pod(&stage, name, "fpgawithnic").await;
    }
    let one_is_bound = || async { node(&stage, "f").await.0 || node(&stage, "g").await.0 };
    until("one has the NIC", one_is_bound).await;
    let (first, second) = if node(&stage, "f").await.0 { ("f", "g") } else { ("g", "f") };
    until_waiting(&stage, second, "unsuitable").await;
    let pods = Resource::<Pod>::named("pods").within("default");
    stage.connection.delete(&pods, first, &DeleteOptions::default()).await.done().expect("it is there");
    until_bound(&stage, second).await;

    for name in ["x", "y"] {
        pod(&stage, name, "optional").await;
        until_bound(&stage, name).await;
    }
    let counts = (given(&stage, "x").await["count"].clone(), given(&stage, "y").await["count"].clone());
    assert_eq!(counts, (json!(1), json!(0)), "the second one gets none, and goes on");
    has_devices(&stage, "x", 1, "n1").await;
    has_devices(&stage, "y", 0, "n1").await;

    // A report that means nothing, and one that is withdrawn, take nothing from those who have it.
    let reports = Resource::<ConfigMap>::named("configmaps").within("kube-system");
    stage.set_switches("publish: fail\n");
    until("it is said that it means nothing", || async { stage.log().contains("has an invalid report") })
        .await;
    pod(&stage, "c", "local").await;
    until_waiting(&stage, "c", "unsuitable").await;
    stage.set_switches("publish: nothing\n");
    until("the report is gone", || async {
        let found = stage.connection.get(&reports, &format!("{LENDER}-n1")).await;
        matches!(found, Answer::NotFound(_))
    })
    .await;
    assert!(node(&stage, "a").await.0 && node(&stage, "b").await.0);
    assert_eq!(stage.end(true).await, Some(0), "{}", stage.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lender_is_dead_wrong_and_slow_on_request() {
    let mut stage = Stage::cluster("unreliable").await;
    class(&stage, "local").await;
    let has_one = "nodes: {n1: {local: 1}}\n";
    stage.start_lending(has_one).await;
    stage.switch("negotiate: dead\n").await;
    pod(&stage, "a", "local").await;
    until_waiting(&stage, "a", "waiting for resource driver lender.example.com to allocate claim c").await;
    // One that does not answer stops all the same.
    assert_eq!(stage.end(true).await, Some(0), "{}", stage.log());

    stage.set_switches("negotiate: fail\n");
    stage.start_lending(has_one).await;
    until("it fails", || async { stage.log().contains("configured to fail") }).await;
    stage.switch("negotiate: wrong\n").await;
    until_waiting(&stage, "a", "unsuitable").await;
    stage.switch("delayMs: 30\n").await;
    until_bound(&stage, "a").await;
    assert_eq!(stage.end(true).await, Some(0), "{}", stage.log());
}
