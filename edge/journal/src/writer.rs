//! Who writes: a thread, or whoever appends when the disk is quick. Only one at a time has the active segment, and answers
//! before another gets it, so records reach the disk and are acknowledged in the order of the queue.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::disk::{Disk, Lock};
use crate::error::JournalError;
use crate::queue::{PendingRecord, Queue};
use crate::segment::ActiveSegment;

/// What the writer tells the rest of the journal.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    standing: Mutex<Standing>,
    /// The last durable revision.
    pub(crate) durable: AtomicU64,
    /// Payload bytes in the log since the last snapshot.
    pub(crate) bytes_since_snapshot: AtomicU64,
    /// How long the last writes took, the newest counting most.
    write_micros: AtomicU64,
}

/// How the disk took the last writes.
#[derive(Debug, Default)]
struct Standing {
    /// When the write that is under way began.
    writing_since: Option<Instant>,
    /// Why the last write failed; none when it succeeded.
    failure: Option<JournalError>,
}

/// Whether records can be made durable.
#[derive(Debug, Clone)]
pub enum Health {
    /// The last write succeeded.
    Well,
    /// The last write failed, and so will the next unless something has changed.
    Failing(JournalError),
    /// The disk has not finished a write for so long.
    Writing(Duration),
}

/// A write that is over sooner than this is better done at once than handed to another thread, which costs two changes of
/// thread; and whoever does it can be spared for so long.
const QUICK_MICROS: u64 = 1000;

impl Progress {
    pub(crate) fn health(&self) -> Health {
        let standing = self.standing();
        match (standing.writing_since, &standing.failure) {
            (_, Some(error)) => Health::Failing(error.clone()),
            (Some(since), None) => Health::Writing(since.elapsed()),
            (None, None) => Health::Well,
        }
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.standing().failure.is_some()
    }

    fn begin(&self) {
        self.standing().writing_since = Some(Instant::now());
    }

    fn end(&self, failure: Option<JournalError>) {
        *self.standing() = Standing { writing_since: None, failure };
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().expect("nothing panics while it holds the standing")
    }

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
    pub(crate) group: Vec<PendingRecord>,
    /// Kept here, because the thread may outlive the journal by a few writes, and nobody else may write meanwhile.
    pub(crate) _lock: Arc<dyn Lock>,
}

/// The work of the thread: writes whatever nobody else writes, until the queue is closed.
pub(crate) fn run(writer: &Mutex<Writer>, queue: &Arc<Queue>, progress: Arc<Progress>) {
    let _closing = CloseAtEnd { queue: Arc::clone(queue), progress };
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
        self.progress.begin();
        let written = catch_unwind(AssertUnwindSafe(|| self.commit(&group)));
        let failure = match &written {
            Ok(written) => written.clone().err(),
            Err(_) => Some(JournalError::Closed),
        };
        self.progress.end(failure.clone());
        match failure {
            None => group.drain(..).for_each(|record| answer(record, Ok(()))),
            Some(error) => {
                let behind = self.queue.start_over(self.next_revision());
                group.drain(..).chain(behind).for_each(|record| answer(record, Err(error.clone())));
            }
        }
        if let Err(panic) = written {
            self.queue.close();
            resume_unwind(panic);
        }
        self.group = group;
        true
    }

    fn commit(&mut self, group: &[PendingRecord]) -> Result<(), JournalError> {
        let mut active = self.writable_segment()?;
        let began = Instant::now();
        let records = group.iter().map(|record| (record.revision, record.payload.as_slice()));
        if let Err(error) = active.commit(records, self.zero_ahead_bytes) {
            return Err(self.give_up(active, error));
        }
        self.progress.took(began);
        self.active = Some(active);
        let bytes = group.iter().map(|record| record.payload.len() as u64).sum();
        self.progress.bytes_since_snapshot.fetch_add(bytes, Ordering::Relaxed);
        let last = group.last().expect("a group has entries").revision;
        self.progress.durable.store(last, Ordering::Release);
        Ok(())
    }

    /// Ends a segment in which a write failed where it was durable, and says whether that is certain.
    ///
    /// A failed sync says nothing about which pages were written, and a second one may succeed without writing them. So
    /// nothing more goes into this segment. What failed is void once the segment has durably been cut, or once another
    /// segment begins with the same revision. Until then the next process could find it and take it for written.
    fn give_up(&mut self, active: ActiveSegment, error: JournalError) -> JournalError {
        if active.cut().is_ok() {
            return error;
        }
        self.active = ActiveSegment::create(&*self.disk, &self.dir, self.next_revision(), &[]).ok();
        if self.active.is_some() { error } else { JournalError::Uncertain { source: Box::new(error) } }
    }

    /// Finds out whether the disk takes writes again after one has failed, by making room for the next.
    pub(crate) fn mend(&mut self) {
        if !self.progress.is_failing() {
            return;
        }
        self.progress.begin();
        let mended =
            self.writable_segment().and_then(|mut active| match active.zero_ahead(self.zero_ahead_bytes) {
                Ok(()) => {
                    self.active = Some(active);
                    Ok(())
                }
                Err(error) => Err(self.give_up(active, error)),
            });
        self.progress.end(mended.err());
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

/// Tells a record's owner what became of it. A panic there was reported by then, and must not stop everybody's log.
fn answer(record: PendingRecord, written: Result<(), JournalError>) {
    let _ = catch_unwind(AssertUnwindSafe(|| (record.done)(written)));
}

/// Closes the queue however the thread ends, and answers what waits, so that nobody waits for a writer that is gone.
struct CloseAtEnd {
    queue: Arc<Queue>,
    progress: Arc<Progress>,
}

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.queue.close();
        self.progress.end(Some(JournalError::Closed));
        for record in self.queue.start_over(self.queue.next_revision()) {
            answer(record, Err(JournalError::Closed));
        }
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
