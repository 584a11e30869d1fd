//! Pods leave nodes whose taints they do not tolerate.

use std::collections::BTreeMap;

use controllers::evictions::Evictor;
use controllers::node_taints::{self, Since};
use gates::Gate;
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::core::pod::Pod;

use crate::controller::{Controller, Look, Reception, Subject, Tools};
use crate::evict::Evictions;
use crate::kinds::{Kind, KindId, Mark, kind};
use crate::world::{Change, World};

/// The taints of a node that have no time of their own, and when they were first seen.
struct Untimed {
    taints: Vec<(String, String)>,
    seen: Timestamp,
}

/// Evicts pods from nodes.
pub(crate) struct NodeTaints {
    evictions: Evictions,
    untimed: BTreeMap<String, Untimed>,
    /// Since when we listen without a break.
    listening: Timestamp,
}

impl Default for NodeTaints {
    fn default() -> Self {
        let evictions = Evictions::new(Evictor::NodeTaint);
        Self { evictions, untimed: BTreeMap::new(), listening: Timestamp::default() }
    }
}

impl Controller for NodeTaints {
    fn name(&self) -> &'static str {
        Evictor::NodeTaint.controller()
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<Pod>(), kind::<Node>()]
    }

    fn tune(&mut self, _: KindId, reception: Reception, now: Timestamp) {
        self.listening = now;
        self.evictions.tune(reception, now);
    }

    fn note(&mut self, change: &Change, _: &World, now: Timestamp) {
        if let Some(pod) = change.of::<Pod>().filter(|pod| pod.after.is_none()) {
            self.evictions.forget(pod.object());
        }
        let Some(node) = change.of::<Node>() else { return };
        let name = &node.object().metadata.name;
        let taints = node.after.into_iter().flat_map(node_taints::untimed);
        let taints: Vec<_> = taints.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        if taints.is_empty() {
            self.untimed.remove(name);
        } else if self.untimed.get(name).is_none_or(|untimed| untimed.taints != taints) {
            self.untimed.insert(name.clone(), Untimed { taints, seen: now });
        }
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(pod) = change.of::<Pod>() {
            return pod.after.map(Subject::of).into_iter().collect();
        }
        let Some(node) = change.of::<Node>() else { return Vec::new() };
        if node.before.zip(node.after).is_some_and(|(before, after)| before.spec.taints == after.spec.taints)
        {
            return Vec::new();
        }
        let pods = world.marked::<Pod>(&Mark::Node(node.object().metadata.name.clone()));
        pods.map(|pod| Subject::of(&**pod)).collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        let Some(pod) = world.get::<Pod>(&subject.name) else { return Look::NOTHING };
        let name = &pod.spec.node_name;
        let node = world.get::<Node>(&(String::new(), name.clone()));
        let since = Since {
            seen: self.untimed.get(name).map(|untimed| untimed.seen).unwrap_or_default(),
            judged: self.listening.plus(tools.limits.grace.silent),
        };
        let compares = tools.gates.enabled(Gate::TaintTolerationComparisonOperators);
        let sentence = node.and_then(|node| node_taints::of_pod(pod, node, since, compares));
        let sentence = sentence.map(|(at, key)| (at, format!("taint {key} on node {name}")));
        self.evictions.look(pod, sentence, tools)
    }
}
