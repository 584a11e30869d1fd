//! What waits for the writer. Revisions in the queue follow one another without gaps, and the queue is bounded.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::error::JournalError;

/// The most bytes that one record may have.
pub const PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Called once, when a record is durable or has failed, in the order of the revisions.
pub type Done = Box<dyn FnOnce(Result<(), JournalError>) + Send>;

/// A record to append.
pub struct PendingRecord {
    /// One more than the revision before.
    pub revision: u64,
    /// What to keep.
    pub payload: Vec<u8>,
    /// Called by the writer thread, which waits for it: it must be quick, and must not wait for the journal.
    pub done: Done,
}

impl PendingRecord {
    /// A record from its parts.
    pub fn new(
        revision: u64,
        payload: Vec<u8>,
        done: impl FnOnce(Result<(), JournalError>) + Send + 'static,
    ) -> PendingRecord {
        PendingRecord { revision, payload, done: Box::new(done) }
    }
}

/// How much may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) entries_max: usize,
    pub(crate) bytes_max: usize,
    pub(crate) group_bytes_max: usize,
}

/// What to do when there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    Wait,
    Refuse,
}

pub(crate) struct Queue {
    bounds: Bounds,
    waiting: Mutex<Waiting>,
    filled: Condvar,
    emptied: Condvar,
}

struct Waiting {
    records: VecDeque<PendingRecord>,
    bytes: usize,
    /// The revision that must be appended next.
    next: u64,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(bounds: Bounds, next: u64) -> Queue {
        let waiting = Waiting { records: VecDeque::new(), bytes: 0, next, closed: false };
        Queue { bounds, waiting: Mutex::new(waiting), filled: Condvar::new(), emptied: Condvar::new() }
    }

    /// Adds all records or none. Nobody is told: see `call_writer`.
    pub(crate) fn push(&self, records: Vec<PendingRecord>, when_full: WhenFull) -> Result<(), JournalError> {
        if let Some(record) = records.iter().find(|record| record.payload.len() > PAYLOAD_BYTES_MAX) {
            return Err(JournalError::TooLarge { bytes: record.payload.len(), most: PAYLOAD_BYTES_MAX });
        }
        let bytes: usize = records.iter().map(|record| record.payload.len()).sum();
        let mut waiting = self.lock();
        // What is larger than the whole queue still passes when nothing else waits, so that it cannot wait for ever.
        while !waiting.closed
            && !waiting.records.is_empty()
            && (waiting.records.len() + records.len() > self.bounds.entries_max
                || waiting.bytes + bytes > self.bounds.bytes_max)
        {
            if when_full == WhenFull::Refuse {
                return Err(JournalError::Full { entries: waiting.records.len(), bytes: waiting.bytes });
            }
            // What is there may have come quietly.
            self.filled.notify_one();
            waiting = self.emptied.wait(waiting).expect(NOT_POISONED);
        }
        if waiting.closed {
            return Err(JournalError::Closed);
        }
        for (expected, record) in (waiting.next..).zip(&records) {
            if record.revision != expected {
                return Err(JournalError::OutOfOrder { expected, given: record.revision });
            }
        }
        waiting.next += records.len() as u64;
        waiting.bytes += bytes;
        waiting.records.extend(records);
        Ok(())
    }

    /// Lets the writer's thread look at the queue.
    pub(crate) fn call_writer(&self) {
        self.filled.notify_one();
    }

    /// Waits until there are records. False when the queue is closed and empty.
    pub(crate) fn wait(&self) -> bool {
        let mut waiting = self.lock();
        while waiting.records.is_empty() {
            if waiting.closed {
                return false;
            }
            waiting = self.filled.wait(waiting).expect(NOT_POISONED);
        }
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().records.is_empty()
    }

    /// Moves as many records as make a group, if there are any.
    pub(crate) fn take_group(&self, group: &mut Vec<PendingRecord>) {
        let mut waiting = self.lock();
        let mut bytes = 0;
        while let Some(record) = waiting.records.pop_front() {
            bytes += record.payload.len();
            group.push(record);
            let next = waiting.records.front().map_or(0, |record| record.payload.len());
            if bytes + next > self.bounds.group_bytes_max {
                break;
            }
        }
        waiting.bytes -= bytes;
        self.emptied.notify_all();
    }

    /// Takes out everything that waits, because what came before it failed, and expects those revisions again.
    pub(crate) fn start_over(&self, next: u64) -> Vec<PendingRecord> {
        let mut waiting = self.lock();
        waiting.next = next;
        waiting.bytes = 0;
        self.emptied.notify_all();
        waiting.records.drain(..).collect()
    }

    pub(crate) fn next_revision(&self) -> u64 {
        self.lock().next
    }

    /// Refuses what comes; what waits is still written.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect(NOT_POISONED)
    }
}

const NOT_POISONED: &str = "nothing panics while it holds the queue";
