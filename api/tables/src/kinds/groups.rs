//! Priority classes and groups of pods.

use model::timestamp::Timestamp;
use serde_json::Value;

use crate::age::age;
use crate::column::{AGE, Column, NAME};
use crate::fields::{is_true, last_condition, name, number, set_or, text, truth};

pub(super) const PRIORITY_CLASS: &[Column] = &[
    NAME,
    Column::integer("Value", "The priority of the pods of the class."),
    Column::boolean("Global-Default", "Whether this is the default class."),
    AGE,
    Column::text("PreemptionPolicy", "Whether pods of the class may preempt other pods."),
];

pub(super) fn priority_class(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        number(&object["value"]).into(),
        truth(&object["globalDefault"]).into(),
        age(object, now),
        text(&object["preemptionPolicy"]).into(),
    ]
}

const POLICY: Column = Column::text("Policy", "Whether the group is placed as a whole or pod by pod.");
const WORKLOAD: Column = Column::text("Workload", "The workload that the group belongs to.");

pub(super) const POD_GROUP: &[Column] =
    &[NAME, POLICY, WORKLOAD, Column::text("Status", "Status of the group."), AGE];

pub(super) fn pod_group(object: &Value, now: Timestamp) -> Vec<Value> {
    let conditions = &object["status"]["conditions"];
    let scheduled = last_condition(conditions, "PodGroupInitiallyScheduled");
    let status = match (last_condition(conditions, "DisruptionTarget"), scheduled) {
        (Some(target), _) => text(&target["reason"]),
        (None, Some(scheduled)) if is_true(scheduled) => "Scheduled",
        (None, Some(_)) => "Unschedulable",
        (None, None) => "Pending",
    };
    vec![name(object), policy(object).into(), workload(object).into(), status.into(), age(object, now)]
}

pub(super) const COMPOSITE: &[Column] = &[NAME, POLICY, WORKLOAD, AGE];

pub(super) fn composite(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), policy(object).into(), workload(object).into(), age(object, now)]
}

fn policy(object: &Value) -> &'static str {
    if object["spec"]["schedulingPolicy"]["gang"].is_object() { "Gang" } else { "Basic" }
}

fn workload(object: &Value) -> &str {
    set_or(&object["spec"]["workloadRef"]["workloadName"], "<none>")
}
