//! Pods for which it depends on the devices of nodes which node is best: their claims have lists of alternatives, or there are devices
//! that have to be made ready first.

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

    /// How much it counts whether devices that claims get are ready; nothing if all of them are.
    pub(crate) fn readiness_weight(&self, profile: &Profile, claims: &PodClaims) -> i64 {
        let may_differ = claims.need_devices() && self.facts.slices.has_some_to_prepare();
        if may_differ { profile.scores.weight(Score::ReadyDevices) } else { 0 }
    }
}

/// What the devices that were found for claims are worth, before it is compared with other nodes.
pub(crate) fn worth(claims: &PodClaims, allocations: &[Allocation]) -> i64 {
    devices::raw(claims.open.iter().map(|state| &*state.wish).zip(allocations))
}
