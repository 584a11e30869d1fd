//! What can go wrong with a recording.

use std::io;
use std::path::{Path, PathBuf};

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The operating system refused something.
    #[error("cannot {verb} {}: {source}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{} is not a recording; hint: `supercargo record -o FILE` and `supercargo scheduler --record DIR` make recordings", path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
    /// A folder has no recording.
    #[error("{} has no recording; hint: a folder of recordings has files that end in .recording", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// Another process records into the folder.
    #[error("{} is in use by another scheduler; hint: give each scheduler a folder of its own", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The file was written by another version.
    #[error("{} has format {found}, and this version reads format {known}; hint: use the version of supercargo that wrote it", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The one that is known.
        known: u32,
    },
    /// A file is not what was written.
    #[error("{} is damaged at byte {offset}: {found}; hint: copy the file again, or use an older recording", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What is wrong.
        found: String,
    },
    /// The objects alone take too much of the space.
    #[error(
        "the objects of the cluster take {needed} bytes, more than a quarter of {max}; hint: allow more with --record-max-size"
    )]
    TooSmall {
        /// What is needed.
        needed: u64,
        /// What is allowed.
        max: u64,
    },
    /// One file has reached the size that it may have.
    #[error("the recording has reached {max} bytes; hint: allow more with --max-size")]
    Full {
        /// What is allowed.
        max: u64,
    },
    /// Lines come faster than they can be written.
    #[error("the disk is too slow: {lines} lines wait to be written; hint: record to a faster disk")]
    TooSlow {
        /// How many wait.
        lines: usize,
    },
    /// The thread that writes has ended for no reason that is known.
    #[error("the writer of the recording has failed")]
    WriterFailed,
}

/// Says of a failure what was tried with what.
pub(crate) trait Trying<T> {
    fn trying(self, verb: &'static str, path: &Path) -> Result<T, RecordingError>;
}

impl<T> Trying<T> for io::Result<T> {
    fn trying(self, verb: &'static str, path: &Path) -> Result<T, RecordingError> {
        self.map_err(|source| RecordingError::Io { verb, path: path.to_owned(), source })
    }
}
