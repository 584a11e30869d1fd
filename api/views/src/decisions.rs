//! What was decided, the newest last: pods that got a node or did not, claims that got devices or gave them back, evictions.
//!
//! Invariant: numbers grow with every decision and are never used twice, and there are never more than [`KEPT_MAX`].

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use model::identity::NodeName;
use model::timestamp::Timestamp;
use serde_json::{Map, Value, json};

/// How many decisions are kept; the oldest go.
pub const KEPT_MAX: usize = 2_000;

/// How many devices of a decision are named.
const DEVICES_MAX: usize = 16;

/// A decision.
#[derive(Clone, PartialEq, Debug)]
pub struct Decision {
    /// When it was seen.
    pub at: Timestamp,
    /// What was decided.
    pub what: Decided,
    /// The kind of the object.
    pub kind: &'static str,
    /// The namespace of the object.
    pub namespace: Arc<str>,
    /// The name of the object.
    pub name: Arc<str>,
    /// The node that it is about.
    pub node: Option<NodeName>,
    /// The devices that it is about.
    pub devices: Vec<String>,
    /// Why, as the object says it.
    pub message: Option<Arc<str>>,
    /// How long the object had waited.
    pub waited_ms: Option<i64>,
}

/// What was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decided {
    /// A pod has a node.
    Scheduled,
    /// A pod has none, and says why.
    Unschedulable,
    /// A pod is evicted, such as for one of higher priority.
    Evicted,
    /// A claim has devices.
    Allocated,
    /// A claim has its devices no more.
    Deallocated,
}

impl fmt::Display for Decided {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Decided::Scheduled => "Scheduled",
            Decided::Unschedulable => "Unschedulable",
            Decided::Evicted => "Evicted",
            Decided::Allocated => "Allocated",
            Decided::Deallocated => "Deallocated",
        })
    }
}

/// Decisions in the order in which they were seen.
#[derive(Debug, Default)]
pub struct Decisions {
    kept: VecDeque<Decision>,
    /// The number of the first that is kept.
    first: u64,
}

impl Decisions {
    /// Adds one.
    pub fn push(&mut self, decision: Decision) {
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
            self.first += 1;
        }
        self.kept.push_back(decision);
    }

    /// Puts them in the order of their times: what was there at the beginning is told by kind.
    pub fn sort(&mut self) {
        self.kept.make_contiguous().sort_by_key(|one| one.at);
    }

    /// The number of the next one.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Those from a number on, at most so many, the newest of them.
    #[must_use]
    pub fn since(&self, number: u64, most: usize) -> Vec<Value> {
        let from = number.max(self.next().saturating_sub(most as u64)).max(self.first);
        let skipped = usize::try_from(from - self.first).unwrap_or(usize::MAX);
        (from..).zip(self.kept.iter().skip(skipped)).map(|(number, one)| one.document(number)).collect()
    }

    /// Those that are about an object, the oldest first.
    #[must_use]
    pub fn about(&self, kind: &str, namespace: &str, name: &str) -> Vec<Value> {
        let is_it = |one: &&Decision| one.kind == kind && *one.namespace == *namespace && *one.name == *name;
        (self.first..)
            .zip(&self.kept)
            .filter(|(_, one)| is_it(one))
            .map(|(number, one)| one.document(number))
            .collect()
    }

    /// Those that name a device, the oldest first.
    #[must_use]
    pub fn about_device(&self, device: &str) -> Vec<Value> {
        let names = |one: &Decision| one.devices.iter().any(|named| named == device);
        (self.first..)
            .zip(&self.kept)
            .filter(|(_, one)| names(one))
            .map(|(number, one)| one.document(number))
            .collect()
    }

    /// How long pods had waited that got a node since a number, in milliseconds.
    #[must_use]
    pub fn waits_since(&self, number: u64) -> Vec<i64> {
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let placed = self.kept.iter().skip(skipped).filter(|one| one.what == Decided::Scheduled);
        placed.filter_map(|one| one.waited_ms).collect()
    }
}

impl Decision {
    fn document(&self, number: u64) -> Value {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        put("number", json!(number));
        put("time", json!(self.at.with_micros().to_string()));
        put("decision", json!(self.what.to_string()));
        put("kind", json!(self.kind));
        put("namespace", json!(*self.namespace));
        put("name", json!(*self.name));
        if let Some(node) = &self.node {
            put("node", json!(**node));
        }
        if !self.devices.is_empty() {
            put("devices", json!(self.devices.iter().take(DEVICES_MAX).collect::<Vec<_>>()));
            put("deviceCount", json!(self.devices.len()));
        }
        if let Some(message) = &self.message {
            put("message", json!(**message));
        }
        if let Some(waited) = self.waited_ms {
            put("waitedMilliseconds", json!(waited));
        }
        Value::Object(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(name: usize) -> Decision {
        Decision {
            at: Timestamp::from_micros(name as i64),
            what: Decided::Scheduled,
            kind: "Pod",
            namespace: "default".into(),
            name: format!("p-{name}").into(),
            node: Some("node-1".into()),
            devices: Vec::new(),
            message: None,
            waited_ms: Some(3),
        }
    }

    #[test]
    fn the_newest_decisions_are_kept_with_their_numbers() {
        let mut decisions = Decisions::default();
        (0..KEPT_MAX + 5).for_each(|name| decisions.push(decision(name)));
        assert_eq!(decisions.next(), KEPT_MAX as u64 + 5);
        assert_eq!(decisions.since(0, usize::MAX).len(), KEPT_MAX);
        let last = decisions.since(0, 2);
        assert_eq!((last[0]["number"].as_u64(), last[0]["name"].as_str()), (Some(2003), Some("p-2003")));
        assert_eq!(decisions.since(2004, 10).len(), 1);
        assert_eq!(decisions.about("Pod", "default", "p-7").len(), 1);
        assert!(decisions.about("Pod", "default", "p-1").is_empty(), "it is too old");
        assert_eq!(decisions.waits_since(2003), [3, 3]);
    }
}
