//! Tests of the queue.

use model::claim::ClaimId;
use model::group::GroupId;

use super::*;

const START: Timestamp = Timestamp::from_micros(1_000_000_000);

fn at(millis: i64) -> Timestamp {
    START.plus_millis(millis)
}

fn key(uid: &str) -> Key {
    Key::Pod(uid.into())
}

fn queue(pods: &[(&str, i32)]) -> Queue {
    let mut queue = Queue::new(Patience::default());
    for (number, (uid, priority)) in pods.iter().enumerate() {
        queue.apply(&key(uid), *priority, false, at(number as i64));
    }
    queue
}

fn taken(queue: &mut Queue, now: i64) -> Vec<String> {
    std::iter::from_fn(|| queue.next(at(now)))
        .map(|key| match key {
            Key::Pod(uid) => uid.to_string(),
            other => panic!("{other} is no pod"),
        })
        .collect()
}

#[test]
fn the_most_important_comes_first_and_then_who_came_first() {
    let mut queue = queue(&[("late", 0), ("later", 0), ("urgent", 10)]);
    assert_eq!(taken(&mut queue, 10), ["urgent", "late", "later"]);
    assert_eq!(queue.counts(), Counts::default());
    assert_eq!(queue.tries(&key("late")).attempts, 1);
}

#[test]
fn a_sleeper_wakes_only_on_a_change_that_can_help_it() {
    let mut queue = queue(&[("a", 0), ("b", 0)]);
    taken(&mut queue, 0);
    queue.put_back(&key("a"), Failure::Refused(Wake::PodRemoved.into()), at(0));
    queue.put_back(&key("b"), Failure::Refused(Wake::Slice.into()), at(0));
    assert_eq!(queue.wake(Wake::NodeLabels.into(), at(5_000)), 0);
    assert_eq!(queue.wake(Wake::Slice.into(), at(5_000)), 1);
    assert_eq!(taken(&mut queue, 5_000), ["b"]);
    assert_eq!(queue.counts().asleep, 1);
}

#[test]
fn who_is_to_sleep_less_is_not_taken_early_and_still_wakes_on_changes() {
    let mut queue = queue(&[("a", 0), ("b", 0)]);
    taken(&mut queue, 0);
    for uid in ["a", "b"] {
        queue.put_back(&key(uid), Failure::Refused(Wake::PodRemoved.into()), at(0));
    }
    queue.sleep_less(&key("a"), at(500));
    assert_eq!(queue.next_time(), Some(at(1_500)));
    assert!(taken(&mut queue, 1_400).is_empty());
    assert_eq!(taken(&mut queue, 1_500), ["a"]);
    queue.sleep_less(&key("a"), at(1_500));
    queue.sleep_less(&key("b"), at(1_500));
    assert_eq!(queue.wake(Wake::PodRemoved.into(), at(2_000)), 1);
    assert_eq!(taken(&mut queue, 2_000), ["b"]);
}

#[test]
fn who_is_woken_early_waits_out_its_backoff_unless_nobody_else_is_ready() {
    let mut queue = queue(&[("a", 5), ("b", 0)]);
    assert_eq!(queue.next(at(0)), Some(key("a")));
    queue.put_back(&key("a"), Failure::Refused(Wake::Claim.into()), at(0));
    queue.wake(Wake::Claim.into(), at(10));
    assert_eq!(queue.counts(), Counts { ready: 1, backing_off: 1, ..Counts::default() });
    assert_eq!(taken(&mut queue, 20), ["b", "a"]);
}

#[test]
fn gangs_and_what_took_long_wait_out_their_backoff_though_nobody_else_is_ready() {
    let gang = Key::Gang(GroupId { namespace: "default".into(), name: "g".into() });
    let mut queue = queue(&[("slow", 0)]);
    queue.apply(&gang, 0, false, at(0));
    while let Some(key) = queue.next(at(0)) {
        if key != gang && !queue.is_undecided(&key) {
            queue.put_off(&key);
            assert_eq!(queue.next_undecided().as_ref(), Some(&key));
            queue.consider(&key);
            assert!(queue.end_considering(&key));
            assert_eq!(queue.next(at(0)).as_ref(), Some(&key), "the verdict is there");
        }
        queue.put_back(&key, Failure::Refused(Wake::PodRemoved.into()), at(0));
    }
    assert_eq!(queue.wake(Wake::PodRemoved.into(), at(10)), 2);
    assert!(!queue.has_next(at(999)) && queue.next(at(999)).is_none());
    assert_eq!(queue.next_time(), Some(at(1_000)), "nobody sleeps through what could help");
    let mut woken: Vec<Key> = std::iter::from_fn(|| queue.next(at(1_000))).collect();
    woken.sort();
    assert_eq!(woken, [gang.clone(), key("slow")]);
    // What is its own business concerns no other gang.
    queue.put_back(&gang, Failure::Refused(Wake::PodRemoved.into()), at(1_000));
    queue.wake_one(&gang, Wake::PodRemoved.into(), at(1_010));
    assert_eq!(queue.next(at(1_020)), Some(gang));
}

