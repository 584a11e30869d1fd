//! The nodes of a domain by likeness, with what arithmetic knows of them.
//!
//! Invariant: amounts rule out only loads that a node does not take. Whether it takes the others is up to the state.

use cluster::nodes::NodeIdx;
use rustc_hash::FxHashMap;

use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::state::{Likeness, PlacementState};

/// All that a node has of something, if it is told in parts.
pub(super) const WHOLE: u64 = 1 << 16;

/// What a part along one axis counts, to begin with.
const WEIGHT: u64 = 8;

/// The nodes of a domain that can take members.
#[derive(Debug)]
pub(crate) struct Stock {
    /// How many members there are of each kind.
    pub members: Vec<u32>,
    pub alike: Vec<Alike>,
}

/// Nodes that take the same loads.
#[derive(Debug)]
pub(crate) struct Alike {
    /// In the order in which they had better be used.
    pub nodes: Vec<NodeIdx>,
    /// How many members of each kind one of them takes at the most if there are no others.
    pub alone: Vec<u32>,
    /// What one of them has left along the axes that can decide.
    pub free: Vec<u64>,
    /// What a member of each kind needs along the same axes.
    pub needs: Vec<Vec<u64>>,
    /// Which part that is of what there is, of [`WHOLE`] at the most and never too large.
    pub shares: Vec<Vec<u64>>,
    /// How much parts along each axis count if they are added up.
    pub weights: Vec<u64>,
    /// How large a member of each kind is for such a node.
    pub sizes: Vec<u64>,
    /// The state refused what amounts allow, so that it is asked about every member that is added.
    pub is_strict: bool,
}

impl Stock {
    /// The nodes of a domain, those first that had better be used.
    pub fn new<S: PlacementState + ?Sized>(nodes: &[NodeIdx], inquiry: &mut Inquiry<'_, S>) -> Stock {
        let Inquiry { gang, state, room, budget } = inquiry;
        let mut places: FxHashMap<Likeness, Option<usize>> = FxHashMap::default();
        let mut alike: Vec<Alike> = Vec::new();
        let loads = loads_of_axes(gang.axes.len(), nodes, &mut |node| room.limits(*state, node));
        let members: Vec<u32> = gang.kinds.iter().map(|kind| kind.members).collect();
        for node in nodes {
            let likeness = room.likeness(*state, *node);
            if let Some(place) = places.get(&likeness) {
                place.iter().for_each(|place| alike[*place].nodes.push(*node));
                continue;
            }
            let alone = room.alone_at_most(*state, gang, *node, budget);
            if alone.is_empty() {
                places.insert(likeness, None);
                continue;
            }
            let needs: Vec<Vec<u64>> = gang.kinds.iter().map(|kind| kind.needs.0.clone()).collect();
            let free = room.limits(*state, *node);
            // An axis along which a node is but a small part of what is needed says more than one along which nearly all is left.
            let is_scarce = |axis: usize| {
                let needed =
                    gang.kinds.iter().map(|kind| u128::from(kind.needs.get(axis)) * u128::from(kind.members));
                2 * needed.sum::<u128>() >= loads[axis]
            };
            places.insert(likeness, Some(alike.len()));
            alike.push(Alike::new(*node, &alone, &needs, &free, is_scarce));
        }
        Stock { members, alike }
    }

    /// How many nodes of each likeness there are.
    pub fn counts(&self) -> Vec<u32> {
        self.alike.iter().map(|alike| alike.nodes.len() as u32).collect()
    }

    /// Loads of nodes that are counted, as loads of nodes that have names.
    pub fn name(&self, loads: Vec<(usize, Load)>) -> Vec<(NodeIdx, Load)> {
        let mut used = vec![0; self.alike.len()];
        let mut named = |(group, load): (usize, Load)| {
            let node = self.alike[group].nodes[used[group]];
            used[group] += 1;
            (node, load)
        };
        loads.into_iter().filter(|(_, load)| !load.is_empty()).map(&mut named).collect()
    }
}

/// What there is in all along each axis.
fn loads_of_axes(axes: usize, nodes: &[NodeIdx], limits: &mut dyn FnMut(NodeIdx) -> Vec<u64>) -> Vec<u128> {
    let mut sum = vec![0_u128; axes];
    for node in nodes {
        sum.iter_mut().zip(limits(*node)).for_each(|(sum, free)| *sum += u128::from(free));
    }
    sum
}

impl Alike {
    fn new(
        node: NodeIdx,
        alone: &Load,
        needs: &[Vec<u64>],
        free: &[u64],
        is_scarce: impl Fn(usize) -> bool,
    ) -> Alike {
        let total = |axis: usize| {
            let of_kind = |(kind, count): (usize, u32)| u128::from(needs[kind][axis]) * u128::from(count);
            alone.present().map(of_kind).sum::<u128>()
        };
        let axes: Vec<usize> =
            (0..free.len()).filter(|axis| total(*axis) > u128::from(free[*axis])).collect();
        let share = |kind: usize, axis: usize| {
            let share = u128::from(needs[kind][axis]) * u128::from(WHOLE) / u128::from(free[axis].max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let scarce: Vec<usize> = axes.iter().copied().filter(|axis| is_scarce(*axis)).collect();
        let sum = |kind: usize| scarce.iter().map(|axis| share(kind, *axis)).fold(0, u64::saturating_add);
        let largest = |kind: usize| axes.iter().map(|axis| share(kind, *axis)).max().unwrap_or(0);
        let size = |kind: usize| if scarce.is_empty() { largest(kind) } else { sum(kind) }.max(1);
        Alike {
            nodes: vec![node],
            alone: alone.counts().to_vec(),
            sizes: (0..needs.len()).map(size).collect(),
            free: axes.iter().map(|axis| free[*axis]).collect(),
            needs: needs.iter().map(|needs| axes.iter().map(|axis| needs[*axis]).collect()).collect(),
            shares: (0..needs.len())
                .map(|kind| axes.iter().map(|axis| share(kind, *axis)).collect())
                .collect(),
            weights: axes.iter().map(|axis| if scarce.contains(axis) { WEIGHT } else { 0 }).collect(),
            is_strict: false,
        }
    }

    /// How many members of a kind there are amounts for, up to a bound.
    pub fn fitting(&self, kind: usize, rest: &[u64], bound: u32) -> u32 {
        let of_axis = |(need, rest): (&u64, &u64)| rest.checked_div(*need);
        let most = self.needs[kind].iter().zip(rest).filter_map(of_axis).min();
        most.map_or(bound, |most| bound.min(u32::try_from(most).unwrap_or(bound)))
    }

    /// Takes what members need away from what is left, or with a negative sign gives it back.
    pub fn take(&self, kind: usize, count: u32, rest: &mut [u64]) {
        for (need, rest) in self.needs[kind].iter().zip(rest) {
            *rest -= need * u64::from(count);
        }
    }

    /// How much of a node is left, and along which axis the least.
    pub fn rest_of(&self, rest: &[u64]) -> (u64, u64) {
        let share = |(rest, free): (&u64, &u64)| {
            u64::try_from(u128::from(*rest) * u128::from(WHOLE) / u128::from((*free).max(1))).unwrap_or(WHOLE)
        };
        let shares = rest.iter().zip(&self.free).map(share);
        (shares.clone().sum(), shares.min().unwrap_or(WHOLE))
    }
}
