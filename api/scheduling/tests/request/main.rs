//! Calls: what a write means in the API, by table.

mod groups;

use std::sync::Arc;

use convert::change::CLAIM_FINALIZER;
use model::allocation::{Allocation, Grant};
use model::claim::ClaimId;
use model::device::{Binding, DeviceId};
use model::pod::{Landing, PodId, Together};
use model::timestamp::Timestamp;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use scheduler::write::{ClaimFootprint, Consumer, Preemptor, WaitReason, Write};
use scheduling::request::{ApiCall, Next, RequestError, Seen, Verb, next, users};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

fn consumer() -> Consumer {
    Consumer { name: "p".into(), uid: "pu".into(), group: None }
}

fn claim_id() -> ClaimId {
    ClaimId { namespace: "ns".into(), name: "c".into() }
}

fn pod_id() -> PodId {
    PodId { namespace: "ns".into(), name: "p".into() }
}

fn allocate() -> Write {
    let grant = |device: &str, shared: bool| Grant {
        request: "r".into(),
        device: DeviceId { driver: "d".into(), pool: "p".into(), device: device.into() },
        admin_access: false,
        share: shared.then(Default::default),
        tolerations: Vec::new(),
        binding: Binding::default(),
        skip_node_operations: Vec::new(),
        groups: [].into(),
    };
    let grants = vec![grant("whole", false), grant("part", true)];
    Write::Allocate {
        claim: claim_id(),
        uid: "cu".into(),
        version: "5".into(),
        allocation: Box::new(Allocation { grants, configs: Vec::new(), nodes: None }),
        shares: vec!["share".into()],
        consumers: vec![consumer()],
    }
}

fn reserve() -> Write {
    Write::Reserve { claim: claim_id(), uid: "cu".into(), consumers: vec![consumer()] }
}

fn note(message: &str) -> Write {
    let reason = WaitReason::Unschedulable;
    Write::Note { pod: pod_id(), uid: "pu".into(), reason, message: message.to_owned() }
}

fn claim(finalizers: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {
            "name": "c", "namespace": "ns", "uid": "cu", "resourceVersion": "5", "finalizers": finalizers,
        },
        "spec": { "devices": { "requests": [{ "name": "r", "unheard-of": true }] } },
        "status": status,
    })
}

fn pod(conditions: &Value) -> Value {
    json!({ "metadata": { "name": "p", "namespace": "ns", "uid": "pu" }, "status": { "conditions": conditions } })
}

fn ask(write: &Write, claim: Option<&Value>, pod: Option<&Value>) -> Result<Next, RequestError> {
    let claim: Option<ResourceClaim> = claim.map(|one| serde_json::from_value(one.clone()).expect("a claim"));
    let pod: Option<Pod> = pod.map(|one| serde_json::from_value(one.clone()).expect("a pod"));
    let users: Vec<Arc<Pod>> = pod.clone().map(Arc::new).into_iter().collect();
    let seen = Seen {
        claim: claim.as_ref(),
        pod: pod.as_ref(),
        users: &users,
        group: None,
        context: None,
        volume: None,
        volume_claim: None,
        class: &|_| None,
        now: NOW,
        allocation_times: false,
    };
    next(write, &seen)
}

fn last(next: Result<Next, RequestError>) -> ApiCall {
    match next {
        Ok(Next::Last(call)) => call,
        other => unreachable!("one call was expected, not {other:?}"),
    }
}

fn allocated(reserved_for: &Value) -> Value {
    json!({ "allocation": { "devices": {} }, "reservedFor": reserved_for })
}

#[test]
fn a_claim_is_protected_before_it_gets_devices_and_loses_nothing() {
    let bare = claim(&json!(["other"]), &json!({}));
    let Ok(Next::Then(first)) = ask(&allocate(), Some(&bare), None) else {
        unreachable!("two calls are due")
    };
    assert_eq!((first.verb, first.kind, first.subresource), (Verb::Update, "ResourceClaim", None));
    assert_eq!((first.namespace.as_str(), first.name.as_str()), ("ns", "c"));
    assert_eq!(first.body["metadata"]["finalizers"], json!(["other", CLAIM_FINALIZER]));
    assert_eq!(first.body["metadata"]["resourceVersion"], "5", "nothing unseen is overwritten");
    assert_eq!(first.body["spec"], bare["spec"]);
    assert!(first.body["status"].get("allocation").is_none());

    let second = last(ask(&allocate(), Some(&first.body), None));
    assert_eq!(
        (second.verb, second.kind, second.subresource),
        (Verb::Update, "ResourceClaim", Some("status"))
    );
    let device = |name: &str| json!({ "request": "r", "driver": "d", "pool": "p", "device": name });
    let mut part = device("part");
    part["shareID"] = json!("share");
    let expected = json!({
        "allocation": { "devices": { "results": [device("whole"), part] } },
        "reservedFor": [{ "resource": "pods", "name": "p", "uid": "pu" }],
    });
    assert_eq!(second.body["status"], expected);
    assert_eq!(second.body["spec"], bare["spec"]);
}

