//! Claims that get a volume once their pod has a node: planned, written, waited for, and given up.

use std::sync::Arc;

use cluster::change::{Change, StorageChange};
use decisions::profile::Profile;
use model::node::{NodeSelector, NodeTaint, NodeTaintEffect, NodeTerm, Operator, Requirement};
use model::pod::{Pod, Shape};
use model::quantity::{Format, Quantity};
use model::volume::{StorageClass, Volume, VolumeClaim, VolumeClaimId, VolumeWish};
use scheduler::engine::Engine;
use scheduler::write::Write;

use crate::gangs::{gang_settings, gang_world, group, node_in};
use crate::world::{World, pod, world};

fn storage(change: StorageChange) -> Change {
    Change::Storage(change)
}

fn size(gigabytes: i64) -> Quantity {
    Quantity::new(gigabytes << 30, Format::BinarySi)
}

/// Nodes `a` and `b`, a class of volumes that are there and one of volumes that are provisioned.
fn with_classes(mut world: World) -> World {
    for name in ["a", "b"] {
        world.fact(node_in("r", name, 4_000));
    }
    for (name, provisioner) in [("local", "kubernetes.io/no-provisioner"), ("made", "disks.example.com")] {
        let (name, provisioner) = (name.into(), provisioner.into());
        let class = StorageClass { name, provisioner, waits_for_pod: true, ..StorageClass::default() };
        world.fact(storage(StorageChange::StorageClassApplied(class)));
    }
    world
}

fn claim_id(name: &str) -> VolumeClaimId {
    VolumeClaimId { namespace: "default".into(), name: name.into() }
}

fn claim(name: &str, class: &str, gigabytes: i64) -> Change {
    storage(StorageChange::VolumeClaimApplied(Box::new(VolumeClaim {
        id: claim_id(name),
        uid: format!("uid-{name}").into(),
        class: Some(class.into()),
        wish: VolumeWish { size: Some(size(gigabytes)), ..VolumeWish::default() },
        ..VolumeClaim::default()
    })))
}

/// A volume that these nodes reach.
fn volume(name: &str, gigabytes: i64, hosts: &[&str]) -> Volume {
    let values = hosts.iter().map(|host| (*host).into()).collect();
    let labels = vec![Requirement { key: "host".into(), operator: Operator::In, values }];
    let nodes = Some(NodeSelector { terms: vec![NodeTerm { fields: Vec::new(), labels }] });
    let (name, class, capacity) = (name.into(), "local".into(), size(gigabytes));
    Volume { name, class, capacity, nodes, available: true, ..Volume::default() }
}

fn there(volume: Volume) -> Change {
    storage(StorageChange::VolumeApplied(Box::new(volume)))
}

fn using(name: &str, claims: &[&str]) -> Pod {
    let pod = pod(name, 100, &[]);
    let volume_claims = claims.iter().map(|claim| (*claim).into()).collect();
    Pod { shape: Arc::new(Shape { volume_claims, ..Shape::clone(&pod.shape) }), ..pod }
}

/// A claim as it is, changed.
fn change(world: &mut World, name: &str, change: impl FnOnce(&mut VolumeClaim)) {
    let known = world.engine.facts().volumes.claim("default", name).expect("it is there");
    let mut claim = VolumeClaim::clone(known);
    world.revision += 1;
    claim.revision = world.revision;
    change(&mut claim);
    world.fact(storage(StorageChange::VolumeClaimApplied(Box::new(claim))));
}

/// The volume controller joins a claim and a volume.
fn join(world: &mut World, claim: &str, volume: &str) {
    change(world, claim, |claim| {
        claim.volume = Some(volume.into());
        claim.bound = true;
    });
}

fn selected(world: &World, name: &str) -> Option<String> {
    let claim = world.engine.facts().volumes.claim("default", name)?;
    claim.selected_node.as_ref().map(ToString::to_string)
}

fn owner(world: &World, volume: &str) -> Option<String> {
    let volume = world.engine.facts().volumes.volume(volume)?;
    volume.claim.as_ref().map(|owner| owner.id.name.to_string())
}

fn told(world: &mut World) -> String {
    world.later(20);
    world.settle();
    world.told.last().cloned().unwrap_or_default()
}

