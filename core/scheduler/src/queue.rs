//! Pods that wait for a node: which is next, which back off, and which sleep until something changes.
//!
//! Invariant: a pod is in exactly one of the nine places, and every pod that sleeps or backs off leaves by itself at a time
//! that [`Queue::next_time`] tells. So no wake-up can be lost for good, and nothing is retried without a reason. What happens while a
//! pod is being considered is remembered until it is put back.

mod heard;
mod stations;
mod telling;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use cluster::groups::Key;
use decisions::settings::Patience;
use decisions::wake::{Object, Wake, Wakes};
use model::timestamp::Timestamp;
use rustc_hash::FxHashMap;

use crate::pacing::Refreshes;
use heard::Heard;
use waiting::{LastSearch, Place, Rank, Waiting};

pub use stations::{Cause, Counts, Entity, Failure, Station, Tries};

/// Pods that wait for a node.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    patience: Patience,
    pods: FxHashMap<Key, Waiting>,
    ready: BTreeSet<Rank>,
    undecided: BTreeSet<Rank>,
    /// How many are being considered.
    considered: usize,
    heard: Heard,
    backing_off: BTreeSet<(Timestamp, Rank)>,
    resting: BTreeSet<(Timestamp, Rank)>,
    asleep: BTreeSet<(Timestamp, Rank)>,
    /// How many pods and groups came to which place and why, since that was asked last.
    moves: BTreeMap<(Station, Cause, Entity), u64>,
    /// Sleepers by each change that could wake them, of any object or of one, so that a change looks at those only.
    sleepers: BTreeMap<(Wake, Option<Object>), BTreeSet<Rank>>,
    /// Pods and groups that were told with other figures than those of now.
    pub(crate) refreshes: Refreshes,
}

impl Queue {
    /// An empty queue.
    #[must_use]
    pub fn new(patience: Patience) -> Queue {
        Queue { patience, ..Queue::default() }
    }

    /// Adds a pod, or takes note that it is gated or not, and how important it is. This alone wakes no pod: what of a pod
    /// changed is told to [`Queue::wake_one`].
    pub fn apply(&mut self, key: &Key, priority: i32, gated: bool, now: Timestamp) {
        let known = self.take(key);
        let is_new = known.is_none();
        let mut waiting = known.unwrap_or_else(|| Waiting {
            rank: Rank { importance: 0, since: now, key: key.clone() },
            place: Place::Ready,
            failures: 0,
            failed_at: now,
            last_search: LastSearch::Short,
            tries: Tries::default(),
            told: None,
            told_of: BTreeSet::new(),
            unwritten: BTreeSet::new(),
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
            Place::Gated if is_new || !was_gated => self.moved(key, Station::Gated, Cause::Added),
            Place::Ready if is_new || was_gated => {
                waiting.tries.since.get_or_insert(now);
                self.moved(key, Station::Ready, Cause::Added);
            }
            _ => {}
        }
        self.put(waiting);
    }

    fn moved(&mut self, key: &Key, station: Station, cause: Cause) {
        *self.moves.entry((station, cause, key.into())).or_default() += 1;
    }

    /// How many pods and groups came to which place and why, since this was asked the last time.
    pub fn take_moves(&mut self) -> BTreeMap<(Station, Cause, Entity), u64> {
        std::mem::take(&mut self.moves)
    }

    /// Forgets a pod.
    pub fn remove(&mut self, key: &Key) -> bool {
        self.heard.end(key);
        self.refreshes.note(key, None);
        self.take(key).is_some()
    }

    /// Whether a pod is known here.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        self.pods.contains_key(key)
    }

    /// Whether a pod waits until something else is done.
    pub fn is_gated(&self, key: &Key) -> bool {
        self.pods.get(key).is_some_and(|waiting| waiting.place == Place::Gated)
    }

