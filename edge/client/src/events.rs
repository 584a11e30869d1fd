//! Events of the API, written in the background.
//!
//! Invariant: events never hold up other work. While many other writes are under way they wait for a moment; when there are
//! too many, the newest are dropped and counted; what repeats itself becomes a series of one event and not many events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use objects::core::event::ObjectReference;
use objects::events::Event;
use objects::{MicroTime, Object};
use rustc_hash::FxHashMap;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep};

use crate::answer::Answer;
use crate::clock::Clock;
use crate::connection::Connection;
use crate::lease::identity;
use crate::resource::Resource;
use crate::write::Patch;

/// How many events may wait to be written.
const WAITING_MAX: usize = 16_384;

/// How many events are written at the same time; pods come before events.
const UNDER_WAY_MAX: usize = 4;

/// While more writes than this are under way, events wait.
const BUSY_FROM: usize = 16;

/// For how long an event waits at most while there are more important things to write.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// How often it is looked whether there still are.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How many events are remembered, to recognise repetitions.
const REMEMBERED_MAX: usize = 4096;

/// A series that goes on is written again after this time at the earliest, as Kubernetes does.
const SERIES_EVERY: Duration = Duration::from_secs(360);

/// The longest note that the API takes, in bytes.
const NOTE_BYTES_MAX: usize = 1024;

/// Has events written in the background.
#[derive(Debug)]
pub struct Recorder {
    to: Sender<Waiting>,
    task: JoinHandle<()>,
    dropped: Arc<AtomicU64>,
    /// How many other writes are under way.
    busy: Arc<AtomicUsize>,
}

/// What an event says.
#[derive(Clone, Debug)]
pub struct Report {
    /// Who says it.
    pub controller: String,
    /// What it is about.
    pub regarding: ObjectReference,
    /// Another object that has to do with it.
    pub related: Option<ObjectReference>,
    /// Why, in one word.
    pub reason: &'static str,
    /// What was done or was to be done, in one word.
    pub action: &'static str,
    /// Somebody should look at it.
    pub is_warning: bool,
    /// The same will not be said again, so that nobody has to remember it.
    pub is_once: bool,
    /// What happened, for people.
    pub note: String,
}

/// A report since when it waits.
#[derive(Debug)]
struct Waiting {
    report: Report,
    since: Instant,
}

