//! Groups as facts.

use cluster::change::{Change, GroupChange};
use convert::change::applied;
use model::group::{Composite, Group, GroupId};
use serde_json::{Value, json};

fn object(condition: Option<Value>) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": { "name": "g", "namespace": "ns", "uid": "gu", "generation": 3, "resourceVersion": "7" },
        "spec": {
            "parentCompositePodGroupName": "tree",
            "priority": 5,
            "schedulingPolicy": { "gang": { "minCount": 4 } },
            "schedulingConstraints": { "topology": [{ "key": "rack" }] },
            "resourceClaims": [
                { "name": "nic", "resourceClaimName": "fabric" },
                { "name": "gpu", "resourceClaimTemplateName": "gpus" },
            ],
        },
        "status": { "conditions": condition.into_iter().collect::<Vec<_>>() },
    })
}

fn condition(status: &str, reason: &str, message: &str, generation: i64) -> Value {
    json!({
        "type": "PodGroupInitiallyScheduled", "status": status, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": "2026-01-02T03:04:05Z",
    })
}

fn group(object: &Value) -> Group {
    match applied(object, 0).expect("a good group") {
        Some(Change::Group(GroupChange::Applied(group))) => *group,
        other => unreachable!("it is told as {other:?}"),
    }
}

#[test]
fn a_group_says_what_it_names_where_it_belongs_and_whether_it_was_placed() {
    let found = group(&object(None));
    assert_eq!((found.at_least, found.priority, found.was_placed), (4, 5, false));
    assert_eq!(found.parent.as_deref(), Some("tree"));
    assert_eq!(found.levels, ["rack".into()]);
    // What is made from a template is told by its owner.
    assert_eq!(found.claims, [("nic".into(), "fabric".into())].into());
    assert!(group(&object(Some(condition("True", "Scheduled", "", 1)))).was_placed);
    assert!(!group(&object(Some(condition("False", "Unschedulable", "no", 1)))).was_placed);
}

#[test]
fn a_group_of_groups_needs_one_unless_it_says_more() {
    let tree = |policy: Value| {
        let object = json!({
            "apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup",
            "metadata": { "name": "tree", "namespace": "ns" },
            "spec": { "schedulingPolicy": policy, "schedulingConstraints": { "topology": [{ "key": "zone" }] } },
        });
        match applied(&object, 0).expect("a good tree") {
            Some(Change::Group(GroupChange::CompositeApplied(tree))) => *tree,
            other => unreachable!("it is told as {other:?}"),
        }
    };
    let id = GroupId { namespace: "ns".into(), name: "tree".into() };
    let expected =
        Composite { id, at_least: 1, levels: vec!["zone".into()], preempts: true, ..Composite::default() };
    assert_eq!(tree(json!({ "basic": {} })), expected);
    let expected = Composite { at_least: 2, ..expected };
    assert_eq!(tree(json!({ "gang": { "minGroupCount": 2 } })), expected);
}
