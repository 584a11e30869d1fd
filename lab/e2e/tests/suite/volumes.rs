//! Claims that get a volume once their pod has a node: volumes that are there, and volumes of a simulated provisioner.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::shapes::{node, object, pod};
use e2e::{Account, Cluster, Keeper, Served, Terms, Worker, until};
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::core::pod::Pod;
use objects::scheduling::pod_group::PodGroup;
use objects::storage::{CSINode, StorageClass};
use serde_json::{Value, json};

use crate::pods::refused;

crate::on_both![
    a_volume_is_provisioned_for_the_node_of_the_pod_and_the_pod_is_bound,
    two_pods_get_two_volumes_that_are_there,
    a_pod_is_placed_elsewhere_when_provisioning_fails,
    a_node_takes_as_many_volumes_as_its_driver_attaches,
    a_pod_whose_volume_is_not_provisioned_in_time_is_taken_back_and_tried_again,
    a_disk_that_is_written_to_is_used_by_one_pod_of_a_node,
];

const VOLUMES: &[&str] = &["ephemeral-volume-controller", "persistentvolume-binder-controller"];

const SELECTED: &str = "volume.kubernetes.io/selected-node";

async fn cluster_of(cluster: &Cluster, provisioner: &str) -> Result<()> {
    for name in ["n-1", "n-2"] {
        let mut node = node(name, 16)?;
        node.metadata.labels.insert("example.com/host".to_owned(), name.to_owned());
        cluster.create_node(&node).await?;
    }
    let class = json!({
        "metadata": { "name": "later" }, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer",
    });
    cluster.create(&object::<StorageClass>(&class)?).await.map(drop)
}

async fn create_claim(cluster: &Cluster, name: &str) -> Result<()> {
    let claim = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "storageClassName": "later", "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    cluster.create(&object::<PersistentVolumeClaim>(&claim)?).await.map(drop)
}

async fn create_volume(cluster: &Cluster, name: &str, host: &str) -> Result<()> {
    let rule = json!({ "key": "example.com/host", "operator": "In", "values": [host] });
    let volume = json!({
        "metadata": { "name": name },
        "spec": {
            "storageClassName": "later", "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "2Gi" },
            "persistentVolumeReclaimPolicy": "Retain", "local": { "path": "/disk" },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [rule] }] } },
        },
    });
    cluster.create(&object::<PersistentVolume>(&volume)?).await.map(drop)
}

fn pod_with_volume(name: &str, claim: &str) -> Result<Pod> {
    pod(name, json!({ "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": claim } }] }))
}

