//! Nodes say how they are, and their taints follow: one that is not ready, lacks something, or is to get no pods, has a
//! taint.
//!
//! Invariant: taints of others are left alone. While most nodes are in trouble no pod is driven away: it would have
//! nowhere to go, and it is more likely that we see badly.

use model::timestamp::Timestamp;
use objects::Time;
use objects::core::node::{Node, Taint};

use crate::node_life::{is_ready, ready};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Which condition that holds gives a node which taint.
const LACKS: [(&str, &str); 4] = [
    ("MemoryPressure", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "node.kubernetes.io/network-unavailable"),
];

/// Whether a taint is one that a node has because it is lost: its pods are driven away by our own judgement.
pub fn is_of_lost(taint: &Taint) -> bool {
    taint.effect == "NoExecute" && [NOT_READY, UNREACHABLE].contains(&&*taint.key)
}

/// How many nodes there are, and how many of them are well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// All of them.
    pub nodes: usize,
    /// Those that say that they are ready, and are heard.
    pub well: usize,
}

impl Census {
    /// Counts nodes, each with whether it is heard. Nodes that fall silent together are given up one after the other, so
    /// what they said last does not count for those that are still to come.
    pub fn of<'a>(nodes: impl Iterator<Item = (&'a Node, bool)>) -> Self {
        nodes.fold(Self::default(), |census, (node, is_heard)| Self {
            nodes: census.nodes + 1,
            well: census.well + usize::from(is_heard && is_ready(node)),
        })
    }

    /// Whether pods may be driven from nodes that are lost: some node is well, and not most are in trouble. Two that are
    /// may be any two.
    pub fn drives_away(self) -> bool {
        let troubled = self.nodes - self.well;
        self.well > 0 && (troubled <= 2 || troubled * 100 < self.nodes * 55)
    }
}

/// The taints that a node should have, if they are not those that it has.
pub fn taints(node: &Node, census: Census, now: Timestamp) -> Option<Vec<Taint>> {
    let wanted = wanted(node, census);
    let is_wanted = |taint: &Taint| wanted.iter().any(|(key, effect)| is(taint, key, effect));
    let lost_since =
        node.spec.taints.iter().find(|taint| is_of_lost(taint)).and_then(|taint| taint.time_added);
    let mut taints = node.spec.taints.clone();
    taints.retain(|taint| !is_ours(taint) || is_wanted(taint));
    for (key, effect) in &wanted {
        if !taints.iter().any(|taint| is(taint, key, effect)) {
            // One that is lost in another way than before is lost for as long.
            let time = (*effect == "NoExecute").then(|| lost_since.unwrap_or(Time(now.to_seconds())));
            let (key, effect) = ((*key).to_owned(), (*effect).to_owned());
            taints.push(Taint { effect, key, time_added: time, ..Taint::default() });
        }
    }
    (taints != node.spec.taints).then_some(taints)
}

fn wanted(node: &Node, census: Census) -> Vec<(&'static str, &'static str)> {
    let status = ready(node).map(|ready| ready.status.as_str());
    let lost = match status {
        Some("True") => None,
        Some("Unknown") => Some(UNREACHABLE),
        // One that has said nothing yet keeps the taint that it was born with.
        Some(_) | None => Some(NOT_READY),
    };
    let holds = |name: &str| {
        node.status.conditions.iter().any(|condition| condition.type_ == name && condition.status == "True")
    };
    let lacks = LACKS.into_iter().filter(|(condition, _)| holds(condition)).map(|(_, key)| key);
    let cordoned = node.spec.unschedulable.then_some(UNSCHEDULABLE);
    let keeps_off = lost.into_iter().chain(lacks).chain(cordoned).map(|key| (key, "NoSchedule"));
    let drives_away = lost.filter(|_| status.is_some() && census.drives_away());
    keeps_off.chain(drives_away.map(|key| (key, "NoExecute"))).collect()
}

fn is(taint: &Taint, key: &str, effect: &str) -> bool {
    taint.key == key && taint.effect == effect
}

