//! What is torn is cut off, what is damaged is refused with file and offset, and a full disk loses nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use journal::simulated::{Fault, SimulatedDisk};
use journal::{Health, Journal, JournalError, Options, PendingRecord, Recovery};

const DIR: &str = "/journal";
const SMALL: Options = Options {
    segment_bytes: 400,
    zero_ahead_bytes: 100,
    group_bytes_max: 1000,
    queue_entries_max: 8,
    queue_bytes_max: 4000,
};

/// Opens the journal and gives its records by revision; those of a snapshot by their place.
fn open(disk: &SimulatedDisk) -> Result<(Journal, Recovery, Vec<String>), JournalError> {
    let mut records = Vec::new();
    let (journal, recovery) = Journal::open_on(Arc::new(disk.clone()), Path::new(DIR), SMALL, |record| {
        records.push(String::from_utf8(record.payload.to_vec())?);
        Ok(())
    })?;
    Ok((journal, recovery, records))
}

fn append(journal: &Journal, texts: &[&str]) -> Result<(), JournalError> {
    let (sender, receiver) = channel();
    let entries = (journal.next_revision()..).zip(texts).map(|(revision, text)| {
        let sender = sender.clone();
        PendingRecord::new(revision, text.as_bytes().to_vec(), move |written| {
            sender.send(written).expect("the test waits")
        })
    });
    journal.append(entries.collect())?;
    drop(sender);
    receiver.iter().collect::<Vec<_>>().into_iter().collect()
}

fn snapshot(journal: &Journal, texts: &[&str]) -> Result<u64, JournalError> {
    let (sender, receiver) = channel();
    let records: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    journal.snapshot(journal.durable_revision(), records.into_iter(), move |written| {
        sender.send(written).expect("the test waits");
    })?;
    receiver.recv().expect("the snapshot ends").map(|written| written.records)
}

/// A disk on which one record was appended at a time.
fn disk_with(texts: &[&str]) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let (journal, ..) = open(&disk).expect("opens");
    for text in texts {
        append(&journal, &[text]).expect("is written");
    }
    drop(journal);
    disk
}

fn files(disk: &SimulatedDisk, kind: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = disk.files();
    files.retain(|path, _| path.extension().is_some_and(|extension| extension == kind));
    files
}

/// Where a text lies: its file, the bytes, and the offset.
fn find(disk: &SimulatedDisk, kind: &str, text: &str) -> (PathBuf, Vec<u8>, usize) {
    let found = files(disk, kind).into_iter().find_map(|(path, bytes)| {
        let at = bytes.windows(text.len()).position(|window| window == text.as_bytes())?;
        Some((path, bytes, at))
    });
    found.expect("the text is in a file")
}

fn damage(disk: &SimulatedDisk, kind: &str, text: &str) -> (PathBuf, usize) {
    let (path, mut bytes, at) = find(disk, kind, text);
    bytes[at] ^= 1;
    disk.overwrite(&path, &bytes);
    (path, at)
}

fn refusal(disk: &SimulatedDisk) -> String {
    let before = disk.files();
    let error = open(disk).err().expect("is refused");
    assert!(error.is_damage(), "{error}");
    assert_eq!(disk.files(), before, "a refusal changes nothing");
    error.to_string()
}

#[test]
fn an_empty_directory_opens_at_revision_1() {
    let (journal, recovery, records) = open(&SimulatedDisk::new()).expect("opens");
    assert_eq!((journal.next_revision(), recovery.last_revision, records.len()), (1, 0, 0));
}

#[test]
fn a_second_opener_is_told_which_directory_is_in_use() {
    let disk = SimulatedDisk::new();
    let (journal, ..) = open(&disk).expect("opens");
    let error = open(&disk).err().expect("is locked");
    assert!(error.to_string().starts_with("/journal is in use by another server\nhint: "), "{error}");
    drop(journal);
    open(&disk).expect("the lock ended with the journal");
}

#[test]
fn a_tail_that_is_cut_anywhere_loses_only_the_last_record() {
    let disk = disk_with(&["one", "two", "three"]);
    let (path, bytes, at) = find(&disk, "log", "three");
    for length in at - 21..at + 4 {
        let disk = disk.after_kill();
        disk.overwrite(&path, &bytes[..length]);
        let (journal, recovery, records) = open(&disk).expect("a torn tail is no damage");
        assert_eq!(records, ["one", "two"], "cut at {length}");
        assert_eq!(recovery.torn_bytes > 0, length > at - 21);
        append(&journal, &["three again"]).expect("the revision is free again");
        drop(journal);
        let (_, recovery, records) = open(&disk).expect("opens");
        assert_eq!(
            (records.as_slice(), recovery.torn_bytes),
            (&["one", "two", "three again"].map(String::from)[..], 0)
        );
    }
}

