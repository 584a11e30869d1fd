//! Snapshots in the background, and the removal of what they make needless.
//!
//! A snapshot gets its name when it is complete and durable. The one before it, and the log since that one, stay until
//! the next snapshot is there, so that one damaged snapshot loses nothing.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::disk::{Disk, Lock};
use crate::error::{JournalError, Trying};
use crate::recovery::Contents;
use crate::segment::segment_path;
use crate::snapshot_file::{SnapshotWriter, snapshot_path};
use crate::writer::Progress;

/// What a snapshot came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotWritten {
    /// Everything up to this revision is in it.
    pub revision: u64,
    /// How many records it has.
    pub records: u64,
    /// How many bytes its file has.
    pub bytes: u64,
    /// How many files of the log and older snapshots were removed.
    pub removed: usize,
}

/// Writes at most one snapshot at a time.
pub(crate) struct Snapshots {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    progress: Arc<Progress>,
    /// The newest snapshot that is known to be good, or 0.
    latest: Mutex<u64>,
    running: AtomicBool,
    stop: AtomicBool,
    /// Kept here for the same reason as in the writer.
    _lock: Arc<dyn Lock>,
}

impl Snapshots {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        progress: Arc<Progress>,
        lock: Arc<dyn Lock>,
        latest: u64,
    ) -> Snapshots {
        let latest = Mutex::new(latest);
        let (running, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let shared = Shared { disk, dir, progress, latest, running, stop, _lock: lock };
        Snapshots { shared: Arc::new(shared), thread: Mutex::new(None) }
    }

    pub(crate) fn start<I, D>(&self, revision: u64, records: I, done: D) -> Result<(), JournalError>
    where
        I: Iterator<Item: AsRef<[u8]>> + Send + 'static,
        D: FnOnce(Result<SnapshotWritten, JournalError>) + Send + 'static,
    {
        let durable = self.shared.progress.durable.load(Ordering::Acquire);
        let latest = *self.shared.latest.lock().expect(NOT_POISONED);
        if revision <= latest || revision > durable {
            return Err(JournalError::SnapshotOutOfRange { revision, latest, durable });
        }
        if self.shared.running.swap(true, Ordering::AcqRel) {
            return Err(JournalError::SnapshotRunning);
        }
        let running = Running(Arc::clone(&self.shared));
        let thread = std::thread::Builder::new().name("journal-snapshot".to_owned()).spawn(move || {
            let written = running.0.write(revision, records);
            // Another snapshot may be started from `done`, so this one must be over before.
            drop(running);
            done(written);
        });
        let thread = thread.trying("start a thread for a snapshot in", &self.shared.dir)?;
        *self.thread.lock().expect(NOT_POISONED) = Some(thread);
        Ok(())
    }

    /// Gives up a snapshot that is being written, and waits for its thread.
    pub(crate) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        let thread = self.thread.lock().expect(NOT_POISONED).take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // A panic in the caller's iterator was already reported, and the journal is whole without the snapshot.
            let _ = thread.join();
        }
    }
}

/// Lets the next snapshot start, however this one ended.
struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.store(false, Ordering::Release);
    }
}

impl Shared {
    fn write(
        &self,
        revision: u64,
        records: impl Iterator<Item: AsRef<[u8]>>,
    ) -> Result<SnapshotWritten, JournalError> {
        let path = snapshot_path(&self.dir, revision);
        let unfinished = path.with_extension("snapshot.tmp");
        let bytes_before = self.progress.bytes_since_snapshot.load(Ordering::Relaxed);
        let written = self.write_file(&unfinished, revision, records);
        let (records, bytes) = written.inspect_err(|_| {
            // It takes space that the log may need; if it cannot be removed now, opening the journal removes it.
            let _ = self.disk.remove(&unfinished);
        })?;
        self.disk.rename(&unfinished, &path).trying("name", &path)?;
        self.disk.sync_dir(&self.dir).trying("sync", &self.dir)?;

        let fallback = std::mem::replace(&mut *self.latest.lock().expect(NOT_POISONED), revision);
        self.progress.bytes_since_snapshot.fetch_sub(bytes_before, Ordering::Relaxed);
        let removed = remove_needless(&*self.disk, &self.dir, revision, fallback)?;
        Ok(SnapshotWritten { revision, records, bytes, removed })
    }

    fn write_file(
        &self,
        path: &Path,
        revision: u64,
        records: impl Iterator<Item: AsRef<[u8]>>,
    ) -> Result<(u64, u64), JournalError> {
        let mut writer = SnapshotWriter::create(&*self.disk, path, revision)?;
        for record in records {
            if self.stop.load(Ordering::Acquire) {
                return Err(JournalError::Closed);
            }
            writer.add(record.as_ref())?;
        }
        writer.finish()
    }
}

/// Removes all snapshots but the newest and the one before, and the segments that neither needs.
fn remove_needless(
    dir_disk: &dyn Disk,
    dir: &Path,
    newest: u64,
    fallback: u64,
) -> Result<usize, JournalError> {
    let contents = Contents::list(dir_disk, dir)?;
    let snapshots =
        contents.snapshots.iter().filter(|revision| **revision < newest && **revision != fallback);
    let mut needless: Vec<PathBuf> = snapshots.map(|revision| snapshot_path(dir, *revision)).collect();
    // A segment is needless when the one after it begins early enough.
    let segments: Vec<u64> = contents.segments.iter().copied().collect();
    let pairs = segments.windows(2).filter(|pair| pair[1] <= fallback + 1);
    needless.extend(pairs.map(|pair| segment_path(dir, pair[0])));
    for path in &needless {
        dir_disk.remove(path).trying("remove", path)?;
    }
    Ok(needless.len())
}

const NOT_POISONED: &str = "nothing panics while it holds the state of snapshots";
