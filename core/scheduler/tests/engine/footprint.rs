//! Devices that are a part of what their node has for pods, or cost some of it.

use std::sync::Arc;

use cluster::change::Change;
use cluster::published::Published;
use decisions::settings::Settings;
use gates::{Gate, Gates};
use model::device::{Device, NodeShare, Part, PoolId, Reach, Slice};
use model::pod::{Pod, Shape};
use model::quantity::{Format, Quantity};
use scheduler::engine::Engine;
use scheduler::write::Write;
use selector::SliceRevision;

use crate::world::{World, claim, gpu_class, node, pod, settings, world};

fn cpu(milli: i64) -> Quantity {
    Quantity::from_milli(milli, Format::DecimalSi)
}

fn part(milli: i64) -> NodeShare {
    NodeShare { part: Some(Part::Device(cpu(milli))), ..NodeShare::default() }
}

fn overhead(per_pod: i64, per_container: i64) -> NodeShare {
    NodeShare { part: None, per_pod: Some(cpu(per_pod)), per_container: Some(cpu(per_container)) }
}

/// A node of four processors, and devices that are or cost some of them.
fn cluster(on: bool, devices: &[NodeShare]) -> World {
    let mut world = world();
    let gates = Gates::default().with(Gate::DRANodeAllocatableResources, on);
    world.engine = Engine::new(Settings { gates, ..settings() });
    let device = |(at, share): (usize, &NodeShare)| Device {
        name: format!("d{at}").into(),
        node_resources: [("cpu".into(), share.clone())].into(),
        ..Device::default()
    };
    let slice = Slice {
        name: "a-devices".into(),
        pool: PoolId { driver: "gpu.example.com".into(), pool: "a".into() },
        generation: 1,
        slices_in_pool: 1,
        reach: Reach::Node("a".into()),
        devices: devices.iter().enumerate().map(device).collect(),
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    };
    let published = Published::new(slice, SliceRevision { slice: 1, revision: 1 });
    for change in [gpu_class(), node("a", 4_000), Change::SliceApplied(Arc::new(published))] {
        world.fact(change);
    }
    world
}

/// A pod whose claims are used by these containers.
fn using(name: &str, milli: i64, claims: &[&str], containers: &[&str]) -> Pod {
    let mut pod = pod(name, milli, claims);
    let containers: Vec<Arc<str>> = containers.iter().map(|name| Arc::from(*name)).collect();
    let claim_containers = claims.iter().map(|_| containers.clone()).collect();
    pod.shape = Arc::new(Shape { claim_containers, ..Shape::clone(&pod.shape) });
    pod
}

fn told<'w>(world: &'w World, pod: &str) -> &'w str {
    let prefix = format!("{pod}: ");
    world.told.iter().rev().find(|line| line.starts_with(&prefix)).map_or("nothing", |line| line.as_str())
}

