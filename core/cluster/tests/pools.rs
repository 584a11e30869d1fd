//! Pools as a node sees them: what is put together, what is waited for, and what contradicts itself.
//!
//! Each test publishes slices and compares all pools of `node-1` as text, a line a pool.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::pools::{Contradiction, PoolView, Slices};
use cluster::published::Published;
use gates::{Gate, Gates};
use model::device::{CounterSet, Device, Draw, PoolId, Reach, Slice};
use model::node::{Node, NodeSelector, NodeTerm, Operator, Requirement};
use model::quantity::{Format, Quantity};
use selector::SliceRevision;

/// A slice of the pool `gpu/pool`, in its first generation and the only one, for `node-1`.
fn slice(name: &str) -> Slice {
    Slice {
        name: name.into(),
        pool: PoolId { driver: "gpu".into(), pool: "pool".into() },
        generation: 1,
        slices_in_pool: 1,
        reach: on("node-1"),
        devices: Vec::new(),
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    }
}

/// Says more about a slice.
trait Said: Sized {
    fn of(self, driver: &str, pool: &str) -> Self;
    fn generation(self, generation: i64) -> Self;
    fn among(self, slices_in_pool: i64) -> Self;
    fn reach(self, reach: Reach) -> Self;
    fn with(self, device: Device) -> Self;
    fn counting(self, set: &str, counters: &[&str]) -> Self;
}

impl Said for Slice {
    fn of(mut self, driver: &str, pool: &str) -> Self {
        self.pool = PoolId { driver: driver.into(), pool: pool.into() };
        self
    }

    fn generation(mut self, generation: i64) -> Self {
        self.generation = generation;
        self
    }

    fn among(mut self, slices_in_pool: i64) -> Self {
        self.slices_in_pool = slices_in_pool;
        self
    }

    fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    fn with(mut self, device: Device) -> Self {
        self.devices.push(device);
        self
    }

    fn counting(mut self, set: &str, counters: &[&str]) -> Self {
        let counters = counters.iter().map(|name| (Arc::from(*name), one())).collect();
        self.counter_sets.push(CounterSet { name: set.into(), counters });
        self
    }
}

fn one() -> Quantity {
    Quantity::new(1, Format::DecimalSi)
}

fn on(node: &str) -> Reach {
    Reach::Node(node.into())
}

fn device(name: &str) -> Device {
    Device { name: name.into(), ..Device::default() }
}

fn unprepared(name: &str) -> Device {
    let mut device = device(name);
    device.binding.conditions.push("attached".into());
    device
}

fn drawing(name: &str, set: &str, counter: &str) -> Device {
    let counters = BTreeMap::from([(counter.into(), one())]);
    let draw = Draw { counter_set: set.into(), counters, groups: Vec::new() };
    Device { draws: vec![draw], ..device(name) }
}

fn reached(name: &str, reach: Reach) -> Device {
    Device { reach, ..device(name) }
}

/// The nodes whose label `zone` is compared with a value.
fn zone(operator: Operator, value: &str) -> Reach {
    let requirement = Requirement { key: "zone".into(), operator, values: vec![value.into()] };
    let term = NodeTerm { fields: Vec::new(), labels: vec![requirement] };
    Reach::Matching(NodeSelector { terms: vec![term] })
}

/// The pools of `node-1`, which is in zone a; or why they cannot be told.
fn pools(slices: Vec<Slice>, gates: Gates) -> Result<Vec<PoolView>, String> {
    let labels = BTreeMap::from([("zone".into(), "a".into())]);
    let node = Node { name: "node-1".into(), labels, ..Node::default() };
    let published = slices.into_iter().enumerate().map(|(number, slice)| {
        Arc::new(Published::new(slice, SliceRevision { slice: number as u64, revision: 0 }))
    });
    Slices::new(published).pools_for(&node, gates).map_err(|error| error.to_string())
}

fn shown(view: &PoolView) -> String {
    let id = view.id();
    match view {
        PoolView::Gathering { seen, expected, .. } => format!("{id}: {seen} of {expected} slices"),
        PoolView::Contradictory { reason, .. } => format!("{id}: {reason}"),
        PoolView::Whole(pool) => {
            let names = |slices: &[Arc<Published>]| {
                slices.iter().map(|published| format!(" {}", published.slice.name)).collect::<String>()
            };
            let mut text = format!("{id}: here{}", names(&pool.here));
            for (part, slices) in [("elsewhere", &pool.elsewhere), ("counters", &pool.counters)] {
                if !slices.is_empty() {
                    text = format!("{text}, {part}{}", names(slices));
                }
            }
            text
        }
    }
}