#[test]
fn an_allocation_says_when_it_was_made_if_that_is_wanted() {
    let object = claim(&json!([CLAIM_FINALIZER]), &json!({}));
    let object: ResourceClaim = serde_json::from_value(object).expect("a claim");
    let seen = Seen {
        claim: Some(&object),
        pod: None,
        users: &[],
        group: None,
        context: None,
        volume: None,
        volume_claim: None,
        class: &|_| None,
        now: NOW,
        allocation_times: true,
    };
    let call = last(next(&allocate(), &seen));
    assert_eq!(call.body["status"]["allocation"]["allocationTimestamp"], json!(NOW.to_string()));
}

#[test]
fn a_reservation_is_added_to_the_others_once() {
    let other = json!({ "resource": "pods", "name": "q", "uid": "qu" });
    let ours = json!({ "resource": "pods", "name": "p", "uid": "pu" });
    let object = claim(&json!([]), &allocated(&json!([other])));
    let call = last(ask(&reserve(), Some(&object), None));
    assert_eq!((call.verb, call.subresource), (Verb::Update, Some("status")));
    assert_eq!(call.body["status"]["reservedFor"], json!([other, ours]));
    assert_eq!(ask(&reserve(), Some(&call.body), None), Ok(Next::Done));
}

/// Those for whom one write reserves a claim.
fn several() -> Vec<Consumer> {
    let named = |name: &str| Consumer { name: name.into(), uid: format!("{name}u").into(), group: None };
    ["p", "q", "r"].map(named).into()
}

fn entry(name: &str) -> Value {
    json!({ "resource": "pods", "name": name, "uid": format!("{name}u") })
}

#[test]
fn one_write_reserves_for_several_and_keeps_what_others_wrote_meanwhile() {
    let all = Write::Reserve { claim: claim_id(), uid: "cu".into(), consumers: several() };
    // One of them and a stranger are there already.
    let object = claim(&json!([]), &allocated(&json!([entry("x"), entry("q")])));
    let call = last(ask(&all, Some(&object), None));
    assert_eq!(call.body["status"]["reservedFor"], json!([entry("x"), entry("q"), entry("p"), entry("r")]));
    assert_eq!(ask(&all, Some(&call.body), None), Ok(Next::Done));

    let mut all = allocate();
    if let Write::Allocate { consumers, .. } = &mut all {
        *consumers = several();
    }
    let protected = claim(&json!([CLAIM_FINALIZER]), &json!({}));
    let mut call = last(ask(&all, Some(&protected), None));
    assert_eq!(call.body["status"]["reservedFor"], json!([entry("p"), entry("q"), entry("r")]));
    assert_eq!(ask(&all, Some(&call.body), None), Ok(Next::Done), "an answer that got lost");
    // It was carried out, and somebody took an entry away before that was known.
    call.body["status"]["reservedFor"] = json!([entry("p"), entry("r")]);
    let again = last(ask(&all, Some(&call.body), None));
    assert_eq!(again.body["status"]["reservedFor"], json!([entry("p"), entry("r"), entry("q")]));
    assert_eq!(again.body["status"]["allocation"], call.body["status"]["allocation"]);
    call.body["status"]["reservedFor"] = json!([entry("x")]);
    assert_eq!(ask(&all, Some(&call.body), None), Err(RequestError::Allocated), "they are a stranger's");
}

#[test]
fn one_write_releases_several_but_for_those_that_somebody_bound() {
    let write = Write::Release { claim: claim_id(), uid: "cu".into(), consumers: several(), node: None };
    let object = claim(&json!([]), &allocated(&json!([entry("x"), entry("r"), entry("p")])));
    let typed: ResourceClaim = serde_json::from_value(object.clone()).expect("a claim");
    let names: Vec<String> = users(&write, &typed).iter().map(|pod| pod.name.to_string()).collect();
    assert_eq!(names, ["r", "p"], "those that are reserved have to be read");
    let call = last(ask(&write, Some(&object), Some(&pod_at("", "Pending", "pu"))));
    let taken = |uid: &str| json!({ "$patch": "delete", "uid": uid });
    assert_eq!(call.body["status"]["reservedFor"], json!([taken("pu"), taken("ru")]));
    let call = last(ask(&write, Some(&object), Some(&pod_at("n", "Running", "pu"))));
    assert_eq!(call.body["status"]["reservedFor"], json!([taken("ru")]));
}

