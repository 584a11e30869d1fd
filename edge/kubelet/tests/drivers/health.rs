//! Containers are told how their devices are, for as long as anybody knows.

use objects::core::pod::Pod;
use serde_json::{Value, json};

use crate::cluster::{Cluster, pods, until};
use crate::driver::Manner;

const GPU: &str = "gpu.example.com";

/// What the first container of a pod is told of its first device.
fn told(pod: &Pod) -> Value {
    let statuses =
        json!(pod.status.container_statuses.first().map(|status| &status.allocated_resources_status));
    statuses[0].clone()
}

async fn until_told(cluster: &Cluster, health: &str) -> Value {
    let is_so = |pod: Pod| Some(told(&pod)).filter(|told| told["resources"][0]["health"] == health);
    until(health, async || cluster.connection.get(&pods(), "train").await.done().and_then(is_so)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_falls_ill_shows_in_the_status_and_silence_is_not_health() {
    let cluster = Cluster::start().await;
    let driver = cluster.driver_with(GPU, Manner::Good, &["v1.DRAPlugin", "v1.DRAResourceHealth"]);
    driver.set_health("HEALTHY");
    cluster.pod_with_device("train", GPU).await;
    cluster.phase("train", "Running").await;
    let well = until_told(&cluster, "Healthy").await;
    assert_eq!(well["name"], "claim:devices");
    assert_eq!(well["resources"][0]["resourceID"], "example.com/gpu=train");
    driver.set_health("UNHEALTHY");
    let ill = until_told(&cluster, "Unhealthy").await;
    assert_eq!(ill["resources"][0]["message"], "it is UNHEALTHY");
    driver.set_health("");
    let unknown = until_told(&cluster, "Unknown").await;
    assert!(unknown["resources"][0].get("message").is_none());
    let pod = cluster.phase("train", "Running").await;
    assert!(json!(pod.status.container_statuses)[0]["state"].get("running").is_some(), "the rest stays");
}
