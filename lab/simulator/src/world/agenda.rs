//! The virtual clock: what happens when.
//!
//! Invariant: time never goes back, and what is due at the same time happens in the order in which it was planned.

use std::collections::BTreeMap;

/// What is to happen, by time and by the order of planning. Times are milliseconds since the beginning.
#[derive(Debug)]
pub(crate) struct Agenda<H> {
    now: i64,
    planned: u64,
    due: BTreeMap<(i64, u64), H>,
}

impl<H> Agenda<H> {
    pub fn new() -> Agenda<H> {
        Agenda { now: 0, planned: 0, due: BTreeMap::new() }
    }

    /// The time.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// Plans something for so many milliseconds from now.
    pub fn after(&mut self, millis: i64, happening: H) {
        self.planned += 1;
        self.due.insert((self.now + millis.max(0), self.planned), happening);
    }

    /// The next thing that happens before an end; it is that time now.
    pub fn next(&mut self, end: i64) -> Option<H> {
        let entry = self.due.first_entry().filter(|entry| entry.key().0 < end)?;
        let ((time, _), happening) = entry.remove_entry();
        self.now = time;
        Some(happening)
    }
}

#[cfg(test)]
mod tests {
    use super::Agenda;

    #[test]
    fn what_is_due_first_happens_first_and_equals_keep_their_order() {
        let mut agenda = Agenda::new();
        for (millis, what) in [(5, "c"), (1, "a"), (5, "d"), (-3, "now"), (1, "b"), (90, "never")] {
            agenda.after(millis, what);
        }
        let told: Vec<&str> = std::iter::from_fn(|| agenda.next(90)).collect();
        assert_eq!((told, agenda.now()), (vec!["now", "a", "b", "c", "d"], 5));
    }
}
