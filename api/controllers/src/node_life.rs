//! Nodes that are silent: one that gave no sign of life for too long is said to be unknown.
//!
//! A sign of life is a lease that was renewed, or a status that was reported again. What counts is when *we* heard it, by
//! our own clock, since clocks of nodes may be wrong. And who has not listened has not heard: after a gap of our own every
//! node has its full time again, and so it has, once, when all are silent at the same moment, since then it may be us.
//!
//! Invariant: no node is given up for silence unless somebody listened all that time.

use std::time::Duration;

use model::timestamp::Timestamp;
use objects::coordination::Lease;
use objects::core::node::{Node, NodeCondition};
use objects::core::pod::Pod;
use objects::{MicroTime, Time};
use serde_json::{Value, json};

/// How long a node may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// One that has said how it is.
    pub silent: Duration,
    /// One that has said nothing yet.
    pub starting: Duration,
}

impl Default for Grace {
    fn default() -> Self {
        Self { silent: Duration::from_secs(50), starting: Duration::from_secs(60) }
    }
}

impl Grace {
    /// Whether a sign of life is new enough that there should be no newer one. Nodes give several in their time of grace,
    /// each at another moment, so that half of that time tells.
    pub fn is_heard(&self, last: Timestamp, now: Timestamp) -> bool {
        now < last.plus(self.silent / 2)
    }
}

/// The last sign of life of a node, and when it was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulse {
    renewed: Option<MicroTime>,
    reported: Option<Time>,
    /// When it was heard.
    pub heard: Timestamp,
}

impl Pulse {
    /// A node that is heard of for the first time.
    pub fn new(node: &Node, lease: Option<&Lease>, now: Timestamp) -> Self {
        Self { renewed: renewed(lease), reported: reported(node), heard: now }
    }

    /// Listens to a node. Says whether it gave a sign of life.
    pub fn listen(&mut self, node: &Node, lease: Option<&Lease>, now: Timestamp) -> bool {
        let (renewed, reported) = (renewed(lease).or(self.renewed), reported(node));
        // A time that differs is news, whatever the node's clock says.
        let is_sign = renewed != self.renewed || reported != self.reported;
        if is_sign {
            *self = Self { renewed, reported, heard: now };
        }
        is_sign
    }
}

fn renewed(lease: Option<&Lease>) -> Option<MicroTime> {
    lease.and_then(|lease| lease.spec.renew_time)
}

fn reported(node: &Node) -> Option<Time> {
    ready(node).and_then(|ready| ready.last_heartbeat_time)
}

/// What a decision about a node is made from.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The node.
    pub node: &'a Node,
    /// When it was last heard.
    pub heard: Timestamp,
    /// When any node was last heard.
    pub any_heard: Timestamp,
    /// Since when we listen without a break.
    pub listening: Timestamp,
    /// How long it may be silent.
    pub grace: Grace,
}

/// What to do about a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeAction {
    /// Nothing, until something is heard.
    Leave,
    /// Look again then.
    Wait(Timestamp),
    /// It is lost. If its lease has not been renewed after all, it is to say so.
    GiveUp(Vec<NodeCondition>),
}

/// Decides about a node.
pub fn decide(view: &View<'_>, now: Timestamp) -> NodeAction {
    let Grace { silent, starting } = view.grace;
    let grace = if ready(view.node).is_some() { silent } else { starting };
    let deadline = view.heard.max(view.listening).plus(grace);
    if now < deadline {
        return NodeAction::Wait(deadline);
    }
    let conditions = unknown(view.node, now);
    if conditions.is_empty() {
        return NodeAction::Leave;
    }
    // If nobody is heard, it is more likely us than all of them, and all have their time once more.
    let last = view.any_heard.max(view.listening);
    let deadline = last.plus(silent * 2);
    if !view.grace.is_heard(last, now) && now < deadline {
        return NodeAction::Wait(deadline);
    }
    NodeAction::GiveUp(conditions)
}

