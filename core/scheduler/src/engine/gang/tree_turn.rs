//! The turn of a tree: seats for members of enough of its groups, or why there are none.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::groups::{Key, Root};
use decisions::considering::{GangVerdict, SchedulingQuestion, SeatsVerdict};
use decisions::gang::{Seated, Tried};
use decisions::preempt::Nomination;
use model::group::GroupId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::Engine;
use crate::life_cycles::flight::Flight;
use crate::queue::Failure;

impl Engine {
    /// Where the members of a tree go, if they wait for that now.
    pub(in crate::engine) fn question_about_tree(
        &mut self,
        now: Timestamp,
        key: &Key,
        id: &GroupId,
    ) -> Option<SchedulingQuestion> {
        self.gangs.tried = Tried::default();
        let root = Root::Composite(id.clone());
        let leaves = self.facts.groups.leaves_of(&root);
        let mut waiting = leaves.iter().filter_map(|leaf| self.facts.groups.waiting(leaf)).flatten();
        let is_coming_back = waiting.any(|(uid, _)| self.bindings.has(uid) && self.is_coming_back(uid));
        let members = self.members_here(&root);
        if members.is_empty() {
            self.look_at_tree(now, id);
            return None;
        }
        self.resume_release(&root);
        if is_coming_back || self.is_landing(&root) {
            self.queue.put_back(key, Failure::Failed, now);
            return None;
        }
        if self.hold_back_without_claims(now, key, &members) {
            return None;
        }
        let members = self.without_unanswered(key, &root, members);
        if members.iter().any(|pod| self.facts.wants_devices(pod))
            && let Some(until) = self.bindings.rivals.stands_back(now, key)
        {
            self.queue.postpone(key, until);
            return None;
        }
        members.iter().for_each(|pod| self.watch_claims(pod));
        Some(SchedulingQuestion::Tree { root, members })
    }

    /// Sends the members of a tree on their way that have seats, or says why they have none.
    pub(in crate::engine) fn act_on_tree(
        &mut self,
        now: Timestamp,
        (key, root): (&Key, &Root),
        members: &[Arc<Pod>],
        verdict: GangVerdict,
        aside: Vec<Nomination>,
    ) {
        self.gangs.tried = verdict.tried;
        match verdict.seats {
            SeatsVerdict::Replicas(_) | SeatsVerdict::Unfit(_) => unreachable!("a tree is no gang"),
            SeatsVerdict::NoTree => {
                aside.into_iter().for_each(|nomination| self.nominate(nomination));
                self.look_at_tree(now, root.id());
            }
            SeatsVerdict::Seats { in_the_way, seated, lifted } => {
                self.ask_for_all(&in_the_way);
                let Some((seated, aside)) = self.those_that_set_off(now, (key, root), seated, aside) else {
                    return;
                };
                seated.iter().for_each(|(_, choice)| self.wake_dispossessed(now, &lifted, choice));
                self.use_room(now, root, aside, &seated);
                self.take_off_tree(now, key, root.id(), seated, members);
            }
            SeatsVerdict::NoSeats(none) => {
                if self.seek_way(now, (key, root), members, aside, *none).is_none() {
                    self.release_cut_short(root);
                }
            }
        }
    }

    /// Sends members of all groups on their way together.
    fn take_off_tree(&mut self, now: Timestamp, key: &Key, root: &GroupId, seats: Seated, pods: &[Arc<Pod>]) {
        let members = seats.iter().map(|(pod, _)| pod.uid.clone()).collect();
        let youngest = seats.iter().filter_map(|(pod, _)| pod.created).max();
        let flight = Flight::new(members, seats.len(), youngest).after(self.queue.tries(key));
        self.gangs.flights.begin(&Root::Composite(root.clone()), flight);
        let mut by_group: BTreeMap<GroupId, Seated> = BTreeMap::new();
        for (pod, choice) in seats {
            if let Some(id) = self.facts.groups.gang_of(&pod) {
                by_group.entry(id).or_default().push((pod, choice));
            }
        }
        for (id, seated) in by_group {
            if let Some(group) = self.facts.groups.get(&id).cloned() {
                self.tell_seated(&group, &seated[0].0.clone(), seated.len());
            }
            for (pod, choice) in seated {
                self.place(now, &pod, choice);
            }
        }
        self.check_flight(&Root::Composite(root.clone()));
        let is_left = |pod: &&Arc<Pod>| !self.bindings.has(&pod.uid);
        let left: Vec<Arc<Pod>> = pods.iter().filter(is_left).cloned().collect();
        let group = left.first().and_then(|pod| self.facts.groups.gang_of(pod));
        if let Some(group) = group.and_then(|id| self.facts.groups.get(&id).cloned()) {
            return self.leave_rest(now, key, &group, &left);
        }
        self.queue.remove(key);
    }
}