    /// Takes the next pod. While none is ready, the one whose backoff ends first is taken early, as Kubernetes has it: there is nothing
    /// better to do. Those for which something went wrong are not: it would go wrong again at once. Nor are gangs, and what took long
    /// the last time: what may come meanwhile would wait for all of them.
    pub fn next(&mut self, now: Timestamp) -> Option<Key> {
        self.let_go(now);
        let rank = match self.ready.first() {
            Some(rank) => rank.clone(),
            None => self.backing_off.first()?.1.clone(),
        };
        let mut waiting = self.take(&rank.key).expect("a pod in an order is known");
        waiting.place = Place::Out;
        waiting.tries.attempts += 1;
        self.put(waiting);
        Some(rank.key)
    }

    /// Says of a pod that was taken that it takes long to decide about it. It keeps its rank.
    pub fn put_off(&mut self, key: &Key) {
        self.heard.end(key);
        let Some(mut waiting) = self.take(key) else { return };
        waiting.tries.attempts = waiting.tries.attempts.saturating_sub(1);
        waiting.place = Place::Undecided;
        waiting.last_search = LastSearch::Long;
        self.put(waiting);
    }

    /// Says of a pod that was taken that it is held back: something that it needs went meanwhile.
    pub fn hold_back(&mut self, key: &Key) {
        self.heard.end(key);
        let Some(mut waiting) = self.take(key) else { return };
        waiting.tries.attempts = waiting.tries.attempts.saturating_sub(1);
        waiting.place = Place::Gated;
        self.moved(key, Station::Gated, Cause::Added);
        self.put(waiting);
    }

    /// Takes the next pod about which it takes long to decide.
    pub fn next_undecided(&mut self) -> Option<Key> {
        let key = self.undecided.first()?.key.clone();
        let mut waiting = self.take(&key).expect("a pod in an order is known");
        waiting.place = Place::Out;
        waiting.tries.attempts += 1;
        self.put(waiting);
        Some(key)
    }

    /// Says of a pod that was taken that it is being considered.
    pub fn consider(&mut self, key: &Key) {
        let Some(mut waiting) = self.take(key) else { return };
        waiting.tries.attempts = waiting.tries.attempts.saturating_sub(1);
        waiting.place = Place::Considered;
        self.heard.begin(key);
        self.put(waiting);
    }

    /// Says that the verdict about a pod that was being considered is there, so that it can have its turn. Says no if the pod
    /// is gone by now, or waits for something else.
    pub fn end_considering(&mut self, key: &Key) -> bool {
        let is_considered = self.pods.get(key).is_some_and(|waiting| waiting.place == Place::Considered);
        if is_considered {
            let mut waiting = self.take(key).expect("it was found a moment ago");
            waiting.place = Place::Ready;
            self.put(waiting);
        }
        is_considered
    }

    /// Whether it is not decided yet where a pod goes, as that takes long.
    #[must_use]
    pub fn is_undecided(&self, key: &Key) -> bool {
        self.pods
            .get(key)
            .is_some_and(|waiting| matches!(waiting.place, Place::Undecided | Place::Considered))
    }

    /// Whether there is a pod about which it takes long to decide and that is not being considered yet.
    #[must_use]
    pub fn has_undecided(&self) -> bool {
        !self.undecided.is_empty()
    }

    /// Says that a pod that was taken has no place.
    pub fn put_back(&mut self, key: &Key, failure: Failure, now: Timestamp) {
        let Some(mut waiting) = self.take(key) else { return };
        let wakes_on = match &failure {
            Failure::Refused(wakes_on) | Failure::LimitReached(wakes_on) => Some(wakes_on),
            Failure::Failed => None,
        };
        let missed = self.heard.missed(key, wakes_on);
        waiting.failures = waiting.failures.saturating_add(1);
        waiting.failed_at = now;
        waiting.last_search = match (waiting.last_search, &failure) {
            (LastSearch::Long | LastSearch::Exhausting, Failure::LimitReached(_)) => LastSearch::Exhausting,
            (LastSearch::Exhausting, _) => LastSearch::Long,
            (known, _) => known,
        };
        if !matches!(failure, Failure::LimitReached(_)) {
            // A search that reached its limit decided nothing, so what it was for keeps its place in the order.
            waiting.rank.since = now;
        }
        match &failure {
            Failure::Refused(_) | Failure::LimitReached(_) => {
                self.moved(key, Station::Asleep, Cause::Refused)
            }
            Failure::Failed => self.moved(key, Station::BackingOff, Cause::Failed),
        }
        waiting.place = match failure {
            Failure::Refused(wakes_on) => {
                Place::Asleep { until: now.plus_millis(self.patience.sleep_ms_max), wakes_on }
            }
            Failure::LimitReached(wakes_on) => {
                let wait = self.doubled(waiting.failures, self.patience.sleep_ms_max);
                Place::Exhausted { until: now.plus_millis(wait), wakes_on }
            }
            Failure::Failed => Place::Resting { until: self.backed_off(waiting.failures, now) },
        };
        self.put(waiting);
        if let Some(kind) = missed {
            self.rouse(key, Cause::Woken(kind), now);
        }
    }

