//! Claims are prepared before their pods run, and taken back before they are over, whatever dies in between.

use std::fs;

use client::Resource;
use kubelet::simulated::RUN_SECONDS;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::slice::ResourceSlice;
use serde_json::json;

use crate::cluster::{Cluster, NODE, called, until};
use crate::driver::{Driver, Manner};

const GPU: &str = "gpu.example.com";

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_runs_with_its_devices_and_gives_them_back() {
    let cluster = Cluster::start().await;
    let driver = cluster.driver(GPU, Manner::Good);
    let pod = cluster.pod_with_device("train", GPU).await;
    cluster.phase("train", "Running").await;
    assert_eq!(cluster.devices(&pod)["containers"]["main"]["cdiDevices"], json!(["example.com/gpu=train"]));
    assert!(cluster.checkpoint().contains(&pod.metadata.uid));
    let calls = driver.calls();
    assert!(calls.contains(&"registered true ".to_owned()), "{calls:?}");
    assert!(
        calls.contains(&"prepare train".to_owned()) && !calls.contains(&"v1beta1".to_owned()),
        "{calls:?}"
    );

    cluster.delete_pod("train", false).await;
    cluster.gone("train").await;
    assert!(driver.calls().contains(&"unprepare train".to_owned()), "it is over only after that");
    assert!(!cluster.checkpoint().contains(&pod.metadata.uid));
    assert!(cluster.devices(&pod).is_null());
    for method in ["NodePrepareResources", "NodeUnprepareResources"] {
        let method = format!("/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/{method}");
        assert!(cluster.heard.has(&["Called", GPU, &method, "\"OK\""]), "{method}");
    }
    assert!(cluster.heard.has(&["Operated", "Prepare", "is_error: false"]));
    assert!(cluster.heard.has(&["InUse", GPU, "claims: 1"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_prefers_the_older_version_is_called_in_it() {
    let cluster = Cluster::start().await;
    let driver = cluster.driver_with(GPU, Manner::Good, &["v1beta1.DRAPlugin", "v1.DRAPlugin"]);
    cluster.pod_with_device("train", GPU).await;
    cluster.phase("train", "Running").await;
    assert!(driver.calls().contains(&"v1beta1".to_owned()));
    cluster.delete_pod("train", false).await;
    cluster.gone("train").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_done_is_over_after_its_devices_are_taken_back() {
    let cluster = Cluster::start().await;
    let driver = cluster.driver(GPU, Manner::Good);
    cluster.claim("job").await;
    let metadata = json!({ "name": "job", "annotations": { RUN_SECONDS: "0" } });
    let spec = json!({
        "nodeName": NODE, "restartPolicy": "Never",
        "containers": [{ "name": "main", "image": "i", "resources": { "claims": [{ "name": "d" }] } }],
        "resourceClaims": [{ "name": "d", "resourceClaimName": "job" }],
    });
    let pod: Pod = cluster
        .create("pods", json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec }))
        .await;
    cluster.allocate("job", GPU, &[&pod]).await;
    cluster.phase("job", "Succeeded").await;
    assert!(driver.calls().contains(&"unprepare job".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_waits_until_its_claim_is_allocated_and_reserved() {
    let cluster = Cluster::start().await;
    let driver = cluster.driver(GPU, Manner::Good);
    cluster.claim("c").await;
    let pod = cluster.pod("train", "c").await;
    let event = cluster.event("train", &["is not allowed to use ResourceClaim c", "hint: "]).await;
    assert_eq!((&*event.reason, &*event.type_), ("FailedPrepareDynamicResources", "Warning"));
    assert!(event.note.starts_with("Failed to prepare dynamic resources: prepare dynamic resources: "));
    let other = cluster.pod("other", "nothing").await;
    cluster.event("other", &["fetch ResourceClaim nothing"]).await;
    cluster.allocate("c", GPU, &[&other]).await;
    called(&driver, "registered true").await;
    assert!(!driver.calls().iter().any(|call| call.starts_with("prepare")));
    cluster.allocate("c", GPU, &[&other, &pod]).await;
    cluster.phase("train", "Running").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_two_pods_share_is_taken_back_after_the_second() {
    let cluster = Cluster::start().await;
    let driver = cluster.driver(GPU, Manner::Good);
    cluster.claim("shared").await;
    let (one, two) = (cluster.pod("one", "shared").await, cluster.pod("two", "shared").await);
    cluster.allocate("shared", GPU, &[&one, &two]).await;
    cluster.phase("one", "Running").await;
    cluster.phase("two", "Running").await;
    cluster.delete_pod("one", false).await;
    cluster.gone("one").await;
    assert!(!driver.calls().contains(&"unprepare shared".to_owned()));
    cluster.delete_pod("two", false).await;
    cluster.gone("two").await;
    assert!(driver.calls().contains(&"unprepare shared".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_outlives_its_driver_and_goes_when_the_driver_is_back() {
    let cluster = Cluster::start().await;
    let mut driver = cluster.driver(GPU, Manner::Good);
    cluster.pod_with_device("train", GPU).await;
    cluster.phase("train", "Running").await;
    driver.kill();
    cluster.delete_pod("train", false).await;
    let event =
        cluster.event("train", &["NodeUnprepareResources of DRA driver gpu.example.com", "hint: "]).await;
    assert_eq!(event.reason, "FailedUnprepareDynamicResources");
    let driver = Driver::start(driver.role.clone());
    cluster.gone("train").await;
    assert!(driver.calls().contains(&"unprepare train".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_is_killed_and_restarted_prepares_what_waits() {
    let cluster = Cluster::start().await;
    let mut driver = cluster.driver(GPU, Manner::Good);
    called(&driver, "registered true").await;
    for round in 0..3 {
        driver.kill();
        let name = format!("train-{round}");
        cluster.pod_with_device(&name, GPU).await;
        cluster.event(&name, &["DRA driver gpu.example.com", "hint: "]).await;
        driver = Driver::start(driver.role.clone());
        cluster.phase(&name, "Running").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_when_the_node_died_is_taken_back_when_it_is_started_again() {
    let mut cluster = Cluster::start().await;
    let driver = cluster.driver(GPU, Manner::Good);
    let gone = cluster.pod_with_device("gone", GPU).await;
    let stays = cluster.pod_with_device("stays", GPU).await;
    cluster.phase("gone", "Running").await;
    cluster.phase("stays", "Running").await;
    cluster.kill_node().await;
    cluster.delete_pod("gone", true).await;
    cluster.gone("gone").await;
    assert!(cluster.checkpoint().contains(&gone.metadata.uid));
    cluster.start_node();
    called(&driver, "unprepare gone").await;
    until("the claim is forgotten", async || {
        (!cluster.checkpoint().contains(&gone.metadata.uid)).then_some(())
    })
    .await;
    assert!(cluster.checkpoint().contains(&stays.metadata.uid));
    assert!(!driver.calls().contains(&"unprepare stays".to_owned()));
    cluster.delete_pod("stays", false).await;
    cluster.gone("stays").await;
    assert!(driver.calls().contains(&"unprepare stays".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_deleted_by_force_leaves_nothing_prepared() {
    let cluster = Cluster::start().await;
    let driver = cluster.driver(GPU, Manner::Good);
    let pod = cluster.pod_with_device("train", GPU).await;
    cluster.phase("train", "Running").await;
    cluster.delete_pod("train", true).await;
    called(&driver, "unprepare train").await;
    until("the claim is forgotten", async || {
        (!cluster.checkpoint().contains(&pod.metadata.uid)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_checkpoint_stops_the_node_and_says_what_to_do() {
    let mut cluster = Cluster::without_node().await;
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": NODE } });
    let node: Node = serde_json::from_value(node).expect("a node");
    cluster.connection.create(&Resource::named("nodes"), &node).await.done().expect("it is new");
    fs::create_dir_all(&cluster.root).expect("a folder");
    fs::write(cluster.root.join("dra_manager_state"), r#"{"Data":"{}","Checksum":7}"#).expect("a file");
    cluster.start_node();
    let error = cluster.end_of_node().await.expect_err("it cannot know what is prepared").to_string();
    assert!(
        error.contains("dra_manager_state is damaged") && error.contains("hint: drain the node"),
        "{error}"
    );
    let event = cluster.event(NODE, &["is damaged", "hint: drain the node"]).await;
    assert_eq!(event.reason, "DamagedCheckpoint");
}

fn slice(name: &str, driver: &str, node: &str) -> serde_json::Value {
    let pool = json!({ "name": name, "generation": 1, "resourceSliceCount": 1 });
    let spec =
        json!({ "driver": driver, "nodeName": node, "pool": pool, "devices": [{ "name": "device-0" }] });
    json!({ "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": { "name": name }, "spec": spec })
}

#[tokio::test(flavor = "multi_thread")]
async fn slices_go_when_the_node_starts_and_some_time_after_their_driver_went() {
    let mut cluster = Cluster::without_node().await;
    let slices = Resource::<ResourceSlice>::named("resourceslices");
    for (name, driver, node) in [("old", GPU, NODE), ("elsewhere", GPU, "node-2")] {
        cluster.create::<ResourceSlice>("resourceslices", slice(name, driver, node)).await;
    }
    cluster.start_node();
    let is_gone =
        async |name: &str| cluster.connection.get(&slices, name).await.done().is_none().then_some(());
    until("the old slice is gone", async || is_gone("old").await).await;
    let mut gpu = cluster.driver(GPU, Manner::Good);
    let nic = cluster.driver("nic.example.com", Manner::Good);
    called(&gpu, "registered true").await;
    called(&nic, "registered true").await;
    for (name, driver) in [("gpu", GPU), ("nic", "nic.example.com")] {
        cluster.create::<ResourceSlice>("resourceslices", slice(name, driver, NODE)).await;
    }
    gpu.uninstall();
    until("the slice of the driver is gone", async || is_gone("gpu").await).await;
    for name in ["nic", "elsewhere"] {
        assert!(cluster.connection.get(&slices, name).await.done().is_some(), "{name} is still there");
    }
}