#[test]
fn who_was_searched_for_up_to_the_limit_is_searched_for_anew_while_others_have_their_turns() {
    let mut queue = queue(&[("a", 0)]);
    let limit = Failure::LimitReached(Wake::Slice.into());
    let refused = Failure::Refused(Wake::Slice.into());
    assert_eq!(queue.next(at(0)), Some(key("a")));
    queue.put_off(&key("a"));
    for (seconds, failure) in [(0, limit.clone()), (100, limit), (200, refused)] {
        let now = at(seconds * 1_000);
        assert_eq!(queue.next(now), None, "{seconds} s");
        assert_eq!(queue.next_undecided(), Some(key("a")), "{seconds} s");
        queue.consider(&key("a"));
        assert!(queue.end_considering(&key("a")));
        assert_eq!(queue.next(now), Some(key("a")), "the verdict is there after {seconds} s");
        queue.put_back(&key("a"), failure, now);
        queue.wake(Wake::Slice.into(), now);
    }
    assert_eq!(queue.next(at(300_000)), Some(key("a")), "the search ended, so the next may be short");
    assert!(!queue.has_undecided());
}

#[test]
fn a_pod_whose_search_reached_its_limit_keeps_its_place() {
    let mut queue = queue(&[("hard", 0), ("late", 0)]);
    assert_eq!(queue.next(at(2)), Some(key("hard")));
    queue.put_back(&key("hard"), Failure::LimitReached(Wake::Slice.into()), at(2));
    assert_eq!(queue.wake(Wake::Slice.into(), at(10)), 1);
    assert_eq!(queue.counts(), Counts { ready: 1, backing_off: 1, ..Counts::default() });
    assert_eq!(taken(&mut queue, 1_002), ["hard", "late"], "it came first");
}

#[test]
fn a_change_wakes_all_but_those_who_wait_for_more() {
    let mut queue = queue(&[("a", 0), ("b", 0)]);
    taken(&mut queue, 0);
    for uid in ["a", "b"] {
        queue.put_back(&key(uid), Failure::Refused(Wake::PodRemoved.into()), at(0));
    }
    assert_eq!(queue.wake_but(Wake::PodRemoved.into(), &[key("a")], at(5_000)), 1);
    assert_eq!(taken(&mut queue, 5_000), ["b"]);
}

#[test]
fn who_failed_is_left_alone_until_its_time_even_if_nobody_else_is_ready() {
    let mut queue = queue(&[("a", 0)]);
    queue.next(at(0));
    queue.put_back(&key("a"), Failure::Failed, at(0));
    assert!(!queue.has_next(at(999)) && queue.next(at(999)).is_none());
    assert!(queue.has_next(at(1_000)));
    assert_eq!(queue.next(at(1_000)), Some(key("a")));
}