    /// Says that something went wrong with a part of what waits under a key. It is not taken before a while has passed, if it is
    /// not left alone already: those of it that wait would be woken by what is taken back, and it would go wrong again at once.
    pub fn rest(&mut self, key: &Key, now: Timestamp) {
        let place = self.pods.get(key).map(|waiting| &waiting.place);
        let is_left_alone = matches!(place, None | Some(Place::Resting { .. } | Place::Gated | Place::Out));
        if !is_left_alone {
            self.put_back(key, Failure::Failed, now);
        }
    }

    /// Says of a pod that comes back that it failed so many times in a row before. It is left alone as it would have been then.
    pub fn rest_again(&mut self, key: &Key, failures: u32, now: Timestamp) {
        let Some(mut waiting) = self.take(key) else { return };
        if waiting.place == Place::Ready {
            waiting.failures = failures;
            waiting.place = Place::Resting { until: self.backed_off(failures, now) };
            self.moved(key, Station::BackingOff, Cause::Failed);
        }
        self.put(waiting);
    }

    /// Says that a pod that was taken waits for an answer to what it asked. It keeps its rank, and is ready at once when it is
    /// woken: nothing went wrong.
    pub fn wait(&mut self, key: &Key, wakes_on: Wakes, now: Timestamp) {
        self.wait_until(key, wakes_on, now.plus_millis(self.patience.sleep_ms_max));
    }

    /// The same for a pod that is to be ready at this time at the latest.
    pub fn wait_until(&mut self, key: &Key, wakes_on: Wakes, until: Timestamp) {
        let Some(mut waiting) = self.take(key) else { return };
        self.heard.end(key);
        waiting.failures = 0;
        self.moved(key, Station::Asleep, Cause::Asking);
        waiting.place = Place::Asleep { until, wakes_on };
        self.put(waiting);
    }

    /// Says that a pod that was taken is to be taken again later, and keeps its rank.
    pub fn postpone(&mut self, key: &Key, until: Timestamp) {
        self.heard.end(key);
        let Some(mut waiting) = self.take(key) else { return };
        waiting.tries.attempts = waiting.tries.attempts.saturating_sub(1);
        waiting.last_search = LastSearch::Short;
        waiting.place = Place::Resting { until };
        self.put(waiting);
    }

    /// Wakes the pods that a change could help, and says how many those are.
    pub fn wake(&mut self, changes: Wakes, now: Timestamp) -> usize {
        self.wake_but(changes, &[], now)
    }

    /// The same without these, which wait for more than that.
    pub fn wake_but(&mut self, changes: Wakes, spared: &[Key], now: Timestamp) -> usize {
        self.heard.hear(&changes);
        self.rouse_all(changes, |key| !spared.contains(key), now)
    }

    /// The same only for pods that the change concerns.
    pub fn wake_if(&mut self, changes: Wakes, concerns: impl Fn(&Key) -> bool, now: Timestamp) -> usize {
        self.heard.hear_if(&changes, &concerns);
        self.rouse_all(changes, concerns, now)
    }