async fn a_volume_is_provisioned_for_the_node_of_the_pod_and_the_pod_is_bound(
    cluster: &Cluster,
) -> Result<()> {
    cluster_of(cluster, "simulated.supercargo.dev").await?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, VOLUMES)?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    create_claim(cluster, "c").await?;
    cluster.create(&pod_with_volume("p", "c")?).await?;
    let template = json!({ "spec": { "storageClassName": "later", "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } });
    let own = json!({ "volumes": [{ "name": "own", "ephemeral": { "volumeClaimTemplate": template } }] });
    cluster.create(&pod("q", own)?).await?;
    for (pod, claim) in [("p", "c"), ("q", "q-own")] {
        let bound = cluster.bound(pod).await?;
        let claim: PersistentVolumeClaim = cluster.read(claim).await?;
        let selected = claim.metadata.annotations.get(SELECTED);
        ensure!(selected == Some(&bound.spec.node_name), "{claim:?}");
        let volume: PersistentVolume = cluster.read(&claim.spec.volume_name).await?;
        let owner = volume.spec.claim_ref.context("it is for the claim")?;
        ensure!(owner.uid == claim.metadata.uid, "{owner:?}");
    }
    Ok(())
}

/// A provisioner of somebody else's does what it is asked by annotations, and who joins claims and volumes is Kubernetes' own.
pub async fn a_volume_is_provisioned_beside_the_controllers_of_kubernetes(cluster: &Cluster) -> Result<()> {
    let provisioner = "disks.example.com";
    cluster_of(cluster, provisioner).await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    create_claim(cluster, "c").await?;
    cluster.create(&pod_with_volume("p", "c")?).await?;
    let template = json!({ "spec": { "storageClassName": "later", "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } });
    let own = json!({ "volumes": [{ "name": "own", "ephemeral": { "volumeClaimTemplate": template } }] });
    cluster.create(&pod("q", own)?).await?;
    for (pod, name) in [("p", "c"), ("q", "q-own")] {
        let claim = until("a provisioner is asked for a volume", async || {
            let claim = cluster.get::<PersistentVolumeClaim>(name).await?;
            let asks = |claim: &PersistentVolumeClaim| {
                let notes = &claim.metadata.annotations;
                notes.contains_key(SELECTED)
                    && notes
                        .get("volume.kubernetes.io/storage-provisioner")
                        .is_some_and(|name| name == provisioner)
            };
            Ok(claim.filter(asks))
        })
        .await?;
        let volume = json!({
            "metadata": { "name": format!("for-{name}"), "annotations": { "pv.kubernetes.io/provisioned-by": provisioner } },
            "spec": {
                "storageClassName": "later", "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" },
                "persistentVolumeReclaimPolicy": "Delete", "csi": { "driver": provisioner, "volumeHandle": name },
                "claimRef": {
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                    "namespace": "default", "name": name, "uid": claim.metadata.uid,
                },
            },
        });
        cluster.create(&object::<PersistentVolume>(&volume)?).await?;
        let bound = cluster.bound(pod).await?;
        ensure!(claim.metadata.annotations.get(SELECTED) == Some(&bound.spec.node_name), "{claim:?}");
    }
    Ok(())
}

async fn two_pods_get_two_volumes_that_are_there(cluster: &Cluster) -> Result<()> {
    cluster_of(cluster, "kubernetes.io/no-provisioner").await?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, VOLUMES)?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    create_volume(cluster, "on-1", "n-1").await?;
    create_volume(cluster, "on-2", "n-2").await?;
    for (name, claim) in [("p", "x"), ("q", "y"), ("r", "z")] {
        create_claim(cluster, claim).await?;
        cluster.create(&pod_with_volume(name, claim)?).await?;
    }
    // Two of the three have a volume each, and the third says what it lacks.
    let pods = until("two pods are bound", async || {
        let pods = cluster.list::<Pod>().await?;
        Ok((pods.iter().filter(|pod| !pod.spec.node_name.is_empty()).count() == 2).then_some(pods))
    })
    .await?;
    let mut nodes: Vec<&str> = pods.iter().map(|pod| pod.spec.node_name.as_str()).collect();
    nodes.sort_unstable();
    ensure!(nodes == ["", "n-1", "n-2"], "{nodes:?}");
    let waiting = pods.iter().find(|pod| pod.spec.node_name.is_empty()).context("one waits")?;
    let lacks = |pod: &Pod| {
        let conditions = &pod.status.conditions;
        conditions.iter().any(|one| one.message.contains("didn't find available persistent volumes to bind"))
    };
    cluster.pod_when(&waiting.metadata.name, "says what it lacks", lacks).await?;
    let volumes = cluster.list::<PersistentVolume>().await?;
    let owners: std::collections::BTreeSet<String> =
        volumes.iter().filter_map(|one| Some(one.spec.claim_ref.as_ref()?.uid.clone())).collect();
    ensure!(owners.len() == 2, "{owners:?}");
    create_volume(cluster, "more-on-1", "n-1").await?;
    cluster.bound(&waiting.metadata.name).await.map(drop)
}

async fn a_pod_is_placed_elsewhere_when_provisioning_fails(cluster: &Cluster) -> Result<()> {
    // Nobody provisions volumes of this class but this test.
    cluster_of(cluster, "disks.example.com").await?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, VOLUMES)?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    create_claim(cluster, "c").await?;
    cluster.create(&pod_with_volume("p", "c")?).await?;
    let first = selected(cluster, None).await?;
    cluster.patch::<objects::core::node::Node>(&first, json!({ "spec": { "unschedulable": true } })).await?;
    let nothing = json!({ "metadata": { "annotations": { SELECTED: null } } });
    cluster.patch::<PersistentVolumeClaim>("c", nothing).await?;
    let event = cluster.event("p", "FailedScheduling").await?;
    ensure!(event.note.contains("provisioning failed for PVC \"c\""), "{event:?}");
    let second = selected(cluster, Some(&first)).await?;
    ensure!(second != first);
    let claim: PersistentVolumeClaim = cluster.read("c").await?;
    let volume = json!({
        "metadata": { "name": "made" },
        "spec": {
            "storageClassName": "later", "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" },
            "persistentVolumeReclaimPolicy": "Retain", "csi": { "driver": "disks.example.com", "volumeHandle": "made" },
            "claimRef": { "namespace": "default", "name": "c", "uid": claim.metadata.uid },
        },
    });
    cluster.create(&object::<PersistentVolume>(&volume)?).await?;
    let bound = cluster.bound("p").await?;
    ensure!(bound.spec.node_name == second, "{bound:?}");
    Ok(())
}

/// The node that is selected for the claim, once it is another than this.
async fn selected(cluster: &Cluster, but: Option<&str>) -> Result<String> {
    until("a node is selected", async || {
        let claim: PersistentVolumeClaim = cluster.read("c").await?;
        Ok(claim.metadata.annotations.get(SELECTED).filter(|node| Some(node.as_str()) != but).cloned())
    })
    .await
}

async fn a_node_takes_as_many_volumes_as_its_driver_attaches(cluster: &Cluster) -> Result<()> {
    cluster_of(cluster, "simulated.supercargo.dev").await?;
    for name in ["n-1", "n-2"] {
        let driver = json!({ "name": "simulated.supercargo.dev", "nodeID": name, "topologyKeys": null, "allocatable": { "count": 1 } });
        let node: Value = json!({ "metadata": { "name": name }, "spec": { "drivers": [driver] } });
        cluster.create(&object::<CSINode>(&node)?).await?;
    }
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, VOLUMES)?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    for (name, claim) in [("p", "x"), ("q", "y")] {
        create_claim(cluster, claim).await?;
        cluster.create(&pod_with_volume(name, claim)?).await?;
    }
    let nodes = [cluster.bound("p").await?.spec.node_name, cluster.bound("q").await?.spec.node_name];
    ensure!(nodes[0] != nodes[1], "{nodes:?}");
    create_claim(cluster, "z").await?;
    cluster.create(&pod_with_volume("r", "z")?).await?;
    let lacks = |pod: &Pod| {
        let conditions = &pod.status.conditions;
        conditions.iter().any(|one| one.message.contains("2 node(s) exceed max volume count"))
    };
    cluster.pod_when("r", "says that no node attaches more", lacks).await.map(drop)
}

