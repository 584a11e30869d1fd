//! Pods that came to their node by hand, before their claims had devices there.
//!
//! Invariant: such a pod waits like any other, but for its devices only: it is on its node all the while, nothing else about
//! the node is asked, and it is not bound again. A pod that runs, or that is to go, waits for nothing: what it lacks then is
//! no use to it. Pods without claims are never looked at here.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::groups::Key;
use decisions::filters::Filter;
use decisions::notice::Notice;
use model::claim::ClaimId;
use model::identity::{ConsumerUid, PodUid};
use model::pod::{ClaimSource, Pod, PodClaim};
use model::timestamp::Timestamp;

use super::touched::own_changes;
use super::{Announcement, Engine};
use crate::life_cycles::binding::Event;
use crate::queue::Failure;

impl Engine {
    /// Lets a pod that is on a node wait for its devices, or no longer.
    pub(super) fn follow_bound(&mut self, now: Timestamp, pod: &Arc<Pod>) {
        let before = self.facts.waiting.get(&pod.uid).filter(|known| known.node.is_some()).cloned();
        let lacks_devices = self.lacks_devices(pod);
        if before.is_none() || !lacks_devices {
            // It may have waited for a node until now, which is over.
            self.forget_waiting(&pod.uid);
        }
        if pod.running || pod.deleting {
            self.bindings.served.remove(&pod.uid);
        }
        if !lacks_devices {
            return;
        }
        self.facts.waiting.insert(pod.uid.clone(), pod.clone());
        let gated = self.lacks_claims(pod);
        let key = Key::from(&**pod);
        self.queue.apply(&key, pod.priority, gated, now);
        match before {
            Some(before) => self.queue.wake_one(&key, own_changes(&before, pod), now),
            None => {
                // What it got was taken from it: a controller may know that it is gone, and take the next devices as well.
                if let Some(times) = self.bindings.served.get(&pod.uid) {
                    self.queue.rest_again(&key, *times, now);
                }
            }
        }
    }

    /// Whether a pod on a node asks for one of us, and has a claim that has no devices yet or is not reserved for it.
    fn lacks_devices(&self, pod: &Pod) -> bool {
        if pod.claims.is_empty() || pod.running || pod.deleting {
            return false;
        }
        let profile = self.settings.profile(pod);
        profile.is_some_and(|profile| profile.filters.has(Filter::Devices))
            && pod.claims.iter().any(|claim| self.is_unserved(pod, claim))
    }

    fn is_unserved(&self, pod: &Pod, claim: &PodClaim) -> bool {
        let id = pod.claim_id(claim);
        let state = id.as_ref().and_then(|id| self.facts.claims.get(id));
        let user = id.as_ref().map_or_else(|| (&pod.uid).into(), |id| self.facts.user_of(pod, id));
        match claim.source {
            ClaimSource::NotNeeded | ClaimSource::Unknown => return false,
            // What was made for another pod is that pod's to use.
            ClaimSource::Generated(_) if state.is_some_and(|state| state.owner.as_ref() != Some(&user)) => {
                return false;
            }
            ClaimSource::Named(_) | ClaimSource::Generated(_) | ClaimSource::ToBeGenerated { .. } => {}
        }
        state.is_none_or(|state| state.allocation.is_none() || !state.reserved_for.contains(&user))
    }

    /// Other pods use a claim than before: those on nodes may have what they lacked, or lack what they had.
    pub(super) fn look_again_at_users(&mut self, now: Timestamp, id: &ClaimId, before: Option<&ClaimState>) {
        let users = |state: Option<&ClaimState>| -> Vec<ConsumerUid> {
            state.map(|state| state.reserved_for.clone()).unwrap_or_default()
        };
        let (before, after) = (users(before), users(self.facts.claims.get(id).map(|state| &**state)));
        let changed = before.iter().filter(|user| !after.contains(user));
        for uid in changed.chain(after.iter().filter(|user| !before.contains(user))) {
            self.look_again_at(now, &PodUid::from(&**uid));
        }
    }

    fn look_again_at(&mut self, now: Timestamp, uid: &PodUid) {
        let on_its_way = self.bindings.has(uid);
        let waits_for_node = self.facts.waiting.get(uid).is_some_and(|pod| pod.node.is_none());
        if on_its_way || waits_for_node {
            return;
        }
        if let Some(pod) = self.facts.nodes.pod(uid).map(|(_, pod)| pod.clone()) {
            self.follow_bound(now, &pod);
        }
    }

    /// The claims of a pod that was on its node before are written.
    pub(super) fn served(&mut self, now: Timestamp, uid: &PodUid) {
        let Some(binding) = self.bindings.step(uid, Event::Served) else { return };
        if self.lacks_devices(&binding.pod) {
            let why = Notice::ClaimLost.to_string();
            return self.refuse(now, &binding.pod, Failure::Failed, why.into());
        }
        self.tell_unready(now, &binding.pod);
        let times = self.bindings.served.entry(uid.clone()).or_default();
        *times = times.saturating_add(1);
        self.forget_waiting(uid);
    }

    /// A pod that is on its node already cannot be held back. If its devices are not ready, that is told and nothing else: the
    /// claim says for what, and the kubelet, which prepares the devices, can wait.
    fn tell_unready(&mut self, now: Timestamp, pod: &Arc<Pod>) {
        let claims: Vec<ClaimId> = pod.claim_ids().collect();
        let (Some(unready), Some(node)) = (self.what_is_unready(now, pod, &claims), pod.node.clone()) else {
            return;
        };
        let message = Notice::CannotWait { node: node.clone(), unready }.to_string();
        self.outbox.announce(Announcement::DevicesPending { pod: pod.clone(), node, message });
    }
}
