//! Volume claims that only one pod may use at a time.

use std::sync::Arc;

use cluster::nodes::Nodes;
use cluster::volumes::Volumes;
use model::pod::{Pod, Shape};

use crate::values::node_refusal::NodeRefusal;

/// The claims of a shape that only one pod may use, and how many pods use them now.
#[derive(Clone, Debug)]
pub(crate) struct ExclusiveClaims {
    namespace: Arc<str>,
    claims: Vec<Arc<str>>,
    users: i64,
}

impl ExclusiveClaims {
    /// Counts the users, if there is such a claim. Claims that are made for a pod have no other user.
    pub(crate) fn new(shape: &Shape, nodes: &Nodes, volumes: &Volumes) -> Option<ExclusiveClaims> {
        let is_own = |name: &Arc<str>| shape.own_volume_claims.iter().any(|own| own.claim == *name);
        let is_exclusive =
            |name: &&Arc<str>| volumes.claim(&shape.namespace, name).is_some_and(|claim| claim.one_pod);
        let claims: Vec<Arc<str>> =
            shape.volume_claims.iter().filter(is_exclusive).filter(|name| !is_own(name)).cloned().collect();
        if claims.is_empty() {
            return None;
        }
        let mut exclusive = ExclusiveClaims { namespace: shape.namespace.clone(), claims, users: 0 };
        // A pod uses its volume until it is gone itself, whatever became of its node.
        nodes.pods().for_each(|pod| exclusive.count(pod, 1));
        Some(exclusive)
    }

    /// Whether a pod uses one of them.
    pub(crate) fn uses(&self, pod: &Pod) -> bool {
        pod.shape.namespace == self.namespace
            && self.claims.iter().any(|name| pod.shape.volume_claims.contains(name))
    }

    /// Counts a pod that comes, or with a negative sign goes.
    pub(crate) fn count(&mut self, pod: &Pod, sign: i64) {
        let uses = |name: &&Arc<str>| pod.shape.volume_claims.contains(name);
        if pod.shape.namespace == self.namespace {
            self.users += sign * self.claims.iter().filter(uses).count() as i64;
        }
    }

    /// Whether no pod uses them. Where the pod would be has nothing to do with it.
    pub(crate) fn check(&self) -> Result<(), NodeRefusal> {
        if self.users > 0 { Err(NodeRefusal::ClaimInUse) } else { Ok(()) }
    }
}
