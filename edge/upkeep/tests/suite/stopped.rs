//! Controllers that are stopped between any two writes, and others that go on.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::cluster::{
    PROTECTION, all, allocate, bare, claim, claims, finish, from_template, noted, options, pod, pods,
    template, until, user,
};
use client::{Connection, Resource};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use serde_json::json;
use tokio::time::sleep;

const PODS: usize = 24;

/// Runs controllers for a moment at a time, each cut off in the middle of what they do, until something is so.
async fn in_pieces(connection: &Connection, is_so: impl AsyncFn() -> bool) -> u32 {
    let began = Instant::now();
    for piece in 1.. {
        let cut_off = upkeep::Options { stop_within: Duration::ZERO, ..options() };
        // Lives of different lengths end at different writes; later ones are long enough to get anywhere.
        let life = Duration::from_millis(5 + u64::from(piece % 37) * 3 + u64::from(piece / 10));
        upkeep::run(connection.clone(), cut_off, sleep(life)).await;
        if is_so().await {
            return piece;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it never became so");
    }
    unreachable!("pieces have no end")
}

async fn claims_of_pods(connection: &Connection) -> (usize, BTreeSet<String>) {
    let all_pods: Vec<Pod> = all(connection, &pods()).await;
    let noted = all_pods.iter().filter_map(|pod| {
        pod.status.resource_claim_statuses.first().and_then(|status| status.resource_claim_name.clone())
    });
    (all(connection, &claims()).await.len(), noted.collect())
}

#[tokio::test]
async fn whenever_they_are_stopped_each_pod_has_one_claim_and_nothing_is_left_in_the_end() {
    let connection = bare().await;
    template(&connection).await;
    for index in 0..PODS {
        pod(&connection, &format!("p{index}"), from_template(), json!({ "nodeName": "n" })).await;
    }
    let made = in_pieces(&connection, async || {
        let (count, noted) = claims_of_pods(&connection).await;
        count == PODS && noted.len() == PODS
    });
    let made = made.await;
    for index in 0..PODS {
        let name = format!("p{index}");
        let uid = connection.get(&pods(), &name).await.done().expect("it is there").metadata.uid;
        let claim = connection.get(&claims(), &noted(&connection, &name).await).await.done();
        allocate(&connection, claim.expect("it is there"), user(&name, &uid)).await;
        finish(&connection, &name).await;
    }
    let gone = in_pieces(&connection, async || all(&connection, &claims()).await.is_empty()).await;
    assert!(made > 1 && gone > 1, "nobody was stopped: {made} and {gone} lives");
}

/// Goes on from something that was half done.
async fn go_on(connection: &Connection) {
    let hasty = upkeep::Options { patience: Duration::from_millis(50), ..options() };
    tokio::spawn(upkeep::run(connection.clone(), hasty, std::future::pending()));
}

fn made_for(pod: &Pod) -> serde_json::Value {
    let owner = json!({ "apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid, "controller": true });
    let annotations = json!({ "resource.kubernetes.io/pod-claim-name": "gpu" });
    json!({ "generateName": "p-gpu-", "ownerReferences": [owner], "annotations": annotations })
}

#[tokio::test]
async fn a_claim_that_was_made_and_not_noted_is_noted() {
    let connection = bare().await;
    template(&connection).await;
    let pod = pod(&connection, "p", from_template(), json!({})).await;
    let made = claim(&connection, made_for(&pod)).await;
    go_on(&connection).await;
    assert_eq!(noted(&connection, "p").await, made.metadata.name);
    assert_eq!(all(&connection, &claims()).await.len(), 1);
}

#[tokio::test]
async fn of_claims_that_were_made_twice_one_stays() {
    let connection = bare().await;
    template(&connection).await;
    let pod = pod(&connection, "p", from_template(), json!({})).await;
    let twice = [claim(&connection, made_for(&pod)).await, claim(&connection, made_for(&pod)).await];
    go_on(&connection).await;
    let stays = noted(&connection, "p").await;
    let goes = twice.iter().find(|claim| claim.metadata.name != stays).expect("there are two");
    until(&connection, &claims(), &goes.metadata.name, |claim| claim.is_none()).await;
    assert!(connection.get(&claims(), &stays).await.done().is_some());
}

#[tokio::test]
async fn a_claim_whose_devices_were_given_back_loses_its_protection_and_one_that_is_wanted_keeps_it() {
    let connection = bare().await;
    claim(&connection, json!({ "name": "left", "finalizers": [PROTECTION] })).await;
    claim(&connection, json!({ "name": "wanted", "finalizers": [PROTECTION] })).await;
    pod(&connection, "p", json!({ "resourceClaimName": "wanted" }), json!({})).await;
    go_on(&connection).await;
    let is_free =
        |claim: Option<&ResourceClaim>| claim.is_some_and(|claim| claim.metadata.finalizers.is_empty());
    until(&connection, &claims(), "left", is_free).await;
    sleep(Duration::from_millis(100)).await;
    let wanted = connection.get(&claims(), "wanted").await.done().expect("it is there");
    assert_eq!(wanted.metadata.finalizers, [PROTECTION], "a scheduler may be about to allocate it");
}

#[tokio::test]
async fn what_happened_while_nobody_looked_is_made_up_for() {
    let connection = bare().await;
    template(&connection).await;
    // A pod that is gone, one that has its name now, and a claim of each kind that the first has used.
    let shared = claim(&connection, json!({ "name": "shared" })).await;
    allocate(&connection, shared, user("p", "gone")).await;
    let now = pod(&connection, "p", json!({ "resourceClaimName": "other" }), json!({})).await;
    let mut before = now.clone();
    before.metadata.uid = "00000000-0000-4000-8000-000000000000".to_owned();
    let made = claim(&connection, made_for(&before)).await;
    allocate(&connection, made.clone(), user("p", &before.metadata.uid)).await;
    go_on(&connection).await;
    let claims: Resource<ResourceClaim> = claims();
    until(&connection, &claims, &made.metadata.name, |claim| claim.is_none()).await;
    let is_free = |claim: Option<&ResourceClaim>| {
        claim.is_some_and(|claim| claim.status.allocation.is_none() && claim.metadata.finalizers.is_empty())
    };
    until(&connection, &claims, "shared", is_free).await;
}
