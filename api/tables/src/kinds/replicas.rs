//! Kinds that make pods from a template.

use model::timestamp::Timestamp;
use serde_json::Value;

use crate::age::{age, between, moment};
use crate::column::{AGE, Column, NAME};
use crate::fields::{holds, is_deleted, joined_by, name, number};
use crate::selectors::{labels, selector};

const DESIRED: Column = Column::integer("Desired", "Desired number of pods.");
const CURRENT: Column = Column::integer("Current", "Current number of pods.");
const READY: Column = Column::integer("Ready", "How many pods are ready.");
const CONTAINERS: Column = Column::text("Containers", "The names of the template's containers.").wide();
const IMAGES: Column = Column::text("Images", "The images of the template's containers.").wide();
const SELECTOR: Column = Column::text("Selector", "The label selector of the object.").wide();

pub(super) const CONTROLLER: &[Column] = &[NAME, DESIRED, CURRENT, READY, AGE, CONTAINERS, IMAGES, SELECTOR];

pub(super) fn controller(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = replicas(object, now);
    cells.extend(template(object));
    cells.push(labels(&object["spec"]["selector"]).into());
    cells
}

pub(super) const REPLICA_SET: &[Column] = CONTROLLER;

pub(super) fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = replicas(object, now);
    cells.extend(template(object));
    cells.push(selector(&object["spec"]["selector"]).into());
    cells
}

fn replicas(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        number(&object["spec"]["replicas"]).into(),
        number(&object["status"]["replicas"]).into(),
        number(&object["status"]["readyReplicas"]).into(),
        age(object, now),
    ]
}

fn template(object: &Value) -> [Value; 2] {
    let containers = &object["spec"]["template"]["spec"]["containers"];
    [joined_by(containers, "name").into(), joined_by(containers, "image").into()]
}

pub(super) const STATEFUL_SET: &[Column] =
    &[NAME, Column::text("Ready", "Number of ready pods, and the desired number."), AGE, CONTAINERS, IMAGES];

pub(super) fn stateful_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let (ready, desired) = (number(&object["status"]["readyReplicas"]), number(&object["spec"]["replicas"]));
    let mut cells = vec![name(object), format!("{ready}/{desired}").into(), age(object, now)];
    cells.extend(template(object));
    cells
}

pub(super) const JOB: &[Column] = &[
    NAME,
    Column::text("Status", "Status of the job."),
    Column::text("Completions", "Number of succeeded pods, and the desired number."),
    Column::text("Duration", "How long the job took, or has taken so far."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) fn job(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let succeeded = number(&status["succeeded"]);
    let completions = match (spec["completions"].as_i64(), number(&spec["parallelism"])) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallel @ 2..) => format!("{succeeded}/1 of {parallel}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let end = moment(&status["completionTime"]).unwrap_or(now);
    let duration = moment(&status["startTime"]).map_or_else(String::new, |start| between(start, end));
    let mut cells =
        vec![name(object), job_status(object).into(), completions.into(), duration.into(), age(object, now)];
    cells.extend(template(object));
    cells.push(selector(&spec["selector"]).into());
    cells
}

fn job_status(job: &Value) -> &'static str {
    let holds = |condition| holds(&job["status"]["conditions"], condition);
    for ended in ["Complete", "Failed"] {
        if holds(ended) {
            return ended;
        }
    }
    if is_deleted(job) {
        return "Terminating";
    }
    let further = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
    further.into_iter().find(|condition| holds(condition)).unwrap_or("Running")
}
