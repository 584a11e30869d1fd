//! Pods on nodes: what it wakes that one comes to a node, moves, or changes there.
//!
//! Invariant: what rules of other pods read of a pod on a node, and the room that it takes, changes here only, or when the pod goes.

use std::sync::Arc;

use cluster::groups::Key;
use decisions::filters::helped::is_helped;
use decisions::wake::{Wake, Wakes};
use model::pod::{Pod, Resources};
use model::timestamp::Timestamp;

use super::Engine;

impl Engine {
    /// Puts a pod on the node that it names, wherever it was. Wakes pods with rules about other pods that may hold now, and tells
    /// which room is free now.
    pub(super) fn put_on_node(&mut self, now: Timestamp, pod: &Arc<Pod>) -> Wakes {
        let before = self.facts.nodes.pod(&pod.uid).map(|(_, known)| known.clone());
        self.facts.put_pod(pod.clone());
        let Some(node) = &pod.node else { return Wakes::NONE };
        let (stayed, left) = match before {
            Some(before) if before.node == pod.node => (Some(before), None),
            before => (None, before),
        };
        match &stayed {
            None => self.wake_helped(Wake::PodAdded.of_node(node), None, pod, now),
            Some(before) if is_read_otherwise(before, pod) => {
                self.wake_helped(Wake::PodLabels.of_node(node), Some(before), pod, now);
            }
            Some(_) => {}
        }
        let is_smaller = stayed.is_some_and(|before| takes_less(&before.shape.requests, &pod.shape.requests));
        let shrunk = if is_smaller { Wake::PodShrunk.of_node(node) } else { Wakes::NONE };
        let left = left.and_then(|before| before.node.clone());
        left.map_or(Wakes::NONE, |left| Wake::PodRemoved.of_node(&left)).or(shrunk)
    }

    /// Wakes those of whose pods one has a rule about other pods that may hold since this one changed.
    fn wake_helped(&mut self, wakes: Wakes, before: Option<&Pod>, after: &Pod, now: Timestamp) {
        let (facts, settings, bindings) = (&self.facts, &self.settings, &self.bindings);
        let is_pod_helped = |pod: &Arc<Pod>| {
            let profile = settings.profile(pod);
            profile.is_some_and(|profile| {
                is_helped(&pod.shape, before, after, &facts.namespaces, &profile.filters)
            })
        };
        let concerns = |key: &Key| match key {
            Key::Pod(uid) => facts.waiting.get(uid).is_some_and(is_pod_helped),
            Key::Gang(_) | Key::Tree(_) => {
                // Each of thousands of members that is placed asks all of its own tree, so they are not put in order.
                let leaves = key.root().map(|root| facts.groups.leaves_of(&root)).unwrap_or_default();
                let members = leaves.iter().filter_map(|leaf| facts.groups.waiting(leaf)).flatten();
                let mut here = members.map(|(uid, _)| uid).filter(|uid| !bindings.has(uid));
                here.any(|uid| facts.waiting.get(uid).is_some_and(is_pod_helped))
            }
        };
        self.queue.wake_if(wakes, concerns, now);
    }
}

/// Whether rules of other pods read something else of a pod: its labels, or that it is being deleted.
fn is_read_otherwise(before: &Pod, after: &Pod) -> bool {
    before.shape.labels != after.shape.labels || before.deleting != after.deleting
}

/// Whether less of anything is taken.
fn takes_less(before: &Resources, after: &Resources) -> bool {
    after.cpu_milli < before.cpu_milli
        || after.memory < before.memory
        || after.ephemeral_storage < before.ephemeral_storage
        || before.others.iter().any(|(name, amount)| after.others.get(name).copied().unwrap_or(0) < *amount)
}
