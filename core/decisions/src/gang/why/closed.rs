//! Nodes that are closed to the members of a gang by a taint or a cordon, and could have some of them otherwise.
//!
//! Such nodes are out of the question before seats are looked for, so that a gang is told of what the others lack. That may
//! be devices, of which the closed nodes have enough.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::pod::{Pod, Shape};

use crate::cycle::Cycle;
use crate::filters::{self, Filter};
use crate::values::node_refusal::NodeRefusal;
use crate::values::reason::Reason;
use crate::values::work;

/// Of how many kinds of members it is found out.
const KINDS_MAX: usize = 4;

/// How many of the nodes that are closed for the same reason are asked for devices.
const NODES_MAX: usize = 8;

impl Cycle<'_> {
    /// How many nodes are closed to all these members, by reason. A reason is left out if no member would find devices on the
    /// nodes that are asked.
    pub fn closed_nodes(&mut self, members: &[Arc<Pod>]) -> BTreeMap<Reason, usize> {
        let mut kinds: Vec<&Arc<Pod>> = Vec::new();
        for pod in members {
            let is_same =
                |known: &&Arc<Pod>| Arc::ptr_eq(&known.shape, &pod.shape) || known.shape == pod.shape;
            if kinds.len() < KINDS_MAX && !kinds.iter().any(is_same) {
                kinds.push(pod);
            }
        }
        let mut closed = self.nodes_closed_to(&kinds);
        closed.retain(|_, nodes| self.could_have_one(&kinds, nodes));
        closed.into_iter().map(|(reason, nodes)| (reason, nodes.len())).collect()
    }

    /// The nodes that are closed to all these pods and could have one of them otherwise, as far as room goes.
    fn nodes_closed_to(&mut self, kinds: &[&Arc<Pod>]) -> BTreeMap<Reason, Vec<NodeIdx>> {
        let mut closed: BTreeMap<Reason, Vec<NodeIdx>> = BTreeMap::new();
        let Some(profile) = kinds.first().map(|pod| self.settings.profile_of(pod)) else { return closed };
        let as_set = &profile.filters;
        let mut open = as_set.clone();
        open.off.insert(Filter::Taints);
        open.off.insert(Filter::Unschedulable);
        for (at, state) in self.facts.nodes.iter() {
            let node = filters::node_of(state);
            let mut why = None;
            let mut has_room = false;
            for shape in kinds.iter().map(|pod| -> &Shape { &pod.shape }) {
                match filters::fixed(shape, node, as_set) {
                    Ok(()) => {
                        why = None;
                        break;
                    }
                    Err(refusal @ (NodeRefusal::Taint(_) | NodeRefusal::Unschedulable)) => {
                        has_room |= filters::fixed(shape, node, &open)
                            .and_then(|()| filters::usage(shape, state, as_set))
                            .is_ok();
                        why = why.or_else(|| refusal.reasons().pop());
                    }
                    Err(_) => {}
                }
            }
            if let Some(why) = why.filter(|_| has_room) {
                closed.entry(why).or_default().push(at);
            }
        }
        closed
    }

    /// Whether one of the nodes has devices for one of these pods.
    fn could_have_one(&mut self, kinds: &[&Arc<Pod>], nodes: &[NodeIdx]) -> bool {
        for pod in kinds {
            let profile = self.settings.profile_of(pod);
            let Ok(claims) = self.claims_of(pod, &profile) else { continue };
            if !claims.need_devices() {
                return true;
            }
            for at in nodes.iter().take(NODES_MAX) {
                if self.caches.work.is_spent() {
                    return false;
                }
                let node = filters::node_of(self.facts.nodes.get(*at)).clone();
                let kept = self.caches.work.limit_to_share(2 * KINDS_MAX * NODES_MAX);
                self.caches.work.spend(work::GLANCE);
                let found = self.devices_on(&node, &claims);
                self.caches.work.restore(kept);
                if found.is_ok() {
                    return true;
                }
            }
        }
        false
    }
}
