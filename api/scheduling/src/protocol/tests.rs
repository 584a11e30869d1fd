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
    Heard::Answer(Answer::Done(Some(object)))
}

fn not_found() -> Heard {
    Heard::Answer(Answer::NotFound("not found".to_owned()))
}

fn busy() -> Answer {
    Answer::Busy { why: "busy".to_owned(), retry_after: None }
}

fn lost() -> Heard {
    Heard::Answer(Answer::Lost { why: "lost".to_owned(), retry_after: None })
}

fn begin(write: Write, sources: Sources) -> (Delivery, Step) {
    let mut delivery = Delivery::new(write, sources, Terms::default());
    let step = delivery.step(Heard::Begun, NOW);
    (delivery, step)
}

fn knowing(claim: Arc<ResourceClaim>) -> Sources {
    Sources { claim: Sight::Told(Some(claim)), ..Sources::default() }
}

fn of_pod(pod: Arc<Pod>) -> Sources {
    Sources { pod: Sight::Told(Some(pod)), ..Sources::default() }
}

#[track_caller]
fn call(step: Step) -> ApiCall {
    match step {
        Step::Call(call) => *call,
        other => unreachable!("a call comes next: {other:?}"),
    }
}

#[track_caller]
fn settled(step: Step) -> Settled {
    match step {
        Step::Settled(settled) => *settled,
        other => unreachable!("it is over: {other:?}"),
    }
}

#[track_caller]
fn is_paused(step: &Step, millis: u64) {
    assert!(matches!(step, Step::Pause(time) if *time == Duration::from_millis(millis)), "{step:?}");
}

#[track_caller]
fn is_reading(step: &Step, kind: &str) {
    assert!(matches!(step, Step::Read(which) if which.named().0 == kind), "{step:?}");
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
    let (mut delivery, step) = begin(allocate(), knowing(claim(&json!({}), &json!({}))));
    assert_eq!(call(step).subresource, Some("status"));
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
    assert_eq!(settled.outcome, WriteOutcome::Failed("it got deleted in the meantime".to_owned()));
    assert_eq!(told(&settled), ["at 7, devices: true"]);
}

#[test]
fn what_is_missing_is_told() {
    // It was read and was not there.
    let (mut delivery, step) = begin(deallocate(), Sources::default());
    is_reading(&step, "ResourceClaim");
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
    let settled = settled(delivery.step(Heard::Answer(Answer::Refused("no".to_owned())), NOW));
    assert_eq!(told(&settled), Vec::<String>::new());
}

#[test]
fn a_context_that_was_read_is_told_when_the_write_failed() {
    let write = Write::Negotiate { pod: pod_name(), uid: "pu".into(), selected: None, potential: Vec::new() };
    let (mut delivery, step) = begin(write, Sources::default());
    assert_eq!(call(step).verb, Verb::Create);
    let exists = Heard::Answer(Answer::Conflict("it is there already".to_owned()));
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
    let (mut delivery, step) = begin(write, knowing(bare));
    assert_eq!(call(step).verb, Verb::Delete);
    let settled = settled(delivery.step(not_found(), NOW));
    assert_eq!(settled.outcome, WriteOutcome::Done);
    assert_eq!(told(&settled), ["ns/c u is missing"]);
}

#[test]
fn what_the_api_finds_a_name_for_is_not_sent_again_once_its_answer_is_lost() {
    let (mut delivery, step) = begin(make_claim(), of_pod(pod(&json!({}))));
    assert_eq!((call(step).verb, delivery.write().name()), (Verb::Create, "make_claim"));
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
    let undoing = call(delivery.step(Heard::Answer(Answer::Refused("no".to_owned())), NOW));
    assert_eq!((undoing.verb, undoing.name.as_str()), (Verb::Delete, "c"));
    let settled = settled(delivery.step(Heard::Answer(Answer::Done(None)), NOW));
    assert_eq!(settled.outcome, WriteOutcome::Failed("no".to_owned()));
}

#[test]
fn remarks_about_what_is_gone_are_done() {
    let nominate = Write::Nominate { pod: pod_name(), uid: "pu".into(), node: Some("a".into()) };
    for write in [note(), nominate] {
        let (mut delivery, step) = begin(write.clone(), of_pod(pod(&json!({}))));
        call(step);
        assert_eq!(settled(delivery.step(not_found(), NOW)).outcome, WriteOutcome::Done, "{write}");
        let (mut delivery, step) = begin(write.clone(), Sources::default());
        is_reading(&step, "Pod");
        assert_eq!(settled(delivery.step(not_found(), NOW)).outcome, WriteOutcome::Done, "{write}");
    }
}

#[test]
fn users_are_read_before_a_claim_loses_its_devices_and_each_time_that_it_is() {
    let (mut delivery, _) = begin(deallocate(), Sources::default());
    let found = || done(Object::Claim(claim(&json!({}), &with_devices())));
    is_reading(&delivery.step(found(), NOW), "Pod");
    assert_eq!(call(delivery.step(not_found(), NOW)).verb, Verb::Update);
    let conflict = Heard::Answer(Answer::Conflict("changed".to_owned()));
    is_reading(&delivery.step(conflict, NOW), "ResourceClaim");
    is_reading(&delivery.step(found(), NOW), "Pod");
    let mut at_work = Pod::clone(&pod(&json!({})));
    at_work.spec.node_name = "node".to_owned();
    let settled = settled(delivery.step(done(Object::Pod(Arc::new(at_work))), NOW));
    assert_eq!(settled.outcome, WriteOutcome::Failed("it is in use in the meantime".to_owned()));
    // What a watch told is no reason to leave them out.
    let (_, step) = begin(deallocate(), knowing(claim(&json!({}), &with_devices())));
    is_reading(&step, "Pod");
}

