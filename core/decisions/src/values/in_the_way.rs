//! Claims that have to give up their devices so that a pod or a gang can be placed.

use model::claim::ClaimId;
use model::identity::ClaimUid;

/// A claim that is to give up its devices, or to go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InTheWay {
    /// The claim.
    pub claim: ClaimId,
    /// Its uid.
    pub uid: ClaimUid,
    /// What is done about it.
    pub remedy: Remedy,
}

/// What is done about a claim in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// It gives its devices back.
    Deallocate,
    /// It is deleted.
    Delete,
}
