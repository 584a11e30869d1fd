//! Pods that nobody will end any more: their node is gone, they never had one, or too many have ended.
//!
//! A pod that goes this way goes at once, without the time that it would have to end itself, and is said to have failed
//! first if nobody can say how it ended. Claims are released by that, and devices that other nodes reach are free again.
//!
//! Invariant: a node counts as gone only if it was missing for a while, and the server says so too.

use std::collections::BTreeSet;
use std::time::Duration;

use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::core::pod::Pod;
use serde_json::{Value, json};

use crate::node_life::is_ready;

/// An administrator's word that the node is off, so that nothing of its pods runs any more.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// Where a pod is.
#[derive(Clone, Copy, Debug)]
pub enum Home<'a> {
    /// Nowhere yet.
    Nowhere,
    /// On a node.
    On(&'a Node),
    /// On a node that is not there.
    Missing {
        /// Since when we miss it.
        since: Timestamp,
    },
}

/// Why a pod is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Its node is gone.
    Orphaned,
    /// It is to go, and never had a node.
    Unscheduled,
    /// It is to go, and its node was taken out of service.
    OutOfService,
    /// It has ended, and so have too many others.
    Surplus,
}

impl Reason {
    /// The reason, as metrics name it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Orphaned => "orphaned",
            Self::Unscheduled => "unscheduled",
            Self::OutOfService => "out-of-service",
            Self::Surplus => "terminated",
        }
    }
}

/// What to do about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodGarbageAction {
    /// Nothing.
    Leave,
    /// Look again then.
    Wait(Timestamp),
    /// Remove it; for an orphan only if the server does not know its node either.
    Remove(Reason),
}

/// Decides about a pod; `quarantine` is how long its node must be missing.
pub fn decide(pod: &Pod, home: Home<'_>, quarantine: Duration, now: Timestamp) -> PodGarbageAction {
    let goes = pod.metadata.deletion_timestamp.is_some();
    // It waits for somebody's finalizer, and there is nothing left to do but that.
    let is_removed = goes && pod.metadata.deletion_grace_period_seconds == Some(0) && has_ended(pod);
    match home {
        _ if is_removed => PodGarbageAction::Leave,
        Home::Nowhere if goes => PodGarbageAction::Remove(Reason::Unscheduled),
        Home::On(node) if goes && is_out_of_service(node) => PodGarbageAction::Remove(Reason::OutOfService),
        Home::Nowhere | Home::On(_) => PodGarbageAction::Leave,
        Home::Missing { since } => match since.plus(quarantine) {
            until if until > now => PodGarbageAction::Wait(until),
            _ => PodGarbageAction::Remove(Reason::Orphaned),
        },
    }
}

fn is_out_of_service(node: &Node) -> bool {
    !is_ready(node) && node.spec.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE)
}

/// Whether a pod has ended and says how.
pub fn has_ended(pod: &Pod) -> bool {
    matches!(pod.status.phase.as_str(), "Succeeded" | "Failed")
}

/// What a pod that nobody can ask any more says before it goes, as a patch of its status; nothing if it has ended.
pub fn last_words(pod: &Pod, reason: Reason, now: Timestamp) -> Option<Value> {
    if has_ended(pod) {
        return None;
    }
    let mut status = json!({ "phase": "Failed" });
    if reason == Reason::Orphaned {
        let mut condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
            "message": format!("node {} was deleted", pod.spec.node_name), "lastTransitionTime": now.to_string(),
        });
        if let generation @ 1.. = pod.metadata.generation {
            condition["observedGeneration"] = json!(generation);
        }
        status["conditions"] = json!([condition]);
    }
    // The uid keeps the words from a pod that took the name of this one.
    Some(json!({ "metadata": { "uid": pod.metadata.uid }, "status": status }))
}

/// Pods that have ended, in the order in which they go when there are too many.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Those that were evicted come first, since nobody will look at them; then the oldest.
    order: BTreeSet<(bool, Timestamp, String, String)>,
}

impl Ended {
    /// Takes in what became of a pod.
    pub fn note(&mut self, before: Option<&Pod>, after: Option<&Pod>) {
        if let Some(rank) = before.and_then(rank) {
            self.order.remove(&rank);
        }
        self.order.extend(after.and_then(rank));
    }

    /// The pod that goes first, by namespace and name.
    pub fn first(&self) -> Option<(&str, &str)> {
        self.order.first().map(|(_, _, name, namespace)| (namespace.as_str(), name.as_str()))
    }

    /// Whether a pod is among those that go if so many are kept.
    pub fn is_surplus(&self, pod: &Pod, kept: usize) -> bool {
        let surplus = self.order.len().saturating_sub(kept);
        let last = surplus.checked_sub(1).and_then(|last| self.order.iter().nth(last));
        last.is_some_and(|last| rank(pod).is_some_and(|rank| rank <= *last))
    }
}

