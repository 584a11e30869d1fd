//! Pods that wait for a node: who is next, who backs off, and who sleeps until something changes.
//!
//! Invariant: a pod is in exactly one of the six places, and every pod that sleeps or backs off leaves by itself at a time
//! that [`Queue::next_time`] tells. So no wake-up can be lost for good, and nothing is retried without a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::timestamp::Timestamp;
use rustc_hash::FxHashMap;

use crate::wake::{Wake, Wakes};

/// How long pods wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// After the first failure; each further one doubles it.
    pub backoff_ms_min: i64,
    /// At most.
    pub backoff_ms_max: i64,
    /// A pod that sleeps is tried again after this long, even if nothing that could help it was seen.
    pub sleep_ms_max: i64,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { backoff_ms_min: 1_000, backoff_ms_max: 10_000, sleep_ms_max: 300_000 }
    }
}

/// The order of pods that are ready: the most important first, then who came first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    /// The priority, negated, so that the highest comes first.
    importance: i64,
    since: Timestamp,
    uid: Arc<str>,
}

/// Where a pod is.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Place {
    Ready,
    /// Woken: nothing went wrong, so it may be taken early.
    BackingOff {
        until: Timestamp,
    },
    /// Something went wrong with it, and it is left alone until then.
    Resting {
        until: Timestamp,
    },
    Asleep {
        until: Timestamp,
        wakes_on: Wakes,
    },
    Gated,
    /// Somebody took it and has not said yet what came of it.
    Out,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Waiting {
    rank: Rank,
    place: Place,
    /// Failures in a row.
    failures: u32,
    /// How often it was taken.
    attempts: u32,
    /// When it first was ready.
    began: Option<Timestamp>,
}

/// Where a pod comes to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Station {
    /// Ready to be placed.
    Ready,
    /// Waiting out a backoff.
    BackingOff,
    /// Asleep until something changes.
    Asleep,
    /// Held back by gates.
    Gated,
}

/// What brought it there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// It is new, or was given free.
    Added,
    /// There was no place for it.
    Refused,
    /// It waits for an answer of somebody else.
    Asking,
    /// Something went wrong.
    Failed,
    /// A change could help it.
    Woken(Wake),
    /// Something of its own changed.
    OwnChange,
    /// Its backoff is over.
    BackoffOver,
    /// It has slept for as long as anybody may.
    SleptLong,
}

/// What came of an attempt that did not place a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// There is no place, and these changes could make one.
    Refused(Wakes),
    /// Something went wrong, and may not go wrong again.
    Failed,
}

/// How many pods are in each place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Ready to be placed.
    pub ready: usize,
    /// Waiting out a backoff.
    pub backing_off: usize,
    /// Asleep until something changes.
    pub asleep: usize,
    /// Held back by scheduling gates, or by claims that are not there.
    pub gated: usize,
}

/// Pods that wait for a node.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    patience: Patience,
    pods: FxHashMap<Arc<str>, Waiting>,
    ready: BTreeSet<Rank>,
    backing_off: BTreeSet<(Timestamp, Rank)>,
    resting: BTreeSet<(Timestamp, Rank)>,
    asleep: BTreeSet<(Timestamp, Rank)>,
    /// How many pods came to which place and why, since somebody asked.
    moves: BTreeMap<(Station, Cause), u64>,
    /// Sleepers by each change that could wake them, so that a change looks at those only.
    sleepers: BTreeMap<Wake, BTreeSet<Rank>>,
}

impl Queue {
    /// An empty queue.
    #[must_use]
    pub fn new(patience: Patience) -> Queue {
        Queue { patience, ..Queue::default() }
    }

    /// Adds a pod, or takes note that it is gated or not, and how important it is. This alone wakes nobody: what of a pod
    /// changed is told to [`Queue::wake_one`].
    pub fn apply(&mut self, uid: &Arc<str>, priority: i32, gated: bool, now: Timestamp) {
        let known = self.take(uid);
        let is_new = known.is_none();
        let mut waiting = known.unwrap_or_else(|| Waiting {
            rank: Rank { importance: 0, since: now, uid: uid.clone() },
            place: Place::Ready,
            failures: 0,
            attempts: 0,
            began: None,
        });
        let was_gated = waiting.place == Place::Gated;
        waiting.rank.importance = -i64::from(priority);
        waiting.place = match (gated, waiting.place) {
            (_, Place::Out) => Place::Out,
            (true, _) => Place::Gated,
            (false, Place::Gated) => Place::Ready,
            (false, place) => place,
        };
        match waiting.place {
            Place::Gated if is_new || !was_gated => self.moved(Station::Gated, Cause::Added),
            Place::Ready if is_new || was_gated => {
                waiting.began.get_or_insert(now);
                self.moved(Station::Ready, Cause::Added);
            }
            _ => {}
        }
        self.put(waiting);
    }