#[test]
fn the_smallest_volume_that_the_node_reaches_is_noted_and_the_pod_waits_until_it_is_bound() {
    let mut world = with_classes(gang_world());
    for (name, gigabytes, hosts) in
        [("small", 1, &["a", "b"][..]), ("fits", 3, &["b"]), ("large", 5, &["a", "b"])]
    {
        world.fact(there(volume(name, gigabytes, hosts)));
    }
    world.fact(claim("disk", "local", 2));
    world.add_pod(Pod {
        shape: Arc::new(Shape {
            node_labels: [("host".into(), "b".into())].into(),
            ..Shape::clone(&using("p", &["disk"]).shape)
        }),
        ..using("p", &["disk"])
    });
    world.settle();
    assert_eq!((owner(&world, "fits").as_deref(), world.node_of("p")), (Some("disk"), None));
    assert_eq!(world.engine.placing(), 1);
    assert!(world.engine.is_idle(), "it waits for somebody else");
    join(&mut world, "disk", "fits");
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("b"));
    assert!(!world.engine.facts().volumes.has_plans());
}

#[test]
fn a_pod_leaves_a_node_that_does_not_reach_the_volume_that_its_claim_got_by_another_scheduler() {
    let mut world = with_classes(world());
    world.fact(there(volume("on-a", 2, &["a"])));
    world.fact(claim("c", "local", 1));
    world.add_pod(using("p", &["c"]));
    world.settle();
    assert_eq!(owner(&world, "on-a").as_deref(), Some("c"));
    world.fact(there(volume("on-b", 2, &["b"])));
    join(&mut world, "c", "on-b");
    world.settle();
    assert_ne!(world.node_of("p").as_deref(), Some("a"), "{:?}", world.told);
    world.later(30);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("b"), "{:?}", world.told);
}

#[test]
fn two_pods_do_not_take_one_volume() {
    let mut world = with_classes(gang_world());
    world.fact(there(volume("one", 1, &["a"])));
    ["x", "y"].into_iter().for_each(|name| world.fact(claim(name, "local", 1)));
    world.add_pod(using("p", &["x"]));
    world.add_pod(using("q", &["y"]));
    world.turn();
    let bound = world.open.iter().filter(|(_, write)| matches!(write, Write::BindVolume { .. })).count();
    assert_eq!(bound, 1, "{:?}", world.open);
    world.settle();
    assert!(world.told.iter().any(|told| told.contains("didn't find available persistent volumes to bind")));
    world.fact(there(volume("two", 1, &["b"])));
    world.later(20);
    world.settle();
    let owners = ["one", "two"].map(|name| owner(&world, name));
    assert!(owners[0].is_some() && owners[1].is_some() && owners[0] != owners[1], "{owners:?}");
}

#[test]
fn a_node_is_selected_where_no_volume_is_there_and_another_after_provisioning_failed() {
    let mut world = with_classes(gang_world());
    world.fact(claim("disk", "made", 1));
    world.add_pod(using("p", &["disk"]));
    world.settle();
    let first = selected(&world, "disk").expect("a node is selected");
    assert_eq!(world.node_of("p"), None);
    // The controller that provisions volumes cannot do it there, and has the node closed.
    let Change::NodeApplied(mut node) = node_in("r", &first, 4_000) else { unreachable!("a node comes") };
    node.unschedulable = true;
    world.fact(Change::NodeApplied(node));
    change(&mut world, "disk", |claim| claim.selected_node = None);
    assert_eq!(
        world.told.last().map(String::as_str),
        Some("p: binding volumes: provisioning failed for PVC \"disk\"")
    );
    world.later(20);
    world.settle();
    let second = selected(&world, "disk").expect("a node is selected");
    assert_ne!(first, second);
    world.fact(there(Volume { available: false, ..volume("made-1", 1, &[&second]) }));
    join(&mut world, "disk", "made-1");
    world.settle();
    assert_eq!(world.node_of("p"), Some(second));
}

#[test]
fn a_pod_that_waits_too_long_is_tried_again_where_its_claim_is_tied_to() {
    let mut world = with_classes(gang_world());
    let profile = Profile { volume_timeout_ms: 60_000, ..Profile::named("supercargo") };
    let settings = decisions::settings::Settings { profiles: vec![Arc::new(profile)], ..gang_settings() };
    world.engine = Engine::new(settings);
    let mut world = with_classes(world);
    world.fact(claim("disk", "made", 1));
    world.add_pod(using("p", &["disk"]));
    world.settle();
    let node = selected(&world, "disk");
    world.later(59);
    world.settle();
    assert_eq!(world.told, Vec::<String>::new());
    world.later(2);
    world.settle();
    let timed_out = "p: binding volumes: timed out waiting for PVC \"disk\" to be bound";
    assert_eq!(world.told.last().map(String::as_str), Some(timed_out));
    assert_eq!(selected(&world, "disk"), node, "what was written stays");
    world.later(20);
    world.settle();
    assert_eq!((world.engine.placing(), selected(&world, "disk")), (1, node));
}