fn check_with(gates: Gates, slices: impl IntoIterator<Item = Slice>, expected: &[&str]) {
    let pools = pools(slices.into_iter().collect(), gates).expect("every slice can be judged");
    assert_eq!(pools.iter().map(shown).collect::<Vec<_>>(), expected);
}

fn check(slices: impl IntoIterator<Item = Slice>, expected: &[&str]) {
    check_with(Gates::all_on(), slices, expected);
}

fn check_contradiction(slices: impl IntoIterator<Item = Slice>, expected: &Contradiction) {
    let pools = pools(slices.into_iter().collect(), Gates::all_on()).expect("every slice can be judged");
    let [PoolView::Contradictory { reason, .. }] = &pools[..] else { unreachable!("{pools:?}") };
    assert_eq!(reason, expected);
}

#[test]
fn without_slices_there_are_no_pools() {
    check([], &[]);
}

#[test]
fn a_pool_is_whole_once_all_of_its_slices_are_there() {
    check([slice("a")], &["gpu/pool: here a"]);
    check([slice("a").among(3)], &["gpu/pool: 1 of 3 slices"]);
    check([slice("a").among(3), slice("b").among(3)], &["gpu/pool: 2 of 3 slices"]);
    check(["a", "b", "c"].map(|name| slice(name).among(3)), &["gpu/pool: here a b c"]);
}

#[test]
fn a_pool_with_more_slices_than_it_says_is_not_whole_either() {
    check(["a", "b"].map(slice), &["gpu/pool: 2 of 1 slices"]);
}

#[test]
fn slices_come_by_name_however_they_arrived() {
    check(["c", "a", "b"].map(|name| slice(name).among(3)), &["gpu/pool: here a b c"]);
}

#[test]
fn pools_come_by_driver_and_name_however_they_arrived() {
    let slices = [slice("a").of("nic", "a"), slice("b").of("gpu", "z"), slice("c").of("gpu", "b")];
    check(slices, &["gpu/b: here c", "gpu/z: here b", "nic/a: here a"]);
}

#[test]
fn pools_with_devices_that_need_preparation_come_last_and_keep_their_order() {
    let slices = [
        slice("a").of("gpu", "a").with(device("x")).with(unprepared("y")),
        slice("b").of("gpu", "b").with(unprepared("x")),
        slice("c").of("gpu", "c").with(device("x")),
    ];
    check(slices, &["gpu/c: here c", "gpu/a: here a", "gpu/b: here b"]);
}

#[test]
fn what_needs_preparation_for_other_nodes_or_in_a_pool_that_gathers_moves_no_pool() {
    let slices = [
        slice("a").of("gpu", "a").among(2).with(unprepared("x")),
        slice("b").of("gpu", "b").among(2),
        slice("c").of("gpu", "b").among(2).reach(on("node-2")).with(unprepared("x")),
        slice("d").of("gpu", "c"),
    ];
    check(slices, &["gpu/a: 1 of 2 slices", "gpu/b: here b, elsewhere c", "gpu/c: here d"]);
}

#[test]
fn only_the_newest_generation_counts() {
    let slices = || [slice("a").among(2), slice("b").generation(2), slice("c").among(2)];
    check(slices(), &["gpu/pool: here b"]);
    check(slices().into_iter().rev(), &["gpu/pool: here b"]);
    check([slice("a"), slice("b").generation(2).among(2)], &["gpu/pool: 1 of 2 slices"]);
}

#[test]
fn a_pool_that_is_replaced_elsewhere_first_is_not_there_meanwhile() {
    let newer = || slice("b").generation(2).reach(on("node-2"));
    check([slice("a").among(2), newer()], &[]);
    check([newer(), slice("a").among(2)], &[]);
}

#[test]
fn a_pool_of_which_all_slices_are_here_is_used_without_a_look_elsewhere() {
    check([slice("a"), slice("b").generation(2).reach(on("node-2"))], &["gpu/pool: here a"]);
}

