//! Gangs make room for themselves as a whole, and go as a whole.

use model::group::{Disruption, Group};
use model::pod::Pod;
use scheduler::news::{PreemptionNews, PreemptionOutcome};
use scheduler::queue::Entity;
use scheduler::write::{Preemptor, Write};

use crate::gangs::{applied, gang, gang_world, member_of, node_in, racks, seats};
use crate::preemption::{budget, labelled, running};
use crate::world::{World, claim, gpu_class, gpus, pod};

const SINGLE: Disruption = Disruption::Single;
const WHOLE: Disruption = Disruption::Whole;

/// A gang of priority ten, with so many members that need so much.
fn add_urgent(world: &mut World, members: u32, cpu_milli: i64) {
    world.fact(applied(gang("urgent", members, 10, SINGLE)));
    for number in 0..members {
        world.add_pod(member_of("urgent", 10, pod(&format!("u{number}"), cpu_milli, &[])));
    }
}

/// What was last told of a member about preemption.
fn hope(world: &World) -> String {
    let told = world.told.iter().rev().find(|line| line.starts_with("u0: "));
    let hope = told.and_then(|line| line.split_once("pod group preemption: "));
    hope.map(|(_, hope)| hope.to_owned()).unwrap_or_default()
}

#[test]
fn a_gang_displaces_the_cheapest_pods_that_let_all_of_it_in() {
    let mut world = racks();
    for (name, priority, node) in [("x", 5, "a"), ("y", 5, "b"), ("v", 1, "c"), ("w", 1, "d")] {
        world.add_pod(running(name, priority, node, 3_000));
    }
    add_urgent(&mut world, 2, 3_000);
    world.turn();
    assert_eq!(world.evicted(), ["v", "w"], "the rack of the less important ones is made free");
    let evictions: Vec<&Write> = world
        .open
        .iter()
        .map(|(_, write)| write)
        .filter(|write| matches!(write, Write::Evict { .. }))
        .collect();
    assert!(evictions.iter().all(|write| matches!(write, Write::Evict { by: Preemptor::Group, .. })));
    assert_eq!(hope(&world), "found a placement for podgroup, preempting 2 victims");
    assert!(world.told.iter().any(|line| line == "v preempted by urgent on r1"), "{:?}", world.told);
    let found = PreemptionOutcome::Found { pods: 2, units: 2, violations: 0 };
    let counted = world.engine.take_preemptions().into_iter().collect::<Vec<_>>();
    assert_eq!(counted, [(PreemptionNews { by: Entity::Group, outcome: found }, 1)]);
    world.settle();
    assert_eq!(seats(&world), "u0@c u1@d x@a y@b");
}

/// How often a gang was refused.
fn refusals(world: &World) -> usize {
    world.told.iter().filter(|line| line.starts_with("u0: ")).count()
}

/// Lets time pass for a gang that may be tried again.
fn pass(world: &mut World) {
    for _ in 0..2 {
        world.later(15);
        world.settle();
    }
}

#[test]
fn a_gang_is_tried_again_when_the_last_that_goes_for_it_is_gone_and_not_for_each() {
    let mut world = racks();
    world.lingering = true;
    for (name, node) in [("a0", "a"), ("b0", "b")] {
        world.add_pod(running(name, 20, node, 2_500));
    }
    for (name, node) in [("c0", "c"), ("c1", "c"), ("d0", "d"), ("d1", "d")] {
        world.add_pod(running(name, 1, node, 1_500));
    }
    add_urgent(&mut world, 2, 3_000);
    world.settle();
    assert_eq!(refusals(&world), 1, "{:?}", world.told);
    for victim in ["c1", "d0", "c0"] {
        world.let_go(victim);
        pass(&mut world);
        assert_eq!(refusals(&world), 1, "after {victim}: {:?}", world.told);
    }
    // It could be that there is room elsewhere now.
    world.let_go("a0");
    pass(&mut world);
    assert_eq!(refusals(&world), 2, "{:?}", world.told);
    world.let_go("d1");
    pass(&mut world);
    assert_eq!((refusals(&world), seats(&world).as_str()), (2, "b0@b u0@c u1@d"));
}

