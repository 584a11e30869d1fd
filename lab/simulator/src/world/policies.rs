//! What groups, trees of groups and our own workloads ask for, as far as every version of them did that there ever was: whoever
//! places pods may know any of these versions.
//!
//! Invariant: a minimum only becomes smaller here and a level only coarser. Levels lie within each other, so that who keeps any
//! version keeps what is left of all of them.

use std::collections::{BTreeMap, BTreeSet};

use objects::Object;
use objects::core::pod::Pod;
use objects::scheduling::composite_pod_group::CompositePodGroup;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::annotations::{POD_GROUP_LABEL, REPLICA_LABEL, WORKLOAD_LABEL};
use objects::supercargo::node_topology::NodeTopology;
use objects::supercargo::workload::Workload;
use serde_json::Value;
use store::Change;

use super::api::Made;
use super::extras::HOSTNAME;
use super::gangs::{RACK, rack_of};

/// How far apart pods may be, the closest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Level {
    Host,
    Rack,
    Anywhere,
}

impl Level {
    fn of_key(key: &str) -> Level {
        match key {
            HOSTNAME => Level::Host,
            RACK => Level::Rack,
            _ => Level::Anywhere,
        }
    }

    fn domain(self, node: &str) -> String {
        match self {
            Level::Host => node.to_owned(),
            Level::Rack => rack_of(node),
            Level::Anywhere => String::new(),
        }
    }
}

/// What a group of pods or of groups asks for at least.
#[derive(Clone, Debug)]
struct Policy {
    at_least: usize,
    /// Levels by the keys of labels, and by the names that topologies give them.
    level: Level,
    named_level: Option<String>,
    parent: Option<String>,
    is_of_groups: bool,
    /// The revision since which it is there, unless it is gone.
    there_since: Option<u64>,
}

/// What all groups ask for.
#[derive(Debug, Default)]
pub(super) struct Policies {
    groups: BTreeMap<String, Policy>,
    /// The coarsest label that each level of a topology ever named.
    levels: BTreeMap<String, Level>,
    /// What each object says now, by kind and name.
    specs: BTreeMap<(String, String), Value>,
}

/// The group that a pod belongs to.
pub(super) fn group_of(pod: &Pod) -> Option<String> {
    if let Some(group) = &pod.spec.scheduling_group {
        return group.pod_group_name.clone();
    }
    let label = |key: &str| pod.metadata.labels.get(key);
    let replica = label(REPLICA_LABEL).map_or("0", String::as_str);
    Some(replica_name(label(WORKLOAD_LABEL)?, label(POD_GROUP_LABEL)?, replica))
}

/// No name of a PodGroup has a slash.
fn replica_name(workload: &str, group: &str, replica: &str) -> String {
    format!("{workload}/{group}/{replica}")
}

impl Policies {
    /// Takes in what became of a group, a workload or a topology, and says which roots it changes something for.
    pub(super) fn see(&mut self, made: &Made, object: &Value) -> BTreeSet<String> {
        let there_since = (made.event.change != Change::Deleted).then(|| made.event.revision());
        let (kind, name) = (made.site.kind.kind.as_str(), made.event.key.name.to_string());
        if !matches!(kind, PodGroup::KIND | CompositePodGroup::KIND | Workload::KIND | NodeTopology::KIND) {
            return BTreeSet::new();
        }
        let spec = if there_since.is_some() { object["spec"].clone() } else { Value::Null };
        if self.specs.insert((kind.to_owned(), name.clone()), spec.clone()) == Some(spec) {
            // Somebody noted something on it.
            return BTreeSet::new();
        }
        let changed: Vec<String> = match kind {
            PodGroup::KIND => {
                let spec = read::<PodGroup>(object).spec;
                let at_least = spec.scheduling_policy.gang.map_or(1, |gang| gang.min_count);
                let topology = spec.scheduling_constraints.map(|one| one.topology).unwrap_or_default();
                let level = finest(topology.iter().map(|one| one.key.as_str()));
                let parent = spec.parent_composite_pod_group_name;
                self.keep(name, (at_least, level, parent, there_since))
            }
            CompositePodGroup::KIND => {
                let spec = read::<CompositePodGroup>(object).spec;
                let at_least = spec.scheduling_policy.gang.map_or(1, |gang| gang.min_group_count);
                let topology = spec.scheduling_constraints.map(|one| one.topology).unwrap_or_default();
                let level = finest(topology.iter().map(|one| one.key.as_str()));
                let parent = spec.parent_composite_pod_group_name;
                let changed = self.keep(name.clone(), (at_least, level, parent, there_since));
                self.groups.entry(name).and_modify(|policy| policy.is_of_groups = true);
                changed
            }
            Workload::KIND => self.see_workload(&read(object), there_since),
            NodeTopology::KIND => {
                for level in read::<NodeTopology>(object).spec.levels {
                    let label = Level::of_key(&level.node_label);
                    let known = self.levels.entry(level.name).or_insert(label);
                    *known = label.max(*known);
                }
                self.groups.keys().filter(|name| name.contains('/')).cloned().collect()
            }
            _ => Vec::new(),
        };
        changed.iter().map(|group| self.root(group)).collect()
    }

