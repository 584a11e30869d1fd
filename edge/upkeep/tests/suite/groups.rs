//! Claims that the pods of a group share.

use crate::cluster::{
    all, allocate, claims, from_template, kept_in_order, noted, pod, pods, read, template, until,
};
use client::{Connection, Resource};
use objects::meta::DeleteOptions;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;
use serde_json::json;

fn groups() -> Resource<PodGroup> {
    Resource::named("podgroups").within("default")
}

async fn group(connection: &Connection) -> PodGroup {
    let entry = json!({ "name": "gpu", "resourceClaimTemplateName": "t" });
    let spec = json!({ "schedulingPolicy": { "basic": {} }, "resourceClaims": [entry] });
    let group = json!({
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": { "name": "g" }, "spec": spec,
    });
    connection.create(&groups(), &read(&group)).await.done().expect("a good group")
}

async fn member(connection: &Connection, name: &str) {
    let more = json!({ "schedulingGroup": { "podGroupName": "g" } });
    pod(connection, name, from_template(), more).await;
}

#[tokio::test]
async fn members_name_the_claim_of_their_group_and_it_goes_with_the_group() {
    let connection = kept_in_order().await;
    template(&connection).await;
    // The order does not matter: a member waits for its group.
    member(&connection, "early").await;
    let group = group(&connection).await;
    member(&connection, "late").await;
    let (early, late) = (noted(&connection, "early").await, noted(&connection, "late").await);
    assert!(early == late && early.starts_with("g-gpu-"), "{early} {late}");
    let claim = connection.get(&claims(), &early).await.done().expect("it is there");
    assert_eq!(claim.metadata.owner_references[0].uid, group.metadata.uid);
    let group = connection.get(&groups(), "g").await.done().expect("it is there");
    assert_eq!(group.status.resource_claim_statuses[0].resource_claim_name.as_deref(), Some(early.as_str()));
    assert_eq!(all(&connection, &claims()).await.len(), 1);
    let users = json!([{
        "apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": group.metadata.uid,
    }]);
    allocate(&connection, claim, users).await;
    connection.delete(&pods(), "early", &DeleteOptions::default()).await.done().expect("it is there");
    until(&connection, &pods(), "early", |pod| pod.is_none()).await;
    let kept = connection.get(&claims(), &early).await.done().expect("the group still uses it");
    assert!(kept.status.allocation.is_some() && kept.status.reserved_for.len() == 1);
    connection.delete(&groups(), "g", &DeleteOptions::default()).await.done().expect("it is there");
    // The group is protected while it has pods, and its claim with it.
    connection.delete(&pods(), "late", &DeleteOptions::default()).await.done().expect("it is there");
    until(&connection, &groups(), "g", |group| group.is_none()).await;
    until(&connection, &claims(), &early, |claim: Option<&ResourceClaim>| claim.is_none()).await;
}