#[test]
fn what_a_pod_planned_is_for_others_once_it_is_gone() {
    let mut world = with_classes(gang_world());
    world.fact(there(volume("one", 1, &["a"])));
    ["x", "y"].into_iter().for_each(|name| world.fact(claim(name, "local", 1)));
    world.add_pod(using("p", &["x"]));
    world.turn();
    // Its write is refused, as another client was faster.
    world.fail.push(|write| matches!(write, Write::BindVolume { .. }));
    world.remove_pod("p");
    world.add_pod(using("q", &["y"]));
    world.settle();
    assert_eq!(owner(&world, "one").as_deref(), Some("y"));
}

#[test]
fn a_pod_does_not_wait_for_volumes_on_a_node_that_is_gone() {
    let mut world = with_classes(gang_world());
    world.fact(claim("disk", "made", 1));
    world.add_pod(using("p", &["disk"]));
    world.settle();
    let node = selected(&world, "disk").expect("a node is selected");
    world.fact(Change::NodeGone(node.as_str().into()));
    assert!(world.told.last().is_some_and(|told| told.contains("was deleted before the pod was bound")));
    world.later(20);
    world.settle();
    assert!(world.told.last().is_some_and(|told| told.contains("didn't find available persistent volumes")));
    // The provisioner notices it as well, and takes its node back.
    change(&mut world, "disk", |claim| claim.selected_node = None);
    world.later(20);
    world.settle();
    assert!(selected(&world, "disk").is_some_and(|other| other != node));
}

#[test]
fn a_scheduler_that_begins_anew_goes_on_with_what_was_written() {
    let mut world = with_classes(gang_world());
    world.fact(there(volume("one", 1, &["a", "b"])));
    world.fact(claim("disk", "local", 1));
    world.fact(claim("made", "made", 1));
    world.add_pod(using("p", &["disk", "made"]));
    world.settle();
    let node = selected(&world, "made").expect("a node is selected");
    let volumes = world.engine.facts().volumes.clone();
    let mut anew = with_classes(gang_world());
    anew.revision = world.revision;
    for name in ["disk", "made"] {
        let claim = VolumeClaim::clone(volumes.claim("default", name).expect("it is there"));
        anew.fact(storage(StorageChange::VolumeClaimApplied(Box::new(claim))));
    }
    anew.fact(there(Volume::clone(volumes.volume("one").expect("it is there"))));
    anew.add_pod(using("p", &["disk", "made"]));
    anew.turn();
    assert!(anew.open.is_empty(), "nothing is left to write: {:?}", anew.open);
    join(&mut anew, "disk", "one");
    anew.settle();
    assert_eq!(anew.node_of("p"), None, "one of two is bound");
    anew.fact(there(Volume { available: false, ..volume("made-1", 1, &[&node]) }));
    join(&mut anew, "made", "made-1");
    anew.settle();
    assert_eq!(anew.node_of("p"), Some(node));
}

#[test]
fn a_claim_that_is_made_anew_or_a_volume_that_is_taken_away_ends_the_wait() {
    for is_volume in [true, false] {
        let mut world = with_classes(gang_world());
        world.fact(there(volume("one", 1, &["a"])));
        world.fact(claim("disk", "local", 1));
        world.add_pod(using("p", &["disk"]));
        world.settle();
        if is_volume {
            world.revision += 1;
            let revision = world.revision;
            world.fact(there(Volume { revision, ..volume("one", 1, &["a"]) }));
            assert_eq!(
                world.told.last().map(String::as_str),
                Some("p: binding volumes: ClaimRef got reset for pv \"one\"")
            );
        } else {
            world.fact(storage(StorageChange::VolumeClaimGone(claim_id("disk"))));
            assert!(
                world
                    .told
                    .last()
                    .is_some_and(|told| told.contains("persistentvolumeclaim \"disk\" not found"))
            );
        }
        assert!(!world.engine.facts().volumes.has_plans());
    }
}

#[test]
fn a_pod_does_not_wait_for_a_claim_that_lost_the_volume_that_it_had() {
    for class in ["local", "made"] {
        let mut world = with_classes(gang_world());
        world.fact(there(volume("one", 1, &["a"])));
        world.fact(claim("disk", class, 1));
        world.add_pod(using("p", &["disk"]));
        world.settle();
        assert_eq!(world.engine.placing(), 1, "{class}: {:?}", world.told);
        // The claim was bound to a volume that is gone by now. That is told late.
        change(&mut world, "disk", |claim| {
            claim.volume = Some("former".into());
            claim.lost = true;
        });
        let told = world.told.last().cloned().unwrap_or_default();
        assert_eq!(told, "p: binding volumes: persistentvolume \"former\" not found", "{class}");
        assert!(!world.engine.facts().volumes.has_plans(), "{class}");
    }
}

fn member(name: &str, claims: &[&str]) -> Pod {
    Pod { group: Some("gang".into()), ..using(name, claims) }
}

