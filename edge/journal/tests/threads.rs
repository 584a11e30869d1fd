//! Many threads append, snapshots run meanwhile and the disk fails now and then: nothing is acknowledged twice or lost.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use journal::simulated::{Fault, SimulatedDisk};
use journal::{Journal, JournalError, Options, PendingRecord, Source};

const SMALL: Options = Options {
    segment_bytes: 4000,
    zero_ahead_bytes: 500,
    group_bytes_max: 300,
    queue_entries_max: 6,
    queue_bytes_max: 1000,
};
const THREADS: u64 = 8;
const RECORDS_PER_THREAD: u64 = 60;

/// What was acknowledged, by revision.
type Acknowledged = Mutex<BTreeMap<u64, Vec<u8>>>;

#[test]
fn many_threads_and_a_failing_disk_lose_nothing_that_was_acknowledged() {
    for seed in 0..25 {
        let disk = SimulatedDisk::new();
        let acknowledged: Arc<Acknowledged> = Arc::default();
        let (journal, _) = Journal::open_on(Arc::new(disk.clone()), Path::new("/journal"), SMALL, |_| Ok(()))
            .expect("opens");
        let order = Mutex::new(());
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (journal, order, acknowledged, disk) = (&journal, &order, &acknowledged, &disk);
                scope.spawn(move || {
                    for record in 0..RECORDS_PER_THREAD {
                        let payload =
                            format!("thread {thread} record {record} ").repeat(1 + record as usize % 5);
                        append(journal, order, acknowledged, payload.as_bytes(), thread % 2 == 0);
                        // The faults differ from seed to seed, and with the threads from run to run.
                        if (record * 7 + thread + seed) % 29 == 0 {
                            disk.fail_after(
                                record % 5,
                                [Fault::SyncFails, Fault::NoSpace][record as usize % 2],
                            );
                        }
                        if record % 20 == 7 {
                            snapshot(journal, acknowledged);
                        }
                    }
                });
            }
        });
        drop(journal);
        assert_eq!(acknowledged.lock().expect("no panic").len() as u64, THREADS * RECORDS_PER_THREAD);
        check(&disk.after_power_loss(seed), &acknowledged.lock().expect("no panic"));
    }
}

/// Appends until it succeeds, and may write it itself.
fn append(
    journal: &Journal,
    order: &Mutex<()>,
    acknowledged: &Arc<Acknowledged>,
    payload: &[u8],
    quietly: bool,
) {
    loop {
        let (sender, receiver) = channel();
        let appended = {
            let _turn = order.lock().expect("no panic");
            let revision = journal.next_revision();
            let (acknowledged, kept) = (Arc::clone(acknowledged), payload.to_owned());
            let done = move |written: Result<(), JournalError>| {
                let is_written = written.is_ok();
                if is_written {
                    let mut acknowledged = acknowledged.lock().expect("no panic");
                    assert_eq!(acknowledged.len() as u64 + 1, revision, "answers come in order");
                    acknowledged.insert(revision, kept);
                }
                sender.send(is_written).expect("the thread waits");
            };
            let entries = vec![PendingRecord::new(revision, payload.to_owned(), done)];
            if quietly { journal.append_quietly(entries) } else { journal.append(entries) }
        };
        if quietly {
            journal.write();
        }
        match appended {
            Ok(()) if receiver.recv().expect("is answered") => return,
            Ok(()) => {}
            Err(error) => assert!(matches!(error, JournalError::OutOfOrder { .. }), "{error}"),
        }
    }
}

/// Takes a snapshot of what is acknowledged, unless one is running or the disk fails.
fn snapshot(journal: &Journal, acknowledged: &Acknowledged) {
    let records: Vec<Vec<u8>> = acknowledged.lock().expect("no panic").values().cloned().collect();
    let _ = journal.snapshot(records.len() as u64, records.into_iter(), |_| ());
}

fn check(disk: &SimulatedDisk, acknowledged: &BTreeMap<u64, Vec<u8>>) {
    let mut found = Vec::new();
    let opened = Journal::open_on(Arc::new(disk.clone()), Path::new("/journal"), SMALL, |record| {
        found.push(record.payload.to_vec());
        if record.source == Source::Log {
            assert_eq!(record.revision, found.len() as u64, "revisions without gaps");
        }
        Ok(())
    });
    opened.expect("opens");
    assert!(
        found.iter().eq(acknowledged.values()),
        "everything that was acknowledged, in order, and nothing else"
    );
}
