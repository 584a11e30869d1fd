//! Joins the store and the journal: what is on disk becomes a store, and its changes go to disk.

use std::path::Path;
use std::sync::Arc;

use journal::{Disk, Journal, JournalError, OsDisk, Recovery, Source};
use parking_lot::Mutex;
use store::{Record, Store};

use crate::registry::{Log, Settled};

/// A snapshot is due when the log has outgrown both this and the last snapshot.
const SNAPSHOT_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// A log on disk.
pub struct DiskLog {
    journal: Arc<Journal>,
    /// Why the last write failed. What comes before the failed changes are taken back is out of order for that reason.
    failure: Arc<Mutex<Option<JournalError>>>,
}

/// Opens a data directory.
///
/// # Errors
/// When the directory cannot be used, is in use by another process, or is damaged.
pub fn open(dir: &Path) -> Result<(Store, DiskLog, Recovery), JournalError> {
    open_on(Arc::new(OsDisk), dir)
}

fn open_on(disk: Arc<dyn Disk>, dir: &Path) -> Result<(Store, DiskLog, Recovery), JournalError> {
    let mut store = Store::default();
    let (journal, recovery) = Journal::open_on(disk, dir, journal::Options::default(), |found| {
        let record = Record::decode(found.payload)?;
        debug_assert!(
            found.source == Source::Snapshot || record.revision() == found.revision,
            "the log is in order"
        );
        store.restore(&record);
        Ok(())
    })?;
    store.restored(recovery.last_revision);
    Ok((store, DiskLog { journal: Arc::new(journal), failure: Arc::default() }, recovery))
}

impl Log for DiskLog {
    fn append(&self, revision: u64, record: Vec<u8>, settled: Settled) {
        // The callback is needed in both places, and runs in one of them.
        let settled = Arc::new(Mutex::new(Some(settled)));
        let (later, failure) = (Arc::clone(&settled), Arc::clone(&self.failure));
        let done = move |result: Result<(), JournalError>| {
            if let Err(error) = &result {
                *failure.lock() = Some(error.clone());
            }
            if let Some(settled) = later.lock().take() {
                settled(result.map_err(|error| error.to_string()));
            }
        };
        let entry = journal::Entry::new(revision, record, done);
        if let Err(error) = self.journal.append_quietly(vec![entry])
            && let Some(settled) = settled.lock().take()
        {
            let cause = match &error {
                JournalError::OutOfOrder { .. } => self.failure.lock().clone().unwrap_or(error),
                _ => error,
            };
            settled(Err(cause.to_string()));
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use gates::Gates;
    use journal::simulated::SimulatedDisk;
    use serde_json::json;
    use store::{Body, Expected, Key, Resource};

    use super::open_on;
    use crate::registry::Registry;

    fn config_maps() -> Resource {
        schema::table().kind("v1", "ConfigMap").and_then(Resource::of).expect("config maps are stored")
    }

    fn registry(disk: &SimulatedDisk) -> Arc<Registry> {
        let (store, log, _) = open_on(Arc::new(disk.clone()), Path::new("/journal")).expect("intact");
        Registry::new(store, Box::new(log), Gates::default())
    }

    /// Stores an object, or says why not.
    async fn put(registry: &Arc<Registry>, name: &str) -> Result<(), String> {
        let body = Body::new(&json!({"metadata": {"name": name}}), vec![]);
        let key = Key::new("default", name);
        let put = registry.commit(|store| store.put(config_maps(), key, body, Expected::Absent)).await;
        put.map(|done| drop(done.expect("nobody else writes"))).map_err(|failure| failure.message)
    }

    async fn there(registry: &Registry, name: &str) -> bool {
        registry.read(|store| store.get(config_maps(), &Key::new("default", name)).is_some()).await
    }

    #[tokio::test]
    async fn a_full_disk_refuses_writes_and_takes_them_again_when_there_is_room() {
        let disk = SimulatedDisk::new();
        let full = registry(&disk);
        put(&full, "first").await.expect("there is room");
        disk.set_capacity(Some(0));
        for _ in 0..3 {
            let refused = put(&full, "refused").await.expect_err("there is no room");
            assert!(refused.contains("hint: make room on the disk"), "{refused}");
        }
        assert!(there(&full, "first").await, "reads go on");
        disk.set_capacity(None);
        put(&full, "second").await.expect("there is room again");
        drop(full);
        let restarted = registry(&disk.after_power_loss(3));
        assert!(there(&restarted, "first").await && there(&restarted, "second").await);
        assert!(!there(&restarted, "refused").await);
    }
}
