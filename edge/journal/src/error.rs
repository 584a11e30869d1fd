//! What can go wrong with a journal. An error can be cloned, because one failed write fails many appends.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why the journal could not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JournalError {
    /// Another process, or another journal of this process, has the directory open.
    #[error("{} is in use by another server\nhint: stop the other server, or choose another --data-dir", dir.display())]
    Locked {
        /// The directory.
        dir: PathBuf,
    },
    /// The operating system refused something.
    #[error("cannot {verb} {}: {source}{}", path.display(), hint(source))]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// A write failed, and the disk took nothing since that would make what was written void: the next process that opens
    /// the journal may find it.
    #[error("{source}")]
    Uncertain {
        /// Why the write failed.
        source: Box<JournalError>,
    },
    /// A file is not what was written. Nothing was changed.
    #[error(
        "{} is damaged at byte {offset}: {found}\nhint: nothing was changed; copy the directory first, and start a \
            server on the copy with --data-dir COPY to inspect it, or restore a backup",
        path.display()
    )]
    Damaged {
        /// The file, or the directory when a file is missing.
        path: PathBuf,
        /// Where in the file.
        offset: u64,
        /// What was found there.
        found: String,
    },
    /// The receiver of the recovered records refused one.
    #[error(
        "cannot use revision {revision}: {source}\nhint: the journal is intact; was it written by another version?"
    )]
    Replay {
        /// The record's revision.
        revision: u64,
        /// Why it was refused.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// Revisions go up by one, and this one does not follow. After a failed append the failed revisions are expected again.
    #[error("revision {given} was appended where {expected} is next")]
    OutOfOrder {
        /// The revision that must come next.
        expected: u64,
        /// The revision that was given.
        given: u64,
    },
    /// Too much waits to be written.
    #[error(
        "the journal's queue is full: {entries} records with {bytes} bytes are waiting to be written\nhint: try again later"
    )]
    Full {
        /// Records that wait.
        entries: usize,
        /// Their bytes.
        bytes: usize,
    },
    /// A record is bigger than any record may be.
    #[error("a record of {bytes} bytes is too large; the limit is {most}")]
    TooLarge {
        /// The record's bytes.
        bytes: usize,
        /// The most that is allowed.
        most: usize,
    },
    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,
    /// One snapshot is written at a time.
    #[error("a snapshot is being written")]
    SnapshotRunning,
    /// A snapshot can be taken of revisions that are durable and newer than the last one.
    #[error(
        "a snapshot at revision {revision} is out of range: the last one is at {latest}, the log is durable up to {durable}"
    )]
    SnapshotOutOfRange {
        /// The revision that was given.
        revision: u64,
        /// The revision of the last snapshot, or 0.
        latest: u64,
        /// The last durable revision.
        durable: u64,
    },
}

impl JournalError {
    /// Whether the disk is full, so that the same append may succeed later.
    pub fn is_disk_full(&self) -> bool {
        match self {
            JournalError::Io { source, .. } => is_lack_of_room(source),
            JournalError::Uncertain { source } => source.is_disk_full(),
            _ => false,
        }
    }

    /// Whether what failed may be there all the same when the journal is opened again.
    pub fn is_uncertain(&self) -> bool {
        matches!(self, JournalError::Uncertain { .. })
    }

    /// Whether a file is damaged, so that trying again cannot help.
    pub fn is_damage(&self) -> bool {
        matches!(self, JournalError::Damaged { .. })
    }

    pub(crate) fn damaged(path: &Path, offset: usize, found: impl Into<String>) -> JournalError {
        JournalError::Damaged { path: path.to_owned(), offset: offset as u64, found: found.into() }
    }
}

fn is_lack_of_room(source: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// What to do about an error of the operating system, where that is known.
fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        _ if is_lack_of_room(source) => {
            "\nhint: free space on the disk and try again; nothing that was acknowledged is lost"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "\nhint: choose a directory with --data-dir"
        }
        io::ErrorKind::PermissionDenied => "\nhint: the server needs to read and write all of --data-dir",
        _ => "",
    }
}

/// Says what was tried on which path.
pub(crate) trait Trying<T> {
    fn trying(self, verb: &'static str, path: &Path) -> Result<T, JournalError>;
}

impl<T> Trying<T> for io::Result<T> {
    fn trying(self, verb: &'static str, path: &Path) -> Result<T, JournalError> {
        self.map_err(|source| JournalError::Io { verb, path: path.to_owned(), source: Arc::new(source) })
    }
}
