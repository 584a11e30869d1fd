//! Nodes that will do for a pod, in the order of their scores.

use std::cmp::Reverse;

use cluster::nodes::NodeIdx;
use model::allocation::Allocation;
use model::pod::{LabelSelector, Pod};

use crate::cycle::Cycle;
use crate::devices::alternatives::worth;
use crate::profile::Profile;
use crate::scores::{self, View, devices, ready_devices};
use crate::values::pod_claims::PodClaims;

impl Cycle<'_> {
    /// Of nodes with devices for all claims, the best.
    pub(crate) fn best_of(
        &self,
        pod: &Pod,
        claims: &PodClaims,
        mut found: Vec<(NodeIdx, Vec<Allocation>)>,
        companions: Option<&LabelSelector>,
        profile: &Profile,
    ) -> Option<(NodeIdx, Vec<Allocation>)> {
        let raw = found.iter().map(|(_, allocations)| worth(claims, allocations)).collect();
        let mut extra = devices::weighted(raw, self.alternatives_weight(profile, claims));
        let weight = self.readiness_weight(profile, claims);
        let readiness = found.iter().map(|(_, allocations)| weight * ready_devices::score(allocations));
        extra.iter_mut().zip(readiness).for_each(|(extra, readiness)| *extra += readiness);
        let nodes = found.iter().map(|(at, _)| *at).collect();
        let best = *self.ranked(pod, nodes, &extra, companions, profile).first()?;
        let place = found.iter().position(|(at, _)| *at == best)?;
        Some(found.swap_remove(place))
    }

    /// Candidates by score and what is added to each, the best first; among equals the one that was known first.
    pub(crate) fn ranked(
        &self,
        pod: &Pod,
        candidates: Vec<NodeIdx>,
        extra: &[i64],
        companions: Option<&LabelSelector>,
        profile: &Profile,
    ) -> Vec<NodeIdx> {
        best_first(self.scored(pod, candidates, extra, companions, profile))
    }

    /// Candidates with their score and what is added to each.
    pub(crate) fn scored(
        &self,
        pod: &Pod,
        candidates: Vec<NodeIdx>,
        extra: &[i64],
        companions: Option<&LabelSelector>,
        profile: &Profile,
    ) -> Vec<(i64, NodeIdx)> {
        if candidates.len() < 2 {
            return candidates.into_iter().map(|at| (0, at)).collect();
        }
        let view = View {
            nodes: &self.facts.nodes,
            namespaces: &self.facts.namespaces,
            images: &self.facts.images,
            companions,
            settings: &profile.scores,
        };
        let mut totals = scores::totals(&pod.shape, &candidates, &view, &*self.caches.lanes);
        totals.iter_mut().zip(extra).for_each(|(total, extra)| *total += extra);
        totals.into_iter().zip(candidates).collect()
    }
}

/// Candidates by their score, the best first; among equals the one that was known first.
pub(crate) fn best_first(mut scored: Vec<(i64, NodeIdx)>) -> Vec<NodeIdx> {
    scored.sort_unstable_by_key(|(score, at)| (Reverse(*score), *at));
    scored.into_iter().map(|(_, at)| at).collect()
}