#[test]
fn a_gang_does_not_wait_for_a_pod_that_cannot_be_evicted() {
    let mut world = racks();
    world.lingering = true;
    for (name, node) in [("a0", "a"), ("b0", "b")] {
        world.add_pod(running(name, 20, node, 2_500));
    }
    for (name, node) in [("c0", "c"), ("d0", "d")] {
        world.add_pod(running(name, 1, node, 2_500));
    }
    add_urgent(&mut world, 2, 3_000);
    world.fail.push(|write| matches!(write, Write::Evict { pod, .. } if &*pod.name == "c0"));
    world.settle();
    world.let_go("d0");
    pass(&mut world);
    assert!(world.pods["uid-c0"].deleting, "it is asked to go again: {:?}", world.told);
    world.let_go("c0");
    pass(&mut world);
    assert_eq!(seats(&world), "a0@a b0@b u0@c u1@d");
}

#[test]
fn nobody_goes_who_is_not_in_the_way() {
    let mut world = racks();
    for (name, node) in [("v", "a"), ("w", "b"), ("x", "c"), ("y", "d")] {
        world.add_pod(running(name, 1, node, 2_000));
        world.add_pod(running(&format!("small-{name}"), 0, node, 100));
    }
    add_urgent(&mut world, 2, 2_000);
    world.turn();
    assert_eq!(
        world.evicted(),
        ["small-v", "small-w"],
        "all would fit without one larger, which matters more"
    );
    world.settle();
    assert_eq!((world.node_of("u0").as_deref(), world.node_of("u1").as_deref()), (Some("a"), Some("b")));
}

#[test]
fn nobody_goes_if_the_gang_would_not_fit_then() {
    let mut world = racks();
    for (name, priority, node) in [("v", 1, "a"), ("x", 20, "b"), ("w", 1, "c"), ("y", 20, "d")] {
        world.add_pod(running(name, priority, node, 3_000));
    }
    add_urgent(&mut world, 3, 2_000);
    world.settle();
    assert_eq!(seats(&world), "u0 u1 u2 v@a w@c x@b y@d");
    let told = "even if all lower priority pods are preempted, 3 members do not fit in r0 at once: 2 of 3 fit, \
        insufficient cpu: 6 needed, 5 free";
    assert_eq!(hope(&world), told);
}

#[test]
fn a_group_that_is_disrupted_as_a_whole_goes_as_a_whole_or_stays() {
    let mut world = racks();
    world.fact(applied(gang("low", 2, 1, WHOLE)));
    for (name, node) in [("l0", "a"), ("l1", "c")] {
        world.add_pod(member_of("low", 1, running(name, 1, node, 3_000)));
    }
    world.add_pod(running("y", 20, "b", 3_000));
    world.add_pod(running("z", 2, "d", 3_000));
    add_urgent(&mut world, 1, 2_000);
    world.turn();
    let mut evicted = world.evicted();
    evicted.sort();
    assert_eq!(evicted, ["l0", "l1"], "one of them alone would have been enough");
    world.settle();
    assert!(world.node_of("u0").is_some());
}

#[test]
fn a_single_pod_takes_a_whole_unit_with_it_too() {
    let mut world = racks();
    world.fact(applied(gang("low", 2, 1, WHOLE)));
    for (name, node) in [("l0", "a"), ("l1", "c")] {
        world.add_pod(member_of("low", 1, running(name, 1, node, 3_000)));
    }
    for (name, node) in [("y", "b"), ("z", "d")] {
        world.add_pod(running(name, 20, node, 3_000));
    }
    world.add_pod(Pod { priority: 10, ..pod("high", 2_000, &[]) });
    world.turn();
    let mut evicted = world.evicted();
    evicted.sort();
    assert_eq!(evicted, ["l0", "l1"]);
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
}

#[test]
fn a_member_of_an_important_group_is_not_displaced_for_its_own_priority() {
    let mut world = racks();
    world.fact(applied(gang("low", 1, 10, WHOLE)));
    for (name, node) in [("l0", "a"), ("l1", "b"), ("l2", "c"), ("l3", "d")] {
        world.add_pod(member_of("low", 1, running(name, 1, node, 3_000)));
    }
    world.add_pod(Pod { priority: 10, ..pod("high", 2_000, &[]) });
    world.turn();
    assert!(world.evicted().is_empty());
}