#[test]
fn each_failure_in_a_row_doubles_the_wait_up_to_a_bound() {
    let mut queue = queue(&[("a", 0)]);
    let mut now = 0;
    let mut waits = Vec::new();
    for _ in 0..40 {
        queue.next(at(now));
        queue.put_back(&key("a"), Failure::Failed, at(now));
        let until = queue.next_time().expect("it backs off");
        waits.push((until.micros() - at(now).micros()) / 1_000);
        now += 60_000;
    }
    assert_eq!(waits[..6], [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    assert!(waits[6..].iter().all(|wait| *wait == 10_000));
}

#[test]
fn nobody_sleeps_for_ever() {
    let mut queue = queue(&[("a", 0)]);
    queue.next(at(0));
    queue.put_back(&key("a"), Failure::Refused(Wakes::NONE), at(0));
    assert_eq!(queue.next_time(), Some(at(300_000)));
    assert_eq!(queue.next(at(299_999)), None);
    assert_eq!(queue.next(at(300_000)), Some(key("a")));
}

#[test]
fn it_is_counted_who_comes_where_and_why() {
    let mut queue = queue(&[("a", 0), ("b", 0)]);
    queue.apply(&key("c"), 0, true, at(2));
    taken(&mut queue, 3);
    queue.put_back(&key("a"), Failure::Refused(Wake::Slice.into()), at(3));
    queue.put_back(&key("b"), Failure::Failed, at(3));
    queue.wake(Wake::Slice.into(), at(2_000));
    queue.apply(&key("c"), 0, false, at(2_000));
    let expected = [
        ((Station::Ready, Cause::Added, Entity::Pod), 3),
        ((Station::Ready, Cause::Woken(Wake::Slice), Entity::Pod), 1),
        ((Station::BackingOff, Cause::Failed, Entity::Pod), 1),
        ((Station::Asleep, Cause::Refused, Entity::Pod), 1),
        ((Station::Gated, Cause::Added, Entity::Pod), 1),
    ];
    assert_eq!(queue.take_moves().into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(queue.take_moves().len(), 0);
    assert_eq!((queue.tries(&key("a")).since, queue.tries(&key("c")).since), (Some(at(0)), Some(at(2_000))));
}

#[test]
fn a_gated_pod_is_ready_once_its_gates_are_gone() {
    let mut queue = Queue::new(Patience::default());
    let uid = key("a");
    queue.apply(&uid, 0, true, at(0));
    assert_eq!((queue.next(at(1)), queue.counts().gated), (None, 1));
    queue.apply(&uid, 0, false, at(2));
    assert_eq!(queue.next(at(3)), Some(uid));
}

#[test]
fn taking_note_of_a_pod_wakes_it_only_if_something_that_helps_changed() {
    let mut queue = queue(&[("a", 0)]);
    queue.next(at(0));
    queue.put_back(&key("a"), Failure::Refused(Wake::OwnTolerations.into()), at(0));
    queue.apply(&key("a"), 0, false, at(20_000));
    assert_eq!(queue.counts().asleep, 1, "our own note of why it waits must not start it again");
    queue.wake_one(&key("a"), Wake::OwnLabels.into(), at(20_000));
    assert_eq!(queue.counts().asleep, 1);
    queue.wake_one(&key("a"), Wake::OwnTolerations.into(), at(20_000));
    assert_eq!(queue.counts().ready, 1);
}

#[test]
fn a_pod_that_is_out_stays_out_until_it_is_put_back_or_forgotten() {
    let mut queue = queue(&[("a", 0)]);
    queue.next(at(0));
    queue.apply(&key("a"), 3, false, at(1));
    assert_eq!(queue.next(at(1_000_000)), None);
    assert!(queue.remove(&key("a")) && !queue.contains(&key("a")));
    queue.put_back(&key("a"), Failure::Failed, at(2));
    assert_eq!(queue.counts(), Counts::default(), "who is gone is not put back");
}

#[test]
fn who_was_searched_for_in_vain_up_to_the_limit_lets_others_go_first() {
    let mut queue = Queue::new(Patience::default());
    queue.apply(&key("hard"), 0, false, at(0));
    let mut now = at(0);
    for seconds in [1, 2, 4, 8, 10, 10] {
        let until = now.plus_millis(1_000 * seconds);
        let before = until.plus_millis(-1);
        assert_eq!(queue.next(now), Some(key("hard")));
        queue.put_back(&key("hard"), Failure::LimitReached(Wake::Slice.into()), now);
        assert_eq!(queue.wake(Wake::Claim.into(), now), 0, "this change does not help");
        assert_eq!(queue.wake(Wake::Slice.into(), now), 1);
        // Unlike others that are woken it is not taken early, though no other is ready.
        assert_eq!(queue.next(before), None, "{seconds} seconds");
        queue.apply(&key("other"), 0, false, before);
        assert_eq!(queue.next(before), Some(key("other")), "{seconds} seconds");
        queue.remove(&key("other"));
        now = until;
    }
}

#[test]
fn who_was_searched_for_in_vain_up_to_the_limit_is_tried_again_ever_more_seldom() {
    let mut queue = Queue::new(Patience::default());
    queue.apply(&key("hard"), 0, false, at(0));
    let mut now = at(0);
    let mut waits = Vec::new();
    for _ in 0..11 {
        assert_eq!(queue.next(now), Some(key("hard")));
        queue.put_back(&key("hard"), Failure::LimitReached(Wake::Slice.into()), now);
        let next = queue.next_time().expect("it is tried again");
        waits.push((next.micros() - now.micros()) / 1_000_000);
        now = next;
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
}

#[test]
fn a_change_of_one_object_wakes_those_that_wait_for_it_or_for_any() {
    let claim = |name: &str| Object::Claim(ClaimId { namespace: "default".into(), name: name.into() });
    let mut queue = queue(&[("a", 0), ("b", 0), ("any", 0)]);
    taken(&mut queue, 0);
    queue.put_back(&key("a"), Failure::Refused(Wake::Claim.of([claim("a")])), at(0));
    queue.put_back(&key("b"), Failure::Refused(Wake::Claim.of([claim("b")])), at(0));
    queue.put_back(&key("any"), Failure::Refused(Wake::Claim.into()), at(0));
    assert_eq!(queue.wake(Wake::Slice.of([claim("a")]), at(5_000)), 0, "it is another kind of change");
    assert_eq!(queue.wake(Wake::Claim.of([claim("a")]), at(5_000)), 2);
    assert_eq!(taken(&mut queue, 5_000), ["a", "any"]);
    assert_eq!(queue.wake(Wake::Claim.into(), at(5_000)), 1, "it may be b");
    assert_eq!(taken(&mut queue, 5_000), ["b"]);
    assert!(queue.sleepers.is_empty(), "who is awake is not looked for among sleepers");
}

#[test]
fn what_happens_to_a_pod_itself_wakes_it_whatever_object_it_waits_for() {
    let node = |name: &str| Object::Node(name.into());
    let mut queue = queue(&[("a", 0)]);
    taken(&mut queue, 0);
    queue.put_back(&key("a"), Failure::Refused(Wake::PodRemoved.of([node("x")])), at(0));
    queue.wake_one(&key("a"), Wake::PodRemoved.of([node("y")]), at(5_000));
    assert_eq!(queue.counts().asleep, 1);
    queue.wake_one(&key("a"), Wakes::of(&Wake::ALL), at(5_000));
    assert_eq!(queue.counts().ready, 1);
}

#[test]
fn of_many_sleepers_a_change_looks_only_at_those_that_it_can_help() {
    let node = |number: usize| Object::Node(format!("node-{}", number % 1_000).into());
    let mut queue = Queue::new(Patience::default());
    for number in 0..10_000 {
        let key = key(&number.to_string());
        queue.apply(&key, 0, false, at(0));
        queue.next(at(0));
        queue.put_back(&key, Failure::Refused(Wake::PodRemoved.of([node(number)])), at(0));
    }
    assert_eq!(queue.counts().asleep, 10_000);
    assert_eq!(queue.wake(Wake::PodRemoved.of([node(7)]), at(5_000)), 10);
    assert_eq!(queue.counts(), Counts { ready: 10, asleep: 9_990, ..Counts::default() });
}

#[test]
fn groups_are_counted_apart_from_pods() {
    let mut queue = queue(&[("a", 0)]);
    let gang = Key::Gang(GroupId { namespace: "default".into(), name: "g".into() });
    queue.apply(&gang, 0, true, at(1));
    let shown =
        |queue: &Queue| queue.entities().into_iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>();
    assert_eq!(shown(&queue), [((Station::Ready, Entity::Pod), 1), ((Station::Gated, Entity::Group), 1)]);
    assert_eq!(queue.entities().len(), 8, "places where nothing waits are told, too");
    assert_eq!(queue.take_moves().get(&(Station::Gated, Cause::Added, Entity::Group)), Some(&1));
}

#[test]
fn it_is_known_of_a_pod_whether_it_was_woken_or_slept_for_as_long_as_it_may() {
    let mut queue = queue(&[("woken", 0), ("flushed", 0)]);
    taken(&mut queue, 0);
    queue.put_back(&key("woken"), Failure::Refused(Wake::Slice.into()), at(0));
    queue.put_back(&key("flushed"), Failure::Refused(Wake::PodRemoved.into()), at(0));
    queue.wake(Wake::Slice.into(), at(5_000));
    let late = queue.next_time().expect("one sleeps").micros();
    let late = (late - START.micros()) / 1_000;
    assert_eq!(taken(&mut queue, late).len(), 2);
    let told = ["woken", "flushed"].map(|uid| queue.tries(&key(uid)));
    assert_eq!(told.map(|tries| (tries.attempts, tries.after_flush)), [(2, false), (2, true)]);
    queue.put_back(&key("flushed"), Failure::Refused(Wake::PodRemoved.into()), at(late));
    queue.wake(Wake::PodRemoved.into(), at(late + 60_000));
    assert!(!queue.tries(&key("flushed")).after_flush, "something woke it this time");
}
