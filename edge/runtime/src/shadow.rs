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
    decisions: FxHashMap<PodUid, HeldDecision>,
    /// Writes that would take a claim's devices or the claim itself.
    takings: FxHashMap<ClaimId, Vec<WriteId>>,
}

#[derive(Debug, Default)]
struct HeldDecision {
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
        if let Write::Deallocate { claim, .. }
        | Write::DeleteClaim { claim, .. }
        | Write::Release { claim, .. } = write
        {
            return self.takings.entry(claim.clone()).or_default().push(id);
        }
        let Some(uid) = write.places() else { return };
        let decision = self.decisions.entry(uid.clone()).or_default();
        decision.node = node.cloned();
        decision.refused = None;
        decision.writes.push(id);
    }

    /// Takes note of a pod that has no place.
    pub(crate) fn note(&mut self, announcement: &Announcement) {
        if let Announcement::FailedScheduling { pod, message, .. } = announcement {
            self.decisions.entry(pod.uid.clone()).or_default().refused = Some(message.clone());
        }
    }

    /// What a change says about a pod of ours or a claim, if it ends the wait for it. `decided` tells the node that a pod goes to: its
    /// writes may wait for others about the same claim.
    pub(crate) fn heed(
        &mut self,
        change: &Change,
        is_ours: impl Fn(&str) -> bool,
        decided: impl Fn(&str) -> Option<NodeName>,
    ) -> Option<Outcome> {
        match change {
            Change::PodGone(uid) => {
                let decision = self.decisions.remove(uid)?;
                Some(Outcome { writes: decision.writes, compared: None })
            }
            Change::PodApplied(pod) if is_ours(&pod.scheduler) => {
                let node = pod.node.as_ref()?;
                let known = self.decisions.remove(&pod.uid);
                let waits = decided(&pod.uid)
                    .map(|node| HeldDecision { node: Some(node), ..HeldDecision::default() });
                let decision = known.or(waits)?;
                let comparison = match (decision.node, decision.refused) {
                    (_, Some(reason)) => Comparison::Refused { reason },
                    (Some(ours), None) if ours == *node => Comparison::Same,
                    (Some(ours), None) => Comparison::Other { ours },
                    (None, None) => Comparison::Unseen,
                };
                Some(Outcome {
                    writes: decision.writes,
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
