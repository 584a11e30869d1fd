//! What is told of groups, and noted on them.

use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use model::group::{Group, GroupId};
use model::node::{Operator, Requirement};
use model::pod::{LabelSelector, Pod, Resources, Shape, Spread};
use model::workload::{Workload, WorkloadGroup, WorkloadId};
use scheduler::engine::{Announcement, Effect, Input};
use scheduler::news::GangOutcome;
use scheduler::write::{GroupState, WaitReason, Write};

use crate::gangs::{gang_world, node_in};
use crate::world::{World, group_name, pod, world};

fn group(at_least: u32, was_placed: bool) -> Change {
    Change::Group(GroupChange::Applied(Box::new(Group {
        id: GroupId { namespace: "default".into(), name: "gang".into() },
        uid: "uid-gang".into(),
        at_least,
        was_placed,
        preempts: true,
        ..Group::default()
    })))
}

fn member(name: &str) -> Pod {
    Pod { group: Some("gang".into()), ..pod(name, 1_000, &[]) }
}

/// What is noted on groups, step by step.
fn notes(world: &mut World) -> Vec<GroupState> {
    let mut notes = Vec::new();
    for _ in 0..10 {
        world.turn();
        for (_, write) in &world.open {
            if let Write::NoteGroup { state, .. } = write {
                notes.push(state.clone());
            }
        }
        world.carry_out();
    }
    notes
}

#[test]
fn a_group_is_noted_as_placed_once_when_enough_are_bound() {
    let mut world = gang_world();
    world.fact(node_in("r0", "a", 4_000));
    world.fact(group(2, false));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name)));
    world.turn();
    let is_note = |(_, write): &(_, Write)| matches!(write, Write::NoteGroup { .. });
    assert!(!world.open.iter().any(is_note), "nobody is bound yet: {:?}", world.open);
    assert_eq!(notes(&mut world), [GroupState::Placed]);
    assert!(world.told.iter().any(|line| line == "group gang: 2 pods are bound"), "{:?}", world.told);
    world.add_pod(member("m2"));
    assert!(notes(&mut world).is_empty(), "it was said before");
}

#[test]
fn a_group_without_room_says_why_unless_it_was_placed_before() {
    for was_placed in [false, true] {
        let mut world = gang_world();
        world.fact(node_in("r0", "a", 1_000));
        world.fact(group(2, was_placed));
        ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name)));
        let message = "pod group is unschedulable, 2 members do not fit at once: \
                       1 of 2 fit, insufficient cpu: 2 needed, 1 free"
            .to_owned();
        let waiting = GroupState::Waiting { reason: WaitReason::Unschedulable, message };
        assert_eq!(notes(&mut world), if was_placed { vec![] } else { vec![waiting] });
    }
}

#[test]
fn whoever_takes_over_notes_what_the_one_before_did_not() {
    let mut world = gang_world();
    world.fact(node_in("r0", "a", 4_000));
    for name in ["m0", "m1"] {
        world.add_pod(Pod { node: Some("a".into()), ..member(name) });
    }
    world.fact(group(2, false));
    assert!(world.open.is_empty(), "facts alone write nothing: {:?}", world.open);
    assert!(world.engine.wants_turn(world.now));
    assert_eq!(notes(&mut world), [GroupState::Placed]);
    assert!(!world.engine.wants_turn(world.now));
}

#[test]
fn a_member_that_fits_nowhere_even_alone_is_named_with_its_reason() {
    let mut world = gang_world();
    world.fact(node_in("r0", "a", 4_000));
    world.fact(group(2, false));
    world.add_pod(member("m0"));
    world.add_pod(Pod { group: Some("gang".into()), ..pod("m1", 5_000, &[]) });
    world.settle();
    let told = "m0: pod group is unschedulable, 2 members do not fit at once: \
                1 of 2 fit, insufficient cpu: 6 needed, 4 free; \
                pod m1: 0/1 nodes are available: 1 Insufficient cpu";
    assert!(world.told.iter().any(|line| line == told), "{:?}", world.told);
}

#[test]
fn memory_that_a_group_lacks_is_told_in_units_that_people_use() {
    for (each, told) in [(3 << 29, "3Gi needed, 1Gi free"), (700 << 20, "1400Mi needed, 1Gi free")] {
        let mut world = gang_world();
        world.fact(node_in("r0", "a", 4_000));
        world.fact(group(2, false));
        for name in ["m0", "m1"] {
            let pod = member(name);
            let requests = Resources { memory: each, ..pod.shape.requests.clone() };
            let shape = Shape { requests, ..Shape::clone(&pod.shape) };
            world.add_pod(Pod { shape: Arc::new(shape), ..pod });
        }
        world.settle();
        let line = world.told.iter().find(|line| line.starts_with("group gang: ")).expect("it is told");
        assert!(line.contains(&format!("insufficient memory: {told}")), "{line}");
    }
}

