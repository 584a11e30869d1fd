//! What becomes of a gang when writes for its members fail, in every order, and when the scheduler is replaced meanwhile.

use std::collections::BTreeSet;

use cluster::change::Change;
use model::group::Disruption;
use model::pod::Pod;
use scheduler::engine::Input;
use scheduler::write::{Write, WriteId, WriteOutcome};

use crate::gangs::{applied, gang, member, racks, seats};
use crate::world::{World, claim, claim_id, gpu_class, gpus, pod};

const MEMBERS: [&str; 3] = ["m0", "m1", "m2"];

/// Two racks with a card on every node, and a gang of three with a claim each.
fn with_cards() -> World {
    let mut world = racks();
    world.fact(gpu_class());
    for name in ["a", "b", "c", "d"] {
        world.fact(gpus(name, &["gpu-0", "gpu-1"]));
    }
    world.fact(applied(gang("gang", 3, 0, Disruption::Single)));
    for name in MEMBERS {
        world.add_claim(claim(name));
        world.add_pod(member(name, 1_500, &[name]));
    }
    world
}

/// Which member a write is for.
fn whose(write: &Write) -> &str {
    match write {
        Write::Allocate { claim, .. } | Write::Reserve { claim, .. } => &claim.name,
        Write::Bind { pod, .. } => &pod.name,
        other => unreachable!("{other:?} is neither for a claim nor for a node"),
    }
}

/// Answers what is open in an order; of those in `failing` it is told that they failed.
fn answer(world: &mut World, order: [usize; 3], failing: &BTreeSet<usize>) {
    let mut open = std::mem::take(&mut world.open);
    open.sort_by(|(_, left), (_, right)| whose(left).cmp(whose(right)));
    assert_eq!(open.len(), 3, "{open:?}");
    for at in order {
        let (id, write) = &open[at];
        let outcome = match failing.contains(&at) {
            true => WriteOutcome::Failed("no".to_owned()),
            false => world.apply(write),
        };
        world.tell(Input::Settled(*id, outcome));
    }
    world.check();
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

fn failures() -> impl Iterator<Item = BTreeSet<usize>> {
    (0..8_u32).map(|bits| (0..3).filter(|at| bits & (1 << at) != 0).collect())
}

fn bound(world: &World) -> usize {
    MEMBERS.iter().filter(|name| world.node_of(name).is_some()).count()
}

fn racks_of(world: &World) -> BTreeSet<&'static str> {
    let nodes = MEMBERS.iter().filter_map(|name| world.node_of(name));
    nodes.map(|node| if ["a", "b"].contains(&&*node) { "r0" } else { "r1" }).collect()
}

#[test]
fn if_a_claim_cannot_be_written_nobody_is_bound_in_whatever_order_that_is_known() {
    for order in ORDERS {
        for failing in failures().filter(|failing| !failing.is_empty()) {
            let mut world = with_cards();
            world.turn();
            answer(&mut world, order, &failing);
            assert!(
                !world.open.iter().any(|(_, write)| matches!(write, Write::Bind { .. })),
                "{order:?} {failing:?}: {:?}",
                world.open
            );
            world.carry_out();
            world.carry_out();
            let used = world.claims.values().filter(|claim| !claim.reserved_for.is_empty());
            assert_eq!((bound(&world), used.count()), (0, 0), "{order:?} {failing:?}");
            world.later(20);
            world.settle();
            assert_eq!(bound(&world), 3, "{order:?} {failing:?}: {:?}", world.told.last());
        }
    }
}

#[test]
fn who_cannot_be_bound_is_bound_again_beside_the_others_in_whatever_order_that_is_known() {
    for order in ORDERS {
        for failing in failures() {
            let mut world = with_cards();
            world.turn();
            answer(&mut world, order, &BTreeSet::new());
            answer(&mut world, order, &failing);
            assert_eq!(bound(&world), 3 - failing.len(), "{order:?} {failing:?}");
            world.settle();
            world.later(20);
            world.settle();
            assert_eq!(bound(&world), 3, "{order:?} {failing:?}: {:?}", world.told.last());
            assert_eq!(racks_of(&world).len(), 1, "{order:?} {failing:?}: {}", seats(&world));
        }
    }
}

#[test]
fn a_member_for_whom_a_write_failed_is_left_alone_for_a_while_even_if_others_of_its_gang_wait() {
    let mut world = with_cards();
    world.add_claim(claim("m3"));
    // There is no room for it, and it waits for news of claims and of pods that go.
    world.add_pod(member("m3", 9_000, &["m3"]));
    world.settle();
    assert_eq!(bound(&world), 3);
    world.let_go("m0");
    world.later(20);
    world.add_claim(claim("m4"));
    world.fail.push(|write| matches!(write, Write::Allocate { .. }));
    world.add_pod(member("m4", 1_500, &["m4"]));
    world.turn();
    world.carry_out();
    for _ in 0..5 {
        world.turn();
        let is_tried = world.open.iter().any(|(_, write)| matches!(write, Write::Allocate { .. }));
        assert!(!is_tried, "it would only go wrong again: {:?}", world.open);
        world.carry_out();
    }
    world.later(20);
    world.settle();
    assert!(world.node_of("m4").is_some(), "{:?}", world.told.last());
}

