//! The engine and the protocol of its writes together, as a live scheduler joins them: whatever becomes of a call, pods are bound with
//! devices of their own, and what the engine believes in the end is what the server has.
//!
//! Each story lets something happen to one call: the server is busy, an answer is lost, the call arrives late or never, or another client
//! is faster. Each is told twice: with a watch that is prompt, and with one that tells nothing before the writes are over.

mod server;
mod world;

use serde_json::{Value, json};

use server::Server;
use world::{Fault, World, claim, pod};

/// What becomes of the pod to which it happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// It is bound at the first attempt, with a device for its claim.
    Bound,
    /// The same after an attempt that failed, which is told.
    BoundLater,
    /// It waits, and its claim has no devices.
    Waits,
    /// It is gone, and its claim has no devices.
    Gone,
    /// It is gone after it was bound. The controller of claims takes its reservation away then, and no such controller is here.
    Over,
}

/// Something that happens to a call.
struct Story {
    name: &'static str,
    /// The calls to which it happens: those that write devices to the claim of the pod, or those that bind the pod.
    to: &'static str,
    /// What happens to the first of these calls, the second, and so on.
    faults: &'static [Fault],
    end: End,
}

const ALLOCATE: &str = "update ResourceClaim/status c";
const BIND: &str = "create Pod/binding p";

const STORIES: &[Story] = &[
    Story { name: "nothing happens", to: BIND, faults: &[], end: End::Bound },
    Story { name: "the server is busy", to: ALLOCATE, faults: &[Fault::Busy; 5], end: End::Bound },
    Story { name: "the server is too busy", to: ALLOCATE, faults: &[Fault::Busy; 9], end: End::BoundLater },
    Story { name: "an answer is lost", to: ALLOCATE, faults: &[Fault::LostAnswer], end: End::Bound },
    Story {
        name: "a call and an answer are lost",
        to: ALLOCATE,
        faults: &[Fault::LostCall, Fault::LostAnswer],
        end: End::Bound,
    },
    Story { name: "a call is lost", to: ALLOCATE, faults: &[Fault::LostCall; 2], end: End::Bound },
    Story { name: "a call is late", to: ALLOCATE, faults: &[Fault::LateCall], end: End::Bound },
    Story {
        name: "calls are late",
        to: ALLOCATE,
        faults: &[Fault::LateCall, Fault::LateCall],
        end: End::Bound,
    },
    Story { name: "a binding's answer is lost", to: BIND, faults: &[Fault::LostAnswer], end: End::Bound },
    Story { name: "a binding is lost", to: BIND, faults: &[Fault::LostCall], end: End::Bound },
    Story { name: "a binding is late", to: BIND, faults: &[Fault::LateCall], end: End::Bound },
    Story { name: "a binding is refused", to: BIND, faults: &[Fault::Refused], end: End::BoundLater },
    Story { name: "an allocation is refused", to: ALLOCATE, faults: &[Fault::Refused], end: End::BoundLater },
    Story { name: "a label is written", to: ALLOCATE, faults: &[Fault::Meddled(label)], end: End::Bound },
    Story { name: "labels are written", to: ALLOCATE, faults: &[Fault::Meddled(label); 6], end: End::Bound },
    Story {
        name: "another allocates it",
        to: ALLOCATE,
        faults: &[Fault::Meddled(allocate)],
        end: End::BoundLater,
    },
    Story {
        name: "the claim is deleted",
        to: ALLOCATE,
        faults: &[Fault::Meddled(lose_claim)],
        end: End::Waits,
    },
    Story {
        name: "the claim is another",
        to: ALLOCATE,
        faults: &[Fault::Meddled(replace_claim)],
        end: End::BoundLater,
    },
    Story { name: "the pod is deleted", to: BIND, faults: &[Fault::Meddled(lose_pod)], end: End::Gone },
    Story { name: "another binds it", to: BIND, faults: &[Fault::Meddled(bind)], end: End::Bound },
    Story {
        name: "an answer is lost, and the claim is deleted",
        to: ALLOCATE,
        faults: &[Fault::LostAnswerThen(lose_claim)],
        end: End::Waits,
    },
    Story {
        name: "an answer is lost, and the claim is another",
        to: ALLOCATE,
        faults: &[Fault::LostAnswerThen(replace_claim)],
        end: End::BoundLater,
    },
    Story {
        name: "a binding is lost, and the pod is deleted",
        to: BIND,
        faults: &[Fault::LostCall, Fault::Meddled(lose_pod)],
        end: End::Gone,
    },
    Story {
        name: "a binding's answer is lost, and the pod is deleted",
        to: BIND,
        faults: &[Fault::LostAnswerThen(lose_pod)],
        end: End::Over,
    },
];

fn label(server: &mut Server) {
    let many = server
        .get("ResourceClaim", "c")
        .map_or(0, |claim| claim["metadata"]["labels"].as_object().map_or(0, |all| all.len()));
    server.change("ResourceClaim", "c", |claim| claim["metadata"]["labels"][format!("l{many}")] = json!("x"));
}

/// Another scheduler gives the claim the device of node `c`, and reserves it for no pod yet.
fn allocate(server: &mut Server) {
    let device = json!({ "request": "gpu", "driver": "gpu.example.com", "pool": "c", "device": "gpu" });
    let field = json!({ "key": "metadata.name", "operator": "In", "values": ["c"] });
    let nodes = json!({ "nodeSelectorTerms": [{ "matchFields": [field] }] });
    server.change("ResourceClaim", "c", |claim| {
        claim["status"] =
            json!({ "allocation": { "devices": { "results": [device] }, "nodeSelector": nodes } });
    });
}

