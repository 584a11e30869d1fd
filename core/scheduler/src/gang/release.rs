//! Gangs that are let go as wholes: a member could not be bound, those bound with it are too few, and the policy says so.
//!
//! Invariant: only members that were bound together with the one that failed are let go, and only while their gang is not whole
//! without it. Until they are gone nobody else of the gang is looked a place for.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::group::{BindingFailure, GroupId};
use model::pod::Pod;

use super::flight::Flight;
use crate::engine::{Announcement, Engine};

/// Why a pod is let go.
const FAILED: &str = "another pod of its group could not be bound, and the group is placed anew as a whole";

/// What became of members that were to be bound together.
#[derive(Clone, Debug, Default)]
pub(super) struct Landing {
    /// Those who are bound.
    landed: BTreeSet<Arc<str>>,
    /// Somebody could not be.
    is_broken: bool,
}

impl Engine {
    /// A member on its way is about to be bound, or could not be.
    pub(crate) fn note_landing(&mut self, uid: &Arc<str>, is_bound: bool) {
        let Some(id) = self.gangs.in_flight.get(uid) else { return };
        if self.gangs.flights.get(id).is_none_or(|flight| !flight.is_cleared) {
            return;
        }
        let landing = self.gangs.landings.entry(id.clone()).or_default();
        if is_bound {
            landing.landed.insert(uid.clone());
        } else {
            landing.is_broken = true;
        }
    }

    /// It is known of all members that were to be bound together whether they are.
    pub(super) fn end_landing(&mut self, id: &GroupId, flight: &Flight) {
        let Some(landing) = self.gangs.landings.remove(id).filter(|landing| landing.is_broken) else {
            return;
        };
        let is_whole = match self.gangs.group(id) {
            Some(group) => self.bound_members(id) >= group.at_least as usize,
            None => landing.landed.len() >= flight.at_least,
        };
        if is_whole {
            return;
        }
        let there = landing.landed.iter().filter_map(|uid| self.nodes.pod(uid)).map(|(_, pod)| pod.clone());
        let there: Vec<Arc<Pod>> = there.filter(|pod| !pod.deleting).collect();
        let Some(first) = there.first() else { return };
        let said = self.gangs.group(id).and_then(|group| group.binding_failure);
        let by_default = self.settings.profile(first).map(|profile| profile.binding_failure);
        if said.or(by_default) == Some(BindingFailure::Release) {
            for pod in there.into_iter().filter(|pod| self.let_go(pod)).collect::<Vec<_>>() {
                self.gangs.released.insert(pod.uid.clone());
                self.announce(Announcement::Released { pod, message: FAILED.to_owned() });
            }
        }
    }

    /// Whether members that were let go are still on their nodes.
    pub(super) fn has_released(&self, id: &GroupId) -> bool {
        !self.gangs.released.is_empty() && self.gangs.seated(id).any(|uid| self.gangs.released.contains(uid))
    }

    /// How many members are bound.
    pub(super) fn bound_members(&self, id: &GroupId) -> usize {
        self.gangs.seated(id).filter(|uid| !self.placing.contains_key(*uid)).count()
    }
}