#[test]
fn writes_to_claims_that_have_changed_come_too_late() {
    let bare = claim(&json!([]), &json!({}));
    let with_devices = claim(&json!([]), &allocated(&json!([])));
    let mut another = bare.clone();
    another["metadata"]["uid"] = json!("later");
    let mut deleting = with_devices.clone();
    deleting["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    let table = [
        (allocate(), None, RequestError::Gone),
        (allocate(), Some(&another), RequestError::Gone),
        (allocate(), Some(&deleting), RequestError::Deleting),
        (allocate(), Some(&with_devices), RequestError::Allocated),
        (reserve(), None, RequestError::Gone),
        (reserve(), Some(&deleting), RequestError::Deleting),
        (reserve(), Some(&bare), RequestError::Deallocated),
    ];
    for (write, object, error) in table {
        assert_eq!(ask(&write, object, None), Err(error), "{write:?}");
    }
}

/// A release of a claim from a pod that cannot use it on a node, or that is on none.
fn release(node: Option<&str>) -> Write {
    let (claim, uid, consumers) = (claim_id(), "cu".into(), vec![consumer()]);
    Write::Release { claim, uid, consumers, node: node.map(Into::into) }
}

fn pod_at(node: &str, phase: &str, uid: &str) -> Value {
    let metadata = json!({ "name": "p", "namespace": "ns", "uid": uid });
    json!({ "metadata": metadata, "spec": { "nodeName": node }, "status": { "phase": phase } })
}

#[test]
fn a_release_takes_one_entry_of_one_claim_and_asks_for_nothing_else() {
    let write = release(None);
    let expected = ApiCall {
        verb: Verb::Patch,
        kind: "ResourceClaim",
        namespace: "ns".to_owned(),
        name: "c".to_owned(),
        subresource: Some("status"),
        body: json!({
            "metadata": { "uid": "cu", "resourceVersion": "5" },
            "status": { "reservedFor": [{ "$patch": "delete", "uid": "pu" }] },
        }),
    };
    let reserved = |uid: &str| {
        claim(&json!([]), &json!({ "reservedFor": [{ "resource": "pods", "name": "p", "uid": uid }] }))
    };
    let call = last(ask(&write, Some(&reserved("pu")), None));
    assert_eq!(call, expected, "a late call takes nothing that was reserved since");
    assert_eq!(ask(&write, Some(&reserved("another")), None), Ok(Next::Done));
    assert_eq!(ask(&write, None, None), Err(RequestError::Gone), "it is read first");
}

#[test]
fn a_claim_loses_its_devices_only_if_nobody_else_uses_it() {
    let write = Write::Deallocate { claim: claim_id(), uid: "cu".into(), user: Some("pu".into()) };
    let user = |uid: &str| json!({ "resource": "pods", "name": "p", "uid": uid });
    for users in [json!([]), json!([user("pu")])] {
        let mut status = allocated(&users);
        status["devices"] = json!([{ "driver": "d", "pool": "p", "device": "a" }]);
        let object = claim(&json!([CLAIM_FINALIZER]), &status);
        let call = last(ask(&write, Some(&object), None));
        assert_eq!((call.verb, call.subresource), (Verb::Update, Some("status")));
        let status = call.body.get("status").and_then(Value::as_object);
        assert!(status.is_none_or(serde_json::Map::is_empty), "{status:?}");
        assert_eq!(call.body["metadata"], object["metadata"], "nothing unseen is overwritten");
    }
    let used = claim(&json!([]), &allocated(&json!([user("pu"), user("qu")])));
    assert_eq!(ask(&write, Some(&used), None), Err(RequestError::Used));
    assert_eq!(ask(&write, Some(&claim(&json!([]), &json!({}))), None), Ok(Next::Done));
    assert_eq!(ask(&write, None, None), Err(RequestError::Gone));
}

