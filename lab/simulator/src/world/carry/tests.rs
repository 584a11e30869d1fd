//! Writes in a world in which nothing happens but them: they end as those of a live scheduler do.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::allocation::Allocation;
use model::claim::ClaimId;
use model::pod::PodId;
use scheduler::write::{Consumer, WaitReason, Write, WriteId};
use scheduling::request::{ApiCall, Verb};
use serde_json::{Value, json};

use super::super::api::{Caller, named};
use super::super::setup::{Fault, Sabotage, WorldSetup};
use super::super::shown::Shown;
use super::super::{Happening, World};
use super::{CallOutcome, Delivery, DeliveryAction, Heard, Refused, Sources, millis, refusal, typed};

/// A world with a pod and a claim that is protected, and the claim.
fn world() -> (World, Arc<Shown>) {
    let mut world = World::of(0, WorldSetup::quiet(Sabotage::None), true);
    world.begin(|_, _, _| {});
    let mut pod = named("v1", "Pod", "p");
    pod["spec"] = json!({ "containers": [{ "name": "c", "image": "i" }], "schedulerName": "nobody" });
    world.api.create(&pod).expect("a good pod");
    let mut claim = named("resource.k8s.io/v1", "ResourceClaim", "c");
    claim["metadata"]["finalizers"] = json!(["resource.kubernetes.io/delete-protection"]);
    let request = json!({ "name": "gpu", "exactly": { "deviceClassName": "gpu" } });
    claim["spec"] = json!({ "devices": { "requests": [request] } });
    let claim = world.api.create(&claim).expect("a good claim");
    (world, claim)
}

fn claim_id() -> ClaimId {
    ClaimId { namespace: "default".into(), name: "c".into() }
}

fn pod_id() -> PodId {
    PodId { namespace: "default".into(), name: "p".into() }
}

fn uid(object: &Value) -> Arc<str> {
    object["metadata"]["uid"].as_str().unwrap_or_default().into()
}

fn nothing_granted() -> Box<Allocation> {
    Box::new(Allocation { grants: Vec::new(), configs: Vec::new(), nodes: None })
}

/// Goes on with a write until it is over, and tells what the scheduler hears. Each time that a call is about to arrive, this
/// happens first.
fn outcome(world: &mut World, write: Write, mut before_call: impl FnMut(&mut World)) -> String {
    world.submit(0, WriteId(9_999), write);
    while !world.errands.is_empty() {
        let happening = world.agenda.next(i64::MAX).expect("a write that is not over has something planned");
        match happening {
            Happening::Arrive { .. } => before_call(world),
            // Nobody else does anything.
            Happening::Tend | Happening::Run | Happening::Collect | Happening::Chance => continue,
            _ => {}
        }
        world.happen(happening);
    }
    let lines = std::mem::replace(&mut world.trace, super::super::Trace::new(true)).end().1;
    let line = lines.into_iter().rfind(|line| line.contains(" hears of ")).expect("it hears of it");
    line.rsplit(": ").next().unwrap_or_default().to_owned()
}

#[test]
fn an_allocation_says_when_it_was_made() {
    let (mut world, claim) = world();
    let write = Write::Allocate {
        claim: claim_id(),
        uid: uid(&claim).into(),
        version: "".into(),
        allocation: nothing_granted(),
        shares: Vec::new(),
        consumers: vec![Consumer { name: "p".into(), uid: "pu".into(), group: None }],
    };
    assert_eq!(outcome(&mut world, write, |_| {}), "Done");
    let claim = world.api.get("ResourceClaim", "default", "c").expect("it is there");
    assert!(claim["status"]["allocation"]["allocationTimestamp"].is_string(), "{}", claim["status"]);
}

#[test]
fn to_delete_what_is_gone_by_then_is_done() {
    let (mut world, claim) = world();
    let write = Write::DeleteClaim { claim: claim_id(), uid: uid(&claim).into() };
    let mut calls = 0;
    let said = outcome(&mut world, write, |world| {
        calls += 1;
        if calls == 2 {
            world.api.delete("ResourceClaim", ("default", "c"), None, None).expect("it is not protected now");
        }
    });
    assert_eq!((calls, said.as_str()), (2, "Done"));
}

#[test]
fn a_note_for_a_pod_that_is_gone_by_then_is_done() {
    let (mut world, _) = world();
    let pod = world.api.get("Pod", "default", "p").expect("it is there");
    let (reason, message) = (WaitReason::Unschedulable, "no room".to_owned());
    let write = Write::Note { pod: pod_id(), uid: uid(&pod).into(), reason, message };
    let remove = |world: &mut World| {
        world.api.delete("Pod", ("default", "p"), Some(0), None).expect("it is there");
    };
    assert_eq!(outcome(&mut world, write.clone(), remove), "Done");
    assert_eq!(outcome(&mut world, write, |_| {}), "Done", "and so is one that comes later");
}

