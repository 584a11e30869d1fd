//! Groups of groups: when they may be placed.
//!
//! Invariant: a tree of which a part above its groups is not known is not placed.

use cluster::groups::{Key, Root};
use model::group::GroupId;
use model::timestamp::Timestamp;

use crate::engine::Engine;

impl Engine {
    /// Queues a tree with members that want a node, held back until enough of its groups have enough members.
    pub(super) fn look_at_tree(&mut self, now: Timestamp, root: &GroupId) {
        let tree = Root::Composite(root.clone());
        let key = Key::from(&tree);
        let leaves = self.facts.groups.leaves_of(&tree);
        let waiting = leaves.iter().filter_map(|leaf| self.facts.groups.waiting(leaf)).flatten();
        let mut here = waiting.filter(|(uid, _)| !self.bindings.has(uid)).peekable();
        if here.peek().is_none() {
            self.gangs.gated.remove(&key);
            self.queue.remove(&key);
            return;
        }
        let is_gated = here.any(|(_, gated)| *gated);
        let priority = self.facts.groups.composite(root).map_or(0, |composite| composite.priority);
        let has_enough = self.facts.groups.has_enough(&tree);
        let is_held_back = is_gated || !has_enough;
        self.queue.apply(&key, priority, is_held_back, now);
        if is_held_back {
            self.gangs.gated.add(&key, now);
            self.suspect_members(&leaves);
        } else {
            self.gangs.gated.remove(&key);
        }
        if !has_enough {
            self.doubt_room_of(tree);
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
}
