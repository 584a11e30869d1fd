//! Each way to skip branches is needed: without it, a question takes many times as many steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::ledger::Ledger;
use cluster::pools::Slices;
use cluster::published::Published;
use gates::Gates;
use model::claim::{Amount, Ask, Claim, ClaimId, ClaimSpec, Class, Constraint, Request, Rule, Wish};
use model::device::{Attribute, CounterSet, Device, DeviceId, Draw, PoolId, Reach, Slice};
use model::node::Node;
use model::quantity::{Format, Quantity};
use selector::SliceRevision;

use super::cuts::{Cut, Cuts};
use super::{Miss, Outcome, solve_with};
use crate::expressions::Expressions;
use crate::{Asked, DeviceOrder, Question, parse};

/// A node with one pool per class: devices of class `gpu` have the driver `gpu`.
#[derive(Default)]
struct World {
    devices: BTreeMap<&'static str, Vec<Device>>,
    counters: Vec<CounterSet>,
    claims: Vec<Claim>,
}

fn amount(value: i64) -> Quantity {
    Quantity::new(value, Format::DecimalSi)
}

/// A device with whole-number attributes.
fn device(name: &str, attributes: &[(&str, i64)]) -> Device {
    let attributes = attributes.iter().map(|(name, value)| (Arc::from(*name), Attribute::Int(*value)));
    Device { name: name.into(), attributes: attributes.collect(), ..Device::default() }
}

/// The same device, drawing on a counter set.
fn drawing(mut device: Device, set: &str, slices: i64, groups: &[&str]) -> Device {
    device.draws.push(Draw {
        counter_set: set.into(),
        counters: BTreeMap::from([("slices".into(), amount(slices))]),
        groups: groups.iter().map(|group| Arc::from(*group)).collect(),
    });
    device
}

/// Counters of one each, by number.
fn places(numbers: std::ops::Range<i64>) -> BTreeMap<Arc<str>, Quantity> {
    numbers.map(|number| (format!("place-{number}").into(), amount(1))).collect()
}

/// A request for devices of a class.
fn request(name: &str, class: &str, count: i64) -> Request {
    let ask = Ask {
        class: class.into(),
        selectors: Vec::new(),
        amount: Amount::Exactly(count),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    };
    Request { name: name.into(), wish: Wish::Exactly(ask) }
}

/// The request narrowed by a selector.
fn picking(mut request: Request, selector: &str) -> Request {
    if let Wish::Exactly(ask) = &mut request.wish {
        ask.selectors.push(Some(selector.into()));
    }
    request
}

fn matching(attribute: &str) -> Constraint {
    Constraint { requests: Vec::new(), rule: Rule::Match(attribute.into()) }
}

impl World {
    fn devices(mut self, driver: &'static str, devices: impl IntoIterator<Item = Device>) -> World {
        self.devices.entry(driver).or_default().extend(devices);
        self
    }

    fn counter_set(mut self, name: &str, slices: i64) -> World {
        let counters = BTreeMap::from([("slices".into(), amount(slices))]);
        self.counters.push(CounterSet { name: name.into(), counters });
        self
    }

    fn claim(
        mut self,
        requests: impl IntoIterator<Item = Request>,
        constraints: impl IntoIterator<Item = Constraint>,
    ) -> World {
        let name = format!("claim-{}", self.claims.len()).into();
        self.claims.push(Claim {
            id: ClaimId { namespace: "default".into(), name },
            spec: ClaimSpec {
                requests: requests.into_iter().collect(),
                constraints: constraints.into_iter().collect(),
                configs: Vec::new(),
            },
        });
        self
    }

    fn published(&self) -> Vec<Arc<Published>> {
        let node = Reach::Node("node".into());
        let mut slices = Vec::new();
        let sets = if self.counters.is_empty() { 0 } else { 1 };
        for (driver, devices) in &self.devices {
            let slice = |name: &str, devices: Vec<Device>, counter_sets: Vec<CounterSet>| Slice {
                name: format!("{driver}-{name}").into(),
                pool: PoolId { driver: (*driver).into(), pool: "pool".into() },
                generation: 1,
                slices_in_pool: 1 + sets,
                reach: node.clone(),
                devices,
                counter_sets,
                skip_node_operations: Vec::new(),
            };
            slices.push(slice("devices", devices.clone(), Vec::new()));
            if sets > 0 {
                slices.push(slice("counters", Vec::new(), self.counters.clone()));
            }
        }
        let revision = |slice: usize| SliceRevision { slice: slice as u64, revision: 0 };
        slices
            .into_iter()
            .enumerate()
            .map(|(at, slice)| Arc::new(Published::new(slice, revision(at))))
            .collect()
    }