#[test]
fn a_group_that_may_lose_single_pods_loses_those_first_that_it_can_spare() {
    let mut world = racks();
    world.fact(applied(gang("tight", 2, 1, SINGLE)));
    world.fact(applied(gang("ample", 1, 1, SINGLE)));
    for (gang, name, node) in
        [("tight", "t0", "a"), ("tight", "t1", "b"), ("ample", "s0", "c"), ("ample", "s1", "d")]
    {
        world.add_pod(member_of(gang, 1, running(name, 1, node, 3_000)));
    }
    add_urgent(&mut world, 1, 2_000);
    world.turn();
    assert_eq!(world.evicted().len(), 1);
    assert!(["s0", "s1"].contains(&&*world.evicted()[0]), "{:?}", world.evicted());
}

#[test]
fn budgets_are_respected_where_others_can_go() {
    let mut world = racks();
    world.fact(budget("kept", 0));
    for (name, priority, node) in [("v", 1, "a"), ("w", 1, "b")] {
        world.add_pod(labelled(running(name, priority, node, 3_000), "kept"));
    }
    for (name, priority, node) in [("x", 5, "c"), ("y", 5, "d")] {
        world.add_pod(running(name, priority, node, 3_000));
    }
    add_urgent(&mut world, 2, 3_000);
    world.turn();
    assert_eq!(world.evicted(), ["x", "y"], "more important, but nobody keeps them");
}

#[test]
fn devices_of_victims_are_for_the_gang() {
    let mut world = racks();
    world.fact(gpu_class());
    for name in ["a", "b", "c", "d"] {
        world.fact(gpus(name, &["gpu"]));
    }
    for (name, priority) in [("x0", 5), ("x1", 5), ("x2", 1), ("x3", 1)] {
        world.add_claim(claim(name));
        world.add_pod(Pod { priority, ..pod(name, 100, &[name]) });
    }
    world.settle();
    world.fact(applied(gang("urgent", 2, 10, SINGLE)));
    for name in ["u0", "u1"] {
        world.add_claim(claim(name));
        world.add_pod(member_of("urgent", 10, pod(name, 100, &[name])));
    }
    world.turn();
    let mut evicted = world.evicted();
    evicted.sort();
    let (on_r1, on_r0) = (["x2", "x3"], ["x0", "x1"]);
    assert_eq!(evicted, on_r1, "{on_r0:?} matter more");
    world.settle();
    let nodes: Vec<_> = ["u0", "u1"].iter().filter_map(|name| world.node_of(name)).collect();
    assert_eq!(nodes.len(), 2, "{:?}", world.told.last());
    assert!(["u0", "u1"].iter().all(|name| world.devices_of(name).len() == 1));
}

#[test]
fn the_room_is_kept_for_all_members_while_victims_end() {
    let mut world = racks();
    world.lingering = true;
    for (name, priority, node) in [("x", 20, "a"), ("y", 20, "b"), ("v", 1, "c"), ("w", 1, "d")] {
        world.add_pod(running(name, priority, node, 3_000));
    }
    add_urgent(&mut world, 2, 3_000);
    world.turn();
    world.carry_out();
    assert_eq!((world.nominated("u0").as_deref(), world.nominated("u1").as_deref()), (Some("c"), Some("d")));
    world.let_go("v");
    world.add_pod(Pod { priority: 9, ..pod("thief", 2_000, &[]) });
    world.later(20);
    world.turn();
    world.carry_out();
    assert_eq!(seats(&world), "thief u0 u1 w@d x@a y@b", "half of the room is free, and nobody takes it");
    assert_eq!(
        hope(&world),
        "found a placement for podgroup, preempting 2 victims",
        "it is not tried again yet"
    );
    assert!(world.open.is_empty() && world.evicted().is_empty(), "nobody else goes meanwhile");
    world.let_go("w");
    world.later(20);
    world.settle();
    assert_eq!(seats(&world), "thief u0@c u1@d x@a y@b");
    assert!(world.nominated("u0").is_none());
}

