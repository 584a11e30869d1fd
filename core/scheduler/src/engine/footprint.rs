//! What a pod's devices take of its node is noted on the pod, so that the node's agent and others count the same.

use decisions::footprint::ClaimFootprint;
use model::claim::ClaimId;
use model::pod::Pod;

use crate::engine::Engine;
use crate::write::Write;

/// Under this name, and the pod's uid, a pod's note is on its way. No claim can have it.
const NOTE: &str = "<node-resources>";

/// Whether this is the name that stands for a note on a pod, and no claim.
pub(crate) fn is_note(claim: &ClaimId) -> bool {
    claim.name.starts_with(NOTE)
}

impl Engine {
    /// The write that notes on a pod what its devices take, and the name that stands for it.
    pub(crate) fn note_resources(&self, pod: &Pod, claims: Vec<ClaimFootprint>) -> (ClaimId, Write) {
        let name = format!("{NOTE} {}", pod.uid).into();
        let id = ClaimId { namespace: pod.id.namespace.clone(), name };
        (id, Write::NoteResources { pod: pod.id.clone(), uid: pod.uid.clone(), claims })
    }

    /// Takes back what was noted on a pod, if this is the name that stands for it.
    pub(crate) fn forget_note(&mut self, claim: &ClaimId, pod: &str) {
        if is_note(claim) {
            let id = model::pod::PodId { namespace: claim.namespace.clone(), name: pod.into() };
            let uid = claim.name[NOTE.len() + 1..].into();
            self.outbox.submit(Write::NoteResources { pod: id, uid, claims: Vec::new() });
        }
    }
}