/// `bindTimeoutSeconds` of VolumeBinding counts from when a node was selected for the claim.
async fn a_pod_whose_volume_is_not_provisioned_in_time_is_taken_back_and_tried_again(
    cluster: &Cluster,
) -> Result<()> {
    // Nobody provisions volumes of this class but this test.
    cluster_of(cluster, "disks.example.com").await?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, VOLUMES)?;
    let terms = Terms { volumes_within: Some(Duration::from_secs(2)), ..Terms::default() };
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms)?;
    create_claim(cluster, "c").await?;
    cluster.create(&pod_with_volume("p", "c")?).await?;
    selected(cluster, None).await?;
    let event = cluster.event("p", "FailedScheduling").await?;
    ensure!(event.note.contains("timed out waiting for PVC \"c\" to be bound"), "{event:?}");
    ensure!(cluster.read::<Pod>("p").await?.spec.node_name.is_empty(), "it has no volume");
    let claim: PersistentVolumeClaim = cluster.read("c").await?;
    let volume = json!({
        "metadata": { "name": "made" },
        "spec": {
            "storageClassName": "later", "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" },
            "persistentVolumeReclaimPolicy": "Retain", "csi": { "driver": "disks.example.com", "volumeHandle": "made" },
            "claimRef": { "namespace": "default", "name": "c", "uid": claim.metadata.uid },
        },
    });
    cluster.create(&object::<PersistentVolume>(&volume)?).await?;
    cluster.bound("p").await.map(drop)
}