fn rank(pod: &Pod) -> Option<(bool, Timestamp, String, String)> {
    let metadata = &pod.metadata;
    let was_evicted = pod.status.phase == "Failed" && pod.status.reason == "Evicted";
    let created = metadata.creation_timestamp.unwrap_or_default().0;
    let is_counted = has_ended(pod) && metadata.deletion_timestamp.is_none();
    is_counted.then(|| (!was_evicted, created, metadata.name.clone(), metadata.namespace.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARANTINE: Duration = Duration::from_secs(40);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn pod(goes: bool, phase: &str) -> Pod {
        let mut metadata = json!({ "name": "p", "namespace": "ns", "uid": "u" });
        if goes {
            metadata["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
            metadata["deletionGracePeriodSeconds"] = json!(30);
        }
        let pod = json!({ "metadata": metadata, "spec": { "nodeName": "n" }, "status": { "phase": phase } });
        serde_json::from_value(pod).expect("a pod")
    }

    fn node(ready: &str, taint: &str) -> Node {
        let status = json!({ "conditions": [{ "type": "Ready", "status": ready }] });
        let taints = json!([{ "key": taint, "effect": "NoExecute" }]);
        serde_json::from_value(json!({ "spec": { "taints": taints }, "status": status })).expect("a node")
    }

    #[test]
    fn pods_that_nobody_will_end_are_removed() {
        let (well, lost) = (node("True", "x"), node("Unknown", "node.kubernetes.io/unreachable"));
        let (off, back) = (node("Unknown", OUT_OF_SERVICE), node("True", OUT_OF_SERVICE));
        let missing = |seconds| Home::Missing { since: at(seconds) };
        let table = [
            ("waits for a node", pod(false, "Pending"), Home::Nowhere, PodGarbageAction::Leave),
            (
                "goes without a node",
                pod(true, "Pending"),
                Home::Nowhere,
                PodGarbageAction::Remove(Reason::Unscheduled),
            ),
            ("runs", pod(false, "Running"), Home::On(&well), PodGarbageAction::Leave),
            ("is ended by its node", pod(true, "Running"), Home::On(&well), PodGarbageAction::Leave),
            ("may still run on a lost node", pod(true, "Running"), Home::On(&lost), PodGarbageAction::Leave),
            (
                "its node is off",
                pod(true, "Running"),
                Home::On(&off),
                PodGarbageAction::Remove(Reason::OutOfService),
            ),
            ("stays though its node is off", pod(false, "Running"), Home::On(&off), PodGarbageAction::Leave),
            ("its node is back", pod(true, "Running"), Home::On(&back), PodGarbageAction::Leave),
            ("its node is missed", pod(false, "Running"), missing(61), PodGarbageAction::Wait(at(101))),
            (
                "its node is gone",
                pod(false, "Running"),
                missing(60),
                PodGarbageAction::Remove(Reason::Orphaned),
            ),
            (
                "it ended on a node that is gone",
                pod(false, "Failed"),
                missing(60),
                PodGarbageAction::Remove(Reason::Orphaned),
            ),
        ];
        for (case, pod, home, expected) in table {
            assert_eq!(decide(&pod, home, QUARANTINE, at(100)), expected, "{case}");
        }
    }

    #[test]
    fn a_removed_pod_that_a_finalizer_holds_is_left_alone() {
        let mut held = pod(true, "Failed");
        held.metadata.deletion_grace_period_seconds = Some(0);
        assert_eq!(
            decide(&held, Home::Missing { since: at(0) }, QUARANTINE, at(100)),
            PodGarbageAction::Leave
        );
        let unasked = pod(true, "Failed");
        let removed = PodGarbageAction::Remove(Reason::Orphaned);
        assert_eq!(decide(&unasked, Home::Missing { since: at(0) }, QUARANTINE, at(100)), removed);
    }

    #[test]
    fn a_pod_fails_before_it_is_removed_unless_it_has_ended() {
        let orphan = last_words(&pod(false, "Running"), Reason::Orphaned, at(0)).expect("it runs");
        assert_eq!((&orphan["status"]["phase"], &orphan["metadata"]["uid"]), (&json!("Failed"), &json!("u")));
        assert_eq!(orphan["status"]["conditions"][0]["reason"], "DeletionByPodGC");
        let other = last_words(&pod(true, "Running"), Reason::OutOfService, at(0)).expect("it runs");
        assert_eq!(other["status"], json!({ "phase": "Failed" }));
        assert_eq!(last_words(&pod(false, "Succeeded"), Reason::Orphaned, at(0)), None);
    }

    #[test]
    fn of_too_many_ended_pods_the_evicted_and_then_the_oldest_go() {
        let ended = |name: &str, created: i64, reason: &str| {
            let mut pod = pod(false, "Failed");
            name.clone_into(&mut pod.metadata.name);
            pod.metadata.creation_timestamp = Some(objects::Time(at(created)));
            reason.clone_into(&mut pod.status.reason);
            pod
        };
        let pods =
            [ended("b", 2, ""), ended("a", 2, ""), ended("old", 1, ""), ended("evicted", 3, "Evicted")];
        let mut all = Ended::default();
        pods.iter().for_each(|pod| all.note(None, Some(pod)));
        all.note(None, Some(&pod(false, "Running")));
        all.note(None, Some(&pod(true, "Failed")));
        let surplus = |all: &Ended, kept| -> Vec<&str> {
            let surplus = pods.iter().filter(|pod| all.is_surplus(pod, kept));
            surplus.map(|pod| pod.metadata.name.as_str()).collect()
        };
        assert_eq!(surplus(&all, 4), [""; 0]);
        assert_eq!(surplus(&all, 3), ["evicted"]);
        assert_eq!(surplus(&all, 1), ["a", "old", "evicted"]);
        assert!(!all.is_surplus(&pod(false, "Running"), 0));
        assert_eq!(all.first(), Some(("ns", "evicted")));
        all.note(Some(&pods[3]), None);
        assert_eq!(all.first(), Some(("ns", "old")));
        assert!(all.is_surplus(&pods[2], 2) && !all.is_surplus(&pods[1], 2));
    }
}