fn lose_claim(server: &mut Server) {
    server.remove("ResourceClaim", "c");
}

fn replace_claim(server: &mut Server) {
    server.remove("ResourceClaim", "c");
    server.put(claim("c", "another"));
}

fn lose_pod(server: &mut Server) {
    server.remove("Pod", "p");
}

/// Another client binds the pod to the node on which its claim has its device.
fn bind(server: &mut Server) {
    let node = server.get("ResourceClaim", "c").map(|claim| pool(claim).clone());
    server.change("Pod", "p", |pod| pod["spec"]["nodeName"] = json!(node));
}

fn results(claim: &Value) -> &[Value] {
    let results = claim["status"]["allocation"]["devices"]["results"].as_array();
    results.map(Vec::as_slice).unwrap_or_default()
}

/// Where the device of a claim is: each node has a pool of its name.
fn pool(claim: &Value) -> &Value {
    results(claim).first().map_or(&Value::Null, |result| &result["pool"])
}

fn play(story: &Story, is_prompt: bool) -> World {
    let mut world = World::new(is_prompt);
    for (name, its) in [("p", "c"), ("q", "d")] {
        world.server.put(claim(its, &format!("uid-{its}")));
        world.server.put(pod(name, its));
    }
    world.strike(story.to, story.faults);
    world.settle();
    world
}

/// What has to be so whatever happened.
fn judge(world: &World, end: End) -> Result<(), String> {
    let bound = |name: &str| {
        let pod = world.server.get("Pod", name)?;
        pod["spec"]["nodeName"].as_str().map(str::to_owned)
    };
    let serves = |pod: &str, claim: &str| -> Result<(), String> {
        let node = bound(pod).ok_or(format!("pod {pod} is not bound"))?;
        let claim = world.server.get("ResourceClaim", claim).ok_or("its claim is gone")?;
        let users = &claim["status"]["reservedFor"];
        let is_user = users.as_array().is_some_and(|all| all.iter().any(|one| one["name"] == *pod));
        if *pool(claim) == *node && is_user { Ok(()) } else { Err(format!("pod {pod} on {node}: {claim}")) }
    };
    serves("q", "d")?;
    match end {
        End::Bound | End::BoundLater => serves("p", "c")?,
        End::Waits if world.server.get("Pod", "p").is_none() || bound("p").is_some() => {
            return Err("p does not wait".to_owned());
        }
        End::Gone | End::Over if world.server.get("Pod", "p").is_some() => {
            return Err("p is there".to_owned());
        }
        End::Over => {}
        End::Waits | End::Gone => {
            let claim = world.server.get("ResourceClaim", "c");
            if let Some(claim) = claim.filter(|claim| !results(claim).is_empty()) {
                return Err(format!("the claim keeps its device: {claim}"));
            }
        }
    }
    if world.has_failed && end == End::Bound || !world.has_failed && end == End::BoundLater {
        return Err(format!("an attempt failed: {}", world.has_failed));
    }
    let given: Vec<&Value> = world.server.list("ResourceClaim").flat_map(results).collect();
    let has_twice = given
        .iter()
        .enumerate()
        .any(|(at, one)| given[..at].iter().any(|other| other["pool"] == one["pool"]));
    if has_twice {
        return Err(format!("a device was given twice: {given:?}"));
    }
    if world.engine.ledger().len() != given.len() {
        return Err(format!("the engine believes otherwise: {:?}", world.engine.ledger()));
    }
    if world.engine.placing() > 0 { Err("a pod is on its way for ever".to_owned()) } else { Ok(()) }
}

#[test]
fn whatever_becomes_of_a_call_the_engine_ends_where_the_server_is() {
    let mut wrong = Vec::new();
    for story in STORIES {
        for is_prompt in [true, false] {
            let world = play(story, is_prompt);
            let told = if is_prompt { "a prompt watch" } else { "a late watch" };
            if !world.has_struck() {
                wrong.push(format!("{}, {told}: not all of it happened", story.name));
            }
            if let Err(why) = judge(&world, story.end) {
                wrong.push(format!("{}, {told}: {why}\n{}", story.name, world.trace.join("\n")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_another_client_wrote_meanwhile_stays() {
    let labels = |name: &str| {
        let story = STORIES.iter().find(|story| story.name == name).expect("a story");
        let world = play(story, true);
        world.server.get("ResourceClaim", "c").map(|claim| claim["metadata"]["labels"].clone())
    };
    assert_eq!(labels("a label is written"), Some(json!({ "l0": "x" })));
    assert_eq!(labels("labels are written").and_then(|all| Some(all.as_object()?.len())), Some(6));
}

#[test]
fn a_claim_that_comes_back_lets_its_pod_go_on() {
    let story = STORIES.iter().find(|story| story.name == "the claim is deleted").expect("a story");
    for is_prompt in [true, false] {
        let mut world = play(story, is_prompt);
        world.server.put(claim("c", "another"));
        world.settle();
        assert_eq!(judge(&world, End::BoundLater), Ok(()), "{}", world.trace.join("\n"));
    }
}
