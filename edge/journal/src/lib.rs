//! A durable log for a server that keeps its objects in memory: what was acknowledged is there after a crash, in order.
//!
//! Records carry revisions without gaps. Many threads append; one at a time writes what waits with one write and one sync,
//! and acknowledges it afterwards. Snapshots bound the log. A directory holds:
//!
//! | file | what it is |
//! |---|---|
//! | `lock` | held by the process that has the journal open |
//! | `<first revision>.log` | a segment: a header, then records; the segment after it says where it ends |
//! | `<revision>.snapshot` | everything up to this revision; two are kept, the older one as a fallback |
//! | `*.tmp` | a file that is not complete; removed when the journal is opened |
//!
//! A file gets its name only after its first content was synced, so a file with a bad header was damaged, not torn.

mod disk;
mod error;
mod journal;
mod queue;
mod record;
mod recovery;
mod segment;
pub mod simulated;
mod snapshot;
mod snapshot_file;
mod writer;

pub use disk::{Disk, DiskFile, Lock, OsDisk};
pub use error::JournalError;
pub use journal::{Journal, Options};
pub use queue::{Done, PAYLOAD_BYTES_MAX, PendingRecord};
pub use recovery::{Recovered, Recovery, Source, holds_journal};
pub use snapshot::SnapshotWritten;
pub use writer::Health;
