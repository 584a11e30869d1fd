//! Small clusters and trees of pod groups, and whether a tree can be placed, found out by trying everything.
//!
//! Nothing of the engine is used here. Nodes have processors, a rack and a zone; a group, or a group of groups, may have to be in
//! one rack or zone, and needs a number of members, or of groups that have enough.

use std::collections::BTreeSet;

use crate::turmoil::Dice;

/// The node labels by which places are told apart.
pub const LEVELS: [&str; 2] = ["rack", "zone"];

/// A node: its rack and zone, and its processors.
#[derive(Clone, Debug)]
pub struct Spot {
    pub places: [u64; 2],
    pub cpu: i64,
}

/// A part of a tree.
#[derive(Clone, Debug)]
pub enum Part {
    /// A group: how many members it needs, and the processors that each member wants.
    Leaf { at_least: usize, level: Option<usize>, members: Vec<i64> },
    /// A group of groups: how many of them it needs.
    Inner { at_least: usize, level: Option<usize>, parts: Vec<Part> },
}

/// A cluster and a tree.
#[derive(Clone, Debug)]
pub struct Instance {
    pub nodes: Vec<Spot>,
    pub tree: Part,
}

/// Where the members of each group are, in order; nothing for those that have no seat.
pub type Seats = Vec<Vec<Option<usize>>>;

impl Instance {
    pub fn random(seed: u64, nodes_max: u64, members_max: usize) -> Instance {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x7ee5);
        let dice = &mut dice;
        let racks = 1 + dice.below(3);
        let spot = |dice: &mut Dice| {
            let rack = dice.below(racks);
            Spot { places: [rack, rack / 2], cpu: 1 + dice.below(6) as i64 }
        };
        let nodes = (0..1 + dice.below(nodes_max)).map(|_| spot(dice)).collect();
        let mut left = members_max;
        let tree = inner(dice, 0, &mut left);
        Instance { nodes, tree }
    }

    /// Whether enough of the tree can be placed.
    pub fn is_possible(&self) -> bool {
        let groups = self.tree.leaves().len();
        self.try_group(
            0,
            &mut vec![Vec::new(); groups],
            &mut self.nodes.iter().map(|spot| spot.cpu).collect(),
        )
    }

    /// Gives the members of a group every choice of seats in turn, and those of the groups after it.
    fn try_group(&self, group: usize, seats: &mut Seats, free: &mut Vec<i64>) -> bool {
        let leaves = self.tree.leaves();
        let Some(Part::Leaf { members, .. }) = leaves.get(group) else { return self.are_right(seats) };
        let Some(cpu) = members.get(seats[group].len()) else {
            return self.try_group(group + 1, seats, free);
        };
        let nowhere = std::iter::once(None);
        for seat in (0..self.nodes.len()).map(Some).chain(nowhere) {
            if seat.is_some_and(|at| free[at] < *cpu) {
                continue;
            }
            seat.into_iter().for_each(|at| free[at] -= cpu);
            seats[group].push(seat);
            let is_found = self.try_group(group, seats, free);
            seats[group].pop();
            seat.into_iter().for_each(|at| free[at] += cpu);
            if is_found {
                return true;
            }
        }
        false
    }

    /// Whether enough of the tree is placed like this, and nothing else that must not be.
    pub fn are_right(&self, seats: &Seats) -> bool {
        let mut free: Vec<i64> = self.nodes.iter().map(|spot| spot.cpu).collect();
        for (leaf, seats) in self.tree.leaves().iter().zip(seats) {
            let Part::Leaf { members, .. } = leaf else { unreachable!("it is a group") };
            members.iter().zip(seats).for_each(|(cpu, seat)| seat.iter().for_each(|at| free[*at] -= cpu));
        }
        free.iter().all(|left| *left >= 0) && self.stands(&self.tree, &mut seats.iter()).is_some()
    }

    /// The nodes on which a part is, if enough of it is placed; nobody of a part is placed otherwise.
    fn stands<'s>(
        &self,
        part: &Part,
        seats: &mut impl Iterator<Item = &'s Vec<Option<usize>>>,
    ) -> Option<BTreeSet<usize>> {
        let (level, nodes) = match part {
            Part::Leaf { at_least, level, .. } => {
                let own: Vec<usize> = seats.next()?.iter().copied().flatten().collect();
                if own.len() < *at_least {
                    return None;
                }
                (level, own.into_iter().collect())
            }
            Part::Inner { at_least, level, parts } => {
                let each: Vec<_> = parts.iter().map(|part| self.stands(part, seats)).collect();
                if each.iter().flatten().count() < *at_least {
                    return None;
                }
                (level, each.into_iter().flatten().flatten().collect::<BTreeSet<usize>>())
            }
        };
        let places: BTreeSet<u64> =
            level.iter().flat_map(|level| nodes.iter().map(|at| self.nodes[*at].places[*level])).collect();
        (places.len() < 2).then_some(nodes)
    }
}

impl Part {
    /// The groups of it, in order.
    pub fn leaves(&self) -> Vec<&Part> {
        match self {
            Part::Leaf { .. } => vec![self],
            Part::Inner { parts, .. } => parts.iter().flat_map(Part::leaves).collect(),
        }
    }
}

/// At least so many of a number: mostly all.
fn enough(dice: &mut Dice, of: usize) -> usize {
    if dice.below(3) == 0 { 1 + dice.below(of as u64) as usize } else { of }
}

fn level(dice: &mut Dice) -> Option<usize> {
    [None, Some(0), Some(1), Some(0)][dice.below(4) as usize]
}

fn inner(dice: &mut Dice, depth: usize, left: &mut usize) -> Part {
    let level = level(dice);
    let mut parts = Vec::new();
    for _ in 0..1 + dice.below(3) {
        if *left == 0 {
            break;
        }
        let is_inner = depth == 0 && dice.below(4) == 0;
        parts.push(if is_inner { inner(dice, depth + 1, left) } else { leaf(dice, left) });
    }
    Part::Inner { at_least: enough(dice, parts.len()), level, parts }
}

fn leaf(dice: &mut Dice, left: &mut usize) -> Part {
    let count = (1 + dice.below(3) as usize).min(*left);
    *left -= count;
    let members: Vec<i64> = (0..count).map(|_| 1 + dice.below(3) as i64).collect();
    Part::Leaf { at_least: enough(dice, count), level: level(dice), members }
}