    fn moved(&mut self, station: Station, cause: Cause) {
        *self.moves.entry((station, cause)).or_default() += 1;
    }

    /// How many pods came to which place and why, since this was asked the last time.
    pub fn take_moves(&mut self) -> BTreeMap<(Station, Cause), u64> {
        std::mem::take(&mut self.moves)
    }

    /// Forgets a pod.
    pub fn remove(&mut self, uid: &str) -> bool {
        self.take(uid).is_some()
    }

    /// Whether a pod is known here.
    #[must_use]
    pub fn contains(&self, uid: &str) -> bool {
        self.pods.contains_key(uid)
    }

    /// Whether a pod waits until something else is done.
    pub fn is_gated(&self, uid: &str) -> bool {
        self.pods.get(uid).is_some_and(|waiting| waiting.place == Place::Gated)
    }

    /// Takes the next pod. While nobody is ready, the one whose backoff ends first is taken early: there is nothing better
    /// to do. Those for whom something went wrong are not: it would go wrong again at once.
    pub fn next(&mut self, now: Timestamp) -> Option<Arc<str>> {
        self.let_go(now);
        let rank = match self.ready.first() {
            Some(rank) => rank.clone(),
            None => self.backing_off.first()?.1.clone(),
        };
        let mut waiting = self.take(&rank.uid).expect("a pod in an order is known");
        waiting.place = Place::Out;
        waiting.attempts += 1;
        self.put(waiting);
        Some(rank.uid)
    }

    /// Says that a pod that was taken has no place.
    pub fn put_back(&mut self, uid: &str, failure: Failure, now: Timestamp) {
        let Some(mut waiting) = self.take(uid) else { return };
        waiting.failures = waiting.failures.saturating_add(1);
        waiting.rank.since = now;
        match failure {
            Failure::Refused(_) => self.moved(Station::Asleep, Cause::Refused),
            Failure::Failed => self.moved(Station::BackingOff, Cause::Failed),
        }
        waiting.place = match failure {
            Failure::Refused(wakes_on) => {
                Place::Asleep { until: now.plus_millis(self.patience.sleep_ms_max), wakes_on }
            }
            Failure::Failed => Place::Resting { until: self.backed_off(waiting.failures, now) },
        };
        self.put(waiting);
    }

    /// Says that something went wrong with a part of what waits under a key. Nobody takes it before a while has passed, if it is
    /// not left alone already: those of it who wait would be woken by what is taken back, and it would go wrong again at once.
    pub fn rest(&mut self, uid: &str, now: Timestamp) {
        let place = self.pods.get(uid).map(|waiting| &waiting.place);
        if matches!(place, Some(Place::Ready | Place::BackingOff { .. } | Place::Asleep { .. })) {
            self.put_back(uid, Failure::Failed, now);
        }
    }

    /// Says that a pod that was taken waits for an answer to what it asked. It keeps its rank, and is ready at once when it is
    /// woken: nothing went wrong.
    pub fn wait(&mut self, uid: &str, wakes_on: Wakes, now: Timestamp) {
        self.wait_until(uid, wakes_on, now.plus_millis(self.patience.sleep_ms_max));
    }

    /// The same for a pod that is to be ready at this time at the latest.
    pub fn wait_until(&mut self, uid: &str, wakes_on: Wakes, until: Timestamp) {
        let Some(mut waiting) = self.take(uid) else { return };
        waiting.failures = 0;
        self.moved(Station::Asleep, Cause::Asking);
        waiting.place = Place::Asleep { until, wakes_on };
        self.put(waiting);
    }

    /// Says that a pod that was taken is to be taken again later, and keeps its rank.
    pub fn postpone(&mut self, uid: &str, until: Timestamp) {
        let Some(mut waiting) = self.take(uid) else { return };
        waiting.attempts = waiting.attempts.saturating_sub(1);
        waiting.place = Place::Resting { until };
        self.put(waiting);
    }