    fn see_workload(&mut self, workload: &Workload, there_since: Option<u64>) -> Vec<String> {
        let mut changed = Vec::new();
        for group in &workload.spec.pod_groups {
            let constraints = group.scheduling_constraints.as_ref();
            let levels = constraints.map_or(&[][..], |one| &one.topology_constraints);
            let required: Vec<&str> = levels
                .iter()
                .filter(|level| level.mode != "Preferred")
                .map(|level| level.level.as_str())
                .collect();
            let by_name = required.iter().find(|level| Level::of_key(level) == Level::Anywhere);
            // Where a level has a name, the topology says what it is.
            let level = if by_name.is_some() { Level::Host } else { finest(required.iter().copied()) };
            let at_least = group.policy.gang.as_ref().map_or(1, |gang| gang.min_count);
            for replica in 0..group.replicas.unwrap_or(1) {
                let name = replica_name(&workload.metadata.name, &group.name, &replica.to_string());
                changed.extend(self.keep(name.clone(), (at_least, level, None, there_since)));
                if let (Some(named), Some(policy)) = (by_name, self.groups.get_mut(&name)) {
                    policy.named_level = Some((*named).to_owned());
                }
            }
        }
        changed
    }

    fn keep(
        &mut self,
        name: String,
        (at_least, level, parent, there_since): (i32, Level, Option<String>, Option<u64>),
    ) -> Vec<String> {
        let at_least = usize::try_from(at_least).unwrap_or(1).max(1);
        let is_of_groups = false;
        let new = Policy { at_least, level, named_level: None, parent, is_of_groups, there_since };
        let known = self.groups.entry(name.clone()).or_insert_with(|| new.clone());
        known.at_least = known.at_least.min(new.at_least);
        known.level = known.level.max(new.level);
        known.there_since = there_since.map(|since| known.there_since.unwrap_or(since));
        vec![name]
    }

    /// The highest group above one.
    pub(super) fn root(&self, group: &str) -> String {
        let mut root = group;
        while let Some(parent) = self.groups.get(root).and_then(|policy| policy.parent.as_deref()) {
            root = parent;
        }
        root.to_owned()
    }

    fn below<'p>(&'p self, group: &'p str) -> impl Iterator<Item = &'p String> {
        let is_child = move |(_, policy): &(&String, &Policy)| policy.parent.as_deref() == Some(group);
        self.groups.iter().filter(is_child).map(|(name, _)| name)
    }

    /// Whether a group is whole when there are so many pods in each group of pods.
    pub(super) fn is_whole(&self, group: &str, count: &dyn Fn(&str) -> usize) -> bool {
        let Some(policy) = self.groups.get(group) else { return count(group) > 0 };
        if !policy.is_of_groups {
            return count(group) >= policy.at_least;
        }
        self.below(group).filter(|child| self.is_whole(child, count)).count() >= policy.at_least
    }

    /// Whether all groups that a root is made of are there.
    pub(super) fn is_there(&self, root: &str) -> bool {
        self.groups.get(root).is_some_and(|policy| policy.there_since.is_some())
            && self.below(root).all(|child| self.is_there(child))
    }

    /// The names of all roots that are known.
    pub(super) fn roots(&self) -> BTreeSet<String> {
        self.groups.keys().map(|group| self.root(group)).collect()
    }

    /// Groups whose pods are in several domains though every version asks for one. Pods are given with their groups, and the last of
    /// them was made at this revision. A group that is gone, or came back since, may have been missing when the last one was placed: then
    /// nothing said what its pods belong to.
    pub(super) fn torn(&self, pods: &[(String, &str)], made: u64) -> Vec<String> {
        let parent_known = |group: &str| {
            let policy = self.groups.get(group)?;
            policy.parent.as_deref().filter(|_| policy.there_since.is_some_and(|since| since <= made))
        };
        let mut torn = Vec::new();
        for (name, policy) in &self.groups {
            let by_name = policy.named_level.as_ref();
            let by_name = by_name.map(|named| self.levels.get(named).copied().unwrap_or(Level::Anywhere));
            let level = by_name.map_or(policy.level, |named| named.max(policy.level));
            let is_in = |group: &str| {
                let mut above = Some(group);
                while let Some(one) = above {
                    if one == name {
                        return true;
                    }
                    above = parent_known(one);
                }
                false
            };
            let members = pods.iter().filter(|(group, _)| is_in(group));
            let domains: BTreeSet<String> = members.map(|(_, node)| level.domain(node)).collect();
            if domains.len() > 1 {
                torn.push(format!("gang {name} straddles {domains:?}"));
            }
        }
        torn
    }
}

fn finest<'k>(keys: impl Iterator<Item = &'k str>) -> Level {
    keys.map(Level::of_key).min().unwrap_or(Level::Anywhere)
}

fn read<T: Object>(object: &Value) -> T {
    T::read_value(object).expect("what was admitted is of its kind")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_of_a_group_that_was_missing_are_in_no_tree() {
        let mut policies = Policies::default();
        let keep = |policies: &mut Policies, name: &str, parent: Option<&str>, there_since| {
            let level = if parent.is_none() { Level::Rack } else { Level::Anywhere };
            policies.keep(name.to_owned(), (1, level, parent.map(str::to_owned), there_since));
        };
        keep(&mut policies, "fleet", None, Some(1));
        keep(&mut policies, "guide", Some("fleet"), Some(2));
        keep(&mut policies, "right", Some("fleet"), Some(3));
        let pods = [("guide".to_owned(), "node-0"), ("right".to_owned(), "node-2")];
        let apart = [r#"gang fleet straddles {"rack-0", "rack-1"}"#];
        assert_eq!(policies.torn(&pods, 5), apart);
        keep(&mut policies, "right", Some("fleet"), None);
        assert!(policies.torn(&pods, 5).is_empty(), "nothing says that it is in the tree");
        keep(&mut policies, "right", Some("fleet"), Some(8));
        assert!(policies.torn(&pods, 5).is_empty(), "it was missing while the last pod waited");
        assert_eq!(policies.torn(&pods, 9), apart);
    }
}
