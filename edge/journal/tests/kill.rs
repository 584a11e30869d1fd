//! A process that appends to real files is killed with SIGKILL again and again; what it acknowledged must be there.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use journal::{Journal, JournalError, Options, PendingRecord, Recovery, Source};

const KILLS: u64 = 20;
const CHILD_DIR: &str = "JOURNAL_KILL_TEST_DIR";
const SMALL_SEGMENTS: Options = Options {
    segment_bytes: 256 << 10,
    zero_ahead_bytes: 64 << 10,
    group_bytes_max: 64 << 10,
    queue_entries_max: 256,
    queue_bytes_max: 1 << 20,
};

fn payload(revision: u64) -> Vec<u8> {
    let length = (revision * 37 % 1500) as usize;
    (0..length).map(|index| (revision as usize * 7 + index) as u8).collect()
}

/// Opens the journal and checks that it has every revision from 1 on, each with its own payload.
fn open(dir: &Path) -> Result<(Journal, Recovery), JournalError> {
    let mut next = 1;
    Journal::open(dir, SMALL_SEGMENTS, |record| {
        match record.source {
            // The snapshots of this test say only how far they reach.
            Source::Snapshot => next = u64::from_le_bytes(record.payload.try_into()?) + 1,
            Source::Log => {
                assert_eq!(record.revision, next, "revisions without gaps");
                assert_eq!(record.payload, payload(next), "revision {next}");
                next += 1;
            }
        }
        Ok(())
    })
}

/// The child: four threads append, snapshots are taken meanwhile, and every acknowledged revision is printed.
#[test]
#[ignore = "the child of the test below, which starts it"]
fn append_until_killed() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let (journal, _) = open(Path::new(&dir)).expect("opens");
    let next = Mutex::new(journal.next_revision());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    append_next(&journal, &next);
                }
            });
        }
        scope.spawn(|| {
            loop {
                let revision = journal.durable_revision();
                // Nothing new to take a snapshot of, or one still running, is no failure here.
                let _ = journal.snapshot(revision, [revision.to_le_bytes()].into_iter(), |_| ());
                std::thread::sleep(Duration::from_millis(5));
            }
        });
    });
}

fn append_next(journal: &Journal, next: &Mutex<u64>) {
    let mut next = next.lock().expect("no panic");
    let revision = *next;
    let done = move |written: Result<(), JournalError>| {
        written.expect("the disk works");
        let mut out = std::io::stdout().lock();
        if writeln!(out, "\nacknowledged {revision}").and_then(|()| out.flush()).is_err() {
            // Nobody listens any more: the parent was stopped, and must not leave a child that fills the disk.
            std::process::exit(1);
        }
    };
    journal.append(vec![PendingRecord::new(revision, payload(revision), done)]).expect("in order");
    *next += 1;
}

#[test]
fn what_was_acknowledged_is_there_after_each_of_20_kills() {
    let dir = fresh_dir("kill");
    let mut acknowledged = 0;
    for kill in 0..KILLS {
        let last = run_and_kill(&dir, Duration::from_millis(5 + kill * kill * 7919 % 190));
        acknowledged = acknowledged.max(last);
        let (journal, recovery) = open(&dir).expect("opens after a kill");
        assert!(recovery.last_revision >= acknowledged, "{acknowledged} was acknowledged: {recovery:?}");
        assert_eq!(journal.next_revision(), recovery.last_revision + 1);
    }
    assert!(acknowledged > KILLS, "only {acknowledged} records were written, the kills came too early");
    std::fs::remove_dir_all(&dir).expect("the test's own directory");
}

/// Starts the child, kills it some time after its first acknowledgement, and gives its last.
fn run_and_kill(dir: &Path, after: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("the test binary"))
        .args(["--ignored", "--exact", "append_until_killed", "--nocapture"])
        .env(CHILD_DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test binary starts");
    let lines = BufReader::new(child.stdout.take().expect("is piped")).lines();
    let reader = std::thread::spawn(move || {
        // A line that was cut off by the kill has no number that could be trusted.
        lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok())
            .collect()
    });
    std::thread::sleep(after + Duration::from_millis(20));
    child.kill().expect("SIGKILL");
    child.wait().expect("the child is gone");
    let numbers: Vec<u64> = reader.join().expect("the reader ends with the child");
    assert!(numbers.is_sorted(), "acknowledged in order");
    numbers.last().copied().unwrap_or(0)
}

#[test]
fn files_and_the_directory_are_for_their_owner_only() {
    let dir = fresh_dir("modes");
    let (journal, _) = open(&dir).expect("opens");
    journal.append(vec![PendingRecord::new(1, payload(1), |_| ())]).expect("in order");
    drop(journal);
    let mode = |path: &Path| path.metadata().expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for file in std::fs::read_dir(&dir).expect("is there") {
        let path = file.expect("is there").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    std::fs::remove_dir_all(&dir).expect("the test's own directory");
}

#[test]
fn a_directory_is_locked_against_other_processes_and_other_journals() {
    let dir = fresh_dir("lock");
    let (journal, _) = open(&dir).expect("opens");
    let error = open(&dir).err().expect("is in use").to_string();
    assert!(error.starts_with(&format!("{} is in use by another server", dir.display())), "{error}");
    drop(journal);
    open(&dir).expect("opens again");
    std::fs::remove_dir_all(&dir).expect("the test's own directory");
}

fn fresh_dir(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("journal-{name}"));
    // What an earlier run left behind, if any.
    let _ = std::fs::remove_dir_all(&dir);
    dir
}