#[test]
fn a_gang_of_which_nobody_could_be_bound_may_go_to_another_rack() {
    let mut world = with_cards();
    world.turn();
    answer(&mut world, [0, 1, 2], &BTreeSet::new());
    // The rack is full before it is known that no member could be bound there.
    world.add_pod(Pod { node: Some("a".into()), ..pod("x", 4_000, &[]) });
    world.add_pod(Pod { node: Some("b".into()), ..pod("y", 4_000, &[]) });
    answer(&mut world, [2, 0, 1], &[0, 1, 2].into());
    world.later(20);
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!((bound(&world), racks_of(&world)), (3, ["r1"].into()), "{:?}", world.told.last());
}

#[test]
fn a_member_is_not_sent_alone_while_it_is_open_whether_the_others_are_bound() {
    let mut world = with_cards();
    world.turn();
    answer(&mut world, [0, 1, 2], &BTreeSet::new());
    let bindings = std::mem::take(&mut world.open);
    assert_eq!(bindings.len(), 3);
    let failed = || WriteOutcome::Failed("no".to_owned());
    world.tell(Input::Settled(bindings[0].0, failed()));
    world.carry_out();
    world.later(20);
    world.turn();
    assert!(
        !world.open.iter().any(|(_, write)| matches!(write, Write::Bind { .. })),
        "it could be the only one in the end: {:?}",
        world.open
    );
    world.tell(Input::Settled(bindings[1].0, failed()));
    world.tell(Input::Settled(bindings[2].0, failed()));
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!((bound(&world), racks_of(&world).len()), (3, 1));
}

#[test]
fn a_member_that_is_gone_before_it_is_bound_takes_the_others_back_if_they_are_too_few() {
    let mut world = with_cards();
    world.turn();
    let writes = std::mem::take(&mut world.open);
    let outcome = world.apply(&writes[0].1);
    world.tell(Input::Settled(writes[0].0, outcome));
    world.remove_pod("m1");
    world.open.extend(writes[1..].to_vec());
    world.carry_out();
    world.carry_out();
    assert_eq!(bound(&world), 0);
    world.later(20);
    world.settle();
    assert_eq!(bound(&world), 0, "two are too few");
    world.add_pod(member("m1", 1_500, &["m1"]));
    world.later(20);
    world.settle();
    assert_eq!(bound(&world), 3, "{:?}", world.told);
}

#[test]
fn whoever_waits_for_a_member_that_somebody_else_binds_goes_on() {
    let mut world = with_cards();
    world.turn();
    let writes = std::mem::take(&mut world.open);
    for (id, write) in &writes[..2] {
        let outcome = world.apply(write);
        world.tell(Input::Settled(*id, outcome));
    }
    let by_hand = Pod { node: Some("a".into()), ..member("m2", 1_500, &["m2"]) };
    world.add_pod(by_hand);
    world.open.extend(writes[2..].to_vec());
    world.settle();
    assert_eq!(bound(&world), 3);
}

/// What a scheduler finds that begins when so many members are bound, and of the others so many have their devices.
fn begin_anew(bound_before: usize, written_before: usize) -> World {
    let mut world = with_cards();
    // The first rack is the fuller one, and is chosen for it.
    world.add_pod(Pod { node: Some("a".into()), ..pod("other", 1_000, &[]) });
    world.turn();
    let mut writes = std::mem::take(&mut world.open);
    writes.sort_by(|(_, left), (_, right)| whose(left).cmp(whose(right)));
    for (id, write) in writes.iter().take(written_before) {
        let outcome = world.apply(write);
        world.tell(Input::Settled(*id, outcome));
    }
    let mut bindings = std::mem::take(&mut world.open);
    bindings.sort_by(|(_, left), (_, right)| whose(left).cmp(whose(right)));
    for (_, write) in bindings.iter().take(bound_before) {
        world.apply(write);
    }
    let (claims, pods, now) = (world.claims, world.pods, world.now);
    let mut next = racks();
    next.now = now;
    next.fact(gpu_class());
    for name in ["a", "b", "c", "d"] {
        next.fact(gpus(name, &["gpu-0", "gpu-1"]));
    }
    next.fact(applied(gang("gang", 3, 0, Disruption::Single)));
    next.revision = world.revision;
    claims.into_values().for_each(|claim| next.add_claim(claim));
    pods.into_values().for_each(|pod| next.add_pod(pod));
    next
}

#[test]
fn whoever_leads_next_completes_a_gang_where_it_was_begun() {
    for (bound_before, written_before) in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 3), (2, 3), (3, 3)] {
        let mut next = begin_anew(bound_before, written_before);
        let before = racks_of(&next);
        assert_eq!(bound(&next), bound_before);
        next.settle();
        next.later(20);
        next.settle();
        assert_eq!(bound(&next), 3, "{bound_before} {written_before}: {:?}", next.told.last());
        assert_eq!(racks_of(&next).len(), 1, "{bound_before} {written_before}");
        assert!(before.is_subset(&racks_of(&next)));
    }
}

