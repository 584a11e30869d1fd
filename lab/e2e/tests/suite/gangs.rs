//! Pods that are placed together, by the groups that Kubernetes serves.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use e2e::judge::devices_of;
use e2e::shapes::{class, containers, node, object, pod, request, slice, template};
use e2e::{Account, Cluster, Keeper, Served, Terms, Worker, until};
use objects::core::pod::Pod;
use objects::meta::Condition;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::composite_pod_group::CompositePodGroup;
use objects::scheduling::pod_group::PodGroup;
use objects::scheduling::priority_class::PriorityClass;
use serde_json::{Value, json};

use crate::pods::{refused, scheduled};

crate::with_groups![
    a_gang_goes_to_one_rack_and_its_group_says_so,
    a_gang_without_room_says_what_comes_closest_and_is_bound_when_there_is_more,
    members_that_are_let_go_together_say_with_whom_they_were_bound,
    members_wait_for_their_group_and_for_enough_of_them,
    a_group_without_all_or_nothing_is_placed_as_far_as_there_is_room,
    a_claim_of_the_group_is_reserved_for_the_group_and_goes_with_it,
    a_claim_that_the_group_names_keeps_its_members_together,
    groups_of_groups_are_placed_as_a_whole,
    groups_of_groups_displace_less_important_pods_only_once_all_of_them_fit_then,
    a_scheduler_without_the_feature_places_members_as_single_pods,
];

fn terms() -> Terms {
    Terms { gates: Served::Groups.gates(), ..Terms::default() }
}

/// Nodes with four processors each, in racks of two.
async fn racks(cluster: &Cluster, racks: usize) -> Result<()> {
    for rack in 0..racks {
        for at in 0..2 {
            add_node(cluster, &format!("zone-{}", rack / 2), &format!("rack-{rack}"), at).await?;
        }
    }
    Ok(())
}

async fn add_node(cluster: &Cluster, zone: &str, rack: &str, at: usize) -> Result<()> {
    let mut node = node(&format!("{rack}-{at}"), 4)?;
    node.metadata.labels.insert("rack".to_owned(), rack.to_owned());
    node.metadata.labels.insert("zone".to_owned(), zone.to_owned());
    cluster.create_node(&node).await.map(drop)
}

fn group(name: &str, spec: &Value) -> Result<PodGroup> {
    object(&json!({ "metadata": { "name": name, "namespace": "default" }, "spec": spec }))
}

fn gang(at_least: usize) -> Value {
    json!({ "gang": { "minCount": at_least } })
}

fn level(key: &str) -> Value {
    json!({ "topology": [{ "key": key }] })
}

/// Pods of a group with two processors each, and what they want besides.
async fn members(cluster: &Cluster, group: &str, count: usize, besides: &Value) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for at in 0..count {
        let mut spec = json!({
            "schedulingGroup": { "podGroupName": group },
            "containers": containers(2),
        });
        for (field, value) in besides.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        let name = format!("{group}-{at}");
        cluster.create(&pod(&name, spec)?).await?;
        names.push(name);
    }
    Ok(names)
}

/// The nodes of pods, once they are bound.
async fn nodes_of(cluster: &Cluster, names: &[String]) -> Result<Vec<String>> {
    let mut nodes = Vec::new();
    for name in names {
        nodes.push(cluster.bound(name).await?.spec.node_name);
    }
    Ok(nodes)
}

/// The racks of nodes.
fn racks_of(nodes: &[String]) -> BTreeSet<&str> {
    nodes.iter().filter_map(|node| node.rsplit_once('-')).map(|(rack, _)| rack).collect()
}

fn condition(group: &PodGroup) -> Option<&Condition> {
    group.status.conditions.iter().find(|one| one.type_ == "PodGroupInitiallyScheduled")
}

async fn group_says(cluster: &Cluster, name: &str, status: &str) -> Result<Condition> {
    until(&format!("group {name} says {status}"), async || {
        let group: PodGroup = cluster.read(name).await?;
        Ok(condition(&group).filter(|one| one.status == status).cloned())
    })
    .await
}

