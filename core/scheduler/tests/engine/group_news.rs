//! What is told of groups, and noted on them.

use model::group::{Group, GroupId};
use model::pod::Pod;
use scheduler::change::{Change, GroupChange, GroupState, WaitReason, Write};

use crate::gangs::{gang_world, node_in};
use crate::world::{World, pod};

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
        let message = "pod group is unschedulable, there is no room for 2 members at once: \
                       cpu is enough for 1, 2000 needed, 1000 free"
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
    let told = "m0: pod group is unschedulable, there is no room for 2 members at once: \
                cpu is enough for 1, 6000 needed, 4000 free; \
                pod m1: 0/1 nodes are available: 1 Insufficient cpu";
    assert!(world.told.iter().any(|line| line == told), "{:?}", world.told);
}
