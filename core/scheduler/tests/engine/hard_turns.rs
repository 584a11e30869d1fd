//! What is hard to decide: it is not called impossible unless it is, and others do not wait for it.

use std::sync::Arc;

use cluster::change::Change;
use cluster::claims::ClaimState;
use cluster::published::Published;
use decisions::settings::Settings;
use gates::{Gate, Gates};
use model::claim::{Amount, Claim, ClaimSpec, Class, Constraint, Request, Rule, Wish};
use model::device::{Attribute, Device, NodeShare, Part, PoolId, Reach, Slice};
use model::pod::Pod;
use scheduler::engine::Engine;
use selector::SliceRevision;

use crate::gangs::{gang_settings, group, member};
use crate::turmoil::Dice;
use crate::world::{World, claim, gpu_class, gpus, node, pod, settings, world};

/// How much work may be done for one pod or gang. It is less than usual, so that tests do not take long.
const WORK_MAX: u64 = 30_000_000;

/// Seats that were found may be handed out besides, and what was begun is done to the end.
const WORK_DONE_MAX: u64 = WORK_MAX * 3 / 2;

/// A slice of one device that many nodes reach.
fn shared(driver: &str) -> Slice {
    Slice {
        name: "shared".into(),
        pool: PoolId { driver: driver.into(), pool: "shared".into() },
        generation: 1,
        slices_in_pool: 1,
        reach: Reach::Everywhere,
        devices: vec![Device { name: "shared-0".into(), ..Device::default() }],
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    }
}

fn applied(slice: Slice) -> Change {
    Change::SliceApplied(Arc::new(Published::new(slice, SliceRevision { slice: u64::MAX, revision: 1 })))
}

fn other_class() -> Change {
    let selector = "device.driver == \"other.example.com\"".into();
    Change::ClassApplied(Class { name: "other".into(), selectors: vec![Some(selector)], ..Class::default() })
}

/// A gang that wants a device for each of its members, on nodes that have two each.
fn gang(settings: Settings, nodes: usize, members: usize, more: Option<Slice>) -> World {
    let engine = Engine::new(settings).with_work_max(WORK_MAX);
    let mut world = World { engine, ..world() };
    world.fact(gpu_class());
    world.fact(other_class());
    for number in 0..nodes {
        let name = format!("n{number}");
        world.fact(node(&name, 64_000));
        world.fact(gpus(&name, &[&format!("{name}-0"), &format!("{name}-1")]));
    }
    more.into_iter().for_each(|slice| world.fact(applied(slice)));
    world.fact(group(members as u32, &[]));
    for number in 0..members {
        let own = format!("own-{number}");
        world.add_claim(claim(&own));
        world.add_pod(member(&format!("m{number}"), 100, &[&own]));
    }
    world.turn();
    world
}

/// How much work it was to decide, at once or while others had their turns.
fn work(world: &World) -> u64 {
    world.considered.iter().copied().max().unwrap_or(0).max(world.work_max)
}

/// How much work it was to decide, once all members have seats.
#[track_caller]
fn work_to_seat(mut world: World, members: usize) -> u64 {
    let work = work(&world);
    world.settle();
    let seated = (0..members).filter(|number| world.node_of(&format!("m{number}")).is_some()).count();
    assert_eq!(seated, members, "{:?}", world.told.last());
    work
}

#[test]
fn a_shared_pool_of_another_driver_makes_no_gang_harder() {
    let alone = work_to_seat(gang(gang_settings(), 48, 63, None), 63);
    let beside = work_to_seat(gang(gang_settings(), 48, 63, Some(shared("other.example.com"))), 63);
    // There is one device more to look at.
    assert!(beside < alone * 11 / 10, "{beside} and {alone}");
}

#[test]
fn a_gang_beside_a_shared_pool_of_its_own_driver_is_decided_in_time() {
    // There are 97 devices, of which one is the shared pool's.
    for members in [63, 96, 97, 98, 100] {
        let mut world = gang(gang_settings(), 48, members, Some(shared("gpu.example.com")));
        assert!(work(&world) < WORK_DONE_MAX, "{members}: {}", work(&world));
        world.settle();
        let seated = (0..members).filter(|number| world.node_of(&format!("m{number}")).is_some()).count();
        assert_eq!(seated, if members <= 97 { members } else { 0 }, "{members}: {:?}", world.told.last());
        if members > 97 {
            let told = world.told.iter().find(|line| line.starts_with("m0: pod group is unschedulable"));
            let told = told.expect("it is said why");
            assert!(!told.contains("search limit"), "{told}");
        }
    }
}

