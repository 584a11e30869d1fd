//! An entry of the queue: where it is, and what happened to it so far.

use std::collections::BTreeSet;

use cluster::groups::Key;
use decisions::wake::Wakes;
use model::identity::PodUid;
use model::timestamp::Timestamp;

use super::stations::Tries;
use crate::pacing::Told;

/// The order of pods that are ready: the most important first, then the one that came first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rank {
    /// The priority, negated, so that the highest comes first.
    pub importance: i64,
    pub since: Timestamp,
    pub key: Key,
}

/// Where a pod is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Ready,
    /// It takes longer to decide about it than others can wait, and it is its turn when less is being considered.
    Undecided,
    /// It is being considered while others have their turns.
    Considered,
    /// Woken: nothing went wrong, so it may be taken early, unless it takes long to look for a place for it.
    BackingOff {
        until: Timestamp,
        is_quick: bool,
    },
    /// Something went wrong with it, and it is left alone until then.
    Resting {
        until: Timestamp,
    },
    Asleep {
        until: Timestamp,
        wakes_on: Wakes,
    },
    /// Asleep after a search for it that took all the work that it may. It is left alone for as long as one for which something
    /// went wrong, even if it is woken: another search would keep the others waiting again.
    Exhausted {
        until: Timestamp,
        wakes_on: Wakes,
    },
    Gated,
    /// The engine took it and has not said yet what came of it.
    Out,
}

/// How long the last search for a pod took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LastSearch {
    /// No longer than others can wait, or it is not known any more.
    Short,
    /// Longer than others can wait.
    Long,
    /// Longer than others can wait, and then all the work that it may. The next one would hardly be shorter, so it is not begun while
    /// others wait.
    Exhausting,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    pub rank: Rank,
    pub place: Place,
    /// Failures in a row, and when the last was.
    pub failures: u32,
    pub failed_at: Timestamp,
    pub last_search: LastSearch,
    /// How often it was taken.
    pub tries: Tries,
    /// What was told last of why it waits, and of which pods.
    pub told: Option<Told>,
    pub told_of: BTreeSet<PodUid>,
    /// Of those, the pods on which it could not be noted.
    pub unwritten: BTreeSet<PodUid>,
}

impl Waiting {
    /// It may be tried again.
    pub fn make_ready(&mut self) {
        self.place = match self.last_search {
            LastSearch::Exhausting => Place::Undecided,
            LastSearch::Short | LastSearch::Long => Place::Ready,
        };
        self.may_be_short();
    }

    /// The next search may be short, unless the last one was not even ended.
    pub fn may_be_short(&mut self) {
        if self.last_search == LastSearch::Long {
            self.last_search = LastSearch::Short;
        }
    }
}
