//! Which of several placements is best.

use cluster::nodes::NodeIdx;
use rustc_hash::FxHashMap;

use crate::answer::Seats;
use crate::arithmetic::Amounts;
use crate::gang::Gang;
use crate::generator::Domain;

/// A placement that is to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Scored<'p> {
    /// The gang.
    pub gang: &'p Gang,
    /// The domain.
    pub domain: &'p Domain,
    /// What nodes of the domain have left before the gang comes.
    pub free: &'p FxHashMap<NodeIdx, Amounts>,
    /// What no node has for itself and some of these can use.
    pub shared: &'p Amounts,
    /// The seats.
    pub seats: &'p [Seats],
}

/// Judges placements.
pub trait PlacementScorer {
    /// How good a placement is, from 0 to 1.
    fn score(&self, placement: &Scored<'_>) -> f64;
}

/// A scorer, and how much it counts.
pub struct Weighted<'s> {
    /// The scorer.
    pub scorer: &'s dyn PlacementScorer,
    /// How much it counts.
    pub weight: f64,
}

/// What scorers make of a placement together; more is better.
#[must_use]
pub fn judge(scorers: &[Weighted<'_>], placement: &Scored<'_>) -> f64 {
    scorers.iter().map(|one| one.weight * one.scorer.score(placement)).sum()
}

/// Domains in which little is left over are better: larger ones stay free for larger gangs.
#[derive(Clone, Copy, Debug)]
pub struct TightestFit;

/// Domains in which much is left over are better: what is there already has room to grow.
#[derive(Clone, Copy, Debug)]
pub struct LooseFit;

/// Placements for more members are better, if not all have to be seated.
#[derive(Clone, Copy, Debug)]
pub struct MostMembers;

/// Placements on fewer nodes are better.
#[derive(Clone, Copy, Debug)]
pub struct FewestNodes;

/// Placements in fewer parts of their domain are better.
#[derive(Clone, Copy, Debug)]
pub struct FewestParts;

/// Placements that use up the nodes that they touch are better: what is left over is in one piece.
#[derive(Clone, Copy, Debug)]
pub struct LeastFragments;

impl PlacementScorer for TightestFit {
    fn score(&self, placement: &Scored<'_>) -> f64 {
        used(placement, placement.domain.nodes.iter())
    }
}

impl PlacementScorer for LooseFit {
    fn score(&self, placement: &Scored<'_>) -> f64 {
        1.0 - TightestFit.score(placement)
    }
}

impl PlacementScorer for MostMembers {
    fn score(&self, placement: &Scored<'_>) -> f64 {
        let seated: u32 = placement.seats.iter().map(|seats| seats.load.total()).sum();
        f64::from(seated) / f64::from(placement.gang.members().max(1))
    }
}

impl PlacementScorer for FewestNodes {
    fn score(&self, placement: &Scored<'_>) -> f64 {
        1.0 / placement.seats.len().max(1) as f64
    }
}

impl PlacementScorer for FewestParts {
    fn score(&self, placement: &Scored<'_>) -> f64 {
        let Domain { nodes, parts, .. } = placement.domain;
        let parts: FxHashMap<NodeIdx, u32> = nodes.iter().copied().zip(parts.iter().copied()).collect();
        let mut used: Vec<u32> =
            placement.seats.iter().filter_map(|seats| parts.get(&seats.node).copied()).collect();
        used.sort_unstable();
        used.dedup();
        1.0 / used.len().max(1) as f64
    }
}

impl PlacementScorer for LeastFragments {
    fn score(&self, placement: &Scored<'_>) -> f64 {
        used(placement, placement.seats.iter().map(|seats| &seats.node))
    }
}

/// How much of what nodes have the gang takes, over all axes that it needs something of.
fn used<'n>(placement: &Scored<'_>, nodes: impl Iterator<Item = &'n NodeIdx>) -> f64 {
    let Scored { gang, free, shared, seats, .. } = placement;
    let mut had = Amounts::nothing(gang.axes.len());
    had.add(shared);
    nodes.filter_map(|node| free.get(node)).for_each(|free| had.add(free));
    let taken = |axis: usize| {
        let of_load = |seats: &Seats| {
            let needs = |(kind, count): (usize, u32)| {
                gang.kinds[kind].needs.get(axis).saturating_mul(u64::from(count))
            };
            seats.load.present().map(needs).sum::<u64>()
        };
        seats.iter().map(of_load).sum::<u64>()
    };
    let shares: Vec<f64> = (0..gang.axes.len())
        .map(|axis| (taken(axis), had.get(axis)))
        .filter(|(taken, _)| *taken > 0)
        .map(|(taken, had)| taken as f64 / had.max(taken) as f64)
        .collect();
    if shares.is_empty() { 1.0 } else { shares.iter().sum::<f64>() / shares.len() as f64 }
}
