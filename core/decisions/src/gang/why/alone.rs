//! Why a member of a gang has no node even if it were alone.

use std::sync::Arc;

use cluster::nodes::NodeState;
use model::pod::{Pod, Shape};

use crate::cycle::Cycle;
use crate::filters;
use crate::values::certainty::Certainty;
use crate::values::gang_reason::Unplaceable;

/// How many members are asked why they have no node.
const KINDS_MAX: usize = 4;

/// How many nodes are asked for devices for one of them.
const NODES_MAX: usize = 256;

impl Cycle<'_> {
    /// Why a member has no node even if it were alone, as for single pods.
    pub fn why_alone(&mut self, members: &[Arc<Pod>]) -> Option<Unplaceable> {
        let mut seen: Vec<Arc<Shape>> = Vec::new();
        for pod in members {
            let is_known = |shape: &Arc<Shape>| Arc::ptr_eq(shape, &pod.shape) || *shape == pod.shape;
            // Members with claims differ by them, so only a few are looked at.
            if seen.len() >= KINDS_MAX || (pod.claims.is_empty() && seen.iter().any(is_known)) {
                continue;
            }
            seen.push(pod.shape.clone());
            if self.caches.work.is_spent() || (self.facts.wants_devices(pod) && self.has_many_nodes_for(pod))
            {
                continue;
            }
            let kept = self.caches.work.limit_to_share(2 * KINDS_MAX);
            let chosen = self.choose(pod);
            self.caches.work.restore(kept);
            if let Err(refusal) = chosen
                && refusal.certainty() == Certainty::Proved
            {
                return Some(Unplaceable { pod: pod.id.name.clone(), refusal });
            }
        }
        None
    }

    /// Whether to ask nodes for devices for a pod would take long, as there are many and not all are out of the question.
    fn has_many_nodes_for(&self, pod: &Pod) -> bool {
        let settings = &self.settings.profile_of(pod).filters;
        let will_do = |state: &NodeState| {
            let fits = filters::fixed(&pod.shape, filters::node_of(state), settings);
            fits.and_then(|()| filters::usage(&pod.shape, state, settings)).is_ok()
        };
        self.facts.nodes.iter().filter(|(_, state)| will_do(state)).nth(NODES_MAX).is_some()
    }
}
