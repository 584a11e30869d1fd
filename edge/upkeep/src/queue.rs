//! What to look at next: keys that were touched, keys that rest after a failure, keys that have an appointment.
//!
//! Invariant: a key is under way at most once. One that is touched meanwhile is looked at again after that, so that nothing
//! is missed, and one that fails again and again is left alone for longer each time, up to a bound.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

/// How long a key rests after its first failure; doubles with each.
const REST_FIRST: Duration = Duration::from_millis(100);

/// How long a key rests at most.
const REST_MAX: Duration = Duration::from_secs(120);

/// Keys and when to look at them.
pub(crate) struct Queue<K> {
    ready: VecDeque<K>,
    is_ready: BTreeSet<K>,
    /// Keys that are under way, and whether they were touched meanwhile.
    busy: BTreeMap<K, bool>,
    due: BTreeSet<(Instant, K)>,
    /// When each is due, to find it in `due`.
    due_at: BTreeMap<K, Instant>,
    failures: BTreeMap<K, u32>,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self {
            ready: VecDeque::new(),
            is_ready: BTreeSet::new(),
            busy: BTreeMap::new(),
            due: BTreeSet::new(),
            due_at: BTreeMap::new(),
            failures: BTreeMap::new(),
        }
    }
}

impl<K: Clone + Ord> Queue<K> {
    /// Something happened to a key: it is looked at as soon as possible, whatever it waits for. Says whether it is new here.
    pub(crate) fn touch(&mut self, key: K) -> bool {
        if let Some(touched) = self.busy.get_mut(&key) {
            return !std::mem::replace(touched, true);
        }
        self.cancel(&key);
        let is_new = self.is_ready.insert(key.clone());
        if is_new {
            self.ready.push_back(key);
        }
        is_new
    }

    /// Something happened to several keys.
    pub(crate) fn touch_all(&mut self, keys: impl IntoIterator<Item = K>) {
        for key in keys {
            self.touch(key);
        }
    }

    /// A key is to be looked at again at a time; only the earliest counts.
    pub(crate) fn look_at(&mut self, key: K, at: Instant) {
        match self.due_at.get(&key) {
            Some(earlier) if *earlier <= at => {}
            _ => {
                self.cancel(&key);
                self.due.insert((at, key.clone()));
                self.due_at.insert(key, at);
            }
        }
    }

    /// The next key to look at; it is under way until [`Queue::end`].
    pub(crate) fn begin(&mut self, now: Instant) -> Option<K> {
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            let (_, key) = self.due.pop_first().expect("there is a first");
            self.due_at.remove(&key);
            self.touch(key);
        }
        let key = self.ready.pop_front()?;
        self.is_ready.remove(&key);
        self.busy.insert(key.clone(), false);
        Some(key)
    }

    /// What was under way is done.
    pub(crate) fn end(&mut self, key: &K) {
        self.failures.remove(key);
        self.release(key);
    }

    /// What was under way went wrong and is tried again, unless something happened meanwhile after a rest. Says how long.
    pub(crate) fn fail(&mut self, key: &K, now: Instant) -> Duration {
        let failures = self.failures.entry(key.clone()).or_default();
        let rest = REST_FIRST.saturating_mul(1 << (*failures).min(20)).min(REST_MAX);
        *failures += 1;
        if !self.release(key) {
            self.look_at(key.clone(), now + rest);
        }
        rest
    }

    /// When the next key is due, if any is.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// How many keys could be looked at now.
    pub(crate) fn depth(&self) -> usize {
        self.ready.len()
    }

    /// How many are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.busy.len()
    }

    /// Takes a key off what is under way; says whether it is looked at again at once.
    fn release(&mut self, key: &K) -> bool {
        let touched = self.busy.remove(key).expect("only what was begun ends");
        if touched {
            self.touch(key.clone());
        }
        touched
    }

    fn cancel(&mut self, key: &K) {
        if let Some(at) = self.due_at.remove(key) {
            self.due.remove(&(at, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_key_is_under_way_once_and_nothing_is_missed() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        assert!(queue.touch("a") && queue.touch("b") && !queue.touch("a"));
        assert_eq!(queue.begin(now), Some("a"));
        assert!(queue.touch("a") && !queue.touch("a"));
        assert_eq!((queue.begin(now), queue.begin(now)), (Some("b"), None));
        queue.end(&"a");
        queue.end(&"b");
        assert_eq!((queue.begin(now), queue.begin(now)), (Some("a"), None));
    }

    #[test]
    fn failures_make_the_rest_longer_up_to_a_bound_and_success_ends_them() {
        let (mut queue, mut now) = (Queue::default(), Instant::now());
        queue.touch("a");
        let mut rests = Vec::new();
        for _ in 0..13 {
            assert_eq!(queue.begin(now), Some("a"));
            let rest = queue.fail(&"a", now);
            assert_eq!(queue.begin(now), None);
            now += rest;
            rests.push(rest);
        }
        assert_eq!(rests[..3], [REST_FIRST, REST_FIRST * 2, REST_FIRST * 4]);
        assert_eq!(rests[12], REST_MAX);
        assert_eq!(queue.begin(now), Some("a"));
        queue.end(&"a");
        queue.touch("a");
        queue.begin(now);
        assert_eq!(queue.fail(&"a", now), REST_FIRST);
    }

    #[test]
    fn what_happens_ends_a_rest_and_the_earliest_appointment_counts() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.touch("a");
        queue.begin(now);
        queue.touch("a");
        queue.fail(&"a", now);
        assert_eq!(queue.begin(now), Some("a"));
        queue.end(&"a");
        queue.look_at("a", now + second(5));
        queue.look_at("a", now + second(9));
        queue.look_at("b", now + second(3));
        assert_eq!(queue.next_due(), Some(now + second(3)));
        queue.touch("b");
        assert_eq!(queue.next_due(), Some(now + second(5)));
        assert_eq!(queue.begin(now + second(5)), Some("b"));
        assert_eq!(queue.begin(now + second(5)), Some("a"));
        assert_eq!(queue.next_due(), None);
    }
}
