//! What becomes of a pod on its node: it starts, it runs, it ends, it goes.

use std::time::Duration;

use model::timestamp::Timestamp;
use objects::core::pod::Pod;
use serde_json::{Value, json};

use super::Times;

/// The annotation that says after how many seconds a pod has done its work, unless it is to run always. The start of a pod
/// is known to the second, so it may be up to one second less.
pub const RUN_SECONDS: &str = "supercargo.dev/run-seconds";

/// What a node does with a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    /// Its containers run.
    Start,
    /// Its containers have done their work.
    Succeed,
    /// It is over, and nothing is left of it on the node.
    Remove,
}

/// What is next for a pod that has a node, and how long from now.
pub(crate) fn next(pod: &Pod, now: Timestamp, times: Times) -> Option<(Duration, Deed)> {
    if pod.metadata.deletion_timestamp.is_some() {
        let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
        let grace = Duration::from_secs(u64::try_from(grace).unwrap_or(0));
        return Some((times.stop.min(grace), Deed::Remove));
    }
    match pod.status.phase.as_str() {
        "" | "Pending" => Some((times.start, Deed::Start)),
        "Running" => {
            let run = run_time(pod)?;
            let began = pod.status.start_time.map_or(now, |time| time.0);
            let ran = Duration::from_micros(u64::try_from(now.micros() - began.micros()).unwrap_or(0));
            Some((run.saturating_sub(ran), Deed::Succeed))
        }
        _ => None,
    }
}

/// Whether a pod on a simulated node will be done some day.
pub fn ends_by_itself(pod: &Pod) -> bool {
    run_time(pod).is_some()
}

fn run_time(pod: &Pod) -> Option<Duration> {
    let seconds = pod.metadata.annotations.get(RUN_SECONDS)?.parse().ok()?;
    (pod.spec.restart_policy != "Always").then(|| Duration::from_secs(seconds))
}

/// What a node says of a pod, as a patch of its status; nothing if it is to go.
pub(crate) fn said(pod: &Pod, deed: Deed, now: Timestamp) -> Option<Value> {
    let now = now.to_seconds().to_string();
    let began = pod.status.start_time.map_or_else(|| now.clone(), |time| time.0.to_string());
    let (phase, ready, reason, state) = match deed {
        Deed::Start => ("Running", true, Value::Null, json!({ "running": { "startedAt": began } })),
        Deed::Succeed => {
            let ended =
                json!({ "exitCode": 0, "reason": "Completed", "startedAt": began, "finishedAt": now });
            ("Succeeded", false, json!("PodCompleted"), json!({ "terminated": ended }))
        }
        Deed::Remove => return None,
    };
    let condition = |name: &str, holds: bool| {
        let status = if holds { "True" } else { "False" };
        let mut condition = json!({ "type": name, "status": status, "lastTransitionTime": now });
        if !holds {
            condition["reason"] = reason.clone();
        }
        condition
    };
    let containers = pod.spec.containers.iter().map(|container| {
        json!({
            "name": container.name, "image": container.image, "imageID": "", "containerID": "",
            "ready": ready, "started": ready, "restartCount": 0, "state": state,
        })
    });
    Some(json!({
        // The uid keeps what is said from a pod that took the name of this one.
        "metadata": { "uid": pod.metadata.uid },
        "status": {
            "phase": phase,
            "startTime": began,
            "conditions": [
                condition("Initialized", true), condition("Ready", ready), condition("ContainersReady", ready),
            ],
            "containerStatuses": containers.collect::<Vec<_>>(),
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(value: Value) -> Pod {
        serde_json::from_value(value).expect("a pod")
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("a time")
    }

    fn next_at(value: Value, now: &str) -> Option<(u64, Deed)> {
        let times = Times { start: Duration::from_millis(300), ..Times::default() };
        let next = next(&pod(value), at(now), times)?;
        Some((u64::try_from(next.0.as_millis()).expect("a short time"), next.1))
    }

    #[test]
    fn a_pod_starts_and_runs_until_its_work_is_done() {
        let now = "2026-01-02T03:04:06Z";
        let job = |phase: &str, policy: &str| {
            json!({
                "metadata": { "annotations": { RUN_SECONDS: "3" } },
                "spec": { "restartPolicy": policy },
                "status": { "phase": phase, "startTime": "2026-01-02T03:04:05Z" },
            })
        };
        assert_eq!(next_at(job("Pending", "Never"), now), Some((300, Deed::Start)));
        assert_eq!(next_at(job("Running", "Never"), now), Some((2000, Deed::Succeed)));
        assert_eq!(next_at(job("Running", "Never"), "2026-01-02T05:00:00Z"), Some((0, Deed::Succeed)));
        assert_eq!(next_at(job("Running", "Always"), now), None);
        assert_eq!(next_at(job("Succeeded", "Never"), now), None);
        assert!(ends_by_itself(&pod(job("Running", "Never"))));
        assert!(!ends_by_itself(&pod(job("Running", "Always"))));
        assert_eq!(next_at(json!({ "status": { "phase": "Running" } }), now), None);
    }

    #[test]
    fn a_pod_that_is_to_go_is_removed_within_its_time() {
        let going = |grace: i64, phase: &str| {
            let metadata =
                json!({ "deletionTimestamp": "2026-01-02T03:04:35Z", "deletionGracePeriodSeconds": grace });
            json!({ "metadata": metadata, "status": { "phase": phase } })
        };
        for phase in ["Pending", "Running", "Succeeded"] {
            assert_eq!(next_at(going(30, phase), "2026-01-02T03:04:05Z"), Some((300, Deed::Remove)));
            assert_eq!(next_at(going(0, phase), "2026-01-02T03:04:05Z"), Some((0, Deed::Remove)));
        }
    }

    #[test]
    fn a_node_says_what_its_containers_do() {
        let now = at("2026-01-02T03:04:05.678Z");
        let mut pod = pod(
            json!({ "metadata": { "uid": "u" }, "spec": { "containers": [{ "name": "main", "image": "i" }] } }),
        );
        let running = said(&pod, Deed::Start, now).expect("it says something");
        assert_eq!(running["status"]["phase"], "Running");
        assert_eq!(running["status"]["startTime"], "2026-01-02T03:04:05Z");
        assert_eq!(
            running["status"]["conditions"][1],
            json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z" })
        );
        pod.status.start_time = Some(objects::Time(at("2026-01-02T03:04:01Z")));
        let done = said(&pod, Deed::Succeed, now).expect("it says something");
        let container = &done["status"]["containerStatuses"][0];
        assert_eq!(container["state"]["terminated"]["startedAt"], "2026-01-02T03:04:01Z");
        assert_eq!((&container["name"], &container["ready"]), (&json!("main"), &json!(false)));
        assert_eq!(done["status"]["conditions"][1]["reason"], "PodCompleted");
        assert_eq!(said(&pod, Deed::Remove, now), None);
    }
}
