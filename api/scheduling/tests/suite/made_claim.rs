//! Calls for claims that are made for resources by name, played to the end.

use convert::change::{CLAIM_FINALIZER, EXTENDED_ANNOTATION, claim_state};
use model::allocation::{Allocation, Grant};
use model::claim::{Amount, Ask, ClaimId, ClaimSpec, Request, Wish};
use model::device::{Binding, DeviceId};
use model::pod::PodId;
use model::timestamp::Timestamp;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::annotations::COMPATIBILITY_GROUPS;
use scheduler::write::{RequestMapping, Write};
use scheduling::request::{ApiCall, Next, RequestError, Seen, Verb, next, undo};
use serde_json::{Value, json};

fn write() -> Write {
    let ask = Ask {
        class: "gpu".into(),
        selectors: Vec::new(),
        amount: Amount::Exactly(2),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    };
    let grant = |device: &str| Grant {
        request: "container-0-request-0".into(),
        device: DeviceId { driver: "d".into(), pool: "p".into(), device: device.into() },
        admin_access: false,
        share: Some(Default::default()),
        tolerations: Vec::new(),
        binding: Binding::default(),
        skip_node_operations: Vec::new(),
        groups: [].into(),
    };
    Write::MakeClaim {
        pod: PodId { namespace: "ns".into(), name: "p".into() },
        uid: "pu".into(),
        spec: Box::new(ClaimSpec {
            requests: vec![Request { name: "container-0-request-0".into(), wish: Wish::Exactly(ask) }],
            ..ClaimSpec::default()
        }),
        allocation: Box::new(Allocation {
            grants: vec![grant("a"), grant("b")],
            configs: Vec::new(),
            nodes: None,
        }),
        shares: vec!["s0".into(), "s1".into()],
        mappings: vec![RequestMapping {
            container: "c".into(),
            resource: "example.com/gpu".into(),
            request: "container-0-request-0".into(),
        }],
    }
}

fn pod() -> Value {
    json!({ "metadata": { "name": "p", "namespace": "ns", "uid": "pu" } })
}

/// Asks with a claim, a pod and what to ask.
fn with<T>(claim: Option<&Value>, pod: Option<&Value>, ask: impl FnOnce(&Seen<'_>) -> T) -> T {
    let claim: Option<ResourceClaim> = claim.map(|one| serde_json::from_value(one.clone()).expect("a claim"));
    let pod: Option<Pod> = pod.map(|one| serde_json::from_value(one.clone()).expect("a pod"));
    let now = Timestamp::from_micros(1_790_000_000_000_000);
    ask(&Seen {
        claim: claim.as_ref(),
        pod: pod.as_ref(),
        users: &[],
        group: None,
        context: None,
        volume: None,
        volume_claim: None,
        class: &|_| None,
        now,
        allocation_times: false,
    })
}

fn then(claim: Option<&Value>) -> ApiCall {
    then_of(&write(), claim)
}

fn then_of(write: &Write, claim: Option<&Value>) -> ApiCall {
    match with(claim, Some(&pod()), |seen| next(write, seen)) {
        Ok(Next::Then(call)) => call,
        other => unreachable!("there is more to come than {other:?}"),
    }
}

/// The claim as the API would have made it.
fn created(call: &ApiCall) -> Value {
    let mut claim = call.body.clone();
    claim["metadata"]["name"] = json!("p-extended-resources-x");
    claim["metadata"]["uid"] = json!("cu");
    claim["metadata"]["resourceVersion"] = json!("5");
    claim
}

#[test]
fn a_claim_that_is_made_has_the_groups_of_its_devices_noted_by_the_call_that_protects_it() {
    let mut write = write();
    let Write::MakeClaim { allocation, .. } = &mut write else { unreachable!("it is one") };
    allocation.grants[1].groups = [("set".into(), vec!["mig".into()])].into();
    let claim = created(&then_of(&write, None));
    let protect = then_of(&write, Some(&claim));
    assert_eq!((protect.verb, protect.subresource), (Verb::Update, None));
    assert_eq!(protect.body["metadata"]["finalizers"], json!([CLAIM_FINALIZER]));
    let note = r#"[{"request":"container-0-request-0","driver":"d","pool":"p","device":"b","shareID":"s1","groups":{"set":["mig"]}}]"#;
    let annotations = json!({ EXTENDED_ANNOTATION: "true", COMPATIBILITY_GROUPS: note });
    assert_eq!(protect.body["metadata"]["annotations"], annotations);
    let give = then_of(&write, Some(&protect.body));
    assert_eq!((give.verb, give.subresource), (Verb::Update, Some("status")));
    // Whoever takes the protection away of what has devices does not keep it off.
    let mut bare = give.body.clone();
    bare["metadata"]["finalizers"] = json!([]);
    assert_eq!(then_of(&write, Some(&bare)).body["metadata"]["finalizers"], json!([CLAIM_FINALIZER]));
}

#[test]
fn a_claim_is_made_protected_and_given_its_devices_before_the_pod_names_it() {
    let create = then(None);
    assert_eq!((create.verb, create.kind, create.subresource), (Verb::Create, "ResourceClaim", None));
    assert_eq!((create.namespace.as_str(), create.name.as_str()), ("ns", ""));
    let expected = json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "namespace": "ns",
            "generateName": "p-extended-resources-",
            "annotations": { "resource.kubernetes.io/extended-resource-claim": "true" },
            "ownerReferences": [
                { "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "pu", "controller": true },
            ],
        },
        "spec": { "devices": { "requests": [{
            "name": "container-0-request-0",
            "exactly": { "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2 },
        }] } },
    });
    assert_eq!(create.body, expected);

    let claim = created(&create);
    let object = serde_json::from_value(claim.clone()).expect("a claim");
    let state = claim_state(&object).expect("it has a uid");
    assert_eq!((state.extended, state.owner.as_deref()), (true, Some("pu")));

    let protect = then(Some(&claim));
    assert_eq!((protect.verb, protect.subresource), (Verb::Update, None));
    assert_eq!(protect.body["metadata"]["finalizers"], json!([CLAIM_FINALIZER]));

    let give = then(Some(&protect.body));
    assert_eq!((give.verb, give.subresource), (Verb::Update, Some("status")));
    let results = give.body["status"]["allocation"]["devices"]["results"].as_array().expect("devices");
    let shares: Vec<&Value> = results.iter().map(|result| &result["shareID"]).collect();
    assert_eq!(shares, ["s0", "s1"]);
    let user = json!([{ "resource": "pods", "name": "p", "uid": "pu" }]);
    assert_eq!(give.body["status"]["reservedFor"], user);

    let note = with(Some(&give.body), Some(&pod()), |seen| next(&write(), seen));
    let Ok(Next::Last(note)) = note else { unreachable!("one call is left, not {note:?}") };
    assert_eq!((note.verb, note.kind, note.subresource), (Verb::Patch, "Pod", Some("status")));
    let status = json!({
        "resourceClaimName": "p-extended-resources-x",
        "requestMappings": [{
            "containerName": "c", "resourceName": "example.com/gpu", "requestName": "container-0-request-0",
        }],
    });
    let expected =
        json!({ "metadata": { "uid": "pu" }, "status": { "extendedResourceClaimStatus": status } });
    assert_eq!(note.body, expected);

    let mut noted = pod();
    noted["status"] = json!({ "extendedResourceClaimStatus": status });
    let done = with(Some(&give.body), Some(&noted), |seen| next(&write(), seen));
    assert_eq!(done, Ok(Next::Done));
}

