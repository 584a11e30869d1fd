//! What is said and written while drivers' controllers give nothing that suits: what is lacking, once, and then little.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::pod::PodId;

use crate::negotiation::{DRIVER, class, lent, negotiating, wanting};
use crate::world::{World, claim_id, node, pod};

const NIC: &str = "nic.example.com";
const DRIVERS: [&str; 2] = [DRIVER, NIC];
const NODES: usize = 6;

/// So many pods, each of which wants something of each of two drivers, on six nodes.
fn askers(pods: usize) -> World {
    let mut world = negotiating();
    world.fact(class("nic", NIC, None));
    (0..NODES).for_each(|at| world.fact(node(&format!("n{at}"), 64_000)));
    for at in 0..pods {
        let names = [0, 1].map(|driver| claim_name(driver, at));
        world.add_claim(lent(&names[0]));
        world.add_claim(wanting(&names[1], "nic"));
        world.add_pod(pod(&format!("p{at}"), 100, &[&names[0], &names[1]]));
    }
    world
}

fn claim_name(driver: usize, pod: usize) -> String {
    format!("{}{pod}", ["f", "i"][driver])
}

/// Drivers with devices on these nodes each, of which they say truly which claim can have one where, and give what they are asked for.
struct Drivers {
    free: [BTreeMap<String, usize>; 2],
    /// By driver and pod, the node of what it has.
    given: BTreeMap<(usize, usize), String>,
}

impl Drivers {
    fn new(first: &[(&str, usize)], second: &[(&str, usize)]) -> Drivers {
        let of = |devices: &[(&str, usize)]| {
            devices.iter().map(|(node, count)| ((*node).into(), *count)).collect()
        };
        Drivers { free: [of(first), of(second)], given: BTreeMap::new() }
    }

    /// Each driver looks at each pod once.
    fn look(&mut self, world: &mut World, pods: usize) {
        for at in 0..pods {
            for driver in 0..2 {
                self.look_at(world, driver, at);
            }
        }
    }

    fn look_at(&mut self, world: &mut World, driver: usize, at: usize) {
        let (pod, claim) = (format!("p{at}"), claim_name(driver, at));
        let id = PodId { namespace: "default".into(), name: pod.as_str().into() };
        let state = &world.claims[&claim_id(&claim)];
        if state.control.leaving {
            world.take_back(&claim);
            let node = self.given.remove(&(driver, at)).expect("it was given something");
            *self.free[driver].entry(node).or_default() += 1;
            return;
        }
        let Some(context) = world.contexts.get(&id).cloned().filter(|_| state.allocation.is_none()) else {
            return;
        };
        let has = |node: &str| self.free[driver].get(node).is_some_and(|count| *count > 0);
        if let Some(node) = context.selected.as_ref().filter(|node| has(node)) {
            *self.free[driver].get_mut(&**node).expect("it has some there") -= 1;
            self.given.insert((driver, at), node.to_string());
            return world.give(&claim, DRIVERS[driver], Some(node), &[&pod]);
        }
        let bad: BTreeSet<Arc<str>> =
            context.potential.iter().filter(|node| !has(node)).map(|node| (**node).into()).collect();
        if context.answers.get(&*claim) != Some(&bad) {
            world.answer(&pod, &claim, &bad.iter().map(|node| &**node).collect::<Vec<_>>());
        }
    }
}

/// Lets so many seconds pass in which drivers answer within a tenth of a second. Says what was written and told meanwhile.
fn pass(world: &mut World, drivers: &mut Drivers, pods: usize, seconds: i64) -> usize {
    let before = world.said;
    for _ in 0..seconds * 10 {
        world.settle();
        drivers.look(world, pods);
        world.now = world.now.plus_millis(100);
    }
    world.settle();
    world.said - before
}

fn placed(world: &World, pods: usize) -> usize {
    (0..pods).filter(|at| world.node_of(&format!("p{at}")).is_some()).count()
}

#[test]
fn pods_that_nothing_suits_say_for_which_claim_and_driver_and_are_quiet() {
    // Of one driver there is something everywhere, of the other nowhere; each has something where the other has nothing; there is
    // too little of both for all.
    let all = [("n0", 9), ("n1", 9), ("n2", 9), ("n3", 9), ("n4", 9), ("n5", 9)];
    let table: [(&[_], &[_], usize); 4] = [
        (&all, &[], 0),
        (&[], &[], 0),
        (&all[..3], &all[3..], 0),
        (&[("n0", 2), ("n1", 1)], &[("n0", 1), ("n1", 1)], 2),
    ];
    for (number, (first, second, fit)) in table.into_iter().enumerate() {
        const PODS: usize = 5;
        let mut world = askers(PODS);
        let mut drivers = Drivers::new(first, second);
        let told = pass(&mut world, &mut drivers, PODS, 60);
        assert_eq!(placed(&world, PODS), fit, "{number}: {:?}", world.told);
        let later = pass(&mut world, &mut drivers, PODS, 600);
        assert!(told <= 20 * PODS, "{number}: {told} writes and events at first");
        assert!(later <= 4 * PODS, "{number}: {later} writes and events in ten minutes");
        for at in (0..PODS).filter(|at| world.node_of(&format!("p{at}")).is_none()) {
            let (_, why) = &world.conditions[&*format!("uid-p{at}")];
            let names =
                |driver: usize| why.contains(DRIVERS[driver]) && why.contains(&claim_name(driver, at));
            assert!(names(0) || names(1), "{number}: {why}");
            let has = |driver| world.claims[&claim_id(&claim_name(driver, at))].allocation.is_some();
            assert!(!has(0) && !has(1), "{number}: p{at} keeps nothing that others could have");
        }
    }
}

/// A context has no room for all of two hundred nodes, so that others could be asked about whenever a driver refuses some.
#[test]
fn nothing_is_asked_anew_before_all_drivers_answered_or_while_the_chosen_node_will_do() {
    let mut world = negotiating();
    world.fact(class("nic", NIC, None));
    (0..200).for_each(|at| world.fact(node(&format!("n{at}"), 64_000)));
    world.add_claim(lent("f0"));
    world.add_claim(wanting("i0", "nic"));
    world.add_pod(pod("p0", 100, &["f0", "i0"]));
    world.settle();
    let id = PodId { namespace: "default".into(), name: "p0".into() };
    let asked = |world: &World| {
        let context = &world.contexts[&id];
        (context.selected.clone(), context.potential.clone())
    };
    let first = asked(&world);
    let names: Vec<String> = first.1.iter().map(ToString::to_string).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!((first.0.clone(), names.len()), (None, 128));
    for refused in [1, 40, 127] {
        world.answer("p0", "f0", &names[..refused]);
        world.settle();
        assert_eq!(asked(&world), first, "the other driver has yet to answer; {refused} are refused");
    }
    world.answer("p0", "i0", &[]);
    world.settle();
    let second = asked(&world);
    assert!(second.0.is_some(), "all have answered");
    // Which nodes would do otherwise is of no interest while the chosen one will do.
    let others: Vec<&str> = names.iter().copied().filter(|name| second.0.as_deref() != Some(*name)).collect();
    world.answer("p0", "i0", &others);
    world.settle();
    assert_eq!(asked(&world), second);
    // When the last node of those that were asked about is refused, others are asked about at once.
    let mut all = names.clone();
    all.extend(second.0.as_deref());
    world.answer("p0", "f0", &all);
    world.settle();
    let third = asked(&world);
    assert!(third.0 != second.0 && third.1.iter().any(|node| !names.contains(&&**node)), "{third:?}");
}
