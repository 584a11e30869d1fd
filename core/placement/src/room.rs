//! What is known about the room of nodes, each kind of node asked once.
//!
//! Invariant: an answer that is kept is the one that the state would give. Only the state of nodes before the search counts,
//! so nothing that a search assumes makes an answer stale. A load that needs more than a node has is refused without asking.

use cluster::nodes::NodeIdx;
use rustc_hash::FxHashMap;

use crate::arithmetic::Amounts;
use crate::budget::Budget;
use crate::gang::{Gang, Kind};
use crate::load::Load;
use crate::state::{Likeness, PlacementState, Verdict};

/// Answers about nodes, kept by likeness.
#[derive(Debug)]
pub(crate) struct Room {
    /// What a member of each kind needs.
    needs: Vec<Amounts>,
    /// What no node has for itself and nodes that are asked about can use.
    shared: Amounts,
    nodes: FxHashMap<NodeIdx, (Likeness, Amounts)>,
    loads: FxHashMap<Likeness, FxHashMap<Load, Verdict>>,
    /// How many members of each kind a node takes if there are no others.
    alone: FxHashMap<Likeness, Load>,
    /// A question was left open, so "no" proves nothing any more.
    pub unsure: bool,
}

impl Room {
    pub fn new(gang: &Gang) -> Room {
        Room {
            needs: gang.kinds.iter().map(|kind| kind.needs.clone()).collect(),
            shared: Amounts::default(),
            nodes: FxHashMap::default(),
            loads: FxHashMap::default(),
            alone: FxHashMap::default(),
            unsure: false,
        }
    }

    /// Nodes are asked about from now on that can use this besides what they have.
    pub fn share(&mut self, shared: Amounts) {
        self.shared = shared;
    }

    /// What there is for a node along each axis, at the most.
    pub fn limits<S: PlacementState + ?Sized>(&mut self, state: &mut S, node: NodeIdx) -> Vec<u64> {
        let free = self.known(state, node).1.0.clone();
        let limit = |(axis, free): (usize, u64)| free.saturating_add(self.shared.get(axis));
        free.into_iter().enumerate().map(limit).collect()
    }

    pub fn likeness<S: PlacementState + ?Sized>(&mut self, state: &mut S, node: NodeIdx) -> Likeness {
        self.known(state, node).0
    }

    pub fn free<S: PlacementState + ?Sized>(&mut self, state: &mut S, node: NodeIdx) -> &Amounts {
        &self.known(state, node).1
    }

    fn known<S: PlacementState + ?Sized>(&mut self, state: &mut S, node: NodeIdx) -> &(Likeness, Amounts) {
        self.nodes.entry(node).or_insert_with(|| (state.likeness(node), state.free(node)))
    }

    /// How many members of a kind there is enough for on a node besides others, up to a bound, and whether what the node has for itself
    /// decides that.
    fn ceiling<S: PlacementState + ?Sized>(
        &mut self,
        state: &mut S,
        node: NodeIdx,
        besides: &Load,
        kind: usize,
        bound: u32,
    ) -> (u32, bool) {
        self.known(state, node);
        let (_, free) = &self.nodes[&node];
        let (mut of_own, mut of_shared) = (bound, bound);
        for (axis, need) in self.needs[kind].0.iter().enumerate().filter(|(_, need)| **need > 0) {
            let others = besides.present().filter(|(other, _)| *other != kind);
            let taken =
                others.map(|(other, count)| self.needs[other].get(axis).saturating_mul(u64::from(count)));
            let shared = self.shared.get(axis);
            let limit = free.get(axis).saturating_add(shared);
            let left = limit.saturating_sub(taken.fold(0, u64::saturating_add));
            let most = if shared == 0 { &mut of_own } else { &mut of_shared };
            *most = u32::try_from(left / need).map_or(*most, |count| count.min(*most));
        }
        let is_own = of_own < bound && of_own <= of_shared;
        (of_own.min(of_shared), is_own || self.shared.0.iter().all(|shared| *shared == 0))
    }

