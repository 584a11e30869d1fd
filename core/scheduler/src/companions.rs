//! Facts about which pods belong together.

use model::pod::{LabelSelector, Shape};

use crate::engine::Engine;
use crate::filters::Filter;
use crate::profile::Profile;
use crate::scores::Score;

impl Engine {
    /// The pods that a pod is to be spread among if it says nothing about it, unless the profile does not care.
    pub(crate) fn companions_of(&self, shape: &Shape, profile: &Profile) -> Option<LabelSelector> {
        let (filters, scores) = (&profile.filters, &profile.scores);
        let is_filtered = filters.has(Filter::Spread) && !filters.default_spread.is_empty();
        let is_scored = || {
            let counts = |(kind, weight): &(Score, i64)| *kind == Score::Spread && *weight != 0;
            !scores.default_spread.is_empty() && scores.weights.iter().any(counts)
        };
        if !shape.spread.is_empty() || !(is_filtered || is_scored()) {
            return None;
        }
        self.facts.companions.of(shape)
    }
}
