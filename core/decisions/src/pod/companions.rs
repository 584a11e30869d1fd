//! The pods that a pod without rules of its own is spread among: those of its services and of its owner.

use cluster::facts::Facts;
use model::pod::{LabelSelector, Shape};

use crate::cycle::Cycle;
use crate::profile::Profile;
use crate::scores::Score;
use crate::values::filter_set::Filter;

/// The pods that a pod is to be spread among if it says nothing about it, unless the profile does not care.
pub(crate) fn companions_of(facts: &Facts, shape: &Shape, profile: &Profile) -> Option<LabelSelector> {
    let (filters, scores) = (&profile.filters, &profile.scores);
    let is_filtered = filters.has(Filter::Spread) && !filters.default_spread.is_empty();
    let is_scored = || {
        let counts = |(kind, weight): &(Score, i64)| *kind == Score::Spread && *weight != 0;
        !scores.default_spread.is_empty() && scores.weights.iter().any(counts)
    };
    if !shape.spread.is_empty() || !(is_filtered || is_scored()) {
        return None;
    }
    facts.companions.of(shape)
}

impl Cycle<'_> {
    /// The pods that a pod is to be spread among if it says nothing about it, unless the profile does not care.
    pub(crate) fn companions_of(&self, shape: &Shape, profile: &Profile) -> Option<LabelSelector> {
        companions_of(&self.facts, shape, profile)
    }
}