#[test]
fn a_damaged_record_with_acknowledged_ones_behind_it_is_refused_with_its_place() {
    let disk = disk_with(&["one", "two", "three"]);
    let (path, at) = damage(&disk, "log", "two");
    let refusal = refusal(&disk);
    assert!(
        refusal.starts_with(&format!("{} is damaged at byte {}: revision 2 ", path.display(), at - 21)),
        "{refusal}"
    );
    assert!(refusal.contains("\nhint: nothing was changed; copy the directory"), "{refusal}");
}

#[test]
fn damage_in_a_segment_that_is_not_the_last_is_refused_even_at_its_end() {
    let long = "x".repeat(450);
    let disk = disk_with(&["one", &long, "three"]);
    let (path, _) = damage(&disk, "log", &long);
    assert!(refusal(&disk).starts_with(&format!("{} is damaged at byte ", path.display())));
}

#[test]
fn what_was_durable_when_the_file_was_made_is_never_taken_for_torn() {
    let disk = disk_with(&["one"]);
    // Opening copies the last group into a new segment, where it is sealed.
    drop(open(&disk).expect("opens"));
    damage(&disk, "log", "one");
    assert!(refusal(&disk).contains("revision 1 cannot be read"));
}

#[test]
fn a_missing_segment_is_refused() {
    let long = "x".repeat(450);
    let disk = disk_with(&[&long, &long, &long, "last"]);
    let segments: Vec<PathBuf> = files(&disk, "log").into_keys().collect();
    for lost in &segments[..segments.len() - 1] {
        let disk = disk.after_kill();
        disk.lose(lost);
        assert!(refusal(&disk).contains("missing"), "{}", lost.display());
    }
}

#[test]
fn a_header_that_does_not_fit_is_refused() {
    let disk = disk_with(&["one"]);
    let (path, bytes) = files(&disk, "log").into_iter().next().expect("a segment");
    let check = |change: &dyn Fn(&mut Vec<u8>), expected: &str| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        disk.overwrite(&path, &bytes);
        let refusal = refusal(&disk);
        assert!(refusal.contains(expected), "{refusal}");
    };
    check(&|bytes| bytes[0] ^= 1, "not a log segment");
    check(&|bytes| bytes[8] = 9, "the format's version is 9, this program knows 1");
    check(&|bytes| bytes[20] ^= 1, "the header's checksum does not fit");
    check(&|bytes| bytes.truncate(10), "the file has 10 bytes");
    disk.overwrite(&Path::new(DIR).join("00000000000000000002.log"), &bytes);
    disk.lose(&path);
    assert!(refusal(&disk).contains("the segment of the log with revision 1 is missing"));
}

#[test]
fn a_damaged_snapshot_is_made_up_for_by_the_one_before() {
    let disk = disk_with(&["one", "two"]);
    let (journal, ..) = open(&disk).expect("opens");
    snapshot(&journal, &["old state"]).expect("is written");
    append(&journal, &["three"]).expect("is written");
    snapshot(&journal, &["new state"]).expect("is written");
    append(&journal, &["four"]).expect("is written");
    drop(journal);
    let (_, recovery, records) = open(&disk.after_kill()).expect("opens");
    assert_eq!((recovery.snapshot_revision, records), (3, vec!["new state".to_owned(), "four".to_owned()]));

    let (path, _) = damage(&disk, "snapshot", "new state");
    let (journal, recovery, records) = open(&disk).expect("opens");
    assert_eq!(
        (recovery.snapshot_revision, records),
        (2, ["old state", "three", "four"].map(String::from).to_vec())
    );
    assert!(recovery.damaged_snapshots[0].to_string().contains(&path.display().to_string()));

    snapshot(&journal, &["newest state"]).expect("is written");
    drop(journal);
    let names: Vec<PathBuf> = files(&disk, "snapshot").into_keys().collect();
    let expected = [2, 4].map(|revision| Path::new(DIR).join(format!("{revision:020}.snapshot")));
    assert_eq!(names, expected, "the damaged one is gone, the good one stays as a fallback");
}