/// What a node says of itself that nobody can know any more. Whether its network is there is said by others.
const OWN: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// The conditions of a lost node that have to change.
fn unknown(node: &Node, now: Timestamp) -> Vec<NodeCondition> {
    let conditions = &node.status.conditions;
    let changed = OWN.into_iter().filter_map(|name| {
        let known = conditions.iter().find(|condition| condition.type_ == name);
        let (reason, message) = match known {
            Some(known) if known.status == "Unknown" => return None,
            Some(_) => ("NodeStatusUnknown", "the node stopped reporting its status"),
            None => ("NodeStatusNeverUpdated", "the node never reported its status"),
        };
        let heartbeat = known.map_or(node.metadata.creation_timestamp, |known| known.last_heartbeat_time);
        Some(NodeCondition {
            last_heartbeat_time: heartbeat,
            last_transition_time: Some(Time(now.to_seconds())),
            message: message.to_owned(),
            reason: reason.to_owned(),
            status: "Unknown".to_owned(),
            type_: name.to_owned(),
            ..NodeCondition::default()
        })
    });
    changed.collect()
}

/// What a node says of being ready.
pub(crate) fn ready(node: &Node) -> Option<&NodeCondition> {
    node.status.conditions.iter().find(|condition| condition.type_ == "Ready")
}

/// Whether a node says that it is ready.
pub fn is_ready(node: &Node) -> bool {
    ready(node).is_some_and(|ready| ready.status == "True")
}