#[test]
fn slices_for_other_nodes_complete_a_pool() {
    let elsewhere = |name: &str| slice(name).among(3).reach(on("node-2"));
    check([slice("b").among(3), elsewhere("a")], &["gpu/pool: 2 of 3 slices"]);
    check([slice("b").among(3), elsewhere("a"), elsewhere("c")], &["gpu/pool: here b, elsewhere a c"]);
}

#[test]
fn a_pool_with_nothing_for_the_node_is_not_there() {
    check([slice("a").reach(on("node-2")), slice("b").of("gpu", "b").reach(Reach::Unsaid)], &[]);
}

#[test]
fn a_slice_is_for_the_nodes_that_it_says() {
    check([slice("a").reach(Reach::Everywhere)], &["gpu/pool: here a"]);
    check([slice("a").reach(zone(Operator::In, "a"))], &["gpu/pool: here a"]);
    check([slice("a").reach(zone(Operator::NotIn, "a"))], &[]);
}

#[test]
fn a_slice_that_leaves_it_to_devices_is_here_if_one_of_them_is() {
    let slice = |devices: &[Reach]| {
        let devices = devices.iter().enumerate();
        let devices = devices.map(|(at, reach)| reached(&format!("device-{at}"), reach.clone()));
        Slice { devices: devices.collect(), ..slice("a").reach(Reach::PerDevice) }
    };
    let (far, said_nothing) = (on("node-2"), Reach::Unsaid);
    for near in [on("node-1"), zone(Operator::In, "a"), Reach::Everywhere] {
        check([slice(&[far.clone(), near])], &["gpu/pool: here a"]);
    }
    check([slice(&[far, zone(Operator::In, "b"), said_nothing, Reach::PerDevice])], &[]);
    check([slice(&[])], &[]);
}

#[test]
fn what_a_device_says_about_nodes_counts_only_if_the_slice_leaves_it_to_devices() {
    check([slice("a").with(reached("x", on("node-2")))], &["gpu/pool: here a"]);
    check([slice("a").reach(on("node-2")).with(reached("x", on("node-1")))], &[]);
}

#[test]
fn nodes_that_are_picked_in_a_way_that_nobody_knows_are_an_error() {
    let unknown = || zone(Operator::Unknown("Like".into()), "a");
    let expected = "the requirement on zone is invalid: its operator is not known";
    let per_device = slice("a").reach(Reach::PerDevice).with(reached("x", unknown()));
    for slices in [vec![slice("a").reach(unknown())], vec![slice("b"), per_device]] {
        assert_eq!(pools(slices, Gates::all_on()).map(|pools| pools.len()), Err(expected.to_owned()));
    }
}

#[test]
fn counters_are_told_from_devices_wherever_they_are_published() {
    let devices = || slice("devices").among(2).with(drawing("x", "card", "memory"));
    let counters = |reach: Reach| slice("counters").among(2).reach(reach).counting("card", &["memory"]);
    for reach in [on("node-1"), on("node-2"), Reach::Everywhere, zone(Operator::In, "b")] {
        check([devices(), counters(reach)], &["gpu/pool: here devices, counters counters"]);
    }
}

#[test]
fn two_devices_of_one_name_contradict_each_other() {
    let twice = Contradiction::DeviceTwice("x".into());
    assert_eq!(twice.to_string(), "it has two devices of the name x");
    check_contradiction([slice("a").with(device("x")).with(device("x"))], &twice);
    check_contradiction(["a", "b"].map(|name| slice(name).among(2).with(device("x"))), &twice);
}

#[test]
fn a_name_may_be_used_again_for_another_node_or_in_another_pool() {
    let there = slice("b").among(2).reach(on("node-2")).with(device("x"));
    check([slice("a").among(2).with(device("x")), there], &["gpu/pool: here a, elsewhere b"]);
    let other = slice("b").of("gpu", "z").with(device("x"));
    check([slice("a").with(device("x")), other], &["gpu/pool: here a", "gpu/z: here b"]);
}

#[test]
fn two_counter_sets_of_one_name_contradict_each_other() {
    let twice = Contradiction::CounterSetTwice("card".into());
    assert_eq!(twice.to_string(), "it has two counter sets of the name card");
    check_contradiction([slice("a").counting("card", &[]).counting("card", &["memory"])], &twice);
    let there = slice("b").among(2).reach(on("node-2")).counting("card", &[]);
    check_contradiction([slice("a").among(2).counting("card", &[]), there], &twice);
}

