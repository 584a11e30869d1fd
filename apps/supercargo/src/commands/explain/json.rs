//! Explanations for programs: codes, figures, and all of it as text. Names of fields and codes stay as they are; new ones may come.

use std::fmt::Display;

use explain::{
    ClaimExplanation, ClaimStanding, Conflict, Explanation, GroupExplanation, NodeGroup, PodExplanation,
    RefusedGroup, RefusedPod, Remedies, Subject, WaitingPod,
};
use model::claim::ClaimId;
use model::group::GroupId;
use model::pod::PodId;
use serde_json::{Value, json};

/// What is said of an object.
pub(super) fn document(subject: &Subject, told: &Explanation) -> Value {
    match (subject, told) {
        (Subject::Pod(id), Explanation::Pod(told)) => pod(id, told),
        (Subject::Claim(id), Explanation::Claim(told)) => claim(id, told),
        (_, Explanation::Group(told)) => json!({ "groups": [group(told)] }),
        (_, Explanation::Workload(_, all)) => json!({ "groups": all.iter().map(group).collect::<Vec<_>>() }),
        // An object is explained as what it is, so nothing else comes; it would be told as a text.
        (_, told) => json!({ "text": told.to_string() }),
    }
}

/// What is said of a pod.
fn pod(id: &PodId, told: &PodExplanation) -> Value {
    let mut document = begin((&id.namespace, &id.name), told);
    let verdict = match told {
        PodExplanation::NotFound(_) => "NotFound",
        PodExplanation::Gated { gates, .. } => {
            document["schedulingGates"] = gates.iter().map(|gate| json!(**gate)).collect();
            "Gated"
        }
        PodExplanation::Waiting(WaitingPod::Fits { node, .. }) => {
            document["nodeName"] = json!(**node);
            "Fits"
        }
        PodExplanation::Waiting(WaitingPod::Undecided { .. }) => "Undecided",
        PodExplanation::Waiting(WaitingPod::Refused(refused)) => {
            pod_refusal(refused, &mut document);
            "Unschedulable"
        }
        PodExplanation::WaitingInGroup { group: told, .. } => {
            document["group"] = group(told);
            "WaitsInGroup"
        }
        PodExplanation::Placed(placed) => {
            document["nodeName"] = json!(*placed.node);
            "Placed"
        }
    };
    document["verdict"] = json!(verdict);
    document
}

/// What is said of a group of pods, or of a group of groups.
fn group(told: &GroupExplanation) -> Value {
    let (id, verdict): (&GroupId, &str) = match told {
        GroupExplanation::NotFound(id) => (id, "NotFound"),
        GroupExplanation::NoneWait { group, .. } => (group, "NoneWait"),
        GroupExplanation::TooFew { group, .. } => (group, "TooFewPods"),
        GroupExplanation::Fits { group, .. } => (group, "Fits"),
        GroupExplanation::Undecided(group) => (group, "Undecided"),
        GroupExplanation::Refused(refused) => (&refused.group, "Unschedulable"),
    };
    let mut document = begin((&id.namespace, &id.name.to_string()), told);
    if let GroupExplanation::Refused(refused) = told {
        group_refusal(refused, &mut document);
    }
    document["verdict"] = json!(verdict);
    document
}

/// What is said of a claim.
fn claim(id: &ClaimId, told: &ClaimExplanation) -> Value {
    let mut document = begin((&id.namespace, &id.name), told);
    let ClaimExplanation::Found(found) = told else {
        document["verdict"] = json!("NotFound");
        return document;
    };
    document["verdict"] = json!(match &found.standing {
        ClaimStanding::AwaitsPod => "WaitsForPod",
        ClaimStanding::AwaitsClasses(_) => "WaitsForDeviceClass",
        ClaimStanding::AwaitsDrivers(_) => "WaitsForController",
        ClaimStanding::BeingAllocated => "BeingAllocated",
        ClaimStanding::BeingDeallocated => "BeingDeallocated",
        ClaimStanding::Preparing { .. } => "WaitsForConditions",
        ClaimStanding::Broken(_) => "NotReady",
        ClaimStanding::Allocated => "Allocated",
    });
    let devices = found.devices.iter();
    let device = |id: &model::device::DeviceId| json!({ "driver": *id.driver, "pool": *id.pool, "device": *id.device });
    document["devices"] = devices.map(device).collect();
    if let Some(since) = found.since {
        document["since"] = json!(since.to_string());
    }
    document
}

/// The name of an object, the first sentence and the whole text.
fn begin((namespace, name): (&str, &str), told: &impl Display) -> Value {
    let text = told.to_string();
    let message = text.lines().next().unwrap_or_default();
    json!({ "namespace": namespace, "name": name, "message": message, "text": text })
}

fn pod_refusal(refused: &RefusedPod, document: &mut Value) {
    document["message"] = json!(refused.message());
    document["codes"] = json!(refused.codes());
    document["nodes"] = nodes(&refused.groups);
    if let Some(nearest) = &refused.nearest {
        document["nearestNode"] = json!(*nearest.node);
    }
    changes(&refused.conflict, &refused.remedies, document);
}

fn group_refusal(refused: &RefusedGroup, document: &mut Value) {
    document["message"] = json!(refused.message());
    document["codes"] = json!([refused.refusal.miss.why.code()]);
    document["waitingPods"] = json!(refused.waiting);
    let places = refused.seated.iter().map(|(pod, node)| json!({ "pod": **pod, "nodeName": **node }));
    document["bestAttempt"] = places.collect();
    document["nodes"] = nodes(&refused.groups);
    changes(&refused.conflict, &refused.remedies, document);
}

/// Nodes by what removes them.
fn nodes(groups: &[NodeGroup]) -> Value {
    let row = |group: &NodeGroup| {
        let codes: Vec<&str> = group.reasons.iter().map(|reason| reason.code()).collect();
        let examples: Vec<&str> = group.examples.iter().map(|node| &**node).collect();
        json!({ "count": group.count, "codes": codes, "examples": examples })
    };
    groups.iter().map(row).collect()
}

/// The constraints that conflict, and the changes that would help.
fn changes(conflict: &Conflict, remedies: &Remedies, document: &mut Value) {
    document["conflict"] = conflict.constraints.iter().map(|one| json!({ "code": one.code() })).collect();
    let remedy = |remedy: &explain::Remedy| -> Value {
        remedy.edits.iter().map(|edit| json!({ "code": edit.code() })).collect()
    };
    document["remedies"] = remedies.remedies.iter().map(remedy).collect();
}
