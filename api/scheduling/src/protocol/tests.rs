//! Walks through the protocol: single ways with what is told at their end, and all ways against the table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use cluster::change::Change;
use model::allocation::{Allocation, Grant};
use model::claim::ClaimId;
use model::device::DeviceId;
use model::pod::PodId;
use model::timestamp::Timestamp;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use scheduler::write::{Consumer, WaitReason, Write, WriteOutcome};
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

fn claim_name() -> ClaimId {
    ClaimId { namespace: "ns".into(), name: "c".into() }
}

fn pod_name() -> PodId {
    PodId { namespace: "ns".into(), name: "p".into() }
}

fn granted() -> Allocation {
    let device = DeviceId { driver: "gpu.example.com".into(), pool: "node".into(), device: "gpu-0".into() };
    let grant = Grant {
        request: "gpu".into(),
        device,
        admin_access: false,
        share: None,
        binding: Default::default(),
        groups: BTreeMap::new(),
        tolerations: Vec::new(),
        skip_node_operations: Vec::new(),
    };
    Allocation { grants: vec![grant], configs: Vec::new(), nodes: None }
}

fn allocate() -> Write {
    Write::Allocate {
        claim: claim_name(),
        uid: "u".into(),
        version: "5".into(),
        allocation: Box::new(granted()),
        shares: Vec::new(),
        consumers: vec![Consumer { name: "p".into(), uid: "pu".into(), group: None }],
    }
}

fn make_claim() -> Write {
    Write::MakeClaim {
        pod: pod_name(),
        uid: "pu".into(),
        spec: Box::default(),
        allocation: Box::new(granted()),
        shares: Vec::new(),
        mappings: Vec::new(),
    }
}

fn deallocate() -> Write {
    Write::Deallocate { claim: claim_name(), uid: "u".into(), user: Some("pu".into()) }
}

fn note() -> Write {
    let reason = WaitReason::Unschedulable;
    Write::Note { pod: pod_name(), uid: "pu".into(), reason, message: "no room".to_owned() }
}

/// A claim that is protected, with this in its metadata and this status.
fn claim(meta: &Value, status: &Value) -> Arc<ResourceClaim> {
    let mut metadata = json!({
        "name": "c", "namespace": "ns", "uid": "u", "resourceVersion": "5", "finalizers": [FINALIZER],
    });
    for (key, value) in meta.as_object().into_iter().flatten() {
        metadata[key] = value.clone();
    }
    let object = json!({ "metadata": metadata, "spec": {}, "status": status });
    Arc::new(serde_json::from_value(object).expect("a claim"))
}

fn with_devices() -> Value {
    json!({
        "allocation": { "devices": { "results": [
            { "request": "gpu", "driver": "gpu.example.com", "pool": "node", "device": "gpu-0" },
        ] } },
        "reservedFor": [{ "resource": "pods", "name": "p", "uid": "pu" }],
    })
}

fn pod(status: &Value) -> Arc<Pod> {
    let metadata = json!({ "name": "p", "namespace": "ns", "uid": "pu", "resourceVersion": "3" });
    Arc::new(serde_json::from_value(json!({ "metadata": metadata, "status": status })).expect("a pod"))
}

fn done(object: Object) -> Heard {
    Heard::Answer(CallOutcome::Done(Some(object)))
}

fn not_found() -> Heard {
    Heard::Answer(CallOutcome::NotFound("not found".to_owned()))
}

fn busy() -> CallOutcome {
    CallOutcome::Busy { why: "busy".to_owned(), retry_after: None }
}

fn lost() -> Heard {
    Heard::Answer(CallOutcome::Lost { why: "lost".to_owned(), retry_after: None })
}

fn begin(write: Write, sources: Sources) -> (Delivery, DeliveryAction) {
    let mut delivery = Delivery::new(write, sources, Terms::default());
    let action = delivery.step(Heard::Begun, NOW);
    (delivery, action)
}

fn knowing(claim: Arc<ResourceClaim>) -> Sources {
    Sources { claim: Sight::Told(Some(claim)), ..Sources::default() }
}

fn of_pod(pod: Arc<Pod>) -> Sources {
    Sources { pod: Sight::Told(Some(pod)), ..Sources::default() }
}

#[track_caller]
fn call(action: DeliveryAction) -> ApiCall {
    match action {
        DeliveryAction::Call(call) => *call,
        other => unreachable!("a call comes next: {other:?}"),
    }
}