    /// Wakes the pods that a change could help, and says how many those are.
    pub fn wake(&mut self, changes: Wakes, now: Timestamp) -> usize {
        let sleepers = |kind: Wake| self.sleepers.get(&kind).map(|ranks| (kind, ranks));
        let sleepers = changes.iter().filter_map(sleepers);
        let woken: BTreeMap<Rank, Wake> =
            sleepers.flat_map(|(kind, ranks)| ranks.iter().map(move |rank| (rank.clone(), kind))).collect();
        let count = woken.len();
        woken.into_iter().for_each(|(rank, kind)| self.rouse(&rank.uid, Cause::Woken(kind), now));
        count
    }

    /// Wakes one pod if it sleeps until one of these changes, since something of its own changed.
    pub fn wake_one(&mut self, uid: &str, changes: Wakes, now: Timestamp) {
        let place = self.pods.get(uid).map(|waiting| &waiting.place);
        if matches!(place, Some(Place::Asleep { wakes_on, .. }) if wakes_on.meets(changes)) {
            self.rouse(uid, Cause::OwnChange, now);
        }
    }

    /// Lets a pod that sleeps try again after a backoff that begins now, though nothing happened that could help it.
    pub fn sleep_less(&mut self, uid: &str, now: Timestamp) {
        let Some(mut waiting) = self.take(uid) else { return };
        let backed_off = self.backed_off(waiting.failures, now);
        if let Place::Asleep { until, .. } = &mut waiting.place {
            *until = backed_off.min(*until);
        }
        self.put(waiting);
    }

    /// When something is to be done without anything happening.
    #[must_use]
    pub fn next_time(&self) -> Option<Timestamp> {
        let first = |order: &BTreeSet<(Timestamp, Rank)>| order.first().map(|(until, _)| *until);
        [&self.backing_off, &self.resting, &self.asleep].into_iter().filter_map(first).min()
    }

    /// Whether [`Queue::next`] would give a pod.
    #[must_use]
    pub fn has_next(&self, now: Timestamp) -> bool {
        let is_due =
            |order: &BTreeSet<(Timestamp, Rank)>| order.first().is_some_and(|(until, _)| *until <= now);
        !self.ready.is_empty()
            || !self.backing_off.is_empty()
            || is_due(&self.resting)
            || is_due(&self.asleep)
    }