#[test]
fn the_devices_are_kept_while_victims_end_and_their_claims_are_released() {
    let mut world = gang_world();
    world.lingering = true;
    world.fact(gpu_class());
    for name in ["a", "b"] {
        world.fact(node_in("r0", name, 4_000));
        world.fact(gpus(name, &["gpu"]));
    }
    for name in ["x0", "x1"] {
        world.add_claim(claim(name));
        world.add_pod(pod(name, 100, &[name]));
    }
    world.settle();
    world.fact(applied(gang("urgent", 2, 10, SINGLE)));
    for name in ["u0", "u1"] {
        world.add_claim(claim(name));
        world.add_pod(member_of("urgent", 10, pod(name, 100, &[name])));
    }
    world.turn();
    world.carry_out();
    // One is gone for good, the other is gone and its claim is not released yet.
    world.let_go("x0");
    world.remove_pod("x1");
    world.add_claim(claim("thief"));
    world.add_pod(Pod { priority: 9, ..pod("thief", 100, &["thief"]) });
    world.later(20);
    world.turn();
    world.carry_out();
    assert_eq!(seats(&world), "thief u0 u1");
    assert_eq!(hope(&world), "ongoing preemption on nominated nodes");
    world.release("x1");
    world.later(20);
    world.settle();
    assert_eq!(seats(&world), "thief u0@a u1@b");
}

#[test]
fn a_gang_that_finds_room_elsewhere_meanwhile_takes_it_and_frees_what_was_kept() {
    let mut world = racks();
    world.lingering = true;
    for (name, priority, node) in [("x", 20, "a"), ("y", 20, "b"), ("v", 1, "c"), ("w", 1, "d")] {
        world.add_pod(running(name, priority, node, 3_000));
    }
    add_urgent(&mut world, 2, 3_000);
    world.turn();
    world.carry_out();
    world.let_go("x");
    world.let_go("y");
    world.later(20);
    world.settle();
    assert_eq!(seats(&world), "u0@a u1@b v@c w@d");
    world.let_go("v");
    world.add_pod(pod("single", 3_500, &[]));
    world.later(20);
    world.settle();
    assert_eq!(world.node_of("single").as_deref(), Some("c"));
}

#[test]
fn who_may_not_preempt_waits() {
    let mut world = racks();
    for (name, node) in [("v", "a"), ("w", "b"), ("x", "c"), ("y", "d")] {
        world.add_pod(running(name, 1, node, 3_000));
    }
    world.fact(applied(Group { preempts: false, ..gang("urgent", 2, 10, SINGLE) }));
    for name in ["u0", "u1"] {
        world.add_pod(member_of("urgent", 10, pod(name, 2_000, &[])));
    }
    world.settle();
    assert_eq!(hope(&world), "not eligible due to preemptionPolicy=Never.");
    world.fact(applied(gang("urgent", 2, 10, SINGLE)));
    world.add_pod(Pod { preempts: false, ..member_of("urgent", 10, pod("u1", 2_000, &[])) });
    world.later(20);
    world.settle();
    assert_eq!(hope(&world), "not eligible due to preemptionPolicy=Never.", "one of its pods may not");
    world.add_pod(member_of("urgent", 10, pod("u1", 2_000, &[])));
    world.later(400);
    world.settle();
    assert!(["u0", "u1"].iter().all(|name| world.node_of(name).is_some()));
}

#[test]
fn a_gang_whose_pods_matter_less_than_it_says_displaces_only_what_matters_less_than_these() {
    let mut world = racks();
    for (name, node) in [("v", "a"), ("w", "b"), ("x", "c"), ("y", "d")] {
        world.add_pod(running(name, 5, node, 3_000));
    }
    world.fact(applied(gang("urgent", 2, 10, SINGLE)));
    for name in ["u0", "u1"] {
        world.add_pod(member_of("urgent", 5, pod(name, 2_000, &[])));
    }
    world.settle();
    assert_eq!((hope(&world), world.node_of("u0")), (String::new(), None));
}