#[test]
fn snapshots_bound_the_log_and_keep_what_the_one_before_needs() {
    let long = "x".repeat(450);
    let disk = disk_with(&[&long, &long, &long, &long]);
    let (journal, ..) = open(&disk).expect("opens");
    snapshot(&journal, &["state 4"]).expect("is written");
    assert_eq!(files(&disk, "log").len(), 4, "nothing is removed before there is a second one");
    append(&journal, &["five"]).expect("is written");
    assert_eq!(journal.bytes_since_snapshot(), 4);
    snapshot(&journal, &["state 5"]).expect("is written");
    assert_eq!(files(&disk, "log").len(), 1);
    let error = snapshot(&journal, &["again"]).expect_err("nothing new");
    assert!(matches!(error, JournalError::SnapshotOutOfRange { revision: 5, latest: 5, durable: 5 }));
}

#[test]
fn a_full_disk_fails_appends_until_there_is_room_and_loses_nothing() {
    let disk = disk_with(&["one"]);
    let (journal, ..) = open(&disk).expect("opens");
    let used: usize = disk.files().values().map(Vec::len).sum();
    disk.set_capacity(Some(used + 10));
    for _ in 0..3 {
        let error = append(&journal, &["two", "three"]).expect_err("no room");
        assert!(error.is_disk_full() && error.to_string().starts_with("cannot write /journal/"), "{error}");
        assert_eq!(journal.next_revision(), 2, "the failed revisions are expected again");
    }
    disk.set_capacity(None);
    append(&journal, &["two later"]).expect("there is room");
    let (_, _, records) = open(&disk.after_power_loss(0)).expect("opens");
    assert_eq!(records, ["one", "two later"]);
}

#[test]
fn a_snapshot_that_finds_the_disk_full_leaves_nothing_behind() {
    let disk = disk_with(&["one"]);
    let (journal, ..) = open(&disk).expect("opens");
    disk.fail_after(2, Fault::NoSpace);
    assert!(snapshot(&journal, &["state"]).is_err_and(|error| error.is_disk_full()));
    assert!(files(&disk, "tmp").is_empty());
    snapshot(&journal, &["state"]).expect("there is room");
    append(&journal, &["two"]).expect("is written");
}

#[test]
fn after_a_failed_sync_the_segment_is_left_behind() {
    let disk = disk_with(&["one"]);
    let (journal, ..) = open(&disk).expect("opens");
    let segments = files(&disk, "log").len();
    disk.fail_after(1, Fault::SyncFails);
    append(&journal, &["two", "three"]).expect_err("the sync fails");
    append(&journal, &["two later"]).expect("goes into another segment");
    assert_eq!(files(&disk, "log").len(), segments + 1);
    for seed in 0..50 {
        let (_, _, records) = open(&disk.after_power_loss(seed)).expect("opens");
        assert_eq!(records, ["one", "two later"]);
    }
}

#[test]
fn what_failed_for_certain_stays_away_even_if_the_machine_stops_right_after_it() {
    for fault in [Fault::SyncFails, Fault::TornWrite, Fault::NoSpace] {
        let disk = disk_with(&["one"]);
        let (journal, ..) = open(&disk).expect("opens");
        disk.fail_after(if fault == Fault::SyncFails { 1 } else { 0 }, fault);
        let error = append(&journal, &["two", "three"]).expect_err("the write fails");
        assert!(!error.is_uncertain(), "the disk works again at once: {error}");
        let disks = (0..50).map(|seed| disk.after_power_loss(seed)).chain([disk.after_kill()]);
        for disk in disks {
            let (_, _, records) = open(&disk).expect("opens");
            assert_eq!(records, ["one"], "{fault:?}");
        }
    }
}

#[test]
fn a_disk_that_takes_nothing_after_a_failed_write_leaves_it_uncertain() {
    let disk = disk_with(&["one"]);
    let (journal, ..) = open(&disk).expect("opens");
    // The sync, the cutting of the segment, and the making of another.
    (1..4).for_each(|after| disk.fail_after(after, Fault::SyncFails));
    let error = append(&journal, &["two"]).expect_err("the sync fails");
    assert!(error.is_uncertain() && error.to_string().starts_with("cannot sync /journal/"), "{error}");
    append(&journal, &["two later"]).expect("the disk works again");
    for seed in 0..50 {
        let (_, _, records) = open(&disk.after_power_loss(seed)).expect("opens");
        assert_eq!(records, ["one", "two later"], "and what was uncertain is void");
    }
}

