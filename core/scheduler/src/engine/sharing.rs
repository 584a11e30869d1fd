//! Pods that were refused while claims of theirs had devices: they look again when somebody else takes up or leaves such a
//! claim, since that decides whether it is full and whether its devices can be given up.

use std::sync::Arc;

use cluster::groups::Key;
use decisions::wake::Wake;
use model::claim::ClaimId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::Engine;

impl Engine {
    /// Takes note of a pod that was refused.
    pub(crate) fn watch_users(&mut self, pod: &Pod) {
        for id in pod.claim_ids() {
            if self.facts.claims.get(&id).is_some_and(|state| state.allocation.is_some()) {
                self.sharing.entry(id).or_default().insert(pod.uid.clone());
            }
        }
    }

    /// Other pods use a claim than before.
    pub(super) fn users_changed(&mut self, claim: &ClaimId, now: Timestamp) {
        for uid in self.sharing.remove(claim).unwrap_or_default() {
            self.queue.wake_one(&Key::Pod(uid), Wake::OwnClaims.into(), now);
        }
    }

    /// Forgets a pod that waits no more.
    pub(super) fn forget_users(&mut self, pod: &Pod) {
        if self.sharing.is_empty() {
            return;
        }
        for id in pod.claim_ids() {
            let Some(pods) = self.sharing.get_mut(&id) else { continue };
            pods.remove::<Arc<str>>(&pod.uid);
            if pods.is_empty() {
                self.sharing.remove(&id);
            }
        }
    }
}
