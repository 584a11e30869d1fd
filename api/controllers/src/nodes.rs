//! Nodes say how they are, and their taints follow: one that is not ready, or that is to get no pods, has a taint.
//!
//! Invariant: taints of others are left alone.

use objects::core::node::{Node, Taint};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The taints that a node should have, if they are not those that it has.
pub fn taints(node: &Node) -> Option<Vec<Taint>> {
    let ready = node.status.conditions.iter().find(|condition| condition.type_ == "Ready");
    let because = match ready.map(|condition| condition.status.as_str()) {
        Some("True") => None,
        Some("Unknown") => Some(UNREACHABLE),
        // One that has said nothing yet keeps the taint that it was born with.
        Some(_) | None => Some(NOT_READY),
    };
    let cordoned = node.spec.unschedulable.then_some(UNSCHEDULABLE);
    let wanted = |key: &str| because == Some(key) || cordoned == Some(key);
    let is_ours = |taint: &Taint| {
        taint.effect == "NoSchedule" && [NOT_READY, UNREACHABLE, UNSCHEDULABLE].contains(&taint.key.as_str())
    };
    let mut taints = node.spec.taints.clone();
    taints.retain(|taint| !is_ours(taint) || wanted(&taint.key));
    for key in because.into_iter().chain(cordoned) {
        if !taints.iter().any(|taint| is_ours(taint) && taint.key == key) {
            let effect = "NoSchedule".to_owned();
            taints.push(Taint { effect, key: key.to_owned(), ..Taint::default() });
        }
    }
    (taints != node.spec.taints).then_some(taints)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(ready: Option<&str>, cordoned: bool, keys: &[&str]) -> Node {
        let taints: Vec<Value> =
            keys.iter().map(|key| json!({ "key": key, "effect": "NoSchedule" })).collect();
        let conditions: Vec<Value> =
            ready.iter().map(|status| json!({ "type": "Ready", "status": status })).collect();
        let node = json!({
            "spec": { "unschedulable": cordoned, "taints": taints }, "status": { "conditions": conditions },
        });
        serde_json::from_value(node).expect("a node")
    }

    fn keys(taints: Option<Vec<Taint>>) -> Option<Vec<String>> {
        taints.map(|taints| taints.into_iter().map(|taint| taint.key).collect())
    }

    #[test]
    fn taints_follow_what_a_node_says_of_itself() {
        let theirs = "example.com/theirs";
        type Case<'a> = (Option<&'a str>, bool, &'a [&'a str], Option<&'a [&'a str]>);
        let table: [Case<'_>; 8] = [
            (None, false, &[NOT_READY], None),
            (Some("True"), false, &[theirs, NOT_READY], Some(&[theirs])),
            (Some("True"), false, &[theirs], None),
            (Some("False"), false, &[], Some(&[NOT_READY])),
            (Some("Unknown"), false, &[NOT_READY], Some(&[UNREACHABLE])),
            (Some("True"), true, &[], Some(&[UNSCHEDULABLE])),
            (Some("True"), false, &[UNSCHEDULABLE], Some(&[])),
            (Some("False"), true, &[UNSCHEDULABLE], Some(&[UNSCHEDULABLE, NOT_READY])),
        ];
        for (ready, cordoned, before, expected) in table {
            let expected = expected.map(|keys| keys.iter().map(|key| (*key).to_owned()).collect());
            let found = keys(taints(&node(ready, cordoned, before)));
            assert_eq!(found, expected, "{ready:?}, cordoned: {cordoned}, {before:?}");
        }
    }

    #[test]
    fn taints_of_another_effect_are_those_of_others() {
        let mut node = node(Some("True"), false, &[]);
        node.spec.taints =
            vec![Taint { key: NOT_READY.to_owned(), effect: "NoExecute".to_owned(), ..Taint::default() }];
        assert_eq!(taints(&node), None);
    }
}