/// A patch that takes back that a pod is ready, if it says so and its node is not.
pub fn unready(pod: &Pod, node: &Node, now: Timestamp) -> Option<Value> {
    if ready(node).is_none() || is_ready(node) {
        return None;
    }
    let mut conditions = pod.status.conditions.iter();
    conditions.find(|condition| condition.type_ == "Ready" && condition.status == "True")?;
    let condition = json!({
        "type": "Ready", "status": "False", "reason": "NodeNotReady", "message": "the pod's node is not ready",
        "lastTransitionTime": now.to_string(),
    });
    Some(json!({ "metadata": { "uid": pod.metadata.uid }, "status": { "conditions": [condition] } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn node(conditions: &[(&str, &str)]) -> Node {
        let conditions = conditions.iter().map(|(name, status)| {
            json!({ "type": name, "status": status, "lastHeartbeatTime": "2026-01-02T03:04:05Z" })
        });
        let status = json!({ "conditions": conditions.collect::<Vec<_>>() });
        let metadata = json!({ "name": "n", "creationTimestamp": "2026-01-01T00:00:00Z" });
        serde_json::from_value(json!({ "metadata": metadata, "status": status })).expect("a node")
    }

    fn lease(renewed: &str) -> Lease {
        serde_json::from_value(json!({ "spec": { "renewTime": renewed } })).expect("a lease")
    }

    const GRACE: Grace = Grace { silent: Duration::from_secs(50), starting: Duration::from_secs(60) };

    /// What to do about a node that was heard, as any was, at a time, by somebody who listens since another.
    fn decided(node: &Node, heard: i64, any_heard: i64, listening: i64, now: i64) -> NodeAction {
        let (heard, any_heard, listening) = (at(heard), at(any_heard), at(listening));
        decide(&View { node, heard, any_heard, listening, grace: GRACE }, at(now))
    }

    #[test]
    fn a_node_is_given_up_when_it_was_silent_for_all_the_time_that_we_listened() {
        let ready = node(&[("Ready", "True")]);
        assert_eq!(decided(&ready, 100, 149, 0, 149), NodeAction::Wait(at(150)));
        let NodeAction::GiveUp(conditions) = decided(&ready, 100, 149, 0, 150) else {
            panic!("it is silent")
        };
        let said: Vec<_> = conditions.iter().map(|one| (&*one.type_, &*one.status, &*one.reason)).collect();
        let never = |name| (name, "Unknown", "NodeStatusNeverUpdated");
        let expected = [
            ("Ready", "Unknown", "NodeStatusUnknown"),
            never("MemoryPressure"),
            never("DiskPressure"),
            never("PIDPressure"),
        ];
        assert_eq!(said, expected);
        assert_eq!(
            decided(&ready, 100, 149, 120, 150),
            NodeAction::Wait(at(170)),
            "we listen since a moment ago"
        );
    }

    #[test]
    fn a_node_that_said_nothing_yet_has_more_time() {
        assert_eq!(decided(&node(&[]), 100, 155, 0, 155), NodeAction::Wait(at(160)));
        assert!(matches!(decided(&node(&[]), 100, 155, 0, 160), NodeAction::GiveUp(_)));
    }

    #[test]
    fn what_is_unknown_already_is_left_alone() {
        let gone = OWN.map(|name| (name, "Unknown"));
        assert_eq!(decided(&node(&gone), 100, 149, 0, 300), NodeAction::Leave);
    }

    #[test]
    fn when_all_are_silent_we_listen_for_as_long_again() {
        let ready = node(&[("Ready", "True")]);
        assert_eq!(decided(&ready, 100, 100, 0, 150), NodeAction::Wait(at(200)));
        let spread = "nodes are not heard at the same moment";
        assert_eq!(decided(&ready, 100, 109, 0, 150), NodeAction::Wait(at(209)), "{spread}");
        assert_eq!(decided(&ready, 100, 126, 0, 150), given_up(&ready, 150), "another was heard since then");
        assert_eq!(decided(&ready, 100, 100, 0, 200), given_up(&ready, 200));
        assert_eq!(decided(&ready, 100, 100, 120, 200), NodeAction::Wait(at(220)), "we were deaf in between");
    }

    fn given_up(node: &Node, now: i64) -> NodeAction {
        NodeAction::GiveUp(unknown(node, at(now)))
    }

    #[test]
    fn signs_of_life_are_what_changes_whatever_the_nodes_clock_says() {
        let (mut node, future) = (node(&[("Ready", "True")]), lease("2099-01-01T00:00:00.000000Z"));
        let mut pulse = Pulse::new(&node, Some(&future), at(0));
        assert!(!pulse.listen(&node, Some(&future), at(10)));
        assert_eq!(pulse.heard, at(0));
        let past = lease("1999-01-01T00:00:00.000000Z");
        assert!(pulse.listen(&node, Some(&past), at(20)));
        assert!(!pulse.listen(&node, None, at(30)), "a lease that is gone is no sign");
        assert!(!pulse.listen(&node, Some(&past), at(40)), "nor is the same lease again");
        node.metadata.labels.insert("a".to_owned(), "b".to_owned());
        assert!(!pulse.listen(&node, Some(&past), at(50)), "others may change it");
        node.status.conditions[0].last_heartbeat_time = Some(Time(at(50)));
        assert!(pulse.listen(&node, Some(&past), at(50)));
        assert_eq!(pulse.heard, at(50));
    }

    #[test]
    fn a_pod_is_not_ready_if_its_node_is_not() {
        let pod = |ready: &str| {
            let status = json!({ "conditions": [{ "type": "Ready", "status": ready }] });
            serde_json::from_value::<Pod>(json!({ "metadata": { "uid": "u" }, "status": status }))
                .expect("a pod")
        };
        let table = [
            ("True", node(&[("Ready", "Unknown")]), true),
            ("True", node(&[("Ready", "False")]), true),
            ("True", node(&[("Ready", "True")]), false),
            ("True", node(&[]), false),
            ("False", node(&[("Ready", "Unknown")]), false),
        ];
        for (ready, node, expected) in table {
            assert_eq!(unready(&pod(ready), &node, at(0)).is_some(), expected, "{ready} on {node:?}");
        }
    }
}
