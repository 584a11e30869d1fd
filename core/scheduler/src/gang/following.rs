//! Claims that members share: one of them brings the devices, and the others reserve the claim when the API has them.

use std::sync::Arc;

use model::claim::ClaimId;
use model::timestamp::Timestamp;

use crate::change::{Write, WriteOutcome};
use crate::engine::{Engine, OpenClaim};

impl Engine {
    /// Lets a pod on its way wait until a claim has its devices.
    pub(crate) fn follow(&mut self, pod: &Arc<str>, claim: ClaimId, uid: Arc<str>) {
        if let Some(placing) = self.placing.get_mut(pod) {
            placing.follows.insert(claim.clone(), uid);
            self.gangs.followers.entry(claim).or_default().insert(pod.clone());
        }
    }

    /// It is known what became of the devices of a claim: those who wait for it reserve it, or have no use for their seats.
    pub(crate) fn lead(&mut self, now: Timestamp, claim: &ClaimId, outcome: &WriteOutcome) {
        for uid in self.gangs.followers.remove(claim).unwrap_or_default() {
            let Some(placing) = self.placing.get_mut(&uid) else { continue };
            let Some(claim_uid) = placing.follows.remove(claim) else { continue };
            let pod = placing.pod.clone();
            let consumer = self.consumer(&pod, claim);
            let Some(placing) = self.placing.get_mut(&uid) else { continue };
            match outcome {
                WriteOutcome::Failed(reason) => {
                    placing.failed.get_or_insert_with(|| format!("claim {claim}: {reason}"));
                }
                // The group has it by now, and with that each of its members.
                WriteOutcome::Done if consumer.group.is_some() => placing.reserved.push(claim.clone()),
                WriteOutcome::Done if placing.failed.is_none() => {
                    let write = Write::Reserve { claim: claim.clone(), uid: claim_uid, consumer };
                    self.submit_for(&pod, OpenClaim { claim: claim.clone(), decided: None }, write);
                }
                WriteOutcome::Done => {}
            }
            self.go_on(now, &uid);
        }
    }
}