async fn a_gang_goes_to_one_rack_and_its_group_says_so(cluster: &Cluster) -> Result<()> {
    racks(cluster, 2).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let spec = json!({ "schedulingPolicy": gang(3), "schedulingConstraints": level("rack") });
    let made = cluster.create(&group("g", &spec)?).await?;
    let names = members(cluster, "g", 3, &json!({})).await?;
    let nodes = nodes_of(cluster, &names).await?;
    ensure!(racks_of(&nodes).len() == 1, "they are on {nodes:?}");
    let said = group_says(cluster, "g", "True").await?;
    ensure!((&*said.reason, &*said.message) == ("Scheduled", ""), "{said:?}");
    ensure!(said.observed_generation == made.metadata.generation && said.last_transition_time.is_some());
    let event = cluster.event("g", "Scheduled").await?;
    ensure!(event.regarding.kind == "PodGroup" && event.regarding.uid == made.metadata.uid, "{event:?}");
    ensure!(event.note == "3 pods have their nodes", "it says {}", event.note);
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

async fn a_gang_without_room_says_what_comes_closest_and_is_bound_when_there_is_more(
    cluster: &Cluster,
) -> Result<()> {
    racks(cluster, 2).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let spec = json!({ "schedulingPolicy": gang(5), "schedulingConstraints": level("rack") });
    cluster.create(&group("g", &spec)?).await?;
    let names = members(cluster, "g", 5, &json!({})).await?;
    let why = "pod group is unschedulable, 5 members fit in none of 2 domains at once; rack-0 comes closest: \
               4 of 5 fit, insufficient cpu: 10 needed, 8 free";
    for name in &names {
        let waits = cluster.pod_when(name, "is refused", refused).await?;
        let message = scheduled(&waits).map(|one| &*one.message);
        ensure!(message == Some(why), "{name} says {message:?}");
    }
    let said = group_says(cluster, "g", "False").await?;
    ensure!((&*said.reason, &*said.message) == ("Unschedulable", why), "{said:?}");
    let event = cluster.event("g", "FailedScheduling").await?;
    ensure!(event.type_ == "Warning" && event.note == why, "{event:?}");
    add_node(cluster, "zone-0", "rack-1", 2).await?;
    let nodes = nodes_of(cluster, &names).await?;
    ensure!(racks_of(&nodes) == BTreeSet::from(["rack-1"]), "they are on {nodes:?}");
    group_says(cluster, "g", "True").await?;
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

async fn members_that_are_let_go_together_say_with_whom_they_were_bound(cluster: &Cluster) -> Result<()> {
    racks(cluster, 1).await?;
    let terms = Terms { releases: true, ..terms() };
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms)?;
    cluster.create(&group("g", &json!({ "schedulingPolicy": gang(3) }))?).await?;
    let names = members(cluster, "g", 3, &json!({})).await?;
    nodes_of(cluster, &names).await?;
    let pods: Vec<Pod> = cluster.list().await?;
    let youngest = pods.iter().filter_map(|pod| pod.metadata.creation_timestamp).map(|time| time.0).max();
    let youngest = youngest.context("they were made")?.to_string();
    let said = |pod: &Pod| pod.metadata.annotations.get("supercargo.dev/bound-together").cloned();
    ensure!(pods.iter().all(|pod| said(pod).as_ref() == Some(&youngest)), "not {youngest}: {pods:?}");
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

async fn members_wait_for_their_group_and_for_enough_of_them(cluster: &Cluster) -> Result<()> {
    racks(cluster, 1).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let names = members(cluster, "g", 2, &json!({})).await?;
    let are_bound = async |single: &str| {
        // Who comes later and has its node shows that the members had their turn.
        cluster.create(&pod(single, json!({}))?).await?;
        cluster.bound(single).await?;
        let pods: Vec<Pod> = cluster.list().await?;
        let bound = |pod: &Pod| names.contains(&pod.metadata.name) && !pod.spec.node_name.is_empty();
        anyhow::Ok(pods.iter().any(bound))
    };
    ensure!(!are_bound("before-the-group").await?);
    cluster.create(&group("g", &json!({ "schedulingPolicy": gang(3) }))?).await?;
    ensure!(!are_bound("before-the-third").await?);
    let lowered = json!({ "spec": { "schedulingPolicy": gang(2) } });
    cluster.patch::<PodGroup>("g", lowered).await?;
    nodes_of(cluster, &names).await?;
    group_says(cluster, "g", "True").await?;
    Ok(())
}

async fn a_group_without_all_or_nothing_is_placed_as_far_as_there_is_room(cluster: &Cluster) -> Result<()> {
    racks(cluster, 2).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let spec = json!({ "schedulingPolicy": { "basic": {} }, "schedulingConstraints": level("rack") });
    cluster.create(&group("g", &spec)?).await?;
    let names = members(cluster, "g", 5, &json!({})).await?;
    // Four fit into a rack, and the other rack is none for the fifth.
    let bound = until("four of them are bound", async || {
        let pods: Vec<Pod> = cluster.list().await?;
        let nodes: Vec<String> = pods.into_iter().map(|pod| pod.spec.node_name).collect();
        let nodes: Vec<String> = nodes.into_iter().filter(|node| !node.is_empty()).collect();
        Ok((nodes.len() == 4).then_some(nodes))
    })
    .await?;
    ensure!(racks_of(&bound).len() == 1, "they are on {bound:?}");
    let is_refused = async |name: &String| Ok::<_, anyhow::Error>(refused(&cluster.read::<Pod>(name).await?));
    until("the fifth is refused", async || {
        let mut count = 0;
        for name in &names {
            count += usize::from(is_refused(name).await?);
        }
        Ok((count == 1).then_some(()))
    })
    .await?;
    group_says(cluster, "g", "True").await.map(drop)
}

async fn a_claim_of_the_group_is_reserved_for_the_group_and_goes_with_it(cluster: &Cluster) -> Result<()> {
    racks(cluster, 1).await?;
    cluster.create(&class()?).await?;
    cluster.create(&slice("rack-0-0", 1)?).await?;
    cluster.create(&template("t", &json!({ "requests": [request("gpu", 1)] }))?).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let controllers = ["resourceclaim-controller", "podgroup-protection-controller"];
    let _keeper =
        Keeper::start_with(&cluster.connect_as(Account::Controllers)?, &controllers, Served::Groups.gates())?;
    let entry = json!([{ "name": "gpu", "resourceClaimTemplateName": "t" }]);
    let spec = json!({ "schedulingPolicy": gang(2), "resourceClaims": entry });
    let made = cluster.create(&group("g", &spec)?).await?;
    let names = members(cluster, "g", 2, &json!({ "resourceClaims": entry })).await?;
    let nodes = nodes_of(cluster, &names).await?;
    ensure!(nodes == ["rack-0-0", "rack-0-0"], "they are on {nodes:?}");
    let claims: Vec<ResourceClaim> = cluster.list().await?;
    let [claim] = &*claims else { anyhow::bail!("{claims:?}") };
    ensure!(devices_of(claim) == ["rack-0-0/gpu-0"], "it has {:?}", devices_of(claim));
    let [user] = &*claim.status.reserved_for else { anyhow::bail!("{:?}", claim.status.reserved_for) };
    let user = (&*user.api_group, &*user.resource, &*user.name, &user.uid);
    ensure!(user == ("scheduling.k8s.io", "podgroups", "g", &made.metadata.uid), "{user:?}");
    for name in &names {
        cluster.delete::<Pod>(name).await?;
    }
    cluster.delete::<PodGroup>("g").await?;
    until("the claim is gone", async || Ok(cluster.list::<ResourceClaim>().await?.is_empty().then_some(())))
        .await?;
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

async fn a_claim_that_the_group_names_keeps_its_members_together(cluster: &Cluster) -> Result<()> {
    racks(cluster, 2).await?;
    cluster.create(&class()?).await?;
    for node in ["rack-0-0", "rack-1-1"] {
        cluster.create(&slice(node, 1)?).await?;
    }
    // The first of them has room for one only.
    let taken = json!({ "nodeName": "rack-0-0", "containers": containers(2) });
    cluster.create(&pod("taken", taken)?).await?;
    cluster.create(&e2e::shapes::claim("shared", 1)?).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let entry = json!([{ "name": "gpu", "resourceClaimName": "shared" }]);
    let spec = json!({ "schedulingPolicy": gang(2), "resourceClaims": entry });
    let made = cluster.create(&group("g", &spec)?).await?;
    let names = members(cluster, "g", 2, &json!({ "resourceClaims": entry })).await?;
    let nodes = nodes_of(cluster, &names).await?;
    ensure!(nodes == ["rack-1-1", "rack-1-1"], "they are on {nodes:?}");
    let claim: ResourceClaim = cluster.read("shared").await?;
    let users: Vec<&str> = claim.status.reserved_for.iter().map(|user| &*user.uid).collect();
    ensure!(users == [&made.metadata.uid], "{users:?}");
    Ok(())
}

async fn groups_of_groups_are_placed_as_a_whole(cluster: &Cluster) -> Result<()> {
    // Two zones of two racks; in the first zone one node is taken, so that it has room for one of the groups only.
    racks(cluster, 4).await?;
    let taken = json!({ "nodeName": "rack-0-0", "containers": containers(4) });
    cluster.create(&pod("taken", taken)?).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let reference = json!({ "workloadName": "w", "templateName": "t" });
    let both = json!({ "gang": { "minGroupCount": 2 } });
    let tree: CompositePodGroup = object(&json!({
        "metadata": { "name": "tree", "namespace": "default" },
        "spec": { "workloadRef": reference, "schedulingPolicy": both, "schedulingConstraints": level("zone") },
    }))?;
    cluster.create(&tree).await?;
    let mut names = Vec::new();
    for name in ["left", "right"] {
        let spec = json!({
            "workloadRef": reference, "parentCompositePodGroupName": "tree",
            "schedulingPolicy": gang(4), "schedulingConstraints": level("rack"),
        });
        cluster.create(&group(name, &spec)?).await?;
        names.push(members(cluster, name, 4, &json!({})).await?);
    }
    let left = nodes_of(cluster, &names[0]).await?;
    let right = nodes_of(cluster, &names[1]).await?;
    let racks: BTreeSet<&str> = racks_of(&left).union(&racks_of(&right)).copied().collect();
    ensure!(racks == BTreeSet::from(["rack-2", "rack-3"]), "they are on {left:?} and {right:?}");
    ensure!(racks_of(&left).len() == 1 && racks_of(&right).len() == 1, "{left:?} {right:?}");
    for name in ["left", "right"] {
        group_says(cluster, name, "True").await.context(name)?;
    }
    Ok(())
}

async fn groups_of_groups_displace_less_important_pods_only_once_all_of_them_fit_then(
    cluster: &Cluster,
) -> Result<()> {
    if cluster.get::<PriorityClass>("important").await?.is_none() {
        let class = json!({ "metadata": { "name": "important" }, "value": 1000 });
        cluster.create(&object::<PriorityClass>(&class)?).await?;
    }
    // Two zones of two racks. In the first zone one node of each rack can be had, in the second there is one in all.
    racks(cluster, 4).await?;
    let free = ["rack-0-0", "rack-1-0", "rack-2-0"];
    for node in (0..4).flat_map(|rack| [format!("rack-{rack}-0"), format!("rack-{rack}-1")]) {
        let mut spec = json!({
            "nodeName": node, "containers": containers(4), "terminationGracePeriodSeconds": 0,
        });
        if !free.contains(&&*node) {
            spec["priorityClassName"] = json!("important");
        }
        cluster.create(&pod(&format!("on-{node}"), spec)?).await?;
    }
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let reference = json!({ "workloadName": "w", "templateName": "t" });
    let tree: CompositePodGroup = object(&json!({
        "metadata": { "name": "tree", "namespace": "default" },
        "spec": {
            "workloadRef": reference, "schedulingPolicy": { "gang": { "minGroupCount": 2 } },
            "schedulingConstraints": level("zone"), "priorityClassName": "important",
        },
    }))?;
    cluster.create(&tree).await?;
    let important = json!({ "priorityClassName": "important" });
    let mut names = Vec::new();
    for (name, count) in [("left", 2), ("right", 3)] {
        let spec = json!({
            "workloadRef": reference, "parentCompositePodGroupName": "tree", "priorityClassName": "important",
            "schedulingPolicy": gang(count), "schedulingConstraints": level("rack"),
        });
        cluster.create(&group(name, &spec)?).await?;
        names.push(members(cluster, name, count, &important).await?);
    }
    // For three of them there is no rack, whoever goes.
    cluster.pod_when("left-0", "is refused", refused).await?;
    let pods: Vec<Pod> = cluster.list().await?;
    ensure!(pods.iter().filter(|pod| pod.metadata.name.starts_with("on-")).count() == 8, "{pods:?}");
    cluster.patch::<PodGroup>("right", json!({ "spec": { "schedulingPolicy": gang(2) } })).await?;
    cluster.delete::<Pod>("right-2").await?;
    let left = nodes_of(cluster, &names[0]).await?;
    let right = nodes_of(cluster, &names[1][..2]).await?;
    let taken: BTreeSet<&str> = left.iter().chain(&right).map(String::as_str).collect();
    ensure!(taken == BTreeSet::from(["rack-0-0", "rack-1-0"]), "they are on {left:?} and {right:?}");
    ensure!(racks_of(&left).len() == 1 && racks_of(&right).len() == 1, "{left:?} {right:?}");
    let pods: Vec<Pod> = cluster.list().await?;
    let there = pods.iter().filter(|pod| pod.metadata.name.starts_with("on-"));
    ensure!(there.count() == 6 && cluster.get::<Pod>("on-rack-2-0").await?.is_some(), "{pods:?}");
    let event = cluster.event("on-rack-0-0", "Preempted").await?;
    ensure!(event.note.ends_with(" on node zone-0"), "it says {}", event.note);
    for name in ["left", "right"] {
        group_says(cluster, name, "True").await.context(name)?;
    }
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

async fn a_scheduler_without_the_feature_places_members_as_single_pods(cluster: &Cluster) -> Result<()> {
    racks(cluster, 1).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    cluster.create(&group("g", &json!({ "schedulingPolicy": gang(9) }))?).await?;
    let names = members(cluster, "g", 2, &json!({})).await?;
    nodes_of(cluster, &names).await?;
    ensure!(condition(&cluster.read("g").await?).is_none());
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}