#[test]
fn members_of_a_gang_get_volumes_of_their_own_or_the_gang_waits() {
    let mut world = with_classes(gang_world());
    world.fact(group(2, &[]));
    world.fact(there(volume("one", 1, &["a", "b"])));
    for (name, disk) in [("m0", "x"), ("m1", "y")] {
        world.fact(claim(disk, "local", 1));
        world.add_pod(member(name, &[disk]));
    }
    let refused = told(&mut world);
    assert!(refused.contains("didn't find available persistent volumes to bind"), "{refused}");
    assert_eq!(owner(&world, "one"), None);
    // The other volume reaches one node only, where either of them can be.
    world.fact(there(volume("two", 1, &["b"])));
    world.later(20);
    world.settle();
    let owners = ["one", "two"].map(|name| owner(&world, name).expect("it is taken"));
    assert_ne!(owners[0], owners[1]);
    join(&mut world, &owners[0], "one");
    world.settle();
    assert_eq!((world.node_of("m0"), world.node_of("m1")), (None, None), "all or none");
    join(&mut world, &owners[1], "two");
    world.settle();
    assert!(world.node_of("m0").is_some() && world.node_of("m1").is_some());
    let with_two = if owners[1] == "x" { "m0" } else { "m1" };
    assert_eq!(world.node_of(with_two).as_deref(), Some("b"));
}

#[test]
fn members_of_a_gang_that_share_a_claim_are_where_its_volume_is() {
    let mut world = with_classes(gang_world());
    world.fact(group(2, &[]));
    world.fact(claim("disk", "made", 1));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name, &["disk"])));
    world.settle();
    let node = selected(&world, "disk").expect("a node is selected");
    world.fact(there(Volume { available: false, ..volume("made-1", 1, &[&node]) }));
    join(&mut world, "disk", "made-1");
    world.settle();
    assert_eq!(["m0", "m1"].map(|name| world.node_of(name)), [Some(node.clone()), Some(node)]);
}

#[test]
fn a_pod_leaves_a_cordoned_node_that_is_tainted_while_its_volumes_are_bound() {
    let mut world = with_classes(world());
    world.fact(claim("disk", "made", 1));
    world.add_pod(using("p", &["disk"]));
    world.settle();
    let node = selected(&world, "disk").expect("a node is selected");
    let change = |taints: Vec<NodeTaint>| {
        let Change::NodeApplied(mut node) = node_in("r", &node, 4_000) else { unreachable!("a node comes") };
        (node.unschedulable, node.taints) = (true, taints);
        Change::NodeApplied(node)
    };
    world.fact(change(Vec::new()));
    world.settle();
    assert_eq!(world.engine.placing(), 1, "its claim is tied to the node: {:?}", world.told);
    let (key, effect) = ("broken".into(), NodeTaintEffect::NoExecute);
    world.fact(change(vec![NodeTaint { key, value: "".into(), effect }]));
    world.fact(there(Volume { available: false, ..volume("made-1", 1, &["a", "b"]) }));
    join(&mut world, "disk", "made-1");
    world.settle();
    assert_ne!(world.node_of("p"), Some(node), "{:?}", world.told);
}

#[test]
fn no_member_of_a_gang_is_bound_if_another_leaves_a_cordoned_node_once_its_volume_is_bound() {
    let mut world = with_classes(gang_world());
    world.fact(group(2, &[]));
    world.fact(claim("disk", "made", 1));
    world.add_pod(member("mounts", &["disk"]));
    world.settle();
    // There is no room for both on one node.
    let other = Pod {
        shape: Arc::new(Shape { ..Shape::clone(&pod("other", 3_950, &[]).shape) }),
        ..member("other", &[])
    };
    world.add_pod(other);
    world.settle();
    let node = selected(&world, "disk").expect("a node is selected");
    assert_eq!((world.engine.placing(), world.node_of("other")), (2, None));
    let cordon = |unschedulable: bool| {
        let Change::NodeApplied(mut node) = node_in("r", &node, 4_000) else { unreachable!("a node comes") };
        node.unschedulable = unschedulable;
        Change::NodeApplied(node)
    };
    world.fact(cordon(true));
    world.settle();
    assert_eq!(world.engine.placing(), 2, "its claim is tied to the node: {:?}", world.told);
    world.fact(there(Volume { available: false, ..volume("made-1", 1, &[&node]) }));
    join(&mut world, "disk", "made-1");
    world.settle();
    assert_eq!((world.node_of("mounts"), world.node_of("other")), (None, None), "{:?}", world.told);
    world.fact(cordon(false));
    world.later(20);
    world.settle();
    assert_eq!(world.node_of("mounts"), Some(node));
    assert!(world.node_of("other").is_some(), "{:?}", world.told);
}
