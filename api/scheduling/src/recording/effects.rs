//! What an engine did, as it is recorded: enough of each effect to compare it, and to say it to people.

use std::fmt::{self, Write as _};

use model::allocation::Allocation;
use model::identity::NodeName;
use model::pod::Pod;
use model::timestamp::Timestamp;
use scheduler::engine::{Announcement, ConsiderationId, Effect};
use scheduler::write::{About, Consumer, GroupState, Write, WriteId};
use serde::{Deserialize, Serialize};

/// What an engine did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RecordedEffect {
    /// It wanted something written.
    Write {
        /// Which write it is.
        id: u64,
        /// The object.
        object: String,
        /// What is to be done with it.
        what: String,
        /// A digest of all that it says.
        digest: u64,
    },
    /// It found no node for a pod.
    Refused {
        /// The pod.
        object: String,
        /// Why.
        what: String,
    },
    /// It asked for something to be considered.
    Consider {
        /// Which question it is.
        id: u64,
        /// What is asked.
        what: String,
    },
    /// It told people something else.
    Told(String),
    /// It wants to be woken at this time, in microseconds.
    Wake(i64),
}

/// What is kept of an effect until it is recorded: keeping it is cheap, and the thread that writes the recording turns it into text.
#[derive(Clone, Debug)]
pub enum KeptEffect {
    /// See [`Effect::Submit`].
    Submit(WriteId, Write),
    /// See [`Effect::Consider`]; what is asked, in words.
    Consider(ConsiderationId, String),
    /// See [`Effect::Announce`].
    Announce(Announcement),
    /// See [`Effect::WakeAt`].
    WakeAt(Timestamp),
}

impl From<&Effect> for KeptEffect {
    fn from(effect: &Effect) -> KeptEffect {
        match effect {
            Effect::Submit(id, write) => KeptEffect::Submit(*id, write.clone()),
            Effect::Consider(id, consideration) => KeptEffect::Consider(*id, format!("{consideration:?}")),
            Effect::Announce(announcement) => KeptEffect::Announce(announcement.clone()),
            Effect::WakeAt(time) => KeptEffect::WakeAt(*time),
        }
    }
}

impl RecordedEffect {
    /// An effect as it is recorded.
    #[must_use]
    pub fn of(effect: KeptEffect) -> RecordedEffect {
        match effect {
            KeptEffect::Submit(WriteId(id), write) => {
                let (object, what) = (object(&write.about()), what(&write));
                RecordedEffect::Write { id, object, what, digest: digest(&write) }
            }
            KeptEffect::Consider(ConsiderationId(id), what) => RecordedEffect::Consider { id, what },
            KeptEffect::Announce(Announcement::FailedScheduling { pod, message, .. }) => {
                RecordedEffect::Refused { object: named(&pod), what: message }
            }
            KeptEffect::Announce(announcement) => RecordedEffect::Told(told(&announcement)),
            KeptEffect::WakeAt(time) => RecordedEffect::Wake(time.micros()),
        }
    }

    /// Whether it is a decision about an object: a write, or that there is no node.
    #[must_use]
    pub fn is_decision(&self) -> bool {
        matches!(self, RecordedEffect::Write { .. } | RecordedEffect::Refused { .. })
    }

    /// The object that is decided about, and what.
    #[must_use]
    pub fn decision(&self) -> Option<(&str, &str)> {
        match self {
            RecordedEffect::Write { object, what, .. } | RecordedEffect::Refused { object, what } => {
                Some((object, what))
            }
            RecordedEffect::Consider { .. } | RecordedEffect::Told(_) | RecordedEffect::Wake(_) => None,
        }
    }

    /// Whether two effects are the same, whatever their numbers are. What is exact includes all that a write says.
    #[must_use]
    pub(crate) fn is_same(&self, other: &RecordedEffect, exact: bool) -> bool {
        use RecordedEffect::{Consider, Write};
        match (self, other) {
            (
                Write { object, what, digest, .. },
                Write { object: object2, what: what2, digest: digest2, .. },
            ) => (object, what) == (object2, what2) && (!exact || digest == digest2),
            (Consider { what, .. }, Consider { what: what2, .. }) => what == what2,
            (one, other) => one == other,
        }
    }
}

/// A pod as people name it.
fn named(pod: &Pod) -> String {
    format!("pod {}/{}", pod.id.namespace, pod.id.name)
}

