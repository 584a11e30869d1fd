//! What becomes of a pod on its node: it starts, it runs, it ends or crashes, it goes.

use std::time::Duration;

use model::timestamp::Timestamp;
use objects::core::pod::{ContainerStatus, Pod};
use serde_json::{Value, json};

use super::{EXIT_CODE, FAULT, RUN_SECONDS, START_SECONDS, Times};

/// The exit code of a container that was told to stop.
const STOPPED: i32 = 143;

/// Why a container waits that crashed.
const CRASHED: &str = "CrashLoopBackOff";

/// Why a container waits that cannot start.
const JAMMED: &str = "ImagePullBackOff";

/// How long a container rests after its first crash, and at most.
const REST: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(300));

/// What a node does with a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    /// Its containers run.
    Start,
    /// Its containers run again.
    Restart,
    /// Its containers cannot start.
    Jam,
    /// Its containers ended with this exit code, and are not started again.
    End {
        /// The code.
        code: i32,
    },
    /// Its containers ended with this exit code, and will be started again.
    Crash {
        /// The code.
        code: i32,
    },
    /// Its containers were told to stop, and did.
    Stop,
    /// It is over, and nothing is left of it on the node.
    Remove,
}

impl Deed {
    /// Whether the wait before it begins anew each time that somebody asks. All others know when they are due.
    pub fn waits_from_now(self) -> bool {
        match self {
            Self::Start | Self::Jam | Self::Stop | Self::Remove => true,
            Self::Restart | Self::End { .. } | Self::Crash { .. } => false,
        }
    }
}

/// What is next for a pod that has a node, and how long from now.
pub fn next(pod: &Pod, now: Timestamp, times: Times) -> Option<(Duration, Deed)> {
    if pod.metadata.deletion_timestamp.is_some() {
        return going(pod, times);
    }
    match pod.status.phase.as_str() {
        "" | "Pending" if pod.metadata.annotations.get(FAULT).is_some_and(|fault| fault == "no-start") => {
            (!waits_for(pod, JAMMED)).then_some((start_time(pod, times), Deed::Jam))
        }
        "" | "Pending" => Some((start_time(pod, times), Deed::Start)),
        "Running" if waits_for(pod, CRASHED) => {
            let rest = rest(restarts(pod));
            Some((left(crashed_at(pod), rest, now), Deed::Restart))
        }
        "Running" => {
            let run = run_time(pod, times)?;
            let deed = match (exit_code(pod), pod.spec.restart_policy.as_str()) {
                (0, "Always") => return None,
                (code @ 0, _) | (code, "Never") => Deed::End { code },
                (code, _) => Deed::Crash { code },
            };
            Some((left(started_at(pod), run, now), deed))
        }
        _ => None,
    }
}

/// Whether the pod of a simulated node will be done some day.
pub fn ends_by_itself(pod: &Pod, times: Times) -> bool {
    let ends = pod.spec.restart_policy == "Never" || exit_code(pod) == 0;
    pod.spec.restart_policy != "Always" && ends && run_time(pod, times).is_some()
}

/// What is next for a pod that is to go. How it ended is said only if somebody keeps it, since otherwise nobody would see it.
fn going(pod: &Pod, times: Times) -> Option<(Duration, Deed)> {
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
    let grace = Duration::from_secs(u64::try_from(grace).unwrap_or(0));
    let is_over = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
    let is_kept = !pod.metadata.finalizers.is_empty();
    match (is_over, is_kept) {
        (false, true) => Some((times.stop.min(grace), Deed::Stop)),
        (false, false) => Some((times.stop.min(grace), Deed::Remove)),
        (true, true) => (!grace.is_zero()).then_some((Duration::ZERO, Deed::Remove)),
        (true, false) => Some((Duration::ZERO, Deed::Remove)),
    }
}

/// A hundred years, which any clock can count to.
const SECONDS_MAX: u64 = 100 * 365 * 24 * 60 * 60;

