//! What becomes of writes: when all claims of a pod are written it is bound, and when something fails all is taken back.

use std::sync::Arc;

use model::claim::ClaimId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::{Announcement, Effect, Engine, Placing};
use crate::change::{Consumer, Write, WriteId, WriteOutcome};
use crate::deallocate::InTheWay;
use crate::queue::Failure;
use crate::wake::Wake;

impl Engine {
    pub(super) fn settle(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) {
        if self.settle_given_up(now, write, outcome) {
            return;
        }
        let Some(uid) = self.writes.remove(&write) else { return };
        let Some(placing) = self.placing.get_mut(&uid) else {
            return self.settle_abandoned(now, write, outcome);
        };
        if let Some(claim) = placing.open.remove(&write) {
            match outcome {
                WriteOutcome::Done => placing.reserved.push(claim),
                WriteOutcome::Failed(reason) => {
                    placing.failed.get_or_insert_with(|| format!("claim {claim}: {reason}"));
                    self.undecide(&claim);
                }
            }
        } else if placing.binding == Some(write) {
            match outcome {
                WriteOutcome::Done => return self.bound(&uid),
                WriteOutcome::Failed(reason) => {
                    placing.binding = None;
                    placing.failed = Some(format!("binding: {reason}"));
                }
            }
        }
        self.go_on(now, &uid);
    }

    /// Binds a pod whose claims are all written, or takes back what was done for one that cannot be.
    pub(super) fn go_on(&mut self, now: Timestamp, uid: &Arc<str>) {
        let Some(placing) = self.placing.get(uid) else { return };
        if !placing.open.is_empty() || placing.binding.is_some() {
            return;
        }
        if placing.failed.is_some() {
            return self.take_back(now, uid);
        }
        if let Some(claim) = self.unheard_of(uid) {
            self.unheard.insert(claim, uid.clone());
            return;
        }
        if let Some(claim) = self.lost_claim(uid) {
            if let Some(placing) = self.placing.get_mut(uid) {
                placing.failed = Some(format!("claim {claim}: it lost its devices in the meantime"));
            }
            return self.take_back(now, uid);
        }
        if let Some((claim, why)) = self.clash_of(now, uid) {
            return self.yield_to_rival(now, uid, claim, why);
        }
        if self.waits_for_rivals(now, uid) {
            return;
        }
        let Some(placing) = self.placing.get(uid) else { return };
        let (pod, node) = (placing.pod.clone(), placing.node.clone());
        let write = self.submit(uid, Write::Bind { pod: pod.id.clone(), uid: uid.clone(), node });
        if let Some(placing) = self.placing.get_mut(uid) {
            placing.binding = Some(write);
        }
    }

    /// A pod is bound where we wanted it.
    pub(super) fn bound(&mut self, uid: &Arc<str>) {
        let Some(placing) = self.placing.remove(uid) else { return };
        self.forget_waiting(uid);
        let (pod, node) = (placing.pod, placing.node);
        self.effects.push(Effect::Announce(Announcement::Scheduled { pod, node }));
    }

    /// Undoes a placement that failed, and puts the pod back.
    fn take_back(&mut self, now: Timestamp, uid: &Arc<str>) {
        let Some(placing) = self.placing.remove(uid) else { return };
        self.take_pod(uid);
        self.release(&placing);
        let message = placing.failed.clone().unwrap_or_default();
        self.refuse(now, &placing.pod, Failure::Failed, message);
        self.queue.wake(Wake::PodRemoved.into(), now);
    }

    /// Gives the devices of a claim back since another has them, and puts its pod back.
    fn yield_to_rival(&mut self, now: Timestamp, uid: &Arc<str>, one: InTheWay, why: String) {
        let Some(placing) = self.placing.get_mut(uid) else { return };
        placing.failed = Some(why);
        placing.reserved.retain(|claim| *claim != one.claim);
        let pod = placing.pod.clone();
        self.give_up(&pod, one);
        self.take_back(now, uid);
    }

    /// Forgets a pod on its way that is gone. What is written for it is released. Devices of writes that are not answered
    /// stay taken until they are: the API may have given them to the claim by now.
    pub(super) fn abandon(&mut self, uid: &Arc<str>) {
        let Some(placing) = self.placing.remove(uid) else { return };
        for (write, claim) in &placing.open {
            self.abandoned.insert(*write, (claim.clone(), consumer(&placing.pod)));
        }
        self.release(&placing);
    }

    /// A pod on its way turns out to be bound. If that is our own binding, its answer only comes later or got lost. If
    /// somebody else was faster, our writes are waited for, and what they reserved is the pod's all the same.
    pub(super) fn found_bound(&mut self, uid: &Arc<str>, node: &str) {
        let Some(placing) = self.placing.get(uid) else { return };
        if placing.binding.is_some() && *placing.node == *node {
            return self.bound(uid);
        }
        let Some(placing) = self.placing.remove(uid) else { return };
        for (write, claim) in placing.open {
            self.abandoned.insert(write, (claim, consumer(&placing.pod)));
        }
    }

    /// The answer to a write for a pod that is gone, or that somebody else has bound.
    fn settle_abandoned(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) {
        let Some((claim, consumer)) = self.abandoned.remove(&write) else { return };
        match outcome {
            WriteOutcome::Done if self.nodes.has_pod(&consumer.uid) => {}
            WriteOutcome::Done => self.release_claim(&claim, consumer),
            WriteOutcome::Failed(_) => {
                self.undecide(&claim);
                self.queue.wake(Wake::Claim.into(), now);
            }
        }
    }

    /// Takes back what was decided for a claim.
    fn undecide(&mut self, claim: &ClaimId) {
        if self.claims.is_decided(claim) {
            self.touch_claim(claim);
            self.claims.undecide(claim);
        }
    }

    fn release(&mut self, placing: &Placing) {
        for claim in &placing.reserved {
            self.release_claim(claim, consumer(&placing.pod));
        }
    }

    fn release_claim(&mut self, claim: &ClaimId, consumer: Consumer) {
        if let Some(known) = self.claims.get(claim) {
            let uid = known.uid.clone();
            self.submit_and_forget(Write::Release { claim: claim.clone(), uid, consumer });
        }
    }
}

/// A pod as the user of a claim.
pub(super) fn consumer(pod: &Pod) -> Consumer {
    Consumer { name: pod.id.name.clone(), uid: pod.uid.clone() }
}
