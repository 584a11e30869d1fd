//! Pods, whose status has many ways to be told.

use serde_json::{Value, json};

use super::check;

const NONE: &str = "<none>";

/// The pod shows this in READY, STATUS and RESTARTS.
#[expect(clippy::needless_pass_by_value, reason = "a value reads better at the calls")]
fn check_pod(metadata: Value, spec: Value, status: Value, expected: [&str; 3]) {
    let [ready, told, restarts] = expected;
    check(
        "v1",
        "Pod",
        json!({"metadata": metadata, "spec": spec, "status": status}),
        json!(["x", ready, told, restarts, "5m", NONE, NONE, NONE, NONE]),
    );
}

fn two_containers() -> Value {
    json!({"containers": [{"name": "a"}, {"name": "b"}]})
}

fn with_init(sidecar: bool) -> Value {
    let policy = if sidecar { json!("Always") } else { Value::Null };
    json!({
        "containers": [{"name": "a"}],
        "initContainers": [{"name": "i", "restartPolicy": policy}, {"name": "j"}],
    })
}

fn running(ready: bool) -> Value {
    json!({"ready": ready, "state": {"running": {}}})
}

fn ended(code: i64, reason: &str) -> Value {
    json!({"state": {"terminated": {"exitCode": code, "reason": reason}}})
}

#[test]
fn a_pod_shows_its_phase_unless_there_is_a_better_reason() {
    let status = json!({"phase": "Pending"});
    check_pod(json!({}), two_containers(), status, ["0/2", "Pending", "0"]);
    let status = json!({"phase": "Failed", "reason": "Evicted"});
    check_pod(json!({}), two_containers(), status, ["0/2", "Evicted", "0"]);
    let gated = json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
    let status = json!({"phase": "Pending", "reason": "Other", "conditions": gated});
    check_pod(json!({}), two_containers(), status, ["0/2", "SchedulingGated", "0"]);
}

#[test]
fn the_first_container_with_something_to_say_is_heard() {
    let waits = |reason: &str| json!({"state": {"waiting": {"reason": reason}}});
    let status = json!({"phase": "Pending", "containerStatuses": [waits("ErrImagePull"), waits("Other")]});
    check_pod(json!({}), two_containers(), status, ["0/2", "ErrImagePull", "0"]);
    let status = json!({"phase": "Pending", "containerStatuses": [waits(""), running(true)]});
    check_pod(json!({}), two_containers(), status, ["1/2", "Pending", "0"]);
    let killed = json!({"state": {"terminated": {"exitCode": 137, "signal": 9}}});
    let status = json!({"phase": "Failed", "containerStatuses": [killed]});
    check_pod(json!({}), two_containers(), status, ["0/2", "Signal:9", "0"]);
    let status = json!({"phase": "Failed", "containerStatuses": [ended(3, "")]});
    check_pod(json!({}), two_containers(), status, ["0/2", "ExitCode:3", "0"]);
}

#[test]
fn a_completed_container_does_not_hide_what_the_others_do() {
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let told = |second: Value, conditions: Value, expected| {
        let statuses = json!([ended(0, "Completed"), second]);
        let status = json!({"phase": "Running", "containerStatuses": statuses, "conditions": conditions});
        check_pod(json!({}), two_containers(), status, expected);
    };
    told(running(true), ready, ["1/2", "Running", "0"]);
    told(running(true), Value::Null, ["1/2", "NotReady", "0"]);
    told(running(false), Value::Null, ["0/2", "Completed", "0"]);
    told(ended(1, "Error"), Value::Null, ["0/2", "Error", "0"]);
}

