//! Where pods come to in the queue and why, as it is counted, how often they were looked at, and what came of that.

use cluster::groups::Key;
use decisions::wake::{Wake, Wakes};
use model::timestamp::Timestamp;

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

impl Station {
    /// All of them.
    pub const ALL: [Station; 4] = [Station::Ready, Station::BackingOff, Station::Asleep, Station::Gated];
}

/// What takes its turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Entity {
    /// A pod of no group.
    Pod,
    /// A group of pods, or a group of groups.
    Group,
}

impl Entity {
    /// Both of them.
    pub const ALL: [Entity; 2] = [Entity::Pod, Entity::Group];
}

impl From<&Key> for Entity {
    fn from(key: &Key) -> Entity {
        match key {
            Key::Pod(_) => Entity::Pod,
            Key::Gang(_) | Key::Tree(_) => Entity::Group,
        }
    }
}

/// How often a pod or a group was looked at, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tries {
    /// How often.
    pub attempts: u32,
    /// When it first was ready to be placed.
    pub since: Option<Timestamp>,
    /// Nothing woke it for the last of them: it had been asleep for as long as a pod may.
    pub after_flush: bool,
}

/// What brought it there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// It is new, or was given free.
    Added,
    /// There was no place for it.
    Refused,
    /// It waits for an answer from elsewhere.
    Asking,
    /// Something went wrong.
    Failed,
    /// A change could help it.
    Woken(Wake),
    /// Something of its own changed.
    OwnChange,
    /// Its backoff is over.
    BackoffOver,
    /// It has slept for as long as a pod may.
    SleptLong,
}

/// What came of an attempt that did not place a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// There is no place, and these changes could make one.
    Refused(Wakes),
    /// The search for a place reached its limit, and these changes could make it end sooner.
    LimitReached(Wakes),
    /// Something went wrong, and may not go wrong again.
    Failed,
}

/// How many pods are in each place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Ready to be placed.
    pub ready: usize,
    /// Being considered, or to be: it takes longer to decide about them than others can wait.
    pub undecided: usize,
    /// Waiting out a backoff.
    pub backing_off: usize,
    /// Asleep until something changes.
    pub asleep: usize,
    /// Held back by scheduling gates, or by claims that are not there.
    pub gated: usize,
}
