//! Takes back what an API server merges into the selectors of a pod.
//!
//! It adds an expression for each of `matchLabelKeys` and `mismatchLabelKeys` when a pod is created, and refuses a new pod that
//! has both. So a pod that comes out of a cluster could not be created again as it is.

use serde_json::Value;

/// Takes the expressions of a pod's merged keys out of its selectors.
pub(crate) fn take_back(pod: &mut Value) {
    let spec = &mut pod["spec"];
    each(&mut spec["topologySpreadConstraints"], clean);
    for side in ["podAffinity", "podAntiAffinity"] {
        let Some(rules) = spec.get_mut("affinity").and_then(|all| all.get_mut(side)) else { continue };
        each(&mut rules["requiredDuringSchedulingIgnoredDuringExecution"], clean);
        each(&mut rules["preferredDuringSchedulingIgnoredDuringExecution"], |term| {
            clean(&mut term["podAffinityTerm"]);
        });
    }
}

fn each(list: &mut Value, change: impl Fn(&mut Value)) {
    list.as_array_mut().into_iter().flatten().for_each(change);
}

fn clean(term: &mut Value) {
    let keys = |field: &str, term: &Value| term[field].as_array().cloned().unwrap_or_default();
    let mut merged = keys("matchLabelKeys", term);
    merged.extend(keys("mismatchLabelKeys", term));
    if merged.is_empty() {
        return;
    }
    if let Some(expressions) = term["labelSelector"]["matchExpressions"].as_array_mut() {
        expressions.retain(|expression| !merged.contains(&expression["key"]));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_expressions_of_merged_keys_are_taken_back() {
        let own = json!({ "key": "app", "operator": "Exists" });
        let merged = json!({ "key": "hash", "operator": "In", "values": ["1"] });
        let term = |keys: &str, expressions: Value| json!({ keys: ["hash"], "labelSelector": { "matchExpressions": expressions } });
        let pod = |expressions: &dyn Fn() -> Value| {
            json!({ "spec": {
                "topologySpreadConstraints": [term("matchLabelKeys", expressions())],
                "affinity": { "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [term("mismatchLabelKeys", expressions())],
                    "preferredDuringSchedulingIgnoredDuringExecution":
                        [{ "podAffinityTerm": term("matchLabelKeys", expressions()) }],
                } },
            } })
        };
        let mut stored = pod(&|| json!([own, merged]));
        take_back(&mut stored);
        assert_eq!(stored, pod(&|| json!([own])));
        let mut plain = json!({ "spec": { "topologySpreadConstraints": [
            { "labelSelector": { "matchExpressions": [merged] } },
        ] } });
        let before = plain.clone();
        take_back(&mut plain);
        assert_eq!(plain, before);
    }
}