#[test]
fn a_claim_keeps_its_devices_if_somebody_bound_its_pod_meanwhile() {
    let write = Write::Deallocate { claim: claim_id(), uid: "cu".into(), user: Some("pu".into()) };
    let reserved = claim(&json!([]), &allocated(&json!([{ "resource": "pods", "name": "p", "uid": "pu" }])));
    let typed: ResourceClaim = serde_json::from_value(reserved.clone()).expect("a claim");
    assert_eq!(users(&write, &typed), [pod_id()], "the pod has to be read");
    let stranger = Write::Deallocate { claim: claim_id(), uid: "cu".into(), user: None };
    assert_eq!(users(&stranger, &typed), []);

    for phase in ["Pending", "Running"] {
        let bound = pod_at("n", phase, "pu");
        assert_eq!(ask(&write, Some(&reserved), Some(&bound)), Err(RequestError::Used), "{phase}");
    }
    for harmless in
        [pod_at("", "Pending", "pu"), pod_at("n", "Failed", "pu"), pod_at("n", "Running", "another")]
    {
        last(ask(&write, Some(&reserved), Some(&harmless)));
    }
}

#[test]
fn a_pod_keeps_its_reservation_if_somebody_bound_it_meanwhile() {
    let reserved = claim(&json!([]), &allocated(&json!([{ "resource": "pods", "name": "p", "uid": "pu" }])));
    let typed: ResourceClaim = serde_json::from_value(reserved.clone()).expect("a claim");
    let (away, from_n) = (release(None), release(Some("n")));
    assert_eq!(users(&away, &typed), [pod_id()], "the pod has to be read");
    for phase in ["Pending", "Running"] {
        let bound = pod_at("n", phase, "pu");
        assert_eq!(ask(&away, Some(&reserved), Some(&bound)), Err(RequestError::Used), "{phase}");
        last(ask(&from_n, Some(&reserved), Some(&bound)));
        let elsewhere = pod_at("m", phase, "pu");
        assert_eq!(ask(&from_n, Some(&reserved), Some(&elsewhere)), Err(RequestError::Used), "{phase}");
    }
    for harmless in
        [pod_at("", "Pending", "pu"), pod_at("n", "Failed", "pu"), pod_at("n", "Running", "another")]
    {
        last(ask(&away, Some(&reserved), Some(&harmless)));
    }
}

#[test]
fn what_devices_take_of_a_node_replaces_what_was_noted_before() {
    let amount = |text: &str| text.parse().expect("an amount");
    let footprint = ClaimFootprint {
        claim: "c".into(),
        containers: vec!["one".into()],
        mapping: [("cpu".into(), amount("2"))].into(),
        overhead: [("memory".into(), (Some(amount("1Gi")), None))].into(),
    };
    let write = |claims: &[ClaimFootprint]| Write::NoteResources {
        pod: pod_id(),
        uid: "pu".into(),
        claims: claims.to_vec(),
    };
    let plain = pod(&json!([]));
    let call = last(ask(&write(std::slice::from_ref(&footprint)), None, Some(&plain)));
    assert_eq!((call.verb, call.kind, call.subresource), (Verb::Patch, "Pod", Some("status")));
    let noted = json!({
        "resourceClaimName": "c", "containers": ["one"],
        "mapping": [{ "name": "cpu", "quantity": "2" }], "overhead": [{ "name": "memory", "perPod": "1Gi" }],
    });
    let list = json!([{ "$patch": "replace" }, noted]);
    let status = json!({ "nodeAllocatableResourceClaimStatuses": list });
    assert_eq!(call.body, json!({ "metadata": { "uid": "pu" }, "status": status }));
    assert_eq!(ask(&write(&[]), None, Some(&plain)), Ok(Next::Done));
    let mut known = plain;
    known["status"]["nodeAllocatableResourceClaimStatuses"] = json!([noted]);
    assert_eq!(ask(&write(&[footprint]), None, Some(&known)), Ok(Next::Done));
    let clear = last(ask(&write(&[]), None, Some(&known)));
    let list = &clear.body["status"]["nodeAllocatableResourceClaimStatuses"];
    assert_eq!(*list, json!([{ "$patch": "replace" }]));
}

#[test]
fn a_pod_is_bound_by_a_binding_of_its_uid() {
    let write = Write::Bind { pod: pod_id(), uid: "pu".into(), node: "n".into(), together: None };
    let call = last(ask(&write, None, None));
    assert_eq!((call.verb, call.kind, call.subresource), (Verb::Create, "Pod", Some("binding")));
    let expected = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": { "namespace": "ns", "name": "p", "uid": "pu" },
        "target": { "apiVersion": "v1", "kind": "Node", "name": "n" },
    });
    assert_eq!(call.body, expected);
}

