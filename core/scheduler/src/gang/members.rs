//! Who belongs to a gang, and when it may be placed.

use std::collections::BTreeSet;
use std::sync::Arc;

use gates::Gate;
use model::claim::ClaimId;
use model::group::GroupId;
use model::pod::Pod;
use model::timestamp::Timestamp;
use model::workload::is_replica;

use super::{Root, key_of};
use crate::engine::Engine;
use crate::engine::fold::named_claims;
use crate::wake::{Wake, Wakes};
use cluster::change::GroupChange;

impl Engine {
    /// The gang that a pod belongs to.
    pub(crate) fn gang_of(&self, pod: &Pod) -> Option<GroupId> {
        // Groups of our own workloads are joined by labels of ours, which stand behind no gate of Kubernetes.
        let counts =
            |name: &&Arc<str>| is_replica(name) || self.settings.gates.enabled(Gate::GenericWorkload);
        let name = pod.group.as_ref().filter(counts)?;
        Some(GroupId { namespace: pod.id.namespace.clone(), name: name.clone() })
    }

    /// Under which key a pod waits: its own, or that of its gang.
    pub(crate) fn queue_key(&self, pod: &Pod) -> Arc<str> {
        self.gang_of(pod).map_or_else(|| pod.uid.clone(), |id| self.key_for(&id))
    }

    /// Under which key the members of a group wait. Those of a tree of which a part is not known wait as the group.
    fn key_for(&self, id: &GroupId) -> Arc<str> {
        key_of(&self.root_of(id).unwrap_or_else(|| Root::Group(id.clone())))
    }

    /// Adds a pod that waits, or takes note that it is held back or not.
    pub(crate) fn enqueue(&mut self, now: Timestamp, pod: &Pod, gated: bool) {
        let Some(id) = self.gang_of(pod) else {
            if gated {
                self.suspect(pod);
                self.gated.add(&pod.uid, now);
            } else {
                self.gated.remove(&pod.uid);
            }
            return self.queue.apply(&pod.uid, pod.priority, gated, now);
        };
        let members = self.gangs.waiting.entry(id.clone()).or_default();
        let is_new = members.insert(pod.uid.clone(), gated) != Some(gated);
        self.look_at_gang(now, &id);
        if is_new {
            // With one more to choose from, enough of them may fit.
            self.queue.wake_one(&self.key_for(&id), Wakes::of(&Wake::ALL), now);
        }
    }

    /// Takes in what happened to a group. While there is none of a name, its members wait.
    pub(crate) fn fold_group(&mut self, now: Timestamp, change: GroupChange) -> Wakes {
        let id = match change {
            GroupChange::Applied(group) => {
                let id = group.id.clone();
                self.forget_group(&id);
                self.adopt(group.parent.as_ref(), &Root::Group(id.clone()));
                self.gangs.by_uid.insert(group.uid.clone(), id.clone());
                self.gangs.groups.insert(id.clone(), Arc::from(group));
                id
            }
            GroupChange::Gone(id) => {
                self.forget_group(&id);
                self.gangs.placed.remove(&id);
                self.gangs.notes.forget(&id);
                id
            }
            GroupChange::CompositeApplied(composite) => {
                let id = composite.id.clone();
                self.forget_composite(&id);
                self.adopt(composite.parent.as_ref(), &Root::Composite(id.clone()));
                self.gangs.composites.insert(id.clone(), Arc::from(composite));
                return self.look_at_leaves(now, &id);
            }
            GroupChange::CompositeGone(id) => {
                self.free_room_of(&Root::Composite(id.clone()));
                self.forget_composite(&id);
                return self.look_at_leaves(now, &id);
            }
            GroupChange::WorkloadApplied(workload) => return self.apply_workload(now, &workload),
            GroupChange::WorkloadGone(id) => return self.remove_workload(now, &id),
            GroupChange::TopologyApplied(topology) => return self.apply_topology(now, *topology),
            GroupChange::TopologyGone(name) => return self.remove_topology(now, &name),
        };
        self.look_at_gang(now, &id);
        self.look_if_placed(&id);
        self.queue.wake_one(&self.key_for(&id), Wake::Group.into(), now);
        Wakes::NONE
    }

