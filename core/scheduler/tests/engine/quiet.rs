//! What is written while nothing helps those that wait: little.

use cluster::change::Change;
use model::group::Disruption;
use model::node::{NodeTaint, NodeTaintEffect};
use model::pod::Pod;
use scheduler::engine::{Announcement, Effect, Input};
use scheduler::write::{Write, WriteId, WriteOutcome};

use crate::gangs::{applied, gang, gang_world, member_of};
use crate::world::{World, node, pod, world};

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

/// What 100 deletions that help no gang cause, if they come so many milliseconds apart.
fn written_at_pace(every_ms: i64) -> usize {
    let mut world = crowded();
    let told = settle(&mut world);
    assert!(
        told >= 1_100,
        "each gang and each of its pods is told why it waits, and that is an event: {told}"
    );
    let mut count = 0;
    for number in 0..100 {
        let gone = format!("uid-there-{}-0", 2 * number);
        count += written(&mut world, Input::Changed(Change::PodGone(gone.as_str().into())));
        // Whatever is to be done meanwhile is done when its time comes.
        let next = world.now.plus_millis(every_ms);
        while world.now < next {
            count += settle(&mut world);
            world.now = world.now.plus_millis(every_ms.min(10_000)).min(next);
        }
    }
    count
}

#[test]
fn deletions_that_help_no_gang_cause_few_writes_at_any_pace() {
    for every_ms in [1_000, 5_000, 10_000, 60_000, 600_000] {
        let count = written_at_pace(every_ms);
        assert!(count <= 200, "{count} writes and events for 100 deletions, one each {every_ms} ms");
    }
}

#[test]
fn room_for_one_pod_of_a_gang_that_comes_and_goes_causes_few_writes() {
    let mut world = crowded();
    settle(&mut world);
    let mut count = 0;
    for number in 0..50 {
        world.now = world.now.plus_millis(1_000);
        for part in 0..4 {
            let gone = format!("uid-there-{number}-{part}");
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
fn figures_are_refreshed_on_groups_one_after_the_other_and_not_on_their_pods() {
    let mut world = crowded();
    settle(&mut world);
    world.now = world.now.plus_millis(400_000);
    assert_eq!(settle(&mut world), 0, "it is as it was");
    let mut count = 0;
    for number in 0..5 {
        // There is room for one pod more of each gang.
        for part in 0..4 {
            let gone = format!("uid-there-{number}-{part}");
            count += written(&mut world, Input::Changed(Change::PodGone(gone.as_str().into())));
        }
        count += settle(&mut world);
        world.now = world.now.plus_millis(5_000);
    }
    for _ in 0..100 {
        count += settle(&mut world);
        world.now = world.now.plus_millis(1_000);
    }
    assert!(
        (1..=5).contains(&count),
        "each change pays for one refresh at the most, and that is no event: {count}"
    );
}

#[test]
fn what_could_not_be_noted_on_a_pod_is_noted_again() {
    let mut world = world();
    world.fact(node("n", 1_000));
    world.fail.push(|write| matches!(write, Write::Note { .. }));
    world.add_pod(pod("waits", 3_000, &[]));
    world.settle();
    assert_eq!(world.conditions.get("uid-waits"), None);
    world.later(400);
    world.settle();
    assert!(world.conditions.contains_key("uid-waits"));
}