/// An object as people name it.
fn object(about: &About<'_>) -> String {
    match about {
        About::Claim(id) => format!("claim {id}"),
        About::Pod { id, .. } => format!("pod {}/{}", id.namespace, id.name),
        About::Context { id, .. } => format!("scheduling context {}/{}", id.namespace, id.name),
        About::Group(id) => format!("pod group {id}"),
        About::Volume(name) => format!("persistent volume {name}"),
        About::VolumeClaim(id) => format!("persistent volume claim {id}"),
    }
}

/// What is to be done with the object of a write.
fn what(write: &Write) -> String {
    let node_or =
        |node: &Option<NodeName>, none: &str| node.as_ref().map_or(none.to_owned(), ToString::to_string);
    match write {
        Write::Allocate { allocation, consumers, .. } => {
            format!("allocate {} for {}", devices(allocation), users(consumers))
        }
        Write::Reserve { consumers, .. } => format!("reserve for {}", users(consumers)),
        Write::Release { consumers, .. } => format!("release from {}", users(consumers)),
        Write::Deallocate { .. } => "deallocate".to_owned(),
        Write::MakeClaim { allocation, .. } => format!("create a claim with {}", devices(allocation)),
        Write::DeleteClaim { .. } | Write::EndNegotiation { .. } => "delete".to_owned(),
        Write::Negotiate { selected, potential, .. } => {
            let selected = node_or(selected, "no node");
            format!("ask drivers about {} nodes, {selected} selected", potential.len())
        }
        Write::BindVolume { claim, .. } => format!("bind to claim {claim}"),
        Write::SelectNode { node, .. } => format!("provision for node {node}"),
        Write::Bind { node, .. } => format!("bind to node {node}"),
        Write::NoteResources { claims, .. } => format!("note resources of {} claims", claims.len()),
        Write::Note { message, .. } => format!("note: {message}"),
        Write::Evict { by, .. } => format!("evict for a {}", by.name()),
        Write::Nominate { node, .. } => format!("nominate {}", node_or(node, "no node")),
        Write::NoteGroup { state: GroupState::Placed, .. } => "note: placed".to_owned(),
        Write::NoteGroup { state: GroupState::Waiting { message, .. }, .. } => format!("note: {message}"),
    }
}

fn devices(allocation: &Allocation) -> String {
    let mut text = String::new();
    for grant in &allocation.grants {
        let comma = if text.is_empty() { "" } else { ", " };
        write!(text, "{comma}{}", grant.device).expect("a string takes all");
    }
    text
}

fn users(consumers: &[Consumer]) -> String {
    let name = |consumer: &Consumer| match &consumer.group {
        Some(group) => format!("pod group {:?}", group.name),
        None => format!("pod {}", consumer.name),
    };
    consumers.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn told(announcement: &Announcement) -> String {
    match announcement {
        Announcement::Scheduled { pod, node, tries } => {
            format!("{} has node {node} after {} attempts", named(pod), tries.attempts)
        }
        Announcement::FailedScheduling { pod, message, .. } => format!("{}: {message}", named(pod)),
        Announcement::DevicesPending { pod, node, message } => {
            format!("{} on node {node}: {message}", named(pod))
        }
        Announcement::DevicesDone { pod, outcome, waited_ms, .. } => {
            format!("{}: devices: {} after {waited_ms} ms", named(pod), outcome.name())
        }
        Announcement::Negotiating { pod, wait } => format!("{}: {wait}", named(pod)),
        Announcement::Preempted { pod, by, node, .. } => {
            format!("{} is preempted by {} on {node}", named(pod), named(by))
        }
        Announcement::Released { pod, message } | Announcement::GroupIgnored { pod, message } => {
            format!("{}: {message}", named(pod))
        }
        Announcement::Gang(news) => format!("pod group {}: {}", news.group, news.outcome),
    }
}

/// A digest of all that a write says, the same on every machine: FNV-1a.
fn digest(write: &Write) -> u64 {
    struct Digested(u64);
    impl fmt::Write for Digested {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            self.0 = text.bytes().fold(self.0, step);
            Ok(())
        }
    }
    let mut digested = Digested(0xcbf2_9ce4_8422_2325);
    write!(digested, "{write:?}").expect("a digest takes all");
    digested.0
}