#[test]
fn a_gang_that_is_hard_to_seat_beside_a_shared_pool_is_left_open_in_time() {
    // Each node has room for one that wants three devices, or for two that want two, and one node is missing. Sums do not show it.
    let engine = Engine::new(gang_settings()).with_work_max(WORK_MAX);
    let mut world = World { engine, ..world() };
    world.fact(gpu_class());
    for number in 0..24 {
        let name = format!("n{number}");
        let cards: Vec<String> = (0..4).map(|card| format!("{name}-{card}")).collect();
        world.fact(node(&name, 64_000));
        world.fact(gpus(&name, &cards.iter().map(|card| &**card).collect::<Vec<_>>()));
    }
    world.fact(applied(shared("gpu.example.com")));
    world.fact(group(33, &[]));
    for number in 0..33 {
        let own = format!("own-{number}");
        let mut state = claim(&own);
        let mut wish = Claim::clone(&state.wish);
        if let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish {
            ask.amount = Amount::Exactly(if number < 17 { 3 } else { 2 });
        }
        state.wish = Arc::new(wish);
        world.add_claim(state);
        world.add_pod(member(&format!("m{number}"), 100, &[&own]));
    }
    world.turn();
    assert!(work(&world) < WORK_DONE_MAX, "{}", work(&world));
    let told = "m0: pod group is unschedulable, the search limit was reached before a placement was found or \
        excluded; the closest: ";
    assert!(world.told.iter().any(|line| line.starts_with(told)), "{:?}", world.told.last());
}

/// Devices of a driver that are a part of what their node has.
fn parts(driver: &str, node: &str) -> Slice {
    let share =
        NodeShare { part: Some(Part::Device("1".parse().expect("a number"))), ..NodeShare::default() };
    let device = Device { node_resources: [("cpu".into(), share)].into(), ..Device::default() };
    let devices = vec![Device { name: "part-0".into(), ..device }];
    Slice { reach: Reach::Node(node.into()), devices, ..shared(driver) }
}

#[test]
fn devices_that_take_of_nodes_make_only_those_gangs_harder_that_could_have_them() {
    let gates = gang_settings().gates.with(Gate::DRANodeAllocatableResources, true);
    let settings = || Settings { gates, ..gang_settings() };
    let alone = work_to_seat(gang(gang_settings(), 8, 12, None), 12);
    assert_eq!(work_to_seat(gang(settings(), 8, 12, None), 12), alone);
    let others = Some(parts("other.example.com", "n0"));
    let beside = work_to_seat(gang(settings(), 8, 12, others), 12);
    assert!(beside < alone * 11 / 10, "{beside} and {alone}");
    let own = Some(parts("gpu.example.com", "n0"));
    let harder = work_to_seat(gang(settings(), 8, 12, own), 12);
    assert!(harder > alone * 11 / 10, "{harder} and {alone}");
}

/// A claim that wants devices of which many pairs agree in an attribute.
pub fn hard_claim(name: &str) -> ClaimState {
    let mut dice = Dice(3);
    let mut state = claim(name);
    let Wish::Exactly(ask) = state.wish.spec.requests[0].wish.clone() else {
        unreachable!("it asks for one device")
    };
    let name = |at: u64| -> Arc<str> { format!("r{at}").into() };
    let request = |at: u64| Request { name: name(at), wish: Wish::Exactly(ask.clone()) };
    let mut pair = || {
        let first = dice.below(24);
        let second = (first + 1 + dice.below(23)) % 24;
        let attribute = format!("gpu.example.com/a{}", dice.below(6)).into();
        Constraint { requests: vec![name(first).into(), name(second).into()], rule: Rule::Match(attribute) }
    };
    let constraints = (0..54).map(|_| pair()).collect();
    let requests = (0..24).map(request).collect();
    state.wish = Arc::new(Claim {
        id: state.wish.id.clone(),
        spec: ClaimSpec { requests, constraints, ..ClaimSpec::default() },
    });
    state
}

