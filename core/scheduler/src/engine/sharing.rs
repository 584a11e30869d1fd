//! Pods that were refused while claims of theirs had devices, alone or with their gangs: they look again when another pod takes up
//! or leaves such a claim, since that decides whether it is full and whether its devices can be given up, and when other things are
//! reported of its devices, which may be ready after all.

use decisions::wake::Wake;
use model::claim::ClaimId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::Engine;
use crate::claim_waits::For;

impl Engine {
    /// Takes note of a pod that was refused.
    pub(crate) fn watch_users(&mut self, pod: &Pod) {
        for id in pod.claim_ids() {
            if self.facts.claims.get(&id).is_some_and(|state| state.allocation.is_some()) {
                self.bindings.waits.add(id, For::OtherUsers, &pod.uid);
            }
        }
    }

    /// Other pods use a claim than before, or its devices are said to be ready or not.
    pub(super) fn use_changed(&mut self, claim: &ClaimId, now: Timestamp) {
        for uid in self.bindings.waits.take(claim, For::OtherUsers) {
            let Some(pod) = self.facts.waiting.get(&uid) else { continue };
            self.queue.wake_one(&self.facts.groups.key_of(pod), Wake::OwnClaims.into(), now);
        }
    }
}