#[track_caller]
fn settled(action: DeliveryAction) -> Settled {
    match action {
        DeliveryAction::Settled(settled) => *settled,
        other => unreachable!("it is over: {other:?}"),
    }
}

#[track_caller]
fn is_paused(action: &DeliveryAction, millis: u64) {
    let (least, most) = (Duration::from_millis(millis / 2), Duration::from_millis(millis + millis / 2));
    assert!(matches!(action, DeliveryAction::Pause(time) if (least..=most).contains(time)), "{action:?}");
}

#[track_caller]
fn is_reading(action: &DeliveryAction, kind: &str) {
    assert!(matches!(action, DeliveryAction::Read(which) if which.named().0 == kind), "{action:?}");
}

/// What an engine that knows the claim is told, in a few words.
fn told(settled: &Settled) -> Vec<String> {
    let changes = settled.changes(|id, uid| *id == claim_name() && **uid == *"u");
    let in_words = |change| match change {
        Change::ClaimAnswered(state) => {
            format!("at {}, devices: {}", state.version, state.allocation.is_some())
        }
        Change::ClaimMissing(id, uid) => format!("{id} {uid} is missing"),
        other => format!("{other:?}"),
    };
    changes.into_iter().map(in_words).collect()
}

#[test]
fn what_was_answered_is_told_when_it_is_done() {
    let (mut delivery, action) = begin(allocate(), knowing(claim(&json!({}), &json!({}))));
    assert_eq!(call(action).subresource, Some("status"));
    let written = claim(&json!({ "resourceVersion": "6" }), &with_devices());
    let settled = settled(delivery.step(done(Object::Claim(written)), NOW));
    assert_eq!(settled.outcome, WriteOutcome::Done);
    assert_eq!(told(&settled), ["at 6, devices: true"]);
}

#[test]
fn what_was_read_is_told_when_it_failed() {
    // It was carried out, and somebody deletes the claim before the answer is missed.
    let (mut delivery, _) = begin(allocate(), knowing(claim(&json!({}), &json!({}))));
    is_paused(&delivery.step(lost(), NOW), 100);
    is_reading(&delivery.step(Heard::Rested, NOW), "ResourceClaim");
    let leaving = json!({ "resourceVersion": "7", "deletionTimestamp": "2026-01-02T03:04:05Z" });
    let found = Object::Claim(claim(&leaving, &with_devices()));
    let settled = settled(delivery.step(done(found), NOW));
    assert_eq!(settled.outcome, WriteOutcome::Failed("it was deleted concurrently".to_owned()));
    assert_eq!(told(&settled), ["at 7, devices: true"]);
}

#[test]
fn what_is_missing_is_told() {
    // It was read and was not there.
    let (mut delivery, action) = begin(deallocate(), Sources::default());
    is_reading(&action, "ResourceClaim");
    let gone = settled(delivery.step(not_found(), NOW));
    assert_eq!(gone.outcome, WriteOutcome::Failed("it is gone".to_owned()));
    assert_eq!(told(&gone), ["ns/c u is missing"]);
    // A call did not find it.
    let (mut delivery, _) = begin(allocate(), knowing(claim(&json!({}), &json!({}))));
    assert_eq!(told(&settled(delivery.step(not_found(), NOW))), ["ns/c u is missing"]);
    // Another has its name.
    let (mut delivery, _) = begin(deallocate(), Sources::default());
    let another = Object::Claim(claim(&json!({ "uid": "another" }), &json!({})));
    assert_eq!(told(&settled(delivery.step(done(another), NOW))), ["ns/c u is missing"]);
}

#[test]
fn what_the_engine_does_not_know_is_not_told() {
    let (mut delivery, _) = begin(deallocate(), Sources::default());
    let settled = settled(delivery.step(not_found(), NOW));
    assert!(settled.changes(|_, _| false).is_empty());
}

#[test]
fn what_was_only_told_by_a_watch_is_not_told_back() {
    let (mut delivery, _) = begin(allocate(), knowing(claim(&json!({}), &json!({}))));
    let settled = settled(delivery.step(Heard::Answer(CallOutcome::Refused("no".to_owned())), NOW));
    assert_eq!(told(&settled), Vec::<String>::new());
}

