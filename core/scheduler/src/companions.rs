//! Facts about which pods belong together.

use std::sync::Arc;

use cluster::companions::Labels;
use model::pod::{LabelSelector, Owner, Shape};

use crate::engine::Engine;
use crate::filters::Filter;
use crate::profile::Profile;
use crate::scores::Score;

/// A fact about which pods belong together.
#[derive(Clone, Debug)]
pub enum CompanionChange {
    /// A service is there, or is otherwise: its namespace, its name, and the labels of its pods.
    ServiceApplied(Arc<str>, Arc<str>, Labels),
    /// A service went.
    ServiceGone(Arc<str>, Arc<str>),
    /// An owner of pods is there, or is otherwise: its namespace, and the pods that it picks.
    OwnerApplied(Arc<str>, Owner, LabelSelector),
    /// An owner of pods went.
    OwnerGone(Arc<str>, Owner),
}

impl Engine {
    /// Takes note of a fact about which pods belong together. Nobody is woken: in Kubernetes it is not among the changes that let
    /// a pod in either.
    pub(crate) fn fold_companions(&mut self, change: CompanionChange) {
        let companions = &mut self.companions;
        match change {
            CompanionChange::ServiceApplied(namespace, name, labels) => {
                companions.apply_service(namespace, name, labels);
            }
            CompanionChange::ServiceGone(namespace, name) => companions.remove_service(&namespace, &name),
            CompanionChange::OwnerApplied(namespace, owner, selector) => {
                companions.apply_owner(namespace, owner, selector);
            }
            CompanionChange::OwnerGone(namespace, owner) => companions.remove_owner(&namespace, &owner),
        }
    }

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
        self.companions.of(shape)
    }
}