#[test]
fn a_spread_rule_that_keeps_members_off_is_named_with_its_topology_key() {
    let mut world = gang_world();
    for (rack, name) in [("r0", "a"), ("r1", "b")] {
        world.fact(node_in(rack, name, 3_000));
    }
    world.add_pod(Pod { node: Some("a".into()), ..pod("other", 3_000, &[]) });
    world.fact(group(3, false));
    let requirement = Requirement { key: "app".into(), operator: Operator::In, values: vec!["train".into()] };
    let spread = Spread {
        max_skew: 1,
        key: "rack".into(),
        required: true,
        selector: LabelSelector::All(vec![requirement]),
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    };
    for name in ["m0", "m1", "m2"] {
        let pod = member(name);
        let labels = [("app".into(), "train".into())].into();
        let shape = Shape { spread: vec![spread.clone()], labels, ..Shape::clone(&pod.shape) };
        world.add_pod(Pod { shape: Arc::new(shape), ..pod });
    }
    world.settle();
    let line = world.told.iter().find(|line| line.starts_with("group gang: ")).expect("it is told");
    let named = "node(s) didn't match pod topology spread constraints (topologyKey rack)";
    assert!(line.contains(named), "{line}");
}

fn own_workload(groups: &[(&str, u32)]) -> Change {
    let group = |(name, replicas): &(&str, u32)| WorkloadGroup {
        name: (*name).into(),
        at_least: 2,
        replicas: *replicas,
        binding_failure: None,
        terms: Default::default(),
    };
    Change::Group(GroupChange::WorkloadApplied(Box::new(Workload {
        id: WorkloadId { namespace: "default".into(), name: "w".into() },
        uid: "uid-w".into(),
        groups: groups.iter().map(group).collect(),
    })))
}

fn member_of(group: &str, name: &str) -> Pod {
    Pod { group: Some(group_name(group)), ..pod(name, 1_000, &[]) }
}

#[test]
fn replicas_of_our_own_workloads_are_told_of_like_groups() {
    let mut world = gang_world();
    world.fact(node_in("r0", "a", 4_000));
    world.fact(own_workload(&[("g", 2)]));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member_of("w/g/0", name)));
    world.settle();
    ["n0", "n1", "n2"].into_iter().for_each(|name| world.add_pod(member_of("w/g/1", name)));
    world.fact(own_workload(&[("g", 2)]));
    world.add_pod(Pod { node: Some("a".into()), ..pod("other", 1_500, &[]) });
    world.settle();
    for told in ["group w/g/0: nodes for 2 pods", "group w/g/0: 2 pods are bound"] {
        assert_eq!(world.told.iter().filter(|line| *line == told).count(), 1, "{:?}", world.told);
    }
    let is_note = |(_, write): &(_, Write)| matches!(write, Write::NoteGroup { .. });
    assert!(!world.open.iter().any(is_note), "there is no such object: {:?}", world.open);
    let refused = "group w/g/1: pod group is unschedulable";
    assert!(world.told.iter().any(|line| line.starts_with(refused)), "{:?}", world.told);
    // Another scheduler that begins tells nothing anew.
    let mut next = gang_world();
    next.fact(node_in("r0", "a", 4_000));
    next.fact(own_workload(&[("g", 2)]));
    world.pods.into_values().for_each(|pod| next.add_pod(pod));
    next.settle();
    assert!(!next.told.iter().any(|line| line.starts_with("group w/g/0")), "{:?}", next.told);
}

#[test]
fn a_group_for_which_others_go_is_told_to_wait_for_them() {
    let mut world = gang_world();
    world.fact(node_in("r0", "a", 2_000));
    world.add_pod(Pod { node: Some("a".into()), priority: -1, ..pod("victim", 2_000, &[]) });
    world.fact(group(2, false));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name)));
    let effects = world.engine.handle(world.now, Input::Turn { attempts: 1 });
    let outcome = effects.iter().find_map(|effect| match effect {
        Effect::Announce(Announcement::Gang(news)) => Some(news.outcome.clone()),
        _ => None,
    });
    assert!(matches!(outcome, Some(GangOutcome::MakingRoom { .. })), "{outcome:?}");
}

#[test]
fn a_note_that_could_not_be_written_is_repeated_until_it_is() {
    let mut world = gang_world();
    world.fact(node_in("r0", "a", 4_000));
    world.fact(group(2, false));
    let is_note: fn(&Write) -> bool = |write| matches!(write, Write::NoteGroup { .. });
    world.fail.extend([is_note, is_note, is_note]);
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name)));
    assert_eq!(notes(&mut world), [GroupState::Placed]);
    for seconds in [1, 2, 4] {
        assert!(!world.engine.wants_turn(world.now));
        world.later(seconds);
        assert!(world.engine.wants_turn(world.now), "{seconds}");
        assert_eq!(notes(&mut world), [GroupState::Placed], "{seconds}");
    }
    world.later(1_000);
    assert!(notes(&mut world).is_empty(), "it is written");
}

