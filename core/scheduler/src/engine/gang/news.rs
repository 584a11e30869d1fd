//! What is told of gangs: to people, to metrics, and on the group itself.
//!
//! Invariant: that enough members are placed is noted once, and only when they are bound. Facts alone write nothing, as a scheduler that
//! stands by hears them too: it is noted with the next turn.

use std::sync::Arc;

use cluster::groups::{Key, Root};
use decisions::gang::{GangRefusal, Tried};
use decisions::notice::Notice;
use model::group::{Group, GroupId};
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::{Announcement, Engine};
use crate::news::{GangNews, GangOutcome};
use crate::write::{GroupState, WaitReason};

/// How many groups are remembered that are ignored. Of more it may be told again.
const IGNORED_MAX: usize = 4_096;

impl Engine {
    /// Tells that members of a group are on their way.
    pub(super) fn tell_seated(&mut self, group: &Group, pod: &Pod, members: usize) {
        self.gangs.notes.forget_told(&group.id);
        self.tell_of_gang(group, &pod.scheduler, GangOutcome::Seated { members }, true);
    }

    /// Tells why a group has no nodes, and notes it on the group.
    pub(super) fn tell_refused(&mut self, now: Timestamp, group: &Group, pod: &Pod, refusal: &GangRefusal) {
        let message = refusal.to_string();
        let root = self.facts.groups.root_of(&group.id);
        let outcome = match root.is_some_and(|root| self.plans.gangs.contains_key(&root)) {
            true => GangOutcome::MakingRoom { message: message.clone() },
            false => GangOutcome::Refused { message: message.clone() },
        };
        let is_news = self.gangs.notes.is_news(&group.id, refusal.meaning(), now);
        self.tell_of_gang(group, &pod.scheduler, outcome, is_news);
        if self.was_placed(&group.id) {
            return;
        }
        let due = self.gangs.notes.words(&group.id, &message, is_news);
        self.queue.refreshes.note(&Key::Gang(group.id.clone()), due);
        if is_news {
            let reason = WaitReason::Unschedulable;
            self.note_group(group, GroupState::Waiting { reason, message });
        }
    }

    /// A pod is on its node: with it enough members of its group may be.
    pub(crate) fn look_if_gang_placed(&mut self, pod: &Pod) {
        if let Some(id) = self.facts.groups.gang_of(pod) {
            self.look_if_placed(&id);
        }
    }

    /// A pod was bound by us.
    pub(crate) fn look_if_gang_bound(&mut self, pod: &Pod) {
        let id = self.facts.groups.gang_of(pod).filter(|id| self.is_placed(id).is_some());
        self.gangs.untold.extend(id);
    }

    /// Takes note that enough members of a group may be bound by now. Of a replica of our own workloads nothing tells afterwards
    /// whether that was told, so it is when we bind them ourselves.
    pub(crate) fn look_if_placed(&mut self, id: &GroupId) {
        if id.name.replica().is_none() && self.is_placed(id).is_some() {
            self.gangs.untold.insert(id.clone());
        }
    }

    /// Notes on groups that enough of their members are bound.
    pub(crate) fn note_placed(&mut self) {
        for id in std::mem::take(&mut self.gangs.untold) {
            let Some((group, members)) = self.is_placed(&id) else { continue };
            let Some(scheduler) = self.scheduler_of(&id) else { continue };
            self.gangs.placed.insert(id, group.uid.clone());
            self.gangs.tried = Tried::default();
            self.gangs.notes.forget_told(&group.id);
            self.note_group(&group, GroupState::Placed);
            self.tell_of_gang(&group, &scheduler, GangOutcome::Placed { members }, true);
        }
    }

    /// Whether it was told of a group that enough of its members are bound, by us or before.
    pub(super) fn was_placed(&self, id: &GroupId) -> bool {
        let was_told = |group: &Arc<Group>| self.gangs.placed.get(id) == Some(&group.uid);
        self.facts.groups.get(id).is_some_and(|group| group.was_placed || was_told(group))
    }

    /// A group of which enough members are bound and which does not say so yet, and how many are bound.
    fn is_placed(&self, id: &GroupId) -> Option<(Arc<Group>, usize)> {
        let group = self.facts.groups.get(id).filter(|_| !self.was_placed(id))?;
        let on_the_way = match self.gangs.flights.get(&Root::Group(id.clone())) {
            Some(flight) => flight.members.len(),
            None if group.parent.is_none() => 0,
            None => {
                let is_on_its_way = |uid: &&PodUid| self.gangs.flights.of(uid).is_some();
                self.facts.groups.seated(id).filter(is_on_its_way).count()
            }
        };
        let bound = self.facts.groups.seated(id).count().saturating_sub(on_the_way);
        (bound >= group.at_least as usize).then(|| (group.clone(), bound))
    }

    /// Tells once of a group that is ignored as the feature is off.
    pub(crate) fn tell_ignored(&mut self, pod: &Arc<Pod>) {
        let Some(name) = pod.group.as_ref().filter(|_| self.facts.groups.gang_of(pod).is_none()) else {
            return;
        };
        let id = GroupId { namespace: pod.id.namespace.clone(), name: name.clone() };
        if self.gangs.ignored.len() >= IGNORED_MAX {
            self.gangs.ignored.clear();
        }
        if self.gangs.ignored.insert(id) {
            let message = Notice::GroupIgnored { group: name.clone() }.to_string();
            self.outbox.announce(Announcement::GroupIgnored { pod: pod.clone(), message });
        }
    }

    /// The scheduler that the pods of a group ask for, if it is one of us.
    fn scheduler_of(&self, id: &GroupId) -> Option<Arc<str>> {
        let pod = self.facts.groups.seated(id).find_map(|uid| Some(self.facts.nodes.pod(uid)?.1.clone()))?;
        self.settings.profile(&pod).map(|profile| profile.name.clone())
    }

    fn tell_of_gang(&mut self, group: &Group, scheduler: &Arc<str>, outcome: GangOutcome, is_news: bool) {
        let news = GangNews {
            group: group.id.clone(),
            uid: group.uid.clone(),
            scheduler: scheduler.clone(),
            outcome,
            tried: self.gangs.tried,
            is_news,
        };
        self.outbox.announce(Announcement::Gang(Box::new(news)));
    }
}
