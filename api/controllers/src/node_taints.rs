//! Pods whose node has a taint with effect `NoExecute`: each stays as long as it tolerates the taint.
//!
//! Time is counted from the taint's own, if it has one, so that a controller that begins anew counts no second twice.
//!
//! Invariant: because a node is lost nobody goes before somebody has listened to nodes for a while: the taint may be one
//! that nobody took away because nobody was there.

use model::timestamp::Timestamp;
use objects::core::affinity::Toleration;
use objects::core::node::{Node, Taint};
use objects::core::pod::Pod;

use crate::nodes::is_of_lost;

/// Since when taints count.
#[derive(Clone, Copy, Debug)]
pub struct Since {
    /// Those without a time of their own: when we first saw them.
    pub seen: Timestamp,
    /// Those of a node that is lost: nobody goes because of them before this time.
    pub judged: Timestamp,
}

/// When a pod must leave its node, and the key of the taint that drives it away. `compares` says whether tolerations may
/// compare numbers.
pub fn of_pod<'a>(pod: &Pod, node: &'a Node, since: Since, compares: bool) -> Option<(Timestamp, &'a str)> {
    let taints = node.spec.taints.iter().filter(|taint| taint.effect == "NoExecute");
    let times = taints.filter_map(|taint| {
        let patience = patience(&pod.spec.tolerations, taint, compares)?;
        let at = taint.time_added.map_or(since.seen, |time| time.0).plus_millis(patience);
        let at = if is_of_lost(taint) { at.max(since.judged) } else { at };
        Some((at, taint.key.as_str()))
    });
    times.min()
}

/// The taints without a time of their own that drive pods away, by key and value.
pub fn untimed(node: &Node) -> impl Iterator<Item = (&str, &str)> {
    let taints =
        node.spec.taints.iter().filter(|taint| taint.effect == "NoExecute" && taint.time_added.is_none());
    taints.map(|taint| (taint.key.as_str(), taint.value.as_str()))
}

/// For how many milliseconds a taint is borne; none if for good. The first toleration that fits counts.
fn patience(tolerations: &[Toleration], taint: &Taint, compares: bool) -> Option<i64> {
    match tolerations.iter().find(|toleration| bears(toleration, taint, compares)) {
        None => Some(0),
        Some(toleration) => toleration.toleration_seconds.map(|seconds| seconds.max(0).saturating_mul(1_000)),
    }
}

/// Whether a toleration covers a taint.
pub fn bears(toleration: &Toleration, taint: &Taint, compares: bool) -> bool {
    convert::toleration_operator(&toleration.operator).covers(&toleration.value, &taint.value, compares)
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && (toleration.effect.is_empty() || toleration.effect == taint.effect)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ADDED: &str = "1970-01-01T00:01:00Z";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn pod(tolerations: &Value) -> Pod {
        serde_json::from_value(json!({ "spec": { "tolerations": tolerations } })).expect("a pod")
    }

    fn node(taints: &Value) -> Node {
        serde_json::from_value(json!({ "spec": { "taints": taints } })).expect("a node")
    }

    /// When the pod goes, if untimed taints were seen at 90 s and lost nodes are judged from 100 s on.
    fn goes(tolerations: &Value, taints: &Value) -> Option<Timestamp> {
        let since = Since { seen: at(90), judged: at(100) };
        of_pod(&pod(tolerations), &node(taints), since, false).map(|(at, _)| at)
    }

    #[test]
    fn numbers_are_compared_only_while_they_may_be() {
        let taints = json!([{ "key": "a", "value": "7", "effect": "NoExecute", "timeAdded": ADDED }]);
        let bound =
            |operator: &str, value: &str| json!([{ "key": "a", "operator": operator, "value": value }]);
        let since = Since { seen: at(90), judged: at(100) };
        let stays = |tolerations: &Value, compares: bool| {
            of_pod(&pod(tolerations), &node(&taints), since, compares).is_none()
        };
        assert!(stays(&bound("Gt", "6"), true) && stays(&bound("Lt", "8"), true));
        assert!(!stays(&bound("Gt", "7"), true) && !stays(&bound("Gt", "06"), true));
        assert!(!stays(&bound("Gt", "6"), false));
    }

    #[test]
    fn a_pod_stays_as_long_as_it_tolerates_every_taint() {
        let timed = |key: &str| json!({ "key": key, "effect": "NoExecute", "timeAdded": ADDED });
        let bears = |key: &str, seconds: i64| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds });
        let always = |key: &str| json!({ "key": key, "operator": "Exists" });
        let table = [
            ("no taints", json!([]), json!([]), None),
            ("not tolerated", json!([]), json!([timed("a")]), Some(60)),
            ("for a while", json!([bears("a", 30)]), json!([timed("a")]), Some(90)),
            ("less than nothing", json!([bears("a", -30)]), json!([timed("a")]), Some(60)),
            ("for good", json!([always("a")]), json!([timed("a")]), None),
            ("everything", json!([{ "operator": "Exists" }]), json!([timed("a")]), None),
            ("the first counts", json!([bears("a", 30), always("a")]), json!([timed("a")]), Some(90)),
            ("one of two", json!([always("a")]), json!([timed("a"), timed("b")]), Some(60)),
            (
                "each of two",
                json!([bears("a", 30), bears("b", 20)]),
                json!([timed("a"), timed("b")]),
                Some(80),
            ),
            (
                "without a time",
                json!([bears("a", 30)]),
                json!([{ "key": "a", "effect": "NoExecute" }]),
                Some(120),
            ),
            ("another effect", json!([]), json!([{ "key": "a", "effect": "NoSchedule" }]), None),
            ("another value", json!([{ "key": "a", "value": "x" }]), json!([timed("a")]), Some(60)),
            (
                "a comparison",
                json!([{ "key": "a", "operator": "Gt", "value": "1" }]),
                json!([timed("a")]),
                Some(60),
            ),
        ];
        for (case, tolerations, taints, expected) in table {
            assert_eq!(goes(&tolerations, &taints), expected.map(at), "{case}");
        }
    }

    #[test]
    fn a_lost_node_is_left_by_nobody_before_somebody_has_listened() {
        let key = "node.kubernetes.io/unreachable";
        let taints = json!([{ "key": key, "effect": "NoExecute", "timeAdded": ADDED }]);
        assert_eq!(goes(&json!([]), &taints), Some(at(100)));
        let patient = json!([{ "key": key, "operator": "Exists", "tolerationSeconds": 300 }]);
        assert_eq!(goes(&patient, &taints), Some(at(360)));
    }

    #[test]
    fn taints_without_a_time_are_told_apart() {
        let taints = json!([
            { "key": "a", "value": "v", "effect": "NoExecute" },
            { "key": "b", "effect": "NoExecute", "timeAdded": ADDED },
            { "key": "c", "effect": "NoSchedule" },
        ]);
        assert_eq!(untimed(&node(&taints)).collect::<Vec<_>>(), [("a", "v")]);
    }
}
