//! Explanations as JSON.

use std::sync::Arc;

use cluster::change::Change;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use explain::{Audience, Effort, Subject, explain};
use gates::Gates;
use model::claim::ClaimId;
use model::group::GroupId;
use model::node::Node;
use model::pod::{Pod, PodId, Resources, Shape};
use model::timestamp::Timestamp;
use scheduler::engine::{Engine, Input};
use scheduling::explanation::to_json;
use serde_json::{Value, json};

fn pod(name: &str, cpu: i64, node: Option<&str>) -> Change {
    let requests = Resources { cpu_milli: cpu * 1_000, ..Resources::default() };
    let shape = Shape { namespace: "default".into(), requests, containers: 1, ..Shape::default() };
    Change::PodApplied(Arc::new(Pod {
        id: PodId { namespace: "default".into(), name: name.into() },
        uid: name.into(),
        scheduler: "supercargo".into(),
        node: node.map(Into::into),
        shape: Arc::new(shape),
        ..Pod::default()
    }))
}

/// What is told of a subject of a cluster with one node of eight processors, of which pod `db` uses six.
fn told(subject: &Subject) -> Value {
    let mut engine = Engine::new(Settings {
        profiles: vec![Arc::new(Profile::named("supercargo"))],
        gates: Gates::default(),
        patience: Patience::default(),
        search_steps_max: 10_000,
    });
    let allocatable = Resources { cpu_milli: 8_000, ..Resources::default() };
    let node = Node { name: "a".into(), allocatable, pods_max: 10, ..Node::default() };
    let changes = [
        Change::NodeApplied(Box::new(node)),
        pod("db", 6, Some("a")),
        pod("web", 4, None),
        pod("ok", 1, None),
    ];
    for change in changes {
        engine.handle(Timestamp::from_micros(0), Input::Changed(change));
    }
    to_json(&explain(&engine.snapshot(), subject, &Audience::AllNamespaces, Effort::default()))
}

fn of_pod(name: &str) -> Value {
    told(&Subject::Pod(PodId { namespace: "default".into(), name: name.into() }))
}

#[test]
fn a_pod_that_waits_has_its_reasons_conflict_and_remedies() {
    let message = "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.";
    let shortage = json!({
        "reason": "InsufficientCpu", "message": "Insufficient cpu", "requested": 4000, "free": 2000, "capacity": 8000,
    });
    let expected = json!({
        "kind": "Pod",
        "namespace": "default",
        "name": "web",
        "state": "Waiting",
        "message": message,
        "reasons": ["InsufficientCpu"],
        "preempted": [],
        "nodes": [{
            "count": 1,
            "reasons": ["InsufficientCpu"],
            "examples": ["a"],
            "shortages": [shortage],
            "devices": null,
        }],
        "nearest": {"node": "a", "rules": ["InsufficientCpu"], "devices": null, "pods": ["default/db"]},
        "conflict": {
            "minimal": true,
            "constraints": [{"code": "ResourceRequest", "message": "the pod's request for cpu"}],
        },
        "remedies": {
            "complete": true,
            "items": [
                {"changes": [{"code": "LowerRequest", "message": "each pod requests 2 cpu"}], "node": "a"},
                {"changes": [{"code": "EndPod", "message": "pod default/db on node a ends"}], "node": "a"},
                {
                    "changes": [
                        {"code": "AddNode", "message": "a node like a is added"},
                    ],
                    "node": "a-new-1",
                },
            ],
        },
    });
    assert_eq!(of_pod("web"), expected);
}

#[test]
fn each_kind_of_subject_tells_its_state() {
    assert_eq!(of_pod("ok")["state"], "Fits");
    assert_eq!((&of_pod("db")["state"], &of_pod("db")["node"]), (&json!("Placed"), &json!("a")));
    assert_eq!(of_pod("other")["state"], "NotFound");
    let claim = Subject::Claim(ClaimId { namespace: "default".into(), name: "c".into() });
    assert_eq!(told(&claim)["state"], "NotFound");
    let group = Subject::Group(GroupId { namespace: "default".into(), name: "g".into() });
    assert_eq!(told(&group)["state"], "NotFound");
}
