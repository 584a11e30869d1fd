//! Pods that use volumes wait for them, and are woken by what they wait for.

use std::sync::Arc;

use cluster::change::{Change, StorageChange};
use model::node::{Node, NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{Pod, Shape};
use model::volume::{Volume, VolumeClaim, VolumeClaimId};

use crate::world::{World, node, pod, world};

/// A pod that uses the volume claim `disk`.
fn with_volume() -> World {
    let mut world = world();
    for name in ["a", "b"] {
        let Change::NodeApplied(node) = node(name, 4_000) else { unreachable!("a node comes") };
        let labels = [("host".into(), name.into())].into();
        world.fact(Change::NodeApplied(Box::new(Node { labels, ..*node })));
    }
    let pod = pod("p", 100, &[]);
    let shape = Shape { volume_claims: vec!["disk".into()], ..Shape::clone(&pod.shape) };
    world.add_pod(Pod { shape: Arc::new(shape), ..pod });
    world
}

fn claim(volume: Option<&str>) -> Change {
    Change::Storage(StorageChange::VolumeClaimApplied(Box::new(VolumeClaim {
        id: VolumeClaimId { namespace: "default".into(), name: "disk".into() },
        volume: volume.map(Into::into),
        bound: volume.is_some(),
        class: Some("local".into()),
        ..VolumeClaim::default()
    })))
}

/// A volume that only node `b` reaches.
fn volume() -> Change {
    let requirement = Requirement { key: "host".into(), operator: Operator::In, values: vec!["b".into()] };
    let term = NodeTerm { fields: Vec::new(), labels: vec![requirement] };
    let nodes = Some(NodeSelector { terms: vec![term] });
    let volume = Volume { name: "v".into(), nodes, ..Volume::default() };
    Change::Storage(StorageChange::VolumeApplied(Box::new(volume)))
}

fn told(world: &mut World) -> String {
    world.later(20);
    world.settle();
    world.told.last().cloned().unwrap_or_default()
}

#[test]
fn a_pod_is_woken_by_its_volume_claim_and_by_the_volume_and_goes_where_it_is() {
    let mut world = with_volume();
    let missing = "p: 0/2 nodes are available: persistentvolumeclaim \"disk\" not found. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
    assert_eq!(told(&mut world), missing);
    world.fact(claim(None));
    let unbound = "p: 0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
    assert_eq!(told(&mut world), unbound);
    world.fact(claim(Some("v")));
    assert_eq!(
        told(&mut world),
        "p: 0/2 nodes are available: persistentvolume \"v\" not found. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    );
    world.fact(volume());
    assert_eq!(told(&mut world), "p on b");
}

#[test]
fn what_is_gone_cannot_be_used() {
    let mut world = with_volume();
    world.fact(claim(Some("v")));
    world.fact(volume());
    world.fact(Change::Storage(StorageChange::VolumeGone("v".into())));
    assert!(told(&mut world).contains("persistentvolume \"v\" not found"));
    let id = VolumeClaimId { namespace: "default".into(), name: "disk".into() };
    world.fact(Change::Storage(StorageChange::VolumeClaimGone(id)));
    world.fact(volume());
    assert!(told(&mut world).contains("persistentvolumeclaim \"disk\" not found"));
}

#[test]
fn a_volume_for_one_pod_is_in_use_until_the_pod_is_gone_whatever_became_of_its_node() {
    let mut world = with_volume();
    let Change::Storage(StorageChange::VolumeClaimApplied(disk)) = claim(Some("v")) else {
        unreachable!("a volume claim comes")
    };
    let disk = VolumeClaim { one_pod: true, ..*disk };
    world.fact(Change::Storage(StorageChange::VolumeClaimApplied(Box::new(disk))));
    let volume = Volume { name: "v".into(), ..Volume::default() };
    world.fact(Change::Storage(StorageChange::VolumeApplied(Box::new(volume))));
    world.settle();
    let node = world.node_of("p").expect("there is room");
    world.fact(Change::NodeGone(node.as_str().into()));
    let first = world.pods["uid-p"].clone();
    world.add_pod(Pod { shape: first.shape, ..pod("q", 100, &[]) });
    let refused = told(&mut world);
    assert!(refused.contains("ReadWriteOncePod access mode already in-use"), "{refused}");
    world.remove_pod("p");
    let on = told(&mut world);
    assert!(on.starts_with("q on "), "{on}");
}
