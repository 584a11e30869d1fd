//! Which pods belong to a gang, and when it may be placed.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::change::GroupChange;
use cluster::groups::{Key, Root};
use decisions::not_bound::GangFell;
use decisions::wake::{Wake, Wakes};
use model::claim::ClaimId;
use model::group::GroupId;
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::Engine;

impl Engine {
    /// Adds a pod that waits, or takes note that it is held back or not.
    pub(crate) fn enqueue(&mut self, now: Timestamp, pod: &Pod, gated: bool) {
        let Some(id) = self.facts.groups.gang_of(pod) else {
            if gated {
                self.suspect(pod);
                self.gangs.gated.add(&Key::from(pod), now);
            } else {
                self.gangs.gated.remove(&Key::from(pod));
            }
            return self.queue.apply(&Key::from(pod), pod.priority, gated, now);
        };
        let is_new = self.facts.groups.wait(&id, &pod.uid, gated);
        self.look_at_gang(now, &id);
        if is_new {
            // With one more to choose from, enough of them may fit.
            self.queue.wake_one(&self.facts.groups.key_for(&id), Wakes::of(&Wake::ALL), now);
        }
    }

    /// Holds back a gang or a tree that was taken from the queue, if a claim that a member names went since; says whether it did. The
    /// room for it was freed when the claim went.
    pub(super) fn hold_back_without_claims(
        &mut self,
        now: Timestamp,
        key: &Key,
        members: &[Arc<Pod>],
    ) -> bool {
        let mut is_held_back = false;
        for pod in members {
            let Some(profile) = self.settings.profile(pod).cloned() else { continue };
            if self.is_gated(pod, &profile) {
                self.enqueue(now, pod, true);
                is_held_back = true;
            }
        }
        if is_held_back {
            self.queue.hold_back(key);
        }
        is_held_back
    }

    /// Takes in what happened to a group. While there is none of a name, its members wait.
    pub(crate) fn fold_group(&mut self, now: Timestamp, change: GroupChange) -> Wakes {
        let (group, is_loss) = match &change {
            GroupChange::Applied(group) => (Some(group.id.clone()), false),
            GroupChange::Gone(id) => (Some(id.clone()), true),
            GroupChange::CompositeApplied(composite) => (self.first_leaf(&composite.id), false),
            GroupChange::CompositeGone(id) => (self.first_leaf(id), true),
            _ => (None, false),
        };
        let Some(group) = group else { return self.take_in_group(now, change) };
        let before = self.facts.groups.root_or_self(&group);
        let wakes = self.take_in_group(now, change);
        // Those on their way as parts of what it was may be too few now, or enough.
        self.resize_flight(now, &before);
        let after = self.facts.groups.root_or_self(&group);
        if after != before {
            self.resize_flight(now, &after);
        }
        // A tree without one of its groups may have too few of them, or no pod that waits.
        if let (true, Root::Composite(root)) = (is_loss, before)
            && self.facts.groups.composite(&root).is_some()
        {
            self.look_at_tree(now, &root);
        }
        wakes
    }

    /// One of the groups below a group of groups.
    fn first_leaf(&self, id: &GroupId) -> Option<GroupId> {
        self.facts.groups.leaves_of(&Root::Composite(id.clone())).first().cloned()
    }

    fn take_in_group(&mut self, now: Timestamp, change: GroupChange) -> Wakes {
        let id = match change {
            GroupChange::Applied(group) => {
                let id = group.id.clone();
                self.facts.groups.apply(*group);
                id
            }
            GroupChange::Gone(id) => {
                self.facts.groups.remove(&id);
                self.gangs.placed.remove(&id);
                self.gangs.notes.forget(&id);
                id
            }
            GroupChange::CompositeApplied(composite) => {
                let id = composite.id.clone();
                self.forget_composite(&id);
                self.facts.groups.apply_composite(*composite);
                return self.look_at_leaves(now, &id);
            }
            GroupChange::CompositeGone(id) => {
                self.free_room_of(&Root::Composite(id.clone()));
                self.forget_composite(&id);
                return self.look_at_leaves(now, &id);
            }
            GroupChange::WorkloadApplied(workload) => return self.apply_workload(now, &workload),
            GroupChange::WorkloadGone(id) => return self.remove_workload(now, &id),
            GroupChange::TopologyApplied(topology) => {
                let levels = self.facts.groups.apply_topology(*topology);
                return self.wake_for_levels(now, &levels);
            }
            GroupChange::TopologyGone(name) => {
                let levels = self.facts.groups.remove_topology(&name);
                return self.wake_for_levels(now, &levels);
            }
        };
        self.look_at_gang(now, &id);
        self.look_if_placed(&id);
        self.queue.wake_one(&self.facts.groups.key_for(&id), Wake::Group.into(), now);
        Wakes::NONE
    }

