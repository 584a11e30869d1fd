//! Pods that must go: when the time has come they are marked and then deleted, and nobody asks their budgets.
//!
//! Which pods, and when, is the business of [`crate::device_taints`] and [`crate::node_taints`]. What is done about it is
//! here, and the same for both.
//!
//! Invariant: a pod is marked before it is deleted, and both can be done again by somebody who does not know how far the
//! one before came.

use model::timestamp::Timestamp;
use objects::core::pod::{Pod, PodCondition};
use serde_json::{Value, json};

use crate::claims::is_done;

/// Tells that a pod is about to be ended by somebody else than its owner.
const MARK: &str = "DisruptionTarget";

/// On whose behalf pods go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evictor {
    /// A taint of a device that the pod uses.
    DeviceTaint,
    /// A taint of the pod's node.
    NodeTaint,
}

impl Evictor {
    /// The controller, as events name it.
    pub const fn controller(self) -> &'static str {
        match self {
            Self::DeviceTaint => "device-taint-eviction-controller",
            Self::NodeTaint => "taint-eviction-controller",
        }
    }

    /// The reason of its events.
    pub const fn event(self) -> &'static str {
        match self {
            Self::DeviceTaint => "DeviceTaintManagerEviction",
            Self::NodeTaint => "TaintManagerEviction",
        }
    }

    /// The reason of its mark.
    const fn reason(self) -> &'static str {
        match self {
            Self::DeviceTaint => "DeletionByDeviceTaintManager",
            Self::NodeTaint => "DeletionByTaintManager",
        }
    }
}

/// What to do about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionAction {
    /// Nothing.
    Leave,
    /// Look again then.
    Wait(Timestamp),
    /// Mark it, unless it is marked already, and delete it.
    Evict {
        /// It has no mark of ours yet.
        mark: bool,
    },
    /// It was marked and may stay after all: take the mark back.
    Spare,
}

/// Decides about a pod that must go at a time, or need not go.
pub fn decide(pod: &Pod, evictor: Evictor, at: Option<Timestamp>, now: Timestamp) -> EvictionAction {
    if pod.metadata.deletion_timestamp.is_some() || pod.spec.node_name.is_empty() || is_done(pod) {
        return EvictionAction::Leave;
    }
    let is_marked = mark_of(pod).is_some_and(|mark| mark.status == "True" && mark.reason == evictor.reason());
    match at {
        None if is_marked => EvictionAction::Spare,
        None => EvictionAction::Leave,
        Some(at) if at > now => EvictionAction::Wait(at),
        Some(_) => EvictionAction::Evict { mark: !is_marked },
    }
}

/// The mark, as a patch of the pod's status.
pub fn mark(pod: &Pod, evictor: Evictor, why: &str, now: Timestamp) -> Value {
    let message = format!("deleted because of a taint with effect NoExecute: {why}");
    marked(pod, "True", evictor, &message, now)
}

/// The end of the mark, as a patch of the pod's status.
pub fn spare(pod: &Pod, evictor: Evictor, now: Timestamp) -> Value {
    marked(pod, "False", evictor, "the taint was removed or is tolerated", now)
}

fn mark_of(pod: &Pod) -> Option<&PodCondition> {
    pod.status.conditions.iter().find(|condition| condition.type_ == MARK)
}

fn marked(pod: &Pod, status: &str, evictor: Evictor, message: &str, now: Timestamp) -> Value {
    let since = mark_of(pod).filter(|mark| mark.status == status).and_then(|mark| mark.last_transition_time);
    let mut condition = json!({
        "type": MARK, "status": status, "reason": evictor.reason(), "message": message,
        "lastTransitionTime": since.map_or(now, |since| since.0).to_string(),
    });
    if let generation @ 1.. = pod.metadata.generation {
        condition["observedGeneration"] = json!(generation);
    }
    // The uid keeps the mark from a pod that took the name of this one.
    json!({ "metadata": { "uid": pod.metadata.uid }, "status": { "conditions": [condition] } })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn pod(metadata: &Value, node: &str, status: &Value) -> Pod {
        let pod = json!({ "metadata": metadata, "spec": { "nodeName": node }, "status": status });
        serde_json::from_value(pod).expect("a pod")
    }

    fn with_mark(status: &str, reason: &str) -> Pod {
        let mark = json!({
            "type": MARK, "status": status, "reason": reason, "lastTransitionTime": "2026-01-02T03:04:05Z",
        });
        pod(&json!({ "uid": "u" }), "n", &json!({ "conditions": [mark] }))
    }

    #[test]
    fn a_pod_goes_when_its_time_has_come() {
        let plain = || pod(&json!({}), "n", &json!({ "phase": "Running" }));
        let ours = Evictor::DeviceTaint.reason();
        let later = NOW.plus_millis(1);
        let table = [
            ("no time", plain(), None, EvictionAction::Leave),
            ("not yet", plain(), Some(later), EvictionAction::Wait(later)),
            ("now", plain(), Some(NOW), EvictionAction::Evict { mark: true }),
            (
                "marked before a restart",
                with_mark("True", ours),
                Some(NOW),
                EvictionAction::Evict { mark: false },
            ),
            ("marked and spared", with_mark("True", ours), None, EvictionAction::Spare),
            ("spared before", with_mark("False", ours), None, EvictionAction::Leave),
            (
                "spared, and its time comes again",
                with_mark("False", ours),
                Some(NOW),
                EvictionAction::Evict { mark: true },
            ),
            ("marked by others", with_mark("True", "PreemptionByScheduler"), None, EvictionAction::Leave),
            (
                "goes already",
                pod(&json!({ "deletionTimestamp": "2026-01-02T03:04:05Z" }), "n", &json!({})),
                Some(NOW),
                EvictionAction::Leave,
            ),
            ("has no node", pod(&json!({}), "", &json!({})), Some(NOW), EvictionAction::Leave),
            (
                "is done",
                pod(&json!({}), "n", &json!({ "phase": "Succeeded" })),
                Some(NOW),
                EvictionAction::Leave,
            ),
        ];
        for (case, pod, at, expected) in table {
            assert_eq!(decide(&pod, Evictor::DeviceTaint, at, NOW), expected, "{case}");
        }
    }

    #[test]
    fn a_mark_names_the_pod_and_says_why() {
        let mut pod = with_mark("False", "x");
        pod.metadata.generation = 3;
        let mark = mark(&pod, Evictor::NodeTaint, "node n has taint k", NOW);
        assert_eq!(mark["metadata"]["uid"], "u");
        let condition = &mark["status"]["conditions"][0];
        assert_eq!((&condition["type"], &condition["status"]), (&json!(MARK), &json!("True")));
        assert_eq!(condition["reason"], "DeletionByTaintManager");
        assert_eq!(condition["observedGeneration"], 3);
        assert!(condition["message"].as_str().is_some_and(|text| text.ends_with("node n has taint k")));
        assert_eq!(condition["lastTransitionTime"], "1970-01-01T00:16:40Z");
    }

    #[test]
    fn a_mark_that_stays_keeps_its_time() {
        let marked = with_mark("True", "x");
        let time = |patch: &Value| patch["status"]["conditions"][0]["lastTransitionTime"].clone();
        assert_eq!(time(&mark(&marked, Evictor::NodeTaint, "", NOW)), "2026-01-02T03:04:05Z");
        assert_eq!(time(&spare(&marked, Evictor::NodeTaint, NOW)), "1970-01-01T00:16:40Z");
    }
}
