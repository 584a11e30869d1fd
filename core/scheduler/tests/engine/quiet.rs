//! What is written while nothing helps those that wait: little.

use cluster::change::Change;
use model::group::Disruption;
use model::node::{NodeTaint, NodeTaintEffect};
use model::pod::Pod;
use scheduler::engine::{Announcement, Effect, Input};
use scheduler::write::{Write, WriteId, WriteOutcome};

use crate::gangs::{applied, gang, gang_world, member_of};
use crate::world::{World, node, pod};

/// Events and writes that came of an input, which is answered.
fn written(world: &mut World, input: Input) -> usize {
    let effects = world.engine.handle(world.now, input);
    let mut writes: Vec<WriteId> = Vec::new();
    let mut events = 0;
    for effect in &effects {
        match effect {
            Effect::Submit(id, write) => {
                assert!(matches!(write, Write::Note { .. } | Write::NoteGroup { .. }), "{write:?}");
                writes.push(*id);
            }
            Effect::Announce(Announcement::FailedScheduling { is_news: true, .. }) => events += 1,
            Effect::Announce(Announcement::Gang(news)) => events += usize::from(news.is_news),
            Effect::Announce(_) | Effect::WakeAt(_) => {}
            Effect::Consider(..) => unreachable!("nothing here takes long to decide"),
        }
    }
    let count = writes.len() + events;
    let answer = |id: WriteId| Input::Settled(id, WriteOutcome::Done);
    count + writes.into_iter().map(|id| written(world, answer(id))).sum::<usize>()
}

/// 200 nodes that are full of small pods, and 50 gangs of ten that each want more than there is.
fn crowded() -> World {
    let mut world = gang_world();
    for number in 0..200 {
        world.fact(node(&format!("n{number}"), 4_000));
        for part in 0..4 {
            let there = pod(&format!("there-{number}-{part}"), 1_000, &[]);
            let there = Pod { node: Some(format!("n{number}").as_str().into()), priority: 10, ..there };
            world.fact(Change::PodApplied(there.into()));
        }
    }
    for number in 0..50 {
        let name = format!("g{number}");
        let mut group = gang(&name, 10, 0, Disruption::default());
        group.levels.clear();
        world.fact(applied(group));
        for member in 0..10 {
            let pod = member_of(&name, 0, pod(&format!("{name}-{member}"), 3_500, &[]));
            world.fact(Change::PodApplied(pod.into()));
        }
    }
    world
}

fn settle(world: &mut World) -> usize {
    let mut count = 0;
    for _ in 0..200 {
        count += written(world, Input::Turn { attempts: 100 });
    }
    count
}

#[test]
fn deletions_that_help_no_gang_cause_few_writes() {
    let mut world = crowded();
    let told = settle(&mut world);
    assert!(
        told >= 1_100,
        "each gang and each of its pods is told why it waits, and that is an event: {told}"
    );
    let mut count = 0;
    for number in 0..100 {
        world.now = world.now.plus_millis(1_000);
        let gone = format!("there-{}-0", 2 * number);
        count += written(&mut world, Input::Changed(Change::PodGone(gone.as_str().into())));
        count += settle(&mut world);
    }
    assert!(count <= 200, "{count} writes and events for 100 deletions");
}

#[test]
fn room_for_one_pod_of_a_gang_that_comes_and_goes_causes_few_writes() {
    let mut world = crowded();
    settle(&mut world);
    let mut count = 0;
    for number in 0..50 {
        world.now = world.now.plus_millis(1_000);
        for part in 0..4 {
            let gone = format!("there-{number}-{part}");
            count += written(&mut world, Input::Changed(Change::PodGone(gone.as_str().into())));
        }
        count += settle(&mut world);
        let other = Pod {
            node: Some(format!("n{number}").as_str().into()),
            ..pod(&format!("o{number}"), 4_000, &[])
        };
        count +=
            written(&mut world, Input::Changed(Change::PodApplied(Pod { priority: 10, ..other }.into())));
        count += settle(&mut world);
    }
    assert!(count <= 200, "{count} writes and events");
}

#[test]
fn another_reason_is_told_at_once() {
    let mut world = crowded();
    settle(&mut world);
    for number in 0..200 {
        let Change::NodeApplied(mut node) = node(&format!("n{number}"), 4_000) else {
            unreachable!("a node comes")
        };
        let effect = NodeTaintEffect::NoSchedule;
        node.taints.push(NodeTaint { key: "worn".into(), value: "".into(), effect });
        world.fact(Change::NodeApplied(node));
    }
    // Sooner than members are told the same again.
    world.now = world.now.plus_millis(400_000);
    let told = settle(&mut world);
    assert!(told >= 1_100, "no pod tolerates the taints of the nodes: {told}");
}

#[test]
fn figures_are_refreshed_on_groups_and_not_on_each_of_their_pods() {
    let mut world = crowded();
    settle(&mut world);
    world.now = world.now.plus_millis(400_000);
    let told = settle(&mut world);
    assert!((50..=100).contains(&told), "one write and one event for each of 50 groups: {told}");
}