#[test]
fn a_context_that_was_read_is_told_when_the_write_failed() {
    let write = Write::Negotiate { pod: pod_name(), uid: "pu".into(), selected: None, potential: Vec::new() };
    let (mut delivery, action) = begin(write, Sources::default());
    assert_eq!(call(action).verb, Verb::Create);
    let exists = Heard::Answer(CallOutcome::Conflict("it is there already".to_owned()));
    is_reading(&delivery.step(exists, NOW), "PodSchedulingContext");
    let of_another = json!({ "metadata": {
        "name": "p", "namespace": "ns", "uid": "x", "resourceVersion": "9",
        "ownerReferences": [{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "another" }],
    } });
    let found = Object::of_value("PodSchedulingContext", &of_another).expect("a context");
    let settled = settled(delivery.step(done(found), NOW));
    assert!(matches!(settled.outcome, WriteOutcome::Failed(_)));
    assert!(matches!(&settled.changes(|_, _| false)[..], [Change::Negotiation(_)]));
}

#[test]
fn an_allocation_says_when_it_was_made_if_that_is_wanted() {
    for (allocation_times, expected) in [(true, json!("2027-01-15T08:00:00Z")), (false, Value::Null)] {
        let terms = Terms { allocation_times, ..Terms::default() };
        let mut delivery = Delivery::new(allocate(), knowing(claim(&json!({}), &json!({}))), terms);
        let call = call(delivery.step(Heard::Begun, NOW));
        assert_eq!(call.body["status"]["allocation"]["allocationTimestamp"], expected);
    }
}

#[test]
fn what_is_not_there_needs_no_deletion() {
    let write = Write::DeleteClaim { claim: claim_name(), uid: "u".into() };
    let bare = claim(&json!({ "finalizers": [] }), &json!({}));
    let (mut delivery, action) = begin(write, knowing(bare));
    assert_eq!(call(action).verb, Verb::Delete);
    let settled = settled(delivery.step(not_found(), NOW));
    assert_eq!(settled.outcome, WriteOutcome::Done);
    assert_eq!(told(&settled), ["ns/c u is missing"]);
}

#[test]
fn what_the_api_finds_a_name_for_is_not_sent_again_once_its_answer_is_lost() {
    let (mut delivery, action) = begin(make_claim(), of_pod(pod(&json!({}))));
    assert_eq!((call(action).verb, delivery.write().name()), (Verb::Create, "make_claim"));
    is_paused(&delivery.step(Heard::Answer(busy()), NOW), 100);
    is_reading(&delivery.step(Heard::Rested, NOW), "Pod");
    assert_eq!(call(delivery.step(done(Object::Pod(pod(&json!({})))), NOW)).verb, Verb::Create);
    let settled = settled(delivery.step(lost(), NOW));
    assert_eq!(settled.outcome, WriteOutcome::Failed("lost".to_owned()));
}

#[test]
fn what_was_made_is_taken_back_before_it_is_told_that_it_failed() {
    let (mut delivery, _) = begin(make_claim(), of_pod(pod(&json!({}))));
    let made = claim(&json!({ "finalizers": [] }), &json!({}));
    assert_eq!(call(delivery.step(done(Object::Claim(made.clone())), NOW)).verb, Verb::Update);
    let undoing = call(delivery.step(Heard::Answer(CallOutcome::Refused("no".to_owned())), NOW));
    assert_eq!((undoing.verb, undoing.name.as_str()), (Verb::Delete, "c"));
    let settled = settled(delivery.step(Heard::Answer(CallOutcome::Done(None)), NOW));
    assert_eq!(settled.outcome, WriteOutcome::Failed("no".to_owned()));
}

#[test]
fn remarks_about_what_is_gone_are_done() {
    let nominate = Write::Nominate { pod: pod_name(), uid: "pu".into(), node: Some("a".into()) };
    for write in [note(), nominate] {
        let (mut delivery, action) = begin(write.clone(), of_pod(pod(&json!({}))));
        call(action);
        assert_eq!(settled(delivery.step(not_found(), NOW)).outcome, WriteOutcome::Done, "{write}");
        let (mut delivery, action) = begin(write.clone(), Sources::default());
        is_reading(&action, "Pod");
        assert_eq!(settled(delivery.step(not_found(), NOW)).outcome, WriteOutcome::Done, "{write}");
    }
}

