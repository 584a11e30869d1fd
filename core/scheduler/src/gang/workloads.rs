//! Our own workloads and topologies, taken in.
//!
//! Invariant: there is a group for each replica of each group of a workload that is there, and for no other.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::topologies::NodeTopology;
use model::group::GroupId;
use model::timestamp::Timestamp;
use model::workload::{Terms, Workload, WorkloadId};

use super::{Root, key_of};
use crate::engine::Engine;
use crate::wake::{Wake, Wakes};

impl Engine {
    /// Takes in a workload: groups that it has no more are forgotten, and the pods of those that it has are looked at.
    pub(super) fn apply_workload(&mut self, now: Timestamp, workload: &Workload) -> Wakes {
        let mut ids = Vec::new();
        for (group, terms) in workload.replicas() {
            let id = group.id.clone();
            self.gangs.groups.insert(id.clone(), Arc::new(group));
            self.gangs.terms.insert(id.clone(), terms.clone());
            ids.push(id);
        }
        let before = self.gangs.workloads.insert(workload.id.clone(), ids.clone());
        let went = before.unwrap_or_default().into_iter().filter(|id| !ids.contains(id)).collect();
        self.forget_groups(now, went);
        for id in ids {
            self.look_at_gang(now, &id);
            self.queue.wake_one(&key_of(&Root::Group(id)), Wake::Group.into(), now);
        }
        Wakes::NONE
    }

    /// Forgets a workload. While there is none of its name, its pods wait.
    pub(super) fn remove_workload(&mut self, now: Timestamp, id: &WorkloadId) -> Wakes {
        let went = self.gangs.workloads.remove(id).unwrap_or_default();
        self.forget_groups(now, went);
        Wakes::NONE
    }

    fn forget_groups(&mut self, now: Timestamp, went: Vec<GroupId>) {
        for id in went {
            self.gangs.groups.remove(&id);
            self.gangs.terms.remove(&id);
            self.gangs.placed.remove(&id);
            self.look_at_gang(now, &id);
        }
    }

    /// Takes in how nodes are grouped. Gangs that look for one of its levels may find a domain by it.
    pub(super) fn apply_topology(&mut self, now: Timestamp, topology: NodeTopology) -> Wakes {
        if self.gangs.topologies.get(&topology.name) == Some(&topology) {
            // Its status changed, which the engine does not look at.
            return Wakes::NONE;
        }
        let before = self.gangs.topologies.insert(topology.name.clone(), topology.clone());
        self.wake_for_levels(now, before.into_iter().chain([topology]))
    }

    /// Forgets how nodes are grouped.
    pub(super) fn remove_topology(&mut self, now: Timestamp, name: &str) -> Wakes {
        let before = self.gangs.topologies.remove(name);
        self.wake_for_levels(now, before)
    }

    /// Wakes gangs that look for a level of these topologies.
    fn wake_for_levels(
        &mut self,
        now: Timestamp,
        topologies: impl IntoIterator<Item = NodeTopology>,
    ) -> Wakes {
        let levels = topologies.into_iter().flat_map(|topology| topology.levels);
        let levels: BTreeSet<Arc<str>> = levels.map(|level| level.name).collect();
        let looks = |terms: &Terms| terms.levels.iter().any(|term| levels.contains(&term.level));
        let looking = self.gangs.terms.iter().filter(|(_, terms)| looks(terms));
        let keys: Vec<Arc<str>> = looking.map(|(id, _)| key_of(&Root::Group(id.clone()))).collect();
        keys.iter().for_each(|key| self.queue.wake_one(key, Wake::Group.into(), now));
        Wakes::NONE
    }
}
