//! What takes long to decide is considered while others have their turns, whatever it is about.

use cluster::change::{Change, GroupChange};
use model::group::Disruption;
use model::node::NodeTaint;
use model::pod::Pod;
use scheduler::engine::{ConsiderationOutcome, Engine, Input};
use scheduler::write::{WaitReason, Write};

use crate::gangs::{applied, gang, group, member, member_of, node_in, racks};
use crate::group_trees::{add, leaf, tree, tree_settings};
use crate::hard_turns::{SLICE_MAX, hard_claim, sliced_world, various};
use crate::preemption::running;
use crate::world::{World, claim, gpu_class, gpus, node, pod, world};

/// A world in which next to nothing is decided at once, and considerations wait for the test.
fn slow(world: World) -> World {
    World { engine: world.engine.with_slice_max(0), holds_considerations: true, ..world }
}

/// Two racks with two nodes of four processors each, which have a device each.
fn slow_racks() -> World {
    let engine = Engine::new(tree_settings()).with_slice_max(0);
    let mut world = World { engine, holds_considerations: true, ..world() };
    world.fact(gpu_class());
    for (rack, name) in [("r0", "a"), ("r0", "b"), ("r1", "c"), ("r1", "d")] {
        world.fact(node_in(rack, name, 4_000));
        world.fact(gpus(name, &[&format!("gpu-{name}")]));
    }
    world
}

/// Something that is hard to decide, as all of it is here.
struct Hard {
    name: &'static str,
    add: fn(&mut World),
    pods: &'static [&'static str],
    /// Whether others have to go for it.
    preempts: bool,
}

/// Whether a pod was preempted.
fn has_preempted(world: &World) -> bool {
    world.told.iter().any(|line| line.contains(" preempted by "))
}

fn occupy(world: &mut World) {
    for node in ["a", "b", "c", "d"] {
        world.add_pod(running(&format!("on-{node}"), 0, node, 3_000));
    }
}

const HARD: [Hard; 5] = [
    Hard {
        name: "a pod with a claim",
        add: |world| {
            world.add_claim(claim("hard"));
            world.add_pod(pod("hard", 2_000, &["hard"]));
        },
        pods: &["hard"],
        preempts: false,
    },
    Hard {
        name: "a gang",
        add: |world| {
            world.fact(group(2, &["rack"]));
            ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name, 2_000, &[])));
        },
        pods: &["m0", "m1"],
        preempts: false,
    },
    Hard {
        name: "a tree",
        add: |world| {
            world.fact(tree("t", 2, Some("rack"), None));
            for group in ["x", "y"] {
                world.fact(leaf(group, 1, None, "t"));
                add(world, group, 1);
            }
        },
        pods: &["x0", "y0"],
        preempts: false,
    },
    Hard {
        name: "a pod that preempts",
        add: |world| {
            occupy(world);
            world.add_pod(Pod { priority: 10, ..pod("hard", 2_000, &[]) });
        },
        pods: &["hard"],
        preempts: true,
    },
    Hard {
        name: "a gang that preempts",
        add: |world| {
            occupy(world);
            world.fact(applied(gang("urgent", 2, 10, Disruption::Single)));
            for name in ["u0", "u1"] {
                world.add_pod(member_of("urgent", 10, pod(name, 2_000, &[])));
            }
        },
        pods: &["u0", "u1"],
        preempts: true,
    },
];

impl Hard {
    /// A world in which it is being considered.
    fn world(&self) -> World {
        let mut world = slow_racks();
        (self.add)(&mut world);
        world.turn();
        assert_eq!(world.to_consider.len(), 1, "{}: {:?}", self.name, world.told);
        assert!(world.told.is_empty(), "{}: nothing is known yet: {:?}", self.name, world.told);
        world
    }

    /// Everything that is asked for is done, and considerations are answered at once.
    fn settle(&self, world: &mut World) {
        world.holds_considerations = false;
        world.consider_all();
        for _ in 0..5 {
            world.settle();
            world.later(10);
        }
    }

    fn is_placed(&self, world: &World) -> bool {
        self.pods.iter().all(|name| world.node_of(name).is_some())
    }
}

#[test]
fn others_are_placed_while_something_hard_is_considered() {
    for hard in &HARD {
        let mut world = hard.world();
        world.add_pod(pod("other", 100, &[]));
        world.turn();
        world.carry_out();
        assert!(world.node_of("other").is_some(), "{}: {:?}", hard.name, world.told);
        assert_eq!(world.engine.considering(), 1, "{}", hard.name);
        hard.settle(&mut world);
        assert!(hard.is_placed(&world), "{}: {:?}", hard.name, world.told);
        assert_eq!(has_preempted(&world), hard.preempts, "{}: {:?}", hard.name, world.told);
    }
}

