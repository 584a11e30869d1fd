//! Trees of groups make room for themselves as a whole, and go as they say.

use std::collections::BTreeSet;

use cluster::change::{Change, GroupChange};
use model::group::{Composite, Disruption, Group};
use model::pod::Pod;
use scheduler::write::{Preemptor, Write};

use crate::gangs::{applied, gang, member_of, node_in, seats};
use crate::group_trees::{id, racks, zones};
use crate::preemption::{budget, labelled, running};
use crate::world::{World, claim, gpu_class, gpus, pod};

const SINGLE: Disruption = Disruption::Single;
const WHOLE: Disruption = Disruption::Whole;

fn tree(composite: Composite) -> Change {
    Change::Group(GroupChange::CompositeApplied(Box::new(composite)))
}

/// A tree of a priority that wants so many groups in one zone.
fn composite(name: &str, at_least: u32, priority: i32, disruption: Disruption) -> Composite {
    Composite {
        id: id(name),
        uid: format!("uid-{name}").into(),
        at_least,
        levels: vec!["zone".into()],
        priority,
        disruption,
        preempts: true,
        ..Composite::default()
    }
}

/// A group of a tree, in one rack.
fn leaf(name: &str, at_least: u32, priority: i32, disruption: Disruption, parent: &str) -> Change {
    applied(Group { parent: Some(parent.into()), ..gang(name, at_least, priority, disruption) })
}

/// A tree of priority ten with two groups of two members, which fill a node each.
fn add_urgent(world: &mut World) {
    world.fact(tree(composite("urgent", 2, 10, SINGLE)));
    for group in ["x", "y"] {
        world.fact(leaf(group, 2, 10, SINGLE, "urgent"));
        for number in 0..2 {
            world.add_pod(member_of(group, 10, pod(&format!("{group}{number}"), 3_000, &[])));
        }
    }
}

/// A pod of a priority on every node, by the name of the node.
fn occupy(world: &mut World, priority: impl Fn(&str) -> i32) {
    for zone in ["z0", "z1"] {
        for node in ["r0-a", "r0-b", "r1-a", "r1-b"] {
            let node = format!("{zone}-{node}");
            world.add_pod(running(&node, priority(&node), &node, 3_000));
        }
    }
}

fn evicted(world: &World) -> Vec<String> {
    let mut evicted = world.evicted();
    evicted.sort();
    evicted
}

/// What was last told of a member about preemption.
fn hope(world: &World) -> String {
    let told = world.told.iter().rev().find(|line| line.starts_with("x0: "));
    let hope = told.and_then(|line| line.split_once("pod group preemption: "));
    hope.map(|(_, hope)| hope.to_owned()).unwrap_or_default()
}

fn is_placed(world: &World) -> bool {
    ["x0", "x1", "y0", "y1"].iter().all(|name| world.node_of(name).is_some())
}

#[test]
fn a_tree_displaces_the_cheapest_pods_that_let_all_of_it_in() {
    let mut world = zones();
    occupy(&mut world, |node| if node.starts_with("z0") { 5 } else { 1 });
    add_urgent(&mut world);
    world.turn();
    assert_eq!(evicted(&world), ["z1-r0-a", "z1-r0-b", "z1-r1-a", "z1-r1-b"]);
    let by_group = |(_, write): &(_, Write)| match write {
        Write::Evict { by, .. } => *by == Preemptor::Group,
        _ => true,
    };
    assert!(world.open.iter().all(by_group), "{:?}", world.open);
    assert!(world.told.iter().any(|line| line == "z1-r0-a preempted by urgent on z1"), "{:?}", world.told);
    assert_eq!(hope(&world), "found a placement for podgroup, preempting 4 victims");
    world.settle();
    assert!(is_placed(&world), "{}", seats(&world));
    assert_eq!((racks(&world, "x").len(), racks(&world, "y").len()), (1, 1), "{}", seats(&world));
}

