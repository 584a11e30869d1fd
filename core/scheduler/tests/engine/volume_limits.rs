//! How many volumes a node takes, and disks that two pods cannot use on one node.

use std::sync::Arc;

use cluster::change::{Change, StorageChange};
use model::disk::Disk;
use model::pod::{Pod, Shape};
use model::volume::{Attachment, StorageNode, Volume, VolumeClaim, VolumeClaimId, VolumeSource};

use crate::gangs::{gang_world, group};
use crate::world::{World, node, pod};

const DRIVER: &str = "disks.example.com";

fn storage(change: StorageChange) -> Change {
    Change::Storage(change)
}

fn limit(node: &str, count: i64) -> Change {
    let drivers = [(DRIVER.into(), Some(count))].into();
    storage(StorageChange::NodeApplied(StorageNode { name: node.into(), drivers }))
}

/// Nodes with a limit each, and claims `c0` to `c5` with a volume each.
fn with_limits(limits: &[(&str, i64)]) -> World {
    let mut world = gang_world();
    for (name, count) in limits {
        world.fact(node(name, 4_000));
        world.fact(limit(name, *count));
    }
    for at in 0..6 {
        let volume: Arc<str> = format!("v{at}").into();
        let source = VolumeSource::Driver { driver: DRIVER.into(), handle: volume.clone() };
        let found = Volume { name: volume.clone(), source, ..Volume::default() };
        world.fact(storage(StorageChange::VolumeApplied(Box::new(found))));
        let id = VolumeClaimId { namespace: "default".into(), name: format!("c{at}").into() };
        let claim = VolumeClaim { id, volume: Some(volume), bound: true, ..VolumeClaim::default() };
        world.fact(storage(StorageChange::VolumeClaimApplied(Box::new(claim))));
    }
    world
}

fn using(name: &str, claims: &[&str]) -> Pod {
    let pod = pod(name, 100, &[]);
    let volume_claims = claims.iter().map(|claim| (*claim).into()).collect();
    Pod { shape: Arc::new(Shape { volume_claims, ..Shape::clone(&pod.shape) }), ..pod }
}

fn with_disk(name: &str, disk: &str, read_only: bool) -> Pod {
    let pod = pod(name, 100, &[]);
    let disks = vec![Disk::GcePd { name: disk.into(), read_only }];
    Pod { shape: Arc::new(Shape { disks, ..Shape::clone(&pod.shape) }), ..pod }
}

fn told(world: &mut World) -> String {
    world.later(20);
    world.settle();
    world.told.last().cloned().unwrap_or_default()
}

#[test]
fn a_node_with_as_many_volumes_as_it_attaches_takes_no_more_until_one_goes() {
    let mut world = with_limits(&[("a", 1)]);
    world.add_pod(using("p", &["c0"]));
    assert_eq!(told(&mut world), "p on a");
    world.add_pod(using("q", &["c1"]));
    assert!(told(&mut world).contains("1 node(s) exceed max volume count"));
    world.add_pod(using("r", &["c0"]));
    assert_eq!(told(&mut world), "r on a", "the volume is attached already");
    world.remove_pod("p");
    assert_eq!(world.node_of("q"), None);
    world.remove_pod("r");
    assert_eq!(told(&mut world), "q on a");
}

#[test]
fn a_pod_that_waits_for_a_limit_is_woken_by_what_its_node_says_and_by_what_is_detached() {
    let mut world = with_limits(&[("a", 1)]);
    world.fact(storage(StorageChange::AttachmentApplied(Attachment {
        name: "left".into(),
        node: "a".into(),
        driver: DRIVER.into(),
        volume: Some("v5".into()),
    })));
    world.add_pod(using("p", &["c0"]));
    assert!(told(&mut world).contains("exceed max volume count"));
    world.fact(storage(StorageChange::AttachmentGone("left".into())));
    assert_eq!(told(&mut world), "p on a");
    world.add_pod(using("q", &["c1"]));
    assert!(told(&mut world).contains("exceed max volume count"));
    world.fact(limit("a", 2));
    assert_eq!(told(&mut world), "q on a");
}

#[test]
fn an_important_pod_displaces_one_whose_volume_takes_its_place() {
    let mut world = with_limits(&[("a", 1)]);
    world.add_pod(using("p", &["c0"]));
    assert_eq!(told(&mut world), "p on a");
    world.add_pod(Pod { priority: 10, preempts: true, ..using("q", &["c1"]) });
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!((world.node_of("p"), world.node_of("q").as_deref()), (None, Some("a")));
}

#[test]
fn members_of_a_gang_count_each_others_volumes() {
    let of_gang = |name: &str, claim: &str| Pod { group: Some("gang".into()), ..using(name, &[claim]) };
    for (second, placed) in [(1, false), (2, true)] {
        let mut world = with_limits(&[("a", 1), ("b", second)]);
        world.fact(group(3, &[]));
        (0..3).for_each(|at| world.add_pod(of_gang(&format!("m{at}"), &format!("c{at}"))));
        world.settle();
        world.later(20);
        world.settle();
        let nodes: Vec<_> = (0..3).filter_map(|at| world.node_of(&format!("m{at}"))).collect();
        assert_eq!(nodes.len(), if placed { 3 } else { 0 }, "{nodes:?} {:?}", world.told);
        assert!(nodes.iter().filter(|node| *node == "a").count() <= 1, "{nodes:?}");
    }
}

#[test]
fn a_disk_is_used_by_one_pod_on_a_node_unless_all_only_read_it() {
    let mut world = with_limits(&[("a", 5)]);
    world.add_pod(with_disk("p", "d", true));
    assert_eq!(told(&mut world), "p on a");
    world.add_pod(with_disk("q", "d", true));
    assert_eq!(told(&mut world), "q on a");
    world.add_pod(with_disk("r", "d", false));
    assert!(told(&mut world).contains("1 node(s) had no available disk"));
    world.remove_pod("p");
    world.remove_pod("q");
    assert_eq!(told(&mut world), "r on a");
}

#[test]
fn members_of_a_gang_that_write_one_disk_are_on_different_nodes() {
    let of_gang = |name: &str| Pod { group: Some("gang".into()), ..with_disk(name, "d", false) };
    let mut world = with_limits(&[("a", 5), ("b", 5)]);
    world.fact(group(2, &[]));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(of_gang(name)));
    world.settle();
    let nodes = ["m0", "m1"].map(|name| world.node_of(name));
    assert!(nodes[0].is_some() && nodes[1].is_some() && nodes[0] != nodes[1], "{nodes:?} {:?}", world.told);
}