#[test]
fn an_init_container_that_is_not_done_tells_the_status() {
    let told = |statuses: Value, expected| {
        let status = json!({"phase": "Pending", "initContainerStatuses": statuses});
        check_pod(json!({}), with_init(false), status, expected);
    };
    let done = ended(0, "Completed");
    let named = |name: &str, state: Value| json!({"name": name, "restartCount": 2, "state": state});
    told(json!([named("i", json!({"running": {}}))]), ["0/1", "Init:0/2", "2"]);
    told(
        json!([done, named("j", json!({"waiting": {"reason": "PodInitializing"}}))]),
        ["0/1", "Init:1/2", "2"],
    );
    told(
        json!([named("i", json!({"waiting": {"reason": "CrashLoopBackOff"}}))]),
        ["0/1", "Init:CrashLoopBackOff", "2"],
    );
    told(json!([named("i", json!({"terminated": {"exitCode": 1}}))]), ["0/1", "Init:ExitCode:1", "2"]);
    told(
        json!([named("i", json!({"terminated": {"exitCode": 1, "signal": 6}}))]),
        ["0/1", "Init:Signal:6", "2"],
    );
    told(
        json!([named("i", json!({"terminated": {"exitCode": 1, "reason": "Error"}}))]),
        ["0/1", "Init:Error", "2"],
    );
    told(json!([done, done]), ["0/1", "Pending", "0"]);
}

#[test]
fn a_sidecar_counts_as_a_container() {
    let sidecar =
        json!({"name": "i", "restartCount": 3, "started": true, "ready": true, "state": {"running": {}}});
    let init = json!([sidecar, ended(0, "Completed")]);
    let status =
        json!({"phase": "Running", "initContainerStatuses": init, "containerStatuses": [running(true)]});
    check_pod(json!({}), with_init(true), status, ["2/2", "Running", "3"]);
    // The pod was initialized once, so that an init container that runs again does not hide the rest.
    let again = json!([{"name": "i", "restartCount": 1, "state": {"running": {}}}]);
    let initialized = json!([{"type": "Initialized", "status": "True"}]);
    let status = json!({"phase": "Running", "initContainerStatuses": again, "conditions": initialized, "containerStatuses": [running(true)]});
    check_pod(json!({}), with_init(true), status, ["1/2", "Init:0/2", "1"]);
}

#[test]
fn restarts_say_when_the_last_one_was() {
    let ended_at = |time: &str| json!({"restartCount": 2, "ready": true, "state": {"running": {}}, "lastState": {"terminated": {"finishedAt": time}}});
    let statuses = json!([ended_at("2026-01-01T00:02:00Z"), ended_at("2026-01-01T00:01:00Z")]);
    let status = json!({"phase": "Running", "containerStatuses": statuses});
    check_pod(json!({}), two_containers(), status, ["2/2", "Running", "4 (3m ago)"]);
}

#[test]
fn a_pod_that_is_deleted_is_terminating_until_it_ended() {
    let deleted = || json!({"deletionTimestamp": "2026-01-01T00:04:00Z"});
    check_pod(deleted(), two_containers(), json!({"phase": "Running"}), ["0/2", "Terminating", "0"]);
    check_pod(deleted(), two_containers(), json!({"phase": "Succeeded"}), ["0/2", "Succeeded", "0"]);
    let lost = json!({"phase": "Running", "reason": "NodeLost"});
    check_pod(deleted(), two_containers(), lost, ["0/2", "Unknown", "0"]);
}

#[test]
fn a_wide_row_shows_where_the_pod_is() {
    check(
        "v1",
        "Pod",
        json!({
            "spec": {
                "nodeName": "n",
                "containers": [{"name": "a"}],
                "readinessGates": [{"conditionType": "g/1"}, {"conditionType": "g/2"}, {"conditionType": "g/3"}],
            },
            "status": {
                "phase": "Running",
                "podIP": "10.0.0.1",
                "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
                "nominatedNodeName": "m",
                "conditions": [{"type": "g/1", "status": "True"}, {"type": "g/2", "status": "False"}],
            },
        }),
        json!(["x", "0/1", "Running", "0", "5m", "10.0.0.1", "n", "m", "1/3"]),
    );
}
