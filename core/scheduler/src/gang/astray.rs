//! Pods that name a group which is not there: they are told so.
//!
//! Invariant: they are held back, and only the group that they name lets them go on. As a pod may be heard of before its group
//! although it was made after it, nothing is said before a moment has passed. Facts alone write nothing: it is said with a turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gates::Gate;
use model::group::GroupId;
use model::timestamp::Timestamp;
use model::workload::{WorkloadId, family, replica_parts};

use crate::change::{WaitReason, Write};
use crate::engine::{Announcement, Engine};
use crate::filters::FilterSet;

/// How long the group of a pod may be heard of later than the pod.
const HEARD_WITHIN_MS: i64 = 1_000;

/// Pods that are to be told that their group is not there, and when.
#[derive(Debug, Default)]
pub(super) struct Astray {
    since: BTreeMap<Arc<str>, Timestamp>,
    order: BTreeSet<(Timestamp, Arc<str>)>,
}

impl Astray {
    pub(super) fn add(&mut self, uid: &Arc<str>, now: Timestamp) {
        let at = *self.since.entry(uid.clone()).or_insert_with(|| now.plus_millis(HEARD_WITHIN_MS));
        self.order.insert((at, uid.clone()));
    }

    pub(super) fn remove(&mut self, uid: &Arc<str>) {
        if let Some(at) = self.since.remove(uid) {
            self.order.remove(&(at, uid.clone()));
        }
    }

    pub(super) fn next_time(&self) -> Option<Timestamp> {
        self.order.first().map(|(at, _)| *at)
    }

    fn pop(&mut self, now: Timestamp) -> Option<Arc<str>> {
        let (_, uid) = self.order.first().filter(|(at, _)| *at <= now)?.clone();
        self.remove(&uid);
        Some(uid)
    }
}

impl Engine {
    /// Takes note of the members of a group that wait, if the group or something above it is not there.
    pub(super) fn look_for_group(&mut self, now: Timestamp, id: &GroupId) {
        if self.gangs.waiting.contains_key(id) && self.root_of(id).is_none() {
            let members: Vec<Arc<str>> =
                self.gangs.waiting.get(id).into_iter().flat_map(BTreeMap::keys).cloned().collect();
            members.iter().for_each(|uid| self.gangs.astray.add(uid, now));
        }
    }

    /// Tells pods whose group is not there, if there was time for it to be heard of.
    pub(crate) fn tell_astray(&mut self, now: Timestamp) {
        while let Some(uid) = self.gangs.astray.pop(now) {
            let pod =
                self.waiting.get(&uid).filter(|pod| pod.gates.is_empty() && pod.node.is_none()).cloned();
            let Some(pod) = pod.filter(|_| !self.placing.contains_key(&uid)) else { continue };
            let Some(message) = self.gang_of(&pod).and_then(|id| self.what_is_missing(&id)) else { continue };
            let (id, reason) = (pod.id.clone(), WaitReason::Unschedulable);
            self.submit_and_forget(Write::Note { pod: id, uid, reason, message: message.clone() });
            let filters = FilterSet::default();
            self.announce(Announcement::FailedScheduling { pod, message, filters });
        }
    }

    /// What the members of a group wait for, if it is not there.
    fn what_is_missing(&self, id: &GroupId) -> Option<String> {
        if let Some(group) = self.gangs.group(id) {
            let is_on = self.settings.gates.enabled(Gate::CompositePodGroup);
            let mut above = group.parent.clone().filter(|_| is_on && self.root_of(id).is_none())?;
            let mut seen = BTreeSet::new();
            while seen.insert(above.clone()) {
                let at = GroupId { namespace: id.namespace.clone(), name: above };
                match self.gangs.composites.get(&at) {
                    None => {
                        return Some(format!(
                            "pod group {} waits for composite pod group {}, which does not exist",
                            id.name, at.name
                        ));
                    }
                    Some(known) => above = known.parent.clone()?,
                }
            }
            return Some(format!(
                "pod group {} is in composite pod group {above}, which is within itself",
                id.name
            ));
        }
        let Some((workload, group, replica)) = replica_parts(&id.name) else {
            return Some(format!("waiting for pod group {}, which does not exist", id.name));
        };
        let known = WorkloadId { namespace: id.namespace.clone(), name: workload.into() };
        let Some(groups) = self.gangs.workloads.get(&known) else {
            return Some(format!("waiting for workload {workload}, which does not exist"));
        };
        let replicas = groups.iter().filter(|one| family(&one.name) == family(&id.name)).count();
        Some(match replicas {
            0 => format!("waiting for pod group {group} of workload {workload}, which has no such group"),
            _ => format!(
                "waiting for replica {replica} of pod group {group} of workload {workload}, which has {replicas}, counted from 0"
            ),
        })
    }
}
