//! Our own kinds. Kubernetes knows nothing of them, so their columns are ours to choose.

use model::timestamp::Timestamp;
use serde_json::Value;

use crate::age::age;
use crate::column::{AGE, Column, NAME};
use crate::fields::{items, joined_by, name, number, text_or};

pub(super) const ATTACHMENT: &[Column] = &[
    NAME,
    Column::text("Model", "The model of the device."),
    Column::text("Node", "The node that it is attached to."),
    Column::text("Claim", "The claim that it is attached for."),
    Column::text("Phase", "State of the attachment."),
    Column::text("Origin", "Whether it was attached by the fabric's controller, or found attached."),
    AGE,
    Column::text("Message", "The last error, or why the device is not used.").wide(),
];

pub(super) fn attachment(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let claim = &spec["claim"];
    let claim = match (claim["namespace"].as_str(), claim["name"].as_str()) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        _ => "<none>".to_owned(),
    };
    vec![
        name(object),
        text_or(&spec["model"], "<unknown>").into(),
        text_or(&spec["node"], "<unknown>").into(),
        claim.into(),
        text_or(&status["phase"], "<unknown>").into(),
        text_or(&spec["origin"], "<unknown>").into(),
        age(object, now),
        text_or(&status["message"], "").into(),
    ]
}

pub(super) const TOPOLOGY: &[Column] = &[
    NAME,
    Column::text("Levels", "The levels of the topology, from the coarsest to the finest."),
    Column::text("Domains", "How many domains each level has."),
    AGE,
    Column::text("Node Labels", "The node label of each level.").wide(),
    Column::integer("Unlabelled", "How many labels are missing on nodes of the topology.").wide(),
    Column::integer("Contradictions", "How many domains are in several domains of a coarser level.").wide(),
];

pub(super) fn topology(object: &Value, now: Timestamp) -> Vec<Value> {
    let levels = items(&object["spec"]["levels"]);
    let found = items(&object["status"]["levels"]);
    let domains: Vec<String> = levels
        .iter()
        .map(|level| {
            let status = found.iter().find(|status| status["name"] == level["name"]);
            status.map_or_else(|| "?".to_owned(), |status| number(&status["domains"]).to_string())
        })
        .collect();
    let domains = if found.is_empty() { "<unknown>".to_owned() } else { domains.join(",") };
    let unlabelled: i64 = found.iter().map(|status| number(&status["nodesWithoutLabelCount"])).sum();
    let contradictions: i64 = found.iter().map(|status| number(&status["contradictionsCount"])).sum();
    vec![
        name(object),
        joined_by(&object["spec"]["levels"], "name").into(),
        domains.into(),
        age(object, now),
        joined_by(&object["spec"]["levels"], "nodeLabel").into(),
        unlabelled.into(),
        contradictions.into(),
    ]
}

pub(super) const CONTEXT: &[Column] = &[
    NAME,
    Column::text("Selected Node", "The node that the scheduler selected."),
    Column::integer("Potential Nodes", "How many nodes the scheduler asked about."),
    Column::integer("Claims", "For how many claims a driver has answered."),
    AGE,
];

pub(super) fn context(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    vec![
        name(object),
        text_or(&spec["selectedNode"], "<none>").into(),
        items(&spec["potentialNodes"]).len().into(),
        items(&object["status"]["resourceClaims"]).len().into(),
        age(object, now),
    ]
}

pub(super) const WORKLOAD: &[Column] = &[
    NAME,
    Column::integer("Groups", "How many pod groups the workload has."),
    Column::integer("Bound", "How many pods of its groups are bound to a node."),
    Column::text("Placed", "Whether every replica of every group has the pods that it needs on nodes."),
    AGE,
    Column::text("Message", "Why the first waiting group waits.").wide(),
];

pub(super) fn workload(object: &Value, now: Timestamp) -> Vec<Value> {
    let status = &object["status"];
    let bound: i64 = items(&status["podGroups"]).iter().map(|group| number(&group["bound"])).sum();
    fn placed(of: &Value) -> Option<&Value> {
        items(&of["conditions"]).iter().find(|condition| condition["type"] == "Placed")
    }
    let is_waiting = |condition: &&Value| condition["status"] == "False";
    let waits = items(&status["podGroups"]).iter().filter_map(placed).find(is_waiting);
    vec![
        name(object),
        items(&object["spec"]["podGroups"]).len().into(),
        bound.into(),
        placed(status).map_or("<unknown>", |condition| text_or(&condition["status"], "<unknown>")).into(),
        age(object, now),
        waits.map_or("", |condition| text_or(&condition["message"], "")).into(),
    ]
}
