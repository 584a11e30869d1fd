//! What the server said, and the promises that follow from it.
//!
//! A write that was acknowledged stays. A write that got no answer may be there or not, but whole. A revision that
//! anybody saw belongs to one content for ever, and later writes have higher ones.

use std::collections::BTreeMap;

use crate::wire::{Id, Shown, WriteNumber};

/// All that is known.
#[derive(Default)]
pub(crate) struct Ledger {
    objects: BTreeMap<Id, Known>,
    /// What each revision that was seen holds; `None` for a deletion.
    revisions: BTreeMap<u64, (Id, Option<WriteNumber>)>,
    /// Every revision of this life must be higher than this.
    floor: u64,
    /// The highest revision that was seen.
    highest: u64,
    pub(crate) acknowledged: u64,
    pub(crate) unanswered_kept: u64,
    pub(crate) unanswered_lost: u64,
    pub(crate) observed: u64,
    pub(crate) violations: Vec<String>,
}

/// What is known of one object.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// What was acknowledged last; `None` if that it is gone.
    now: Option<WriteNumber>,
    /// The revision at which that was acknowledged.
    revision: Option<u64>,
    /// What was asked for and not answered.
    wish: Option<Option<WriteNumber>>,
}

impl Ledger {
    /// What a writer may take for the object's state: its step and revision, or nothing.
    pub(crate) fn state(&self, id: Id) -> Option<(WriteNumber, u64)> {
        let known = self.objects.get(&id)?;
        known.now.zip(known.revision)
    }

    /// The highest revision that anybody saw.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// A write is about to be sent.
    pub(crate) fn asked(&mut self, id: Id, wish: Option<WriteNumber>) {
        self.objects.entry(id).or_default().wish = Some(wish);
    }

    /// A write was acknowledged; a deletion does not always say its revision.
    pub(crate) fn acknowledged(&mut self, id: Id, revision: Option<u64>) {
        self.acknowledged += 1;
        let known = self.objects.entry(id).or_default();
        let before = known.revision;
        let Some(wish) = known.wish.take() else {
            return self.violated(format!("{id:?}: an answer without a question"));
        };
        *known = Known { now: wish, revision, wish: None };
        let Some(revision) = revision else { return };
        if before.is_some_and(|before| revision <= before) {
            self.violated(format!("{id:?}: revision {revision} came after {before:?}"));
        }
        self.saw(revision, id, wish);
    }

    /// A write was refused, though nobody else writes the object.
    pub(crate) fn refused(&mut self, id: Id, code: u16, why: &str) {
        let known = self.objects.get(&id).copied();
        self.violated(format!("{id:?}: refused with {code} in state {known:?}: {why}"));
    }

    /// A watch told of a change.
    pub(crate) fn observed(&mut self, shown: Shown, deleted: bool) {
        self.observed += 1;
        self.saw(shown.revision, shown.id, (!deleted).then_some(shown.step));
    }

    fn saw(&mut self, revision: u64, id: Id, content: Option<WriteNumber>) {
        let first = *self.revisions.entry(revision).or_insert((id, content));
        if first != (id, content) {
            let other = format!("revision {revision} was {first:?} and is now {id:?} at {content:?}");
            self.violated(other);
        }
        self.highest = self.highest.max(revision);
    }

    /// A change of this life must be newer than all that was seen in earlier ones.
    pub(crate) fn must_be_new(&mut self, revision: u64) {
        if revision <= self.floor {
            self.violated(format!("revision {revision} is used again, {} was seen before", self.floor));
        }
    }

    /// The server is back with these objects.
    pub(crate) fn restarted(&mut self, list_revision: u64, found: &[Shown]) {
        if list_revision < self.highest {
            let lost =
                format!("revision {} was seen, and the server is back at {list_revision}", self.highest);
            self.violated(lost);
        }
        let mut found: BTreeMap<Id, Shown> = found.iter().map(|shown| (shown.id, *shown)).collect();
        for (id, mut known) in std::mem::take(&mut self.objects) {
            let shown = found.remove(&id);
            let content = shown.map(|shown| shown.step);
            let as_acknowledged = content == known.now
                && (content.is_none() || shown.map(|shown| shown.revision) == known.revision);
            if as_acknowledged {
                self.unanswered_lost += u64::from(known.wish.is_some());
            } else if known.wish == Some(content) {
                self.unanswered_kept += 1;
            } else {
                self.violated(format!("{id:?}: {known:?} was known, and {shown:?} is there"));
            }
            known = Known { now: content, revision: shown.map(|shown| shown.revision), wish: None };
            self.objects.insert(id, known);
            if let Some(shown) = shown {
                self.saw(shown.revision, id, Some(shown.step));
            }
        }
        for (id, shown) in found {
            self.violated(format!("{id:?}: nobody asked for {shown:?}"));
        }
        self.highest = self.highest.max(list_revision);
        self.floor = self.highest;
    }

    pub(crate) fn violated(&mut self, promise: String) {
        self.violations.push(promise);
    }
}

#[cfg(test)]
mod tests {
    use super::Ledger;
    use crate::wire::{Id, Kind, Shown};

    const ID: Id = Id { kind: Kind::ConfigMap, writer: 1, number: 2 };

    fn shown(step: u64, revision: u64) -> Shown {
        Shown { id: ID, step, revision }
    }

    fn written() -> Ledger {
        let mut ledger = Ledger::default();
        ledger.asked(ID, Some(1));
        ledger.acknowledged(ID, Some(10));
        ledger
    }

    fn violations(check: impl FnOnce(&mut Ledger)) -> usize {
        let mut ledger = written();
        check(&mut ledger);
        ledger.violations.len()
    }

    #[test]
    fn what_was_acknowledged_must_be_there_as_it_was() {
        assert_eq!(violations(|ledger| ledger.restarted(10, &[shown(1, 10)])), 0);
        assert_eq!(violations(|ledger| ledger.restarted(10, &[])), 1);
        assert_eq!(violations(|ledger| ledger.restarted(11, &[shown(1, 11)])), 1, "at another revision");
        assert_eq!(violations(|ledger| ledger.restarted(9, &[shown(1, 10)])), 1, "before its revision");
    }

    #[test]
    fn what_was_not_answered_may_be_there_or_not() {
        for found in [shown(1, 10), shown(2, 11)] {
            let kept = violations(|ledger| {
                ledger.asked(ID, Some(2));
                ledger.restarted(11, &[found]);
            });
            assert_eq!(kept, 0);
        }
        let other = violations(|ledger| {
            ledger.asked(ID, Some(2));
            ledger.restarted(11, &[shown(3, 11)]);
        });
        assert_eq!(other, 1, "what nobody asked for");
    }

    #[test]
    fn a_deletion_that_was_acknowledged_is_not_undone() {
        let undone = violations(|ledger| {
            ledger.asked(ID, None);
            ledger.acknowledged(ID, None);
            ledger.restarted(11, &[shown(1, 10)]);
        });
        assert_eq!(undone, 1);
    }

    #[test]
    fn a_revision_belongs_to_one_content() {
        assert_eq!(violations(|ledger| ledger.observed(shown(1, 10), false)), 0);
        assert_eq!(violations(|ledger| ledger.observed(shown(2, 10), false)), 1);
        assert_eq!(violations(|ledger| ledger.observed(shown(1, 10), true)), 1);
        let used_again = violations(|ledger| {
            ledger.restarted(10, &[shown(1, 10)]);
            ledger.must_be_new(10);
        });
        assert_eq!(used_again, 1);
    }
}