#[test]
fn a_gang_on_its_way_is_called_back_as_a_whole_for_a_more_important_one() {
    let mut world = racks();
    world.fact(gpu_class());
    for name in ["a", "b", "c", "d"] {
        world.fact(gpus(name, &["gpu"]));
    }
    for (name, node) in [("x", "c"), ("y", "d")] {
        world.add_pod(running(name, 20, node, 4_000));
    }
    world.fact(applied(gang("low", 2, 1, WHOLE)));
    for name in ["l0", "l1"] {
        world.add_claim(claim(name));
        world.add_pod(member_of("low", 1, pod(name, 3_000, &[name])));
    }
    world.turn();
    assert_eq!(world.open.len(), 2, "claims are being written");
    add_urgent(&mut world, 2, 3_000);
    world.turn();
    assert!(world.evicted().is_empty(), "nobody was bound yet");
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(seats(&world), "l0 l1 u0@a u1@b x@c y@d");
    assert!(world.claims.values().all(|claim| claim.allocation.is_none()), "they hold nothing");
}

#[test]
fn members_beyond_those_that_are_needed_make_room_for_themselves() {
    let mut world = racks();
    world.fact(applied(gang("urgent", 2, 10, SINGLE)));
    world.add_pod(running("x", 1, "b", 3_000));
    for (name, node) in [("y", "c"), ("z", "d")] {
        world.add_pod(running(name, 20, node, 4_000));
    }
    for name in ["u0", "u1", "u2"] {
        world.add_pod(member_of("urgent", 10, pod(name, 2_000, &[])));
    }
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(seats(&world), "u0@a u1@a u2@b y@c z@d");
}

#[test]
fn an_eviction_that_fails_is_thought_over_after_a_while() {
    let mut world = racks();
    for (name, priority, node) in [("x", 20, "a"), ("y", 20, "b"), ("v", 1, "c"), ("w", 1, "d")] {
        world.add_pod(running(name, priority, node, 3_000));
    }
    add_urgent(&mut world, 2, 3_000);
    world.fail.push(|write| matches!(write, Write::Evict { .. }));
    world.turn();
    world.carry_out();
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(seats(&world), "u0@c u1@d x@a y@b");
}

#[test]
fn whoever_leads_next_waits_for_victims_that_go_already() {
    let mut world = racks();
    world.lingering = true;
    for (name, priority, node) in [("x", 5, "a"), ("y", 5, "b"), ("v", 1, "c"), ("w", 1, "d")] {
        world.add_pod(running(name, priority, node, 3_000));
    }
    add_urgent(&mut world, 2, 3_000);
    world.turn();
    world.carry_out();
    let (pods, now) = (world.pods.clone(), world.now);
    let mut next = racks();
    next.lingering = true;
    (next.now, next.open) = (now, Vec::new());
    next.fact(applied(gang("urgent", 2, 10, SINGLE)));
    pods.into_values().for_each(|pod| next.add_pod(pod));
    next.turn();
    assert!(next.evicted().is_empty(), "{:?}", next.open);
    assert_eq!(hope(&next), "ongoing preemption on nominated nodes");
    next.carry_out();
    next.let_go("v");
    next.let_go("w");
    next.later(20);
    next.settle();
    assert_eq!(seats(&next), "u0@c u1@d x@a y@b");
}

#[test]
fn among_many_only_as_many_go_as_have_to() {
    let mut world = gang_world();
    for number in 0..40 {
        world.fact(node_in(&format!("r{}", number / 20), &format!("n{number:02}"), 1_000));
        let priority = 1 + number % 7;
        world.add_pod(running(&format!("p{number:02}"), priority, &format!("n{number:02}"), 900));
    }
    add_urgent(&mut world, 4, 900);
    world.turn();
    // Of the priorities one to seven each rack has three or two of each, the first one more of the least.
    let mut priorities: Vec<i32> =
        world.evicted().iter().map(|name| world.pods[&*format!("uid-{name}")].priority).collect();
    priorities.sort_unstable();
    assert_eq!(priorities, [1, 1, 1, 2], "{:?}", world.evicted());
    world.settle();
    assert!((0..4).all(|number| world.node_of(&format!("u{number}")).is_some()));
}

