//! Volumes and claims for them as calls.

use model::timestamp::Timestamp;
use model::volume::VolumeClaimId;
use objects::Object as _;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use scheduler::write::Write;
use scheduling::request::{ApiCall, Next, RequestError, Seen, Verb, next};
use serde_json::{Value, json};

fn ask(write: &Write, volume: Option<&Value>, claim: Option<&Value>) -> Result<Next, RequestError> {
    let volume = volume.map(|one| PersistentVolume::read_value(one).expect("a volume"));
    let volume_claim = claim.map(|one| PersistentVolumeClaim::read_value(one).expect("a claim"));
    let seen = Seen {
        claim: None,
        pod: None,
        users: &[],
        group: None,
        context: None,
        volume: volume.as_ref(),
        volume_claim: volume_claim.as_ref(),
        class: &|_| None,
        now: Timestamp::from_micros(0),
        allocation_times: false,
    };
    next(write, &seen)
}

fn id() -> VolumeClaimId {
    VolumeClaimId { namespace: "ns".into(), name: "c".into() }
}

fn bind() -> Write {
    let (volume, uid, claim_uid) = ("v".into(), "vu".into(), "cu".into());
    Write::BindVolume { volume, uid, claim: id(), claim_uid, pod: "pu".into() }
}

fn select() -> Write {
    Write::SelectNode { claim: id(), uid: "cu".into(), node: "n".into(), pod: "pu".into() }
}

fn volume(owner: &Value) -> Value {
    json!({ "metadata": { "name": "v", "uid": "vu", "resourceVersion": "7" }, "spec": { "claimRef": owner } })
}

fn claim(annotations: &Value, volume: &str) -> Value {
    json!({
        "metadata": { "name": "c", "namespace": "ns", "uid": "cu", "resourceVersion": "8", "annotations": annotations },
        "spec": { "volumeName": volume },
    })
}

fn last(next: Result<Next, RequestError>) -> ApiCall {
    match next {
        Ok(Next::Last(call)) => call,
        other => unreachable!("one call was expected, not {other:?}"),
    }
}

#[test]
fn a_volume_is_noted_as_one_for_a_claim_in_the_version_that_was_read() {
    let call = last(ask(&bind(), Some(&volume(&json!(null))), None));
    assert_eq!(
        (call.verb, call.kind, call.name.as_str(), call.namespace.as_str()),
        (Verb::Patch, "PersistentVolume", "v", "")
    );
    let metadata = json!({
        "uid": "vu", "resourceVersion": "7", "annotations": { "pv.kubernetes.io/bound-by-controller": "yes" },
    });
    assert_eq!(call.body["metadata"], metadata);
    let owner = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "ns", "name": "c", "uid": "cu" });
    assert_eq!(call.body["spec"], json!({ "claimRef": owner }));
    // What somebody noted by hand gets its uid, and stays theirs.
    let by_hand = volume(&json!({ "namespace": "ns", "name": "c" }));
    let call = last(ask(&bind(), Some(&by_hand), None));
    assert_eq!(
        (&call.body["metadata"]["annotations"], &call.body["spec"]["claimRef"]["uid"]),
        (&Value::Null, &json!("cu"))
    );
}

#[test]
fn a_volume_that_another_claim_has_is_left_alone() {
    let owned = |name: &str, uid: &str| volume(&json!({ "namespace": "ns", "name": name, "uid": uid }));
    assert_eq!(
        ask(&bind(), Some(&owned("c", "cu")), None),
        Ok(Next::Done),
        "a call without an answer was carried out"
    );
    let other = ask(&bind(), Some(&owned("d", "du")), None);
    assert_eq!(
        other.map_err(|error| error.to_string()),
        Err("it was bound to claim ns/d concurrently".to_owned())
    );
    assert!(ask(&bind(), Some(&owned("c", "former")), None).is_err());
    assert_eq!(ask(&bind(), None, None), Err(RequestError::Gone));
    let mut another = owned("c", "cu");
    another["metadata"]["uid"] = json!("another");
    assert_eq!(ask(&bind(), Some(&another), None), Err(RequestError::Gone));
}

#[test]
fn a_node_is_selected_for_a_claim_unless_it_has_one_or_has_a_volume() {
    const SELECTED: &str = "volume.kubernetes.io/selected-node";
    let call = last(ask(&select(), None, Some(&claim(&json!({ "a": "b" }), ""))));
    assert_eq!(
        (call.verb, call.kind, call.name.as_str(), call.namespace.as_str()),
        (Verb::Patch, "PersistentVolumeClaim", "c", "ns")
    );
    let body =
        json!({ "metadata": { "uid": "cu", "resourceVersion": "8", "annotations": { SELECTED: "n" } } });
    assert_eq!(call.body, body);
    let told = |annotations: &Value, volume: &str| {
        ask(&select(), None, Some(&claim(annotations, volume))).map_err(|error| error.to_string())
    };
    assert_eq!(told(&json!({ SELECTED: "n" }), ""), Ok(Next::Done));
    assert_eq!(
        told(&json!({ SELECTED: "m" }), ""),
        Err("node m was selected for it concurrently".to_owned())
    );
    assert_eq!(told(&json!({}), "v"), Err("it was bound to volume v concurrently".to_owned()));
}
