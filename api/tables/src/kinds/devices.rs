//! Kinds of dynamic resource allocation.

use model::timestamp::Timestamp;
use serde_json::Value;

use crate::age::{age, since};
use crate::column::{AGE, Column, NAME};
use crate::fields::{is_deleted, is_true, items, name, number, text};

pub(super) const CLAIM: &[Column] =
    &[NAME, Column::text("State", "State of the claim: pending, allocated, reserved or deleted."), AGE];

pub(super) fn claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let status = &object["status"];
    let mut states = Vec::new();
    if is_deleted(object) {
        states.push("deleted");
    }
    if status["allocation"].is_object() {
        states.push("allocated");
        if !items(&status["reservedFor"]).is_empty() {
            states.push("reserved");
        }
    } else if !is_deleted(object) {
        states.push("pending");
    }
    vec![name(object), states.join(",").into(), age(object, now)]
}

pub(super) const SLICE: &[Column] = &[
    NAME,
    Column::text("Node", "The node that has the devices, if it is one node."),
    Column::text("Driver", "The driver of the devices."),
    Column::text("Pool", "The pool that the devices belong to."),
    AGE,
];

pub(super) fn slice(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    vec![
        name(object),
        text(&spec["nodeName"]).into(),
        text(&spec["driver"]).into(),
        text(&spec["pool"]["name"]).into(),
        age(object, now),
    ]
}

pub(super) const TAINT_RULE: &[Column] = &[
    NAME,
    Column::text("Key", "The key of the taint."),
    Column::text("Value", "The value of the taint."),
    Column::text("Effect", "What the taint does to claims that do not tolerate it."),
    Column::text("TimeAdded", "How long ago the taint was added."),
    AGE,
];

pub(super) fn taint_rule(object: &Value, now: Timestamp) -> Vec<Value> {
    let taint = &object["spec"]["taint"];
    let added = if taint["timeAdded"].is_null() { String::new() } else { since(&taint["timeAdded"], now) };
    vec![
        name(object),
        text(&taint["key"]).into(),
        text(&taint["value"]).into(),
        text(&taint["effect"]).into(),
        added.into(),
        age(object, now),
    ]
}

pub(super) const POOL_STATUS: &[Column] = &[
    NAME,
    Column::text("Driver", "The driver whose pools are asked about."),
    Column::text("Total", "How many devices the pools have."),
    Column::text("Available", "How many of the devices are free."),
    Column::text("Allocated", "How many of the devices are taken."),
    Column::text("Unavailable", "How many of the devices cannot be used."),
    Column::text("Errors", "How many of the pools are not valid."),
    Column::integer("Pools", "How many pools there are."),
    Column::text("Status", "Whether the question is answered."),
    Column::text("Completed", "How long ago the question was answered."),
];

pub(super) fn pool_status(object: &Value, now: Timestamp) -> Vec<Value> {
    let status = &object["status"];
    let pools = items(&status["pools"]);
    let outcome = items(&status["conditions"])
        .iter()
        .find(|condition| is_true(condition) && matches!(text(&condition["type"]), "Complete" | "Failed"));
    let outcome_name = outcome.map_or("Pending", |condition| text(&condition["type"]));
    let pool_count = number(&status["poolCount"]);
    let told = i64::try_from(pools.len()).unwrap_or(i64::MAX);
    let shown = if outcome_name == "Complete" && pool_count > told {
        format!("Complete ({told}/{pool_count} pools)")
    } else {
        outcome_name.to_owned()
    };
    let completed = outcome.filter(|_| outcome_name == "Complete");
    let completed = completed
        .map_or_else(|| "<none>".to_owned(), |condition| since(&condition["lastTransitionTime"], now));

    let mut cells = vec![name(object), text(&object["spec"]["driver"]).into()];
    let counted = status.is_object() && outcome_name != "Failed";
    let shown_if_counted = |count: i64| if counted { count.to_string() } else { "-".to_owned() };
    for field in ["totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices"] {
        let sum = pools.iter().map(|pool| number(&pool[field])).sum();
        cells.push(shown_if_counted(sum).into());
    }
    let faulty = pools.iter().filter(|pool| !pool["validationError"].is_null()).count();
    cells.push(shown_if_counted(i64::try_from(faulty).unwrap_or(i64::MAX)).into());
    cells.extend([pool_count.into(), shown.into(), completed.into()]);
    cells
}
