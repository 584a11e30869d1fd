//! A journal on a simulated disk beside a model of what it promised, for the tests of this folder.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

use journal::simulated::{Fault, SimulatedDisk};
use journal::{Journal, JournalError, Options, PendingRecord, Source};

/// Small sizes, so that a few records fill a segment.
pub const SMALL: Options = Options {
    segment_bytes: 2000,
    zero_ahead_bytes: 700,
    group_bytes_max: 3000,
    queue_entries_max: 64,
    queue_bytes_max: 64 * 1024,
};

/// What happens next.
#[derive(Debug, Clone, Copy)]
pub enum HistoryEvent {
    Append {
        records: usize,
        bytes: usize,
    },
    Snapshot,
    /// The process ends and another opens the journal, perhaps with a fault meanwhile.
    Kill(Option<(u64, Fault)>),
    /// The machine stops; the seed says what it loses.
    PowerLoss(u64, Option<(u64, Fault)>),
    Fail {
        after: u64,
        fault: Fault,
    },
}

/// A record says which attempt it is and which attempt came before it, so that histories cannot be mixed unnoticed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Attempt {
    id: u64,
    before: u64,
    bytes: usize,
}

impl Attempt {
    fn payload(&self) -> Vec<u8> {
        let mut payload = [self.id.to_le_bytes(), self.before.to_le_bytes()].concat();
        payload.extend((0..self.bytes).map(|index| (self.id as usize * 31 + index) as u8));
        payload
    }

    fn parse(payload: &[u8]) -> Attempt {
        let number = |at: usize| u64::from_le_bytes(payload[at..at + 8].try_into().expect("eight bytes"));
        let attempt = Attempt { id: number(0), before: number(8), bytes: payload.len() - 16 };
        assert_eq!(attempt.payload(), payload, "a record that was never appended");
        attempt
    }
}

pub struct History {
    disk: SimulatedDisk,
    journal: Option<Journal>,
    /// The records that must be there, where index 0 is revision 1.
    kept: Vec<Attempt>,
    attempts: u64,
    /// Attempts that failed for certain, and may never be there.
    void: BTreeSet<u64>,
    /// False for a disk that lies about syncs: then records may be lost and the journal may refuse to open.
    honest: bool,
    refused: bool,
}

impl History {
    pub fn new(honest: bool) -> History {
        let disk = SimulatedDisk::new();
        let mut history = History {
            disk,
            journal: None,
            kept: Vec::new(),
            attempts: 0,
            void: BTreeSet::new(),
            honest,
            refused: false,
        };
        history.open();
        history
    }

    pub fn take(&mut self, step: HistoryEvent) {
        if self.refused {
            return;
        }
        match step {
            HistoryEvent::Append { records, bytes } => self.append(records, bytes),
            HistoryEvent::Snapshot => self.snapshot(),
            HistoryEvent::Kill(meanwhile) => self.restart(self.disk.after_kill(), meanwhile),
            HistoryEvent::PowerLoss(seed, meanwhile) => {
                self.restart(self.disk.after_power_loss(seed), meanwhile)
            }
            HistoryEvent::Fail { after, fault } => self.disk.fail_after(after, fault),
        }
        if self.disk.crashed() {
            self.restart(self.disk.after_power_loss(self.disk.operations()), None);
        }
    }

    fn append(&mut self, records: usize, bytes: usize) {
        let journal = self.journal.as_ref().expect("open between steps");
        assert_eq!(journal.next_revision(), self.kept.len() as u64 + 1);
        let (sender, receiver) = channel();
        let mut attempts: Vec<Attempt> = Vec::new();
        let mut entries = Vec::new();
        for revision in (journal.next_revision()..).take(records) {
            self.attempts += 1;
            let before = attempts.last().or(self.kept.last()).map_or(0, |attempt| attempt.id);
            attempts.push(Attempt { id: self.attempts, before, bytes });
            let sender = sender.clone();
            entries.push(PendingRecord::new(
                revision,
                attempts[attempts.len() - 1].payload(),
                move |written| {
                    sender.send(written).expect("the test waits");
                },
            ));
        }
        drop(sender);
        journal.append(entries).expect("there is room and the order is right");
        let answers: Vec<Result<(), JournalError>> = receiver.iter().collect();
        assert_eq!(answers.len(), records, "every record is answered");
        let acknowledged = answers.iter().take_while(|answer| answer.is_ok()).count();
        assert!(
            answers[acknowledged..].iter().all(Result::is_err),
            "nothing behind a failure is acknowledged"
        );
        let failed = attempts.iter().zip(&answers).skip(acknowledged);
        let certain = failed.filter(|(_, answer)| matches!(answer, Err(error) if !error.is_uncertain()));
        self.void.extend(certain.map(|(attempt, _)| attempt.id));
        self.kept.extend(attempts.into_iter().take(acknowledged));
    }

    fn snapshot(&mut self) {
        let journal = self.journal.as_ref().expect("open between steps");
        let payloads: Vec<Vec<u8>> = self.kept.iter().map(Attempt::payload).collect();
        let (sender, receiver) = channel();
        let started = journal.snapshot(self.kept.len() as u64, payloads.into_iter(), move |written| {
            sender.send(written.is_ok()).expect("the test waits");
        });
        match started {
            Ok(()) => drop(receiver.recv().expect("the snapshot ends")),
            Err(error) => assert!(matches!(error, JournalError::SnapshotOutOfRange { .. }), "{error}"),
        }
    }

    /// Goes on with a disk that was taken from ours before the journal was dropped, because dropping it still writes.
    fn restart(&mut self, disk: SimulatedDisk, meanwhile: Option<(u64, Fault)>) {
        self.journal = None;
        self.disk = disk;
        if let Some((after, fault)) = meanwhile {
            self.disk.fail_after(after, fault);
        }
        self.open();
    }

    /// Opens the journal, compares, and takes what was found as what must be there from now on.
    fn open(&mut self) {
        let mut found: Vec<Attempt> = Vec::new();
        let opened = Journal::open_on(Arc::new(self.disk.clone()), Path::new("/journal"), SMALL, |record| {
            let attempt = Attempt::parse(record.payload);
            assert_eq!(
                attempt.before,
                found.last().map_or(0, |attempt| attempt.id),
                "a record of another history"
            );
            found.push(attempt);
            if record.source == Source::Log {
                assert_eq!(record.revision, found.len() as u64, "revisions without gaps");
            }
            Ok(())
        });
        match opened {
            Ok((journal, recovery)) => {
                assert_eq!(recovery.last_revision, found.len() as u64);
                assert!(recovery.damaged_snapshots.is_empty() || !self.honest);
                self.journal = Some(journal);
            }
            Err(error) if error.is_damage() && !self.honest => {
                self.refused = true;
                return;
            }
            Err(error) if self.disk.crashed() => {
                assert!(!error.is_damage(), "{error}");
                return self.restart(self.disk.after_power_loss(self.disk.operations()), None);
            }
            Err(error) => {
                assert!(!error.is_damage(), "{error}");
                self.disk.heal();
                return self.open();
            }
        }
        if self.honest {
            assert!(found.len() >= self.kept.len(), "acknowledged records are missing");
            assert_eq!(found[..self.kept.len()], self.kept[..], "acknowledged records changed");
            assert!(!found.iter().any(|attempt| self.void.contains(&attempt.id)), "what failed is there");
        }
        self.kept = found;
    }
}
