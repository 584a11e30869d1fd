//! Profiles: the schedulers that pods can ask for by name, each with filters and scores of its own.
//!
//! They share one queue and one state, so what one of them decides the others see.

use std::sync::Arc;

use model::group::BindingFailure;

use crate::filters::FilterSettings;
use crate::scores::ScoreSettings;
use crate::scores::placement::PlacementSettings;

/// How long devices may take to be made ready unless settings or their driver say otherwise.
pub const BINDING_TIMEOUT_MS: i64 = 600_000;

/// How the pods that ask for a scheduler by a name are placed.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// The name that pods ask for.
    pub name: Arc<str>,
    /// What puts nodes out of the question.
    pub filters: FilterSettings,
    /// What makes nodes better.
    pub scores: ScoreSettings,
    /// How room is made for important pods; no pod is preempted if absent.
    pub preemption: Option<PreemptionSettings>,
    /// Whether pods wait as long as they have scheduling gates.
    pub heeds_gates: bool,
    /// How placements of gangs are compared.
    pub placement: PlacementSettings,
    /// What becomes of a gang of which a member cannot be bound, if its group does not say.
    pub binding_failure: BindingFailure,
    /// How long devices may take to be made ready, in milliseconds, if they have no time of their own.
    pub binding_timeout_ms: i64,
    /// How long volumes may take to be bound, in milliseconds.
    pub volume_timeout_ms: i64,
}

impl Profile {
    /// A profile about which nothing was said but its name.
    #[must_use]
    pub fn named(name: &str) -> Profile {
        Profile {
            name: name.into(),
            filters: FilterSettings::default(),
            scores: ScoreSettings::default(),
            preemption: Some(PreemptionSettings::default()),
            heeds_gates: true,
            placement: PlacementSettings::default(),
            binding_failure: BindingFailure::default(),
            binding_timeout_ms: BINDING_TIMEOUT_MS,
            volume_timeout_ms: BINDING_TIMEOUT_MS,
        }
    }
}

/// What people may set about preemption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreemptionSettings {
    /// Among how many nodes a choice is made at least, in percent of those where it could help.
    pub candidates_percent_min: usize,
    /// Among how many at least.
    pub candidates_min: usize,
}

impl Default for PreemptionSettings {
    fn default() -> Self {
        PreemptionSettings { candidates_percent_min: 10, candidates_min: 100 }
    }
}

impl PreemptionSettings {
    /// Among how many a choice is made, of so many where it could help.
    pub(crate) fn candidates(self, nodes: usize) -> usize {
        (nodes * self.candidates_percent_min / 100).max(self.candidates_min).min(nodes)
    }
}