#[test]
fn what_is_the_same_everywhere_is_decided_as_if_nobody_had_waited() {
    for hard in &HARD {
        let mut world = hard.world();
        hard.settle(&mut world);
        assert!(hard.is_placed(&world), "{}: {:?}", hard.name, world.told);
        // It was found once, and nothing had to be looked at again.
        assert!(world.considered.len() <= 2, "{}: {:?}", hard.name, world.considered);
    }
}

#[test]
fn a_verdict_that_does_not_hold_any_more_is_not_acted_on() {
    for hard in &HARD {
        let mut world = hard.world();
        // The nodes are full by now, with pods that matter more.
        for node in ["a", "b", "c", "d"] {
            world.add_pod(running(
                &format!("late-{node}"),
                20,
                node,
                if hard.preempts { 1_000 } else { 3_900 },
            ));
            world.fact(cordoned(node));
        }
        hard.settle(&mut world);
        assert!(!hard.is_placed(&world), "{}: {:?}", hard.name, world.told);
        assert!(!has_preempted(&world), "{}: {:?}", hard.name, world.told);
        let told =
            hard.pods.iter().all(|name| world.told.iter().any(|line| line.starts_with(&format!("{name}: "))));
        assert!(told, "{}: it is said why: {:?}", hard.name, world.told);
    }
}

/// A node that takes no new pods.
fn cordoned(name: &str) -> Change {
    let Change::NodeApplied(mut node) =
        node_in(if matches!(name, "a" | "b") { "r0" } else { "r1" }, name, 4_000)
    else {
        unreachable!("it is a node")
    };
    let effect = model::node::NodeTaintEffect::NoSchedule;
    node.taints.push(NodeTaint { key: "full".into(), value: "".into(), effect });
    Change::NodeApplied(node)
}

#[test]
fn room_that_comes_while_it_is_considered_is_found() {
    for hard in &HARD[..3] {
        let mut world = slow_racks();
        for node in ["a", "b", "c", "d"] {
            world.add_pod(running(&format!("on-{node}"), 0, node, 4_000));
        }
        (hard.add)(&mut world);
        world.turn();
        assert_eq!(world.to_consider.len(), 1, "{}", hard.name);
        ["on-a", "on-b", "on-c", "on-d"].into_iter().for_each(|name| world.remove_pod(name));
        hard.settle(&mut world);
        assert!(hard.is_placed(&world), "{}: {:?}", hard.name, world.told);
    }
}

#[test]
fn what_is_gone_is_not_missed() {
    for hard in &HARD {
        let mut world = hard.world();
        hard.pods.iter().for_each(|name| world.remove_pod(name));
        world.add_pod(pod("other", 100, &[]));
        hard.settle(&mut world);
        assert!(
            world.node_of("other").is_some() && !has_preempted(&world),
            "{}: {:?}",
            hard.name,
            world.told
        );
        assert_eq!(world.engine.considering(), 0, "{}", hard.name);
    }
}

#[test]
fn a_pod_of_the_same_name_begins_anew() {
    let hard = &HARD[0];
    let mut world = hard.world();
    world.remove_pod("hard");
    let again = Pod { uid: "uid-again".into(), ..pod("hard", 2_000, &["hard"]) };
    world.add_pod(again);
    world.holds_considerations = false;
    world.consider_all();
    world.settle();
    assert!(world.pods["uid-again"].node.is_some(), "{:?}", world.told);
}

#[test]
fn who_starts_again_meanwhile_considers_it_again() {
    for hard in &HARD {
        let mut world = hard.world();
        let lost = std::mem::take(&mut world.to_consider);
        world.engine = Engine::new(tree_settings()).with_slice_max(0);
        let mut again = slow_racks();
        (hard.add)(&mut again);
        again.turn();
        // What was asked before the restart means nothing after it.
        let (id, consideration) = lost.into_iter().next().expect("it was asked");
        let (other, _) = again.to_consider[0];
        assert_eq!(id, other, "numbers begin anew");
        let verdict = ConsiderationOutcome::Decided(Box::new(consideration.run()));
        again.tell(Input::Considered(id, verdict));
        hard.settle(&mut again);
        assert!(hard.is_placed(&again), "{}: {:?}", hard.name, again.told);
    }
}