    /// How many pods are in each place.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let gated = self.pods.values().filter(|waiting| waiting.place == Place::Gated).count();
        Counts {
            ready: self.ready.len(),
            backing_off: self.backing_off.len() + self.resting.len(),
            asleep: self.asleep.len(),
            gated,
        }
    }

    /// How often a pod was taken.
    #[must_use]
    pub fn attempts(&self, uid: &str) -> u32 {
        self.pods.get(uid).map_or(0, |waiting| waiting.attempts)
    }

    /// When a pod was first ready to be placed.
    #[must_use]
    pub fn began(&self, uid: &str) -> Option<Timestamp> {
        self.pods.get(uid).and_then(|waiting| waiting.began)
    }

    /// Moves on those whose time has come.
    fn let_go(&mut self, now: Timestamp) {
        let due = |order: &BTreeSet<(Timestamp, Rank)>| {
            order.iter().take_while(|(until, _)| *until <= now).map(|(_, rank)| rank.uid.clone()).collect()
        };
        let [woken, failed, asleep]: [Vec<Arc<str>>; 3] =
            [due(&self.backing_off), due(&self.resting), due(&self.asleep)];
        woken.iter().chain(&failed).for_each(|uid| self.make_ready(uid, Cause::BackoffOver));
        asleep.iter().for_each(|uid| self.make_ready(uid, Cause::SleptLong));
    }

    fn make_ready(&mut self, uid: &str, cause: Cause) {
        if let Some(mut waiting) = self.take(uid) {
            waiting.place = Place::Ready;
            self.moved(Station::Ready, cause);
            self.put(waiting);
        }
    }

    /// Wakes a sleeper: it waits out the rest of its backoff, counted from when it failed.
    fn rouse(&mut self, uid: &str, cause: Cause, now: Timestamp) {
        let Some(mut waiting) = self.take(uid) else { return };
        let until = self.backed_off(waiting.failures, waiting.rank.since);
        let is_early = waiting.failures > 0 && until > now;
        waiting.place = if is_early { Place::BackingOff { until } } else { Place::Ready };
        self.moved(if is_early { Station::BackingOff } else { Station::Ready }, cause);
        self.put(waiting);
    }

    /// The end of a backoff that begins now.
    fn backed_off(&self, failures: u32, now: Timestamp) -> Timestamp {
        let Patience { backoff_ms_min, backoff_ms_max, .. } = self.patience;
        let doubled = backoff_ms_min.checked_shl(failures.saturating_sub(1)).unwrap_or(backoff_ms_max);
        // A shift that pushes bits out comes back small or negative, so the number of failures decides as well.
        let wait = if failures > 32 || doubled < backoff_ms_min { backoff_ms_max } else { doubled };
        now.plus_millis(wait.min(backoff_ms_max))
    }

    fn take(&mut self, uid: &str) -> Option<Waiting> {
        let waiting = self.pods.remove(uid)?;
        let rank = &waiting.rank;
        match &waiting.place {
            Place::Ready => {
                self.ready.remove(rank);
            }
            Place::BackingOff { until } => {
                self.backing_off.remove(&(*until, rank.clone()));
            }
            Place::Resting { until } => {
                self.resting.remove(&(*until, rank.clone()));
            }
            Place::Asleep { until, wakes_on } => {
                self.asleep.remove(&(*until, rank.clone()));
                for kind in wakes_on.iter() {
                    if let Some(sleepers) = self.sleepers.get_mut(&kind) {
                        sleepers.remove(rank);
                    }
                }
            }
            Place::Gated | Place::Out => {}
        }
        Some(waiting)
    }

    fn put(&mut self, waiting: Waiting) {
        let rank = waiting.rank.clone();
        match &waiting.place {
            Place::Ready => {
                self.ready.insert(rank.clone());
            }
            Place::BackingOff { until } => {
                self.backing_off.insert((*until, rank.clone()));
            }
            Place::Resting { until } => {
                self.resting.insert((*until, rank.clone()));
            }
            Place::Asleep { until, wakes_on } => {
                self.asleep.insert((*until, rank.clone()));
                for kind in wakes_on.iter() {
                    self.sleepers.entry(kind).or_default().insert(rank.clone());
                }
            }
            Place::Gated | Place::Out => {}
        }
        self.pods.insert(rank.uid, waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn at(millis: i64) -> Timestamp {
        START.plus_millis(millis)
    }

    fn queue(pods: &[(&str, i32)]) -> Queue {
        let mut queue = Queue::new(Patience::default());
        for (number, (uid, priority)) in pods.iter().enumerate() {
            queue.apply(&Arc::from(*uid), *priority, false, at(number as i64));
        }
        queue
    }

    fn taken(queue: &mut Queue, now: i64) -> Vec<String> {
        std::iter::from_fn(|| queue.next(at(now))).map(|uid| uid.to_string()).collect()
    }

    #[test]
    fn the_most_important_comes_first_and_then_who_came_first() {
        let mut queue = queue(&[("late", 0), ("later", 0), ("urgent", 10)]);
        assert_eq!(taken(&mut queue, 10), ["urgent", "late", "later"]);
        assert_eq!(queue.counts(), Counts::default());
        assert_eq!(queue.attempts("late"), 1);
    }

    #[test]
    fn a_sleeper_wakes_only_on_a_change_that_can_help_it() {
        let mut queue = queue(&[("a", 0), ("b", 0)]);
        taken(&mut queue, 0);
        queue.put_back("a", Failure::Refused(Wake::PodRemoved.into()), at(0));
        queue.put_back("b", Failure::Refused(Wake::Slice.into()), at(0));
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
            queue.put_back(uid, Failure::Refused(Wake::PodRemoved.into()), at(0));
        }
        queue.sleep_less("a", at(500));
        assert_eq!(queue.next_time(), Some(at(1_500)));
        assert!(taken(&mut queue, 1_400).is_empty());
        assert_eq!(taken(&mut queue, 1_500), ["a"]);
        queue.sleep_less("a", at(1_500));
        queue.sleep_less("b", at(1_500));
        assert_eq!(queue.wake(Wake::PodRemoved.into(), at(2_000)), 1);
        assert_eq!(taken(&mut queue, 2_000), ["b"]);
    }

    #[test]
    fn who_is_woken_early_waits_out_its_backoff_unless_nobody_else_is_ready() {
        let mut queue = queue(&[("a", 5), ("b", 0)]);
        assert_eq!(queue.next(at(0)).as_deref(), Some("a"));
        queue.put_back("a", Failure::Refused(Wake::Claim.into()), at(0));
        queue.wake(Wake::Claim.into(), at(10));
        assert_eq!(queue.counts(), Counts { ready: 1, backing_off: 1, ..Counts::default() });
        assert_eq!(taken(&mut queue, 20), ["b", "a"]);
    }

    #[test]
    fn who_failed_is_left_alone_until_its_time_even_if_nobody_else_is_ready() {
        let mut queue = queue(&[("a", 0)]);
        queue.next(at(0));
        queue.put_back("a", Failure::Failed, at(0));
        assert!(!queue.has_next(at(999)) && queue.next(at(999)).is_none());
        assert!(queue.has_next(at(1_000)));
        assert_eq!(queue.next(at(1_000)).as_deref(), Some("a"));
    }

    #[test]
    fn each_failure_in_a_row_doubles_the_wait_up_to_a_bound() {
        let mut queue = queue(&[("a", 0)]);
        let mut now = 0;
        let mut waits = Vec::new();
        for _ in 0..40 {
            queue.next(at(now));
            queue.put_back("a", Failure::Failed, at(now));
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
        queue.put_back("a", Failure::Refused(Wakes::NONE), at(0));
        assert_eq!(queue.next_time(), Some(at(300_000)));
        assert_eq!(queue.next(at(299_999)), None);
        assert_eq!(queue.next(at(300_000)).as_deref(), Some("a"));
    }

    #[test]
    fn it_is_counted_who_comes_where_and_why() {
        let mut queue = queue(&[("a", 0), ("b", 0)]);
        queue.apply(&"c".into(), 0, true, at(2));
        taken(&mut queue, 3);
        queue.put_back("a", Failure::Refused(Wake::Slice.into()), at(3));
        queue.put_back("b", Failure::Failed, at(3));
        queue.wake(Wake::Slice.into(), at(2_000));
        queue.apply(&"c".into(), 0, false, at(2_000));
        let expected = [
            ((Station::Ready, Cause::Added), 3),
            ((Station::Ready, Cause::Woken(Wake::Slice)), 1),
            ((Station::BackingOff, Cause::Failed), 1),
            ((Station::Asleep, Cause::Refused), 1),
            ((Station::Gated, Cause::Added), 1),
        ];
        assert_eq!(queue.take_moves().into_iter().collect::<Vec<_>>(), expected);
        assert_eq!(queue.take_moves().len(), 0);
        assert_eq!((queue.began("a"), queue.began("c")), (Some(at(0)), Some(at(2_000))));
    }

    #[test]
    fn a_gated_pod_is_ready_once_its_gates_are_gone() {
        let mut queue = Queue::new(Patience::default());
        let uid: Arc<str> = "a".into();
        queue.apply(&uid, 0, true, at(0));
        assert_eq!((queue.next(at(1)), queue.counts().gated), (None, 1));
        queue.apply(&uid, 0, false, at(2));
        assert_eq!(queue.next(at(3)), Some(uid));
    }

    #[test]
    fn taking_note_of_a_pod_wakes_it_only_if_something_that_helps_changed() {
        let mut queue = queue(&[("a", 0)]);
        queue.next(at(0));
        queue.put_back("a", Failure::Refused(Wake::OwnTolerations.into()), at(0));
        queue.apply(&"a".into(), 0, false, at(20_000));
        assert_eq!(queue.counts().asleep, 1, "our own note of why it waits must not start it again");
        queue.wake_one("a", Wake::OwnLabels.into(), at(20_000));
        assert_eq!(queue.counts().asleep, 1);
        queue.wake_one("a", Wake::OwnTolerations.into(), at(20_000));
        assert_eq!(queue.counts().ready, 1);
    }

    #[test]
    fn a_pod_that_is_out_stays_out_until_it_is_put_back_or_forgotten() {
        let mut queue = queue(&[("a", 0)]);
        queue.next(at(0));
        queue.apply(&"a".into(), 3, false, at(1));
        assert_eq!(queue.next(at(1_000_000)), None);
        assert!(queue.remove("a") && !queue.contains("a"));
        queue.put_back("a", Failure::Failed, at(2));
        assert_eq!(queue.counts(), Counts::default(), "who is gone is not put back");
    }
}
