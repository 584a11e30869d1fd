//! Evictions through the API: whoever made a pod can tell from it why it ended.

use anyhow::{Result, ensure};
use client::{Answer, Patch};
use e2e::shapes::{object, pod};
use e2e::{Cluster, Kind};
use objects::core::pod::{Pod, PodCondition};
use objects::policy::PodDisruptionBudget;
use serde_json::{Value, json};

crate::on_both![
    a_pod_that_is_evicted_says_so,
    an_eviction_of_another_pod_leaves_it_alone,
    a_pod_that_is_not_ready_is_evicted_for_free_as_its_budget_has_it,
];

async fn evict(cluster: &Cluster, options: Value) -> Answer<()> {
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": { "name": "p", "namespace": "default" }, "deleteOptions": options,
    });
    let answer = cluster.connection().create_untyped("v1", "pods/p/eviction", "default", &eviction).await;
    answer.and_then(|_| Answer::Done(()))
}

fn mark(pod: &Pod) -> Option<&PodCondition> {
    pod.status.conditions.iter().find(|condition| condition.type_ == "DisruptionTarget")
}

/// A pod that stays to be looked at when it is deleted.
async fn make(cluster: &Cluster) -> Result<Pod> {
    let mut new = pod("p", json!({}))?;
    new.metadata.finalizers = vec!["example.com/stays".to_owned()];
    cluster.create(&new).await
}

async fn a_pod_that_is_evicted_says_so(cluster: &Cluster) -> Result<()> {
    make(cluster).await?;
    let answer = evict(cluster, json!({ "dryRun": ["All"] })).await;
    ensure!(matches!(answer, Answer::Done(_)), "{answer:?}");
    ensure!(mark(&cluster.read("p").await?).is_none(), "a dry run left a mark");
    // The mark is a change of its own; a wish for a version is one for the version before it.
    let version = cluster.read::<Pod>("p").await?.metadata.resource_version;
    let answer = evict(cluster, json!({ "preconditions": { "resourceVersion": version } })).await;
    ensure!(matches!(answer, Answer::Done(_)), "{answer:?}");
    let pod: Pod = cluster.read("p").await?;
    let said = mark(&pod).map(|one| (&*one.status, &*one.reason, &*one.message));
    ensure!(said == Some(("True", "EvictionByEvictionAPI", "Eviction API: evicting")), "it says {said:?}");
    ensure!(mark(&pod).is_some_and(|one| one.last_transition_time.is_some()));
    ensure!(pod.metadata.deletion_timestamp.is_some(), "it stays");
    let freed = json!({ "metadata": { "finalizers": null } });
    // It goes with its last finalizer, and there may be no node that has to let go of it.
    let _: Answer<Pod> = cluster.connection().patch(&Pod::resource(), "p", &Patch::Merge, &freed).await;
    Ok(())
}

async fn an_eviction_of_another_pod_leaves_it_alone(cluster: &Cluster) -> Result<()> {
    make(cluster).await?;
    for wrong in [json!({ "uid": "00000000-0000-0000-0000-000000000000" }), json!({ "resourceVersion": "1" })]
    {
        let answer = evict(cluster, json!({ "preconditions": wrong })).await;
        ensure!(matches!(answer, Answer::Conflict(_)), "{answer:?}");
    }
    let pod: Pod = cluster.read("p").await?;
    ensure!(mark(&pod).is_none() && pod.metadata.deletion_timestamp.is_none(), "{:?}", pod.status.conditions);
    let freed = json!({ "metadata": { "finalizers": null } });
    cluster.patch::<Pod>("p", freed).await.map(drop)
}

async fn a_pod_that_is_not_ready_is_evicted_for_free_as_its_budget_has_it(cluster: &Cluster) -> Result<()> {
    let budget = |policy: &str| {
        json!({ "metadata": { "name": "b", "namespace": "default" },
            "spec": { "minAvailable": 1, "selector": {}, "unhealthyPodEvictionPolicy": policy } })
    };
    cluster.create(&object::<PodDisruptionBudget>(&budget("IfHealthyBudget"))?).await?;
    make(cluster).await?;
    let is = async |healthy: u32, ready: &str| {
        let status = json!({
            "observedGeneration": 1, "expectedPods": 1, "desiredHealthy": 1, "currentHealthy": healthy, "disruptionsAllowed": 0,
        });
        cluster.patch_status::<PodDisruptionBudget>("b", json!({ "status": status })).await?;
        let condition = json!({ "type": "Ready", "status": ready });
        let status = json!({ "status": { "phase": "Running", "conditions": [condition] } });
        cluster.patch_status::<Pod>("p", status).await
    };
    let is_refused = |answer: &Answer<()>| matches!(answer, Answer::TooManyRequests { .. });
    is(1, "True").await?;
    let answer = evict(cluster, json!({})).await;
    ensure!(is_refused(&answer), "healthy, and nothing is left: {answer:?}");
    is(0, "False").await?;
    let answer = evict(cluster, json!({})).await;
    ensure!(is_refused(&answer), "others are not healthy either: {answer:?}");
    cluster
        .patch::<PodDisruptionBudget>("b", json!({ "spec": { "unhealthyPodEvictionPolicy": "AlwaysAllow" } }))
        .await?;
    let answer = evict(cluster, json!({})).await;
    ensure!(matches!(answer, Answer::Done(())), "it always may: {answer:?}");
    ensure!(mark(&cluster.read("p").await?).is_some());
    let budget: PodDisruptionBudget = cluster.read("b").await?;
    ensure!(budget.status.disruptions_allowed == 0, "{:?}", budget.status);
    let freed = json!({ "metadata": { "finalizers": null } });
    let _: Answer<Pod> = cluster.connection().patch(&Pod::resource(), "p", &Patch::Merge, &freed).await;
    Ok(())
}
