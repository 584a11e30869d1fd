//! A change wakes the pods that it can help, by the objects that they wait for, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::change::Change;
use cluster::claims::ClaimState;
use cluster::published::Published;
use model::claim::{Amount, Claim, Class, Wish};
use model::device::{Device, PoolId, Reach, Slice};
use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::{Pod, Resources, Shape};
use selector::SliceRevision;

use crate::gangs::{gang_world, group, member, node_in};
use crate::world::{World, claim, claim_id, gpu_class, gpus, node, pod, world};

/// The pods that are tried again after something happened.
pub fn tried_after(world: &mut World, what: impl FnOnce(&mut World)) -> BTreeSet<String> {
    world.settle();
    world.later(20);
    world.told.clear();
    what(world);
    world.turn();
    let name = |line: &String| line.split([':', ' ']).next().unwrap_or_default().to_owned();
    let mut tried: BTreeSet<String> = world.told.drain(..).map(|line| name(&line)).collect();
    // A pod that found a place is told of once it is bound.
    world.settle();
    tried.extend(world.told.iter().filter(|line| line.contains(" on ")).map(name));
    tried
}

pub fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(ToString::to_string).collect()
}

/// A class of a driver's devices, or of all if there is none.
pub fn class(name: &str, driver: Option<&str>) -> Change {
    let selector = driver.map_or("true".to_owned(), |driver| format!("device.driver == '{driver}'"));
    Change::ClassApplied(Class {
        name: name.into(),
        selectors: vec![Some(selector.into())],
        ..Class::default()
    })
}

/// Devices of a driver on a node; one slice of so many.
pub fn slice(node: &str, driver: &str, names: &[&str], slices: i64) -> Change {
    let slice = Slice {
        name: format!("{node}-{driver}").into(),
        pool: PoolId { driver: driver.into(), pool: node.into() },
        generation: 1,
        slices_in_pool: slices,
        reach: Reach::Node(node.into()),
        devices: names.iter().map(|name| Device { name: (*name).into(), ..Device::default() }).collect(),
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    };
    let place =
        format!("{node}{driver}").bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte));
    let revision = SliceRevision { slice: place, revision: 10 * names.len() as u64 + slices as u64 };
    Change::SliceApplied(Arc::new(Published::new(slice, revision)))
}

/// A claim for a device of a class, or for all of them.
pub fn claim_of(name: &str, class: &str, amount: Amount) -> ClaimState {
    let mut state = claim(name);
    let mut wish = Claim::clone(&state.wish);
    let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish else { unreachable!("it asks for one device") };
    (ask.class, ask.amount) = (class.into(), amount);
    state.wish = Arc::new(wish);
    state
}

/// A node without devices, and pods that wait for a card, a network card and any device.
fn without_devices() -> World {
    let mut world = world();
    let classes =
        [class("gpu", Some("gpu.example.com")), class("nic", Some("nic.example.com")), class("any", None)];
    classes.into_iter().chain([node("a", 4_000)]).for_each(|fact| world.fact(fact));
    for name in ["gpu", "nic", "any"] {
        world.add_claim(claim_of(name, name, Amount::Exactly(1)));
        world.add_pod(pod(name, 100, &[name]));
    }
    world.settle();
    assert_eq!(world.engine.counts().asleep, 3);
    world
}

#[test]
fn a_slice_wakes_those_that_may_get_its_devices() {
    let mut world = without_devices();
    let fact = |fact: Change| move |world: &mut World| world.fact(fact);
    // There are no devices in it yet, so that all of them go on waiting.
    let tried = tried_after(&mut world, fact(slice("a", "nic.example.com", &[], 1)));
    assert_eq!(tried, names(&["nic", "any"]));
    let tried = tried_after(&mut world, fact(slice("a", "other.example.com", &[], 1)));
    assert_eq!(tried, names(&["any"]));
    let tried = tried_after(&mut world, |world| world.fact(Change::SliceGone("a-nic.example.com".into())));
    assert_eq!(tried, names(&["nic", "any"]));
    let tried = tried_after(&mut world, fact(slice("a", "gpu.example.com", &["gpu-0"], 1)));
    assert_eq!((tried, world.node_of("gpu").as_deref()), (names(&["gpu", "any"]), Some("a")));
}

