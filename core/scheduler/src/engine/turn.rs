//! One attempt to place a pod: look at every node, take the best, and set off what has to be written.

use std::sync::Arc;

use cluster::claims::{Allocated, ClaimState, Held};
use cluster::ledger::{Holding, ShareId};
use model::allocation::Allocation;
use model::claim::ClaimId;
use model::device::DeviceId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::settle::consumer;
use super::{Announcement, Effect, Engine, Placing};
use crate::change::{Consumer, WaitReason, Write};
use crate::cycle::{Choice, Wanted};
use crate::queue::Failure;

impl Engine {
    pub(super) fn turn(&mut self, now: Timestamp, attempts: u32) {
        for _ in 0..attempts {
            let Some(uid) = self.queue.next(now) else { break };
            let Some(pod) = self.waiting.get(&uid).cloned() else {
                self.queue.remove(&uid);
                continue;
            };
            if !pod.claims.is_empty()
                && let Some(until) = self.rivals.stands_back(now, &uid)
            {
                self.queue.postpone(&uid, until);
                continue;
            }
            match self.choose(&pod) {
                Ok(choice) => self.place(now, &pod, choice),
                Err(refusal) => {
                    if let Some(one) = refusal.in_the_way() {
                        self.give_up(&pod, one);
                    }
                    let failure = Failure::Refused(refusal.wakes_on());
                    self.refuse(now, &pod, failure, refusal.to_string());
                }
            }
        }
    }

    /// Sends a pod on its way: it counts as being on the node from now on, and its devices as taken.
    fn place(&mut self, now: Timestamp, pod: &Arc<Pod>, choice: Choice) {
        let mut assumed = Pod::clone(pod);
        assumed.node = Some(choice.node.clone());
        self.put_pod(Arc::new(assumed));
        let placing = Placing {
            pod: pod.clone(),
            node: choice.node,
            open: Default::default(),
            reserved: Vec::new(),
            binding: None,
            settles_at: None,
            failed: None,
        };
        self.placing.insert(pod.uid.clone(), placing);
        let consumer = consumer(pod);
        for wanted in choice.claims {
            let write = match wanted {
                Wanted::Reserved => continue,
                Wanted::Reservation { claim, uid } => {
                    (claim.clone(), Write::Reserve { claim, uid, consumer: consumer.clone() })
                }
                Wanted::Allocation { state, allocation } => self.allocate(&state, allocation, &consumer),
            };
            let (claim, write) = write;
            let id = self.submit(&pod.uid, write);
            if let Some(placing) = self.placing.get_mut(&pod.uid) {
                placing.open.insert(id, claim);
            }
        }
        self.go_on(now, &pod.uid);
    }

    /// Takes the devices of an allocation, and says what is to be written.
    fn allocate(
        &mut self,
        state: &ClaimState,
        allocation: Allocation,
        consumer: &Consumer,
    ) -> (ClaimId, Write) {
        let id = state.wish.id.clone();
        let (allocated, shares) = held(state, &allocation);
        let decided = self.claims.decide(&id, &state.uid, allocated);
        assert!(decided, "a claim that was looked at a moment ago has no allocation");
        self.touch_claim(&id);
        let write = Write::Allocate {
            claim: id.clone(),
            uid: state.uid.clone(),
            version: state.version.clone(),
            allocation: Box::new(allocation),
            shares,
            consumer: consumer.clone(),
        };
        (id, write)
    }

    /// Puts a pod back that has no place, and says why.
    pub(super) fn refuse(&mut self, now: Timestamp, pod: &Arc<Pod>, failure: Failure, message: String) {
        self.queue.put_back(&pod.uid, failure, now);
        let reason = match failure {
            Failure::Refused(_) => WaitReason::Unschedulable,
            Failure::Failed => WaitReason::SchedulerError,
        };
        let (id, uid) = (pod.id.clone(), pod.uid.clone());
        self.submit_and_forget(Write::Note { pod: id, uid, reason, message: message.clone() });
        self.effects.push(Effect::Announce(Announcement::FailedScheduling { pod: pod.clone(), message }));
    }
}

/// What a claim holds by an allocation, and the ids of its shares in the order of grants.
fn held(state: &ClaimState, allocation: &Allocation) -> (Allocated, Vec<Arc<str>>) {
    let mut held = Vec::new();
    let mut shares = Vec::new();
    for grant in &allocation.grants {
        let share = grant.share.is_some().then(|| share_id(&state.uid, &grant.device, shares.len()));
        shares.extend(share.clone());
        if grant.admin_access {
            continue;
        }
        let holding = Holding {
            holder: state.wish.id.clone(),
            groups: grant.groups.clone(),
            consumed: grant.share.clone().unwrap_or_default(),
        };
        held.push(Held { device: grant.device.clone(), share: share.map(ShareId), holding });
    }
    (Allocated { nodes: allocation.nodes.clone(), held }, shares)
}

/// The id of a share: a UUID that follows from the claim, the device and the place of the share in the claim, so that no
/// randomness is needed and a repetition is recognised.
fn share_id(claim: &str, device: &DeviceId, place: usize) -> Arc<str> {
    let mix = |seed: u64| {
        let text = format!("{claim}/{device}/{place}");
        // FNV-1a: the parts are unique by the claim's uid already, so nothing depends on how well it mixes.
        text.bytes().fold(seed, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    let (high, low) = (mix(0xcbf2_9ce4_8422_2325), mix(0x8422_2325_cbf2_9ce4));
    // Version 8 is for ids that are made in a way of one's own.
    format!(
        "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        (low >> 48) & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
    .into()
}
