//! Joins the store and the journal: what is on disk becomes a store, and its changes go to disk.

use std::path::Path;
use std::sync::Arc;

use journal::{Journal, JournalError, Recovery, Source};
use store::{Record, Store};

use crate::registry::{Log, Settled};

/// A snapshot is due when the log has outgrown both this and the last snapshot.
const SNAPSHOT_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// A log on disk.
pub struct DiskLog {
    journal: Arc<Journal>,
}

/// Opens a data directory.
///
/// # Errors
/// When the directory cannot be used, is in use by another process, or is damaged.
pub fn open(dir: &Path) -> Result<(Store, DiskLog, Recovery), JournalError> {
    let mut store = Store::default();
    let (journal, recovery) = Journal::open(dir, journal::Options::default(), |found| {
        let record = Record::decode(found.payload)?;
        debug_assert!(
            found.source == Source::Snapshot || record.revision() == found.revision,
            "the log is in order"
        );
        store.restore(&record);
        Ok(())
    })?;
    store.restored(recovery.last_revision);
    Ok((store, DiskLog { journal: Arc::new(journal) }, recovery))
}

impl Log for DiskLog {
    fn append(&self, revision: u64, record: Vec<u8>, settled: Settled) {
        // The callback is needed in both places, and runs in one of them.
        let settled = Arc::new(parking_lot::Mutex::new(Some(settled)));
        let later = Arc::clone(&settled);
        let done = move |result: Result<(), JournalError>| {
            if let Some(settled) = later.lock().take() {
                settled(result.map_err(|error| error.to_string()));
            }
        };
        let entry = journal::Entry::new(revision, record, done);
        if let Err(error) = self.journal.append_quietly(vec![entry])
            && let Some(settled) = settled.lock().take()
        {
            settled(Err(error.to_string()));
        }
    }

    fn write(&self) {
        self.journal.write();
    }

    fn snapshot_is_due(&self) -> bool {
        self.journal.bytes_since_snapshot() > SNAPSHOT_BYTES_MIN
    }

    fn snapshot(&self, revision: u64, records: Box<dyn Iterator<Item = Vec<u8>> + Send>) {
        // A snapshot that fails leaves the log as it was, and the next one is tried when it is due.
        let _ = self.journal.snapshot(revision, records, |_| {});
    }
}
