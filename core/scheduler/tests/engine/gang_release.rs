//! Gangs and trees that are let go as wholes if one of them cannot be bound, whichever scheduler is at work when that is found out.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::change::Change;
use decisions::profile::Profile;
use decisions::settings::Settings;
use model::group::BindingFailure;
use model::pod::Pod;
use scheduler::engine::{Engine, Input};
use scheduler::write::{Write, WriteOutcome};

use crate::gang_policy::{Given, evicted, policy_group};
use crate::gangs::{node_in, seats};
use crate::group_trees::{leaf, tree, tree_settings};
use crate::world::{World, group_name, pod, world};

const MEMBERS: [&str; 3] = ["m0", "m1", "m2"];

const GIVEN: [Given; 3] = [Given::Group, Given::Scheduler, Given::Workload];

fn settings(by_default: BindingFailure) -> Settings {
    let profile = Profile { binding_failure: by_default, ..Profile::named("supercargo") };
    Settings { profiles: vec![Arc::new(profile)], ..tree_settings() }
}

/// Two racks of three nodes each.
fn nodes() -> Vec<Change> {
    let names = [("r0", "a"), ("r0", "b"), ("r0", "c"), ("r1", "d"), ("r1", "e"), ("r1", "f")];
    names.iter().map(|(rack, name)| node_in(rack, name, 4_000)).collect()
}

/// All that the API has besides pods: nodes, and a group of three that are to be in one rack.
fn facts(policy: BindingFailure, given: Given) -> Vec<Change> {
    let group = policy_group(policy, given, &["rack"]);
    nodes().into_iter().chain([group]).collect()
}

/// A scheduler that has yet to be told anything but these facts and the pods that there are.
fn begin(world: &mut World, settings: Settings, facts: Vec<Change>) {
    world.engine = Engine::new(settings);
    world.open.clear();
    facts.into_iter().for_each(|fact| world.fact(fact));
    let pods: Vec<Pod> = world.pods.values().cloned().collect();
    pods.into_iter().for_each(|pod| world.add_pod(pod));
}

/// A gang of which a scheduler bound so many before another took its place.
fn half_bound(policy: BindingFailure, given: Given, bound: usize) -> World {
    let mut world = gang_on_its_way(policy, given);
    for (_, write) in world.open.split_off(0).iter().take(bound) {
        world.apply(write);
    }
    begin(&mut world, policy_settings(policy, given), facts(policy, given));
    world
}

fn policy_settings(policy: BindingFailure, given: Given) -> Settings {
    // What the group says counts more.
    settings(match (given, policy) {
        (Given::Scheduler, policy) => policy,
        (_, BindingFailure::Replace) => BindingFailure::Release,
        (_, BindingFailure::Release) => BindingFailure::Replace,
    })
}

fn gang_on_its_way(policy: BindingFailure, given: Given) -> World {
    let mut world = world();
    begin(&mut world, policy_settings(policy, given), facts(policy, given));
    MEMBERS.iter().for_each(|name| add(&mut world, "w/g/0", name));
    world.turn();
    assert_eq!(world.open.len(), 3, "{:?}", world.open);
    world
}

/// A member that is made now.
fn add(world: &mut World, group: &str, name: &str) {
    world.add_pod(Pod { group: Some(group_name(group)), created: Some(world.now), ..pod(name, 3_000, &[]) });
}

fn bound(world: &World, names: &[&str]) -> usize {
    names.iter().filter(|name| world.node_of(name).is_some()).count()
}

/// Takes the room of those that wait in the first rack.
fn fill_up(world: &mut World) {
    let taken: BTreeSet<String> =
        world.pods.values().filter_map(|pod| Some(pod.node.clone()?.to_string())).collect();
    for name in ["a", "b", "c"].into_iter().filter(|name| !taken.contains(*name)) {
        world.add_pod(Pod { node: Some(name.into()), ..pod(&format!("filler-{name}"), 4_000, &[]) });
    }
}

#[test]
fn a_gang_that_was_left_half_bound_is_completed_if_there_is_room() {
    for given in GIVEN {
        for before in 0..3 {
            let mut world = half_bound(BindingFailure::Release, given, before);
            world.turn();
            assert_eq!(evicted(&world), 0, "{given:?} {before}: {:?}", world.open);
            world.settle();
            assert_eq!(bound(&world, &MEMBERS), 3, "{given:?} {before}: {}", seats(&world));
        }
    }
}

