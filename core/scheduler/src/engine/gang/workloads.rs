//! Our own workloads and topologies, taken in.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::groups::{Key, Root, WorkloadTouched};
use decisions::wake::{Wake, Wakes};
use model::group::GroupId;
use model::timestamp::Timestamp;
use model::workload::{Workload, WorkloadId};

use crate::engine::Engine;

impl Engine {
    /// Takes in a workload: the pods of groups that it has, or has no more, are looked at.
    pub(super) fn apply_workload(&mut self, now: Timestamp, workload: &Workload) -> Wakes {
        let WorkloadTouched { groups, went } = self.facts.groups.apply_workload(workload);
        self.forget_groups(now, went);
        for id in groups {
            self.resize_flight(now, &Root::Group(id.clone()));
            self.look_at_gang(now, &id);
            self.queue.wake_one(&Key::Gang(id), Wake::Group.into(), now);
        }
        Wakes::NONE
    }

    /// Forgets a workload. While there is none of its name, its pods wait.
    pub(super) fn remove_workload(&mut self, now: Timestamp, id: &WorkloadId) -> Wakes {
        let went = self.facts.groups.remove_workload(id);
        self.forget_groups(now, went);
        Wakes::NONE
    }

    fn forget_groups(&mut self, now: Timestamp, went: Vec<GroupId>) {
        for id in went {
            self.gangs.placed.remove(&id);
            self.look_at_gang(now, &id);
        }
    }

    /// Wakes gangs that look for one of these levels, as they may find a domain now.
    pub(super) fn wake_for_levels(&mut self, now: Timestamp, levels: &BTreeSet<Arc<str>>) -> Wakes {
        for id in self.facts.groups.looking_for(levels) {
            self.queue.wake_one(&Key::Gang(id), Wake::Group.into(), now);
        }
        Wakes::NONE
    }
}