#[test]
fn a_class_wakes_whoever_waits_for_devices() {
    let mut world = without_devices();
    let tried = tried_after(&mut world, |world| world.fact(class("gpu", Some("nic.example.com"))));
    assert_eq!(tried, names(&["gpu", "nic", "any"]));
    // It is another driver now whose devices may be given to it.
    let tried = tried_after(&mut world, |world| world.fact(slice("a", "nic.example.com", &["nic-0"], 1)));
    assert!(tried.contains("gpu"), "{tried:?}");
}

#[test]
fn devices_that_are_given_back_wake_those_that_wait_for_the_driver() {
    let mut world = without_devices();
    for driver in ["gpu", "nic"] {
        world.fact(slice("a", &format!("{driver}.example.com"), &[driver], 1));
    }
    world.later(20);
    world.settle();
    // Now all devices are in use, by two of the three.
    assert_eq!(world.engine.counts().asleep, 1);
    for name in ["gpu", "nic"] {
        let later = format!("later-{name}");
        world.add_claim(claim_of(&later, name, Amount::Exactly(1)));
        world.add_pod(pod(&later, 100, &[&later]));
    }
    world.settle();
    let holder = if world.node_of("nic").is_some() { "nic" } else { "any" };
    let tried = tried_after(&mut world, |world| world.let_go(holder));
    assert!(tried.contains("later-nic") && !tried.contains("later-gpu"), "{tried:?}");
}

#[test]
fn an_error_about_devices_of_another_driver_is_undone_by_that_driver() {
    let mut world = world();
    [gpu_class(), node("a", 4_000)].into_iter().for_each(|fact| world.fact(fact));
    // Until all slices are there it is not known what all devices are.
    world.fact(slice("a", "nic.example.com", &["nic-0"], 2));
    world.fact(slice("a", "gpu.example.com", &["gpu-0"], 1));
    world.add_claim(claim_of("all", "gpu", Amount::All));
    world.add_pod(pod("p", 100, &["all"]));
    world.settle();
    assert_eq!(world.node_of("p"), None, "{:?}", world.told);
    let tried = tried_after(&mut world, |world| world.fact(slice("a", "nic.example.com", &["nic-0"], 1)));
    assert_eq!((tried, world.node_of("p").as_deref()), (names(&["p"]), Some("a")));
}

#[test]
fn a_claim_wakes_the_pods_that_wait_for_it_and_no_others() {
    let mut world = world();
    [gpu_class(), node("a", 4_000), gpus("a", &["gpu-0", "gpu-1"])]
        .into_iter()
        .for_each(|fact| world.fact(fact));
    for name in ["one", "two"] {
        world.add_claim(ClaimState { deleting: true, ..claim(name) });
        world.add_pod(pod(name, 100, &[name]));
    }
    world.settle();
    assert_eq!(world.engine.counts().asleep, 2, "{:?}", world.told);
    let tried = tried_after(&mut world, |world| {
        world.remove_claim("one");
        world.add_claim(ClaimState { uid: "uid-again".into(), ..claim("one") });
    });
    assert_eq!((tried, world.node_of("one").as_deref()), (names(&["one"]), Some("a")));
    assert_eq!(world.node_of("two"), None);
}

