//! Pods and negotiations that nobody will end any more.

use std::time::Duration;

use client::{Patch, Resource};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::{Value, json};

use crate::site::{QUARANTINE, Site, stays, user};

fn is_free(claim: Option<&ResourceClaim>) -> bool {
    claim.is_some_and(|claim| claim.status.allocation.is_none() && claim.metadata.finalizers.is_empty())
}

fn has_devices(claim: Option<&ResourceClaim>) -> bool {
    claim.is_some_and(|claim| claim.status.allocation.is_some())
}

#[tokio::test]
async fn the_devices_of_a_node_that_is_gone_are_free_again() {
    let site = Site::open().await;
    let _crew = site.crew();
    site.node("n").await;
    let _alive = site.keep_alive("n");
    let uses = json!({ "resourceClaims": [{ "name": "gpu", "resourceClaimName": "c" }] });
    let pod = site.pod("p", "n", uses).await;
    site.claim("c", json!([]), json!([]), user(&pod)).await;
    site.all_the_time::<ResourceClaim>("c", QUARANTINE * 2, has_devices).await;
    site.delete::<Node>("n").await;
    site.until::<Pod>("p", |pod| pod.is_none()).await;
    site.until::<ResourceClaim>("c", is_free).await;
}

#[tokio::test]
async fn a_node_that_comes_back_in_time_keeps_its_pods() {
    let site = Site::open().await;
    let _crew = site.crew();
    site.make::<Node>(json!({ "metadata": { "name": "n" } })).await;
    site.pod("p", "n", json!({})).await;
    site.delete::<Node>("n").await;
    site.make::<Node>(json!({ "metadata": { "name": "n" } })).await;
    site.all_the_time::<Pod>("p", QUARANTINE * 3, stays).await;
}

#[tokio::test]
async fn a_pod_that_failed_before_its_remover_died_is_removed_by_the_next() {
    let site = Site::open().await;
    site.pod("p", "gone", json!({})).await;
    site.say::<Pod>("p", &json!({ "status": { "phase": "Failed" } })).await;
    let _crew = site.crew();
    site.until::<Pod>("p", |pod| pod.is_none()).await;
}

#[tokio::test]
async fn what_goes_on_a_node_that_is_out_of_service_is_gone() {
    let site = Site::open().await;
    let _crew = site.crew();
    site.make::<Node>(json!({ "metadata": { "name": "n" } })).await;
    site.pod("p", "n", json!({})).await;
    site.delete::<Pod>("p").await;
    let goes = |pod: Option<&Pod>| pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some());
    site.all_the_time::<Pod>("p", Duration::from_millis(300), goes).await;
    let off =
        json!({ "key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute" });
    site.change::<Node>("n", &json!({ "spec": { "taints": [off] } })).await;
    site.until::<Pod>("p", |pod| pod.is_none()).await;
}

#[tokio::test]
async fn of_too_many_ended_pods_the_oldest_go() {
    let site = Site::open().await;
    site.make::<Node>(json!({ "metadata": { "name": "n" } })).await;
    for name in ["a", "b", "c", "d"] {
        site.pod(name, "n", json!({})).await;
        site.say::<Pod>(name, &json!({ "status": { "phase": "Succeeded" } })).await;
    }
    site.pod("running", "n", json!({})).await;
    let _crew = site.crew();
    site.until::<Pod>("a", |pod| pod.is_none()).await;
    site.until::<Pod>("b", |pod| pod.is_none()).await;
    for name in ["c", "d", "running"] {
        assert!(stays(site.get::<Pod>(name).await.as_ref()), "{name}");
    }
}

#[tokio::test]
async fn a_negotiation_ends_with_its_pod_or_with_what_it_was_about() {
    let site = Site::open().await;
    let pod = site
        .pod("bound", "n", json!({ "resourceClaims": [{ "name": "gpu", "resourceClaimName": "c" }] }))
        .await;
    let made_for = |name: &str, uid: &str| -> Value {
        let owner =
            json!({ "apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": true });
        json!({ "metadata": { "name": name, "ownerReferences": [owner] }, "spec": { "selectedNode": "n" } })
    };
    site.make::<Node>(json!({ "metadata": { "name": "n" } })).await;
    site.make::<PodSchedulingContext>(made_for("bound", &pod.metadata.uid)).await;
    let nobodys = json!({ "metadata": { "name": "nobody" }, "spec": { "selectedNode": "n" } });
    site.make::<PodSchedulingContext>(nobodys).await;
    let _crew = site.crew();
    site.until::<PodSchedulingContext>("nobody", |context| context.is_none()).await;
    let is_there = |context: Option<&PodSchedulingContext>| context.is_some();
    site.all_the_time::<PodSchedulingContext>("bound", Duration::from_millis(300), is_there).await;
    site.claim("c", json!([]), json!([]), user(&pod)).await;
    site.until::<PodSchedulingContext>("bound", |context| context.is_none()).await;
}

#[tokio::test]
async fn a_pod_that_waits_for_a_finalizer_is_failed_once_and_then_left_alone() {
    let site = Site::open().await;
    let _crew = site.crew();
    site.pod("p", "gone", json!({})).await;
    site.change::<Pod>("p", &json!({ "metadata": { "finalizers": ["example.com/mine"] } })).await;
    let failed = |pod: Option<&Pod>| {
        pod.is_some_and(|pod| pod.status.phase == "Failed" && pod.metadata.deletion_timestamp.is_some())
    };
    let pod = site.until::<Pod>("p", failed).await.expect("it is held");
    let same = |now: Option<&Pod>| {
        now.is_some_and(|now| now.metadata.resource_version == pod.metadata.resource_version)
    };
    site.all_the_time::<Pod>("p", QUARANTINE, same).await;
    let pods = Resource::<Pod>::named("pods").within("default");
    let free = json!({ "metadata": { "finalizers": null } });
    site.connection.patch(&pods, "p", &Patch::Merge, &free).await.done().expect("it is there");
    site.until::<Pod>("p", |pod| pod.is_none()).await;
}
