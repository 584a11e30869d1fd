//! One scheduling cycle: what is known, what is under way, and how much may still be done to decide about it.
//!
//! Invariant: a cycle changes no fact. It may try what would be if facts were otherwise, and when it ends they are as they were. It
//! keeps nothing but answers that could be found again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::facts::Facts;
use cluster::trial::Trial;
use model::claim::ClaimId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::giving_back::{Why, kept};
use crate::plans::Plans;
use crate::readiness::Readiness;
use crate::settings::Settings;
use crate::underway::Underway;
use crate::values::tried::Tried;
use crate::values::work::Work;

pub use crate::caches::Caches;

/// A decision that is being made.
pub struct Cycle<'c> {
    pub(crate) settings: &'c Settings,
    pub(crate) facts: Trial<'c>,
    pub(crate) plans: &'c Plans,
    pub(crate) underway: &'c dyn Underway,
    pub(crate) caches: &'c mut Caches,
    pub(crate) now: Timestamp,
    /// Claims that count as having no devices.
    pub(crate) lifted: BTreeSet<ClaimId>,
    /// Claims that count as having devices: other groups of the tree got them.
    pub(crate) assumed: BTreeMap<ClaimId, Arc<ClaimState>>,
    /// How many placements were looked at.
    pub(crate) tried: Tried,
    /// A node could not be asked for devices.
    pub(crate) unanswered: bool,
}

impl<'c> Cycle<'c> {
    /// Decides by these settings, about these facts, at this time.
    pub fn new(
        settings: &'c Settings,
        facts: &'c mut Facts,
        (plans, underway): (&'c Plans, &'c dyn Underway),
        caches: &'c mut Caches,
        now: Timestamp,
    ) -> Cycle<'c> {
        Cycle {
            settings,
            facts: Trial::new(facts),
            plans,
            underway,
            caches,
            now,
            lifted: BTreeSet::new(),
            assumed: BTreeMap::new(),
            tried: Tried::default(),
            unanswered: false,
        }
    }

    /// How many placements were looked at.
    #[must_use]
    pub fn tried(&self) -> Tried {
        self.tried
    }

    /// Work that may be done, which callers may keep back for what comes after.
    pub fn work(&mut self) -> &mut Work {
        &mut self.caches.work
    }

    /// Whether a claim gives devices back that were for a pod.
    pub(crate) fn gives_back(&self, why: Why, claim: &ClaimId, pod: &Pod) -> bool {
        kept(&self.facts, self.underway, why, claim, Some(&pod.uid)).is_none()
    }

    /// Judges whether devices are ready.
    pub(crate) fn readiness(&self) -> Readiness<'_> {
        Readiness { settings: self.settings, facts: &self.facts }
    }

    /// Keeps devices that failed for pods before from being chosen; says whether there are some.
    pub(crate) fn hold_shunned<'p>(&mut self, pods: impl IntoIterator<Item = &'p Pod>) -> bool {
        let held = self.plans.shunned_by(pods);
        self.facts.take(&held);
        !held.is_empty()
    }
}