    fn rouse_all(&mut self, changes: Wakes, concerns: impl Fn(&Key) -> bool, now: Timestamp) -> usize {
        let mut woken: BTreeMap<Rank, Wake> = BTreeMap::new();
        let mut add = |kind: Wake, ranks: &BTreeSet<Rank>| {
            woken.extend(ranks.iter().map(|rank| (rank.clone(), kind)));
        };
        for kind in changes.kinds() {
            // Whatever it is that changed, it may be the one that is waited for.
            let all = self.sleepers.range((kind, None)..).take_while(|((other, _), _)| *other == kind);
            all.for_each(|(_, ranks)| add(kind, ranks));
        }
        for (kind, object) in changes.into_named() {
            let any = self.sleepers.get(&(kind, None));
            let one = self.sleepers.get(&(kind, Some(object)));
            any.into_iter().chain(one).for_each(|ranks| add(kind, ranks));
        }
        woken.retain(|rank, _| concerns(&rank.key));
        let count = woken.len();
        if count > 0 {
            self.refreshes.pay(now);
        }
        woken.into_iter().for_each(|(rank, kind)| self.rouse(&rank.key, Cause::Woken(kind), now));
        count
    }

    /// Wakes one pod if it sleeps until one of these changes, since something of its own changed.
    #[expect(clippy::needless_pass_by_value, reason = "as for `wake`, it is made on the spot")]
    pub fn wake_one(&mut self, key: &Key, changes: Wakes, now: Timestamp) {
        self.heard.hear_of(key, &changes);
        let place = self.pods.get(key).map(|waiting| &waiting.place);
        if let Some(Place::Asleep { wakes_on, .. } | Place::Exhausted { wakes_on, .. }) = place
            && wakes_on.meets(&changes)
        {
            self.rouse(key, Cause::OwnChange, now);
        }
    }

    /// Lets a pod that sleeps try again after a backoff that begins now, though nothing happened that could help it.
    pub fn sleep_less(&mut self, key: &Key, now: Timestamp) {
        let Some(mut waiting) = self.take(key) else { return };
        let backed_off = self.backed_off(waiting.failures, now);
        if let Place::Asleep { until, .. } | Place::Exhausted { until, .. } = &mut waiting.place {
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
            undecided: self.undecided.len() + self.considered,
            backing_off: self.backing_off.len() + self.resting.len(),
            asleep: self.asleep.len(),
            gated,
        }
    }

    /// How many pods of no group, and how many groups, are in each place.
    #[must_use]
    pub fn entities(&self) -> BTreeMap<(Station, Entity), usize> {
        let all = Station::ALL.iter().flat_map(|station| Entity::ALL.map(|entity| ((*station, entity), 0)));
        let mut counts: BTreeMap<(Station, Entity), usize> = all.collect();
        for (key, waiting) in &self.pods {
            let station = match waiting.place {
                Place::Ready | Place::Undecided | Place::Considered => Station::Ready,
                Place::BackingOff { .. } | Place::Resting { .. } => Station::BackingOff,
                Place::Asleep { .. } | Place::Exhausted { .. } => Station::Asleep,
                Place::Gated => Station::Gated,
                Place::Out => continue,
            };
            *counts.entry((station, key.into())).or_default() += 1;
        }
        counts
    }

    /// How often a pod was taken, and since when it waits.
    #[must_use]
    pub fn tries(&self, key: &Key) -> Tries {
        self.pods.get(key).map_or_else(Tries::default, |waiting| waiting.tries)
    }

    /// Moves on those whose time has come.
    fn let_go(&mut self, now: Timestamp) {
        let due = |order: &BTreeSet<(Timestamp, Rank)>| {
            order.iter().take_while(|(until, _)| *until <= now).map(|(_, rank)| rank.key.clone()).collect()
        };
        let [woken, failed, asleep]: [Vec<Key>; 3] =
            [due(&self.backing_off), due(&self.resting), due(&self.asleep)];
        woken.iter().chain(&failed).for_each(|key| self.make_ready(key, Cause::BackoffOver));
        asleep.iter().for_each(|key| self.make_ready(key, Cause::SleptLong));
    }

    fn make_ready(&mut self, key: &Key, cause: Cause) {
        if let Some(mut waiting) = self.take(key) {
            waiting.make_ready();
            waiting.tries.after_flush = cause == Cause::SleptLong;
            self.moved(key, Station::Ready, cause);
            self.put(waiting);
        }
    }

