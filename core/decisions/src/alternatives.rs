//! Pods whose claims have lists of alternatives: which node is best depends on the devices that each of them has.

use cluster::nodes::NodeIdx;
use gates::Gate;
use model::allocation::Allocation;
use model::pod::{LabelSelector, Pod};

use crate::cycle::Cycle;
use crate::pod::Claims;
use crate::profile::Profile;
use crate::scores::{Score, devices};

impl Cycle<'_> {
    /// How much it counts which alternatives the claims get; nothing if they have none.
    pub(crate) fn alternatives_weight(&self, profile: &Profile, claims: &Claims) -> i64 {
        if !claims.open.iter().any(|state| devices::matters(&state.wish)) {
            return 0;
        }
        let on = self.settings.gates.enabled(Gate::DRAPrioritizedList);
        if on { profile.scores.weight(Score::Devices) } else { 0 }
    }

    /// Of nodes with devices for all claims, the best.
    pub(crate) fn best_of(
        &self,
        pod: &Pod,
        claims: &Claims,
        mut found: Vec<(NodeIdx, Vec<Allocation>)>,
        companions: Option<&LabelSelector>,
        profile: &Profile,
    ) -> Option<(NodeIdx, Vec<Allocation>)> {
        let raw = found.iter().map(|(_, allocations)| worth(claims, allocations)).collect();
        let extra = devices::weighted(raw, self.alternatives_weight(profile, claims));
        let nodes = found.iter().map(|(at, _)| *at).collect();
        let best = *self.ranked(pod, nodes, &extra, companions, profile).first()?;
        let place = found.iter().position(|(at, _)| *at == best)?;
        Some(found.swap_remove(place))
    }
}

/// What the devices that were found for claims are worth, before it is compared with other nodes.
pub(crate) fn worth(claims: &Claims, allocations: &[Allocation]) -> i64 {
    devices::raw(claims.open.iter().map(|state| &*state.wish).zip(allocations))
}