/// Answers each call in this way, and each reading with the claim, until it is over; counts the calls.
fn calls_until_settled(answer: &Answer, calls_max: u32) -> (u32, Option<WriteOutcome>, Duration) {
    let sources = knowing(claim(&json!({}), &json!({})));
    let (mut delivery, mut step) = begin(allocate(), sources);
    let (mut calls, mut paused) = (0, Duration::ZERO);
    loop {
        let heard = match step {
            Step::Call(_) if calls == calls_max => return (calls, None, paused),
            Step::Call(_) => {
                calls += 1;
                Heard::Answer(answer.clone())
            }
            Step::Read(_) => done(Object::Claim(claim(&json!({}), &json!({})))),
            Step::Pause(time) => {
                paused += time;
                Heard::Rested
            }
            Step::Settled(settled) => return (calls, Some(settled.outcome), paused),
        };
        step = delivery.step(heard, NOW);
    }
}

#[test]
fn tries_have_an_end_unless_an_answer_got_lost() {
    let (calls, outcome, paused) = calls_until_settled(&busy(), 1_000);
    assert_eq!((calls, outcome), (8, Some(WriteOutcome::Failed("busy".to_owned()))));
    assert_eq!(paused, Duration::from_millis(100 * (1 + 2 + 4 + 8 + 16 + 32) + 5_000));
    let (calls, outcome, paused) = calls_until_settled(&Answer::Conflict("changed".to_owned()), 1_000);
    assert_eq!((calls, outcome), (32, Some(WriteOutcome::Failed("changed".to_owned()))));
    assert_eq!(paused, Duration::from_millis(5 * (1 + 2 + 4 + 8 + 16 + 32 + 64) + 23 * 500));
    let (calls, outcome, _) = calls_until_settled(&Answer::Unreadable("odd".to_owned()), 1_000);
    assert_eq!((calls, outcome), (1, Some(WriteOutcome::Done)), "the last call was carried out");
    let lost = Answer::Lost { why: "lost".to_owned(), retry_after: Some(Duration::from_secs(60)) };
    let (calls, outcome, paused) = calls_until_settled(&lost, 100);
    assert_eq!((calls, outcome), (100, None), "it is pursued until it is known what became of it");
    assert_eq!(paused, Duration::from_secs(5) * 100, "a server may not have us wait for ever");
}

#[test]
fn readings_have_an_end_unless_an_answer_got_lost() {
    let unread = |mut delivery: Delivery, mut step: Step| {
        for reads in 0..100 {
            is_reading(&step, "ResourceClaim");
            step = delivery.step(Heard::Answer(busy()), NOW);
            match step {
                Step::Settled(_) => return Some(reads + 1),
                _ => step = delivery.step(Heard::Rested, NOW),
            }
        }
        None
    };
    let (delivery, step) = begin(deallocate(), Sources::default());
    assert_eq!(unread(delivery, step), Some(8));
    let (mut delivery, _) = begin(allocate(), knowing(claim(&json!({}), &json!({}))));
    delivery.step(lost(), NOW);
    let step = delivery.step(Heard::Rested, NOW);
    assert_eq!(unread(delivery, step), None);
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
        Heard::Answer(Answer::Done(_)) => "Done",
        Heard::Answer(Answer::Unreadable(_)) => "Unreadable",
        Heard::Answer(Answer::NotFound(_)) => "NotFound",
        Heard::Answer(Answer::Conflict(_)) => "Conflict",
        Heard::Answer(Answer::Busy { .. }) => "Busy",
        Heard::Answer(Answer::Lost { .. }) => "Lost",
        Heard::Answer(Answer::Refused(_)) => "Refused",
    }
}

/// All that may be heard after a step, and a call's object as a server would answer it.
fn all_answers(step: &Step) -> Vec<Heard> {
    let object = match step {
        Step::Pause(_) => return vec![Heard::Rested],
        Step::Settled(_) => return Vec::new(),
        Step::Call(call) if !call.gives_object() => None,
        Step::Call(call) if call.kind == "Pod" => Some(Object::Pod(pod(&json!({})))),
        Step::Call(call) => {
            let mut body = call.body.clone();
            (body["metadata"]["name"], body["metadata"]["uid"]) = (json!("c"), json!("u"));
            Some(Object::of_value(call.kind, &body).expect("what is sent is of its kind"))
        }
        Step::Read(ObjectRef::Pod(_)) => Some(Object::Pod(pod(&json!({})))),
        Step::Read(ObjectRef::Claim(_)) => Some(Object::Claim(claim(&json!({}), &json!({})))),
        Step::Read(other) => unreachable!("nothing here is made from {other:?}"),
    };
    let (why, retry_after) = (String::new(), None);
    let answers = [
        Answer::Done(object),
        Answer::Unreadable(why.clone()),
        Answer::NotFound(why.clone()),
        Answer::Conflict(why.clone()),
        busy(),
        Answer::Lost { why: why.clone(), retry_after },
        Answer::Refused(why),
    ];
    answers.into_iter().map(Heard::Answer).collect()
}

/// Goes every way from here, to a depth, and takes down each edge.
fn walk(delivery: &Delivery, heard: Vec<Heard>, depth: u32, edges: &mut Edges) {
    for heard in heard {
        let mut delivery = delivery.clone();
        let (from, by) = (state_name(&delivery), heard_name(&heard));
        let step = delivery.step(heard, NOW);
        edges.insert((from.to_owned(), by.to_owned(), state_name(&delivery).to_owned()));
        if depth > 0 {
            walk(&delivery, all_answers(&step), depth - 1, edges);
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
            let terms = Terms { retries_max, conflicts_max, allocation_times: false };
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
