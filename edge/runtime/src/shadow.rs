//! A scheduler that writes nothing: its decisions are kept until somebody else has bound the pod, and then compared.
//!
//! Invariant: no write leaves the process. A decision is held, with everything that it takes, until its pod is bound or
//! gone; then the engine is told that it came to nothing, and knows no more than what the API has.

use cluster::change::Change;
use model::claim::ClaimId;
use model::identity::{NodeName, PodUid};
use model::pod::PodId;
use rustc_hash::FxHashMap;
use scheduler::engine::Announcement;
use scheduler::write::{Write, WriteId};

use crate::notice::Comparison;

/// Decisions that are held, by the uid of the pod.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    plans: FxHashMap<PodUid, Plan>,
    /// Writes that would take a claim's devices or the claim itself.
    takings: FxHashMap<ClaimId, Vec<WriteId>>,
}

#[derive(Debug, Default)]
struct Plan {
    node: Option<NodeName>,
    refused: Option<String>,
    writes: Vec<WriteId>,
}

/// What became of a pod that somebody else decides about.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Writes that the engine waits for, and that will never be carried out.
    pub(crate) writes: Vec<WriteId>,
    /// If it was bound: which pod, where, and how that compares.
    pub(crate) compared: Option<(PodId, NodeName, Comparison)>,
}

impl Shadow {
    /// Holds a write; `node` is where its pod would go.
    pub(crate) fn hold(&mut self, id: WriteId, write: &Write, node: Option<&NodeName>) {
        if let Write::Deallocate { claim, .. } | Write::DeleteClaim { claim, .. } = write {
            return self.takings.entry(claim.clone()).or_default().push(id);
        }
        let Some(uid) = write.places() else { return };
        let plan = self.plans.entry(uid.clone()).or_default();
        plan.node = node.cloned();
        plan.refused = None;
        plan.writes.push(id);
    }

    /// Takes note of a pod that has no place.
    pub(crate) fn note(&mut self, announcement: &Announcement) {
        if let Announcement::FailedScheduling { pod, message, .. } = announcement {
            self.plans.entry(pod.uid.clone()).or_default().refused = Some(message.clone());
        }
    }

    /// What a change says about a pod of ours or a claim, if it ends the wait for it.
    pub(crate) fn heed(&mut self, change: &Change, is_ours: impl Fn(&str) -> bool) -> Option<Outcome> {
        match change {
            Change::PodGone(uid) => {
                let plan = self.plans.remove(uid)?;
                Some(Outcome { writes: plan.writes, compared: None })
            }
            Change::PodApplied(pod) if is_ours(&pod.scheduler) => {
                let node = pod.node.as_ref()?;
                let plan = self.plans.remove(&pod.uid)?;
                let comparison = match (plan.node, plan.refused) {
                    (_, Some(reason)) => Comparison::Refused { reason },
                    (Some(ours), None) if ours == *node => Comparison::Same,
                    (Some(ours), None) => Comparison::Other { ours },
                    (None, None) => Comparison::Unseen,
                };
                Some(Outcome {
                    writes: plan.writes,
                    compared: Some((pod.id.clone(), node.clone(), comparison)),
                })
            }
            // Somebody else has done it.
            Change::ClaimApplied(state) | Change::ClaimListed(state) if state.allocation.is_none() => {
                let writes = self.takings.remove(&state.wish.id)?;
                Some(Outcome { writes, compared: None })
            }
            Change::ClaimGone(id) => {
                let writes = self.takings.remove(id)?;
                Some(Outcome { writes, compared: None })
            }
            _ => None,
        }
    }
}
