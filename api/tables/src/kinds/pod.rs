//! Pods. Most of it is the STATUS column, which tells the phase, or better the reason why the pod is not further.

use std::collections::BTreeMap;

use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::age::{age, between, moment};
use crate::column::{AGE, Column, NAME};
use crate::fields::{holds, is_deleted, is_true, items, name, number, text, text_or, truth};

pub(super) const COLUMNS: &[Column] = &[
    NAME,
    Column::text("Ready", "How many of the pod's containers are ready, and how many there are."),
    Column::text("Status", "The phase of the pod, or the reason that it is not running."),
    Column::text("Restarts", "Number of container restarts of the pod, and the time of the last."),
    AGE,
    Column::text("IP", "The address of the pod.").wide(),
    Column::text("Node", "The node on which the pod runs.").wide(),
    Column::text("Nominated Node", "The node on which pods are being preempted for the pod.").wide(),
    Column::text(
        "Readiness Gates",
        "Number of readiness gates of the pod that are true, and the number of readiness gates.",
    )
    .wide(),
];

pub(super) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let summary = Summary::of(pod);
    let address = text_or(&status["podIPs"][0]["ip"], text_or(&status["podIP"], "<none>"));
    vec![
        name(pod),
        format!("{}/{}", summary.ready, summary.containers).into(),
        summary.reason.into(),
        summary.restarts.text(now).into(),
        age(pod, now),
        address.into(),
        text_or(&spec["nodeName"], "<none>").into(),
        text_or(&status["nominatedNodeName"], "<none>").into(),
        readiness_gates(pod).into(),
    ]
}

/// What a Table says of a pod's row besides its cells: that the pod has come to its end.
pub(crate) fn row_conditions(pod: &Value) -> Option<Value> {
    let phase = text(&pod["status"]["phase"]);
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": phase, "message": message}]))
}

fn readiness_gates(pod: &Value) -> String {
    let gates = items(&pod["spec"]["readinessGates"]);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let conditions = &pod["status"]["conditions"];
    let open = gates.iter().filter(|gate| holds(conditions, text(&gate["conditionType"]))).count();
    format!("{open}/{}", gates.len())
}

/// What is told of a pod's containers taken together.
struct Summary {
    reason: String,
    ready: usize,
    containers: usize,
    restarts: Restarts,
}

/// How often containers were started again, and when one of them ended last.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += number(&container["restartCount"]);
        self.last = self.last.max(moment(&container["lastState"]["terminated"]["finishedAt"]));
    }

    fn text(self, now: Timestamp) -> String {
        match self.last {
            Some(last) if self.count != 0 => format!("{} ({} ago)", self.count, between(last, now)),
            _ => self.count.to_string(),
        }
    }
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let sidecars = items(&spec["initContainers"]).iter().filter(|container| restarts_always(container));
        let mut summary = Self {
            reason: first_reason(status).to_owned(),
            ready: 0,
            containers: items(&spec["containers"]).len() + sidecars.count(),
            restarts: Restarts::default(),
        };
        let initial = summary.read_init_containers(pod);
        if !initial.unfinished || is_initialized(status) {
            summary.restarts = initial.sidecar_restarts;
            summary.read_containers(status);
        }
        if is_deleted(pod) {
            if text(&status["reason"]) == "NodeLost" {
                summary.reason = "Unknown".to_owned();
            } else if !matches!(text(&status["phase"]), "Succeeded" | "Failed") {
                summary.reason = "Terminating".to_owned();
            }
        }
        summary
    }

    /// Walks over the init containers up to the first one that has not done its work.
    fn read_init_containers(&mut self, pod: &Value) -> Initial {
        let declared = items(&pod["spec"]["initContainers"]);
        // Of two containers of the same name the later declaration counts.
        let declared: BTreeMap<&str, &Value> =
            declared.iter().map(|each| (text(&each["name"]), each)).collect();
        let is_sidecar = |container: &Value| {
            declared.get(text(&container["name"])).is_some_and(|declaration| restarts_always(declaration))
        };
        let mut sidecar_restarts = Restarts::default();
        for (at, container) in items(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
            self.restarts.add(container);
            let sidecar = is_sidecar(container);
            if sidecar {
                sidecar_restarts.add(container);
            }
            let (terminated, waiting) = (&container["state"]["terminated"], &container["state"]["waiting"]);
            if terminated.is_object() && number(&terminated["exitCode"]) == 0 {
                continue;
            }
            if sidecar && truth(&container["started"]) {
                self.ready += usize::from(truth(&container["ready"]));
                continue;
            }
            self.reason = if terminated.is_object() {
                format!("Init:{}", ending(terminated))
            } else if !matches!(text(&waiting["reason"]), "" | "PodInitializing") {
                format!("Init:{}", text(&waiting["reason"]))
            } else {
                format!("Init:{at}/{}", declared.len())
            };
            return Initial { unfinished: true, sidecar_restarts };
        }
        Initial { unfinished: false, sidecar_restarts }
    }

    /// Walks over the ordinary containers, backwards, so that the first one with something to say is heard.
    fn read_containers(&mut self, status: &Value) {
        let mut runs = false;
        let mut failure = None;
        for container in items(&status["containerStatuses"]).iter().rev() {
            self.restarts.add(container);
            let (terminated, waiting) = (&container["state"]["terminated"], &container["state"]["waiting"]);
            if !text(&waiting["reason"]).is_empty() {
                text(&waiting["reason"]).clone_into(&mut self.reason);
            } else if terminated.is_object() {
                self.reason = ending(terminated);
                if number(&terminated["exitCode"]) != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if truth(&container["ready"]) && container["state"]["running"].is_object() {
                runs = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if runs && is_ready(status) {
                "Running".clone_into(&mut self.reason);
            } else if let Some(failure) = failure {
                self.reason = failure;
            } else if runs {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}

/// What the walk over the init containers found.
struct Initial {
    unfinished: bool,
    sidecar_restarts: Restarts,
}

fn first_reason(status: &Value) -> &str {
    let gated = items(&status["conditions"]).iter().any(|condition| {
        text(&condition["type"]) == "PodScheduled" && text(&condition["reason"]) == "SchedulingGated"
    });
    if gated { "SchedulingGated" } else { text_or(&status["reason"], text(&status["phase"])) }
}

fn ending(terminated: &Value) -> String {
    match (text(&terminated["reason"]), number(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn restarts_always(container: &Value) -> bool {
    text(&container["restartPolicy"]) == "Always"
}

fn is_initialized(status: &Value) -> bool {
    holds(&status["conditions"], "Initialized")
}

fn is_ready(status: &Value) -> bool {
    items(&status["conditions"])
        .iter()
        .any(|condition| text(&condition["type"]) == "Ready" && is_true(condition))
}