    fn forget_group(&mut self, id: &GroupId) {
        if let Some(group) = self.gangs.groups.remove(id) {
            self.gangs.by_uid.remove(&group.uid);
            self.disown(id, group.parent.as_ref(), &Root::Group(id.clone()));
        }
    }

    fn forget_composite(&mut self, id: &GroupId) {
        if let Some(composite) = self.gangs.composites.remove(id) {
            let key = key_of(&Root::Composite(id.clone()));
            self.gated.remove(&key);
            self.queue.remove(&key);
            self.disown(id, composite.parent.as_ref(), &Root::Composite(id.clone()));
        }
    }

    /// Takes note of what is in a group of groups.
    fn adopt(&mut self, parent: Option<&Arc<str>>, child: &Root) {
        let id = child.id();
        let Some(name) = parent else { return };
        let parent = GroupId { namespace: id.namespace.clone(), name: name.clone() };
        self.gangs.children.entry(parent).or_default().insert(child.clone());
    }

    fn disown(&mut self, id: &GroupId, parent: Option<&Arc<str>>, child: &Root) {
        let Some(name) = parent else { return };
        let parent = GroupId { namespace: id.namespace.clone(), name: name.clone() };
        if let Some(children) = self.gangs.children.get_mut(&parent) {
            children.remove(child);
            if children.is_empty() {
                self.gangs.children.remove(&parent);
            }
        }
    }

    /// Looks again at what waits below a group of groups.
    fn look_at_leaves(&mut self, now: Timestamp, id: &GroupId) -> Wakes {
        for leaf in self.leaves_of(&Root::Composite(id.clone())) {
            self.look_at_gang(now, &leaf);
            self.queue.wake_one(&self.key_for(&leaf), Wake::Group.into(), now);
        }
        Wakes::NONE
    }

    /// Queues a gang with members that want a node, held back until it may be placed; forgets one without.
    pub(super) fn look_at_gang(&mut self, now: Timestamp, id: &GroupId) {
        let root = self.root_of(id);
        let key = key_of(&Root::Group(id.clone()));
        if let Some(Root::Composite(root)) = &root {
            self.gated.remove(&key);
            self.queue.remove(&key);
            return self.look_at_tree(now, root);
        }
        let Some(members) = self.gangs.waiting.get(id) else {
            self.gated.remove(&key);
            self.queue.remove(&key);
            return;
        };
        let mut here = members.iter().filter(|(uid, _)| !self.placing.contains_key(*uid)).peekable();
        if here.peek().is_none() {
            self.gated.remove(&key);
            self.queue.remove(&key);
            return;
        }
        // One member that is held back holds all of them back, as with Kubernetes.
        let is_gated = here.any(|(_, gated)| *gated);
        // A part of a tree waits until all above it is known.
        let group = self.gangs.groups.get(id).filter(|_| root.is_some());
        let is_whole = group.is_some_and(|group| self.gangs.members(id) >= group.at_least as usize);
        let priority = match group {
            // A workload of our own has no priority but that of its pods.
            Some(group) if is_replica(&group.id.name) => {
                let pods = members.keys().filter_map(|uid| self.waiting.get(uid));
                pods.map(|pod| pod.priority).max().unwrap_or(0)
            }
            group => group.map_or(0, |group| group.priority),
        };
        let is_held_back = is_gated || !is_whole;
        self.queue.apply(&key, priority, is_held_back, now);
        if is_held_back {
            self.gated.add(&key, now);
            let members: Vec<Arc<str>> = members.keys().cloned().collect();
            self.suspect_all(&members);
            self.close_seats(now, id, "another member of the pod group is held back");
        } else {
            self.gated.remove(&key);
        }
        if !is_whole {
            self.free_room_of(&Root::Group(id.clone()));
        }
    }

    /// A pod that waits is gone, or has its node.
    pub(crate) fn leave_gang(&mut self, pod: &Pod) {
        let Some(id) = self.gang_of(pod) else { return };
        let key = self.key_for(&id);
        self.gated.forget(&key, &pod.uid);
        if let Some(members) = self.gangs.waiting.get_mut(&id) {
            members.remove(&pod.uid);
            if members.is_empty() {
                self.gangs.waiting.remove(&id);
                self.forget_plan(&id);
            }
        }
        // Those who are left may be too few.
        self.look_at_gang(self.now, &id);
        self.close_seat(self.now, &id, &pod.uid);
    }

