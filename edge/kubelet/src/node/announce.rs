//! Events about pods and about the node itself, written in the background.
//!
//! Invariant: events hold nothing up; when too many wait, the newest are dropped.

use std::time::{SystemTime, UNIX_EPOCH};

use client::{Answer, Connection, identity};
use model::timestamp::Timestamp;
use objects::core::event::ObjectReference;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::events::Event;
use objects::meta::ObjectMeta;
use objects::{MicroTime, Object};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::CheckpointError;
use crate::simulated::Complaints;

/// How many events may wait to be written.
const WAITING_MAX: usize = 1024;

/// The longest note that the API takes, in bytes.
const NOTE_BYTES_MAX: usize = 1024;

/// Who reports.
const CONTROLLER: &str = "supercargo-node";

/// What somebody should know about an object.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Concern {
    regarding: ObjectReference,
    reason: &'static str,
    action: &'static str,
    pub(crate) note: String,
}

impl Concern {
    /// The claims of a pod are not ready.
    pub(crate) fn prepare(pod: &Pod, why: &str) -> Self {
        Self {
            regarding: pod_reference(pod),
            reason: "FailedPrepareDynamicResources",
            action: "Preparing",
            note: format!("Failed to prepare dynamic resources: prepare dynamic resources: {why}"),
        }
    }

    /// The claims of a pod cannot be taken back, so that it cannot end.
    pub(crate) fn unprepare(pod: &Pod, why: &str) -> Self {
        Self {
            regarding: pod_reference(pod),
            reason: "FailedUnprepareDynamicResources",
            action: "Unpreparing",
            note: format!("Failed to unprepare dynamic resources: unprepare dynamic resources: {why}"),
        }
    }

    /// The claims of a pod that is gone cannot be taken back.
    pub(crate) fn orphans(node: &Node, uid: &str, why: &str) -> Self {
        Self {
            regarding: node_reference(node),
            reason: "FailedUnprepareDynamicResources",
            action: "Unpreparing",
            note: format!("Failed to unprepare dynamic resources of pod {uid}, which is gone: {why}"),
        }
    }

    /// A plugin was not registered.
    pub(crate) fn rejection(node: &Node, why: &str) -> Self {
        Self {
            regarding: node_reference(node),
            reason: "FailedPluginRegistration",
            action: "Registering",
            note: why.to_owned(),
        }
    }

    /// What the node kept is damaged.
    pub(crate) fn checkpoint(node: &Node, error: &CheckpointError) -> Self {
        Self {
            regarding: node_reference(node),
            reason: "DamagedCheckpoint",
            action: "Starting",
            note: error.to_string(),
        }
    }

    fn event(&self, now: Timestamp, instance: &str) -> Event {
        let namespace = match self.regarding.namespace.as_str() {
            "" => "default",
            namespace => namespace,
        };
        let name = format!("{}.{:x}", self.regarding.name, now.micros());
        let metadata = ObjectMeta { name, namespace: namespace.to_owned(), ..ObjectMeta::default() };
        Event {
            metadata,
            regarding: self.regarding.clone(),
            reason: self.reason.to_owned(),
            action: self.action.to_owned(),
            note: shortened(&self.note),
            type_: "Warning".to_owned(),
            event_time: Some(MicroTime(now)),
            reporting_controller: CONTROLLER.to_owned(),
            reporting_instance: instance.to_owned(),
            ..Event::default()
        }
    }
}

fn pod_reference(pod: &Pod) -> ObjectReference {
    ObjectReference {
        api_version: Pod::API_VERSION.to_owned(),
        kind: Pod::KIND.to_owned(),
        name: pod.metadata.name.clone(),
        namespace: pod.metadata.namespace.clone(),
        uid: pod.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

fn node_reference(node: &Node) -> ObjectReference {
    ObjectReference {
        api_version: Node::API_VERSION.to_owned(),
        kind: Node::KIND.to_owned(),
        name: node.metadata.name.clone(),
        uid: node.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// A note that the API takes. What to do stands at the end, so the middle goes.
fn shortened(note: &str) -> String {
    if note.len() <= NOTE_BYTES_MAX {
        return note.to_owned();
    }
    let (head, tail) = (NOTE_BYTES_MAX * 2 / 3, NOTE_BYTES_MAX / 4);
    let head = (0..=head).rev().find(|at| note.is_char_boundary(*at)).unwrap_or(0);
    let tail = (note.len() - tail..note.len()).find(|at| note.is_char_boundary(*at)).unwrap_or(note.len());
    format!("{} … {}", &note[..head], &note[tail..])
}

/// Writes events in the background. Clones share the queue.
#[derive(Clone)]
pub(crate) struct Announcer {
    to: Sender<Concern>,
    writer: Writer,
}

#[derive(Clone)]
struct Writer {
    connection: Connection,
    instance: String,
    complaints: Complaints,
}

impl Announcer {
    pub(crate) fn start(connection: Connection, node: &str, complaints: Complaints) -> Self {
        let (to, waiting) = channel(WAITING_MAX);
        let writer = Writer { connection, instance: format!("{node}-{}", identity()), complaints };
        tokio::spawn(writer.clone().run(waiting));
        Self { to, writer }
    }

    /// Has it written when its turn comes, unless too many wait already.
    pub(crate) fn say(&self, concern: Concern) {
        tracing::warn!(reason = concern.reason, object = concern.regarding.name, "{}", concern.note);
        let _ = self.to.try_send(concern);
    }

    /// Writes it before anything else happens.
    pub(crate) async fn say_now(&self, concern: &Concern) {
        self.writer.write(concern).await;
    }
}

impl Writer {
    async fn run(self, mut waiting: Receiver<Concern>) {
        while let Some(concern) = waiting.recv().await {
            self.write(&concern).await;
        }
    }

    async fn write(&self, concern: &Concern) {
        let event = concern.event(now(), &shortened_instance(&self.instance));
        match self.connection.announce(&event).await {
            Answer::Done(()) => {}
            answer => (self.complaints)(&answer.trouble().unwrap_or_default()),
        }
    }
}

/// The API takes at most 128 bytes.
fn shortened_instance(instance: &str) -> String {
    instance.chars().filter(char::is_ascii).take(128).collect()
}

/// The time, as the API has it.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_that_is_too_long_keeps_its_beginning_and_what_to_do() {
        let note = format!("driver gpu: {}; hint: restart it", "ü".repeat(2000));
        let short = shortened(&note);
        assert!(short.len() <= NOTE_BYTES_MAX, "{}", short.len());
        assert!(short.starts_with("driver gpu: ") && short.ends_with("; hint: restart it"));
    }

    #[test]
    fn an_event_about_a_node_is_in_the_default_namespace() {
        let node: Node =
            serde_json::from_value(serde_json::json!({ "metadata": { "name": "n", "uid": "u" } }))
                .expect("a node");
        let event = Concern::rejection(&node, "no").event(now(), "i");
        assert_eq!((&*event.metadata.namespace, &*event.regarding.uid), ("default", "u"));
    }
}
