//! Replicas of a group of our own workloads: as many as fit in one pass, and what they displace.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use cluster::claims::ClaimState;
use model::pod::{ClaimSource, LabelSelector, Pod, PodClaim, PodTerm, Shape};
use model::timestamp::Timestamp;
use model::workload::{
    DeviceTerm, LevelTerm, Replica, TermClaims, Terms, Together, Workload, WorkloadGroup, WorkloadId,
};
use scheduler::engine::Input;
use scheduler::write::Write;

use crate::gangs::{node_in, racks, seats};
use crate::preemption::running;
use crate::world::{World, claim, gpu_class, gpus, pod, world};

/// A workload with one group of so many replicas of two members.
pub fn workload(replicas: u32, terms: Terms) -> Change {
    let group = WorkloadGroup {
        name: "g".into(),
        at_least: 2,
        replicas,
        binding_failure: None,
        terms: Arc::new(terms),
    };
    Change::Group(GroupChange::WorkloadApplied(Box::new(Workload {
        id: WorkloadId { namespace: "default".into(), name: "w".into() },
        uid: "uid-w".into(),
        groups: vec![group],
    })))
}

/// A wish for one rack.
fn a_rack(rank: Option<u32>) -> Terms {
    Terms { levels: vec![LevelTerm { level: "rack".into(), rank }], devices: Vec::new() }
}

/// Devices of one pool for all claims that are made from a template.
pub fn one_pool() -> Terms {
    let claims = TermClaims::Template("gpus".into());
    Terms { levels: Vec::new(), devices: vec![DeviceTerm { claims, together: Together::Pool }] }
}

fn of_replica(replica: usize, pod: Pod) -> Pod {
    let replica = Replica { workload: "w".into(), group: "g".into(), number: replica.to_string().into() };
    Pod { group: Some(replica.into()), ..pod }
}

/// Two members of each replica, `r-0` and `r-1` and so on.
pub fn add(world: &mut World, replicas: usize, make: impl Fn(&str, usize) -> Pod) {
    for replica in 0..replicas {
        for number in 0..2 {
            world.add_pod(of_replica(replica, make(&format!("{replica}-{number}"), number)));
        }
    }
}

/// A pod with a claim of its own that was made from the template, which is added.
pub fn with_claim(world: &mut World, replica: usize, number: usize) {
    let name = format!("{replica}-{number}");
    world.add_claim(ClaimState { owner: Some(format!("uid-{name}").into()), ..claim(&name) });
    let mut made = of_replica(replica, pod(&name, 100, &[]));
    made.claims = vec![PodClaim { name: "gpu".into(), source: ClaimSource::Generated(name.as_str().into()) }];
    made.shape = Arc::new(Shape { claim_templates: vec![Some("gpus".into())], ..Shape::clone(&made.shape) });
    world.add_pod(made);
}

/// One attempt at one entry of the queue.
fn one_turn(world: &mut World) {
    world.tell(Input::Turn { attempts: 1 });
    if world.engine.begins_consideration() {
        world.tell(Input::Turn { attempts: 0 });
    }
}

/// How many replicas have both members on nodes or being bound or given devices.
fn placed(world: &World) -> usize {
    let of_write = |write: &Write| match write {
        Write::Bind { pod, .. } => Some(pod.name.to_string()),
        Write::Allocate { claim, .. } => Some(claim.name.to_string()),
        _ => None,
    };
    let names: BTreeSet<String> = world.open.iter().filter_map(|(_, write)| of_write(write)).collect();
    let has = |name: String| names.contains(&name) || world.node_of(&name).is_some();
    (0..16).filter(|replica| (0..2).all(|number| has(format!("{replica}-{number}")))).count()
}

#[test]
fn replicas_without_a_level_are_placed_in_one_pass() {
    let mut world = racks();
    world.fact(workload(5, Terms::default()));
    add(&mut world, 5, |name, _| pod(name, 2_000, &[]));
    one_turn(&mut world);
    assert_eq!(placed(&world), 4, "there is room for eight members: {:?}", world.open);
    world.settle();
    assert_eq!(placed(&world), 4, "{}", seats(&world));
}

