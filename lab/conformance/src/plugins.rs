//! Filters, scores and preemption: what the default plugins of kube-scheduler decide for one pod.
//!
//! Any of the best nodes is as good as another, and so is any of the nodes with the least harm. So what was recorded is a
//! set of answers, and ours differs if it is none of them.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use config::SchedulerSettings;
use gates::Gates;
use serde_json::{Value, json};
use simulation::{Manifest, Outcome, Place, Rules, VolumeBinder, needed_gates, simulate_by};

use crate::{Difference, Form, Suite};

/// The suite of `plugins` vectors: the pod is on one of the best nodes, or preempts whom kube-scheduler preempts, or waits.
pub const SUITE: Suite =
    Suite { expected: |case| case["want"].clone(), answer, differences, agreement: None, form: Form::Any };

/// Where the pod is, and who was preempted: `{"node": null, "preempted": ["namespace/name"]}`.
fn answer(case: &Value) -> anyhow::Result<Value> {
    let objects = case["objects"].as_array().context("no list of objects")?;
    let manifest = |(at, value): (usize, &Value)| {
        Manifest::made(Place { file: "case".to_owned(), line: at as u64 + 1 }, value.clone())
    };
    let manifests: Vec<Manifest> = objects.iter().chain([&case["pod"]]).enumerate().map(manifest).collect();
    let (gates, _) = Gates::with_needed("", needed_gates(&manifests).keys().copied())?;
    let scheduler = match case.get("config") {
        Some(config) => Some(SchedulerSettings::read(&config.to_string(), gates)?),
        None => None,
    };
    // Nothing but the scheduler was at work where the answers were recorded.
    let rules = Rules { scheduler: scheduler.as_ref(), volumes: VolumeBinder::Absent, ..Rules::new(gates) };
    let Outcome { pods, .. } = simulate_by(manifests, &rules)?.outcome;
    let placed = &case["pod"]["metadata"];
    let namespace = placed["namespace"].as_str().unwrap_or("default");
    let is_it = |name: &str, within: &str| placed["name"] == name && namespace == within;
    let Some(pod) = pods.iter().find(|pod| is_it(&pod.name, &pod.namespace)) else {
        bail!("the pod is not in the answer");
    };
    let is_preempted =
        |reason: &Option<String>| reason.as_ref().is_some_and(|it| it.contains("preempted by pod"));
    let gone = pods.iter().filter(|pod| is_preempted(&pod.reason));
    let preempted: BTreeSet<String> = gone.map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
    Ok(json!({ "node": pod.node, "preempted": preempted }))
}

fn differences(expected: &Value, actual: &Value) -> Vec<Difference> {
    let differs = |at: &str, expected: &Value, actual: &Value| {
        let (expected, actual) = (expected.clone(), actual.clone());
        vec![Difference { at: at.to_owned(), expected, actual }]
    };
    let feasible = expected["feasible"].as_array().map(Vec::as_slice).unwrap_or_default();
    let nominated =
        expected["nominated"].as_object().filter(|nodes| feasible.is_empty() && !nodes.is_empty());
    let (node, preempted) = (&actual["node"], &actual["preempted"]);
    match (nominated, node.as_str()) {
        (Some(nodes), Some(name)) => match nodes.get(name) {
            None => differs("nominated", &expected["nominated"], node),
            Some(victims) if names(victims) != names(preempted) => differs("preempted", victims, preempted),
            Some(_) => Vec::new(),
        },
        (Some(_), None) => differs("nominated", &expected["nominated"], node),
        (None, _) if !names(preempted).is_empty() => differs("preempted", &json!([]), preempted),
        (None, Some(_)) if !feasible.contains(node) => differs("feasible", &expected["feasible"], node),
        (None, Some(_)) if !names(&expected["best"]).contains(node.as_str().unwrap_or_default()) => {
            differs("best", &expected["best"], node)
        }
        (None, None) if !feasible.is_empty() => differs("feasible", &expected["feasible"], node),
        (None, _) => Vec::new(),
    }
}

fn names(list: &Value) -> BTreeSet<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where our answer differs from the recorded one.
    #[track_caller]
    fn check(expected: &Value, actual: &Value, at: &[&str]) {
        let found = differences(expected, actual);
        assert_eq!(found.iter().map(|one| one.at.as_str()).collect::<Vec<_>>(), at, "{actual}");
    }

    #[test]
    fn any_of_the_best_nodes_will_do_and_no_other() {
        let wanted = json!({ "feasible": ["a", "b", "c"], "best": ["a", "b"], "nominated": {} });
        check(&wanted, &json!({ "node": "b", "preempted": [] }), &[]);
        check(&wanted, &json!({ "node": "c", "preempted": [] }), &["best"]);
        check(&wanted, &json!({ "node": "d", "preempted": [] }), &["feasible"]);
        check(&wanted, &json!({ "node": null, "preempted": [] }), &["feasible"]);
        check(&wanted, &json!({ "node": "a", "preempted": ["default/e"] }), &["preempted"]);
    }

    #[test]
    fn where_nothing_is_feasible_the_pod_waits_or_preempts_whom_it_should() {
        let waits = json!({ "feasible": [], "best": [] });
        check(&waits, &json!({ "node": null, "preempted": [] }), &[]);
        check(&waits, &json!({ "node": "a", "preempted": [] }), &["feasible"]);
        let wanted = json!({ "feasible": [], "nominated": { "a": ["n/y", "n/x"], "b": ["n/z"] } });
        check(&wanted, &json!({ "node": "a", "preempted": ["n/x", "n/y"] }), &[]);
        check(&wanted, &json!({ "node": "b", "preempted": ["n/x"] }), &["preempted"]);
        check(&wanted, &json!({ "node": "c", "preempted": ["n/z"] }), &["nominated"]);
        check(&wanted, &json!({ "node": null, "preempted": [] }), &["nominated"]);
    }
}