#[test]
fn a_device_that_draws_on_no_counter_set_of_its_pool_is_a_contradiction() {
    let (device, counter_set) = ("x".into(), "card".into());
    let missing = Contradiction::NoSuchCounterSet { device, counter_set };
    assert_eq!(missing.to_string(), "device x draws on counter set card, which it does not have");
    let drawing = || slice("a").among(2).with(drawing("x", "card", "memory"));
    check_contradiction([drawing(), slice("b").among(2).counting("cards", &["memory"])], &missing);
    check_contradiction([drawing().reach(on("node-2")), slice("b").among(2)], &missing);
}

#[test]
fn a_device_that_draws_on_no_counter_of_its_set_is_a_contradiction() {
    let (device, counter_set, counter) = ("x".into(), "card".into(), "memory".into());
    let missing = Contradiction::NoSuchCounter { device, counter_set, counter };
    let sentence = "device x draws on counter memory of set card, which it does not have";
    assert_eq!(missing.to_string(), sentence);
    let drawing = slice("a").among(2).with(drawing("x", "card", "memory"));
    check_contradiction([drawing, slice("b").among(2).counting("card", &["cores"])], &missing);
}

#[test]
fn a_pool_that_gathers_is_not_judged_yet() {
    let twice = slice("a").among(2).with(device("x")).with(drawing("x", "card", "memory"));
    check([twice], &["gpu/pool: 1 of 2 slices"]);
}

#[test]
fn one_pool_that_cannot_be_used_leaves_the_others_as_they_are() {
    let slices = [
        slice("a").of("gpu", "a").with(device("x")).with(device("x")),
        slice("b").of("gpu", "b").among(2),
        slice("c").of("gpu", "c").with(device("x")),
    ];
    let twice = "gpu/a: it has two devices of the name x";
    check(slices, &[twice, "gpu/b: 1 of 2 slices", "gpu/c: here c"]);
}

#[test]
fn while_partitions_are_off_counters_mean_nothing() {
    let off = Gates::all_on().with(Gate::DRAPartitionableDevices, false);
    let drawing = || slice("a").with(drawing("x", "card", "memory"));
    check_with(off, [drawing()], &["gpu/pool: here a"]);
    let counters = slice("b").among(2).counting("card", &["memory"]).counting("card", &[]);
    check_with(off, [drawing().among(2), counters], &["gpu/pool: here a, elsewhere b"]);
    check_with(off, [slice("b").counting("card", &["memory"])], &[]);
}

#[test]
fn while_partitions_are_off_devices_cannot_say_for_which_nodes_they_are() {
    let off = Gates::all_on().with(Gate::DRAPartitionableDevices, false);
    let per_device = |reach: Reach| slice("a").reach(Reach::PerDevice).with(reached("x", reach));
    check_with(off, [per_device(on("node-1"))], &[]);
    // Not even what cannot be judged matters then.
    check_with(off, [per_device(zone(Operator::Unknown("Like".into()), "a"))], &[]);
}

#[test]
fn while_partitions_are_off_two_devices_of_one_name_are_still_a_contradiction() {
    let off = Gates::all_on().with(Gate::DRAPartitionableDevices, false);
    let twice = slice("a").with(device("x")).with(device("x"));
    check_with(off, [twice], &["gpu/pool: it has two devices of the name x"]);
}

#[test]
fn from_no_node_in_particular_a_pool_is_all_slices_of_its_newest_generation() {
    let slices = [
        slice("a").of("gpu", "two").among(2).with(device("x")),
        slice("b").of("gpu", "two").among(2).reach(on("node-2")).with(device("y")),
        slice("c").of("gpu", "one").with(device("x")),
        slice("d").of("gpu", "one").generation(2).among(2).reach(on("node-3")).with(device("x")),
    ];
    let published = slices.into_iter().enumerate().map(|(number, slice)| {
        Arc::new(Published::new(slice, SliceRevision { slice: number as u64, revision: 0 }))
    });
    let slices = Slices::new(published);
    let pools: Vec<_> = slices.pools(Gates::all_on()).collect();
    let told: Vec<String> =
        pools.iter().map(|(pool, newest)| format!("{}; {}", shown(pool), newest.len())).collect();
    assert_eq!(told, ["gpu/one: 1 of 2 slices; 1", "gpu/two: here a b; 2"]);
}