#[test]
fn replicas_are_seated_so_that_the_most_fit() {
    let mut world = world();
    for (name, cpu) in [("a", 3_000), ("b", 3_000), ("c", 2_000), ("d", 1_000)] {
        world.fact(crate::world::node(name, cpu));
    }
    world.fact(workload(3, Terms::default()));
    add(&mut world, 3, |name, number| pod(name, if number == 0 { 2_000 } else { 1_000 }, &[]));
    one_turn(&mut world);
    assert_eq!(placed(&world), 3, "nothing is left over: {:?}", world.open);
}

#[test]
fn replicas_with_devices_of_one_pool_are_placed_in_one_pass() {
    let mut world = racks();
    world.fact(gpu_class());
    for (node, cards) in [("a", 4), ("b", 3), ("c", 2), ("d", 1)] {
        let names: Vec<String> = (0..cards).map(|at| format!("gpu-{at}")).collect();
        world.fact(gpus(node, &names.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    world.fact(workload(5, one_pool()));
    for replica in 0..5 {
        (0..2).for_each(|number| with_claim(&mut world, replica, number));
    }
    one_turn(&mut world);
    assert_eq!(placed(&world), 4, "two, one and one, and none on the last: {:?}", world.open);
    world.settle();
    assert_eq!(placed(&world), 4, "{}", seats(&world));
    for replica in 0..5 {
        let node = |number: usize| world.node_of(&format!("{replica}-{number}"));
        assert_eq!(node(0), node(1), "each has one pool: {}", seats(&world));
    }
}

#[test]
fn sets_of_devices_that_reach_the_same_nodes_do_not_give_room_twice() {
    let mut world = world();
    world.fact(crate::world::node("a", 400));
    world.fact(gpu_class());
    for pool in ["p", "q"] {
        let Change::SliceApplied(published) = gpus(pool, &["gpu-0", "gpu-1", "gpu-2", "gpu-3"]) else {
            unreachable!("it is a slice")
        };
        let mut slice = published.slice.clone();
        slice.reach = model::device::Reach::Node("a".into());
        let revision = published.revision;
        world.fact(Change::SliceApplied(Arc::new(cluster::published::Published::new(slice, revision))));
    }
    world.fact(workload(4, one_pool()));
    for replica in 0..4 {
        (0..2).for_each(|number| with_claim(&mut world, replica, number));
    }
    one_turn(&mut world);
    assert_eq!(placed(&world), 2, "the node has room for four members: {:?}", world.open);
    world.settle();
    assert_eq!(placed(&world), 2, "{}", seats(&world));
}

#[test]
fn replicas_that_get_no_rack_are_placed_across_racks_in_the_same_pass() {
    let mut world = racks();
    // Two racks with room for one member on each node, and two with one such node each.
    for (rack, name) in [("r2", "e"), ("r3", "f")] {
        world.fact(node_in(rack, name, 4_000));
    }
    world.fact(workload(4, a_rack(Some(0))));
    add(&mut world, 4, |name, _| pod(name, 3_000, &[]));
    one_turn(&mut world);
    assert_eq!(placed(&world), 3, "{:?}", world.open);
    world.settle();
    let rack = |name: &str| match world.node_of(name).as_deref() {
        Some("a" | "b") => 0,
        Some("c" | "d") => 1,
        Some(_) => 2,
        None => 3,
    };
    let in_one = |replica: usize| rack(&format!("{replica}-0")) == rack(&format!("{replica}-1"));
    assert_eq!((0..3).filter(|replica| in_one(*replica)).count(), 3, "{}", seats(&world));
}

#[test]
fn replicas_whose_members_look_at_each_other_are_placed_in_one_pass() {
    let mut world = racks();
    world.fact(workload(3, a_rack(None)));
    add(&mut world, 3, |name, _| {
        let mut made = pod(name, 1_000, &[]);
        let apart = PodTerm {
            selector: LabelSelector::All(Vec::new()),
            namespaces: vec!["default".into()],
            namespace_selector: None,
            key: "host".into(),
        };
        made.shape = Arc::new(Shape { apart: vec![apart], ..Shape::clone(&made.shape) });
        made
    });
    one_turn(&mut world);
    assert_eq!(placed(&world), 2, "each node takes one, and there are two racks: {:?}", world.open);
    world.settle();
    assert_eq!(placed(&world), 2, "{}", seats(&world));
}

#[test]
fn a_replica_that_matters_less_does_not_come_along() {
    let mut world = racks();
    world.fact(workload(2, Terms::default()));
    world.fact(gpu_class());
    for replica in 0..2 {
        for number in 0..2 {
            let name = format!("{replica}-{number}");
            let made = Pod { priority: 10 - replica as i32, ..pod(&name, 2_000, &[]) };
            world.add_pod(of_replica(replica, made));
        }
    }
    one_turn(&mut world);
    assert_eq!(placed(&world), 1, "somebody may matter more than it: {:?}", world.open);
}

/// A pod that began to run at a second.
fn since(second: i64, pod: Pod) -> Pod {
    Pod { started: Some(Timestamp::from_micros(second * 1_000_000)), ..pod }
}

/// Two members of an important replica that would like one rack.
fn add_urgent(world: &mut World) {
    world.fact(workload(1, a_rack(Some(0))));
    add(world, 1, |name, _| Pod { priority: 10, ..pod(name, 3_000, &[]) });
}

#[test]
fn nobody_goes_for_a_wish() {
    let mut world = racks();
    for (name, node) in [("v", "b"), ("w", "d")] {
        world.add_pod(running(name, 1, node, 3_000));
    }
    add_urgent(&mut world);
    world.turn();
    assert!(world.evicted().is_empty());
    world.settle();
    assert_eq!(seats(&world), "0-0@a 0-1@c v@b w@d");
}

#[test]
fn if_as_many_have_to_go_a_wish_is_granted() {
    let mut world = racks();
    for (name, node, second) in [("v", "a", 50), ("w", "b", 10), ("x", "c", 50), ("y", "d", 10)] {
        world.add_pod(since(second, running(name, 1, node, 3_000)));
    }
    add_urgent(&mut world);
    world.turn();
    let evicted = BTreeSet::from_iter(world.evicted());
    assert_eq!(
        evicted,
        BTreeSet::from(["v".to_owned(), "w".to_owned()]),
        "not the two that began last, in two racks"
    );
}

#[test]
fn fewer_go_rather_than_that_a_wish_is_granted() {
    let mut world = racks();
    for (name, priority, node) in [("v", 1, "a"), ("w", 1, "b"), ("x", 20, "c")] {
        world.add_pod(running(name, priority, node, 3_000));
    }
    add_urgent(&mut world);
    world.turn();
    assert_eq!(world.evicted().len(), 1, "{:?}", world.evicted());
    world.settle();
    assert!(world.node_of("0-0").is_some() && world.node_of("0-1").is_some(), "{}", seats(&world));
}

#[test]
fn as_many_of_many_replicas_are_placed_as_can_be() {
    // On ten nodes of four processors there is room for six members of three and six of two, and one node is left.
    for (terms, expected) in [(Terms::default(), 40), (a_rack(None), 36), (a_rack(Some(0)), 40)] {
        let mut world = crate::gangs::gang_world();
        for number in 0..60 {
            world.fact(node_in(&format!("r{}", number / 10), &format!("n{number:02}"), 4_000));
        }
        world.fact(workload(50, terms.clone()));
        add(&mut world, 50, |name, number| pod(name, if number == 0 { 2_000 } else { 3_000 }, &[]));
        one_turn(&mut world);
        let bound = world.open.iter().filter(|(_, write)| matches!(write, Write::Bind { .. })).count();
        assert_eq!(bound, 2 * expected, "{terms:?}");
    }
}