    fn forget_composite(&mut self, id: &GroupId) {
        if self.facts.groups.remove_composite(id) {
            let key = Key::Tree(id.clone());
            self.gangs.gated.remove(&key);
            self.queue.remove(&key);
        }
    }

    /// Looks again at what waits below a group of groups.
    fn look_at_leaves(&mut self, now: Timestamp, id: &GroupId) -> Wakes {
        for leaf in self.facts.groups.leaves_of(&Root::Composite(id.clone())) {
            self.look_at_gang(now, &leaf);
            self.queue.wake_one(&self.facts.groups.key_for(&leaf), Wake::Group.into(), now);
        }
        Wakes::NONE
    }

    /// Queues a gang with members that want a node, held back until it may be placed; forgets one without.
    pub(super) fn look_at_gang(&mut self, now: Timestamp, id: &GroupId) {
        let root = self.facts.groups.root_of(id);
        let key = Key::Gang(id.clone());
        if let Some(Root::Composite(root)) = &root {
            self.gangs.gated.remove(&key);
            self.queue.remove(&key);
            return self.look_at_tree(now, root);
        }
        let Some(members) = self.facts.groups.waiting(id) else {
            self.gangs.gated.remove(&key);
            self.queue.remove(&key);
            return;
        };
        let mut here = members.iter().filter(|(uid, _)| !self.bindings.has(uid)).peekable();
        if here.peek().is_none() {
            self.gangs.gated.remove(&key);
            self.queue.remove(&key);
            return;
        }
        // One member that is held back holds all of them back, as with Kubernetes.
        let is_gated = here.any(|(_, gated)| *gated);
        // A part of a tree waits until all above it is known.
        let group = self.facts.groups.get(id).filter(|_| root.is_some());
        let is_whole = group.is_some_and(|group| self.facts.groups.members(id) >= group.at_least as usize);
        let priority = match group {
            // A workload of our own has no priority but that of its pods.
            Some(group) if group.id.name.replica().is_some() => {
                let pods = members.keys().filter_map(|uid| self.facts.waiting.get(uid));
                pods.map(|pod| pod.priority).max().unwrap_or(0)
            }
            group => group.map_or(0, |group| group.priority),
        };
        let is_held_back = is_gated || !is_whole;
        self.queue.apply(&key, priority, is_held_back, now);
        if is_held_back {
            self.gangs.gated.add(&key, now);
            self.suspect_members([id]);
            self.close_seats(now, id, GangFell::MemberHeldBack);
        } else {
            self.gangs.gated.remove(&key);
        }
        if !is_whole {
            self.doubt_room_of(Root::Group(id.clone()));
        }
    }

    /// A gang or a tree seems too small for the room that is kept for it.
    pub(super) fn doubt_room_of(&mut self, root: Root) {
        if !self.plans.nominations.is_empty() || self.plans.gangs.contains_key(&root) {
            self.gangs.shrunk.insert(root);
        }
    }

    /// No room is kept for gangs and trees that are too small to use it.
    pub(crate) fn free_room_of_shrunk(&mut self) {
        for root in std::mem::take(&mut self.gangs.shrunk) {
            if !self.facts.groups.has_enough(&root) {
                self.free_room_of(&root);
            }
        }
    }

    /// Whether some gang or tree may have to let go of its room.
    pub(crate) fn doubts_room(&self) -> bool {
        !self.gangs.shrunk.is_empty()
    }