/// A node whose devices differ in many attributes, or in none.
pub fn various(world: &mut World, name: &str, values: u64) {
    let mut dice = Dice(name.bytes().map(u64::from).sum());
    let device = |at: usize, dice: &mut Dice| {
        let attributes = (0..6)
            .map(|attribute| (format!("a{attribute}").into(), Attribute::Int(dice.below(values) as i64)));
        Device { name: format!("gpu-{at}").into(), attributes: attributes.collect(), ..Device::default() }
    };
    let slice = Slice {
        name: name.into(),
        pool: PoolId { driver: "gpu.example.com".into(), pool: name.into() },
        reach: Reach::Node(name.into()),
        devices: (0..96).map(|at| device(at, &mut dice)).collect(),
        ..shared("gpu.example.com")
    };
    let revision = SliceRevision { slice: name.bytes().map(u64::from).sum(), revision: values };
    world.fact(node(name, 64_000));
    world.fact(Change::SliceApplied(Arc::new(Published::new(slice, revision))));
}

/// A world in which searches for devices have no bound of their own.
fn hard_world() -> World {
    let settings = Settings { search_steps_max: u64::MAX, gates: Gates::default(), ..settings() };
    let engine = Engine::new(settings).with_work_max(WORK_MAX);
    let mut world = World { engine, ..world() };
    world.fact(gpu_class());
    world
}

/// Gives turns until no pod wants one, with what is considered between them, and says how much work the longest turn was.
fn turns(world: &mut World) -> u64 {
    let mut count = 0;
    world.work_max = 0;
    world.holds_considerations = true;
    while world.engine.wants_turn(world.now) || !world.to_consider.is_empty() {
        world.turn();
        world.consider_all();
        count += 1;
        assert!(count < 1_000, "the search does not end");
    }
    world.holds_considerations = false;
    world.work_max
}

/// A world in which as much work is done for a pod as usual, and a pod that cannot be decided in one turn.
pub fn sliced_world(values: u64) -> World {
    let settings = Settings { search_steps_max: u64::MAX, gates: Gates::default(), ..settings() };
    let mut world = World { engine: Engine::new(settings).with_work_max(150_000_000), ..world() };
    world.fact(gpu_class());
    ["a", "b"].iter().for_each(|name| various(&mut world, name, values));
    world.add_claim(hard_claim("hard"));
    world.add_pod(Pod { priority: 10, ..pod("hard", 100, &["hard"]) });
    world
}

/// What is done in one turn before it is left to a consideration: a slice, and what was begun in it.
pub const SLICE_MAX: u64 = 4_500_000;

#[test]
fn a_pod_with_a_hard_claim_does_not_hold_up_others() {
    let mut world = hard_world();
    ["a", "b", "c"].iter().for_each(|name| various(&mut world, name, 9));
    world.add_claim(hard_claim("hard"));
    world.add_pod(pod("hard", 100, &["hard"]));
    let most = turns(&mut world);
    assert!(most < SLICE_MAX, "{most}");
    let told = "hard: 0/3 nodes are available: 3 reached the search limit for devices. On node a, the search limit \
        was reached before devices were found or excluded.";
    assert!(world.told.iter().any(|line| line.starts_with(told)), "{:?}", world.told);
    // What happens wakes it, but others have their turns first, also those that come later.
    let before = world.told.len();
    for number in 0..3 {
        let name = format!("easy-{number}");
        world.add_claim(claim(&name));
        world.add_pod(pod(&name, 100, &[&name]));
        world.settle();
        assert!(world.node_of(&name).is_some(), "{name}");
    }
    assert!(
        !world.told[before..].iter().any(|line| line.starts_with("hard: ")),
        "{:?}",
        &world.told[before..]
    );
    world.later(2);
    turns(&mut world);
    assert!(world.told[before..].iter().any(|line| line.starts_with("hard: ")), "it is tried again");
}

#[test]
fn one_node_on_which_it_is_easy_is_found_among_hard_ones() {
    let mut world = hard_world();
    ["a", "b", "c", "d", "e"].iter().for_each(|name| various(&mut world, name, 9));
    various(&mut world, "easy", 1);
    world.add_claim(hard_claim("hard"));
    world.add_pod(pod("hard", 100, &["hard"]));
    world.settle();
    assert_eq!(world.node_of("hard").as_deref(), Some("easy"), "{:?}", world.told.last());
}