async fn a_disk_that_is_written_to_is_used_by_one_pod_of_a_node(cluster: &Cluster) -> Result<()> {
    cluster_of(cluster, "simulated.supercargo.dev").await?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::default())?;
    let gce = |read_only: bool| json!({ "gcePersistentDisk": { "pdName": "disk", "readOnly": read_only } });
    let iscsi = |read_only: bool| json!({ "iscsi": { "targetPortal": "10.0.0.1:3260", "iqn": "iqn.2026-01.com.example:disk", "lun": 0, "readOnly": read_only } });
    let rbd = |read_only: bool| json!({ "rbd": { "monitors": ["10.0.0.2:6789"], "pool": "rbd", "image": "disk", "readOnly": read_only } });
    let kinds: [(&str, &dyn Fn(bool) -> Value); 3] = [("gce", &gce), ("iscsi", &iscsi), ("rbd", &rbd)];
    for (kind, source) in kinds {
        let disk = |at: usize, read_only: bool| {
            let mut volume = source(read_only);
            volume["name"] = json!("v");
            pod(&format!("{kind}-{at}"), json!({ "volumes": [volume] }))
        };
        let mut nodes = Vec::new();
        for at in 0..2 {
            cluster.create(&disk(at, false)?).await?;
            nodes.push(cluster.bound(&format!("{kind}-{at}")).await?.spec.node_name);
        }
        ensure!(nodes[0] != nodes[1], "{kind}: both write to the disk on {}", nodes[0]);
        // Who only reads cannot be beside one that writes either.
        cluster.create(&disk(2, true)?).await?;
        let third = format!("{kind}-2");
        let lacks = |pod: &Pod| {
            let conditions = &pod.status.conditions;
            conditions.iter().any(|one| one.message.contains("2 node(s) had no available disk"))
        };
        cluster.pod_when(&third, "says that no node has the disk", lacks).await?;
        cluster.delete::<Pod>(&format!("{kind}-1")).await?;
        ensure!(cluster.bound(&third).await?.spec.node_name == nodes[1], "{kind}: the other is in use");
    }
    Ok(())
}

/// Members of a group of pods.
mod together {
    use super::*;

    crate::with_groups![a_gang_is_bound_when_all_members_have_volumes];

    /// Two volumes are there for a gang of three: no member begins, until there is a third.
    async fn a_gang_is_bound_when_all_members_have_volumes(cluster: &Cluster) -> Result<()> {
        cluster_of(cluster, "kubernetes.io/no-provisioner").await?;
        let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, VOLUMES)?;
        let terms = Terms { gates: Served::Groups.gates(), ..Terms::default() };
        let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms)?;
        create_volume(cluster, "on-1", "n-1").await?;
        create_volume(cluster, "on-2", "n-2").await?;
        let group = json!({
            "metadata": { "name": "g", "namespace": "default" },
            "spec": { "schedulingPolicy": { "gang": { "minCount": 3 } } },
        });
        cluster.create(&object::<PodGroup>(&group)?).await?;
        let names = ["g-0", "g-1", "g-2"];
        for name in names {
            create_claim(cluster, name).await?;
            let mut member = serde_json::to_value(pod_with_volume(name, name)?)?;
            member["spec"]["schedulingGroup"] = json!({ "podGroupName": "g" });
            cluster.create(&object::<Pod>(&member)?).await?;
        }
        cluster.pod_when("g-2", "is refused", refused).await?;
        for claim in cluster.list::<PersistentVolumeClaim>().await? {
            ensure!(!claim.metadata.annotations.contains_key(SELECTED), "{claim:?}");
            ensure!(claim.spec.volume_name.is_empty(), "no member has a volume before all can have one");
        }
        create_volume(cluster, "more-on-1", "n-1").await?;
        let mut nodes = Vec::new();
        for name in names {
            nodes.push(cluster.bound(name).await?.spec.node_name);
        }
        nodes.sort_unstable();
        ensure!(nodes == ["n-1", "n-1", "n-2"], "{nodes:?}");
        ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
        Ok(())
    }
}
