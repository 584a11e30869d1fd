//! How decisions are made, as people set it.

use std::sync::Arc;

use gates::Gates;
use model::pod::Pod;

use crate::profile::Profile;

/// How the engine decides.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The schedulers that pods can ask for, each by a name of its own; others are left alone.
    pub profiles: Vec<Arc<Profile>>,
    /// Which features are on.
    pub gates: Gates,
    /// How long pods wait.
    pub patience: Patience,
    /// How many steps a search for devices on one node may take.
    pub search_steps_max: u64,
}

impl Settings {
    /// The profile that a pod asks for.
    #[must_use]
    pub fn profile(&self, pod: &Pod) -> Option<&Arc<Profile>> {
        self.profiles.iter().find(|profile| profile.name == pod.scheduler)
    }

    /// The profile of a pod that waits.
    #[must_use]
    pub fn profile_of(&self, pod: &Pod) -> Arc<Profile> {
        self.profile(pod).cloned().expect("only pods that ask for one of us wait")
    }
}

/// How long pods wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// After the first failure; each further one doubles it.
    pub backoff_ms_min: i64,
    /// At most.
    pub backoff_ms_max: i64,
    /// A pod that sleeps is tried again after this long, even if nothing that could help it was seen.
    pub sleep_ms_max: i64,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { backoff_ms_min: 1_000, backoff_ms_max: 10_000, sleep_ms_max: 300_000 }
    }
}
