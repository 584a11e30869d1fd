//! What is to be looked at when.
//!
//! Invariant: a subject is in one of three states: it has one time, it is busy, or nothing is planned for it.

use std::collections::{BTreeMap, BTreeSet};

use model::timestamp::Timestamp;

/// A namespace and a name.
pub(super) type Name = (String, String);

/// What something is to be done about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Subject {
    /// A node, by name.
    Node(String),
    /// A pod.
    Pod(Name),
}

/// Times of subjects.
#[derive(Default)]
pub(super) struct Agenda {
    due: BTreeSet<(Timestamp, Subject)>,
    /// When each is due, to find it in `due`.
    at: BTreeMap<Subject, Timestamp>,
    busy: BTreeSet<Subject>,
}

impl Agenda {
    /// A subject is to be looked at by then; an earlier time stays. One that is busy is left alone.
    pub(super) fn by(&mut self, subject: &Subject, time: Timestamp) {
        let is_later = self.at.get(subject).is_some_and(|known| *known <= time);
        if is_later || self.busy.contains(subject) {
            return;
        }
        self.forget(subject);
        self.at.insert(subject.clone(), time);
        self.due.insert((time, subject.clone()));
    }

    /// Nothing is planned for a subject any more.
    pub(super) fn forget(&mut self, subject: &Subject) {
        if let Some(time) = self.at.remove(subject) {
            self.due.remove(&(time, subject.clone()));
        }
    }

    /// A subject whose time has come; it is busy now.
    pub(super) fn begin(&mut self, now: Timestamp) -> Option<Subject> {
        let (_, subject) = self.due.first().filter(|(time, _)| *time <= now)?.clone();
        self.forget(&subject);
        self.busy.insert(subject.clone());
        Some(subject)
    }

    /// A subject is no longer busy.
    pub(super) fn end(&mut self, subject: &Subject) {
        self.busy.remove(subject);
    }

    /// How many are busy.
    pub(super) fn busy(&self) -> usize {
        self.busy.len()
    }

    /// When the next is due.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(time, _)| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_time_counts_and_who_is_busy_is_left_alone() {
        let (mut agenda, start) = (Agenda::default(), Timestamp::from_micros(0));
        let later = |seconds: i64| start.plus_millis(seconds * 1_000);
        let [a, b] = ["a", "b"].map(|name| Subject::Node(name.to_owned()));
        agenda.by(&a, later(5));
        agenda.by(&a, later(9));
        agenda.by(&b, later(7));
        agenda.by(&b, later(3));
        assert_eq!((agenda.next(), agenda.begin(later(2))), (Some(later(3)), None));
        assert_eq!((agenda.begin(later(6)), agenda.begin(later(6))), (Some(b.clone()), Some(a.clone())));
        agenda.by(&b, later(6));
        assert_eq!((agenda.begin(later(9)), agenda.busy()), (None, 2));
        agenda.end(&b);
        agenda.by(&b, later(6));
        assert_eq!(agenda.begin(later(9)), Some(b));
        agenda.forget(&a);
        agenda.end(&a);
        assert_eq!((agenda.next(), agenda.busy()), (None, 1));
    }
}