#[test]
fn nobody_goes_who_is_not_in_the_way_of_a_tree() {
    let mut world = zones();
    occupy(&mut world, |node| if node.starts_with("z0") || node == "z1-r1-a" { 5 } else { 1 });
    world.let_go("z1-r1-b");
    world.add_pod(running("small", 1, "z1-r1-b", 500));
    add_urgent(&mut world);
    world.turn();
    assert_eq!(evicted(&world), ["z1-r0-a", "z1-r0-b", "z1-r1-a"], "there is room beside the small one");
}

#[test]
fn nobody_goes_if_not_enough_groups_would_fit_then() {
    let mut world = zones();
    occupy(&mut world, |node| if node.ends_with("r1-b") { 20 } else { 1 });
    add_urgent(&mut world);
    world.settle();
    assert!(world.evicted().is_empty() && !is_placed(&world), "{}", seats(&world));
    assert!(
        hope(&world).starts_with("even if all lower priority pods are preempted, group y and 1 others: ")
    );
    world.let_go("z1-r1-b");
    world.later(400);
    world.turn();
    assert_eq!(evicted(&world), ["z1-r0-a", "z1-r0-b", "z1-r1-a"], "now it helps");
    world.settle();
    assert!(is_placed(&world), "{}", seats(&world));
}

#[test]
fn budgets_are_respected_where_others_can_go_for_a_tree() {
    let mut world = zones();
    world.fact(budget("kept", 0));
    occupy(&mut world, |node| if node.starts_with("z0") { 5 } else { 1 });
    world.let_go("z1-r0-a");
    world.add_pod(labelled(running("kept", 1, "z1-r0-a", 3_000), "kept"));
    add_urgent(&mut world);
    world.turn();
    assert_eq!(evicted(&world), ["z0-r0-a", "z0-r0-b", "z0-r1-a", "z0-r1-b"]);
}

#[test]
fn devices_of_victims_are_for_the_members_of_a_tree() {
    let mut world = zones();
    world.fact(gpu_class());
    let nodes = ["z1-r0-a", "z1-r0-b", "z1-r1-a", "z1-r1-b"];
    for node in nodes {
        world.fact(gpus(node, &["gpu"]));
        world.add_claim(claim(node));
        world.add_pod(Pod { priority: 1, ..pod(node, 100, &[node]) });
    }
    world.settle();
    world.lingering = true;
    world.fact(tree(composite("urgent", 2, 10, SINGLE)));
    for group in ["x", "y"] {
        world.fact(leaf(group, 2, 10, SINGLE, "urgent"));
        for number in 0..2 {
            let name = format!("{group}{number}");
            world.add_claim(claim(&name));
            world.add_pod(member_of(group, 10, pod(&name, 100, &[&name])));
        }
    }
    world.turn();
    assert_eq!(evicted(&world), nodes);
    world.carry_out();
    world.let_go("z1-r0-a");
    world.add_claim(claim("thief"));
    world.add_pod(Pod { priority: 9, ..pod("thief", 100, &["thief"]) });
    world.later(20);
    world.turn();
    world.carry_out();
    assert!(world.node_of("thief").is_none(), "what is free already is kept: {}", seats(&world));
    assert_eq!(hope(&world), "ongoing preemption on nominated nodes");
    nodes[1..].iter().for_each(|node| world.let_go(node));
    world.later(20);
    world.settle();
    assert!(is_placed(&world), "{}", seats(&world));
}

#[test]
fn groups_beyond_those_that_are_needed_make_room_for_themselves() {
    let mut world = zones();
    occupy(&mut world, |node| if node.starts_with("z1-r1") { 1 } else { 20 });
    ["z1-r0-a", "z1-r0-b"].into_iter().for_each(|node| world.let_go(node));
    world.fact(tree(composite("urgent", 1, 10, SINGLE)));
    for group in ["x", "y"] {
        world.fact(leaf(group, 2, 10, SINGLE, "urgent"));
        for number in 0..2 {
            world.add_pod(member_of(group, 10, pod(&format!("{group}{number}"), 3_000, &[])));
        }
    }
    world.settle();
    world.later(20);
    world.settle();
    assert!(is_placed(&world), "{}", seats(&world));
    assert!(world.node_of("z1-r1-a").is_none() && world.node_of("z0-r0-a").is_some(), "{}", seats(&world));
}

