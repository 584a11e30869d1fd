//! The thread that writes. It alone has the active segment, so records reach the disk in the order of the queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::disk::{Disk, Lock};
use crate::error::JournalError;
use crate::queue::{Entry, Queue};
use crate::segment::ActiveSegment;

/// What the writer tells the rest of the journal.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The last durable revision.
    pub(crate) durable: AtomicU64,
    /// Payload bytes in the log since the last snapshot.
    pub(crate) bytes_since_snapshot: AtomicU64,
}

pub(crate) struct Writer {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) queue: Arc<Queue>,
    pub(crate) progress: Arc<Progress>,
    /// None after a failure, until another segment could be made.
    pub(crate) active: Option<ActiveSegment>,
    pub(crate) segment_bytes: usize,
    pub(crate) zero_ahead_bytes: usize,
    /// Kept here, because this thread may outlive the journal by a few writes, and nobody else may write meanwhile.
    pub(crate) _lock: Arc<dyn Lock>,
}

impl Writer {
    pub(crate) fn run(mut self) {
        let _closing = CloseAtEnd(Arc::clone(&self.queue));
        let mut group = Vec::new();
        while self.queue.take_group(&mut group) {
            match self.commit(&group) {
                Ok(()) => group.drain(..).for_each(|entry| answer(entry, Ok(()))),
                Err(error) => {
                    let behind = self.queue.start_over(self.next_revision());
                    group.drain(..).chain(behind).for_each(|entry| answer(entry, Err(error.clone())));
                }
            }
        }
        if let Some(active) = self.active.take() {
            active.leave();
        }
    }

    fn commit(&mut self, group: &[Entry]) -> Result<(), JournalError> {
        let mut active = self.writable_segment()?;
        let records = group.iter().map(|entry| (entry.revision, entry.payload.as_slice()));
        if let Err(error) = active.commit(records, self.zero_ahead_bytes) {
            // A failed sync says nothing about which pages were written, and a second one may succeed without writing
            // them. So this segment ends where it was durable, and what comes next goes into another one.
            active.leave();
            return Err(error);
        }
        self.active = Some(active);
        let bytes = group.iter().map(|entry| entry.payload.len() as u64).sum();
        self.progress.bytes_since_snapshot.fetch_add(bytes, Ordering::Relaxed);
        let last = group.last().expect("a group has entries").revision;
        self.progress.durable.store(last, Ordering::Release);
        Ok(())
    }

    fn writable_segment(&mut self) -> Result<ActiveSegment, JournalError> {
        match self.active.take() {
            Some(active) if active.end() < self.segment_bytes => return Ok(active),
            Some(full) => full.leave(),
            None => {}
        }
        ActiveSegment::create(&*self.disk, &self.dir, self.next_revision(), &[])
    }

    fn next_revision(&self) -> u64 {
        self.progress.durable.load(Ordering::Acquire) + 1
    }
}

/// Tells an entry's owner what became of it. A panic there was reported by then, and must not stop everybody's log.
fn answer(entry: Entry, written: Result<(), JournalError>) {
    let _ = catch_unwind(AssertUnwindSafe(|| (entry.done)(written)));
}

/// Closes the queue however the thread ends, and drops what waits, so that nobody waits for a writer that is gone.
struct CloseAtEnd(Arc<Queue>);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.0.close();
        drop(self.0.start_over(self.0.next_revision()));
    }
}