#[test]
fn two_hard_pods_are_considered_side_by_side_if_they_may_be() {
    for most in [1, 2] {
        let mut world = slow_racks();
        world.engine = world.engine.with_considerations_max(most);
        for name in ["one", "two"] {
            world.add_claim(claim(name));
            world.add_pod(pod(name, 2_000, &[name]));
        }
        world.turn();
        world.turn();
        assert_eq!(world.to_consider.len(), most);
        assert_eq!(world.engine.counts().undecided, 2);
        world.holds_considerations = false;
        world.consider_all();
        for _ in 0..3 {
            world.settle();
            world.later(5);
        }
        assert!(world.node_of("one").is_some() && world.node_of("two").is_some(), "{:?}", world.told);
    }
}

#[test]
fn verdicts_that_want_the_same_device_do_not_both_get_it() {
    let mut world = World { holds_considerations: true, ..world() };
    world.engine = world.engine.with_slice_max(0).with_considerations_max(2);
    world.fact(gpu_class());
    world.fact(node("a", 8_000));
    world.fact(gpus("a", &["gpu-0"]));
    for name in ["one", "two"] {
        world.add_claim(claim(name));
        world.add_pod(pod(name, 100, &[name]));
    }
    world.turn();
    world.turn();
    assert_eq!(world.to_consider.len(), 2);
    world.holds_considerations = false;
    world.consider_all();
    for _ in 0..3 {
        world.settle();
        world.later(5);
    }
    let placed = ["one", "two"].into_iter().filter(|name| world.node_of(name).is_some()).count();
    assert_eq!(placed, 1, "{:?}", world.told);
}

#[test]
fn a_consideration_that_fails_is_told_and_tried_again() {
    let mut world = HARD[0].world();
    let (id, _) = world.to_consider.remove(0);
    world.tell(Input::Considered(id, ConsiderationOutcome::Failed("it panicked".to_owned())));
    world.turn();
    let is_error =
        |(_, write): &(_, Write)| matches!(write, Write::Note { reason: WaitReason::SchedulerError, .. });
    assert!(world.open.iter().any(is_error), "{:?}", world.open);
    world.carry_out();
    world.later(2);
    HARD[0].settle(&mut world);
    assert!(HARD[0].is_placed(&world), "{:?}", world.told);
}

#[test]
fn it_is_said_of_what_is_not_decided_after_a_while() {
    for hard in &HARD {
        let mut world = hard.world();
        world.carry_out();
        let notes = |world: &World| {
            let is_note = |(_, write): &&(_, Write)| matches!(write, Write::Note { reason: WaitReason::Undecided, message, .. } if message.contains("still searching"));
            world.open.iter().filter(is_note).count()
        };
        world.turn();
        assert_eq!(notes(&world), 0, "{}", hard.name);
        world.later(1);
        assert!(world.engine.wants_turn(world.now), "{}", hard.name);
        world.turn();
        assert_eq!(notes(&world), hard.pods.len(), "{}: {:?}", hard.name, world.open);
        world.carry_out();
        world.later(30);
        world.turn();
        assert_eq!(notes(&world), 0, "{}: once is enough", hard.name);
        hard.settle(&mut world);
        assert!(hard.is_placed(&world), "{}: {:?}", hard.name, world.told);
    }
}

#[test]
fn a_pod_with_a_hard_claim_keeps_nobody_waiting() {
    let mut world = World { holds_considerations: true, ..sliced_world(9) };
    world.tell(Input::Turn { attempts: 1 });
    let work = world.engine.work_done();
    world.turn();
    assert!(work < SLICE_MAX, "{work}");
    assert!(world.told.is_empty() && world.to_consider.len() == 1, "nothing is known yet: {:?}", world.told);
    // It is more important and came first, and yet it does not keep another from its node.
    world.add_claim(claim("easy"));
    world.add_pod(pod("easy", 100, &["easy"]));
    world.turn();
    world.carry_out();
    world.carry_out();
    assert!(world.node_of("easy").is_some());
    world.consider_all();
    world.turn();
    assert!(world.told.iter().any(|line| line.contains("2 cannot allocate all claims")), "{:?}", world.told);
}

#[test]
fn devices_that_come_while_a_hard_claim_is_considered_are_found() {
    let mut world = World { holds_considerations: true, ..sliced_world(9) };
    world.turn();
    various(&mut world, "easy", 1);
    world.holds_considerations = false;
    world.consider_all();
    for _ in 0..3 {
        world.settle();
        world.later(5);
    }
    assert_eq!(world.node_of("hard").as_deref(), Some("easy"), "{:?}", world.told.last());
    assert!(hard_claim("hard").wish.spec.constraints.len() > 10);
}