#[test]
fn who_shares_a_refusal_wakes_on_its_own_claim() {
    let mut world = world();
    [gpu_class(), node("a", 4_000)].into_iter().for_each(|fact| world.fact(fact));
    for name in ["one", "two", "three"] {
        world.add_claim(claim(name));
        world.add_pod(pod(name, 100, &[name]));
    }
    world.settle();
    assert_eq!(world.engine.counts().asleep, 3);
    let tried = tried_after(&mut world, |world| {
        world.claims.remove(&claim_id("two"));
        world.fact(Change::ClaimGone(claim_id("two")));
        world.add_claim(ClaimState { uid: "uid-again".into(), ..claim("two") });
    });
    assert_eq!(tried, names(&["two"]));
}

/// A node that pods can ask for by name, with room for so many pods.
fn named_node(name: &str, pods_max: i64, taint: bool) -> Change {
    let labels = BTreeMap::from([("name".into(), name.into())]);
    let allocatable = Resources { cpu_milli: 4_000, ..Resources::default() };
    let taint =
        taint.then(|| NodeTaint { key: "k".into(), value: "v".into(), effect: NodeTaintEffect::NoSchedule });
    let taints = taint.into_iter().collect();
    Change::NodeApplied(Box::new(Node {
        name: name.into(),
        labels,
        allocatable,
        pods_max,
        taints,
        ..Node::default()
    }))
}

/// A pod that wants this node.
fn picky(name: &str, node: &str) -> Pod {
    let plain = pod(name, 100, &[]);
    let node_labels = BTreeMap::from([("name".into(), node.into())]);
    let shape = Arc::new(Shape { node_labels, ..Shape::clone(&plain.shape) });
    Pod { shape, ..plain }
}

#[test]
fn a_node_wakes_those_that_wait_for_it() {
    let mut world = world();
    for name in ["a", "b"] {
        world.fact(named_node(name, 1, false));
        world.add_pod(picky(&format!("on-{name}"), name));
        world.settle();
        world.add_pod(picky(&format!("for-{name}"), name));
    }
    world.settle();
    assert_eq!(world.engine.counts().asleep, 2);
    let tried = tried_after(&mut world, |world| world.fact(named_node("a", 1, true)));
    assert_eq!(tried, names(&[]), "what is full is not less so with a taint");
    let tried = tried_after(&mut world, |world| world.remove_pod("on-b"));
    assert_eq!((tried, world.node_of("for-b").as_deref()), (names(&["for-b"]), Some("b")));
    let tried = tried_after(&mut world, |world| world.fact(named_node("b", 5, false)));
    assert_eq!(tried, names(&[]));
    let tried = tried_after(&mut world, |world| world.fact(named_node("a", 5, true)));
    assert_eq!(tried, names(&["for-a"]), "there would be room, but for the taint");
    let tried = tried_after(&mut world, |world| world.fact(named_node("a", 5, false)));
    assert_eq!((tried, world.node_of("for-a").as_deref()), (names(&["for-a"]), Some("a")));
}

#[test]
fn with_many_nodes_that_are_full_any_of_them_will_do() {
    let mut world = world();
    for number in 0..20 {
        world.fact(named_node(&format!("n{number}"), 1, false));
        world.add_pod(picky(&format!("p{number}"), &format!("n{number}")));
    }
    world.settle();
    world.add_pod(pod("waits", 100, &[]));
    let tried = tried_after(&mut world, |world| world.remove_pod("p17"));
    assert_eq!((tried, world.node_of("waits").as_deref()), (names(&["waits"]), Some("n17")));
}

#[test]
fn a_pod_that_is_bound_to_a_node_that_is_not_there_waits_for_that_node() {
    let mut world = world();
    [gpu_class(), node("a", 4_000)].into_iter().for_each(|fact| world.fact(fact));
    world.add_claim(claim("one"));
    world.add_pod(Pod { node: Some("b".into()), ..pod("p", 100, &["one"]) });
    let tried = tried_after(&mut world, |world| world.fact(node("c", 4_000)));
    assert_eq!(tried, names(&[]));
    let tried = tried_after(&mut world, |world| world.fact(node("b", 4_000)));
    assert_eq!(tried, names(&["p"]));
}

