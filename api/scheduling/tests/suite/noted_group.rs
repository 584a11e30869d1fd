//! What is noted on groups.

use model::group::GroupId;
use model::timestamp::Timestamp;
use objects::scheduling::pod_group::PodGroup;
use scheduler::write::{GroupState, WaitReason, Write};
use scheduling::request::{Next, RequestError, Seen, Verb, next};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn object(condition: Option<Value>) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": { "name": "g", "namespace": "ns", "uid": "gu", "generation": 3, "resourceVersion": "7" },
        "status": { "conditions": condition.into_iter().collect::<Vec<_>>() },
    })
}

fn condition(status: &str, reason: &str, message: &str, generation: i64) -> Value {
    json!({
        "type": "PodGroupInitiallyScheduled", "status": status, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": "2026-01-02T03:04:05Z",
    })
}

fn noted(state: GroupState, object: Option<&Value>) -> Result<Next, RequestError> {
    let group: Option<PodGroup> =
        object.map(|object| serde_json::from_value(object.clone()).expect("a good group"));
    let id = GroupId { namespace: "ns".into(), name: "g".into() };
    let seen = Seen {
        claim: None,
        pod: None,
        users: &[],
        group: group.as_ref(),
        context: None,
        volume: None,
        volume_claim: None,
        class: &|_| None,
        now: NOW,
        allocation_times: false,
    };
    next(&Write::NoteGroup { group: id, uid: "gu".into(), state }, &seen)
}

fn waiting(message: &str) -> GroupState {
    GroupState::Waiting { reason: WaitReason::Unschedulable, message: message.to_owned() }
}

#[test]
fn a_condition_is_written_for_the_version_that_was_seen() {
    let Ok(Next::Last(call)) = noted(waiting("no room"), Some(&object(None))) else {
        panic!("it is one call")
    };
    assert_eq!((call.verb, call.kind, call.subresource), (Verb::Patch, "PodGroup", Some("status")));
    assert_eq!(call.body["metadata"], json!({ "uid": "gu", "resourceVersion": "7" }));
    let mut expected = condition("False", "Unschedulable", "no room", 3);
    expected["lastTransitionTime"] = json!("2027-01-15T08:00:00Z");
    assert_eq!(call.body["status"]["conditions"], json!([expected]));
}

#[test]
fn a_condition_keeps_its_time_while_its_status_stays() {
    let before = object(Some(condition("False", "Unschedulable", "less room", 3)));
    let Ok(Next::Last(call)) = noted(waiting("no room"), Some(&before)) else {
        unreachable!("it is one call")
    };
    assert_eq!(call.body["status"]["conditions"][0]["lastTransitionTime"], "2026-01-02T03:04:05Z");
    let Ok(Next::Last(call)) = noted(GroupState::Placed, Some(&before)) else {
        unreachable!("it is one call")
    };
    let said = &call.body["status"]["conditions"][0];
    assert_eq!(
        (&said["status"], &said["reason"], &said["message"]),
        (&json!("True"), &json!("Scheduled"), &json!(""))
    );
    assert_eq!(said["lastTransitionTime"], "2027-01-15T08:00:00Z");
}

#[test]
fn what_is_said_is_not_said_again_and_what_was_placed_stays_so() {
    let same = object(Some(condition("False", "Unschedulable", "no room", 3)));
    assert_eq!(noted(waiting("no room"), Some(&same)), Ok(Next::Done));
    let older = object(Some(condition("False", "Unschedulable", "no room", 2)));
    assert!(matches!(noted(waiting("no room"), Some(&older)), Ok(Next::Last(_))), "of another generation");
    let placed = object(Some(condition("True", "Scheduled", "", 1)));
    assert_eq!(noted(waiting("no room"), Some(&placed)), Ok(Next::Done));
    assert_eq!(noted(GroupState::Placed, Some(&placed)), Ok(Next::Done));
    assert_eq!(noted(GroupState::Placed, None), Err(RequestError::Gone));
}
