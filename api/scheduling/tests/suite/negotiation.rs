//! What is written when drivers' controllers are asked: contexts, and claims in both forms.

use model::claim::ClaimId;
use model::pod::PodId;
use model::timestamp::Timestamp;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use scheduler::write::Write;
use scheduling::request::{Next, RequestError, Seen, Verb, next};
use serde_json::{Value, json};

fn pod() -> PodId {
    PodId { namespace: "ns".into(), name: "p".into() }
}

fn negotiate(selected: Option<&str>) -> Write {
    let potential = vec!["a".into(), "b".into()];
    Write::Negotiate { pod: pod(), uid: "pu".into(), selected: selected.map(Into::into), potential }
}

fn context(owner: &str, selected: &str) -> Value {
    json!({
        "apiVersion": "supercargo.dev/v1alpha1", "kind": "PodSchedulingContext",
        "metadata": {
            "name": "p", "namespace": "ns", "uid": "cu", "resourceVersion": "5", "labels": { "kept": "yes" },
            "ownerReferences": [{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": true }],
        },
        "spec": { "selectedNode": selected, "potentialNodes": ["a", "b"] },
        "status": { "resourceClaims": [{ "name": "c", "unsuitableNodes": ["b"] }] },
    })
}

fn ask(write: &Write, claim: Option<&Value>, context: Option<&Value>) -> Result<Next, RequestError> {
    ask_with(write, claim, context, None)
}

/// The same with a class that all claims name.
fn ask_with(
    write: &Write,
    claim: Option<&Value>,
    context: Option<&Value>,
    class: Option<&DeviceClass>,
) -> Result<Next, RequestError> {
    let claim: Option<ResourceClaim> = claim.map(|one| serde_json::from_value(one.clone()).expect("a claim"));
    let context: Option<PodSchedulingContext> =
        context.map(|one| serde_json::from_value(one.clone()).expect("a context"));
    let seen = Seen {
        claim: claim.as_ref(),
        pod: None,
        users: &[],
        group: None,
        context: context.as_ref(),
        volume: None,
        volume_claim: None,
        class: &|_| class,
        now: Timestamp::from_micros(0),
        allocation_times: false,
    };
    next(write, &seen)
}

#[test]
fn a_context_is_made_for_its_pod_and_changed_without_losing_anything() {
    let Ok(Next::Last(made)) = ask(&negotiate(Some("a")), None, None) else { unreachable!("one call") };
    assert_eq!((made.verb, made.kind, made.name.as_str()), (Verb::Create, "PodSchedulingContext", "p"));
    assert_eq!(made.body["spec"], json!({ "selectedNode": "a", "potentialNodes": ["a", "b"] }));
    let owner = json!([{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "pu", "controller": true }]);
    assert_eq!(made.body["metadata"]["ownerReferences"], owner);

    let known = context("pu", "b");
    let Ok(Next::Last(changed)) = ask(&negotiate(None), None, Some(&known)) else { unreachable!("one call") };
    assert_eq!((changed.verb, &changed.body["metadata"]), (Verb::Update, &known["metadata"]));
    assert!(changed.body["spec"].get("selectedNode").is_none());
    assert_eq!(ask(&negotiate(Some("b")), None, Some(&known)), Ok(Next::Done), "it says so already");
    let others = context("another", "b");
    assert_eq!(ask(&negotiate(None), None, Some(&others)), Err(RequestError::AnotherPods));
}

#[test]
fn a_context_that_is_deleted_is_the_one_that_was_meant() {
    let end = Write::EndNegotiation { pod: pod(), uid: "pu".into() };
    let Ok(Next::Last(call)) = ask(&end, None, Some(&context("pu", ""))) else { unreachable!("one call") };
    assert_eq!((call.verb, &call.body["preconditions"]), (Verb::Delete, &json!({ "uid": "cu" })));
    assert_eq!(ask(&end, None, Some(&context("another", ""))), Ok(Next::Done));
    assert_eq!(ask(&end, None, None), Ok(Next::Done));
}

fn claim(annotations: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {
            "name": "c", "namespace": "ns", "uid": "u", "resourceVersion": "5", "annotations": annotations,
        },
        "spec": {}, "status": status,
    })
}

