//! Gangs that are let go as wholes: a member could not be bound, those bound with it are too few, and the policy says so.
//!
//! When members are bound it is noted on them which were bound together. So a scheduler that is started meanwhile completes a gang
//! if it can, and lets those go otherwise that were bound together; what was begun to be let go goes on to be.
//!
//! Invariant: only members that were bound together with the one that failed are let go, and only while their gang is not whole
//! without it. Until they are gone no place is looked for for other members.

use std::sync::Arc;

use cluster::groups::Root;
use model::group::{BindingFailure, GroupId};
use model::identity::PodUid;
use model::pod::{Landing, Pod, Together};
use model::timestamp::Timestamp;

use crate::engine::{Announcement, Engine};
use crate::life_cycles::flight::{Event, Flight};

/// How many members are named on a pod that were not bound with it.
const LEFT_OUT_MAX: usize = 32;

/// Why a pod is let go.
const FAILED: &str = "another pod of the group could not be bound; the whole group is rescheduled";

impl Engine {
    /// A member on its way is bound, or could not be.
    pub(crate) fn note_landing(&mut self, uid: &PodUid, is_bound: bool) {
        let Some(root) = self.gangs.flights.root_of(uid).cloned() else { return };
        let event = if is_bound { Event::Bound(uid.clone()) } else { Event::NotBound };
        self.gangs.flights.step(&root, event);
    }

    /// It is known of all members that were to be bound together whether they are.
    pub(super) fn end_landing(&mut self, root: &Root, flight: &Flight) {
        let Some(landed) = flight.broken_off() else { return };
        let there = landed.iter().filter_map(|uid| self.facts.nodes.pod(uid)).map(|(_, pod)| pod.clone());
        let there: Vec<Arc<Pod>> = there.collect();
        let gang = self.gang_of_flight(root, &there);
        let Some(root) = gang.and_then(|id| self.facts.groups.root_of(&id)) else {
            if landed.len() < flight.at_least {
                self.let_all_go(there);
            }
            return;
        };
        let mut short = self.short_of_others(&root, there);
        short.extend(self.cut_short(&root));
        self.let_all_go(short);
    }

    /// The group of a flight, or one of those of the tree.
    fn gang_of_flight(&self, root: &Root, landed: &[Arc<Pod>]) -> Option<GroupId> {
        match root {
            Root::Group(id) if self.facts.groups.get(id).is_some() => Some(id.clone()),
            Root::Group(_) | Root::Composite(_) => self.facts.groups.gang_of(landed.first()?),
        }
    }

    /// Those of these that are too few: all, or with enough other groups those whose own group has too few.
    fn short_of_others(&self, root: &Root, mut pods: Vec<Arc<Pod>>) -> Vec<Arc<Pod>> {
        if self.is_bound(root) {
            pods.retain(|pod| {
                self.facts.groups.gang_of(pod).is_some_and(|id| !self.is_bound(&Root::Group(id)))
            });
        }
        pods
    }

    /// Members that were bound together before we began, if others were to be bound with them and wait, and they are too few without.
    /// Where a member came later, one may have been lost that was bound, and none is let go for that.
    fn cut_short(&self, root: &Root) -> Vec<Arc<Pod>> {
        let together = self.bound_last(root);
        let Some(youngest) = together.first().and_then(|pod| youngest(pod)) else { return Vec::new() };
        let came_later = |pod: &Arc<Pod>| pod.created.is_none_or(|created| created > youngest);
        // What is left of a gang that was whole may wait for one that was there and was not bound with them.
        let is_left_out = |pod: &Arc<Pod>| {
            let leaves_out = |other: &Landing| other.together.left_out.contains(&pod.uid);
            together.iter().all(|other| other.landing.as_ref().is_some_and(leaves_out))
        };
        let waiting = self.members_here(root);
        let is_for_others = !waiting.is_empty() && waiting.iter().all(is_left_out);
        if self.was_bound(root) || waiting.iter().any(came_later) || is_for_others {
            return Vec::new();
        }
        self.short_of_others(root, together)
    }