fn seconds(pod: &Pod, annotation: &str) -> Option<Duration> {
    let seconds: u64 = pod.metadata.annotations.get(annotation)?.parse().ok()?;
    Some(Duration::from_secs(seconds.min(SECONDS_MAX)))
}

fn start_time(pod: &Pod, times: Times) -> Duration {
    seconds(pod, START_SECONDS).unwrap_or(times.start)
}

fn run_time(pod: &Pod, times: Times) -> Option<Duration> {
    let unsaid = times.run.filter(|_| pod.spec.restart_policy != "Always");
    seconds(pod, RUN_SECONDS).or(unsaid)
}

fn exit_code(pod: &Pod) -> i32 {
    pod.metadata.annotations.get(EXIT_CODE).and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// How much is left of a time that began then.
fn left(began: Option<objects::Time>, time: Duration, now: Timestamp) -> Duration {
    let began = began.map_or(now, |time| time.0);
    let passed = Duration::from_micros(u64::try_from(now.micros() - began.micros()).unwrap_or(0));
    time.saturating_sub(passed)
}

/// All containers are alike here, so the first speaks for the others.
fn container(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.container_statuses.first()
}

fn waits_for(pod: &Pod, reason: &str) -> bool {
    let waiting = container(pod).and_then(|container| container.state.waiting.as_ref());
    waiting.is_some_and(|waiting| waiting.reason == reason)
}

fn restarts(pod: &Pod) -> i32 {
    container(pod).map_or(0, |container| container.restart_count)
}

fn started_at(pod: &Pod) -> Option<objects::Time> {
    let running = container(pod).and_then(|container| container.state.running.as_ref());
    running.and_then(|running| running.started_at).or(pod.status.start_time)
}

fn crashed_at(pod: &Pod) -> Option<objects::Time> {
    container(pod)?.last_state.terminated.as_ref()?.finished_at
}

fn rest(restarts: i32) -> Duration {
    let doublings = u32::try_from(restarts).unwrap_or(0).min(8);
    REST.0.saturating_mul(1 << doublings).min(REST.1)
}

/// What a node says of a pod, as a patch of its status; nothing if it is to go.
pub fn said(pod: &Pod, deed: Deed, now: Timestamp) -> Option<Value> {
    let now = now.to_seconds().to_string();
    let began = started_at(pod).map_or_else(|| now.clone(), |time| time.0.to_string());
    let ended = |code: i32| {
        let reason = if code == 0 { "Completed" } else { "Error" };
        json!({ "exitCode": code, "reason": reason, "startedAt": began, "finishedAt": now })
    };
    let waits =
        |reason: &str| json!({ "running": null, "terminated": null, "waiting": { "reason": reason } });
    let over = |code: i32| json!({ "running": null, "waiting": null, "terminated": ended(code) });
    let mut restarted = restarts(pod);
    // What came before is kept: a strategic patch leaves alone what it does not name.
    let mut before = Value::Null;
    let (phase, state, reason) = match deed {
        Deed::Start | Deed::Restart => {
            restarted += i32::from(deed == Deed::Restart);
            ("Running", json!({ "waiting": null, "terminated": null, "running": { "startedAt": now } }), None)
        }
        Deed::Jam => ("Pending", waits(JAMMED), Some("ContainersNotReady")),
        Deed::Crash { code } => {
            before = json!({ "terminated": ended(code) });
            ("Running", waits(CRASHED), Some("ContainersNotReady"))
        }
        Deed::End { code: 0 } => ("Succeeded", over(0), Some("PodCompleted")),
        Deed::End { code } => ("Failed", over(code), Some("PodFailed")),
        Deed::Stop => ("Failed", over(STOPPED), Some("PodFailed")),
        Deed::Remove => return None,
    };
    let ready = matches!(deed, Deed::Start | Deed::Restart);
    let containers = pod.spec.containers.iter().map(|container| {
        let mut status = json!({
            "name": container.name, "image": container.image, "imageID": "", "containerID": "",
            "ready": ready, "started": ready, "restartCount": restarted, "state": state,
        });
        if !before.is_null() {
            status["lastState"] = before.clone();
        }
        status
    });
    let since = pod.status.start_time.map_or_else(|| now.clone(), |time| time.0.to_string());
    Some(json!({
        // The uid keeps what is said from a pod that took the name of this one.
        "metadata": { "uid": pod.metadata.uid },
        "status": {
            "phase": phase,
            "startTime": since,
            "conditions": [
                condition("Initialized", None, &now),
                condition("Ready", reason, &now),
                condition("ContainersReady", reason, &now),
            ],
            "containerStatuses": containers.collect::<Vec<_>>(),
        },
    }))
}

/// A condition that holds, unless there is a reason why not.
fn condition(name: &str, unless: Option<&str>, now: &str) -> Value {
    let status = if unless.is_none() { "True" } else { "False" };
    json!({ "type": name, "status": status, "reason": unless, "lastTransitionTime": now })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-02T03:04:06Z";

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

    /// A pod that is to run for three seconds and did for one, with what else its annotations say.
    fn job(phase: &str, policy: &str, annotations: &[(&str, &str)]) -> Value {
        let mut job = json!({
            "metadata": { "annotations": { RUN_SECONDS: "3" } },
            "spec": { "restartPolicy": policy },
            "status": { "phase": phase, "startTime": "2026-01-02T03:04:05Z" },
        });
        for (name, value) in annotations {
            job["metadata"]["annotations"][name] = json!(value);
        }
        job
    }

    #[test]
    fn a_pod_starts_and_runs_until_its_work_is_done() {
        assert_eq!(next_at(job("Pending", "Never", &[]), NOW), Some((300, Deed::Start)));
        assert_eq!(next_at(job("Pending", "Never", &[(START_SECONDS, "9")]), NOW), Some((9000, Deed::Start)));
        assert_eq!(next_at(job("Running", "Never", &[]), NOW), Some((2000, Deed::End { code: 0 })));
        let late = next_at(job("Running", "Never", &[]), "2026-01-02T05:00:00Z");
        assert_eq!(late, Some((0, Deed::End { code: 0 })));
        assert_eq!(next_at(job("Running", "Always", &[]), NOW), None);
        assert_eq!(next_at(job("Succeeded", "Never", &[]), NOW), None);
        assert_eq!(next_at(json!({ "status": { "phase": "Running" } }), NOW), None);
    }

    #[test]
    fn only_pods_that_are_to_end_end_without_being_told() {
        let times = Times { run: Some(Duration::from_secs(5)), ..Times::default() };
        let running = |policy: &str| {
            pod(json!({ "spec": { "restartPolicy": policy }, "status": { "phase": "Running" } }))
        };
        let ends = |policy: &str| next(&running(policy), at(NOW), times).map(|(wait, _)| wait.as_secs());
        assert_eq!((ends("Never"), ends("OnFailure"), ends("Always")), (Some(5), Some(5), None));
        assert!(ends_by_itself(&running("Never"), times) && !ends_by_itself(&running("Always"), times));
        assert!(!ends_by_itself(&running("Never"), Times::default()));
        assert!(!ends_by_itself(&pod(job("Running", "OnFailure", &[(EXIT_CODE, "1")])), times));
    }

    #[test]
    fn a_pod_fails_or_crashes_as_it_is_told() {
        let failing = |policy: &str| next_at(job("Running", policy, &[(EXIT_CODE, "3")]), NOW);
        assert_eq!(failing("Never"), Some((2000, Deed::End { code: 3 })));
        assert_eq!(failing("OnFailure"), Some((2000, Deed::Crash { code: 3 })));
        assert_eq!(failing("Always"), Some((2000, Deed::Crash { code: 3 })));
    }

    #[test]
    fn a_container_that_crashed_starts_again_after_a_rest_that_doubles() {
        let mut value = job("Running", "OnFailure", &[(EXIT_CODE, "3")]);
        value["spec"]["containers"] = json!([{ "name": "main" }]);
        let crashed = said(&pod(value.clone()), Deed::Crash { code: 3 }, at(NOW)).expect("it says something");
        value["status"] = crashed["status"].clone();
        assert_eq!(next_at(value.clone(), NOW), Some((10_000, Deed::Restart)));
        let again = said(&pod(value.clone()), Deed::Restart, at(NOW)).expect("it says something");
        let container = &again["status"]["containerStatuses"][0];
        assert_eq!((&container["restartCount"], &container["ready"]), (&json!(1), &json!(true)));
        value["status"]["containerStatuses"][0]["restartCount"] = json!(1);
        assert_eq!(next_at(value.clone(), NOW), Some((20_000, Deed::Restart)));
        value["status"]["containerStatuses"][0]["restartCount"] = json!(100);
        assert_eq!(next_at(value, NOW), Some((300_000, Deed::Restart)));
    }

    #[test]
    fn a_pod_that_cannot_start_says_so_once() {
        let mut value = job("Pending", "Never", &[(FAULT, "no-start")]);
        value["spec"]["containers"] = json!([{ "name": "main" }]);
        assert_eq!(next_at(value.clone(), NOW), Some((300, Deed::Jam)));
        let jammed = said(&pod(value.clone()), Deed::Jam, at(NOW)).expect("it says something");
        assert_eq!(jammed["status"]["phase"], "Pending");
        value["status"] = jammed["status"].clone();
        assert_eq!(next_at(value.clone(), NOW), None);
        value["metadata"]["annotations"] = json!({});
        assert_eq!(next_at(value, NOW), Some((300, Deed::Start)));
    }

    #[test]
    fn a_pod_that_is_to_go_is_removed_within_its_time() {
        let going = |grace: i64, phase: &str, finalizers: &[&str]| {
            let metadata = json!({
                "deletionTimestamp": "2026-01-02T03:04:35Z", "deletionGracePeriodSeconds": grace,
                "finalizers": finalizers,
            });
            next_at(json!({ "metadata": metadata, "status": { "phase": phase } }), NOW)
        };
        for phase in ["Pending", "Running"] {
            assert_eq!(going(30, phase, &[]), Some((300, Deed::Remove)));
            assert_eq!(going(0, phase, &[]), Some((0, Deed::Remove)));
            assert_eq!(going(30, phase, &["kept"]), Some((300, Deed::Stop)));
        }
        assert_eq!(going(30, "Failed", &["kept"]), Some((0, Deed::Remove)));
        assert_eq!(going(0, "Failed", &["kept"]), None);
        assert_eq!(going(30, "Succeeded", &[]), Some((0, Deed::Remove)));
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
            json!({ "type": "Ready", "status": "True", "reason": null, "lastTransitionTime": "2026-01-02T03:04:05Z" })
        );
        pod.status.start_time = Some(objects::Time(at("2026-01-02T03:04:01Z")));
        let done = said(&pod, Deed::End { code: 0 }, now).expect("it says something");
        let container = &done["status"]["containerStatuses"][0];
        assert_eq!(container["state"]["terminated"]["startedAt"], "2026-01-02T03:04:01Z");
        assert_eq!((&container["name"], &container["ready"]), (&json!("main"), &json!(false)));
        assert_eq!(done["status"]["conditions"][1]["reason"], "PodCompleted");
        let failed = said(&pod, Deed::End { code: 7 }, now).expect("it says something");
        assert_eq!(failed["status"]["phase"], "Failed");
        assert_eq!(failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 7);
        assert_eq!(said(&pod, Deed::Remove, now), None);
    }
}
