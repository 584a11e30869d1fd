//! Taints of nodes, in worlds that have them: put on and taken off while pods wait for devices, drivers and volumes. Some pods tolerate
//! them, for a while or for good; others are evicted.
//!
//! Invariant: a scheduler that was told of a taint puts no pod on the node that does not tolerate it. What it was told is written down
//! here before the scheduler hears it.

use std::collections::BTreeMap;

use cluster::change::Change;
use controllers::evictions::{self, EvictionAction, Evictor};
use controllers::node_taints::{Since, of_pod};
use model::node::{NodeTaint, NodeTaintEffect};
use objects::core::affinity::Toleration;
use objects::core::node::Node;
use objects::core::pod::Pod;
use scheduler::write::Write;
use serde_json::{Value, json};

use super::World;
use super::api::Api;
use super::dice::Dice;
use super::extras::Extra;
use super::workload;

/// What the dice for all this are for.
const PURPOSE: u64 = 12;

/// The taints: keys and effects.
const TAINTS: [(&str, &str); 2] =
    [("example.com/reserved", "NoSchedule"), ("example.com/broken", "NoExecute")];

/// What each scheduler was told of the taints of nodes, by the names of these.
pub(super) type ToldTaints = BTreeMap<String, Vec<NodeTaint>>;

/// Dice of their own, so that everything else in a world stays what it was.
pub(super) fn dice(seed: u64) -> Dice {
    Dice::new(seed, PURPOSE)
}

/// Whether the nodes of a world are tainted: one in three.
pub(super) fn are_in(seed: u64) -> bool {
    dice(seed).below(3) == 0
}

/// A user taints a node or removes a taint. Few taints exist at the same time, so that pods have nodes to go to.
pub(super) fn act(api: &mut Api, nodes: usize, dice: &mut Dice, told: &mut dyn FnMut(&str, &str)) {
    let has = |api: &Api, (name, key): (&str, &str)| {
        let node = api.get("Node", "", name);
        node.is_some_and(|node| node.read::<Node>().spec.taints.iter().any(|taint| taint.key == key))
    };
    let all = (0..nodes).flat_map(|at| TAINTS.map(|taint| (format!("node-{at}"), taint)));
    let (there, others): (Vec<_>, Vec<_>) = all.partition(|(name, (key, _))| has(api, (name, key)));
    let is_over = dice.below(3) > 0;
    let chosen = if is_over && !there.is_empty() { &there } else { &others };
    let Some((name, (key, effect))) = dice.pick(chosen).cloned() else { return };
    if api.get("Node", "", &name).is_none() {
        return;
    }
    let has = has(api, (&name, key));
    told(if has { "takes a taint off" } else { "taints" }, &format!("{name} with {key}:{effect}"));
    let now = api.now.to_seconds().to_string();
    workload::change(api, "Node", "", &name, &|node| {
        let taints = &mut node["spec"]["taints"];
        if !taints.is_array() {
            *taints = json!([]);
        }
        let Some(taints) = taints.as_array_mut() else { return };
        taints.retain(|taint| taint["key"] != key);
        if !has {
            let mut taint = json!({ "key": key, "effect": effect });
            if effect == "NoExecute" {
                taint["timeAdded"] = json!(now);
            }
            taints.push(taint);
        }
    });
}

/// The same, now and then: `aside` are dice that are left where they are.
pub(super) fn act_beside(api: &mut Api, nodes: usize, aside: &Dice, told: &mut dyn FnMut(&str, &str)) {
    let mut dice = aside.aside(PURPOSE);
    if dice.per_mille(200) {
        act(api, nodes, &mut dice, told);
    }
}

/// Gives a pod tolerations, or none.
pub(super) fn dress(pod: &mut Value, aside: &Dice) {
    let mut dice = aside.aside(PURPOSE);
    let [(reserved, _), (broken, effect)] = TAINTS;
    let tolerations = match dice.below(8) {
        0 => json!([{ "key": reserved, "operator": "Exists" }]),
        1 => json!([{ "key": broken, "operator": "Exists", "effect": effect }]),
        2 => json!([{ "key": broken, "operator": "Exists", "effect": effect, "tolerationSeconds": 4 }]),
        3 => json!([{ "operator": "Exists" }]),
        _ => return,
    };
    pod["spec"]["tolerations"] = tolerations;
}