#[test]
fn a_tree_that_may_not_preempt_waits() {
    let mut world = zones();
    occupy(&mut world, |_| 1);
    add_urgent(&mut world);
    world.fact(tree(Composite { preempts: false, ..composite("urgent", 2, 10, SINGLE) }));
    world.settle();
    assert!(world.evicted().is_empty() && !is_placed(&world), "{}", seats(&world));
    assert_eq!(hope(&world), "not eligible due to preemptionPolicy=Never.");
    world.fact(tree(composite("urgent", 2, 10, SINGLE)));
    world.later(20);
    world.settle();
    assert!(is_placed(&world), "{}", seats(&world));
}

#[test]
fn a_tree_that_matters_less_than_its_pods_displaces_only_what_matters_less_than_it() {
    let mut world = zones();
    occupy(&mut world, |_| 5);
    add_urgent(&mut world);
    world.fact(tree(composite("urgent", 2, 5, SINGLE)));
    world.settle();
    assert!(!is_placed(&world), "{}", seats(&world));
}

#[test]
fn room_is_kept_no_more_for_a_tree_that_is_gone() {
    let mut world = zones();
    occupy(&mut world, |_| 1);
    world.lingering = true;
    add_urgent(&mut world);
    world.turn();
    world.carry_out();
    assert!(world.nominated("x0").is_some());
    world.fact(Change::Group(GroupChange::CompositeGone(id("urgent"))));
    world.carry_out();
    assert_eq!((world.nominated("x0"), world.nominated("y1")), (None, None));
}

/// A tree of a low priority that runs in the first zone: one group in each rack.
fn add_low(world: &mut World, composite_mode: Disruption, group_mode: Disruption) {
    world.fact(tree(composite("low", 2, 1, composite_mode)));
    for (group, rack) in [("p", "r0"), ("q", "r1")] {
        world.fact(leaf(group, 2, 1, group_mode, "low"));
        for node in ["a", "b"] {
            let name = format!("{group}-{node}");
            world.add_pod(member_of(group, 1, running(&name, 1, &format!("z0-{rack}-{node}"), 3_000)));
        }
    }
    for node in ["r0-a", "r0-b", "r1-a", "r1-b"] {
        world.add_pod(running(&format!("z1-{node}"), 20, &format!("z1-{node}"), 3_000));
    }
}

#[test]
fn a_tree_that_is_disrupted_as_a_whole_goes_as_a_whole_or_stays() {
    let mut world = zones();
    add_low(&mut world, WHOLE, SINGLE);
    world.add_pod(Pod { priority: 10, ..pod("single", 2_000, &[]) });
    world.turn();
    assert_eq!(evicted(&world), ["p-a", "p-b", "q-a", "q-b"], "for a single pod");
    let mut world = zones();
    add_low(&mut world, WHOLE, SINGLE);
    world.fact(applied(gang("urgent", 1, 10, SINGLE)));
    world.add_pod(member_of("urgent", 10, pod("u0", 2_000, &[])));
    world.turn();
    assert_eq!(evicted(&world), ["p-a", "p-b", "q-a", "q-b"], "for a gang");
}

#[test]
fn a_group_of_a_tree_goes_as_it_says_if_the_tree_does_not() {
    for (mode, count) in [(WHOLE, 2), (SINGLE, 1)] {
        let mut world = zones();
        add_low(&mut world, SINGLE, mode);
        world.add_pod(Pod { priority: 10, ..pod("single", 2_000, &[]) });
        world.turn();
        assert_eq!(world.evicted().len(), count, "{mode:?}: {:?}", world.evicted());
    }
}

