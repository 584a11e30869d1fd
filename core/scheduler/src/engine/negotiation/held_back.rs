//! Pods that are held back: members of a gang that has become too small, pods whose other claims are gone. It is not known for
//! how long, so that they give back what drivers' controllers gave to them alone.
//!
//! Invariant: this is decided in a turn only. While facts are told one by one, after a restart for one, a gang seems too small
//! that is not.

use gates::Gate;
use model::group::GroupId;
use model::pod::Pod;

use crate::engine::Engine;

impl Engine {
    /// Takes note of a pod that may be held back.
    pub(crate) fn suspect(&mut self, pod: &Pod) {
        if !pod.claims.is_empty() && self.may_negotiate() {
            self.negotiations.suspects.insert(pod.uid.clone());
        }
    }

    /// The same for all members of these groups. It is asked for with each member of a gang that comes or goes, so that gangs of
    /// thousands cost nothing where no driver's controller can have given them anything.
    pub(crate) fn suspect_members<'g>(&mut self, groups: impl IntoIterator<Item = &'g GroupId>) {
        if !self.may_negotiate() {
            return;
        }
        for group in groups {
            let uids = self.facts.groups.waiting(group).into_iter().flat_map(|members| members.keys());
            let pods =
                uids.filter_map(|uid| self.facts.waiting.get(uid)).filter(|pod| !pod.claims.is_empty());
            self.negotiations.suspects.extend(pods.map(|pod| pod.uid.clone()));
        }
    }

    fn may_negotiate(&self) -> bool {
        self.settings.gates.enabled(Gate::DRAControlPlaneController)
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