#[test]
fn a_note_that_could_not_be_written_is_dropped_with_its_group_and_for_another_note() {
    let mut world = gang_world();
    world.fact(group(2, false));
    let is_note: fn(&Write) -> bool = |write| matches!(write, Write::NoteGroup { .. });
    world.fail.push(is_note);
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name)));
    assert_eq!(notes(&mut world).len(), 1);
    world.fact(node_in("r0", "a", 4_000));
    world.later(300);
    let noted = notes(&mut world);
    assert_eq!(noted.last(), Some(&GroupState::Placed), "{noted:?}");
    world.fail.push(is_note);
    world.fact(group(2, false));
    let id = GroupId { namespace: "default".into(), name: "gang".into() };
    world.fact(Change::Group(GroupChange::Gone(id)));
    world.later(1_000);
    assert!(notes(&mut world).is_empty());
}

/// What pods were told, but for what is told of groups.
fn said<'w>(world: &'w World, pod: &str) -> Vec<&'w str> {
    let prefix = format!("{pod}: ");
    world.told.iter().filter_map(|line| line.strip_prefix(&prefix)).collect()
}

#[test]
fn a_pod_whose_group_does_not_exist_says_so_and_only_that_group_wakes_it() {
    let cases = [
        ("gang", None, "waiting for pod group gang, which does not exist", group(1, false)),
        ("w/g/0", None, "waiting for workload w, which does not exist", own_workload(&[("g", 1)])),
        (
            "w/g/0",
            Some(own_workload(&[("h", 1)])),
            "waiting for pod group g of workload w, which has no such group",
            own_workload(&[("g", 1), ("h", 1)]),
        ),
        (
            "w/g/2",
            Some(own_workload(&[("g", 2)])),
            "waiting for replica 2 of pod group g of workload w, which has 2, counted from 0",
            own_workload(&[("g", 3)]),
        ),
    ];
    for (name, before, message, remedy) in cases {
        let mut world = gang_world();
        world.fact(node_in("r0", "a", 4_000));
        before.into_iter().for_each(|change| world.fact(change));
        ["m0", "m1"].into_iter().for_each(|pod| world.add_pod(member_of(name, pod)));
        world.turn();
        assert!(world.told.is_empty(), "the group may be heard of in a moment: {:?}", world.told);
        world.later(1);
        assert!(world.engine.wants_turn(world.now));
        world.turn();
        let noted = world
            .open
            .iter()
            .filter(|(_, write)| matches!(write, Write::Note { message: noted, .. } if noted == message));
        assert_eq!(noted.count(), 2, "{:?}", world.open);
        assert_eq!((said(&world, "m0"), said(&world, "m1")), (vec![message], vec![message]));
        world.carry_out();
        // Nothing else wakes them, and nothing is said twice.
        world.fact(node_in("r0", "b", 4_000));
        world.add_pod(pod("other", 100, &[]));
        world.settle();
        world.later(3_600);
        world.settle();
        assert_eq!((said(&world, "m0").len(), world.node_of("m0")), (1, None), "{name}");
        world.fact(remedy);
        world.settle();
        assert!(world.node_of("m0").is_some() && world.node_of("m1").is_some(), "{name}: {:?}", world.told);
    }
}

#[test]
fn pods_whose_group_goes_while_they_wait_are_told() {
    let mut world = gang_world();
    world.fact(group(3, false));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name)));
    world.later(10);
    world.settle();
    let id = GroupId { namespace: "default".into(), name: "gang".into() };
    world.fact(Change::Group(GroupChange::Gone(id)));
    world.later(1);
    world.settle();
    let too_few = "waiting for pod group gang to have at least 3 pods; hint: create the missing pods, or lower minCount";
    assert_eq!(said(&world, "m0"), [too_few, "waiting for pod group gang, which does not exist"]);
}

#[test]
fn a_group_that_is_heard_of_in_time_leaves_nothing_to_be_said() {
    let mut world = gang_world();
    world.fact(node_in("r0", "a", 4_000));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name)));
    world.now = world.now.plus_millis(500);
    world.fact(group(2, false));
    world.settle();
    world.later(10);
    world.settle();
    assert!(!world.told.iter().any(|line| line.contains("does not exist")), "{:?}", world.told);
}

#[test]
fn a_group_that_is_ignored_is_told_of_once() {
    let mut world = world();
    world.fact(node_in("r0", "a", 4_000));
    ["m0", "m1"].into_iter().for_each(|name| world.add_pod(member(name)));
    world.settle();
    let told = "pod group gang is ignored and its pods are scheduled individually, because feature gate GenericWorkload is off";
    assert_eq!(said(&world, "m0").len() + said(&world, "m1").len(), 1, "{:?}", world.told);
    assert!(world.told.iter().any(|line| line.ends_with(told)), "{:?}", world.told);
    assert!(world.node_of("m0").is_some() && world.node_of("m1").is_some());
}
