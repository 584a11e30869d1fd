//! Pods without devices: where they go, what is said about them, and what they wait for.

use anyhow::{Result, ensure};
use e2e::shapes::{containers, node, object, pod, pod_of_cpus};
use e2e::{Account, Cluster, Served, Terms, Worker};
use objects::core::node::Node;
use objects::core::pod::{Pod, PodCondition};
use objects::scheduling::priority_class::PriorityClass;
use serde_json::json;

crate::on_both![
    a_plain_pod_is_bound_and_told_of,
    a_pod_that_fits_nowhere_says_why_and_is_bound_when_a_node_comes,
    without_nodes_a_pod_waits_for_one,
    a_pod_with_gates_waits_until_they_are_gone,
    of_two_pods_the_more_important_one_goes_first,
    taints_and_affinity_say_where_a_pod_goes,
    a_pod_that_is_deleted_while_it_waits_is_forgotten,
    a_node_that_goes_takes_its_room_along,
    pods_of_other_schedulers_are_left_alone,
    a_scheduler_for_groups_works_where_none_are_served,
];

pub fn scheduled(pod: &Pod) -> Option<&PodCondition> {
    pod.status.conditions.iter().find(|condition| condition.type_ == "PodScheduled")
}

pub fn refused(pod: &Pod) -> bool {
    scheduled(pod).is_some_and(|one| one.status == "False" && one.reason == "Unschedulable")
}

async fn a_plain_pod_is_bound_and_told_of(cluster: &Cluster) -> Result<()> {
    cluster.create_node(&node("n-1", 4)?).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&pod("p", json!({}))?).await?;
    let bound = cluster.bound("p").await?;
    ensure!(bound.spec.node_name == "n-1", "it is on {}", bound.spec.node_name);
    let condition = scheduled(&bound).map(|one| (&*one.status, &*one.reason, &*one.message));
    ensure!(condition == Some(("True", "", "")), "its condition is {condition:?}");
    let event = cluster.event("p", "Scheduled").await?;
    ensure!(event.note == "Successfully assigned default/p to n-1", "it says {}", event.note);
    ensure!(event.type_ == "Normal" && event.action == "Binding", "it is {} {}", event.type_, event.action);
    ensure!(event.reporting_controller == "default-scheduler", "by {}", event.reporting_controller);
    ensure!(event.regarding.kind == "Pod" && event.regarding.uid == bound.metadata.uid);
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

async fn a_pod_that_fits_nowhere_says_why_and_is_bound_when_a_node_comes(cluster: &Cluster) -> Result<()> {
    cluster.create_node(&node("small-1", 1)?).await?;
    cluster.create_node(&node("small-2", 1)?).await?;
    let mut cordoned = node("cordoned", 64)?;
    cordoned.spec.unschedulable = true;
    cluster.create_node(&cordoned).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&pod_of_cpus("p", 3)?).await?;
    // What autoscalers look for: the condition, its reason, and the counts in its message.
    let waits = cluster.pod_when("p", "is refused", refused).await?;
    let why = "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.";
    let message = scheduled(&waits).map(|one| &*one.message).unwrap_or_default();
    ensure!(message.starts_with(why), "its condition says {message}");
    let event = cluster.event("p", "FailedScheduling").await?;
    ensure!(event.note.starts_with(why), "its event says {}", event.note);
    ensure!(event.type_ == "Warning" && event.action == "Scheduling", "{} {}", event.type_, event.action);
    ensure!(event.reporting_controller == "default-scheduler", "by {}", event.reporting_controller);
    cluster.create_node(&node("large", 8)?).await?;
    let bound = cluster.bound("p").await?;
    ensure!(bound.spec.node_name == "large", "it is on {}", bound.spec.node_name);
    ensure!(scheduled(&bound).is_some_and(|one| one.status == "True"));
    cluster.event("p", "Scheduled").await?;
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

async fn without_nodes_a_pod_waits_for_one(cluster: &Cluster) -> Result<()> {
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&pod("p", json!({}))?).await?;
    let waits = cluster.pod_when("p", "is refused", refused).await?;
    let message = scheduled(&waits).map(|one| &*one.message);
    ensure!(message == Some("no nodes available to schedule pods"), "it says {message:?}");
    cluster.create_node(&node("n-1", 4)?).await?;
    cluster.bound("p").await.map(drop)
}

async fn a_pod_with_gates_waits_until_they_are_gone(cluster: &Cluster) -> Result<()> {
    cluster.create_node(&node("n-1", 4)?).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let gates = json!({ "schedulingGates": [{ "name": "example.com/wait" }] });
    let gated = cluster.create(&pod("gated", gates)?).await?;
    // The server says so, and the scheduler says nothing.
    let reason = scheduled(&gated).map(|one| (&*one.status, &*one.reason));
    ensure!(reason == Some(("False", "SchedulingGated")), "its condition is {reason:?}");
    // A pod that came later is bound, so the first was looked at and left alone.
    cluster.create(&pod("later", json!({}))?).await?;
    cluster.bound("later").await?;
    let gated: Pod = cluster.read("gated").await?;
    ensure!(gated.spec.node_name.is_empty(), "it is on {}", gated.spec.node_name);
    ensure!(scheduled(&gated).is_some_and(|one| one.reason == "SchedulingGated"), "{:?}", gated.status);
    cluster.patch::<Pod>("gated", json!({ "spec": { "schedulingGates": null } })).await?;
    cluster.bound("gated").await.map(drop)
}

