//! What is known about the room of nodes, each kind of node asked once.
//!
//! Invariant: an answer that is kept is the one that the state would give. Only the state of nodes before the search counts,
//! so nothing that a search assumes makes an answer stale.

use cluster::nodes::NodeIdx;
use rustc_hash::FxHashMap;

use crate::arithmetic::Amounts;
use crate::budget::Budget;
use crate::gang::Gang;
use crate::load::Load;
use crate::state::{Likeness, PlacementState, Verdict};

/// Answers about nodes, kept by likeness.
#[derive(Debug, Default)]
pub(crate) struct Room {
    nodes: FxHashMap<NodeIdx, (Likeness, Amounts)>,
    loads: FxHashMap<Likeness, FxHashMap<Load, Verdict>>,
    /// How many members of each kind a node takes if there are no others.
    alone: FxHashMap<Likeness, Load>,
    /// A question was left open, so "no" proves nothing any more.
    pub unsure: bool,
}

impl Room {
    pub fn likeness<S: PlacementState + ?Sized>(&mut self, state: &mut S, node: NodeIdx) -> Likeness {
        self.known(state, node).0
    }

    pub fn free<S: PlacementState + ?Sized>(&mut self, state: &mut S, node: NodeIdx) -> &Amounts {
        &self.known(state, node).1
    }

    fn known<S: PlacementState + ?Sized>(&mut self, state: &mut S, node: NodeIdx) -> &(Likeness, Amounts) {
        self.nodes.entry(node).or_insert_with(|| (state.likeness(node), state.free(node)))
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

    /// How many members of a kind a node takes besides a load, up to a bound. Doubling from below keeps the questions small:
    /// a node is never asked for much more than it has.
    pub fn most<S: PlacementState + ?Sized>(
        &mut self,
        state: &mut S,
        node: NodeIdx,
        besides: &Load,
        kind: usize,
        bound: u32,
        budget: &mut Budget,
    ) -> u32 {
        let mut load = besides.clone();
        let mut takes = |count: u32, budget: &mut Budget| {
            load.set(kind, count);
            self.takes(state, node, &load, budget)
        };
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