    /// Whether a load needs more than a node has.
    fn is_beyond<S: PlacementState + ?Sized>(&mut self, state: &mut S, node: NodeIdx, load: &Load) -> bool {
        self.known(state, node);
        let (_, free) = &self.nodes[&node];
        (0..free.0.len()).any(|axis| {
            let needed = load
                .present()
                .map(|(kind, count)| self.needs[kind].get(axis).saturating_mul(u64::from(count)));
            needed.fold(0, u64::saturating_add) > free.get(axis).saturating_add(self.shared.get(axis))
        })
    }

    /// Whether a node takes a load. What is left open counts as no, and is noted.
    pub fn takes<S: PlacementState + ?Sized>(
        &mut self,
        state: &mut S,
        node: NodeIdx,
        load: &Load,
        budget: &mut Budget,
    ) -> bool {
        if load.is_empty() {
            return true;
        }
        if self.is_beyond(state, node, load) {
            return false;
        }
        let likeness = self.likeness(state, node);
        let known = self.loads.entry(likeness).or_default();
        let verdict = match known.get(load) {
            Some(verdict) => *verdict,
            None => {
                let verdict =
                    if budget.spend(1) { state.takes(node, load, budget) } else { Verdict::Unknown };
                // With more budget the answer may be another, so what was left open is not kept.
                if verdict != Verdict::Unknown {
                    known.insert(load.clone(), verdict);
                }
                verdict
            }
        };
        self.unsure |= verdict == Verdict::Unknown;
        verdict == Verdict::Yes
    }

    /// How many members of each kind a node takes if there are no others.
    pub fn alone<S: PlacementState + ?Sized>(
        &mut self,
        state: &mut S,
        gang: &Gang,
        node: NodeIdx,
        budget: &mut Budget,
    ) -> Load {
        let likeness = self.likeness(state, node);
        if let Some(known) = self.alone.get(&likeness) {
            return known.clone();
        }
        let everybody = gang.everybody();
        let nobody = Load::none(gang.kinds.len());
        let was_unsure = std::mem::replace(&mut self.unsure, false);
        let most = (0..gang.kinds.len())
            .map(|kind| self.most(state, node, &nobody, kind, everybody.get(kind), budget));
        let alone = Load::new(most.collect::<Vec<_>>());
        if !self.unsure {
            self.alone.insert(likeness, alone.clone());
        }
        self.unsure |= was_unsure;
        alone
    }

    /// How many members of each kind a node takes at the most if there are no others, even if a question is left open.
    pub fn alone_at_most<S: PlacementState + ?Sized>(
        &mut self,
        state: &mut S,
        gang: &Gang,
        node: NodeIdx,
        budget: &mut Budget,
    ) -> Load {
        let alone = self.alone(state, gang, node, budget);
        let likeness = self.likeness(state, node);
        if self.alone.contains_key(&likeness) {
            return alone;
        }
        let nobody = Load::none(gang.kinds.len());
        let most =
            |(kind, of_kind): (usize, &Kind)| self.ceiling(state, node, &nobody, kind, of_kind.members).0;
        Load::new(gang.kinds.iter().enumerate().map(most).collect::<Vec<_>>())
    }

    /// How many members of a kind a node takes besides a load, up to a bound. Amounts say for how many there is enough, which is right
    /// most of the time. If not, doubling from below keeps the questions small: a node is never asked for much more than it has.
    pub fn most<S: PlacementState + ?Sized>(
        &mut self,
        state: &mut S,
        node: NodeIdx,
        besides: &Load,
        kind: usize,
        bound: u32,
        budget: &mut Budget,
    ) -> u32 {
        let (bound, is_own) = self.ceiling(state, node, besides, kind, bound);
        let mut load = besides.clone();
        let mut takes = |count: u32, budget: &mut Budget| {
            load.set(kind, count);
            self.takes(state, node, &load, budget)
        };
        if is_own && bound > 0 && takes(bound, budget) {
            return bound;
        }
        let bound = if is_own { bound.saturating_sub(1) } else { bound };
        let (mut most, mut step) = (0, 1);
        // `most` is taken; double until something is not.
        let mut refused = loop {
            if most == bound {
                return most;
            }
            let next = (most + step).min(bound);
            if !takes(next, budget) {
                break next;
            }
            (most, step) = (next, step * 2);
        };
        while refused - most > 1 {
            let middle = most + (refused - most) / 2;
            if takes(middle, budget) {
                most = middle;
            } else {
                refused = middle;
            }
        }
        most
    }
}