#[test]
fn a_gang_whose_group_changes_while_it_is_considered_is_decided_anew() {
    let mut world = slow(racks());
    world.fact(group(2, &["rack"]));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name, 2_000, &[])));
    world.turn();
    assert_eq!(world.to_consider.len(), 1);
    let Change::Group(GroupChange::Applied(mut changed)) = group(3, &["rack"]) else {
        unreachable!("it is a group")
    };
    changed.uid = "uid-gang".into();
    world.fact(Change::Group(GroupChange::Applied(changed)));
    world.holds_considerations = false;
    world.consider_all();
    world.settle();
    world.later(10);
    world.settle();
    assert!(["m0", "m1"].iter().all(|name| world.node_of(name).is_none()), "three are needed now");
    world.add_pod(member("m2", 2_000, &[]));
    world.settle();
    assert!(["m0", "m1", "m2"].iter().all(|name| world.node_of(name).is_some()), "{:?}", world.told);
}

#[test]
fn why_one_member_does_not_fit_is_not_said_of_another_that_took_its_place_meanwhile() {
    let mut world = slow(racks());
    world.fact(group(1, &["rack"]));
    world.add_pod(member("big", 200_000, &[]));
    world.turn();
    let (id, consideration) = world.to_consider.remove(0);
    world.tell(Input::Considered(id, ConsiderationOutcome::Decided(Box::new(consideration.run()))));
    world.remove_pod("big");
    world.add_pod(member("small", 1_000, &[]));
    world.holds_considerations = false;
    world.settle();
    world.later(1);
    world.settle();
    assert!(world.node_of("small").is_some(), "{:?}", world.told);
}

#[test]
fn a_pod_that_is_bound_by_hand_while_it_is_considered_gets_devices_of_its_node() {
    for (node, is_decided) in ["a", "b", "c", "d"].into_iter().flat_map(|node| [(node, false), (node, true)])
    {
        let hard = &HARD[0];
        let mut world = hard.world();
        let (id, consideration) = world.to_consider.remove(0);
        let verdict = ConsiderationOutcome::Decided(Box::new(consideration.run()));
        let bound = Pod { node: Some(node.into()), ..world.pods["uid-hard"].clone() };
        if is_decided {
            world.tell(Input::Considered(id, verdict));
            world.add_pod(bound);
        } else {
            world.add_pod(bound);
            world.tell(Input::Considered(id, verdict));
        }
        hard.settle(&mut world);
        assert_eq!(world.devices_of("hard"), [format!("gpu-{node}")], "{:?}", world.told);
        assert!(world.engine.is_idle() && !has_preempted(&world), "{node}: {:?}", world.told);
    }
}

#[test]
fn members_whose_others_go_while_they_are_considered_are_decided_anew() {
    let gang: fn(&mut World) = |world| {
        world.fact(group(2, &[]));
        world.add_pod(Pod { group: Some("gang".into()), ..running("there", 0, "a", 2_000) });
        world.add_pod(member("waits", 2_000, &[]));
    };
    let of_one_group: fn(&mut World) = |world| {
        world.fact(tree("t", 1, None, None));
        world.fact(leaf("x", 2, None, "t"));
        world.add_pod(Pod { group: Some("x".into()), ..running("there", 0, "a", 2_000) });
        world.add_pod(Pod { group: Some("x".into()), ..pod("waits", 2_000, &[]) });
    };
    let of_another_group: fn(&mut World) = |world| {
        world.fact(tree("t", 2, None, None));
        world.fact(leaf("x", 1, None, "t"));
        world.fact(leaf("y", 1, None, "t"));
        world.add_pod(Pod { group: Some("x".into()), ..running("there", 0, "a", 2_000) });
        world.add_pod(Pod { group: Some("y".into()), ..pod("waits", 2_000, &[]) });
    };
    for (name, add) in [
        ("of a gang", gang),
        ("of the same group of a tree", of_one_group),
        ("of another group of the tree", of_another_group),
    ] {
        let mut world = slow_racks();
        add(&mut world);
        world.turn();
        assert_eq!(world.to_consider.len(), 1, "{name}: {:?}", world.told);
        let again = world.pods["uid-there"].clone();
        world.remove_pod("there");
        world.holds_considerations = false;
        world.consider_all();
        for _ in 0..3 {
            world.settle();
            world.later(10);
        }
        assert_eq!(world.engine.placing(), 0, "{name}: one alone is never enough");
        assert_eq!(world.node_of("waits"), None, "{name}: one alone is not enough");
        world.add_pod(Pod { uid: "uid-again".into(), node: None, ..again });
        for _ in 0..3 {
            world.settle();
            world.later(10);
        }
        let bound = world.pods.values().filter(|pod| pod.node.is_some()).count();
        assert_eq!(bound, 2, "{name}: {:?}", world.told);
    }
}
