//! The journal as its users see it.

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use crate::disk::{Disk, Lock, OsDisk};
use crate::error::{JournalError, Trying};
use crate::queue::{Bounds, PendingRecord, Queue, WhenFull};
use crate::recovery::{Recovered, Recovery, Refused, recover};
use crate::snapshot::{SnapshotWritten, Snapshots};
use crate::writer::{self, Health, Progress, Writer};

/// Sizes and bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// A segment that has this many bytes is followed by another; at most 1 GiB.
    pub segment_bytes: usize,
    /// How far ahead of the log a segment is zeroed, which makes syncs cheaper.
    pub zero_ahead_bytes: usize,
    /// The most payload bytes that are written at once, unless a single record has more; at most 1 GiB.
    pub group_bytes_max: usize,
    /// The most records that wait for the writer.
    pub queue_entries_max: usize,
    /// The most payload bytes that wait for the writer.
    pub queue_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            segment_bytes: 64 << 20,
            zero_ahead_bytes: 1 << 20,
            group_bytes_max: 4 << 20,
            queue_entries_max: 16 * 1024,
            queue_bytes_max: 64 << 20,
        }
    }
}

/// A durable log. Dropped, it writes what still waits, gives up a snapshot that is not complete, and unlocks its directory.
pub struct Journal {
    queue: Arc<Queue>,
    progress: Arc<Progress>,
    snapshots: Snapshots,
    writer: Arc<Mutex<Writer>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Journal {
    /// Opens the journal in a directory, which is made if it is not there, and hands its records out in order.
    ///
    /// Everything is checked. When this fails, what was handed out must be thrown away.
    pub fn open(
        dir: &Path,
        options: Options,
        replay: impl FnMut(Recovered<'_>) -> Result<(), Refused>,
    ) -> Result<(Journal, Recovery), JournalError> {
        Journal::open_on(Arc::new(OsDisk), dir, options, replay)
    }

    /// Like `open`, on a given file system.
    pub fn open_on(
        disk: Arc<dyn Disk>,
        dir: &Path,
        options: Options,
        replay: impl FnMut(Recovered<'_>) -> Result<(), Refused>,
    ) -> Result<(Journal, Recovery), JournalError> {
        disk.create_dir(dir).trying("create", dir)?;
        let lock = disk.lock(&dir.join("lock")).trying("lock", dir)?;
        let lock: Arc<dyn Lock> = lock.ok_or_else(|| JournalError::Locked { dir: dir.to_owned() })?.into();
        let (recovery, active) = recover(&*disk, dir, replay)?;

        let progress = Arc::new(Progress::default());
        progress.durable.store(recovery.last_revision, Ordering::Release);
        progress.bytes_since_snapshot.store(recovery.log_bytes, Ordering::Relaxed);
        let bounds = Bounds {
            entries_max: options.queue_entries_max,
            bytes_max: options.queue_bytes_max,
            group_bytes_max: options.group_bytes_max.min(1 << 30),
        };
        let queue = Arc::new(Queue::new(bounds, recovery.last_revision + 1));
        let writer = Writer {
            disk: Arc::clone(&disk),
            dir: dir.to_owned(),
            queue: Arc::clone(&queue),
            progress: Arc::clone(&progress),
            active: Some(active),
            segment_bytes: options.segment_bytes.min(1 << 30),
            zero_ahead_bytes: options.zero_ahead_bytes,
            group: Vec::new(),
            _lock: Arc::clone(&lock),
        };
        let snapshots =
            Snapshots::new(disk, dir.to_owned(), Arc::clone(&progress), lock, recovery.snapshot_revision);
        let writer = Arc::new(Mutex::new(writer));
        let (work, waiting, tell) = (Arc::clone(&writer), Arc::clone(&queue), Arc::clone(&progress));
        let thread = std::thread::Builder::new().name("journal-writer".to_owned());
        let thread =
            thread.spawn(move || writer::run(&work, &waiting, tell)).trying("start a thread for", dir)?;
        let journal = Journal { queue, progress, snapshots, writer, thread: Mutex::new(Some(thread)) };
        Ok((journal, recovery))
    }

    /// Appends records whose revisions follow one another, all or none; waits while the queue is full.
    ///
    /// When this fails, no `done` is called. When a write fails, every record behind it fails too, and the first revision
    /// that failed is expected next. Hold no lock that a `done` needs: the queue may wait for that `done`.
    pub fn append(&self, records: Vec<PendingRecord>) -> Result<(), JournalError> {
        self.append_quietly(records)?;
        self.queue.call_writer();
        Ok(())
    }

    /// Like `append`, but fails when the queue is full.
    pub fn try_append(&self, records: Vec<PendingRecord>) -> Result<(), JournalError> {
        self.queue.push(records, WhenFull::Refuse)?;
        self.queue.call_writer();
        Ok(())
    }

    /// Like `append`, but nobody may write the records until `write` is called, which must follow.
    pub fn append_quietly(&self, records: Vec<PendingRecord>) -> Result<(), JournalError> {
        self.queue.push(records, WhenFull::Wait)
    }

    /// Lets what was appended be written: at once by the calling thread, if the disk is quick and nobody else is writing,
    /// so that who appends alone need not wait for other threads to wake up.
    ///
    /// Then it takes as long as one write and calls every `done`, so hold no lock that one of them needs.
    pub fn write(&self) {
        if self.progress.disk_is_quick() {
            writer::write_here(&self.writer, &self.queue);
        } else {
            self.queue.call_writer();
        }
    }

    /// Whether records can be made durable, as far as the last write tells.
    pub fn health(&self) -> Health {
        self.progress.health()
    }

    /// If the last write failed, finds out whether the disk takes writes again. It may take as long as the disk does.
    pub fn mend(&self) {
        // Who writes at the moment finds out as well; and a log that ended in a panic stays closed.
        if let Ok(mut writer) = self.writer.try_lock() {
            writer.mend();
        }
    }

    /// The revision that must be appended next.
    pub fn next_revision(&self) -> u64 {
        self.queue.next_revision()
    }

    /// The last revision that is durable, or 0.
    pub fn durable_revision(&self) -> u64 {
        self.progress.durable.load(Ordering::Acquire)
    }

    /// How many payload bytes the log has behind the last snapshot: when to take the next is the caller's choice.
    pub fn bytes_since_snapshot(&self) -> u64 {
        self.progress.bytes_since_snapshot.load(Ordering::Relaxed)
    }

    /// Starts to write a snapshot in the background: the records that stand for everything up to a durable revision.
    ///
    /// Afterwards the log and the snapshots that nobody needs any more are removed. When this fails, `done` is not called.
    pub fn snapshot<I>(
        &self,
        revision: u64,
        records: I,
        done: impl FnOnce(Result<SnapshotWritten, JournalError>) + Send + 'static,
    ) -> Result<(), JournalError>
    where
        I: Iterator<Item: AsRef<[u8]>> + Send + 'static,
    {
        self.snapshots.start(revision, records, done)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.queue.close();
        self.snapshots.stop();
        let thread = self.thread.get_mut().ok().and_then(Option::take);
        // The last reference may be in a `done`, which the writer itself drops.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}