#[test]
fn health_follows_the_disk_without_a_write_of_anybody() {
    let disk = disk_with(&["one"]);
    let (journal, ..) = open(&disk).expect("opens");
    assert!(matches!(journal.health(), Health::Well));
    let used: usize = disk.files().values().map(Vec::len).sum();
    disk.set_capacity(Some(used + 60));
    append(&journal, &["a record that does not fit"]).expect_err("no room");
    for _ in 0..3 {
        journal.mend();
        assert!(matches!(journal.health(), Health::Failing(error) if error.is_disk_full()));
    }
    disk.set_capacity(None);
    // The writer may hold the segment for a moment after it has answered, and nothing is mended meanwhile.
    let is_mended = || {
        journal.mend();
        matches!(journal.health(), Health::Well)
    };
    let tries = (0..10_000).inspect(|_| std::thread::sleep(Duration::from_millis(1)));
    assert!(tries.into_iter().any(|_| is_mended()), "there is room again");
    append(&journal, &["two"]).expect("there is room");
    let (_, _, records) = open(&disk.after_power_loss(0)).expect("opens");
    assert_eq!(records, ["one", "two"]);
}

#[test]
fn revisions_that_do_not_follow_are_refused() {
    let (journal, ..) = open(&SimulatedDisk::new()).expect("opens");
    append(&journal, &["one"]).expect("is written");
    for given in [1, 3] {
        let error =
            journal.append(vec![PendingRecord::new(given, Vec::new(), |_| ())]).expect_err("does not follow");
        assert!(
            matches!(error, JournalError::OutOfOrder { expected: 2, given: refused } if refused == given)
        );
    }
    assert_eq!(journal.next_revision(), 2);
}

#[test]
fn a_full_queue_says_so_and_takes_more_once_the_writer_is_through() {
    let (journal, ..) = open(&SimulatedDisk::new()).expect("opens");
    let (hold, held) = channel::<()>();
    let (sender, receiver) = channel();
    // The writer waits in the first record's answer while the queue behind it fills up.
    let first = PendingRecord::new(1, Vec::new(), move |_| assert!(held.recv().is_err()));
    journal.append(vec![first]).expect("there is room");
    while journal.durable_revision() < 1 {
        std::thread::yield_now();
    }
    let entry = |revision: u64| {
        let sender = sender.clone();
        PendingRecord::new(revision, b"x".to_vec(), move |written| {
            sender.send((revision, written.is_ok())).expect("waits")
        })
    };
    journal.append((2..10).map(entry).collect()).expect("there is room");
    let error = journal.try_append(vec![entry(10)]).expect_err("full");
    assert!(matches!(error, JournalError::Full { entries: 8, bytes: 8 }), "{error}");
    std::thread::scope(|scope| {
        scope.spawn(|| journal.append(vec![entry(10)]).expect("waits for room"));
        drop(hold);
    });
    drop(journal);
    let answers: Vec<(u64, bool)> = receiver.iter().take(9).collect();
    assert_eq!(answers, (2..11).map(|revision| (revision, true)).collect::<Vec<_>>());
}

#[test]
fn a_journal_that_is_dropped_by_its_own_answer_writes_the_rest_before_it_unlocks() {
    let disk = SimulatedDisk::new();
    let (journal, ..) = open(&disk).expect("opens");
    let journal = Arc::new(journal);
    let (hold, held) = channel::<()>();
    let owner = Arc::clone(&journal);
    let last_owner = PendingRecord::new(1, b"one".to_vec(), move |_| {
        assert!(held.recv().is_err(), "the test drops its end");
        drop(owner);
    });
    journal.append(vec![last_owner]).expect("there is room");
    while journal.durable_revision() < 1 {
        std::thread::yield_now();
    }
    journal.append(vec![PendingRecord::new(2, b"two".to_vec(), |_| ())]).expect("there is room");
    drop(journal);
    drop(hold);
    let records = loop {
        match open(&disk) {
            Ok((.., records)) => break records,
            Err(error) => assert!(matches!(error, JournalError::Locked { .. }), "{error}"),
        }
    };
    assert_eq!(records, ["one", "two"]);
}

#[test]
fn a_panic_in_an_answer_does_not_stop_the_log() {
    let (journal, ..) = open(&SimulatedDisk::new()).expect("opens");
    let careless = PendingRecord::new(1, Vec::new(), |_| panic!("part of the test"));
    journal.append(vec![careless]).expect("there is room");
    append(&journal, &["two"]).expect("is written");
}

#[test]
fn a_receiver_that_refuses_a_record_stops_the_opening() {
    let disk = disk_with(&["one", "two"]);
    let opened = Journal::open_on(Arc::new(disk), Path::new(DIR), SMALL, |record| {
        if record.revision == 2 { Err("no such kind".into()) } else { Ok(()) }
    });
    let error = opened.err().expect("is refused").to_string();
    assert!(error.starts_with("cannot use revision 2: no such kind\nhint: "), "{error}");
}