/// What an event says of an object.
pub fn reference<K: Object>(object: &K) -> ObjectReference {
    let metadata = object.metadata();
    ObjectReference {
        api_version: K::API_VERSION.to_owned(),
        kind: K::KIND.to_owned(),
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

impl Recorder {
    /// Starts to write.
    pub fn start(connection: Connection, clock: Clock) -> Recorder {
        let (to, reports) = channel(WAITING_MAX);
        let busy = Arc::new(AtomicUsize::new(0));
        let writer = Writer {
            connection,
            clock,
            // Events of one process are told from those of others by the instance.
            instance: identity(),
            busy: busy.clone(),
            made: 0,
            said: FxHashMap::default(),
        };
        Recorder { to, task: tokio::spawn(writer.run(reports)), dropped: Arc::default(), busy }
    }

    /// Says how many other writes are under way.
    pub fn note_busy(&self, writes: usize) {
        self.busy.store(writes, Ordering::Relaxed);
    }

    /// Has a report written, unless too many wait already.
    pub fn record(&self, report: Report) {
        if self.to.try_send(Waiting { report, since: Instant::now() }).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many were dropped since the last time.
    pub fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    /// Writes what waits, and ends.
    pub async fn finish(self, within: Duration) {
        self.note_busy(0);
        drop(self.to);
        // Whoever stops does not wait for ever for events.
        let _ = tokio::time::timeout(within, self.task).await;
    }
}

/// An event that was written.
struct Said {
    name: String,
    count: i32,
    written: Instant,
}

type Key = (String, &'static str, String);

struct Writer {
    connection: Connection,
    clock: Clock,
    instance: String,
    busy: Arc<AtomicUsize>,
    made: u64,
    said: FxHashMap<Key, Said>,
}

impl Writer {
    async fn run(mut self, mut reports: Receiver<Waiting>) {
        let mut under_way = JoinSet::new();
        while let Some(Waiting { report, since }) = reports.recv().await {
            while under_way.len() >= UNDER_WAY_MAX {
                under_way.join_next().await;
            }
            while self.busy.load(Ordering::Relaxed) > BUSY_FROM
                && since.elapsed() < WAIT_MAX
                && reports.len() < WAITING_MAX / 2
            {
                sleep(LOOK_EVERY).await;
            }
            let connection = self.connection.clone();
            match self.event(&report) {
                Some(Writing::First(event)) => under_way.spawn(async move {
                    // An event that cannot be written is not worth a second try; pods wait.
                    drop(connection.announce(&event).await);
                }),
                Some(Writing::Series(name, body)) => under_way.spawn(async move {
                    let events = Resource::<Event>::named("events").within(home(&report.regarding));
                    let _: Answer<Event> = connection.patch(&events, &name, &Patch::Merge, &body).await;
                }),
                None => continue,
            };
        }
        while under_way.join_next().await.is_some() {}
    }

    /// What is to be written for a report, if anything.
    fn event(&mut self, report: &Report) -> Option<Writing> {
        let now = MicroTime(self.clock.now());
        let key = (report.regarding.uid.clone(), report.reason, report.note.clone());
        if let Some(said) = self.said.get_mut(&key) {
            said.count += 1;
            let is_second = said.count == 2;
            if !is_second && said.written.elapsed() < SERIES_EVERY {
                return None;
            }
            said.written = Instant::now();
            let body = json!({ "series": { "count": said.count, "lastObservedTime": now } });
            return Some(Writing::Series(said.name.clone(), body));
        }
        self.made += 1;
        let regarding = &report.regarding;
        let mut event = Event::default();
        event.metadata.namespace = home(regarding).to_owned();
        event.metadata.name = format!("{}.{:x}{:04x}", regarding.name, now.0.micros(), self.made & 0xffff);
        event.regarding = regarding.clone();
        event.related = report.related.clone();
        event.event_time = Some(now);
        event.reason = report.reason.to_owned();
        event.action = report.action.to_owned();
        event.type_ = if report.is_warning { "Warning" } else { "Normal" }.to_owned();
        event.note = shortened(&report.note);
        event.reporting_controller = report.controller.clone();
        event.reporting_instance = self.instance.clone();
        if !report.is_once {
            self.remember(key, &event.metadata.name);
        }
        Some(Writing::First(Box::new(event)))
    }

    fn remember(&mut self, key: Key, name: &str) {
        if self.said.len() >= REMEMBERED_MAX {
            self.said.retain(|_, said| said.written.elapsed() < SERIES_EVERY);
        }
        if self.said.len() >= REMEMBERED_MAX {
            self.said.clear();
        }
        self.said.insert(key, Said { name: name.to_owned(), count: 1, written: Instant::now() });
    }
}

enum Writing {
    First(Box<Event>),
    Series(String, serde_json::Value),
}

/// The namespace of an event: what has none itself is reported where everybody looks first.
fn home(regarding: &ObjectReference) -> &str {
    if regarding.namespace.is_empty() { "default" } else { &regarding.namespace }
}

/// A note that the API takes.
fn shortened(note: &str) -> String {
    if note.len() <= NOTE_BYTES_MAX {
        return note.to_owned();
    }
    let end = (0..=NOTE_BYTES_MAX - 4).rev().find(|at| note.is_char_boundary(*at)).unwrap_or(0);
    format!("{} ...", &note[..end])
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_note_that_is_too_long_is_cut_between_characters() {
        let long = "ä".repeat(600);
        let short = shortened(&long);
        assert!(short.len() <= 1024 && short.ends_with("ä ..."), "{short}");
        assert_eq!(shortened("short"), "short");
    }
}
