//! What is to be seen to, and when: what was touched, what rests after a failure, what is looked at now and then.
//!
//! Invariant: nothing is under way twice. What is touched meanwhile is seen to again after that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::known::Name;

/// How long something rests after its first failure; doubles with each, up to the bound.
const REST_FIRST: Duration = Duration::from_millis(50);
const REST_MAX: Duration = Duration::from_secs(30);

/// Something to see to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    /// A claim by itself.
    Claim(Name),
    /// What a pod is to have.
    Context(Name),
}

/// What is to be seen to.
#[derive(Debug, Default)]
pub(super) struct Order {
    due: BTreeMap<Key, Instant>,
    busy: BTreeSet<Key>,
    /// Touched while it was under way.
    again: BTreeSet<Key>,
    failures: BTreeMap<Key, u32>,
}

impl Order {
    pub(super) fn touch(&mut self, key: Key, now: Instant) {
        if self.busy.contains(&key) {
            self.again.insert(key);
        } else {
            self.due.insert(key, now);
        }
    }

    /// What pods are to have is seen to at this time, where that would be later; what is under way, once more.
    pub(super) fn hasten(&mut self, at: Instant) {
        let is_context = |key: &&Key| matches!(key, Key::Context(_));
        self.again.extend(self.busy.iter().filter(is_context).cloned());
        for (_, due) in self.due.iter_mut().filter(|(key, _)| is_context(key)) {
            *due = at.min(*due);
        }
    }

    /// The next, if one is due; it is under way until it ends.
    pub(super) fn begin(&mut self, now: Instant) -> Option<Key> {
        let next = self.due.iter().filter(|(_, at)| **at <= now).min_by_key(|(_, at)| **at);
        let key = next.map(|(key, _)| key.clone())?;
        self.due.remove(&key);
        self.busy.insert(key.clone());
        Some(key)
    }

    /// When the next is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.values().min().copied()
    }

    /// It is done, and looked at again after a while if that is said.
    pub(super) fn end(&mut self, key: Key, later: Option<Duration>, now: Instant) {
        self.failures.remove(&key);
        self.release(key, later, now);
    }

    /// It went wrong.
    pub(super) fn fail(&mut self, key: Key, now: Instant) {
        let failures = self.failures.entry(key.clone()).or_default();
        let rest = REST_FIRST.saturating_mul(1 << (*failures).min(16)).min(REST_MAX);
        *failures += 1;
        self.busy.remove(&key);
        // What happened meanwhile may be our own doing, so that it rests all the same.
        self.again.remove(&key);
        self.due.insert(key, now + rest);
    }

    fn release(&mut self, key: Key, later: Option<Duration>, now: Instant) {
        self.busy.remove(&key);
        if self.again.remove(&key) {
            self.due.insert(key, now);
        } else if let Some(later) = later {
            self.due.insert(key, now + later);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_touched_while_it_is_under_way_is_seen_to_again() {
        let now = Instant::now();
        let key = Key::Claim((String::new(), "a".to_owned()));
        let mut order = Order::default();
        order.touch(key.clone(), now);
        assert_eq!(order.begin(now), Some(key.clone()));
        order.touch(key.clone(), now);
        assert_eq!(order.begin(now), None, "it is under way");
        order.end(key.clone(), None, now);
        assert_eq!(order.begin(now), Some(key.clone()));
        order.end(key, None, now);
        assert_eq!((order.begin(now), order.next_due()), (None, None));
    }

    #[test]
    fn what_is_hastened_is_due_sooner_and_never_later() {
        let now = Instant::now();
        let (soon, late) = (now + REST_FIRST, now + REST_MAX);
        let key = |name: &str| Key::Context((String::new(), name.to_owned()));
        let mut order = Order::default();
        order.touch(key("waits"), late);
        order.touch(key("due"), now);
        order.touch(Key::Claim((String::new(), "claim".to_owned())), late);
        order.hasten(soon);
        assert_eq!(order.begin(now), Some(key("due")));
        assert_eq!(order.next_due(), Some(soon));
        order.hasten(soon);
        order.end(key("due"), None, now);
        assert_eq!(order.begin(now), Some(key("due")), "it was under way, and may not have seen what is new");
        assert_eq!(order.begin(soon), Some(key("waits")));
        assert_eq!(order.next_due(), Some(late), "claims are left alone");
    }

    #[test]
    fn what_fails_rests_longer_each_time() {
        let now = Instant::now();
        let key = Key::Context((String::new(), "a".to_owned()));
        let mut order = Order::default();
        order.touch(key.clone(), now);
        let mut at = now;
        let mut rests = Vec::new();
        for _ in 0..3 {
            assert_eq!(order.begin(at), Some(key.clone()));
            order.fail(key.clone(), at);
            let due = order.next_due().expect("it is tried again");
            rests.push(due - at);
            at = due;
        }
        assert_eq!(rests, [REST_FIRST, REST_FIRST * 2, REST_FIRST * 4]);
    }
}
