//! What becomes of writes: when all claims of a pod are written it is bound, and when something fails all is taken back.

use std::sync::Arc;

use model::claim::ClaimId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::{Announcement, Effect, Engine, OpenClaim, Placing};
use crate::change::{Consumer, Write, WriteId, WriteOutcome};
use crate::queue::Failure;
use crate::wake::Wake;

impl Engine {
    pub(super) fn settle(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) {
        let Some(uid) = self.writes.remove(&write) else { return };
        let Some(placing) = self.placing.get_mut(&uid) else {
            return self.settle_abandoned(now, write, outcome);
        };
        if let Some(open) = placing.open.remove(&write) {
            match outcome {
                WriteOutcome::Done => placing.reserved.push(open.claim.clone()),
                WriteOutcome::Failed(reason) => {
                    placing.failed.get_or_insert_with(|| format!("claim {}: {reason}", open.claim));
                }
            }
            self.settle_claim(now, &open, outcome);
        } else if placing.binding == Some(write) {
            match outcome {
                WriteOutcome::Done => return self.bound(&uid),
                WriteOutcome::Failed(reason) => {
                    placing.binding = None;
                    placing.failed = Some(format!("binding: {reason}"));
                }
            }
        } else if placing.releasing.remove(&write) {
            return self.put_back(now, &uid);
        }
        self.go_on(now, &uid);
    }

    /// Binds a pod whose claims are all written, or takes back what was done for one that cannot be.
    pub(super) fn go_on(&mut self, now: Timestamp, uid: &Arc<str>) {
        let Some(placing) = self.placing.get(uid) else { return };
        if !placing.open.is_empty() || placing.binding.is_some() {
            return;
        }
        if !self.waiting.contains_key(uid) {
            // Somebody bound it meanwhile: where it is and what it uses is theirs to say.
            self.placing.remove(uid);
            return;
        }
        if placing.failed.is_some() {
            return self.take_back(now, uid);
        }
        let (pod, node) = (placing.pod.clone(), placing.node.clone());
        let write = self.submit(uid, Write::Bind { pod: pod.id.clone(), uid: uid.clone(), node });
        if let Some(placing) = self.placing.get_mut(uid) {
            placing.binding = Some(write);
        }
    }

    fn bound(&mut self, uid: &Arc<str>) {
        let Some(placing) = self.placing.remove(uid) else { return };
        self.forget_waiting(uid);
        let (pod, node) = (placing.pod.id.clone(), placing.node);
        self.effects.push(Effect::Announce(Announcement::Scheduled { pod, node }));
    }

    /// Undoes a placement that failed, and puts the pod back once that is done.
    fn take_back(&mut self, now: Timestamp, uid: &Arc<str>) {
        self.take_pod(uid);
        let Some(placing) = self.placing.get_mut(uid) else { return };
        let (reserved, consumer) = (std::mem::take(&mut placing.reserved), consumer(&placing.pod));
        for claim in reserved {
            let Some(known) = self.claims.get(&claim) else { continue };
            let release = Write::Release { uid: known.uid.clone(), claim, consumer: consumer.clone() };
            let write = self.submit(uid, release);
            if let Some(placing) = self.placing.get_mut(uid) {
                placing.releasing.insert(write);
            }
        }
        self.queue.wake(Wake::PodRemoved.into(), now);
        self.put_back(now, uid);
    }

    /// Puts a pod back whose placement is undone.
    fn put_back(&mut self, now: Timestamp, uid: &Arc<str>) {
        if self.placing.get(uid).is_none_or(|placing| !placing.releasing.is_empty()) {
            return;
        }
        let Some(placing) = self.placing.remove(uid) else { return };
        let message = placing.failed.unwrap_or_default();
        self.refuse(now, &placing.pod, Failure::Failed, message);
    }

    /// Forgets a pod on its way that is gone. What is written for it is released. Devices of writes that are not answered
    /// stay taken until they are: the API may have given them to the claim by now.
    pub(super) fn abandon(&mut self, uid: &Arc<str>) {
        let Some(placing) = self.placing.remove(uid) else { return };
        for (write, open) in &placing.open {
            self.abandoned.insert(*write, (open.clone(), consumer(&placing.pod)));
        }
        self.release(&placing);
    }

    /// The answer to a write for a pod that is gone.
    fn settle_abandoned(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) {
        let Some((open, consumer)) = self.abandoned.remove(&write) else { return };
        if *outcome == WriteOutcome::Done {
            self.release_claim(&open.claim, consumer);
        }
        self.settle_claim(now, &open, outcome);
    }

    /// What was decided for a claim is written, or is taken back.
    fn settle_claim(&mut self, now: Timestamp, open: &OpenClaim, outcome: &WriteOutcome) {
        let Some(uid) = &open.decided else { return };
        self.touch_claim(&open.claim);
        match outcome {
            WriteOutcome::Done => self.claims.written(&open.claim, uid),
            WriteOutcome::Failed(_) => self.claims.undecide(&open.claim, uid),
        };
        // Devices may be free again, and pods that share the claim may be able to reserve it now.
        if !self.claims.is_decided(&open.claim) {
            self.queue.wake(Wake::Claim.into(), now);
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
