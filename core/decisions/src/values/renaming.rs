//! Refusals that are kept for pods that are alike name the claims of the pod that they were found for. The next pod puts its own in.

use model::claim::ClaimId;

/// Claims of a pod that need devices, and those of another that ask for the same, in the same order.
#[derive(Clone, Copy)]
pub(crate) struct Renaming<'r> {
    pub before: &'r [ClaimId],
    pub after: &'r [ClaimId],
}

impl Renaming<'_> {
    pub fn apply(self, claim: &mut ClaimId) {
        let place = self.before.iter().position(|one| one == claim);
        if let Some(after) = place.and_then(|place| self.after.get(place)) {
            claim.clone_from(after);
        }
    }
}
