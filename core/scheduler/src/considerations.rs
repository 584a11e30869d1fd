//! What takes long to decide and is considered while others have their turns, and the verdicts.
//!
//! Invariants: so many are under way at the most as there may be. A verdict is for the entry of the queue that asked for it last,
//! and is used once. Nothing rests on a verdict that never comes but that entry.

use std::collections::{BTreeMap, BTreeSet};

use cluster::groups::Key;
use decisions::considering::Considered;
use model::timestamp::Timestamp;

/// How long nothing is told of what is not decided.
pub(crate) const TELL_AFTER_MS: i64 = 1_000;

/// How long what does not hold any more rests at first before it is decided anew, and at most.
const PAUSE_MS_MIN: i64 = 20;
const PAUSE_MS_MAX: i64 = 5_000;

/// Tells considerations apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConsiderationId(pub u64);

/// What came of a consideration.
#[derive(Debug)]
pub enum ConsiderationOutcome {
    /// It is decided.
    Decided(Box<Considered>),
    /// It could not be decided, for a reason that has nothing to do with the pods.
    Failed(String),
}

/// What is being considered, and the verdicts.
#[derive(Debug)]
pub(crate) struct Considerations {
    next: u64,
    most: usize,
    under_way: BTreeMap<ConsiderationId, Asked>,
    /// Verdicts that are not used yet.
    verdicts: BTreeMap<Key, (Asked, ConsiderationOutcome)>,
    /// Entries of the queue that are not decided yet.
    undecided: BTreeMap<Key, Undecided>,
    /// When something is to be told of them.
    due: BTreeSet<(Timestamp, Key)>,
    /// Grows with everything that may change a decision.
    revision: u64,
}

/// A question that was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub key: Key,
    /// What was known then.
    pub revision: u64,
}

#[derive(Debug)]
struct Undecided {
    since: Timestamp,
    /// How often a verdict did not hold any more.
    outdated: u32,
}

impl Default for Considerations {
    fn default() -> Considerations {
        Considerations {
            next: 0,
            most: 1,
            under_way: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            undecided: BTreeMap::new(),
            due: BTreeSet::new(),
            revision: 0,
        }
    }
}

impl Considerations {
    /// So many may be under way at once.
    pub fn set_most(&mut self, most: usize) {
        self.most = most.max(1);
    }

    /// How many are under way.
    pub fn len(&self) -> usize {
        self.under_way.len()
    }

    /// Whether another may begin.
    pub fn may_begin(&self) -> bool {
        self.under_way.len() < self.most
    }

    /// Something may have changed that matters to decisions.
    pub fn note_change(&mut self) {
        self.revision += 1;
    }

    /// Whether nothing has changed since a question was asked.
    pub fn is_current(&self, asked: &Asked) -> bool {
        asked.revision == self.revision
    }

    /// It takes long to decide about an entry of the queue.
    pub fn put_off(&mut self, key: &Key, now: Timestamp) {
        self.verdicts.remove(key);
        self.note_undecided(key, now);
    }

    /// Takes note of an entry of the queue that is not decided yet.
    pub fn note_undecided(&mut self, key: &Key, now: Timestamp) {
        if !self.undecided.contains_key(key) {
            self.undecided.insert(key.clone(), Undecided { since: now, outdated: 0 });
            self.due.insert((now.plus_millis(TELL_AFTER_MS), key.clone()));
        }
    }

    /// A question is asked.
    pub fn begin(&mut self, key: &Key) -> ConsiderationId {
        let id = ConsiderationId(self.next);
        self.next += 1;
        self.under_way.insert(id, Asked { key: key.clone(), revision: self.revision });
        id
    }

    /// A consideration is over: what was asked, if it is known.
    pub fn end(&mut self, id: ConsiderationId) -> Option<Asked> {
        self.under_way.remove(&id)
    }

    /// Whether a question about this entry of the queue is under way that was asked later.
    pub fn is_asked_again(&self, id: ConsiderationId, key: &Key) -> bool {
        self.under_way.range(id..).any(|(_, asked)| asked.key == *key)
    }

    /// Forgets entries of the queue that are gone.
    pub fn forget_unless(&mut self, is_there: impl Fn(&Key) -> bool) {
        let gone: Vec<Key> = self.undecided.keys().filter(|key| !is_there(key)).cloned().collect();
        gone.iter().for_each(|key| self.settle(key));
    }

    /// Keeps a verdict until it is used.
    pub fn keep(&mut self, asked: Asked, outcome: ConsiderationOutcome) {
        self.verdicts.insert(asked.key.clone(), (asked, outcome));
    }

    /// The verdict about an entry of the queue, if there is one.
    pub fn take(&mut self, key: &Key) -> Option<(Asked, ConsiderationOutcome)> {
        if self.verdicts.is_empty() { None } else { self.verdicts.remove(key) }
    }

    /// A verdict does not hold any more: when it is to be decided anew.
    pub fn outdated(&mut self, key: &Key, now: Timestamp) -> Timestamp {
        let times = self.undecided.get_mut(key).map_or(0, |undecided| {
            undecided.outdated += 1;
            undecided.outdated - 1
        });
        now.plus_millis((PAUSE_MS_MIN << times.min(16)).min(PAUSE_MS_MAX))
    }

    /// An entry of the queue is decided, or is gone.
    pub fn settle(&mut self, key: &Key) {
        if self.undecided.is_empty() {
            return;
        }
        self.verdicts.remove(key);
        if let Some(undecided) = self.undecided.remove(key) {
            self.due.remove(&(undecided.since.plus_millis(TELL_AFTER_MS), key.clone()));
        }
    }

    /// When something is to be told.
    pub fn next_time(&self) -> Option<Timestamp> {
        self.due.first().map(|(time, _)| *time)
    }

    /// Entries of the queue of which it is to be told now that they are not decided yet, each once.
    pub fn take_due(&mut self, now: Timestamp) -> Vec<Key> {
        let mut keys = Vec::new();
        while self.next_time().is_some_and(|time| time <= now) {
            keys.extend(self.due.pop_first().map(|(_, key)| key));
        }
        keys
    }
}