#[test]
fn a_claim_that_the_api_finds_a_name_for_is_not_made_twice() {
    let (mut world, _) = world();
    let pod = world.api.get("Pod", "default", "p").expect("it is there");
    let write = Write::MakeClaim {
        pod: pod_id(),
        uid: uid(&pod).into(),
        spec: Box::default(),
        allocation: nothing_granted(),
        shares: Vec::new(),
        mappings: Vec::new(),
    };
    world.setup.strike_always(Fault::LostAnswer);
    let said = outcome(&mut world, write, |world| {
        // Once is enough.
        world.setup.calm = true;
    });
    assert!(said.starts_with("Failed("), "{said}");
    assert_eq!(world.api.list("ResourceClaim").len(), 2, "one was there before");
}

/// How long each of some writes pauses in all, in a world of a seed, while another client is always faster.
fn pauses(seed: u64) -> Vec<i64> {
    let (mut world, claim) = world();
    world.seed = seed;
    let there = typed("ResourceClaim", &claim).expect("a good claim");
    let pause = |errand: u64| {
        let write = Write::DeleteClaim { claim: claim_id(), uid: uid(&claim).into() };
        let sources = Sources::of(world.classes.clone());
        let mut delivery = Delivery::new(write, sources, world.terms(errand));
        let (mut heard, mut all) = (Heard::Begun, 0);
        loop {
            heard = match delivery.step(heard, world.api.now) {
                DeliveryAction::Read(_) => Heard::Answer(CallOutcome::Done(Some(there.clone()))),
                DeliveryAction::Call(_) => Heard::Answer(refusal(&Refused::Conflict("late".to_owned()))),
                DeliveryAction::Settled(_) => return all,
                DeliveryAction::Pause(time) => {
                    all += millis(time);
                    Heard::Rested
                }
            };
        }
    };
    (1..6).map(pause).collect()
}

#[test]
fn writes_that_met_at_an_object_pause_for_different_times() {
    let once = pauses(7);
    let different: BTreeSet<&i64> = once.iter().collect();
    assert!(different.len() > 3, "{once:?}");
    assert_eq!(once, pauses(7), "a seed has one history");
    assert_ne!(once, pauses(8), "another seed has another");
}

/// What the judge says when the devices of a claim are taken away by a call while a pod that was bound by hand runs with them: the
/// call was sent before the pod was bound, or after.
fn said_of_a_pod_bound_by_hand(is_sent_before: bool) -> Vec<String> {
    let (mut world, claim) = world();
    let mut pod = named("v1", "Pod", "user");
    pod["spec"] = json!({ "containers": [{ "name": "c", "image": "i" }], "schedulerName": "nobody",
        "resourceClaims": [{ "name": "c", "resourceClaimName": "c" }] });
    let pod = world.api.create(&pod).expect("a good pod");
    let user = json!({ "resource": "pods", "name": "user", "uid": pod["metadata"]["uid"] });
    let with_devices = json!({ "allocation": { "devices": { "results": [] } }, "reservedFor": [user] });
    let tell = |world: &mut World, kind: &str, name: &str, status: &Value| {
        let mut object = Value::clone(&world.api.get(kind, "default", name).expect("it is there"));
        object["status"] = status.clone();
        world.api.update(kind, object, true).expect("a good status");
        world.spread();
    };
    tell(&mut world, "ResourceClaim", "c", &with_devices);
    let before = world.api.revision();
    let body = json!({ "metadata": { "name": "user", "namespace": "default" },
        "target": { "apiVersion": "v1", "kind": "Node", "name": "node-0" } });
    let (namespace, name) = ("default".to_owned(), "user".to_owned());
    let bind =
        ApiCall { verb: Verb::Create, kind: "Pod", namespace, name, subresource: Some("binding"), body };
    world.api.perform(&bind).expect("it waits");
    let sent = if is_sent_before { before } else { world.api.revision() };
    let machine = world.machines.entry("node-0".to_owned()).or_default();
    machine.prepared.insert(uid(&claim).to_string());
    tell(&mut world, "Pod", "user", &json!({ "phase": "Running" }));
    assert!(world.violations.is_empty(), "{:?}", world.violations);

    world.api.by = Some(Caller { replica: 0, sent });
    tell(&mut world, "ResourceClaim", "c", &json!({}));
    world.api.by = None;
    world.violations
}

#[test]
fn a_call_is_excused_if_another_client_bound_the_pod_after_it_was_sent_and_only_then() {
    assert_eq!(said_of_a_pod_bound_by_hand(true), Vec::<String>::new());
    let said = said_of_a_pod_bound_by_hand(false);
    assert!(said.iter().any(|line| line.contains("while a node uses them")), "{said:?}");
    assert!(said.iter().any(|line| line.contains("has no devices")), "{said:?}");
}