#[test]
fn devices_that_an_earlier_scheduler_gave_where_the_gang_cannot_be_are_given_back() {
    let mut next = begin_anew(0, 1);
    // Meanwhile there is no room for the others beside the one that has its card.
    for node in ["a", "b"] {
        next.add_pod(Pod { node: Some(node.into()), ..pod(&format!("filler-{node}"), 3_000, &[]) });
    }
    for _ in 0..3 {
        next.settle();
        next.later(20);
    }
    assert_eq!((bound(&next), racks_of(&next)), (3, ["r1"].into()), "{:?}", next.told.last());
}

#[test]
fn a_gang_of_which_members_are_bound_stays_in_their_rack_even_if_only_another_has_room() {
    let mut next = begin_anew(1, 3);
    for node in ["a", "b"] {
        next.add_pod(Pod { node: Some(node.into()), ..pod(&format!("filler-{node}"), 3_000, &[]) });
    }
    next.settle();
    assert_eq!(bound(&next), 1);
    next.let_go("filler-a");
    next.let_go("filler-b");
    next.later(20);
    next.settle();
    assert_eq!((bound(&next), racks_of(&next).len()), (3, 1));
}

/// Two members have their devices, and of the third that is not known yet.
fn with_one_open() -> (World, (WriteId, Write)) {
    let mut world = with_cards();
    world.turn();
    let mut open = std::mem::take(&mut world.open);
    let last = open.pop().expect("each has a claim");
    for (id, write) in open {
        let outcome = world.apply(&write);
        world.tell(Input::Settled(id, outcome));
    }
    (world, last)
}

fn bindings(world: &World) -> usize {
    world.open.iter().filter(|(_, write)| matches!(write, Write::Bind { .. })).count()
}

/// No member is bound before all may be, and then all are.
fn bind_all_or_none(mut world: World, (id, write): (WriteId, Write)) {
    let outcome = world.apply(&write);
    world.tell(Input::Settled(id, outcome));
    let mut seen = bindings(&world);
    for _ in 0..100 {
        assert!([0, 3].contains(&seen), "{:?}", world.open);
        if seen == 3 {
            break;
        }
        world.now = world.now.plus_millis(100);
        world.turn();
        seen = bindings(&world);
    }
    world.settle();
    assert_eq!(bound(&world), 3, "{:?}", world.told);
}

/// A pod with a claim that waits for another scheduler.
fn rival(world: &mut World) {
    world.add_claim(claim("theirs"));
    world.add_pod(Pod { scheduler: "another".into(), ..pod("theirs", 100, &["theirs"]) });
}

#[test]
fn members_that_were_ready_before_another_scheduler_came_are_bound_with_the_last_and_not_after_it() {
    let (mut world, last) = with_one_open();
    rival(&mut world);
    bind_all_or_none(world, last);
}

#[test]
fn a_list_of_claims_parts_no_gang_when_somebody_else_binds_the_one_that_was_waited_for() {
    let mut world = with_cards();
    world.remove_pod("m2");
    world.add_pod(member("m2", 1_500, &[]));
    world.turn();
    let mut open = std::mem::take(&mut world.open);
    open.sort_by(|(_, left), (_, right)| whose(left).cmp(whose(right)));
    let outcome = world.apply(&open[0].1);
    world.tell(Input::Settled(open[0].0, outcome));
    rival(&mut world);
    world.remove_pod("theirs");
    world.now = world.now.plus_millis(3_000);
    let known = world.claims[&claim_id("m0")].clone();
    world.fact(Change::ClaimListed(Box::new(known)));
    world.add_pod(Pod { node: Some("a".into()), ..member("m1", 1_500, &["m1"]) });
    for _ in 0..40 {
        assert!([0, 2].contains(&bindings(&world)), "{:?}", world.open);
        if bindings(&world) == 2 {
            return;
        }
        world.now = world.now.plus_millis(100);
        world.turn();
    }
    panic!("nobody was bound: {:?}", world.told);
}

#[test]
fn a_member_that_failed_is_not_sent_alone_while_those_called_back_for_it_have_no_answer() {
    let mut world = with_cards();
    world.turn();
    let mut open = std::mem::take(&mut world.open);
    open.sort_by(|(_, left), (_, right)| whose(left).cmp(whose(right)));
    world.tell(Input::Settled(open[0].0, WriteOutcome::Failed("no".to_owned())));
    for _ in 0..3 {
        world.later(20);
        world.turn();
        world.carry_out();
        assert_eq!((bindings(&world), bound(&world)), (0, 0), "the others come back: {:?}", world.told);
    }
    world.open.extend(open[1..].to_vec());
    world.carry_out();
    world.later(20);
    world.settle();
    assert_eq!((bound(&world), racks_of(&world).len()), (3, 1), "{:?}", world.told);
}
