//! The turn of a tree: seats for members of enough of its groups, or why there are none.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::groups::{Key, Root};
use decisions::filters::{Filter, FilterSet};
use decisions::gang::{GangRefusal, Party, STEPS_MAX, Seated, Tried};
use model::group::GroupId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::Engine;
use crate::life_cycles::flight::Flight;
use crate::queue::Failure;

impl Engine {
    /// Looks for seats for the members of a tree, and sends those on their way that have one.
    pub(crate) fn turn_tree(&mut self, now: Timestamp, id: &GroupId) {
        self.gangs.tried = Tried::default();
        let (key, root) = (&Key::Tree(id.clone()), Root::Composite(id.clone()));
        let leaves = self.facts.groups.leaves_of(&root);
        let mut waiting = leaves.iter().filter_map(|leaf| self.facts.groups.waiting(leaf)).flatten();
        let is_coming_back = waiting.any(|(uid, _)| self.bindings.has(uid) && self.is_coming_back(uid));
        let pods = self.members_here(&root);
        if pods.is_empty() {
            return self.look_at_tree(now, id);
        }
        self.resume_release(&root);
        if is_coming_back || self.is_landing(&root) {
            return self.queue.put_back(key, Failure::Failed, now);
        }
        if pods.iter().any(|pod| self.facts.wants_devices(pod))
            && let Some(until) = self.bindings.rivals.stands_back(now, key)
        {
            return self.queue.postpone(key, until);
        }
        let mut cycle = self.cycle();
        pods.iter().for_each(|pod| cycle.learn_scopes(pod));
        let tree = cycle.seek_tree(&root, &pods);
        drop(cycle);
        let Some(tree) = tree else { return self.look_at_tree(now, id) };
        pods.iter().for_each(|pod| self.watch_claims(pod));
        self.ask_for_all(&tree.in_the_way);
        let party = Party::Tree(&tree);
        let aside = self.put_nominations_aside(&pods);
        let mut cycle = self.cycle();
        let lifted = cycle.lift_plans_below(party.importance(&pods), None);
        let found = cycle.find_seats_anew(party, &pods, STEPS_MAX);
        let tried = cycle.tried();
        drop(cycle);
        self.gangs.tried = tried;
        match found {
            Ok((_, seated)) if self.negotiates_for_gang(now, key, &seated) => {
                // The room stays theirs until drivers have answered.
                aside.into_iter().for_each(|nomination| self.nominate(nomination));
            }
            Ok((_, seated)) => {
                seated.iter().for_each(|(_, choice)| self.wake_dispossessed(now, &lifted, choice));
                self.use_room(now, &root, aside, &seated);
                self.take_off_tree(now, key, id, seated, &pods);
            }
            Err(miss) => {
                self.give_up_gang(now, key, &pods);
                let filters: FilterSet = [Filter::Resources].into_iter().collect();
                let mut cycle = self.gang_cycle(party.importance(&pods));
                let (alone, wakes_on) = (cycle.why_alone(&pods), cycle.helps_tree(&tree, &pods, &miss));
                let closed = if alone.is_none() { cycle.closed_nodes(&pods) } else { Default::default() };
                drop(cycle);
                let refusal = GangRefusal::new(miss, wakes_on, filters).with_alone(alone).with_closed(closed);
                self.make_way(now, (key, party), &pods, aside, refusal);
                if !self.plans.gangs.contains_key(&root) {
                    self.release_cut_short(&root);
                }
            }
        }
    }

    /// Sends members of all groups on their way together.
    fn take_off_tree(&mut self, now: Timestamp, key: &Key, root: &GroupId, seats: Seated, pods: &[Arc<Pod>]) {
        let members = seats.iter().map(|(pod, _)| pod.uid.clone()).collect();
        let youngest = seats.iter().filter_map(|(pod, _)| pod.created).max();
        let (attempts, since) = (self.queue.attempts(key), self.queue.began(key));
        let flight = Flight::new(members, seats.len(), youngest).after(attempts, since);
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
        let is_left = |pod: &&Arc<Pod>| !self.bindings.has(&pod.uid);
        let left: Vec<Arc<Pod>> = pods.iter().filter(is_left).cloned().collect();
        let group = left.first().and_then(|pod| self.facts.groups.gang_of(pod));
        if let Some(group) = group.and_then(|id| self.facts.groups.get(&id).cloned()) {
            return self.leave_rest(now, key, &group, &left);
        }
        self.queue.remove(key);
    }
}
