//! Groups of groups: what is in which, and when they may be placed.
//!
//! Invariant: a tree of which a part above its groups is not known is not placed.

use cluster::groups::{DEPTH_MAX, Key, Root};
use std::collections::BTreeSet;
use std::sync::Arc;

use model::group::{Composite, Group, GroupId};
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::Engine;

/// A part of a tree, with the members that wait.
#[derive(Debug)]
pub(super) enum Branch {
    Leaf { group: Arc<Group>, pods: Vec<Arc<Pod>> },
    Inner { composite: Arc<Composite>, branches: Vec<Branch> },
}

impl Branch {
    /// Whether groups of groups in it have to be in one domain of a level.
    pub fn has_levels(&self) -> bool {
        match self {
            Branch::Leaf { .. } => false,
            Branch::Inner { composite, branches } => {
                !composite.levels.is_empty() || branches.iter().any(Branch::has_levels)
            }
        }
    }

    /// Adds the levels of which its groups and groups of groups have to be in one domain.
    pub fn collect_levels<'b>(&'b self, levels: &mut BTreeSet<&'b Arc<str>>) {
        match self {
            Branch::Leaf { group, .. } => levels.extend(&group.levels),
            Branch::Inner { composite, branches } => {
                levels.extend(&composite.levels);
                branches.iter().for_each(|branch| branch.collect_levels(levels));
            }
        }
    }

    /// The groups in it, with their members that wait.
    pub fn leaves(&self) -> Vec<(&Arc<Group>, &[Arc<Pod>])> {
        match self {
            Branch::Leaf { group, pods } => vec![(group, pods)],
            Branch::Inner { branches, .. } => branches.iter().flat_map(Branch::leaves).collect(),
        }
    }
}

impl Engine {
    /// The members of a tree or of a group that wait and are not on their way to a node, in the order in which they are seated.
    pub(super) fn members_here(&self, root: &Root) -> Vec<Arc<Pod>> {
        let leaves = self.facts.groups.leaves_of(root);
        let waiting = leaves.iter().filter_map(|leaf| self.facts.groups.waiting(leaf)).flatten();
        let here = waiting.map(|(uid, _)| uid).filter(|uid| !self.placing.contains_key(*uid));
        let mut pods: Vec<Arc<Pod>> = here.filter_map(|uid| self.facts.waiting.get(uid).cloned()).collect();
        super::turn::sort(&mut pods);
        pods
    }

    /// Queues a tree with members that want a node, held back until enough of its groups have enough members.
    pub(super) fn look_at_tree(&mut self, now: Timestamp, root: &GroupId) {
        let tree = Root::Composite(root.clone());
        let key = Key::from(&tree);
        let leaves = self.facts.groups.leaves_of(&tree);
        let waiting = leaves.iter().filter_map(|leaf| self.facts.groups.waiting(leaf)).flatten();
        let mut here = waiting.filter(|(uid, _)| !self.placing.contains_key(*uid)).peekable();
        if here.peek().is_none() {
            self.gated.remove(&key);
            self.queue.remove(&key);
            return;
        }
        let is_gated = here.any(|(_, gated)| *gated);
        let priority = self.facts.groups.composite(root).map_or(0, |composite| composite.priority);
        let has_enough = self.facts.groups.has_enough(&tree);
        let is_held_back = is_gated || !has_enough;
        self.queue.apply(&key, priority, is_held_back, now);
        if is_held_back {
            self.gated.add(&key, now);
            let waiting = leaves.iter().filter_map(|leaf| self.facts.groups.waiting(leaf));
            let members: Vec<Arc<str>> = waiting.flat_map(|members| members.keys().cloned()).collect();
            self.suspect_all(&members);
        } else {
            self.gated.remove(&key);
        }
        if !has_enough {
            self.free_room_of(&tree);
        }
    }

    /// Whether enough members are bound.
    pub(super) fn is_bound(&self, root: &Root) -> bool {
        self.facts.groups.is_enough(root, &|leaf: &GroupId| self.bound_members(leaf))
    }

    /// Whether enough members were bound once, as far as that was told.
    pub(super) fn was_bound(&self, root: &Root) -> bool {
        self.facts
            .groups
            .is_enough(root, &|leaf: &GroupId| if self.was_placed(leaf) { usize::MAX } else { 0 })
    }

    /// How many members have to get seats at the least so that enough of these have enough; nothing if too few are there.
    pub(super) fn least(&self, composite: &Composite, branches: &[Branch]) -> Option<u32> {
        let of_branch = |branch: &Branch| match branch {
            Branch::Leaf { group, pods } => {
                let missing =
                    group.at_least.saturating_sub(self.facts.groups.seated(&group.id).count() as u32);
                (missing as usize <= pods.len()).then_some(missing)
            }
            Branch::Inner { composite, branches } => self.least(composite, branches),
        };
        let mut each: Vec<u32> = branches.iter().filter_map(of_branch).collect();
        each.sort_unstable();
        Some(each.get(..composite.at_least as usize)?.iter().sum())
    }

    /// The part of the tree below a root, its groups in the order in which they were made.
    pub(super) fn branch(&self, root: &Root) -> Option<Branch> {
        self.branch_below(root, DEPTH_MAX)
    }

    fn branch_below(&self, at: &Root, depth: usize) -> Option<Branch> {
        match at {
            Root::Group(id) => {
                let group = self.facts.groups.get(id)?.clone();
                Some(Branch::Leaf { group, pods: self.members_here(at) })
            }
            Root::Composite(id) => {
                let composite = self.facts.groups.composite(id).filter(|_| depth > 0)?.clone();
                let mut children: Vec<&Root> = self.facts.groups.children(id).collect();
                children.sort_by_key(|child| self.made(child));
                let branches =
                    children.into_iter().filter_map(|child| self.branch_below(child, depth - 1)).collect();
                Some(Branch::Inner { composite, branches })
            }
        }
    }

    fn made(&self, at: &Root) -> (Option<Timestamp>, Arc<str>) {
        match at {
            Root::Group(id) => (self.facts.groups.get(id).and_then(|group| group.created), id.name.clone()),
            Root::Composite(id) => {
                (self.facts.groups.composite(id).and_then(|composite| composite.created), id.name.clone())
            }
        }
    }
}