async fn of_two_pods_the_more_important_one_goes_first(cluster: &Cluster) -> Result<()> {
    let class = json!({ "metadata": { "name": "important" }, "value": 1000 });
    if cluster.get::<PriorityClass>("important").await?.is_none() {
        cluster.create(&object::<PriorityClass>(&class)?).await?;
    }
    // There is room for one, and both are there before anybody looks.
    cluster.create_node(&node("n-1", 4)?).await?;
    cluster.create(&pod_of_cpus("plain", 3)?).await?;
    let important = json!({ "priorityClassName": "important", "containers": containers(3) });
    cluster.create(&pod("important", important)?).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.bound("important").await?;
    let plain = cluster.pod_when("plain", "is refused", refused).await?;
    ensure!(plain.spec.node_name.is_empty());
    cluster.delete::<Pod>("important").await?;
    cluster.bound("plain").await.map(drop)
}

async fn taints_and_affinity_say_where_a_pod_goes(cluster: &Cluster) -> Result<()> {
    let mut tainted = node("tainted", 64)?;
    tainted.spec.taints = vec![object_taint()?];
    cluster.create_node(&tainted).await?;
    let mut zoned = node("zoned", 4)?;
    zoned.metadata.labels.insert("zone".to_owned(), "b".to_owned());
    cluster.create_node(&zoned).await?;
    cluster.create_node(&node("plain", 4)?).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let in_zone = |zone: &str| {
        let expression = json!({ "key": "zone", "operator": "In", "values": [zone] });
        let terms = json!([{ "matchExpressions": [expression] }]);
        json!({ "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms },
        } })
    };
    cluster.create(&pod("by-zone", json!({ "affinity": in_zone("b") }))?).await?;
    let tolerates = json!([{ "key": "for", "operator": "Equal", "value": "others", "effect": "NoSchedule" }]);
    let only = json!({ "kubernetes.io/hostname": "tainted" });
    cluster.create(&pod("tolerant", json!({ "tolerations": tolerates, "nodeSelector": only }))?).await?;
    cluster.create(&pod("intolerant", json!({ "nodeSelector": only }))?).await?;
    ensure!(cluster.bound("by-zone").await?.spec.node_name == "zoned");
    ensure!(cluster.bound("tolerant").await?.spec.node_name == "tainted");
    let waits = cluster.pod_when("intolerant", "is refused", refused).await?;
    let message = scheduled(&waits).map(|one| &*one.message).unwrap_or_default();
    let why = "0/3 nodes are available: 1 node(s) had untolerated taint(s), \
               2 node(s) didn't match Pod's node affinity/selector.";
    ensure!(message.starts_with(why), "it says {message}");
    cluster.patch::<Node>("tainted", json!({ "spec": { "taints": null } })).await?;
    ensure!(cluster.bound("intolerant").await?.spec.node_name == "tainted");
    Ok(())
}

fn object_taint() -> Result<objects::core::node::Taint> {
    let taint = json!({ "key": "for", "value": "others", "effect": "NoSchedule" });
    Ok(serde_json::from_value(taint)?)
}

async fn a_pod_that_is_deleted_while_it_waits_is_forgotten(cluster: &Cluster) -> Result<()> {
    cluster.create_node(&node("n-1", 4)?).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&pod_of_cpus("p", 8)?).await?;
    cluster.pod_when("p", "is refused", refused).await?;
    cluster.delete::<Pod>("p").await?;
    // Room for one of them: the first would have had it if anybody still thought of it.
    cluster.create_node(&node("n-2", 8)?).await?;
    cluster.create(&pod_of_cpus("q", 8)?).await?;
    ensure!(cluster.bound("q").await?.spec.node_name == "n-2");
    ensure!(cluster.get::<Pod>("p").await?.is_none());
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

async fn a_node_that_goes_takes_its_room_along(cluster: &Cluster) -> Result<()> {
    cluster.create_node(&node("goes", 8)?).await?;
    cluster.create_node(&node("stays", 2)?).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    worker.working().await?;
    cluster.delete::<Node>("goes").await?;
    cluster.create(&pod_of_cpus("large", 4)?).await?;
    cluster.create(&pod_of_cpus("small", 1)?).await?;
    let waits = cluster.pod_when("large", "is refused for one node", |pod| {
        scheduled(pod)
            .is_some_and(|one| one.message.starts_with("0/1 nodes are available: 1 Insufficient cpu."))
    });
    waits.await?;
    ensure!(cluster.bound("small").await?.spec.node_name == "stays");
    cluster.create_node(&node("goes", 8)?).await?;
    ensure!(cluster.bound("large").await?.spec.node_name == "goes");
    Ok(())
}

async fn pods_of_other_schedulers_are_left_alone(cluster: &Cluster) -> Result<()> {
    cluster.create_node(&node("n-1", 4)?).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::named("ours"))?;
    cluster.create(&pod("theirs", json!({}))?).await?;
    cluster.create(&pod("ours", json!({ "schedulerName": "ours" }))?).await?;
    let ours = cluster.bound("ours").await?;
    let event = cluster.event("ours", "Scheduled").await?;
    ensure!(event.reporting_controller == "ours" && event.regarding.uid == ours.metadata.uid);
    let theirs: Pod = cluster.read("theirs").await?;
    ensure!(theirs.spec.node_name.is_empty() && scheduled(&theirs).is_none(), "{:?}", theirs.status);
    Ok(())
}

async fn a_scheduler_for_groups_works_where_none_are_served(cluster: &Cluster) -> Result<()> {
    cluster.create_node(&node("n-1", 4)?).await?;
    let terms = Terms { gates: Served::Groups.gates(), ..Terms::default() };
    let worker = Worker::start(cluster.connection(), &terms)?;
    cluster.create(&pod("p", json!({}))?).await?;
    // Servers that know of no groups drop what pods say of them.
    cluster.create(&pod("member", json!({ "schedulingGroup": { "podGroupName": "g" } }))?).await?;
    for name in ["p", "member"] {
        cluster.bound(name).await?;
    }
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}