#[test]
fn pods_of_an_important_tree_are_not_displaced_for_their_own_priority() {
    let mut world = zones();
    add_low(&mut world, SINGLE, SINGLE);
    world.fact(tree(composite("low", 2, 10, SINGLE)));
    world.add_pod(Pod { priority: 10, ..pod("single", 2_000, &[]) });
    world.turn();
    assert!(world.evicted().is_empty());
}

#[test]
fn a_group_goes_first_that_its_tree_can_spare() {
    let mut world = zones();
    add_low(&mut world, SINGLE, WHOLE);
    // A tree that needs one of its two groups, and has run for as long.
    for node in ["r0-a", "r0-b", "r1-a", "r1-b"] {
        world.let_go(&format!("z1-{node}"));
    }
    world.fact(tree(composite("ample", 1, 1, SINGLE)));
    for (group, rack) in [("v", "r0"), ("w", "r1")] {
        world.fact(leaf(group, 2, 1, WHOLE, "ample"));
        for node in ["a", "b"] {
            let name = format!("{group}-{node}");
            world.add_pod(member_of(group, 1, running(&name, 1, &format!("z1-{rack}-{node}"), 3_000)));
        }
    }
    world.fact(applied(gang("urgent", 2, 10, SINGLE)));
    for name in ["u0", "u1"] {
        world.add_pod(member_of("urgent", 10, pod(name, 3_000, &[])));
    }
    world.turn();
    assert_eq!(evicted(&world).len(), 2);
    assert!(evicted(&world)[0].starts_with(['v', 'w']), "{:?}", evicted(&world));
}

#[test]
fn a_group_is_on_its_own_while_trees_are_off() {
    let mut world = crate::gangs::racks();
    world.fact(tree(composite("low", 2, 10, WHOLE)));
    for (group, nodes) in [("p", ["a", "b"]), ("q", ["c", "d"])] {
        world.fact(leaf(group, 2, 1, SINGLE, "low"));
        for node in nodes {
            world.add_pod(member_of(group, 1, running(&format!("{group}-{node}"), 1, node, 3_000)));
        }
    }
    world.add_pod(Pod { priority: 10, ..pod("single", 2_000, &[]) });
    world.turn();
    assert_eq!(world.evicted().len(), 1, "neither its mode nor its priority counts: {:?}", world.evicted());
}

#[test]
fn among_many_only_as_many_go_for_a_tree_as_have_to() {
    let mut world = crate::group_trees::tree_world();
    for number in 0..80 {
        let (zone, name) = (number / 40, format!("n{number:02}"));
        let Change::NodeApplied(mut node) = node_in(&format!("r{}", number / 20), &name, 1_000) else {
            unreachable!("it is a node")
        };
        node.labels.insert("zone".into(), format!("z{zone}").as_str().into());
        world.fact(Change::NodeApplied(node));
        world.add_pod(running(&format!("p{number:02}"), 1 + number % 7, &name, 900));
    }
    world.fact(tree(composite("urgent", 2, 10, SINGLE)));
    for group in ["x", "y"] {
        world.fact(leaf(group, 5, 10, SINGLE, "urgent"));
        for number in 0..5 {
            world.add_pod(member_of(group, 10, pod(&format!("{group}{number}"), 500, &[])));
        }
    }
    world.turn();
    let evicted = world.evicted();
    assert_eq!(evicted.len(), 6, "two members have room on a node: {evicted:?}");
    let lowest = |name: &String| matches!(name[1..].parse::<i32>().map(|number| number % 7), Ok(0 | 1));
    assert!(evicted.iter().all(lowest), "{evicted:?}");
    world.settle();
    assert_eq!((racks_of(&world, "x"), racks_of(&world, "y")), (1, 1), "{}", seats(&world));
}

/// In how many racks members of a group are.
fn racks_of(world: &World, group: &str) -> usize {
    let members = world.pods.values().filter(|pod| pod.group == Some(group.into()));
    let node = |pod: &Pod| pod.node.as_ref().and_then(|node| node[1..].parse::<usize>().ok());
    members.map(|pod| node(pod).map(|number| number / 20)).collect::<BTreeSet<_>>().len()
}