    /// How many steps a search takes, and whether it finds devices; at most `budget`.
    fn steps(&self, cuts: Cuts, budget: u64) -> (u64, Option<bool>) {
        let (steps, outcome, _) = self.search(cuts, budget);
        (steps, outcome)
    }

    /// The request that goes short, and how many devices it could have.
    fn short(&self, cuts: Cuts) -> Option<(String, usize)> {
        self.search(cuts, 10).2
    }

    /// The steps, whether devices were found, and which request went short.
    fn search(&self, cuts: Cuts, budget: u64) -> (u64, Option<bool>, Option<(String, usize)>) {
        let node = Node { name: "node".into(), ..Node::default() };
        let gates = Gates::all_on();
        let pools = Slices::new(self.published()).pools_for(&node, gates).expect("no selector");
        let class = |name: &&'static str| {
            let selector = format!("device.driver == \"{name}\"").into();
            let class = Class { name: (*name).into(), selectors: vec![Some(selector)], ..Class::default() };
            (class.name.clone(), class)
        };
        let question = Question {
            node: &node,
            pools: &pools,
            claims: &self.claims.iter().map(Asked::from).collect::<Vec<_>>(),
            classes: &self.devices.keys().map(class).collect(),
            ledger: &Ledger::default(),
            gates,
            order: DeviceOrder::Upstream,
            budget,
        };
        let problem = parse::parse(&question, &mut Expressions::default()).expect("it can be judged");
        let finding = solve_with(&problem, budget, u64::MAX, cuts).expect("no device ends the search");
        let named = |miss: Miss| (problem.alternatives[miss.alternative].name.to_string(), miss.found);
        let (found, short) = match finding.outcome {
            Outcome::Found(_) => (Some(true), None),
            Outcome::Impossible(miss) => (Some(false), miss.map(named)),
            Outcome::Spent => (None, None),
        };
        (finding.steps, found, short)
    }
}

/// With this cut and those that it builds on the answer takes at most `limit` steps; without it, more than ten times as
/// many. With all cuts it is the same answer.
fn needs(cut: Cut, others: &[Cut], world: &World, limit: u64) {
    let with: Vec<Cut> = others.iter().copied().chain([cut]).collect();
    let (steps, found) = world.steps(Cuts::only(&with), limit * 10);
    assert!(found.is_some() && steps <= limit, "{steps} steps to {found:?}, and {limit} were expected");
    let (without, _) = world.steps(Cuts::only(others), limit * 10);
    assert!(without > limit * 10, "without {cut:?} it takes {without} steps only, with it {steps}");
    let (all, same) = world.steps(Cuts::ALL, limit);
    assert!(same == found, "with all cuts {all} steps to {same:?}, with one {found:?}");
}

/// Devices that no two requests see alike: each has a number of its own.
fn distinct(prefix: &str, count: i64) -> Vec<Device> {
    (0..count)
        .map(|at| device(&format!("{prefix}-{at}"), &[("left", 100 + at), ("right", 100 + at)]))
        .collect()
}

/// Two devices of these are never equal in both attributes, though in each alone.
fn crossed() -> Vec<Device> {
    let values = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let named = values.iter().enumerate();
    named
        .map(|(at, (left, right))| device(&format!("x-{at}"), &[("left", *left), ("right", *right)]))
        .collect()
}

/// A claim that nothing but trying shows to be impossible.
fn hidden_contradiction(world: World) -> World {
    let constraints = [matching("nic/left"), matching("nic/right")];
    world.devices("nic", crossed()).claim([request("pair", "nic", 2)], constraints)
}

fn singles(class: &str, count: usize) -> Vec<Request> {
    (0..count).map(|at| request(&format!("r{at}"), class, 1)).collect()
}

#[test]
fn states_that_failed_are_not_tried_again() {
    // The devices differ in what the last claim compares, so the order in which the others take them seems to matter.
    let mut gpus = distinct("gpu", 7);
    gpus.iter_mut().for_each(|gpu| {
        gpu.attributes = gpu
            .attributes
            .iter()
            .map(|(name, value)| (format!("nic/{name}").into(), value.clone()))
            .collect();
    });
    let world = World::default().devices("gpu", gpus).claim(singles("gpu", 5), []);
    needs(Cut::FailedStates, &[], &hidden_contradiction(world), 850);
}

#[test]
fn one_of_equal_devices_stands_for_all() {
    let gpus = (0..40).map(|at| device(&format!("gpu-{at}"), &[]));
    let world = World::default().devices("gpu", gpus).claim(singles("gpu", 5), []);
    needs(Cut::EqualDevices, &[], &hidden_contradiction(world), 15);
}