    /// A pod that waits is gone, or has its node.
    pub(crate) fn leave_gang(&mut self, pod: &Pod) {
        let Some(id) = self.facts.groups.gang_of(pod) else { return };
        let key = self.facts.groups.key_for(&id);
        self.gangs.gated.forget(&key, &pod.uid);
        if self.facts.groups.wait_no_more(&id, &pod.uid) {
            self.forget_plan(&id);
        }
        // The members that are left may be too few.
        self.look_again(self.now, &id);
        self.close_seat(self.now, &id, &pod.uid);
    }

    /// Looks again at a gang that gained no pod that wants a node. Of a tree none wants one if it is not queued, and to see that anew for
    /// each of its members takes long.
    fn look_again(&mut self, now: Timestamp, id: &GroupId) {
        let key = self.facts.groups.key_for(id);
        if !matches!(key, Key::Tree(_)) || self.queue.contains(&key) {
            self.look_at_gang(now, id);
        }
    }

    /// No pod of a group waits any more: if that is so for all of its tree, nothing is being made free for it.
    fn forget_plan(&mut self, id: &GroupId) {
        let root = self.facts.groups.root_or_self(id);
        if !self.plans.gangs.contains_key(&root) {
            return;
        }
        if self.facts.groups.leaves_of(&root).iter().all(|leaf| self.facts.groups.waiting(leaf).is_none()) {
            self.plans.gangs.remove(&root);
        }
    }

    /// No room is kept for a gang or for a tree, as it cannot be placed the way it is.
    pub(super) fn free_room_of(&mut self, root: &Root) {
        let is_anybody_nominated = !self.plans.nominations.is_empty();
        let members = if is_anybody_nominated { self.members_here(root) } else { Vec::new() };
        let aside = self.put_nominations_aside(&members);
        self.give_up_room(self.now, root, aside);
    }

    /// A claim is gone: no room is kept for pods that name it, nor for gangs and trees with such members. Without it they are
    /// held back, and they would not be looked at when the room is free.
    pub(crate) fn free_room_of_users(&mut self, now: Timestamp, claim: &ClaimId) {
        let names_it = |pod: &Arc<Pod>| pod.claim_ids().any(|id| id == *claim);
        let (members, alone): (Vec<Arc<Pod>>, Vec<Arc<Pod>>) =
            self.plans.nominations.pods().cloned().partition(|pod| self.facts.groups.gang_of(pod).is_some());
        for pod in alone.iter().filter(|pod| names_it(pod)) {
            let freed = self.withdraw(pod);
            self.wake_others(freed, now);
        }
        let gangs = members.iter().filter_map(|pod| self.facts.groups.gang_of(pod));
        let roots: BTreeSet<Root> = gangs.map(|id| self.facts.groups.root_or_self(&id)).collect();
        for root in roots {
            if self.members_here(&root).iter().any(names_it) {
                self.free_room_of(&root);
            }
        }
    }

    /// A member that was on its way is back: the gang tries again after a while.
    pub(crate) fn rejoin_gang(&mut self, now: Timestamp, pod: &Pod) {
        let Some(id) = self.facts.groups.gang_of(pod) else { return };
        self.look_at_gang(now, &id);
        self.queue.rest(&self.facts.groups.key_for(&id), now);
    }

    /// A pod was found on a node: with it, those of its gang that wait may be enough.
    pub(crate) fn join_gang(&mut self, now: Timestamp, pod: &Pod) {
        if let Some(id) = self.facts.groups.gang_of(pod) {
            self.look_again(now, &id);
        }
    }

    /// A pod is gone: if it had a node, those that are on their way may be too few without it.
    pub(crate) fn lose_seat(&mut self, now: Timestamp, uid: &PodUid) -> bool {
        let gang = self.facts.groups.of_seated(uid).cloned();
        let had_node = self.facts.take_pod(uid);
        self.gangs.released.remove(uid);
        if let Some(id) = gang {
            let root = self.facts.groups.root_or_self(&id);
            if !self.facts.groups.has_enough(&root) {
                self.free_room_of(&root);
            }
            let root = self.facts.groups.root_or_self(&id);
            self.recount_flight(now, &root, GangFell::MemberGone);
        }
        had_node
    }
}
