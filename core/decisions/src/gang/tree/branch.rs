//! Groups of groups: what is in which, and when they may be placed.
//!
//! Invariant: a tree of which a part above its groups is not known is not placed.

use std::sync::Arc;

use cluster::facts::Facts;
use cluster::groups::{DEPTH_MAX, Root};
use cluster::nodes::NodeIdx;
use model::group::{Composite, Group, GroupName};
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::cycle::Cycle;
use crate::underway::Underway;

/// A part of a tree, with the members that wait.
#[derive(Debug)]
pub(crate) enum Branch {
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

    /// The groups in it, with their members that wait.
    pub fn leaves(&self) -> Vec<(&Arc<Group>, &[Arc<Pod>])> {
        match self {
            Branch::Leaf { group, pods } => vec![(group, pods)],
            Branch::Inner { branches, .. } => branches.iter().flat_map(Branch::leaves).collect(),
        }
    }
}

impl Cycle<'_> {
    /// The nodes on which members of these are.
    pub(crate) fn pins(&self, branches: &[Branch]) -> Vec<NodeIdx> {
        let of_branch = |branch: &Branch| match branch {
            Branch::Leaf { group, .. } => self.pins_of(&group.id).collect(),
            Branch::Inner { branches, .. } => self.pins(branches),
        };
        branches.iter().flat_map(of_branch).collect()
    }

    /// The part of the tree below a root, its groups in the order in which they were made.
    pub(crate) fn branch(&self, root: &Root) -> Option<Branch> {
        self.branch_below(root, DEPTH_MAX)
    }

    fn branch_below(&self, at: &Root, depth: usize) -> Option<Branch> {
        match at {
            Root::Group(id) => {
                let group = self.facts.groups.get(id)?.clone();
                Some(Branch::Leaf { group, pods: members_here(&self.facts, self.underway, at) })
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

    fn made(&self, at: &Root) -> (Option<Timestamp>, GroupName) {
        match at {
            Root::Group(id) => (self.facts.groups.get(id).and_then(|group| group.created), id.name.clone()),
            Root::Composite(id) => {
                (self.facts.groups.composite(id).and_then(|composite| composite.created), id.name.clone())
            }
        }
    }
}

/// The members of a tree or of a group that wait and are not on their way to a node, in the order in which they are seated.
#[must_use]
pub fn members_here(facts: &Facts, underway: &dyn Underway, root: &Root) -> Vec<Arc<Pod>> {
    let leaves = facts.groups.leaves_of(root);
    let waiting = leaves.iter().filter_map(|leaf| facts.groups.waiting(leaf)).flatten();
    let here = waiting.map(|(uid, _)| uid).filter(|uid| !underway.is_on_its_way(uid));
    let mut pods: Vec<Arc<Pod>> = here.filter_map(|uid| facts.waiting.get(uid).cloned()).collect();
    crate::gang::answer::seats::sort(&mut pods);
    pods
}