#[test]
fn who_was_bound_together_is_noted_with_the_binding_and_read_from_the_pod() {
    let youngest = Timestamp::from_micros(1_700_000_000_000_000);
    let bind = |together: &Together| {
        let together = Some(together.clone());
        let write = Write::Bind { pod: pod_id(), uid: "pu".into(), node: "n".into(), together };
        last(ask(&write, None, None)).body["metadata"]["annotations"].clone()
    };
    let alone = Together { youngest, left_out: Arc::new([]) };
    assert_eq!(bind(&alone), json!({ "supercargo.dev/bound-together": "2023-11-14T22:13:20Z" }));
    let together = Together { youngest, left_out: ["u1".into(), "u2".into()].into() };
    let annotations = &bind(&together);
    let noted = json!({ "supercargo.dev/bound-together": "2023-11-14T22:13:20Z",
        "supercargo.dev/not-bound-together": "u1,u2" });
    assert_eq!(*annotations, noted);
    let landing = |pod: &Value| {
        let pod: Pod = serde_json::from_value(pod.clone()).expect("a pod");
        convert::pod(&pod).expect("it has a name").landing
    };
    let mut bound = pod(&json!([]));
    assert_eq!(landing(&bound), None);
    bound["metadata"]["annotations"] = annotations.clone();
    assert_eq!(landing(&bound), Some(Landing { together: together.clone(), is_over: false }));
    // What is said of it before it is deleted is read back.
    let Ok(Next::Then(said)) = ask(&evict(Preemptor::OwnGang), None, Some(&bound)) else {
        unreachable!("two calls are due")
    };
    bound["status"]["conditions"] = said.body["status"]["conditions"].clone();
    assert_eq!(landing(&bound), Some(Landing { together, is_over: true }));
}

#[test]
fn a_note_is_the_condition_that_says_why_word_for_word_and_since_when() {
    let message = "0/1 nodes are available: 1 Insufficient cpu.";
    let condition = |reason: &str| json!({ "type": "PodScheduled", "status": "False", "reason": reason, "message": message });
    let mut fresh = condition("Unschedulable");
    fresh["lastTransitionTime"] = json!(NOW.to_string());
    let table = [
        (json!([]), Some(fresh.clone())),
        (json!([{ "type": "PodScheduled", "status": "True" }]), Some(fresh)),
        (json!([condition("SchedulerError")]), Some(condition("Unschedulable"))),
        (json!([condition("Unschedulable")]), None),
    ];
    for (known, expected) in table {
        let next = ask(&note(message), None, Some(&pod(&known)));
        let Some(expected) = expected else {
            assert_eq!(next, Ok(Next::Done));
            continue;
        };
        let call = last(next);
        assert_eq!((call.verb, call.kind, call.subresource), (Verb::Patch, "Pod", Some("status")));
        assert_eq!(call.body, json!({ "metadata": { "uid": "pu" }, "status": { "conditions": [expected] } }));
    }
    assert_eq!(ask(&note(message), None, None), Err(RequestError::Gone));
}

#[test]
fn a_note_that_is_late_does_not_undo_what_a_binding_said() {
    let note = Write::Note {
        pod: pod_id(),
        uid: "pu".into(),
        reason: WaitReason::Unschedulable,
        message: "no room".to_owned(),
    };
    let mut waiting = pod(&json!([]));
    waiting["metadata"]["resourceVersion"] = json!("7");
    let call = last(ask(&note, None, Some(&waiting)));
    assert_eq!(call.body["metadata"], json!({ "uid": "pu", "resourceVersion": "7" }));
    let mut bound = waiting;
    bound["spec"]["nodeName"] = json!("n");
    assert_eq!(ask(&note, None, Some(&bound)), Ok(Next::Done));
}

fn evict(by: Preemptor) -> Write {
    Write::Evict { pod: pod_id(), uid: "pu".into(), scheduler: "supercargo".into(), by }
}

#[test]
fn a_pod_that_is_evicted_for_a_group_is_told_so() {
    let Ok(Next::Then(first)) = ask(&evict(Preemptor::Group), None, Some(&pod(&json!([])))) else {
        unreachable!("two calls are due")
    };
    let message = &first.body["status"]["conditions"][0]["message"];
    assert_eq!(*message, json!("supercargo: preempting to accommodate a higher priority podgroup"));
}