#[test]
fn a_gang_for_which_very_many_have_to_go_takes_as_many_as_it_needs() {
    let mut world = gang_world();
    for number in 0..300 {
        let name = format!("n{number:03}");
        world.fact(node_in("r0", &name, 1_000));
        world.add_pod(running(&format!("p{number:03}"), 1 + number % 2, &name, 900));
    }
    add_urgent(&mut world, 140, 900);
    world.turn();
    let evicted = world.evicted();
    assert_eq!(evicted.len(), 140, "each of them needs a node of its own");
    let is_low = |name: &&String| world.pods[&*format!("uid-{name}")].priority == 1;
    let low = evicted.iter().filter(is_low).count();
    assert!(low > 100, "the least important ones as far as that was found out: {low}");
    world.settle();
    assert!((0..140).all(|number| world.node_of(&format!("u{number}")).is_some()));
}

#[test]
fn no_room_is_kept_for_a_gang_that_has_too_few_members() {
    let mut world = racks();
    world.lingering = true;
    for (name, priority, node) in [("x", 20, "a"), ("y", 20, "b"), ("v", 1, "c"), ("w", 1, "d")] {
        world.add_pod(running(name, priority, node, 3_000));
    }
    add_urgent(&mut world, 2, 3_000);
    world.turn();
    world.carry_out();
    world.remove_pod("u1");
    world.let_go("v");
    world.add_pod(pod("single", 3_500, &[]));
    world.later(20);
    world.settle();
    assert_eq!(world.node_of("single").as_deref(), Some("c"), "{:?}", world.told.last());
    assert_eq!(world.nominated("u0"), None);
}

#[test]
fn no_room_is_kept_for_a_gang_that_lost_a_member_on_a_node() {
    let mut world = racks();
    world.lingering = true;
    for (name, priority, node) in [("x", 1, "b"), ("y", 20, "c"), ("z", 20, "d")] {
        world.add_pod(running(name, priority, node, 3_000));
    }
    world.add_pod(running("beside", 20, "a", 1_000));
    world.fact(applied(gang("urgent", 2, 10, SINGLE)));
    world.add_pod(member_of("urgent", 10, running("u0", 10, "a", 3_000)));
    world.add_pod(member_of("urgent", 10, pod("u1", 3_000, &[])));
    world.settle();
    assert_eq!(world.nominated("u1").as_deref(), Some("b"));
    world.remove_pod("u0");
    // Whatever is heard of it, it is held back from now on.
    world.add_pod(world.pods["uid-u1"].clone());
    world.let_go("x");
    world.add_pod(pod("single", 3_500, &[]));
    world.settle();
    assert_eq!(world.node_of("single").as_deref(), Some("b"), "{:?}", world.told.last());
    assert_eq!(world.nominated("u1"), None);
}

#[test]
fn no_devices_are_kept_for_a_gang_while_a_claim_of_a_member_is_gone() {
    let mut world = gang_world();
    world.lingering = true;
    world.fact(gpu_class());
    world.fact(node_in("r0", "a", 4_000));
    world.fact(gpus("a", &["gpu"]));
    world.add_claim(claim("x"));
    world.add_pod(pod("x", 100, &["x"]));
    world.settle();
    world.fact(applied(gang("urgent", 2, 10, SINGLE)));
    world.add_claim(claim("u0"));
    world.add_pod(member_of("urgent", 10, pod("u0", 100, &["u0"])));
    world.add_pod(member_of("urgent", 10, pod("u1", 100, &[])));
    world.settle();
    assert_eq!(world.nominated("u1").as_deref(), Some("a"));
    world.remove_claim("u0");
    world.add_pod(world.pods["uid-u0"].clone());
    world.let_go("x");
    world.add_claim(claim("less"));
    world.add_pod(Pod { priority: 5, ..pod("less", 100, &["less"]) });
    world.settle();
    assert_eq!(world.devices_of("less"), ["gpu"]);
    assert_eq!((world.nominated("u0"), world.nominated("u1")), (None, None));
}
