//! What becomes of a gang of which a member cannot be bound, as its policy or that of the scheduler says.

use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use model::group::{BindingFailure, Group, GroupId};
use model::pod::Pod;
use model::workload::{LevelTerm, Terms, Workload, WorkloadGroup, WorkloadId};
use scheduler::engine::{Engine, Input};
use scheduler::write::{Preemptor, Write, WriteOutcome};

use crate::gangs::{applied, gang, gang_settings, gang_world, node_in};
use crate::world::{World, group_name, pod};

const MEMBERS: [&str; 3] = ["m0", "m1", "m2"];

/// How a policy is given: by the group, by the scheduler, and by a workload of our own.
#[derive(Clone, Copy, Debug)]
pub enum Given {
    Group,
    Scheduler,
    Workload,
}

/// A group of three on these levels, with a policy of its own unless the scheduler gives it.
pub fn policy_group(policy: BindingFailure, given: Given, levels: &[&str]) -> Change {
    let said = (!matches!(given, Given::Scheduler)).then_some(policy);
    match given {
        Given::Workload => {
            let level = |level: &&str| LevelTerm { level: (*level).into(), rank: None };
            let terms = Terms { levels: levels.iter().map(level).collect(), ..Terms::default() };
            Change::Group(GroupChange::WorkloadApplied(Box::new(Workload {
                id: WorkloadId { namespace: "default".into(), name: "w".into() },
                uid: "uid-w".into(),
                groups: vec![WorkloadGroup {
                    name: "g".into(),
                    at_least: 3,
                    replicas: 1,
                    binding_failure: said,
                    terms: Arc::new(terms),
                }],
            })))
        }
        Given::Group | Given::Scheduler => applied(Group {
            id: GroupId { namespace: "default".into(), name: group_name("w/g/0") },
            binding_failure: said,
            levels: levels.iter().map(|level| (*level).into()).collect(),
            ..gang("w/g/0", 3, 0, Default::default())
        }),
    }
}

fn policy_world(policy: BindingFailure, given: Given) -> World {
    let mut world = gang_world();
    let mut settings = gang_settings();
    let mut profile = decisions::profile::Profile::clone(&settings.profiles[0]);
    // What the group says counts more.
    profile.binding_failure = match (given, policy) {
        (Given::Scheduler, _) => policy,
        (_, BindingFailure::Replace) => BindingFailure::Release,
        (_, BindingFailure::Release) => BindingFailure::Replace,
    };
    settings.profiles = vec![profile.into()];
    world.engine = Engine::new(settings);
    for name in ["a", "b", "c"] {
        world.fact(node_in("r0", name, 4_000));
    }
    world.fact(policy_group(policy, given, &[]));
    MEMBERS.iter().for_each(|name| world.add_pod(member(name)));
    world
}

fn member(name: &str) -> Pod {
    Pod { group: Some(group_name("w/g/0")), ..pod(name, 3_000, &[]) }
}

fn bound(world: &World) -> usize {
    MEMBERS.iter().filter(|name| world.node_of(name).is_some()).count()
}

/// Sends the gang on its way; of the member at `failing` it is told that it could not be bound, in any order.
fn fail_one(world: &mut World, failing: usize, first: bool) {
    world.turn();
    let mut open = std::mem::take(&mut world.open);
    assert_eq!(open.len(), 3, "{open:?}");
    let failed = open.remove(failing);
    let at = if first { 0 } else { open.len() };
    open.insert(at, failed.clone());
    for (id, write) in open {
        let outcome = match id == failed.0 {
            true => WriteOutcome::Failed("no".to_owned()),
            false => world.apply(&write),
        };
        world.tell(Input::Settled(id, outcome));
    }
}

pub fn evicted(world: &World) -> usize {
    let is_eviction = |(_, write): &&(_, Write)| matches!(write, Write::Evict { by: Preemptor::OwnGang, .. });
    world.open.iter().filter(is_eviction).count()
}

#[test]
fn a_member_that_cannot_be_bound_gets_another_place_beside_the_others_if_the_policy_is_to_replace_it() {
    for given in [Given::Group, Given::Scheduler, Given::Workload] {
        for (failing, first) in [(0, true), (1, true), (2, false)] {
            let mut world = policy_world(BindingFailure::Replace, given);
            fail_one(&mut world, failing, first);
            assert_eq!((evicted(&world), bound(&world)), (0, 2), "{given:?}");
            world.later(20);
            world.settle();
            assert_eq!(bound(&world), 3, "{given:?}");
        }
    }
}

#[test]
fn a_gang_is_let_go_as_a_whole_and_placed_anew_if_the_policy_is_to_release_it() {
    for given in [Given::Group, Given::Scheduler, Given::Workload] {
        for (failing, first) in [(0, true), (1, true), (2, false)] {
            let mut world = policy_world(BindingFailure::Release, given);
            world.lingering = true;
            fail_one(&mut world, failing, first);
            assert_eq!((evicted(&world), bound(&world)), (2, 2), "{given:?}: {:?}", world.open);
            let told = "another pod of the group could not be bound; the whole group is rescheduled";
            assert_eq!(world.told.iter().filter(|line| line.ends_with(told)).count(), 2, "{:?}", world.told);
            // As long as they are going, no pod is placed beside them.
            world.settle();
            world.later(60);
            world.settle();
            assert_eq!(bound(&world), 2, "{given:?}: {:?}", world.told);
            let gone: Vec<&str> = MEMBERS.into_iter().filter(|name| world.node_of(name).is_some()).collect();
            gone.iter().for_each(|name| world.let_go(name));
            world.later(60);
            world.settle();
            assert_eq!(bound(&world), 0, "one is too few");
            gone.iter().for_each(|name| world.add_pod(member(name)));
            world.later(60);
            world.settle();
            assert_eq!(bound(&world), 3, "{given:?}: {:?}", world.told);
        }
    }
}

#[test]
fn members_that_ran_before_are_not_let_go_for_one_that_cannot_join_them() {
    let mut world = policy_world(BindingFailure::Release, Given::Group);
    world.settle();
    assert_eq!(bound(&world), 3);
    world.let_go("m1");
    world.add_pod(member("m1"));
    world.fail.push(|write| matches!(write, Write::Bind { .. }));
    world.turn();
    world.carry_out();
    assert_eq!((evicted(&world), bound(&world)), (0, 2), "{:?}", world.open);
    world.later(20);
    world.settle();
    assert_eq!(bound(&world), 3);
}

#[test]
fn a_gang_that_is_whole_without_the_one_that_failed_is_not_let_go() {
    let mut world = policy_world(BindingFailure::Release, Given::Group);
    world.add_pod(member("m3"));
    world.fact(node_in("r0", "d", 4_000));
    world.fail.push(|write| matches!(write, Write::Bind { pod, .. } if &*pod.name == "m3"));
    world.turn();
    world.carry_out();
    assert_eq!((evicted(&world), bound(&world)), (0, 3), "{:?}", world.open);
    world.later(20);
    world.settle();
    assert!(world.node_of("m3").is_some());
}

#[test]
fn a_gang_whose_members_cannot_be_let_go_is_completed_instead() {
    let mut world = policy_world(BindingFailure::Release, Given::Group);
    fail_one(&mut world, 0, true);
    let is_eviction: fn(&Write) -> bool = |write| matches!(write, Write::Evict { .. });
    world.fail.extend([is_eviction, is_eviction]);
    world.carry_out();
    world.later(60);
    world.settle();
    assert_eq!(bound(&world), 3, "{:?}", world.told);
}