    /// The members that were bound together and are there, those of the last time.
    fn bound_last(&self, root: &Root) -> Vec<Arc<Pod>> {
        let leaves = self.facts.groups.leaves_of(root);
        let seated = leaves.iter().flat_map(|leaf| self.facts.groups.seated(leaf));
        let bound = seated.filter(|uid| !self.bindings.has(uid)).filter_map(|uid| self.facts.nodes.pod(uid));
        let mut together: Vec<Arc<Pod>> = bound.map(|(_, pod)| pod.clone()).collect();
        let last = together.iter().filter_map(|pod| youngest(pod)).max();
        together.retain(|pod| last.is_some() && youngest(pod) == last);
        together
    }

    /// There is no place for those that were to be bound with others before we began.
    pub(super) fn release_cut_short(&mut self, root: &Root) {
        let short = self.cut_short(root);
        self.let_all_go(short);
    }

    /// Lets members go if others are going that were bound with them.
    pub(super) fn resume_release(&mut self, root: &Root) {
        let together = self.bound_last(root);
        if together.iter().any(|pod| pod.landing.as_ref().is_some_and(|landing| landing.is_over)) {
            let short = self.short_of_others(root, together);
            self.let_all_go(short);
        }
    }

    /// Lets pods go, if that is the policy of their gang.
    fn let_all_go(&mut self, pods: Vec<Arc<Pod>>) {
        for pod in pods {
            if self.is_released_with_others(&pod) && self.let_go(&pod) {
                self.gangs.released.insert(pod.uid.clone());
                self.outbox.announce(Announcement::Released { pod, message: FAILED.to_owned() });
            }
        }
    }

    /// Which pods are on the way with a member, if that is to be noted with its binding. Where too many are left out to be named, nothing is:
    /// a scheduler that begins anew then lets no member go.
    pub(crate) fn bound_together(&self, uid: &PodUid) -> Option<Together> {
        let (flight, binding) = (self.gangs.flights.of(uid)?, self.bindings.get(uid)?);
        let youngest = flight.youngest.filter(|_| self.is_released_with_others(&binding.pod))?;
        let root = self.facts.groups.root_or_self(&self.facts.groups.gang_of(&binding.pod)?);
        let left_out: Arc<[PodUid]> =
            self.members_here(&root).into_iter().map(|pod| pod.uid.clone()).collect();
        (left_out.len() <= LEFT_OUT_MAX).then_some(Together { youngest, left_out })
    }

    /// Whether it is the policy of a pod's gang to let all go of which one cannot be bound.
    fn is_released_with_others(&self, pod: &Pod) -> bool {
        let group = self.facts.groups.gang_of(pod).and_then(|id| self.facts.groups.get(&id));
        let said = group.and_then(|group| group.binding_failure);
        let by_default = self.settings.profile(pod).map(|profile| profile.binding_failure);
        said.or(by_default) == Some(BindingFailure::Release)
    }

    /// Whether members that were let go are still on their nodes.
    pub(super) fn has_released(&self, id: &GroupId) -> bool {
        let is_over = |uid: &PodUid| {
            let landing = self.facts.nodes.pod(uid).and_then(|(_, pod)| pod.landing.as_ref());
            landing.is_some_and(|landing| landing.is_over)
        };
        self.facts.groups.seated(id).any(|uid| self.gangs.released.contains(uid) || is_over(uid))
    }

    /// How many members are bound.
    pub(super) fn bound_members(&self, id: &GroupId) -> usize {
        self.facts.groups.seated(id).filter(|uid| !self.bindings.has(uid)).count()
    }
}

/// When the youngest was made of those that a pod was bound with.
fn youngest(pod: &Pod) -> Option<Timestamp> {
    pod.landing.as_ref().map(|landing| landing.together.youngest)
}
