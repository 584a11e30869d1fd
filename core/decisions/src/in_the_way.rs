//! Claims that stand in the way of their own pod: they have devices, nobody uses them, and the devices are where the pod
//! cannot go.
//!
//! One claim at a time gives its devices back, and only if that lets the pod onto a node.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::nodes::NodeIdx;
use model::claim::ClaimId;
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::filters::node_of;
use crate::giving_back::Why;
use crate::pod::Claims;

/// A claim that is to give up its devices, or to go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InTheWay {
    /// The claim.
    pub claim: ClaimId,
    /// Its uid.
    pub uid: Arc<str>,
    /// What is done about it.
    pub remedy: Remedy,
}

/// What is done about a claim in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// It gives its devices back.
    Deallocate,
    /// It is deleted.
    Delete,
}

impl Cycle<'_> {
    /// The first claim of a pod that nobody else uses, and whose devices keep the pod off a node that would do otherwise.
    pub(crate) fn in_the_way(
        &mut self,
        pod: &Pod,
        claims: &Claims,
        candidates: &[NodeIdx],
    ) -> Option<InTheWay> {
        let gives_back = |state: &&Arc<ClaimState>| self.gives_back(Why::BlocksOwnPod, &state.wish.id, pod);
        let idle: Vec<&Arc<ClaimState>> = claims.settled.iter().filter(gives_back).collect();
        if idle.is_empty() {
            return None;
        }
        let open = Claims { settled: Vec::new(), ..claims.clone() };
        if !claims.pending.is_empty() || idle.iter().any(|state| state.control.controller.is_some()) {
            let idle: Vec<Arc<ClaimState>> = idle.into_iter().cloned().collect();
            return self.one_in_the_way(pod, &idle, &open, candidates);
        }
        for at in candidates {
            let node = node_of(self.facts.nodes.get(*at)).clone();
            let away = |state: &&&Arc<ClaimState>| !state.is_usable_on(&node);
            let Some(state) = idle.iter().find(away) else { continue };
            // Of no use if the pod's other claims find no devices there.
            if self.devices_on(&node, &open).is_ok() {
                let (claim, uid) = (state.wish.id.clone(), state.uid.clone());
                return Some(InTheWay { claim, uid, remedy: Remedy::Deallocate });
            }
        }
        None
    }
}