#[test]
fn a_nomination_that_comes_after_the_binding_is_done() {
    let refused = || Heard::Answer(CallOutcome::Refused("the pod is bound to a node already".to_owned()));
    let nominate = Write::Nominate { pod: pod_name(), uid: "pu".into(), node: Some("a".into()) };
    let (mut delivery, action) = begin(nominate.clone(), of_pod(pod(&json!({}))));
    call(action);
    is_reading(&delivery.step(refused(), NOW), "Pod");
    let mut bound = Pod::clone(&pod(&json!({})));
    bound.spec.node_name = "b".into();
    let end = settled(delivery.step(done(Object::Pod(Arc::new(bound))), NOW));
    assert_eq!(end.outcome, WriteOutcome::Done);

    // What is refused of a pod that is as it was is refused for another reason, and that is told.
    let (mut delivery, action) = begin(nominate, of_pod(pod(&json!({}))));
    call(action);
    is_reading(&delivery.step(refused(), NOW), "Pod");
    call(delivery.step(done(Object::Pod(pod(&json!({})))), NOW));
    let WriteOutcome::Failed(why) = settled(delivery.step(refused(), NOW)).outcome else {
        unreachable!("it was refused twice");
    };
    assert!(why.contains("bound to a node already"), "{why}");
}

#[test]
fn users_are_read_before_a_claim_loses_its_devices_and_each_time_that_it_is() {
    let (mut delivery, _) = begin(deallocate(), Sources::default());
    let found = || done(Object::Claim(claim(&json!({}), &with_devices())));
    is_reading(&delivery.step(found(), NOW), "Pod");
    assert_eq!(call(delivery.step(not_found(), NOW)).verb, Verb::Update);
    let conflict = Heard::Answer(CallOutcome::Conflict("changed".to_owned()));
    is_reading(&delivery.step(conflict, NOW), "ResourceClaim");
    is_reading(&delivery.step(found(), NOW), "Pod");
    let mut at_work = Pod::clone(&pod(&json!({})));
    at_work.spec.node_name = "node".to_owned();
    let settled = settled(delivery.step(done(Object::Pod(Arc::new(at_work))), NOW));
    assert_eq!(settled.outcome, WriteOutcome::Failed("it is in use".to_owned()));
    // What a watch told is no reason to leave them out.
    let (_, action) = begin(deallocate(), knowing(claim(&json!({}), &with_devices())));
    is_reading(&action, "Pod");
}

/// Answers each call in this way, and each reading with the claim, until it is over; counts the calls.
fn calls_until_settled(answer: &CallOutcome, calls_max: u32) -> (u32, Option<WriteOutcome>, Duration) {
    let sources = knowing(claim(&json!({}), &json!({})));
    let (mut delivery, mut action) = begin(allocate(), sources);
    let (mut calls, mut paused) = (0, Duration::ZERO);
    loop {
        let heard = match action {
            DeliveryAction::Call(_) if calls == calls_max => return (calls, None, paused),
            DeliveryAction::Call(_) => {
                calls += 1;
                Heard::Answer(answer.clone())
            }
            DeliveryAction::Read(_) => done(Object::Claim(claim(&json!({}), &json!({})))),
            DeliveryAction::Pause(time) => {
                paused += time;
                Heard::Rested
            }
            DeliveryAction::Settled(settled) => return (calls, Some(settled.outcome), paused),
        };
        action = delivery.step(heard, NOW);
    }
}

#[test]
fn tries_have_an_end_unless_an_answer_got_lost() {
    let (calls, outcome, paused) = calls_until_settled(&busy(), 1_000);
    assert_eq!((calls, outcome), (8, Some(WriteOutcome::Failed("busy".to_owned()))));
    is_about(paused, Duration::from_millis(100 * (1 + 2 + 4 + 8 + 16 + 32) + 5_000));
    let (calls, outcome, paused) = calls_until_settled(&CallOutcome::Conflict("changed".to_owned()), 1_000);
    assert_eq!((calls, outcome), (32, Some(WriteOutcome::Failed("changed".to_owned()))));
    is_about(paused, Duration::from_millis(5 * (1 + 2 + 4 + 8 + 16 + 32 + 64) + 23 * 500));
    let (calls, outcome, _) = calls_until_settled(&CallOutcome::Unreadable("odd".to_owned()), 1_000);
    assert_eq!((calls, outcome), (1, Some(WriteOutcome::Done)), "the last call was carried out");
    let lost = CallOutcome::Lost { why: "lost".to_owned(), retry_after: Some(Duration::from_secs(60)) };
    let (calls, outcome, paused) = calls_until_settled(&lost, 100);
    assert_eq!((calls, outcome), (100, None), "it is pursued until it is known what became of it");
    is_about(paused, Duration::from_secs(5) * 100);
}