    /// Wakes a sleeper: it waits out the rest of its backoff, counted from when it failed.
    fn rouse(&mut self, key: &Key, cause: Cause, now: Timestamp) {
        let Some(mut waiting) = self.take(key) else { return };
        let until = self.backed_off(waiting.failures, waiting.failed_at);
        let is_early = waiting.failures > 0 && until > now;
        // If something of its own changed, it alone is tried again.
        let was_short = waiting.last_search == LastSearch::Short;
        let is_quick = cause == Cause::OwnChange || (matches!(key, Key::Pod(_)) && was_short);
        waiting.may_be_short();
        match waiting.place {
            Place::Exhausted { .. } if is_early => waiting.place = Place::Resting { until },
            _ if is_early => waiting.place = Place::BackingOff { until, is_quick },
            _ => waiting.make_ready(),
        }
        waiting.tries.after_flush = false;
        self.moved(key, if is_early { Station::BackingOff } else { Station::Ready }, cause);
        self.put(waiting);
    }

    /// The end of a backoff that begins now.
    fn backed_off(&self, failures: u32, now: Timestamp) -> Timestamp {
        now.plus_millis(self.doubled(failures, self.patience.backoff_ms_max))
    }

    /// How long to wait after so many failures, at the most so long.
    fn doubled(&self, failures: u32, wait_ms_max: i64) -> i64 {
        let wait_ms_min = self.patience.backoff_ms_min;
        let doubled = wait_ms_min.checked_shl(failures.saturating_sub(1)).unwrap_or(wait_ms_max);
        // A shift that pushes bits out comes back small or negative, so the number of failures decides as well.
        let wait = if failures > 32 || doubled < wait_ms_min { wait_ms_max } else { doubled };
        wait.min(wait_ms_max)
    }

    fn take(&mut self, key: &Key) -> Option<Waiting> {
        let waiting = self.pods.remove(key)?;
        let rank = &waiting.rank;
        match &waiting.place {
            Place::Ready => {
                self.ready.remove(rank);
            }
            Place::Undecided => {
                self.undecided.remove(rank);
            }
            Place::Considered => self.considered -= 1,
            Place::BackingOff { until, is_quick: true } => {
                self.backing_off.remove(&(*until, rank.clone()));
            }
            Place::BackingOff { until, is_quick: false } | Place::Resting { until } => {
                self.resting.remove(&(*until, rank.clone()));
            }
            Place::Asleep { until, wakes_on } | Place::Exhausted { until, wakes_on } => {
                self.asleep.remove(&(*until, rank.clone()));
                for change in changes_of(wakes_on) {
                    if let Some(sleepers) = self.sleepers.get_mut(&change) {
                        sleepers.remove(rank);
                        if sleepers.is_empty() {
                            self.sleepers.remove(&change);
                        }
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
            Place::Undecided => {
                self.undecided.insert(rank.clone());
            }
            Place::Considered => self.considered += 1,
            Place::BackingOff { until, is_quick: true } => {
                self.backing_off.insert((*until, rank.clone()));
            }
            Place::BackingOff { until, is_quick: false } | Place::Resting { until } => {
                self.resting.insert((*until, rank.clone()));
            }
            Place::Asleep { until, wakes_on } | Place::Exhausted { until, wakes_on } => {
                self.asleep.insert((*until, rank.clone()));
                for change in changes_of(wakes_on) {
                    self.sleepers.entry(change).or_default().insert(rank.clone());
                }
            }
            Place::Gated | Place::Out => {}
        }
        self.pods.insert(rank.key, waiting);
    }
}

/// The changes that a sleeper is found by.
fn changes_of(wakes_on: &Wakes) -> impl Iterator<Item = (Wake, Option<Object>)> {
    let kinds = wakes_on.kinds().map(|kind| (kind, None));
    kinds.chain(wakes_on.named().map(|(kind, object)| (*kind, Some(object.clone()))))
}

#[cfg(test)]
mod tests;