#[test]
fn nothing_is_made_for_a_pod_that_is_gone() {
    let mut another = pod();
    another["metadata"]["uid"] = json!("later");
    for pod in [None, Some(&another)] {
        assert_eq!(with(None, pod, |seen| next(&write(), seen)), Err(RequestError::Gone));
    }
}

#[test]
fn what_was_made_is_deleted_if_the_rest_cannot_be_done() {
    assert_eq!(with(None, None, |seen| undo(&write(), seen)), Next::Done);
    let mut claim = created(&then(None));
    claim["metadata"]["finalizers"] = json!([CLAIM_FINALIZER, "other"]);
    let Next::Then(free) = with(Some(&claim), None, |seen| undo(&write(), seen)) else {
        unreachable!("it is protected")
    };
    assert_eq!((free.verb, free.subresource), (Verb::Update, None));
    assert_eq!(free.body["metadata"]["finalizers"], json!(["other"]));
    let Next::Last(delete) = with(Some(&free.body), None, |seen| undo(&write(), seen)) else {
        unreachable!("it is there")
    };
    assert_eq!((delete.verb, delete.name.as_str()), (Verb::Delete, "p-extended-resources-x"));
    assert_eq!(delete.body["preconditions"]["uid"], "cu");
}

#[test]
fn a_claim_is_deleted_once_and_only_if_it_is_the_one_that_was_meant() {
    let id = ClaimId { namespace: "ns".into(), name: "p-extended-resources-x".into() };
    let write = |uid: &str| Write::DeleteClaim { claim: id.clone(), uid: uid.into() };
    let claim = created(&then(None));
    let ask = |claim: Option<&Value>, uid: &str| with(claim, None, |seen| next(&write(uid), seen));
    assert!(matches!(ask(Some(&claim), "cu"), Ok(Next::Last(_))));
    assert_eq!(ask(Some(&claim), "earlier"), Ok(Next::Done));
    assert_eq!(ask(None, "cu"), Ok(Next::Done));
    let mut leaving = claim;
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    assert_eq!(ask(Some(&leaving), "cu"), Ok(Next::Done));
}

#[test]
fn claims_are_marked_by_the_annotation_alone() {
    let mut claim = created(&then(None));
    claim["metadata"]["annotations"][EXTENDED_ANNOTATION] = json!("no");
    let state = claim_state(&serde_json::from_value(claim).expect("a claim")).expect("it has a uid");
    assert!(!state.extended);
}