#[test]
fn a_gang_that_was_left_half_bound_is_let_go_and_placed_anew_if_there_is_no_room_for_the_others() {
    for given in GIVEN {
        for before in [1, 2] {
            let mut world = half_bound(BindingFailure::Release, given, before);
            fill_up(&mut world);
            world.turn();
            assert_eq!(evicted(&world), before, "{given:?}: {:?}", world.open);
            world.settle();
            let gone: Vec<&str> = MEMBERS
                .into_iter()
                .filter(|name| !world.pods.contains_key(&*format!("uid-{name}")))
                .collect();
            assert_eq!((gone.len(), bound(&world, &MEMBERS)), (before, 0), "{given:?}: {}", seats(&world));
            world.later(20);
            gone.iter().for_each(|name| add(&mut world, "w/g/0", name));
            world.settle();
            assert_eq!(bound(&world, &MEMBERS), 3, "{given:?}: {}", seats(&world));
            assert!(MEMBERS.iter().all(|name| "def".contains(&*world.node_of(name).expect("it is bound"))));
        }
    }
}

#[test]
fn what_is_left_of_a_gang_that_was_whole_is_not_let_go_for_a_pod_that_was_not_bound_with_it() {
    for given in GIVEN {
        let policy = BindingFailure::Release;
        let mut world = world();
        begin(&mut world, policy_settings(policy, given), facts(policy, given));
        let names = ["m0", "m1", "m2", "m3"];
        names.iter().for_each(|name| add(&mut world, "w/g/0", name));
        world.settle();
        let first = names.into_iter().find(|name| world.node_of(name).is_some()).expect("there is room");
        assert_eq!(bound(&world, &names), 3, "{given:?}: {}", seats(&world));
        world.let_go(first);
        begin(&mut world, policy_settings(policy, given), facts(policy, given));
        fill_up(&mut world);
        world.settle();
        assert_eq!(bound(&world, &names), 2, "{given:?}: {}", seats(&world));
    }
}

#[test]
fn a_gang_that_was_left_half_bound_waits_for_room_if_members_are_to_be_replaced() {
    for given in GIVEN {
        let mut world = half_bound(BindingFailure::Replace, given, 2);
        fill_up(&mut world);
        world.settle();
        assert_eq!(bound(&world, &MEMBERS), 2, "{given:?}: {}", seats(&world));
    }
}

#[test]
fn nobody_is_let_go_for_a_member_that_was_lost_whoever_schedules_then() {
    for given in GIVEN {
        let mut world = half_bound(BindingFailure::Release, given, 3);
        world.settle();
        world.later(60);
        world.let_go("m1");
        fill_up(&mut world);
        add(&mut world, "w/g/0", "m1");
        for _ in 0..2 {
            world.settle();
            world.later(60);
            assert_eq!(bound(&world, &MEMBERS), 2, "{given:?}: {}", seats(&world));
            // The next scheduler knows only what the API has.
            begin(
                &mut world,
                policy_settings(BindingFailure::Release, given),
                facts(BindingFailure::Release, given),
            );
        }
    }
}

#[test]
fn a_member_that_somebody_else_bound_is_not_let_go() {
    let mut world = half_bound(BindingFailure::Release, Given::Group, 0);
    let by_hand = Pod { node: Some("a".into()), ..world.pods["uid-m0"].clone() };
    world.add_pod(by_hand);
    fill_up(&mut world);
    world.settle();
    assert_eq!(world.node_of("m0").as_deref(), Some("a"), "{}", seats(&world));
}

/// Tells what became of bindings: that of one failed.
fn fail_binding(world: &mut World, name: &str) {
    for (id, write) in world.open.split_off(0) {
        let outcome = match &write {
            Write::Bind { pod, .. } if &*pod.name == name => WriteOutcome::Failed("no".to_owned()),
            write => world.apply(write),
        };
        world.tell(Input::Settled(id, outcome));
    }
}

#[test]
fn what_one_scheduler_began_to_let_go_the_next_lets_go() {
    for given in GIVEN {
        let mut world = gang_on_its_way(BindingFailure::Release, given);
        world.lingering = true;
        fail_binding(&mut world, "m2");
        assert_eq!(evicted(&world), 2, "{given:?}: {:?}", world.open);
        let first = world.open.iter().find(|(_, write)| matches!(write, Write::Evict { .. })).cloned();
        world.apply(&first.expect("somebody is let go").1);
        begin(
            &mut world,
            policy_settings(BindingFailure::Release, given),
            facts(BindingFailure::Release, given),
        );
        world.turn();
        assert_eq!(evicted(&world), 1, "{given:?}: {:?}", world.open);
        world.settle();
        world.later(60);
        world.settle();
        let going = world.pods.values().filter(|pod| pod.deleting).count();
        assert_eq!((going, world.node_of("m2")), (2, None), "{given:?}: {}", seats(&world));
        for name in ["m0", "m1"] {
            world.let_go(name);
            add(&mut world, "w/g/0", name);
        }
        world.later(60);
        world.settle();
        assert_eq!(bound(&world, &MEMBERS), 3, "{given:?}: {}", seats(&world));
    }
}