fn is_ours(taint: &Taint) -> bool {
    let keeps_off = [NOT_READY, UNREACHABLE, UNSCHEDULABLE].into_iter().chain(LACKS.map(|(_, key)| key));
    is_of_lost(taint) || (taint.effect == "NoSchedule" && keeps_off.into_iter().any(|key| key == taint.key))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);
    const CALM: Census = Census { nodes: 3, well: 2 };

    /// A node; a key that ends in `!` is that of a taint that drives pods away.
    fn node(conditions: &[(&str, &str)], cordoned: bool, keys: &[&str]) -> Node {
        let taint = |key: &&str| match key.strip_suffix('!') {
            Some(key) => json!({ "key": key, "effect": "NoExecute" }),
            None => json!({ "key": key, "effect": "NoSchedule" }),
        };
        let taints: Vec<Value> = keys.iter().map(taint).collect();
        let condition = |(name, status): &(&str, &str)| json!({ "type": name, "status": status });
        let conditions: Vec<Value> = conditions.iter().map(condition).collect();
        let node = json!({
            "spec": { "unschedulable": cordoned, "taints": taints }, "status": { "conditions": conditions },
        });
        serde_json::from_value(node).expect("a node")
    }

    fn keys(taints: &[Taint]) -> Vec<String> {
        let mark = |taint: &Taint| if taint.effect == "NoExecute" { "!" } else { "" };
        taints.iter().map(|taint| format!("{}{}", taint.key, mark(taint))).collect()
    }

    #[test]
    fn taints_follow_what_a_node_says_of_itself() {
        let (theirs, theirs_too) = ("example.com/theirs", "example.com/theirs!");
        let (not_ready, unreachable) = (format!("{NOT_READY}!"), format!("{UNREACHABLE}!"));
        let (not_ready, unreachable) = (not_ready.as_str(), unreachable.as_str());
        let (yes, no, lost) =
            (&[("Ready", "True")][..], &[("Ready", "False")][..], &[("Ready", "Unknown")][..]);
        let full = &[("Ready", "True"), ("DiskPressure", "True"), ("MemoryPressure", "False")][..];
        type Case<'a> = (&'a [(&'a str, &'a str)], bool, &'a [&'a str], Option<&'a [&'a str]>);
        let table: [Case<'_>; 12] = [
            (&[], false, &[NOT_READY], None),
            (yes, false, &[theirs, NOT_READY], Some(&[theirs])),
            (yes, false, &[theirs, theirs_too], None),
            (yes, false, &[NOT_READY, not_ready, theirs_too], Some(&[theirs_too])),
            (no, false, &[], Some(&[NOT_READY, not_ready])),
            (lost, false, &[NOT_READY], Some(&[UNREACHABLE, unreachable])),
            (lost, false, &[NOT_READY, not_ready], Some(&[UNREACHABLE, unreachable])),
            (lost, false, &[UNREACHABLE, unreachable], None),
            (yes, true, &[], Some(&[UNSCHEDULABLE])),
            (yes, false, &[UNSCHEDULABLE], Some(&[])),
            (no, true, &[UNSCHEDULABLE], Some(&[UNSCHEDULABLE, NOT_READY, not_ready])),
            (full, false, &[], Some(&["node.kubernetes.io/disk-pressure"])),
        ];
        for (conditions, cordoned, before, expected) in table {
            let expected = expected.map(|keys| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
            let found = taints(&node(conditions, cordoned, before), CALM, NOW).map(|taints| keys(&taints));
            assert_eq!(found, expected, "{conditions:?}, cordoned: {cordoned}, {before:?}");
        }
    }

    #[test]
    fn a_node_is_lost_since_it_was_first_lost() {
        let lost = taints(&node(&[("Ready", "False")], false, &[]), CALM, NOW).expect("it is not ready");
        assert_eq!(lost.last().and_then(|taint| taint.time_added), Some(Time(NOW)));
        let mut unreachable = node(&[("Ready", "Unknown")], false, &[]);
        unreachable.spec.taints = lost;
        let lost = taints(&unreachable, CALM, NOW.plus_millis(60_000)).expect("it cannot be reached");
        assert_eq!(keys(&lost), [UNREACHABLE.to_owned(), format!("{UNREACHABLE}!")]);
        assert_eq!(lost[1].time_added, Some(Time(NOW)));
        assert!(is_of_lost(&lost[1]) && !is_of_lost(&lost[0]));
    }

    #[test]
    fn nobody_is_driven_away_while_most_nodes_are_in_trouble() {
        let table = [
            ((0, 0), false),
            ((1, 0), false),
            ((3, 1), true),
            ((3, 0), false),
            ((10, 7), true),
            ((10, 5), true),
            ((10, 4), false),
        ];
        for ((nodes, well), expected) in table {
            let census = Census { nodes, well };
            assert_eq!(census.drives_away(), expected, "{census:?}");
            let lost =
                node(&[("Ready", "Unknown")], false, &[UNREACHABLE, "node.kubernetes.io/unreachable!"]);
            assert_eq!(taints(&lost, census, NOW).is_none(), expected, "{census:?}");
        }
    }

    #[test]
    fn only_nodes_that_are_ready_and_heard_are_well() {
        let (yes, no) = (node(&[("Ready", "True")], false, &[]), node(&[("Ready", "False")], false, &[]));
        let census = Census::of([(&yes, true), (&yes, false), (&no, true), (&no, false)].into_iter());
        assert_eq!(census, Census { nodes: 4, well: 1 });
    }
}
