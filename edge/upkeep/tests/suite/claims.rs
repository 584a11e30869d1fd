//! Claims on an API server: made once, and released only when their users are gone.

use std::time::Duration;

use crate::cluster::{
    PROTECTION, all, allocate, claim, claims, event, finish, from_template, kept_in_order, noted, pod, pods,
    read, request, template, until, user,
};
use client::Resource;
use objects::core::kinds::Namespace;
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use serde_json::{Value, json};
use tokio::time::sleep;

fn is_free(claim: Option<&ResourceClaim>) -> bool {
    claim.is_some_and(|claim| claim.status.allocation.is_none() && claim.metadata.finalizers.is_empty())
}

#[tokio::test]
async fn a_claim_is_made_when_its_template_comes_and_goes_with_its_pod() {
    let connection = kept_in_order().await;
    pod(&connection, "p", from_template(), json!({})).await;
    let missing = event(&connection, "p", "FailedResourceClaimCreation").await;
    assert_eq!(missing.note, "PodResourceClaim gpu: resourceclaimtemplate \"t\" not found");
    template(&connection).await;
    let name = noted(&connection, "p").await;
    assert!(name.starts_with("p-gpu-"), "{name}");
    assert!(connection.get(&claims(), &name).await.done().is_some());
    // It never had a node, so that nobody has to end it.
    connection.delete(&pods(), "p", &DeleteOptions::default()).await.done().expect("it is there");
    until(&connection, &claims(), &name, |claim| claim.is_none()).await;
}

#[tokio::test]
async fn a_claim_that_was_lost_is_made_anew() {
    let connection = kept_in_order().await;
    template(&connection).await;
    pod(&connection, "p", from_template(), json!({})).await;
    let first = noted(&connection, "p").await;
    connection.delete(&claims(), &first, &DeleteOptions::default()).await.done().expect("it is there");
    let is_another = |pod: Option<&Pod>| {
        let named = |pod: &Pod| pod.status.resource_claim_statuses[0].resource_claim_name.clone();
        pod.and_then(named).is_some_and(|name| name != first)
    };
    until(&connection, &pods(), "p", is_another).await;
    assert_eq!(all(&connection, &claims()).await.len(), 1);
}

#[tokio::test]
async fn devices_stay_with_a_claim_while_its_pod_is_there() {
    let connection = kept_in_order().await;
    let pod = pod(&connection, "p", json!({ "resourceClaimName": "shared" }), json!({})).await;
    let shared = claim(&connection, json!({ "name": "shared" })).await;
    allocate(&connection, shared, user("p", &pod.metadata.uid)).await;
    sleep(Duration::from_millis(300)).await;
    let claim = connection.get(&claims(), "shared").await.done().expect("it is there");
    assert_eq!((claim.status.reserved_for.len(), claim.status.allocation.is_some()), (1, true));
    connection.delete(&pods(), "p", &DeleteOptions::default()).await.done().expect("it is there");
    until(&connection, &claims(), "shared", is_free).await;
}

#[tokio::test]
async fn who_took_the_name_of_a_pod_does_not_use_its_claims() {
    let connection = kept_in_order().await;
    pod(&connection, "p", json!({ "resourceClaimName": "shared" }), json!({})).await;
    let shared = claim(&connection, json!({ "name": "shared" })).await;
    allocate(&connection, shared, user("p", "another")).await;
    until(&connection, &claims(), "shared", |claim| {
        claim.is_some_and(|claim| claim.status.allocation.is_none())
    })
    .await;
}

#[tokio::test]
async fn a_claim_for_extended_resources_goes_when_its_pod_is_over() {
    let connection = kept_in_order().await;
    let spec = json!({ "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] });
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": spec });
    let pod = connection.create(&pods(), &read::<Pod>(&pod)).await.done().expect("a good pod");
    let owner = json!({ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod.metadata.uid, "controller": true });
    let metadata = json!({
        "name": "p-extended-resources-x", "ownerReferences": [owner], "finalizers": [PROTECTION],
        "annotations": { "resource.kubernetes.io/extended-resource-claim": "true" },
    });
    let made = claim(&connection, metadata).await;
    allocate(&connection, made, user("p", &pod.metadata.uid)).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(all(&connection, &claims()).await.len(), 1);
    finish(&connection, "p").await;
    until(&connection, &claims(), "p-extended-resources-x", |claim| claim.is_none()).await;
    assert!(connection.get(&pods(), "p").await.done().is_some(), "the pod itself stays");
}

#[tokio::test]
async fn without_the_label_of_its_namespace_admin_access_is_refused_and_the_event_says_what_to_do() {
    let connection = kept_in_order().await;
    let label = |on: bool| json!({ "metadata": { "labels": { "resource.kubernetes.io/admin-access": on.to_string() } } });
    let namespaces = Resource::<Namespace>::named("namespaces");
    let patch = async |body: &Value| {
        connection.patch(&namespaces, "default", &client::Patch::Merge, body).await.done().expect("a label");
    };
    patch(&label(true)).await;
    let mut spec = request();
    spec["devices"]["requests"][0]["exactly"]["adminAccess"] = json!(true);
    let admin = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": { "name": "t" }, "spec": { "spec": spec },
    });
    let templates = Resource::<ResourceClaimTemplate>::named("resourceclaimtemplates").within("default");
    connection.create(&templates, &read(&admin)).await.done().expect("a good template");
    patch(&label(false)).await;
    pod(&connection, "p", from_template(), json!({})).await;
    let refused = event(&connection, "p", "FailedResourceClaimCreation").await;
    assert!(refused.note.contains("hint: admin access needs a namespace with the label"), "{}", refused.note);
    // It is tried again by itself.
    patch(&label(true)).await;
    noted(&connection, "p").await;
}
