//! Announcements as events of the API, written in the background.
//!
//! Invariant: events never hold up scheduling. While many pods are being bound they wait for a moment; when there are too
//! many, the newest are dropped and counted; what repeats itself becomes a series of one event and not many events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use client::{Answer, Connection, Patch, Resource, identity};
use model::pod::Pod;
use objects::core::event::ObjectReference;
use objects::events::Event;
use objects::{MicroTime, Object};
use rustc_hash::FxHashMap;
use scheduler::engine::Announcement;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep};

use crate::clock::Clock;

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

/// Writes events in the background.
pub(crate) struct Recorder {
    to: Sender<Report>,
    task: JoinHandle<()>,
    dropped: Arc<AtomicU64>,
    /// How many other writes are under way.
    busy: Arc<AtomicUsize>,
}

/// What an event says, before it is one.
struct Report {
    pod: Arc<Pod>,
    reason: &'static str,
    action: &'static str,
    is_warning: bool,
    at: Instant,
    note: String,
    /// Another pod that has to do with it.
    related: Option<Arc<Pod>>,
}

impl Recorder {
    pub(crate) fn start(connection: Connection, clock: Clock) -> Recorder {
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
    pub(crate) fn note_busy(&self, writes: usize) {
        self.busy.store(writes, Ordering::Relaxed);
    }

    /// Has an announcement written, unless too many wait already.
    pub(crate) fn record(&self, announcement: &Announcement) {
        let at = Instant::now();
        let report = match announcement {
            Announcement::Scheduled { pod, node, .. } => Report {
                pod: pod.clone(),
                reason: "Scheduled",
                action: "Binding",
                is_warning: false,
                at,
                note: format!("Successfully assigned {}/{} to {node}", pod.id.namespace, pod.id.name),
                related: None,
            },
            Announcement::FailedScheduling { pod, message, .. } => Report {
                pod: pod.clone(),
                reason: "FailedScheduling",
                action: "Scheduling",
                is_warning: true,
                at,
                note: message.clone(),
                related: None,
            },
            Announcement::Preempted { pod, by, node } => Report {
                pod: pod.clone(),
                reason: "Preempted",
                action: "Preempting",
                is_warning: false,
                at,
                note: format!("Preempted by pod {} on node {node}", by.uid),
                related: Some(by.clone()),
            },
        };
        if self.to.try_send(report).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many were dropped since the last time.
    pub(crate) fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    /// Writes what waits, and ends.
    pub(crate) async fn finish(self, within: Duration) {
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

type Key = (Arc<str>, &'static str, String);

struct Writer {
    connection: Connection,
    clock: Clock,
    instance: String,
    busy: Arc<AtomicUsize>,
    made: u64,
    said: FxHashMap<Key, Said>,
}

impl Writer {
    async fn run(mut self, mut reports: Receiver<Report>) {
        let mut under_way = JoinSet::new();
        while let Some(report) = reports.recv().await {
            while under_way.len() >= UNDER_WAY_MAX {
                under_way.join_next().await;
            }
            while self.busy.load(Ordering::Relaxed) > BUSY_FROM
                && report.at.elapsed() < WAIT_MAX
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
                    let events = Resource::<Event>::named("events").within(&report.pod.id.namespace);
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
        let key = (report.pod.uid.clone(), report.reason, report.note.clone());
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
        let pod = &report.pod;
        let mut event = Event::default();
        event.metadata.namespace = pod.id.namespace.to_string();
        event.metadata.name = format!("{}.{:x}{:04x}", pod.id.name, now.0.micros(), self.made & 0xffff);
        event.regarding = reference(pod);
        event.related = report.related.as_deref().map(reference);
        event.event_time = Some(now);
        event.reason = report.reason.to_owned();
        event.action = report.action.to_owned();
        event.type_ = if report.is_warning { "Warning" } else { "Normal" }.to_owned();
        event.note = shortened(&report.note);
        // Who displaces a pod reports it, not who placed it.
        let reporter = report.related.as_deref().unwrap_or(pod);
        event.reporting_controller = reporter.scheduler.to_string();
        event.reporting_instance = self.instance.clone();
        self.remember(key, &event.metadata.name);
        Some(Writing::First(Box::new(event)))
    }

    fn remember(&mut self, key: Key, name: &str) {
        // What goes well happens once.
        if key.1 == "Scheduled" {
            return;
        }
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

fn reference(pod: &Pod) -> ObjectReference {
    ObjectReference {
        api_version: objects::core::pod::Pod::API_VERSION.to_owned(),
        kind: objects::core::pod::Pod::KIND.to_owned(),
        namespace: pod.id.namespace.to_string(),
        name: pod.id.name.to_string(),
        uid: pod.uid.to_string(),
        ..ObjectReference::default()
    }
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