    /// Nobody of a group waits any more: if that is so for all of its tree, nothing is being made free for it.
    fn forget_plan(&mut self, id: &GroupId) {
        let root = self.root_of(id).unwrap_or_else(|| Root::Group(id.clone()));
        if self.leaves_of(&root).iter().all(|leaf| !self.gangs.waiting.contains_key(leaf)) {
            self.gangs.plans.remove(&root);
        }
    }

    /// No room is kept for a gang or for a tree, as it cannot be placed the way it is.
    pub(super) fn free_room_of(&mut self, root: &Root) {
        let is_anybody_nominated = !self.preempting.nominations.is_empty();
        let members = if is_anybody_nominated { self.members_here(root) } else { Vec::new() };
        let aside = self.put_nominations_aside(&members);
        self.give_up_room(self.now, root, aside);
    }

    /// A claim is gone: no room is kept for pods that name it, nor for gangs and trees with such members. Without it they are
    /// held back, and nobody would look at them when the room is free.
    pub(crate) fn free_room_of_users(&mut self, now: Timestamp, claim: &ClaimId) {
        let names_it = |pod: &Arc<Pod>| named_claims(pod).any(|id| id == *claim);
        let (members, alone): (Vec<Arc<Pod>>, Vec<Arc<Pod>>) =
            self.preempting.nominations.pods().cloned().partition(|pod| self.gang_of(pod).is_some());
        for pod in alone.iter().filter(|pod| names_it(pod)) {
            let freed = self.withdraw(pod);
            self.wake_others(freed, now);
        }
        let gangs = members.iter().filter_map(|pod| self.gang_of(pod));
        let roots: BTreeSet<Root> = gangs.map(|id| self.root_of(&id).unwrap_or(Root::Group(id))).collect();
        for root in roots {
            if self.members_here(&root).iter().any(names_it) {
                self.free_room_of(&root);
            }
        }
    }

    /// A member that was on its way is back: the gang tries again after a while.
    pub(crate) fn rejoin_gang(&mut self, now: Timestamp, pod: &Pod) {
        let Some(id) = self.gang_of(pod) else { return };
        self.look_at_gang(now, &id);
        self.queue.rest(&self.key_for(&id), now);
    }

    /// A pod was found on a node: with it, those of its gang that wait may be enough.
    pub(crate) fn join_gang(&mut self, now: Timestamp, pod: &Pod) {
        if let Some(id) = self.gang_of(pod) {
            self.look_at_gang(now, &id);
        }
    }

    /// A pod is on a node, or on its way to one.
    pub(crate) fn note_seat(&mut self, pod: &Pod) {
        if let Some(id) = self.gang_of(pod) {
            self.gangs.seated.entry(id.clone()).or_default().insert(pod.uid.clone());
            self.gangs.group_of.insert(pod.uid.clone(), id);
        }
    }

    /// A pod was heard of that has a node: those of its gang who wait may be enough with it.
    pub(crate) fn found_seat(&mut self, now: Timestamp, pod: &Pod) {
        if let Some(id) = self.gang_of(pod) {
            self.look_at_gang(now, &id);
        }
    }

    /// A pod is gone: if it had a node, those who are on their way may be too few without it.
    pub(crate) fn lose_seat(&mut self, now: Timestamp, uid: &Arc<str>) -> bool {
        let gang = self.gangs.group_of.get(uid).cloned();
        let had_node = self.take_pod(uid);
        self.gangs.released.remove(uid);
        if let Some(id) = gang {
            let root = self.root_of(&id).unwrap_or(Root::Group(id.clone()));
            if !self.has_enough(&root) {
                self.free_room_of(&root);
            }
            self.recount_flight(now, &id, "another member of the pod group has gone");
        }
        had_node
    }

    /// A pod is on no node.
    pub(crate) fn forget_seat(&mut self, uid: &str) {
        let Some(id) = self.gangs.group_of.remove(uid) else { return };
        if let Some(members) = self.gangs.seated.get_mut(&id) {
            members.remove(uid);
            if members.is_empty() {
                self.gangs.seated.remove(&id);
            }
        }
    }
}