#[test]
fn a_pod_that_is_let_go_with_its_gang_is_told_so() {
    let Ok(Next::Then(first)) = ask(&evict(Preemptor::OwnGang), None, Some(&pod(&json!([])))) else {
        unreachable!("two calls are due")
    };
    let condition = &first.body["status"]["conditions"][0];
    let said = (&condition["type"], &condition["reason"], &condition["message"]);
    let message = json!("supercargo: another pod of the group could not be bound");
    assert_eq!(said, (&json!("DisruptionTarget"), &json!("GangBindingFailed"), &message));
}

#[test]
fn a_pod_that_is_evicted_is_told_why_before_it_is_deleted() {
    let evict = evict(Preemptor::Pod);
    let Ok(Next::Then(first)) = ask(&evict, None, Some(&pod(&json!([])))) else {
        unreachable!("two calls are due")
    };
    assert_eq!((first.verb, first.kind, first.subresource), (Verb::Patch, "Pod", Some("status")));
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
        "message": "supercargo: preempting to accommodate a higher priority pod",
        "lastTransitionTime": NOW.to_string(),
    });
    assert_eq!(first.body["status"]["conditions"], json!([condition]));
    let second = last(ask(&evict, None, Some(&pod(&json!([condition])))));
    assert_eq!((second.verb, second.kind, second.subresource), (Verb::Delete, "Pod", None));
    assert_eq!((second.namespace.as_str(), second.name.as_str()), ("ns", "p"));
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": "pu" } });
    assert_eq!(second.body, options, "how long it takes is left to the pod");
}

#[test]
fn a_pod_that_is_gone_or_going_needs_no_eviction() {
    let evict = evict(Preemptor::Pod);
    assert_eq!(ask(&evict, None, None), Ok(Next::Done));
    let mut other = pod(&json!([]));
    other["metadata"]["uid"] = json!("another");
    assert_eq!(ask(&evict, None, Some(&other)), Ok(Next::Done));
    let mut going = pod(&json!([]));
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    assert_eq!(ask(&evict, None, Some(&going)), Ok(Next::Done));
}

#[test]
fn a_nomination_is_written_once_and_taken_away_with_null() {
    let nominate = |node: Option<&str>| {
        let node = node.map(Into::into);
        Write::Nominate { pod: pod_id(), uid: "pu".into(), node }
    };
    let bare = pod(&json!([]));
    let call = last(ask(&nominate(Some("a")), None, Some(&bare)));
    assert_eq!((call.verb, call.subresource), (Verb::Patch, Some("status")));
    let expected = json!({ "metadata": { "uid": "pu" }, "status": { "nominatedNodeName": "a" } });
    assert_eq!(call.body, expected);
    assert_eq!(ask(&nominate(None), None, Some(&bare)), Ok(Next::Done));
    let mut nominated = bare;
    nominated["status"]["nominatedNodeName"] = json!("a");
    assert_eq!(ask(&nominate(Some("a")), None, Some(&nominated)), Ok(Next::Done));
    let call = last(ask(&nominate(None), None, Some(&nominated)));
    assert_eq!(call.body["status"], json!({ "nominatedNodeName": null }));
    assert_eq!(ask(&nominate(None), None, None), Err(RequestError::Gone));
}

#[test]
fn a_write_without_an_answer_is_done_if_the_object_shows_it() {
    let open = claim(&json!([CLAIM_FINALIZER]), &json!({}));
    let Ok(Next::Last(call)) = ask(&allocate(), Some(&open), None) else { panic!("it is to be written") };
    assert_eq!(ask(&allocate(), Some(&call.body), None), Ok(Next::Done));
    let mut theirs = call.body.clone();
    theirs["status"]["reservedFor"][0]["uid"] = json!("somebody");
    assert_eq!(ask(&allocate(), Some(&theirs), None), Err(RequestError::Allocated));
    let bind = Write::Bind { pod: pod_id(), uid: "pu".into(), node: "n".into(), together: None };
    let on = |node: &str, uid: &str| json!({ "metadata": { "name": "p", "uid": uid }, "spec": { "nodeName": node } });
    assert_eq!(ask(&bind, None, Some(&on("n", "pu"))), Ok(Next::Done));
    assert_eq!(ask(&bind, None, Some(&on("m", "pu"))), Err(RequestError::Bound("m".to_owned())));
    assert_eq!(ask(&bind, None, Some(&on("n", "another"))), Err(RequestError::Gone));
    assert!(matches!(ask(&bind, None, Some(&on("", "pu"))), Ok(Next::Last(_))));
}