/// Pods that do not tolerate a taint with effect `NoExecute` have to leave their nodes, after a while.
pub(super) fn evict(api: &mut Api, dice: &mut Dice, calm: bool) {
    for (key, pod) in &*api.list("Pod") {
        let pod = pod.read::<Pod>();
        let Some(node) = api.get("Node", "", &pod.spec.node_name) else { continue };
        let since = Since { seen: api.now, judged: api.now };
        let at = of_pod(pod, node.read::<Node>(), since, false).map(|(at, _)| at);
        let decided = evictions::decide(pod, Evictor::NodeTaint, at, api.now);
        if matches!(decided, EvictionAction::Evict { .. }) && (calm || dice.per_mille(500)) {
            let uid = Some(pod.metadata.uid.as_str());
            let _ = api.delete("Pod", (&key.namespace, &key.name), None, uid);
        }
    }
}

/// The key of a taint that keeps a pod off a node, if one of these does.
pub(super) fn keeps_off<'t>(
    pod: &Pod,
    taints: impl IntoIterator<Item = (&'t str, &'t str, &'t str)>,
) -> Option<&'t str> {
    let tolerations = &pod.spec.tolerations;
    let mut strict =
        taints.into_iter().filter(|(_, _, effect)| matches!(*effect, "NoSchedule" | "NoExecute"));
    strict.find(|taint| !tolerations.iter().any(|one| tolerates(one, *taint))).map(|(key, ..)| key)
}

/// The taints of a node as the API has it: keys, values and effects.
pub(super) fn taints_of(node: &Node) -> impl Iterator<Item = (&str, &str, &str)> {
    node.spec.taints.iter().map(|taint| (taint.key.as_str(), taint.value.as_str(), taint.effect.as_str()))
}

fn tolerates(toleration: &Toleration, (key, value, effect): (&str, &str, &str)) -> bool {
    let is_value = match toleration.operator.as_str() {
        "Exists" => true,
        "" | "Equal" => toleration.value == value,
        _ => false,
    };
    is_value
        && (toleration.key.is_empty() || toleration.key == key)
        && (toleration.effect.is_empty() || toleration.effect == effect)
}

impl World {
    /// Writes down what a scheduler is told of the taints of nodes.
    pub(super) fn note_told_taints(&mut self, replica: usize, change: &Change) {
        let told = &mut self.replicas[replica].told_taints;
        match change {
            Change::NodeApplied(node) => {
                told.insert(node.name.to_string(), node.taints.clone());
            }
            Change::NodeGone(name) => drop(told.remove(&**name)),
            _ => {}
        }
    }

    /// A scheduler wants pods on a node, and was told that the node has no taint that keeps them off. Where it decided so just now, every
    /// such taint counts, and otherwise those by which pods are evicted.
    pub(super) fn check_taints(&mut self, replica: usize, write: &Write, is_deciding: bool) {
        if !self.setup.has(Extra::NodeTaints) {
            return;
        }
        let mut wrong = Vec::new();
        for (pod, node, is_new) in self.wishes(write, is_deciding) {
            let counts = |taint: &&NodeTaint| is_new || taint.effect == NodeTaintEffect::NoExecute;
            let told = self.replicas[replica].told_taints.get(node);
            let taints = told.into_iter().flatten().filter(counts);
            let taints = taints.map(|taint| (&*taint.key, &*taint.value, taint.effect.name()));
            wrong.extend(keeps_off(&pod, taints).map(|key| {
                let pod = &pod.metadata.name;
                format!("scheduler {replica} wants pod {pod} on {node}, and was told that it has taint {key}")
            }));
        }
        self.note_violations(wrong);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taint_keeps_pods_off_that_do_not_tolerate_it() {
        let table = [
            (json!([]), true),
            (json!([{ "operator": "Exists" }]), false),
            (json!([{ "key": "k", "value": "v" }]), false),
            (json!([{ "key": "k", "value": "w" }]), true),
            (json!([{ "key": "k", "operator": "Exists", "effect": "NoExecute" }]), true),
            (json!([{ "key": "k", "operator": "Exists", "effect": "NoSchedule" }]), false),
            (json!([{ "key": "l", "operator": "Exists" }]), true),
        ];
        for (tolerations, expected) in table {
            let pod: Pod =
                serde_json::from_value(json!({ "spec": { "tolerations": tolerations } })).expect("a pod");
            let kept = keeps_off(&pod, [("k", "v", "NoSchedule"), ("soft", "", "PreferNoSchedule")]);
            assert_eq!(kept.is_some(), expected, "{tolerations}");
        }
    }
}
