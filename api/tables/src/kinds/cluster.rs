//! Namespaces and the small kinds of a cluster.

use model::timestamp::Timestamp;
use serde_json::Value;

use crate::age::age;
use crate::column::{AGE, Column, NAME};
use crate::fields::{name, number, size, text};

pub(super) const NAMESPACE: &[Column] =
    &[NAME, Column::text("Status", "Whether the namespace is in use or being emptied."), AGE];

pub(super) fn namespace(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), text(&object["status"]["phase"]).into(), age(object, now)]
}

pub(super) const SECRET: &[Column] = &[
    NAME,
    Column::text("Type", "The type of the secret."),
    Column::text("Data", "How many entries the secret has."),
    AGE,
];

pub(super) fn secret(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), text(&object["type"]).into(), size(&object["data"]).into(), age(object, now)]
}

pub(super) const CONFIG_MAP: &[Column] = &[NAME, Column::text("Data", "How many entries the map has."), AGE];

pub(super) fn config_map(object: &Value, now: Timestamp) -> Vec<Value> {
    let entries = size(&object["data"]) + size(&object["binaryData"]);
    vec![name(object), entries.into(), age(object, now)]
}

pub(super) const LEASE: &[Column] = &[NAME, Column::text("Holder", "The holder of the lease."), AGE];

pub(super) fn lease(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), text(&object["spec"]["holderIdentity"]).into(), age(object, now)]
}

pub(super) const DISRUPTION_BUDGET: &[Column] = &[
    NAME,
    Column::text("Min Available", "How many pods must stay available."),
    Column::text("Max Unavailable", "How many pods may be unavailable at a time."),
    Column::integer("Allowed Disruptions", "How many pods may be disrupted now."),
    AGE,
];

pub(super) fn disruption_budget(object: &Value, now: Timestamp) -> Vec<Value> {
    let amount = |field: &Value| match field {
        Value::Null => "N/A".to_owned(),
        Value::String(text) => text.clone(),
        number => number.to_string(),
    };
    vec![
        name(object),
        amount(&object["spec"]["minAvailable"]).into(),
        amount(&object["spec"]["maxUnavailable"]).into(),
        number(&object["status"]["disruptionsAllowed"]).into(),
        age(object, now),
    ]
}
