//! What is written for a pod before it is bound.

use model::claim::ClaimId;
use model::pod::PodId;
use model::volume::VolumeClaimId;

/// What is written for a pod before it is bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BindingPart {
    /// A claim of the pod.
    Claim(ClaimId),
    /// The claim that is made for what the pod asks for by name.
    MadeClaim,
    /// The note on the pod of what its devices take of its node.
    Note(PodId),
    /// How a volume claim of the pod gets its volume.
    Volume(VolumeClaimId),
}

impl BindingPart {
    /// The claim, if it is one of the pod.
    #[must_use]
    pub fn claim(&self) -> Option<&ClaimId> {
        match self {
            BindingPart::Claim(claim) => Some(claim),
            BindingPart::MadeClaim | BindingPart::Note(_) | BindingPart::Volume(_) => None,
        }
    }
}