const TREE: [&str; 4] = ["x0", "x1", "y0", "y1"];

/// What the API has of a tree of two groups of two, of which so many have to be placed.
fn tree_facts(at_least: u32) -> Vec<Change> {
    let composite = tree("t", at_least, None, None);
    let nodes = nodes().into_iter();
    nodes.chain([composite, leaf("x", 2, Some("rack"), "t"), leaf("y", 2, Some("rack"), "t")]).collect()
}

fn tree_on_its_way(policy: BindingFailure, at_least: u32) -> World {
    let mut world = world();
    begin(&mut world, settings(policy), tree_facts(at_least));
    TREE.iter().for_each(|name| add(&mut world, &name[..1], name));
    world.turn();
    assert_eq!(world.open.len(), 4, "{:?}", world.open);
    world
}

fn add_missing(world: &mut World) {
    for name in TREE {
        if !world.pods.contains_key(&*format!("uid-{name}")) {
            add(world, &name[..1], name);
        }
    }
}

#[test]
fn a_tree_of_which_one_cannot_be_bound_is_let_go_as_a_whole_and_placed_anew() {
    for failing in TREE {
        let mut world = tree_on_its_way(BindingFailure::Release, 2);
        fail_binding(&mut world, failing);
        assert_eq!(evicted(&world), 3, "{failing}: {:?}", world.open);
        world.settle();
        assert_eq!(bound(&world, &TREE), 0, "{failing}: {}", seats(&world));
        world.later(60);
        add_missing(&mut world);
        world.settle();
        assert_eq!(bound(&world, &TREE), 4, "{failing}: {}", seats(&world));
    }
}

#[test]
fn nobody_of_a_tree_is_placed_while_members_that_were_let_go_are_there() {
    let mut world = tree_on_its_way(BindingFailure::Release, 2);
    world.lingering = true;
    fail_binding(&mut world, "y1");
    world.settle();
    world.later(60);
    world.settle();
    assert_eq!(bound(&world, &TREE), 3, "{}", seats(&world));
    assert_eq!(world.node_of("y1"), None, "{}", seats(&world));
}

#[test]
fn a_member_of_a_tree_gets_another_place_if_the_policy_is_to_replace_it() {
    let mut world = tree_on_its_way(BindingFailure::Replace, 2);
    fail_binding(&mut world, "y1");
    assert_eq!(evicted(&world), 0, "{:?}", world.open);
    world.later(60);
    world.settle();
    assert_eq!(bound(&world, &TREE), 4, "{}", seats(&world));
}

#[test]
fn of_a_tree_that_is_whole_without_a_group_only_that_group_is_let_go() {
    let mut world = tree_on_its_way(BindingFailure::Release, 1);
    fail_binding(&mut world, "y1");
    assert_eq!(evicted(&world), 1, "{:?}", world.open);
    world.settle();
    assert_eq!((bound(&world, &TREE[..2]), bound(&world, &TREE[2..])), (2, 0), "{}", seats(&world));
    world.later(60);
    add_missing(&mut world);
    world.settle();
    assert_eq!(bound(&world, &TREE), 4, "{}", seats(&world));
}

#[test]
fn a_tree_that_was_left_half_bound_is_completed_or_let_go() {
    for has_room in [true, false] {
        let mut world = tree_on_its_way(BindingFailure::Release, 2);
        for (_, write) in world.open.split_off(0).iter().take(3) {
            world.apply(write);
        }
        begin(&mut world, settings(BindingFailure::Release), tree_facts(2));
        if !has_room {
            for name in ["a", "b", "c", "d", "e", "f"] {
                world.add_pod(Pod { node: Some(name.into()), ..pod(&format!("filler-{name}"), 1_500, &[]) });
            }
        }
        world.turn();
        assert_eq!(evicted(&world), if has_room { 0 } else { 3 }, "{:?}", world.open);
        world.settle();
        assert_eq!(bound(&world, &TREE), if has_room { 4 } else { 0 }, "{}", seats(&world));
    }
}
