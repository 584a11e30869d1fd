//! Who belongs to a gang, and when it may be placed.

use std::sync::Arc;

use gates::Gate;
use model::group::GroupId;
use model::pod::Pod;
use model::timestamp::Timestamp;
use model::workload::is_replica;

use super::key_of;
use crate::change::GroupChange;
use crate::engine::Engine;
use crate::queue::Failure;
use crate::wake::{Wake, Wakes};

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
        self.gang_of(pod).map_or_else(|| pod.uid.clone(), |id| key_of(&id))
    }

    /// Adds a pod that waits, or takes note that it is held back or not.
    pub(crate) fn enqueue(&mut self, now: Timestamp, pod: &Pod, gated: bool) {
        let Some(id) = self.gang_of(pod) else {
            return self.queue.apply(&pod.uid, pod.priority, gated, now);
        };
        let members = self.gangs.waiting.entry(id.clone()).or_default();
        let is_new = members.insert(pod.uid.clone(), gated) != Some(gated);
        self.look_at_gang(now, &id);
        if is_new {
            // With one more to choose from, enough of them may fit.
            self.queue.wake_one(&key_of(&id), Wakes::of(&Wake::ALL), now);
        }
    }

    /// Takes in what happened to a group. While there is none of a name, its members wait.
    pub(crate) fn fold_group(&mut self, now: Timestamp, change: GroupChange) -> Wakes {
        let id = match change {
            GroupChange::Applied(group) => {
                let id = group.id.clone();
                self.gangs.groups.insert(id.clone(), Arc::from(group));
                id
            }
            GroupChange::Gone(id) => {
                self.gangs.groups.remove(&id);
                id
            }
            GroupChange::WorkloadApplied(workload) => return self.apply_workload(now, &workload),
            GroupChange::WorkloadGone(id) => return self.remove_workload(now, &id),
            GroupChange::TopologyApplied(topology) => return self.apply_topology(*topology),
            GroupChange::TopologyGone(name) => return self.remove_topology(&name),
        };
        self.look_at_gang(now, &id);
        self.queue.wake_one(&key_of(&id), Wake::Group.into(), now);
        Wakes::NONE
    }

    /// Queues a gang with members that want a node, held back until it may be placed; forgets one without.
    pub(super) fn look_at_gang(&mut self, now: Timestamp, id: &GroupId) {
        let key = key_of(id);
        let Some(members) = self.gangs.waiting.get(id) else {
            self.queue.remove(&key);
            return;
        };
        let mut here = members.iter().filter(|(uid, _)| !self.placing.contains_key(*uid)).peekable();
        if here.peek().is_none() {
            self.queue.remove(&key);
            return;
        }
        // One member that is held back holds all of them back, as with Kubernetes.
        let is_gated = here.any(|(_, gated)| *gated);
        let group = self.gangs.groups.get(id);
        let is_whole = group.is_some_and(|group| self.gangs.members(id) >= group.at_least as usize);
        let priority = match group {
            // A workload of our own has no priority but that of its pods.
            Some(group) if is_replica(&group.id.name) => {
                let pods = members.keys().filter_map(|uid| self.waiting.get(uid));
                pods.map(|pod| pod.priority).max().unwrap_or(0)
            }
            group => group.map_or(0, |group| group.priority),
        };
        self.queue.apply(&key, priority, is_gated || !is_whole, now);
    }

    /// A pod that waits is gone, or has its node.
    pub(crate) fn leave_gang(&mut self, pod: &Pod) {
        let Some(id) = self.gang_of(pod) else { return };
        if let Some(members) = self.gangs.waiting.get_mut(&id) {
            members.remove(&pod.uid);
            if members.is_empty() {
                self.gangs.waiting.remove(&id);
                self.gangs.plans.remove(&id);
            }
        }
        // Those who are left may be too few.
        self.look_at_gang(self.now, &id);
    }

    /// A member that was on its way is back: the gang tries again after a while.
    pub(crate) fn rejoin_gang(&mut self, now: Timestamp, pod: &Pod) {
        let Some(id) = self.gang_of(pod) else { return };
        let key = key_of(&id);
        let is_queued = self.queue.contains(&key);
        self.look_at_gang(now, &id);
        if !is_queued {
            self.queue.put_back(&key, Failure::Failed, now);
        }
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
