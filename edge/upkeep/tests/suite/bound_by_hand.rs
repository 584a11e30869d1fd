//! Pods that got their node without a scheduler.

use crate::cluster::{
    allocate, claim, claims, from_template, kept_in_order, noted, pod, read, template, until,
};
use client::Resource;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::json;

fn is_reserved_for(uid: &str) -> impl Fn(Option<&ResourceClaim>) -> bool {
    move |claim| claim.is_some_and(|claim| claim.status.reserved_for.iter().any(|user| user.uid == uid))
}

#[tokio::test]
async fn what_is_allocated_is_reserved_for_them() {
    let connection = kept_in_order().await;
    let shared = claim(&connection, json!({ "name": "shared" })).await;
    allocate(&connection, shared, json!([])).await;
    let entry = json!({ "resourceClaimName": "shared" });
    let pod = pod(&connection, "p", entry, json!({ "nodeName": "n" })).await;
    until(&connection, &claims(), "shared", is_reserved_for(&pod.metadata.uid)).await;
}

#[tokio::test]
async fn a_claim_from_a_template_is_reserved_once_it_has_devices() {
    let connection = kept_in_order().await;
    template(&connection).await;
    let pod = pod(&connection, "p", from_template(), json!({ "nodeName": "n" })).await;
    let name = noted(&connection, "p").await;
    let made = connection.get(&claims(), &name).await.done().expect("it is there");
    assert!(made.status.reserved_for.is_empty());
    allocate(&connection, made, json!([])).await;
    until(&connection, &claims(), &name, is_reserved_for(&pod.metadata.uid)).await;
}

#[tokio::test]
async fn the_controller_of_a_driver_is_told_the_node() {
    let connection = kept_in_order().await;
    let class = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
        "metadata": { "name": "gpu" }, "spec": { "controllerName": "gpu.example.com" },
    });
    claim(&connection, json!({ "name": "classic" })).await;
    let entry = json!({ "resourceClaimName": "classic" });
    let pod = pod(&connection, "p", entry, json!({ "nodeName": "n" })).await;
    // The class may come later.
    let classes = Resource::<DeviceClass>::named("deviceclasses");
    connection.create(&classes, &read(&class)).await.done().expect("a good class");
    let contexts = Resource::<PodSchedulingContext>::named("podschedulingcontexts").within("default");
    let context = until(&connection, &contexts, "p", |context| context.is_some()).await.expect("it is there");
    assert_eq!((context.spec.selected_node.as_str(), context.spec.potential_nodes.len()), ("n", 0));
    assert_eq!(context.metadata.owner_references[0].uid, pod.metadata.uid);
}