#[test]
fn one_of_equal_counter_sets_stands_for_all() {
    let partition = |set: usize| {
        let set = format!("gpu-{set}");
        let part = |at: i64| drawing(device(&format!("{set}-part-{at}"), &[]), &set, 1, &[]);
        (0..2).map(part).collect::<Vec<_>>()
    };
    let world = (0..12).fold(World::default(), |world, set| world.counter_set(&format!("gpu-{set}"), 4));
    let world = world.devices("gpu", (0..12).flat_map(partition)).claim(singles("gpu", 4), []);
    needs(Cut::EqualSets, &[Cut::EqualDevices], &hidden_contradiction(world), 50);
}

#[test]
fn a_request_without_candidates_is_seen_from_afar() {
    let world = World::default().devices("gpu", distinct("gpu", 8)).devices("nic", crossed());
    let far = picking(request("far", "nic", 1), "device.attributes[\"nic\"].left == 7");
    let claims = world.claim(singles("gpu", 6), []).claim([far], []);
    needs(Cut::Candidates, &[], &claims, 1);
}

#[test]
fn requests_that_need_the_same_devices_are_counted_together() {
    let world = World::default().devices("gpu", distinct("gpu", 9));
    needs(Cut::Together, &[], &world.claim(singles("gpu", 10), []), 1);
}

#[test]
fn a_value_that_too_few_devices_have_is_seen_before_one_is_taken() {
    let gpus = (0..60).map(|at| device(&format!("gpu-{at}"), &[("numa", at / 3)]));
    let world =
        World::default().devices("gpu", gpus).claim([request("four", "gpu", 4)], [matching("gpu/numa")]);
    needs(Cut::Match, &[], &world, 1);
}

#[test]
fn devices_that_must_differ_need_as_many_values() {
    let gpus = (0..12).map(|at| device(&format!("gpu-{at}"), &[("rail", at / 3), ("serial", at)]));
    let rule = Rule::Distinct("gpu/rail".into());
    let unlike = Constraint { requests: vec!["five".into()], rule };
    let serial = Constraint { requests: vec!["five".into()], rule: Rule::Distinct("gpu/serial".into()) };
    let world = World::default().devices("gpu", gpus).claim([request("five", "gpu", 5)], [unlike, serial]);
    needs(Cut::Distinct, &[], &world, 1);
}

/// Three sets with seven partitions each, of which five fit.
fn crowded() -> World {
    let partition = |set: usize| {
        let set = format!("gpu-{set}");
        let part = |at: i64| drawing(device(&format!("{set}-part-{at}"), &[("serial", at)]), &set, 1, &[]);
        (0..7).map(part).collect::<Vec<_>>()
    };
    let world = (0..3).fold(World::default(), |world, set| world.counter_set(&format!("gpu-{set}"), 5));
    world.devices("gpu", (0..3).flat_map(partition))
}

#[test]
fn counters_bound_how_many_devices_fit() {
    let world = crowded().claim([request("many", "gpu", 16)], []);
    needs(Cut::Counters, &[], &world, 1);
}

#[test]
fn counters_bound_all_requests_together() {
    let world = crowded().claim((0..4).map(|at| request(&format!("r{at}"), "gpu", 4)), []);
    needs(Cut::Pools, &[], &world, 1);
}

#[test]
fn what_no_wanted_device_draws_on_is_of_no_use() {
    let world = crowded().counter_set("idle", 100);
    let world = world.claim((0..4).map(|at| request(&format!("r{at}"), "gpu", 4)), []);
    needs(Cut::Pools, &[], &world, 1);
}

/// Three sets of five slices. A partition draws two, so that two fit on each and one slice is left over.
fn with_remainders() -> World {
    let partition = |set: usize| {
        let set = format!("gpu-{set}");
        let part = |at: i64| drawing(device(&format!("{set}-part-{at}"), &[("serial", at)]), &set, 2, &[]);
        (0..5).map(part).collect::<Vec<_>>()
    };
    let world = (0..3).fold(World::default(), |world, set| world.counter_set(&format!("gpu-{set}"), 5));
    let world = world.devices("gpu", (0..3).flat_map(partition));
    world.claim([request("four", "gpu", 4), request("three", "gpu", 3)], [])
}

#[test]
fn what_is_left_over_in_several_sets_is_not_put_together() {
    needs(Cut::Sets, &[Cut::Counters, Cut::Pools], &with_remainders(), 1);
}

