//! Pods that are preempted together: a single pod, or all pods of a group that is disrupted as a whole, be it a group of pods or of
//! groups.
//!
//! Invariant: a unit goes or stays as a whole, wherever its pods are, and all of it is less important than the pod or gang that it
//! makes way for. A pod of a group counts at least as much as its group and as the groups above that.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::groups::Root;
use model::group::{Composite, Disruption, Group};
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::cycle::Cycle;

/// Pods that go together.
#[derive(Clone, Debug)]
pub struct Unit {
    /// In the order of their uids.
    pub pods: Vec<Arc<Pod>>,
    /// How important the most important of them is.
    pub importance: i32,
    /// The group that these are, or that the only one belongs to.
    pub group: Option<Root>,
    /// A group of which parts may go by themselves, and which has too few without this one.
    pub breaks: Option<Root>,
}

impl Unit {
    /// What is compared of units; what is less is more important.
    fn rank(&self, now: Timestamp) -> Rank<'_> {
        let since = self.pods.iter().map(|pod| pod.started.unwrap_or(now)).min().unwrap_or(now);
        let first = self.pods.first().map_or("", |pod| &*pod.uid);
        let kind = match &self.group {
            None => 0,
            Some(Root::Group(_)) => 1,
            Some(Root::Composite(_)) => 2,
        };
        (Reverse((self.importance, self.breaks.is_some(), kind, self.pods.len())), since, first)
    }
}

/// The importance, whether a gang breaks, of what kind of group it is, how many pods; since when they run, and a uid.
type Rank<'u> = (Reverse<(i32, bool, u8, usize)>, Timestamp, &'u str);

impl Cycle<'_> {
    /// The units of these pods that are less important than this, the most important first.
    pub(crate) fn units_below(
        &self,
        pods: impl IntoIterator<Item = Arc<Pod>>,
        importance: i32,
        now: Timestamp,
    ) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut seen: BTreeSet<Root> = BTreeSet::new();
        for pod in pods {
            let Some(group) = self.group_of(&pod).cloned() else {
                units.push(Unit { importance: pod.priority, pods: vec![pod], group: None, breaks: None });
                continue;
            };
            let above = self.facts.groups.composites_above(&group);
            match goes_with(&group, &above) {
                Some(root) if seen.contains(&root) => {}
                Some(root) => {
                    units.push(self.whole(&root));
                    seen.insert(root);
                }
                None => units.push(Unit {
                    importance: pod.priority.max(importance_of(&group, &above)),
                    pods: vec![pod],
                    group: Some(Root::Group(group.id.clone())),
                    breaks: None,
                }),
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
        self.facts.groups.get(&self.facts.groups.gang_of(pod)?)
    }

    /// All pods of a group or of all groups below one that are on nodes or on their way there.
    fn whole(&self, root: &Root) -> Unit {
        let leaves = self.facts.groups.leaves_of(root);
        let uids = leaves.iter().flat_map(|leaf| self.facts.groups.seated(leaf));
        let mut pods: Vec<Arc<Pod>> =
            uids.filter_map(|uid| Some(self.facts.nodes.pod(uid)?.1.clone())).collect();
        pods.sort_by(|left, right| left.uid.cmp(&right.uid));
        let groups = leaves.iter().filter_map(|leaf| self.facts.groups.get(leaf));
        let of_groups = groups.map(|group| importance_of(group, &self.facts.groups.composites_above(group)));
        let importance = pods.iter().map(|pod| pod.priority).chain(of_groups).max().unwrap_or(i32::MIN);
        Unit { pods, importance, group: Some(root.clone()), breaks: None }
    }

    /// Of a group that may lose parts of it one by one, the least important can go without harm to the rest, as long as enough
    /// stay.
    fn note_broken(&self, units: &mut [Unit]) {
        let mut spare: BTreeMap<Root, usize> = BTreeMap::new();
        for unit in units.iter_mut().rev() {
            let Some((root, parts, at_least)) = unit.group.as_ref().and_then(|group| self.part_of(group))
            else {
                continue;
            };
            // One that has too few already loses nothing more.
            let spare = spare
                .entry(root.clone())
                .or_insert_with(|| parts.checked_sub(at_least as usize).unwrap_or(parts));
            unit.breaks = (*spare == 0).then_some(root);
            *spare = spare.saturating_sub(1);
        }
    }

    /// Of what a unit of this group is one of several parts, how many of these there are, and how many it has to have.
    fn part_of(&self, group: &Root) -> Option<(Root, usize, u32)> {
        let goes_alone = match group {
            Root::Group(id) => {
                self.facts.groups.get(id).filter(|group| group.disruption == Disruption::Single)
            }
            Root::Composite(_) => None,
        };
        let (root, parts, at_least) = match goes_alone {
            Some(of_pod) => (group.clone(), self.facts.groups.seated(&of_pod.id).count(), of_pod.at_least),
            // It goes as a whole, and what it is in may have too few groups then.
            None => {
                let parent = self.facts.groups.parent_of(group)?;
                let standing = self.facts.groups.standing_groups(&parent.id);
                (Root::Composite(parent.id.clone()), standing, parent.at_least)
            }
        };
        (at_least > 1).then_some((root, parts, at_least))
    }

    /// Units, and how many of the pods of each a disruption budget would keep.
    pub(crate) fn with_violations(&self, units: Vec<Unit>) -> Vec<(Unit, usize)> {
        let violating = self.facts.budgets.violations(pods_of(&units).map(|pod| &**pod));
        let mut violating = violating.into_iter();
        let count = |unit: Unit| {
            let count = violating.by_ref().take(unit.pods.len()).filter(|it| *it).count();
            (unit, count)
        };
        units.into_iter().map(count).collect()
    }
}

/// What a pod of a group goes with: the highest of its group and those above that is disrupted as a whole.
fn goes_with(group: &Group, above: &[Arc<Composite>]) -> Option<Root> {
    let highest = above.iter().rfind(|composite| composite.disruption == Disruption::Whole);
    match highest {
        Some(composite) => Some(Root::Composite(composite.id.clone())),
        None => (group.disruption == Disruption::Whole).then(|| Root::Group(group.id.clone())),
    }
}

/// How important each pod of a group is at the least.
fn importance_of(group: &Group, above: &[Arc<Composite>]) -> i32 {
    above.iter().map(|composite| composite.priority).fold(group.priority, i32::max)
}

/// The pods of units.
pub fn pods_of<'u>(units: impl IntoIterator<Item = &'u Unit>) -> impl Iterator<Item = &'u Arc<Pod>> {
    units.into_iter().flat_map(|unit| &unit.pods)
}

/// How many gangs have too few pods or groups if these go.
pub fn broken<'u>(units: impl IntoIterator<Item = &'u Unit>) -> usize {
    units.into_iter().filter_map(|unit| unit.breaks.as_ref()).collect::<BTreeSet<_>>().len()
}
