//! Who goes together: a single pod, or all pods of a group that is disrupted as a whole.
//!
//! Invariant: a unit goes or stays as a whole, wherever its pods are, and all of it is less important than whoever it
//! makes way for. A pod of a group counts at least as much as its group.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::group::{Disruption, Group, GroupId};
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::Engine;

/// Pods that go together.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// In the order of their uids.
    pub pods: Vec<Arc<Pod>>,
    /// How important the most important of them is.
    pub importance: i32,
    /// The group that these are, or that the only one belongs to.
    pub group: Option<GroupId>,
    /// A group that may lose pods one by one has too few of them without this one.
    pub breaks_gang: bool,
}

impl Unit {
    /// What is compared of units; what is less is more important.
    fn rank(&self, now: Timestamp) -> Rank<'_> {
        let since = self.pods.iter().map(|pod| pod.started.unwrap_or(now)).min().unwrap_or(now);
        let first = self.pods.first().map_or("", |pod| &*pod.uid);
        let (is_of_group, pods) = (self.group.is_some(), self.pods.len());
        (Reverse((self.importance, self.breaks_gang, is_of_group, pods)), since, first)
    }
}

/// The importance, whether a gang breaks, whether it is of a group, how many pods; since when they run, and a uid.
type Rank<'u> = (Reverse<(i32, bool, bool, usize)>, Timestamp, &'u str);

impl Engine {
    /// The units of these pods that are less important than this, the most important first.
    pub(crate) fn units_below(
        &self,
        pods: impl IntoIterator<Item = Arc<Pod>>,
        importance: i32,
        now: Timestamp,
    ) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut seen: BTreeSet<GroupId> = BTreeSet::new();
        for pod in pods {
            let Some(group) = self.group_of(&pod).cloned() else {
                let unit =
                    Unit { importance: pod.priority, pods: vec![pod], group: None, breaks_gang: false };
                units.push(unit);
                continue;
            };
            if group.disruption == Disruption::Single {
                units.push(Unit {
                    importance: pod.priority.max(group.priority),
                    pods: vec![pod],
                    group: Some(group.id.clone()),
                    breaks_gang: false,
                });
            } else if seen.insert(group.id.clone()) {
                units.push(self.whole(&group));
            }
        }
        units.retain(|unit| unit.importance < importance);
        units.sort_by(|left, right| left.rank(now).cmp(&right.rank(now)));
        self.note_broken(&mut units);
        units.sort_by(|left, right| left.rank(now).cmp(&right.rank(now)));
        units
    }

    /// The group of a pod, if there is one.
    fn group_of(&self, pod: &Pod) -> Option<&Arc<Group>> {
        pod.group.as_ref()?;
        self.gangs.group(&self.gang_of(pod)?)
    }

    /// All pods of a group that are on nodes or on their way there.
    fn whole(&self, group: &Group) -> Unit {
        let pods: Vec<Arc<Pod>> =
            self.gangs.seated(&group.id).filter_map(|uid| Some(self.nodes.pod(uid)?.1.clone())).collect();
        let importance = pods.iter().map(|pod| pod.priority).fold(group.priority, i32::max);
        Unit { pods, importance, group: Some(group.id.clone()), breaks_gang: false }
    }

    /// Of a group that may lose pods one by one, the least important can go without harm to the rest, as long as enough stay.
    fn note_broken(&self, units: &mut [Unit]) {
        let mut spare: BTreeMap<GroupId, usize> = BTreeMap::new();
        for unit in units.iter_mut().rev() {
            let Some(id) = &unit.group else { continue };
            let Some(group) = self.gangs.group(id) else { continue };
            if group.disruption == Disruption::Whole || group.at_least < 2 {
                continue;
            }
            let seated = self.gangs.seated(id).count();
            let spare = spare.entry(id.clone()).or_insert_with(|| {
                // One that has too few already loses nothing more.
                seated.checked_sub(group.at_least as usize).unwrap_or(seated)
            });
            unit.breaks_gang = *spare == 0;
            *spare = spare.saturating_sub(1);
        }
    }
}

/// The pods of units.
pub(crate) fn pods_of<'u>(units: impl IntoIterator<Item = &'u Unit>) -> impl Iterator<Item = &'u Arc<Pod>> {
    units.into_iter().flat_map(|unit| &unit.pods)
}

/// How many gangs have too few pods if these go.
pub(crate) fn broken<'u>(units: impl IntoIterator<Item = &'u Unit>) -> usize {
    let broken = units.into_iter().filter(|unit| unit.breaks_gang).filter_map(|unit| unit.group.as_ref());
    broken.collect::<BTreeSet<_>>().len()
}