/// Three sets of four places each, which halves and quarters take. No counter is drawn on by all devices of a size.
fn in_places() -> World {
    let partitions = |set: usize| {
        let part = move |size: i64, at: i64| {
            let mut part = device(&format!("gpu-{set}-{size}-{at}"), &[("size", size)]);
            let counter_set = format!("gpu-{set}").into();
            part.draws.push(Draw { counter_set, counters: places(at..at + size), groups: Vec::new() });
            part
        };
        [part(2, 0), part(2, 2)].into_iter().chain((0..4).map(move |at| part(1, at)))
    };
    let mut world = World::default().devices("gpu", (0..3).flat_map(partitions));
    let set = |set: usize| CounterSet { name: format!("gpu-{set}").into(), counters: places(0..4) };
    world.counters.extend((0..3).map(set));
    let of = |name: &str, size: i64, count: i64| {
        picking(request(name, "gpu", count), &format!("device.attributes[\"gpu\"].size == {size}"))
    };
    world.claim([of("halves", 2, 4), of("quarters", 1, 5)], [])
}

#[test]
fn counters_with_room_for_one_device_are_counted_as_places() {
    needs(Cut::Places, &[Cut::Counters, Cut::Sets, Cut::Pools], &in_places(), 1);
}

#[test]
fn the_request_that_goes_short_of_counters_is_told_with_what_it_could_have() {
    let check = |cut: Cut, world: &World, name: &str, found: usize| {
        assert_eq!(world.short(Cuts::only(&[cut])), Some((name.to_owned(), found)), "{cut:?}");
    };
    check(Cut::Sets, &with_remainders(), "three", 2);
    check(Cut::Places, &in_places(), "quarters", 4);
    let each_four = crowded().claim((0..4).map(|at| request(&format!("r{at}"), "gpu", 4)), []);
    check(Cut::Pools, &each_four, "r3", 3);
    check(Cut::Sets, &each_four, "r3", 3);
}

/// A claim for the first of two devices, for some others that do not matter, and for the second.
fn around_others(first: Device, second: Device) -> World {
    let of = |name: &str, part: i64| {
        picking(request(name, "gpu", 1), &format!("device.attributes[\"gpu\"].part == {part}"))
    };
    let requests = [of("first", 0)].into_iter().chain(singles("nic", 5)).chain([of("second", 1)]);
    let world = World::default().counter_set("card", 2).devices("gpu", [first, second]);
    world.devices("nic", distinct("nic", 8)).claim(requests, [])
}

#[test]
fn counters_that_are_spent_close_their_devices() {
    let whole = drawing(device("whole", &[("part", 0)]), "card", 2, &[]);
    let half = drawing(device("half", &[("part", 1)]), "card", 1, &[]);
    needs(Cut::Left, &[Cut::Candidates], &around_others(whole, half), 3);
}

#[test]
fn groups_that_hold_a_set_close_other_devices() {
    let mig = drawing(device("mig", &[("part", 0)]), "card", 1, &["mig"]);
    let vgpu = drawing(device("vgpu", &[("part", 1)]), "card", 1, &["vgpu"]);
    needs(Cut::Groups, &[Cut::Candidates], &around_others(mig, vgpu), 3);
}

#[test]
fn a_device_that_would_make_room_by_being_taken_is_not_given() {
    let odd = drawing(device("odd", &[]), "card", -1, &[]);
    let world = World::default().counter_set("card", 2).devices("gpu", [odd]);
    assert_eq!(world.claim(singles("gpu", 1), []).steps(Cuts::ALL, 10).1, Some(false));
}

#[test]
fn devices_that_are_left_out_are_not_given_and_draw_nothing() {
    let id = |name: &str| DeviceId { driver: "gpu".into(), pool: "pool".into(), device: name.into() };
    let without = |names: &[&str]| Constraint {
        requests: Vec::new(),
        rule: Rule::Without(names.iter().map(|name| id(name)).collect()),
    };
    let parts = || {
        let whole = drawing(device("whole", &[]), "set", 2, &[]);
        let halves = ["left", "right"].map(|name| drawing(device(name, &[]), "set", 1, &[]));
        World::default().counter_set("set", 2).devices("gpu", [whole]).devices("gpu", halves)
    };
    let found = |world: World| world.steps(Cuts::ALL, 100).1;
    // What is left out would have taken all of the counter if it were held.
    assert_eq!(found(parts().claim([request("two", "gpu", 2)], [without(&["whole"])])), Some(true));
    assert_eq!(found(parts().claim([request("two", "gpu", 2)], [without(&["whole", "left"])])), Some(false));
    let all = |names: &[&str]| {
        let mut all = request("all", "gpu", 0);
        if let Wish::Exactly(ask) = &mut all.wish {
            ask.amount = Amount::All;
        }
        let cards = [device("a", &[]), device("b", &[])];
        World::default().devices("gpu", cards).claim([all], [without(names)])
    };
    assert_eq!(found(all(&["c"])), Some(true));
    assert_eq!(found(all(&["b"])), Some(false), "who wants all wants this one too");
}