fn ask_back() -> Write {
    let claim = ClaimId { namespace: "ns".into(), name: "c".into() };
    Write::Deallocate { claim, uid: "u".into(), user: Some("pu".into()) }
}

fn users() -> Value {
    json!([{ "resource": "pods", "name": "p", "uid": "pu" }])
}

#[test]
fn with_fields_devices_are_asked_back_in_one_write() {
    let status = json!({ "controllerName": "d", "allocation": { "devices": {} }, "reservedFor": users() });
    let Ok(Next::Last(call)) = ask(&ask_back(), Some(&claim(&json!({}), &status)), None) else {
        unreachable!("one call")
    };
    assert_eq!(call.subresource, Some("status"));
    // What is empty is not written, and an allocation without devices is one.
    let expected = json!({ "controllerName": "d", "allocation": {}, "deallocationRequested": true });
    assert_eq!(call.body["status"], expected);
    assert_eq!(ask(&ask_back(), Some(&call.body), None), Ok(Next::Done), "the rest is the driver's");
}

#[test]
fn with_annotations_it_is_said_first_and_the_pod_lets_go_then() {
    let status = json!({ "allocation": { "devices": {} }, "reservedFor": users() });
    let noted = claim(&json!({ "supercargo.dev/controller-name": "d" }), &status);
    let Ok(Next::Then(first)) = ask(&ask_back(), Some(&noted), None) else { unreachable!("two calls") };
    assert_eq!(first.subresource, None);
    assert_eq!(first.body["metadata"]["annotations"]["supercargo.dev/deallocation-requested"], "true");
    let Ok(Next::Last(second)) = ask(&ask_back(), Some(&first.body), None) else { unreachable!("one call") };
    assert_eq!(second.subresource, Some("status"));
    assert!(second.body["status"].get("reservedFor").is_none());
    assert!(second.body["status"].get("deallocationRequested").is_none(), "a real server has no such field");
    assert_eq!(ask(&ask_back(), Some(&second.body), None), Ok(Next::Done));
}

/// A claim of a class that is allocated, and nothing says by whom.
fn nameless(finalizers: &Value) -> Value {
    let mut claim = claim(&json!({}), &json!({ "allocation": { "devices": {} }, "reservedFor": users() }));
    claim["metadata"]["finalizers"] = finalizers.clone();
    claim["spec"] =
        json!({ "devices": { "requests": [{ "name": "r", "exactly": { "deviceClassName": "lent" } }] } });
    claim
}

#[test]
fn what_a_driver_allocated_is_asked_back_even_if_its_name_was_lost() {
    let class = |value| serde_json::from_value::<DeviceClass>(value).expect("a class");
    let noted = class(json!({ "metadata": { "annotations": { "supercargo.dev/controller-name": "d" } } }));
    let fields = class(json!({ "spec": { "controllerName": "d" } }));
    let lost = nameless(&json!(["d/deletion-protection"]));
    let asked = |claim: &Value, class: &DeviceClass| ask_with(&ask_back(), Some(claim), None, Some(class));

    let Ok(Next::Then(first)) = asked(&lost, &noted) else { unreachable!("two calls") };
    assert_eq!(first.body["metadata"]["annotations"]["supercargo.dev/deallocation-requested"], "true");
    let Ok(Next::Last(second)) = asked(&first.body, &noted) else { unreachable!("one call") };
    let status = &second.body["status"];
    assert!(status.get("allocation").is_some() && status.get("reservedFor").is_none(), "{status}");
    assert_eq!(asked(&second.body, &noted), Ok(Next::Done), "the rest is the driver's");

    let Ok(Next::Last(call)) = asked(&lost, &fields) else { unreachable!("one call") };
    assert_eq!(call.body["status"], json!({ "allocation": {}, "deallocationRequested": true }));

    // A scheduler allocated it before its class named a controller.
    let ours = nameless(&json!(["resource.kubernetes.io/delete-protection"]));
    for class in [Some(&noted), Some(&fields), None] {
        let Ok(Next::Last(call)) = ask_with(&ask_back(), Some(&ours), None, class) else {
            unreachable!("one call")
        };
        assert!(call.body.get("status").is_none_or(|status| status.get("allocation").is_none()));
    }
}