#[test]
fn a_gang_wakes_on_devices_of_the_drivers_that_its_members_may_get_devices_of() {
    let mut world = gang_world();
    [class("gpu", Some("gpu.example.com")), node_in("r", "a", 4_000)]
        .into_iter()
        .for_each(|fact| world.fact(fact));
    world.fact(slice("a", "gpu.example.com", &["gpu-0"], 1));
    world.fact(group(2, &[]));
    for name in ["one", "two"] {
        world.add_claim(claim(name));
        world.add_pod(member(name, 100, &[name]));
    }
    world.settle();
    assert_eq!(world.engine.counts().asleep, 1, "{:?}", world.told);
    let tried = tried_after(&mut world, |world| world.fact(slice("a", "nic.example.com", &["nic-0"], 1)));
    assert_eq!(tried, names(&[]));
    let tried = tried_after(&mut world, |world| world.add_claim(claim("another")));
    assert_eq!(tried, names(&[]));
    let devices = ["gpu-0", "gpu-1"];
    let tried = tried_after(&mut world, |world| world.fact(slice("a", "gpu.example.com", &devices, 1)));
    assert!(tried.contains("one") && tried.contains("two"), "{tried:?}");
    assert_eq!((world.node_of("one").as_deref(), world.node_of("two").as_deref()), (Some("a"), Some("a")));
}

#[test]
fn a_gang_that_could_not_be_judged_wakes_on_devices_of_any_driver() {
    let mut world = gang_world();
    [class("gpu", Some("gpu.example.com")), node_in("r", "a", 4_000)]
        .into_iter()
        .for_each(|fact| world.fact(fact));
    world.fact(slice("a", "nic.example.com", &["nic-0"], 2));
    world.fact(slice("a", "gpu.example.com", &["gpu-0", "gpu-1"], 1));
    world.fact(group(2, &[]));
    world.add_claim(claim_of("one", "gpu", Amount::All));
    world.add_pod(member("one", 100, &["one"]));
    world.add_pod(member("two", 100, &[]));
    world.settle();
    assert_eq!(world.node_of("one"), None);
    tried_after(&mut world, |world| world.fact(slice("a", "nic.example.com", &["nic-0"], 1)));
    assert_eq!((world.node_of("one").as_deref(), world.node_of("two").as_deref()), (Some("a"), Some("a")));
}

#[test]
fn a_gang_that_has_to_stay_in_a_rack_wakes_on_room_there() {
    let mut world = gang_world();
    for (rack, name) in [("r", "a"), ("r", "b"), ("s", "c"), ("s", "d")] {
        world.fact(node_in(rack, name, 1_000));
    }
    world.fact(group(2, &["rack"]));
    world.add_pod(member("one", 1_000, &[]));
    world.add_pod(member("two", 1_000, &[]));
    world.settle();
    let home = world.node_of("one").expect("it is placed");
    let (home, away) = if ["a", "b"].contains(&&*home) { ("r", "s") } else { ("s", "r") };
    // The other rack is full as well, and one more node comes to each, which is taken at once.
    for (rack, name) in [(home, "near"), (away, "far")] {
        world.fact(node_in(rack, name, 1_000));
        let plain = pod(name, 1_000, &[]);
        let shape =
            Shape { node_labels: [("host".into(), name.into())].into(), ..Shape::clone(&plain.shape) };
        world.add_pod(Pod { shape: Arc::new(shape), ..plain });
        world.settle();
    }
    world.add_pod(member("three", 1_000, &[]));
    world.settle();
    assert_eq!((world.node_of("three"), world.engine.counts().asleep), (None, 1), "{:?}", world.told);
    let tried = tried_after(&mut world, |world| world.remove_pod("far"));
    assert_eq!(tried, names(&[]));
    tried_after(&mut world, |world| world.remove_pod("near"));
    assert_eq!(world.node_of("three").as_deref(), Some("near"));
}
