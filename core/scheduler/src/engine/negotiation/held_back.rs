//! Pods that are held back: members of a gang that has become too small, pods whose other claims are gone. It is not known for
//! how long, so that they give back what drivers' controllers gave to them alone.
//!
//! Invariant: this is decided in a turn only. While facts are told one by one, after a restart for one, a gang seems too small
//! that is not.

use gates::Gate;
use model::identity::PodUid;
use model::pod::Pod;

use crate::engine::Engine;

impl Engine {
    /// Takes note of a pod that may be held back.
    pub(crate) fn suspect(&mut self, pod: &Pod) {
        if !pod.claims.is_empty() && self.settings.gates.enabled(Gate::DRAControlPlaneController) {
            self.negotiations.suspects.insert(pod.uid.clone());
        }
    }

    /// The same for all of these.
    pub(crate) fn suspect_all<'u>(&mut self, uids: impl IntoIterator<Item = &'u PodUid>) {
        for uid in uids {
            if let Some(pod) = self.facts.waiting.get(uid).cloned() {
                self.suspect(&pod);
            }
        }
    }

    /// Asks back what pods have that are held back.
    pub(crate) fn give_up_held_back(&mut self) {
        for uid in std::mem::take(&mut self.negotiations.suspects) {
            let Some(pod) = self.facts.waiting.get(&uid).filter(|pod| pod.node.is_none()).cloned() else {
                continue;
            };
            if self.bindings.has(&uid) || !self.queue.is_gated(&self.facts.groups.key_of(&pod)) {
                continue;
            }
            // It may be given something yet, by a driver that has not heard of it.
            self.watch_claims(&pod);
            self.give_back_all(&[pod]);
        }
    }
}
