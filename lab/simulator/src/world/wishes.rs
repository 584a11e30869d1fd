//! The nodes that schedulers want pods on, as their writes tell, and whether they decided so just now.
//!
//! Invariant: nothing is taken for new that may have been decided before, by what a scheduler knew then. So a binding is new only of
//! a pod that is bound as soon as it has a node.

use std::sync::Arc;

use objects::core::pod::Pod;
use objects::supercargo::annotations::WORKLOAD_LABEL;
use scheduler::write::Write;

use super::World;

/// A node that a write is about to send a pod to.
struct Wish<'w> {
    /// The uid of the pod.
    pod: &'w str,
    node: &'w str,
    stage: WishStage,
}

/// How far a pod is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WishStage {
    /// A driver's controller is asked for devices on the node, or a volume is to be made for it.
    Asked,
    /// It gets devices there.
    Devices,
    /// It is bound.
    Bind,
}

/// The nodes that a write is about to send pods to. Pools have the names of their nodes here.
fn wishes(write: &Write) -> Vec<Wish<'_>> {
    let one = |pod, node, stage| vec![Wish { pod, node, stage }];
    match write {
        Write::Bind { uid, node, .. } => one(&**uid, &**node, WishStage::Bind),
        Write::Negotiate { uid, selected: Some(node), .. } => one(&**uid, &**node, WishStage::Asked),
        Write::SelectNode { pod, node, .. } => one(&**pod, &**node, WishStage::Asked),
        Write::MakeClaim { uid, allocation, .. } => {
            let pools = allocation.grants.iter().map(|grant| &*grant.device.pool);
            pools.map(|node| Wish { pod: uid, node, stage: WishStage::Devices }).collect()
        }
        Write::Allocate { consumers, allocation, .. } => {
            let pools = || allocation.grants.iter().map(|grant| &*grant.device.pool);
            let wish = |pod| pools().map(move |node| Wish { pod, node, stage: WishStage::Devices });
            consumers.iter().flat_map(|consumer| wish(&*consumer.uid)).collect()
        }
        _ => Vec::new(),
    }
}

impl World {
    /// The pods and nodes that a write is about, and whether the scheduler has decided on them just now, while it had its turn.
    pub(super) fn wishes<'w>(&self, write: &'w Write, is_deciding: bool) -> Vec<(Arc<Pod>, &'w str, bool)> {
        let mut found = Vec::new();
        for Wish { pod, node, stage } in wishes(write) {
            let Some(pod) = self.judge.pods.values().find(|known| known.metadata.uid == pod) else {
                continue;
            };
            // The one that bound a pod by hand answers for where the pod is.
            if stage == WishStage::Devices && !pod.spec.node_name.is_empty() {
                continue;
            }
            let is_new = is_deciding && (stage != WishStage::Bind || is_bound_at_once(pod));
            if is_new || stage == WishStage::Bind {
                found.push((Arc::clone(pod), node, is_new));
            }
        }
        found
    }
}

/// Whether a pod waits for nothing but its volumes once it has a node.
fn is_bound_at_once(pod: &Pod) -> bool {
    let (spec, status) = (&pod.spec, &pod.status);
    let is_member = spec.scheduling_group.is_some() || pod.metadata.labels.contains_key(WORKLOAD_LABEL);
    let has_claims = !spec.resource_claims.is_empty() || status.extended_resource_claim_status.is_some();
    !is_member && !has_claims
}