#[test]
fn what_devices_are_of_a_node_counts_like_what_pods_ask_for() {
    let mut world = cluster(true, &[part(3_000), part(1_000)]);
    world.add_claim(claim("one"));
    world.add_pod(using("p", 500, &["one"], &["c"]));
    world.turn();
    let [(_, Write::NoteResources { claims, .. }), (_, Write::Allocate { .. })] = &world.open[..] else {
        unreachable!("a note and an allocation are due: {:?}", world.open)
    };
    assert_eq!((&*claims[0].claim, &claims[0].containers), ("one", &vec!["c".into()]));
    assert_eq!(claims[0].mapping["cpu"], cpu(3_000));
    // While all of this is on its way, and after: half a processor is left.
    world.add_pod(pod("large", 600, &[]));
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
    assert_eq!(
        told(&world, "large"),
        "large: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    );
    world.add_claim(claim("two"));
    world.add_pod(using("q", 100, &["two"], &[]));
    world.settle();
    assert_eq!(
        told(&world, "q"),
        "q: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    );
    world.add_pod(pod("small", 500, &[]));
    world.settle();
    assert_eq!(world.node_of("small").as_deref(), Some("a"));
    // When there is room again, a pod that waits for it for its devices is tried again.
    world.remove_pod("small");
    world.remove_pod("p");
    world.later(2);
    world.settle();
    assert_eq!(world.node_of("q").as_deref(), Some("a"));
}

#[test]
fn what_devices_cost_counts_for_the_pod_and_for_each_container() {
    let mut world = cluster(true, &[overhead(1_000, 500)]);
    world.add_claim(claim("one"));
    // 1600 and 1000 and three times 500 are more than there is.
    world.add_pod(using("p", 1_600, &["one"], &["a", "b", "c"]));
    world.settle();
    assert_eq!(
        told(&world, "p"),
        "p: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    );
    world.remove_pod("p");
    world.add_pod(using("q", 1_500, &["one"], &["a", "b", "c"]));
    world.settle();
    assert_eq!(world.node_of("q").as_deref(), Some("a"));
    let note = &world.notes["uid-q"][0];
    assert_eq!(note.overhead["cpu"], (Some(cpu(1_000)), Some(cpu(500))));
    assert!(note.mapping.is_empty());
}

#[test]
fn a_claim_with_a_part_of_the_node_is_for_one_pod_and_one_that_only_costs_is_for_several() {
    for (share, both) in [(part(100), false), (overhead(100, 0), true)] {
        let mut world = cluster(true, &[share]);
        world.add_claim(claim("shared"));
        world.add_pod(using("p", 100, &["shared"], &[]));
        world.settle();
        world.add_pod(using("q", 100, &["shared"], &[]));
        world.settle();
        assert!(world.node_of("p").is_some());
        assert_eq!(world.node_of("q").is_some(), both);
        let reason = "q: 0/1 nodes are available: resourceclaim \"shared\" has a device with node resources";
        assert_eq!(told(&world, "q").starts_with(reason), !both, "{}", told(&world, "q"));
    }
}

#[test]
fn a_device_that_is_measured_by_a_capacity_must_be_shared_by_it() {
    let share = NodeShare {
        part: Some(Part::Capacity { key: "cores".into(), factor: Some(cpu(2_000)) }),
        ..NodeShare::default()
    };
    let mut world = cluster(true, &[share]);
    world.add_claim(claim("one"));
    world.add_pod(using("p", 100, &["one"], &[]));
    world.settle();
    assert!(told(&world, "p").contains("allows no sharing of capacity"), "{}", told(&world, "p"));
}

#[test]
fn what_a_pod_asks_for_as_a_whole_must_cover_its_devices_and_then_counts_alone() {
    for (spare, expected) in [(2_999, None), (3_000, Some("a"))] {
        let mut world = cluster(true, &[part(3_000)]);
        world.add_claim(claim("one"));
        let mut pod = using("p", 4_000, &["one"], &[]);
        pod.shape = Arc::new(Shape { spare: vec![("cpu".into(), spare)], ..Shape::clone(&pod.shape) });
        world.add_pod(pod);
        world.settle();
        assert_eq!(world.node_of("p").as_deref(), expected, "{}", told(&world, "p"));
    }
}

#[test]
fn a_placement_that_fails_takes_its_note_back() {
    let mut world = cluster(true, &[part(1_000)]);
    world.add_claim(claim("one"));
    world.add_pod(using("p", 100, &["one"], &[]));
    world.fail.push(|write| matches!(write, Write::Bind { .. }));
    world.turn();
    (0..3).for_each(|_| world.carry_out());
    assert!(world.notes["uid-p"].is_empty());
    world.later(2);
    world.settle();
    assert_eq!((world.node_of("p").as_deref(), world.notes["uid-p"].len()), (Some("a"), 1));
}

#[test]
fn nothing_of_this_counts_while_the_feature_is_off() {
    let mut world = cluster(false, &[part(9_000)]);
    world.add_claim(claim("one"));
    world.add_pod(using("p", 100, &["one"], &["c"]));
    world.settle();
    assert_eq!((world.node_of("p").as_deref(), world.notes.len()), (Some("a"), 0));
}

#[test]
fn pods_are_displaced_for_what_devices_take_of_their_node() {
    let mut world = cluster(true, &[part(2_000)]);
    for (name, priority, milli) in [("low", 0, 1_000), ("mid", 5, 2_000)] {
        world.add_pod(Pod { priority, node: Some("a".into()), ..pod(name, milli, &[]) });
    }
    world.add_claim(claim("high"));
    world.add_pod(Pod { priority: 10, ..using("high", 0, &["high"], &["c"]) });
    world.turn();
    assert_eq!(world.evicted(), ["low"], "one processor is free, and two are needed");
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
}
