//! Hands what is recorded to a thread that writes it.
//!
//! Invariant: who records never waits for the disk: what waits to be written is bounded, and when there is more the recording ends.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::RecordingError;
use crate::writer::{FileWriter, LineWriter, Target};

/// How many lines are handed over at once, so that the thread is not woken for each.
const BATCH: usize = 128;

/// How many batches may wait to be written.
const BATCHES_MAX: usize = 1_024;

/// How long what was handed over may stay in memory.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Records lines.
#[derive(Debug)]
pub struct Recorder<L> {
    batch: Vec<L>,
    writer: Option<Writer<L>>,
    recorded: u64,
    ended: Option<RecordingError>,
}

#[derive(Debug)]
struct Writer<L> {
    batches: SyncSender<Vec<L>>,
    thread: JoinHandle<Result<(), RecordingError>>,
}

impl<L: Send + 'static> Recorder<L> {
    /// Begins a recording.
    ///
    /// # Errors
    /// Its file cannot be made.
    pub fn start<W: LineWriter<Line = L>>(target: Target, lines: W) -> Result<Recorder<L>, RecordingError> {
        let files = FileWriter::create(target, lines)?;
        let (sender, receiver) = sync_channel(BATCHES_MAX);
        let thread = thread::Builder::new().name("recorder".to_owned());
        let thread =
            thread.spawn(move || write(files, &receiver)).map_err(|_| RecordingError::WriterFailed)?;
        let writer = Some(Writer { batches: sender, thread });
        Ok(Recorder { batch: Vec::with_capacity(BATCH), writer, recorded: 0, ended: None })
    }

    /// Whether lines are still taken.
    pub fn is_recording(&self) -> bool {
        self.writer.is_some()
    }

    /// How many lines were handed over.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Takes a line. It never blocks.
    pub fn record(&mut self, line: L) {
        if self.writer.is_none() {
            return;
        }
        self.batch.push(line);
        if self.batch.len() >= BATCH {
            self.hand_over();
        }
    }

    /// Hands over what was taken, without waiting for it to be written.
    pub fn hand_over(&mut self) {
        let Some(writer) = &self.writer else { return };
        if self.batch.is_empty() {
            return;
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        self.recorded += batch.len() as u64;
        match writer.batches.try_send(batch) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.ended = Some(RecordingError::TooSlow { lines: BATCH * BATCHES_MAX });
                // The thread ends by itself when it has written what it has.
                self.writer = None;
            }
            Err(TrySendError::Disconnected(_)) => self.ended = self.writer.take().and_then(Writer::end),
        }
    }

    /// Why the recording has ended, told once.
    pub fn take_trouble(&mut self) -> Option<RecordingError> {
        self.ended.take()
    }

    /// Writes what was taken, and waits until the disk has it. How many lines were recorded.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn finish(mut self) -> Result<u64, RecordingError> {
        if let Some(writer) = &self.writer {
            self.recorded += self.batch.len() as u64;
            // If the thread has ended, it says why below.
            let _ = writer.batches.send(std::mem::take(&mut self.batch));
        }
        let ended = self.writer.take().and_then(Writer::end);
        self.ended.take().or(ended).map_or(Ok(self.recorded), Err)
    }
}

impl<L> Writer<L> {
    /// Waits for the thread, and tells what went wrong.
    fn end(self) -> Option<RecordingError> {
        drop(self.batches);
        self.thread.join().unwrap_or(Err(RecordingError::WriterFailed)).err()
    }
}

/// The thread: writes batches until there are no more.
fn write<W: LineWriter>(
    mut files: FileWriter<W>,
    batches: &Receiver<Vec<W::Line>>,
) -> Result<(), RecordingError> {
    let mut flush_at = Instant::now() + FLUSH_EVERY;
    loop {
        match batches.recv_timeout(flush_at.saturating_duration_since(Instant::now())) {
            Ok(batch) => batch.into_iter().try_for_each(|line| files.add(line))?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return files.finish(),
        }
        if Instant::now() >= flush_at {
            files.flush()?;
            flush_at = Instant::now() + FLUSH_EVERY;
        }
    }
}
