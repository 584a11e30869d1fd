//! Who writes: a thread, or whoever appends when the disk is quick. Only one at a time has the active segment, and answers
//! before another gets it, so records reach the disk and are acknowledged in the order of the queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

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
    /// How long the last writes took, the newest counting most.
    write_micros: AtomicU64,
}

/// A write that is over sooner than this is better done at once than handed to another thread, which costs two changes of
/// thread; and whoever does it can be spared for so long.
const QUICK_MICROS: u64 = 1000;

impl Progress {
    pub(crate) fn disk_is_quick(&self) -> bool {
        self.write_micros.load(Ordering::Relaxed) < QUICK_MICROS
    }

    /// A single slow write says little; several in a row say that the disk is slow.
    fn took(&self, began: Instant) {
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX).min(2 * QUICK_MICROS);
        let before = self.write_micros.load(Ordering::Relaxed);
        self.write_micros.store((before * 7 + micros) / 8, Ordering::Relaxed);
    }
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
    /// Empty between groups; kept for its memory.
    pub(crate) group: Vec<Entry>,
    /// Kept here, because the thread may outlive the journal by a few writes, and nobody else may write meanwhile.
    pub(crate) _lock: Arc<dyn Lock>,
}

/// The work of the thread: writes whatever nobody else writes, until the queue is closed.
pub(crate) fn run(writer: &Mutex<Writer>, queue: &Arc<Queue>) {
    let _closing = CloseAtEnd(Arc::clone(queue));
    while queue.wait() {
        // Who panicked while writing left the segment in a state that nobody knows; so the log ends here.
        let Ok(mut writer) = writer.lock() else { return };
        while writer.write_group() {}
    }
    if let Ok(mut writer) = writer.lock()
        && let Some(active) = writer.active.take()
    {
        active.leave();
    }
}

/// Writes one group here if nobody else is writing, and calls the thread if more has come meanwhile.
///
/// What somebody appends while another writes is never forgotten: the thread looks at the queue before it sleeps, and
/// everybody else looks here after the writing.
pub(crate) fn write_here(writer: &Mutex<Writer>, queue: &Queue) {
    match writer.try_lock() {
        Ok(mut writer) => {
            writer.write_group();
        }
        Err(std::sync::TryLockError::WouldBlock) => return,
        Err(std::sync::TryLockError::Poisoned(_)) => {}
    }
    if !queue.is_empty() {
        queue.call_writer();
    }
}

impl Writer {
    /// Writes and answers what makes a group; false if nothing waits.
    fn write_group(&mut self) -> bool {
        let mut group = std::mem::take(&mut self.group);
        self.queue.take_group(&mut group);
        if group.is_empty() {
            self.group = group;
            return false;
        }
        match self.commit(&group) {
            Ok(()) => group.drain(..).for_each(|entry| answer(entry, Ok(()))),
            Err(error) => {
                let behind = self.queue.start_over(self.next_revision());
                group.drain(..).chain(behind).for_each(|entry| answer(entry, Err(error.clone())));
            }
        }
        self.group = group;
        true
    }

    fn commit(&mut self, group: &[Entry]) -> Result<(), JournalError> {
        let mut active = self.writable_segment()?;
        let began = Instant::now();
        let records = group.iter().map(|entry| (entry.revision, entry.payload.as_slice()));
        if let Err(error) = active.commit(records, self.zero_ahead_bytes) {
            // A failed sync says nothing about which pages were written, and a second one may succeed without writing
            // them. So this segment ends where it was durable, and what comes next goes into another one.
            active.leave();
            return Err(error);
        }
        self.progress.took(began);
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Progress;

    #[test]
    fn a_disk_is_slow_after_several_slow_writes_and_quick_after_several_quick_ones() {
        let progress = Progress::default();
        let long_ago =
            Instant::now().checked_sub(Duration::from_secs(1)).expect("the machine runs for longer");
        let until = |began: &dyn Fn() -> Instant, quick: bool| {
            (0..100).take_while(|_| progress.disk_is_quick() != quick).map(|_| progress.took(began())).count()
        };
        assert!((3..10).contains(&until(&|| long_ago, false)));
        assert!((1..10).contains(&until(&Instant::now, true)));
    }
}
