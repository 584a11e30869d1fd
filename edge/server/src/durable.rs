//! Joins the store and the journal: what is on disk becomes a store, and its changes go to disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use journal::{Disk, Health, Journal, JournalError, OsDisk, Recovery, Source};
use store::{Record, Store};

use crate::registry::{Appended, Log, NotDurable, Settled};

/// A snapshot is due when the log has outgrown both this and the last snapshot.
const SNAPSHOT_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// A disk that takes longer for a write is not well.
const WRITE_TIME_MAX: Duration = Duration::from_secs(5);

/// A log on disk.
pub struct DiskLog {
    journal: Journal,
}

/// Opens a data directory.
///
/// # Errors
/// When the directory cannot be used, is in use by another process, or is damaged.
pub fn open(dir: &Path) -> Result<(Store, DiskLog, Recovery), JournalError> {
    open_on(Arc::new(OsDisk), dir)
}

/// Like `open`, on a given file system.
///
/// # Errors
/// As for `open`.
pub fn open_on(disk: Arc<dyn Disk>, dir: &Path) -> Result<(Store, DiskLog, Recovery), JournalError> {
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
    Ok((store, DiskLog { journal }, recovery))
}

impl Log for DiskLog {
    fn append(&self, revision: u64, record: Vec<u8>, settled: Settled) -> Result<Appended, String> {
        let done = |result: Result<(), JournalError>| {
            settled(result.map_err(|error| match error.is_uncertain() {
                true => NotDurable::Uncertain(error.to_string()),
                false => NotDurable::Void(error.to_string()),
            }));
        };
        let appended = self.journal.append_quietly(vec![journal::PendingRecord::new(revision, record, done)]);
        appended.map(|()| Appended::Waiting).map_err(|error| match (&error, self.journal.health()) {
            // What comes before failed changes are taken back is out of order, because of what they failed of.
            (JournalError::OutOfOrder { .. }, Health::Failing(cause)) => cause.to_string(),
            _ => error.to_string(),
        })
    }

    fn health(&self) -> Result<(), String> {
        match self.journal.health() {
            Health::Well => Ok(()),
            Health::Writing(time) if time < WRITE_TIME_MAX => Ok(()),
            Health::Writing(time) => {
                Err(format!("the disk has not finished a write for {} s", time.as_secs()))
            }
            Health::Failing(error) => Err(said_to_all(&error)),
        }
    }

    fn mend(&self) {
        self.journal.mend();
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

/// What is wrong with the disk, without paths, because everybody may ask.
fn said_to_all(error: &JournalError) -> String {
    match error {
        JournalError::Uncertain { source } => said_to_all(source),
        JournalError::Io { verb, source, .. } if error.is_disk_full() => {
            format!("cannot {verb} the journal: {source}; hint: free space on the disk")
        }
        JournalError::Io { verb, source, .. } => format!("cannot {verb} the journal: {source}"),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use gates::Gates;
    use journal::simulated::{Fault, SimulatedDisk};
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
        let there =
            registry.read(|store| store.get(config_maps(), &Key::new("default", name)).is_some()).await;
        there.expect("the disk is not slow")
    }

    #[tokio::test]
    async fn a_full_disk_refuses_writes_and_takes_them_again_when_there_is_room() {
        let disk = SimulatedDisk::new();
        let full = registry(&disk);
        put(&full, "first").await.expect("there is room");
        disk.set_capacity(Some(0));
        for _ in 0..3 {
            let refused = put(&full, "refused").await.expect_err("there is no room");
            assert!(refused.contains("hint: free space on the disk"), "{refused}");
        }
        assert!(there(&full, "first").await, "reads go on");
        disk.set_capacity(None);
        put(&full, "second").await.expect("there is room again");
        drop(full);
        let restarted = registry(&disk.after_power_loss(3));
        assert!(there(&restarted, "first").await && there(&restarted, "second").await);
        assert!(!there(&restarted, "refused").await);
    }

    #[tokio::test]
    async fn a_client_that_hangs_up_before_a_sync_fails_leaves_the_server_at_work() {
        let disk = SimulatedDisk::new();
        let server = registry(&disk);
        // A disk that is slow leaves writes to a thread of its own, so that a client can go away meanwhile.
        disk.set_sync_time(Duration::from_millis(20));
        for number in 0..20 {
            put(&server, &format!("before-{number}")).await.expect("there is room");
        }
        disk.fail_after(1, Fault::SyncFails);
        let gone = tokio::time::timeout(Duration::from_millis(1), put(&server, "gone")).await;
        assert!(gone.is_err(), "the client is gone before its write is settled");
        assert!(there(&server, "before-0").await, "reads go on");
        assert!(server.log().health().is_err(), "health tells of the failed sync");
        put(&server, "second").await.expect("and so do writes");
        server.log().health().expect("all is well again");
        assert!(!there(&server, "gone").await);
        let restarted = registry(&disk.after_power_loss(3));
        assert!(there(&restarted, "second").await && !there(&restarted, "gone").await);
    }

    #[tokio::test]
    async fn health_tells_of_a_full_disk_until_there_is_room_though_nobody_writes() {
        let disk = SimulatedDisk::new();
        let full = registry(&disk);
        put(&full, "first").await.expect("there is room");
        full.log().health().expect("all is well");
        disk.set_capacity(Some(0));
        put(&full, "refused").await.expect_err("there is no room");
        full.log().mend();
        let said = full.log().health().expect_err("there is still no room");
        assert!(said.ends_with("hint: free space on the disk") && !said.contains("/journal"), "{said}");
        disk.set_capacity(None);
        // The writer may hold the journal for a moment after it has answered, and nothing is mended meanwhile.
        let mut tries = 0;
        while full.log().health().is_err() {
            full.log().mend();
            tokio::time::sleep(Duration::from_millis(1)).await;
            tries += 1;
            assert!(tries < 10_000, "there is room again");
        }
    }
}
