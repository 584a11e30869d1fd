//! What the rest of the nodes could take at the most.
//!
//! Invariant: a bound refuses only what cannot be. Kinds are counted as if each had the nodes for itself, and amounts as if
//! all nodes were one.

use cluster::nodes::NodeIdx;

use crate::arithmetic::{Amounts, shortage};
use crate::gang::Gang;
use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::state::PlacementState;

/// For each number of nodes that are filled, what the others could take.
#[derive(Debug)]
pub(super) struct Bounds {
    /// Members of each kind.
    members: Vec<Vec<u64>>,
    free: Vec<Amounts>,
    /// Kinds, the scarcest room first.
    order: Vec<usize>,
}

impl Bounds {
    pub fn new<S: PlacementState + ?Sized>(nodes: &[NodeIdx], inquiry: &mut Inquiry<'_, S>) -> Bounds {
        let Inquiry { gang, state, room, budget } = inquiry;
        let mut members = vec![vec![0; gang.kinds.len()]];
        // What nodes share may be used by the last of them.
        let mut shared = Amounts::nothing(gang.axes.len());
        shared.add(&state.shared(nodes));
        let mut free = vec![shared];
        for node in nodes.iter().rev() {
            let alone = room.alone(*state, gang, *node, budget);
            let mut counts = members.last().expect("there is a first").clone();
            counts.iter_mut().zip(alone.counts()).for_each(|(sum, count)| *sum += u64::from(*count));
            let mut sum = free.last().expect("there is a first").clone();
            // What is free where no member can be is of no use.
            if !alone.is_empty() {
                sum.add(room.free(*state, *node));
            }
            members.push(counts);
            free.push(sum);
        }
        members.reverse();
        free.reverse();
        let slack = |kind: &usize| members[0][*kind] * 64 / u64::from(gang.kinds[*kind].members.max(1));
        let mut order: Vec<usize> = (0..gang.kinds.len()).collect();
        order.sort_by_key(slack);
        Bounds { members, free, order }
    }

    /// Kinds, the scarcest room first.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Whether the nodes from here on cannot take so many of the members that are left.
    pub fn refuse(&self, gang: &Gang, at: usize, left: &Load, wanted: u32) -> bool {
        let most =
            left.counts().iter().zip(&self.members[at]).map(|(left, room)| u64::from(*left).min(*room));
        most.sum::<u64>() < u64::from(wanted) || shortage(gang, left, wanted, &self.free[at]).is_some()
    }
}
