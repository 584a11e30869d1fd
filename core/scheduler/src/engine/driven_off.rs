//! Nodes and devices that pods on their way must leave before they are bound: deleted, cordoned or tainted ones.
//!
//! Invariant: a pod that waits on its way hears of its node and of its devices as soon as they change. A pod that is bound stays: a
//! controller evicts it.

use decisions::giving_back::Why;
use decisions::not_bound::DrivenOff;
use decisions::not_bound::NotBound;
use decisions::readiness::ReadyOutcome;
use decisions::reason::TaintedDevice;
use model::device::{Device, PoolId, TaintEffect};
use model::identity::{NodeName, PodUid};
use model::node::Node;
use model::timestamp::Timestamp;

use super::Engine;
use crate::life_cycles::binding::Binding;

impl Engine {
    /// Takes a pod back that may not go to its node any more, or not with its devices. Of a gang it alone is placed anew if there
    /// is another place for it.
    pub(super) fn drive_off(&mut self, now: Timestamp, uid: &PodUid, why: DrivenOff) {
        if let DrivenOff::DeviceTainted(TaintedDevice { claim, .. }) = &why {
            let waited = self.bindings.get(uid).and_then(Binding::waited);
            if let Some(waited) = &waited {
                self.tell_devices(now, uid, ReadyOutcome::Error, (&waited.claims, Some(waited)));
            }
            self.give_devices_back(uid, claim.clone(), Why::NotReady);
            return self.fail_on_node(now, uid, NotBound::DrivenOff(why));
        }
        self.vacate(uid);
        self.fail(now, uid, NotBound::DrivenOff(why));
    }

    /// A node changed or went. Pods that wait on their way there go on, or leave it.
    pub(super) fn look_at_arrivals(&mut self, now: Timestamp, name: &NodeName) {
        if self.bindings.len() == 0 {
            return;
        }
        let there = self.bindings.iter().filter(|binding| binding.node == *name && binding.is_waiting());
        let mut waiting: Vec<PodUid> = there.map(|binding| binding.pod.uid.clone()).collect();
        waiting.sort_unstable();
        waiting.iter().for_each(|uid| self.go_on(now, uid));
    }

    /// Devices of a pool changed, or of any. Pods that wait on their way with one of them go on, or give it back.
    pub(super) fn look_at_takers(&mut self, now: Timestamp, pool: Option<&PoolId>) {
        if self.bindings.len() == 0 {
            return;
        }
        let has_one = |binding: &&Binding| {
            let mut held = binding.pod.claim_ids().flat_map(|id| self.facts.claims.held(&id));
            pool.is_none_or(|pool| held.any(|held| held.device.pool_id() == *pool))
        };
        let waiting = self.bindings.iter().filter(|binding| binding.is_waiting()).filter(has_one);
        let mut waiting: Vec<PodUid> = waiting.map(|binding| binding.pod.uid.clone()).collect();
        waiting.sort_unstable();
        waiting.iter().for_each(|uid| self.go_on(now, uid));
    }
}

/// Whether a node drives pods off that did not leave it before.
pub(super) fn drives_off(before: &Node, after: &Node) -> bool {
    (after.unschedulable && !before.unschedulable) || before.taints != after.taints
}

/// Whether a device drives pods off.
pub(super) fn is_tainted(device: &Device) -> bool {
    device.taints.iter().any(|taint| taint.effect == TaintEffect::NoExecute)
}
