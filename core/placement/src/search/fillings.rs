//! The loads that a node could have, one after the other, the fullest first.
//!
//! Invariant: each load is given once, and the node takes it. Unless all are wanted, only loads are given to which no member
//! that is left could be added.

use cluster::nodes::NodeIdx;

use crate::budget::Budget;
use crate::load::Load;
use crate::room::Room;
use crate::state::PlacementState;

/// Loads of a node, as an odometer whose digits are kinds.
#[derive(Debug)]
pub(super) struct Fillings {
    /// Which members could come.
    left: Load,
    /// Kinds in the order of digits, the first the slowest.
    order: Box<[usize]>,
    /// Loads with room for others are given too.
    all: bool,
    at: Position,
}

#[derive(Debug)]
enum Position {
    Start,
    At(Load),
    End,
}

impl Fillings {
    pub fn new(left: &Load, order: &[usize], all: bool) -> Fillings {
        let order = order.iter().copied().filter(|kind| left.get(*kind) > 0).collect();
        Fillings { left: left.clone(), order, all, at: Position::Start }
    }

    /// The next load.
    pub fn next<S: PlacementState + ?Sized>(
        &mut self,
        node: NodeIdx,
        state: &mut S,
        room: &mut Room,
        budget: &mut Budget,
    ) -> Option<Load> {
        loop {
            let next = match std::mem::replace(&mut self.at, Position::End) {
                Position::End => return None,
                Position::Start => {
                    let mut load = Load::none(self.left.counts().len());
                    self.fill(&mut load, 0, node, state, room, budget);
                    load
                }
                Position::At(mut load) => {
                    let last = self.order.iter().rposition(|kind| load.get(*kind) > 0)?;
                    load.set(self.order[last], load.get(self.order[last]) - 1);
                    self.fill(&mut load, last + 1, node, state, room, budget);
                    load
                }
            };
            let is_given = self.all || self.is_full(&next, node, state, room, budget);
            self.at = Position::At(next.clone());
            if is_given {
                return Some(next);
            }
            if !budget.spend(1) {
                room.unsure = true;
                return None;
            }
        }
    }

    /// As many as possible of each kind from a digit on.
    fn fill<S: PlacementState + ?Sized>(
        &self,
        load: &mut Load,
        from: usize,
        node: NodeIdx,
        state: &mut S,
        room: &mut Room,
        budget: &mut Budget,
    ) {
        for kind in &self.order[from..] {
            let most = room.most(state, node, load, *kind, self.left.get(*kind), budget);
            load.set(*kind, most);
        }
    }

    /// Whether none of the members that are left could be added.
    fn is_full<S: PlacementState + ?Sized>(
        &self,
        load: &Load,
        node: NodeIdx,
        state: &mut S,
        room: &mut Room,
        budget: &mut Budget,
    ) -> bool {
        !self.order.iter().any(|kind| {
            let count = load.get(*kind);
            let mut more = load.clone();
            more.set(*kind, count + 1);
            count < self.left.get(*kind) && room.takes(state, node, &more, budget)
        })
    }
}