/// Pauses vary by half, and a server may not have us wait for ever.
#[track_caller]
fn is_about(paused: Duration, expected: Duration) {
    assert!((expected / 2..=expected * 3 / 2).contains(&paused), "{paused:?}, and not about {expected:?}");
}

#[test]
fn writes_that_met_at_an_object_do_not_meet_there_again() {
    let pauses = |seed: u64| {
        let sources = knowing(claim(&json!({}), &json!({})));
        let mut delivery = Delivery::new(allocate(), sources, Terms { seed, ..Terms::default() });
        let mut action = delivery.step(Heard::Begun, NOW);
        let mut pauses = Vec::new();
        while pauses.len() < 5 {
            let heard = match action {
                DeliveryAction::Call(_) => Heard::Answer(CallOutcome::Conflict("changed".to_owned())),
                DeliveryAction::Read(_) => done(Object::Claim(claim(&json!({}), &json!({})))),
                DeliveryAction::Pause(time) => {
                    pauses.push(time);
                    Heard::Rested
                }
                DeliveryAction::Settled(settled) => panic!("{:?}", settled.outcome),
            };
            action = delivery.step(heard, NOW);
        }
        pauses
    };
    let all: BTreeSet<Vec<Duration>> = (0..20).map(|write| pauses(write << 16)).collect();
    assert_eq!(all.len(), 20, "each write has pauses of its own");
    assert_eq!(pauses(7), pauses(7), "which follow from its seed");
}

#[test]
fn a_server_is_not_asked_again_sooner_than_it_wants_to_be() {
    for seed in 0..50 {
        let sources = knowing(claim(&json!({}), &json!({})));
        let mut delivery = Delivery::new(allocate(), sources, Terms { seed, ..Terms::default() });
        let mut action = delivery.step(Heard::Begun, NOW);
        let why = "not now".to_owned();
        while !matches!(action, DeliveryAction::Call(_)) {
            action = delivery.step(done(Object::Claim(claim(&json!({}), &json!({})))), NOW);
        }
        let asked = Duration::from_secs(1);
        let busy = CallOutcome::Busy { why, retry_after: Some(asked) };
        let action = delivery.step(Heard::Answer(busy), NOW);
        assert!(matches!(action, DeliveryAction::Pause(time) if time >= asked), "{action:?}");
    }
}

#[test]
fn readings_have_an_end_unless_an_answer_got_lost() {
    let unread = |mut delivery: Delivery, mut action: DeliveryAction| {
        for reads in 0..100 {
            is_reading(&action, "ResourceClaim");
            action = delivery.step(Heard::Answer(busy()), NOW);
            match action {
                DeliveryAction::Settled(_) => return Some(reads + 1),
                _ => action = delivery.step(Heard::Rested, NOW),
            }
        }
        None
    };
    let (delivery, action) = begin(deallocate(), Sources::default());
    assert_eq!(unread(delivery, action), Some(8));
    let (mut delivery, _) = begin(allocate(), knowing(claim(&json!({}), &json!({}))));
    delivery.step(lost(), NOW);
    let action = delivery.step(Heard::Rested, NOW);
    assert_eq!(unread(delivery, action), None);
}

type Edges = BTreeSet<(String, String, String)>;

/// The table of the header, with one entry for each cell.
fn table() -> Edges {
    let rows = include_str!("../protocol.rs").lines().filter_map(|line| line.strip_prefix("//! | "));
    let mut edges = Edges::new();
    for row in rows.skip(1) {
        let cells: Vec<&str> = row.trim_end_matches('|').split('|').map(str::trim).collect();
        let [state, heard, _, next] = cells[..] else { unreachable!("a row has four cells: {row}") };
        for heard in heard.split(", ") {
            for next in next.split(", ") {
                edges.insert((state.to_owned(), heard.to_owned(), next.to_owned()));
            }
        }
    }
    edges
}

fn state_name(delivery: &Delivery) -> &'static str {
    match delivery.state {
        State::Ready => "Ready",
        State::Calling(_) => "Calling",
        State::Pausing(_) => "Pausing",
        State::Reading(..) => "Reading",
        State::Settled => "Settled",
    }
}

