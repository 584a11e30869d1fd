//! Whether a pod may be evicted: its disruption budget pays, if it has one. And what a pod that is evicted says of it.

use std::collections::BTreeMap;

use objects::policy::PodDisruptionBudget;
use serde_json::{Value, json};
use thiserror::Error;

/// Why a pod may not be evicted now.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// Several budgets cover the pod, and nobody knows which should pay.
    #[error("the pod is covered by more than one disruption budget, which is not supported")]
    SeveralBudgets,
    /// The budget is used up.
    #[error("the disruption budget {budget} allows no disruption now")]
    NothingLeft {
        /// The budget's name.
        budget: String,
    },
}

/// Whether the pod counts for budgets: one that has not started, has ended or is going anyway does not.
pub fn is_counted(pod: &Value) -> bool {
    let spared = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending"))
        || pod["metadata"].get("deletionTimestamp").is_some();
    !spared
}

/// Whether a pod is ready, and so counts as healthy.
pub fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let is_so = |condition: &&Value| condition["type"] == "Ready";
    conditions.into_iter().flatten().find(is_so).is_some_and(|condition| condition["status"] == "True")
}

/// Whether a pod costs its budget nothing because it is not ready: if the budget says so, or if as many pods are healthy as it wants.
pub fn is_free(pod: &Value, budget: &PodDisruptionBudget) -> bool {
    let status = &budget.status;
    let always = budget.spec.unhealthy_pod_eviction_policy.as_deref() == Some("AlwaysAllow");
    let has_enough = status.current_healthy >= status.desired_healthy && status.desired_healthy > 0;
    !is_ready(pod) && (always || has_enough)
}

/// The budget that pays for a pod with these labels, among those of its namespace.
///
/// # Errors
/// When more than one covers it.
pub fn budget_of(
    labels: &BTreeMap<String, String>,
    budgets: impl Iterator<Item = PodDisruptionBudget>,
) -> Result<Option<PodDisruptionBudget>, Refused> {
    let mut covering = budgets
        .filter(|budget| budget.spec.selector.as_ref().is_some_and(|selector| selector.selects(labels)));
    match (covering.next(), covering.next()) {
        (found, None) => Ok(found),
        (_, Some(_)) => Err(Refused::SeveralBudgets),
    }
}

/// Takes one disruption from a budget.
///
/// # Errors
/// When there is none left.
pub fn spend(budget: &mut Value) -> Result<(), Refused> {
    let left = budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
    if left < 1 {
        let budget = budget["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        return Err(Refused::NothingLeft { budget });
    }
    budget["status"]["disruptionsAllowed"] = json!(left - 1);
    Ok(())
}

/// Says of a pod that it is about to be deleted by an eviction, so that whoever made it can tell why it ended.
pub fn mark(pod: &mut Value, now: &str) {
    const MARK: &str = "DisruptionTarget";
    let mut conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let mut condition = json!({
        "type": MARK, "status": "True", "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting", "lastTransitionTime": now,
    });
    match conditions.iter_mut().find(|condition| condition["type"] == MARK) {
        Some(known) => {
            if known["status"] == "True" {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
    pod["status"]["conditions"] = Value::Array(conditions);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use objects::policy::PodDisruptionBudget;
    use serde_json::{Value, json};

    use super::{Refused, budget_of, is_counted, is_free, mark, spend};

    fn budget(name: &str, selector: &Value) -> PodDisruptionBudget {
        let budget = json!({"metadata": {"name": name}, "spec": {"selector": selector}});
        serde_json::from_value(budget).expect("a budget")
    }

    #[test]
    fn the_one_budget_that_covers_a_pod_pays() {
        let labels = BTreeMap::from([("app".to_owned(), "a".to_owned())]);
        let web = || budget("web", &json!({"matchLabels": {"app": "a"}}));
        let other = || budget("other", &json!({"matchLabels": {"app": "b"}}));
        let all = || budget("all", &json!({}));
        assert_eq!(budget_of(&labels, [other()].into_iter()), Ok(None));
        assert_eq!(budget_of(&labels, [other(), web()].into_iter()), Ok(Some(web())));
        assert_eq!(budget_of(&labels, [all(), web()].into_iter()), Err(Refused::SeveralBudgets));
    }

    /// Whether a pod in this state is evicted for free by a budget with this policy that has and wants so many healthy pods.
    #[track_caller]
    fn check(ready: &str, policy: Option<&str>, (current, desired): (i32, i32), free: bool) {
        let pod = json!({"status": {"conditions": [{"type": "Ready", "status": ready}]}});
        let budget = json!({
            "spec": {"unhealthyPodEvictionPolicy": policy},
            "status": {"currentHealthy": current, "desiredHealthy": desired},
        });
        let budget = serde_json::from_value(budget).expect("a budget");
        assert_eq!(is_free(&pod, &budget), free, "{ready} {policy:?} {current} of {desired}");
    }

    #[test]
    fn a_pod_that_is_not_ready_is_free_if_the_budget_says_so_or_has_enough_without_it() {
        let (always, healthy) = (Some("AlwaysAllow"), Some("IfHealthyBudget"));
        check("False", always, (0, 2), true);
        check("Unknown", always, (0, 2), true);
        check("True", always, (0, 2), false);
        for policy in [None, healthy] {
            check("False", policy, (2, 2), true);
            check("False", policy, (1, 2), false);
            check("False", policy, (0, 0), false);
            check("True", policy, (3, 2), false);
        }
    }

    #[test]
    fn a_budget_is_spent_until_nothing_is_left() {
        let mut budget = json!({"metadata": {"name": "web"}, "status": {"disruptionsAllowed": 1}});
        assert_eq!(spend(&mut budget), Ok(()));
        assert_eq!(spend(&mut budget), Err(Refused::NothingLeft { budget: "web".to_owned() }));
        assert_eq!(budget["status"]["disruptionsAllowed"], 0);
    }

    #[test]
    fn a_pod_that_is_evicted_says_so_since_it_first_did() {
        let reasons = |pod: &Value| -> Vec<Value> {
            let conditions = pod["status"]["conditions"].as_array().expect("conditions");
            conditions
                .iter()
                .map(|one| json!([one["type"], one["reason"], one["lastTransitionTime"]]))
                .collect()
        };
        let mut pod =
            json!({"status": {"conditions": [{"type": "Ready", "reason": "r", "lastTransitionTime": "t"}]}});
        mark(&mut pod, "now");
        let ready = json!(["Ready", "r", "t"]);
        let marked = |since: &str| json!(["DisruptionTarget", "EvictionByEvictionAPI", since]);
        assert_eq!(reasons(&pod), [ready.clone(), marked("now")]);
        mark(&mut pod, "later");
        assert_eq!(reasons(&pod), [ready.clone(), marked("now")]);
        pod["status"]["conditions"][1]["status"] = json!("False");
        mark(&mut pod, "later");
        assert_eq!(reasons(&pod), [ready, marked("later")]);
        let mut bare = json!({});
        mark(&mut bare, "now");
        assert_eq!(reasons(&bare), [marked("now")]);
    }

    #[test]
    fn a_pod_that_does_not_run_costs_nothing() {
        assert!(is_counted(&json!({"status": {"phase": "Running"}})));
        assert!(!is_counted(&json!({"status": {"phase": "Pending"}})));
        assert!(!is_counted(
            &json!({"metadata": {"deletionTimestamp": "t"}, "status": {"phase": "Running"}})
        ));
    }
}
