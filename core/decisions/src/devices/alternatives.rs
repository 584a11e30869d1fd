//! Pods whose claims have lists of alternatives: which node is best depends on the devices that each of them has.

use gates::Gate;
use model::allocation::Allocation;

use crate::cycle::Cycle;
use crate::profile::Profile;
use crate::scores::{Score, devices};
use crate::values::pod_claims::PodClaims;

impl Cycle<'_> {
    /// How much it counts which alternatives the claims get; nothing if they have none.
    pub(crate) fn alternatives_weight(&self, profile: &Profile, claims: &PodClaims) -> i64 {
        if !claims.open.iter().any(|state| devices::matters(&state.wish)) {
            return 0;
        }
        let on = self.settings.gates.enabled(Gate::DRAPrioritizedList);
        if on { profile.scores.weight(Score::Devices) } else { 0 }
    }
}

/// What the devices that were found for claims are worth, before it is compared with other nodes.
pub(crate) fn worth(claims: &PodClaims, allocations: &[Allocation]) -> i64 {
    devices::raw(claims.open.iter().map(|state| &*state.wish).zip(allocations))
}