fn heard_name(heard: &Heard) -> &'static str {
    match heard {
        Heard::Begun => "Begun",
        Heard::Rested => "Rested",
        Heard::Answer(CallOutcome::Done(_)) => "Done",
        Heard::Answer(CallOutcome::Unreadable(_)) => "Unreadable",
        Heard::Answer(CallOutcome::NotFound(_)) => "NotFound",
        Heard::Answer(CallOutcome::Conflict(_)) => "Conflict",
        Heard::Answer(CallOutcome::Busy { .. }) => "Busy",
        Heard::Answer(CallOutcome::Lost { .. }) => "Lost",
        Heard::Answer(CallOutcome::Refused(_)) => "Refused",
    }
}

/// All that may be heard after an action, and a call's object as a server would answer it.
fn all_answers(action: &DeliveryAction) -> Vec<Heard> {
    let object = match action {
        DeliveryAction::Pause(_) => return vec![Heard::Rested],
        DeliveryAction::Settled(_) => return Vec::new(),
        DeliveryAction::Call(call) if !call.gives_object() => None,
        DeliveryAction::Call(call) if call.kind == "Pod" => Some(Object::Pod(pod(&json!({})))),
        DeliveryAction::Call(call) => {
            let mut body = call.body.clone();
            (body["metadata"]["name"], body["metadata"]["uid"]) = (json!("c"), json!("u"));
            Some(Object::of_value(call.kind, &body).expect("what is sent is of its kind"))
        }
        DeliveryAction::Read(ObjectRef::Pod(_)) => Some(Object::Pod(pod(&json!({})))),
        DeliveryAction::Read(ObjectRef::Claim(_)) => Some(Object::Claim(claim(&json!({}), &json!({})))),
        DeliveryAction::Read(other) => unreachable!("nothing here is made from {other:?}"),
    };
    let (why, retry_after) = (String::new(), None);
    let answers = [
        CallOutcome::Done(object),
        CallOutcome::Unreadable(why.clone()),
        CallOutcome::NotFound(why.clone()),
        CallOutcome::Conflict(why.clone()),
        busy(),
        CallOutcome::Lost { why: why.clone(), retry_after },
        CallOutcome::Refused(why),
    ];
    answers.into_iter().map(Heard::Answer).collect()
}

/// Goes every way from here, to a depth, and takes down each edge.
fn walk(delivery: &Delivery, heard: Vec<Heard>, depth: u32, edges: &mut Edges) {
    for heard in heard {
        let mut delivery = delivery.clone();
        let (from, by) = (state_name(&delivery), heard_name(&heard));
        let action = delivery.step(heard, NOW);
        edges.insert((from.to_owned(), by.to_owned(), state_name(&delivery).to_owned()));
        if depth > 0 {
            walk(&delivery, all_answers(&action), depth - 1, edges);
        }
    }
}

#[test]
fn the_table_is_what_the_machine_does() {
    let said =
        json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room" });
    let named = json!({ "extendedResourceClaimStatus": { "resourceClaimName": "c", "requestMappings": [] } });
    let begun = [
        (allocate(), knowing(claim(&json!({}), &json!({}))), 4),
        (deallocate(), Sources::default(), 4),
        (deallocate(), knowing(claim(&json!({}), &with_devices())), 3),
        (note(), of_pod(pod(&json!({ "conditions": [said] }))), 1),
        (note(), of_pod(pod(&json!({}))), 3),
        (make_claim(), of_pod(pod(&json!({}))), 5),
        (make_claim(), of_pod(pod(&named)), 5),
    ];
    let mut edges = Edges::new();
    for (write, sources, depth) in begun {
        for (retries_max, conflicts_max) in [(0, 0), (1, 2)] {
            let terms = Terms { retries_max, conflicts_max, allocation_times: false, seed: 0 };
            let delivery = Delivery::new(write.clone(), sources.clone(), terms);
            walk(&delivery, vec![Heard::Begun], depth, &mut edges);
        }
    }
    assert_eq!(edges.difference(&table()).collect::<Vec<_>>(), Vec::<&_>::new(), "the table lacks these");
    assert_eq!(table().difference(&edges).collect::<Vec<_>>(), Vec::<&_>::new(), "the machine lacks these");
}

#[test]
#[should_panic(expected = "is heard while this is waited for")]
fn nothing_is_heard_that_nobody_waits_for() {
    let (mut delivery, _) = begin(allocate(), knowing(claim(&json!({}), &json!({}))));
    delivery.step(Heard::Rested, NOW);
}
