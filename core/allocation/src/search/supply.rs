//! Forward checks of counters: may what is left of them cover what is still wanted?
//!
//! Three bounds, each of which sees what the others miss. In every set at most as many devices fit as if each were as cheap
//! as the cheapest, which tells when what is left over is too little for one more. In a pool, what is left of a counter in
//! all sets together bounds what all requests draw. And a counter that has room for one more device only is a place, of
//! which a pool has so many.

use std::ops::Range;
use std::sync::Arc;

use fixedbitset::FixedBitSet;

use super::Search;
use super::cuts::Cut;
use super::forward::{Demand, Shortage};
use crate::counters::ParsedCounterSet;
use crate::problem::Problem;
use crate::refusal::{Stage, StageCount};

impl Search {
    /// Counters that cannot cover a demand by itself, or all of them together.
    pub(super) fn overdrawing(&self, demands: &[Demand]) -> Option<Shortage> {
        if self.problem.counters.sets.is_empty() {
            return None;
        }
        self.set_short_of_one(demands)
            .or_else(|| self.sets_short_of(demands))
            .or_else(|| self.pool_short_of(demands))
    }

    /// A demand that the sets do not cover, even if it is the only one.
    fn set_short_of_one(&self, demands: &[Demand]) -> Option<Shortage> {
        if !self.cuts.has(Cut::Counters) {
            return None;
        }
        demands.iter().filter(|demand| demand.need > 1).find_map(|demand| {
            let most = self.most_drawn_by(&demand.open);
            (most < demand.need).then(|| not_covered(demand, most))
        })
    }

    /// The first demand that goes short when the sets are asked for as many devices as it and those before it need
    /// together, whichever of them gets which.
    fn sets_short_of(&self, demands: &[Demand]) -> Option<Shortage> {
        if !self.cuts.has(Cut::Sets) {
            return None;
        }
        // A device that two demands can have at the same time would be counted once.
        let repeats = |demand: &Demand| {
            self.problem.alternatives[demand.alternative].admin
                || !demand.open.is_disjoint(&self.supply.shareable)
        };
        let counted: Vec<&Demand> = demands.iter().filter(|demand| !repeats(demand)).collect();
        let mut open = FixedBitSet::with_capacity(self.problem.spots.len());
        counted.iter().for_each(|demand| open.union_with(&demand.open));
        let mut need = counted.iter().map(|demand| demand.need).sum();
        if counted.len() < 2 || self.most_drawn_by(&open) >= need {
            return None;
        }
        open.clear();
        need = 0;
        counted.into_iter().find_map(|demand| {
            open.union_with(&demand.open);
            let most = self.most_drawn_by(&open);
            let left = most.saturating_sub(need);
            need += demand.need;
            (most < need).then(|| not_covered(demand, left))
        })
    }

    /// At most how many of these devices the counters cover at the same time: in each set, as many as the cheapest.
    fn most_drawn_by(&self, open: &FixedBitSet) -> usize {
        let counters = &self.state.counters;
        let mut most = 0;
        // For each set the number of devices, and for each of its counters the least that one of them draws.
        let mut counts = vec![0_usize; counters.sets.len()];
        let mut least = vec![i128::MAX; counters.left.len()];
        for spot in open.ones() {
            let known = &self.problem.spots[spot];
            // A device is counted with the first set that it draws on, which bounds it well enough.
            let Some(draw) = known.draws.first().filter(|_| !known.shareable) else {
                most += 1;
                continue;
            };
            counts[draw.set as usize] += 1;
            for slot in counters.sets[draw.set as usize].slots.clone() {
                let amount = draw.amounts.iter().find(|(drawn, _)| *drawn as usize == slot);
                least[slot] = least[slot].min(amount.map_or(0, |(_, amount)| *amount));
            }
        }
        for (set, count) in counters.sets.iter().zip(counts) {
            let fits = |slot: usize| match least[slot] {
                amount if amount > 0 => (counters.left[slot] / amount).max(0) as usize,
                _ => usize::MAX,
            };
            most += set.slots.clone().map(fits).fold(count, usize::min);
        }
        most
    }

    /// The first demand for which a sum over a pool is too small, after the least that those before it draw.
    fn pool_short_of(&self, demands: &[Demand]) -> Option<Shortage> {
        if !self.cuts.has(Cut::Pools) && !self.cuts.has(Cut::Places) {
            return None;
        }
        let users = self.users(demands);
        let mut left = self.left_in_sums(&users);
        let mut least: Vec<i128> = Vec::new();
        let mut before: Option<&Demand> = None;
        for demand in demands {
            // Requests that ask for the same follow one another in a claim, so what holds for one is kept for the next.
            if before.is_none_or(|before| before.open != demand.open) {
                least = self.least_drawn(&demand.open, &users);
            }
            before = Some(demand);
            let need = demand.need as i128;
            let drawn = || left.iter().zip(&least).filter(|(_, least)| **least > 0);
            if drawn().any(|(left, least)| least.saturating_mul(need) > *left) {
                let most = drawn().map(|(left, least)| left / least).min().unwrap_or(0);
                return Some(not_covered(demand, most as usize));
            }
            left.iter_mut().zip(&least).for_each(|(left, least)| *left -= least * need);
        }
        None
    }

    /// Which requests can still draw on each counter.
    fn users(&self, demands: &[Demand]) -> Vec<User> {
        let left = &self.state.counters.left;
        let mut users = vec![User::Nobody; left.len()];
        let mut open = FixedBitSet::with_capacity(self.problem.spots.len());
        demands.iter().for_each(|demand| open.union_with(&demand.open));
        for known in open.ones().map(|spot| &self.problem.spots[spot]).filter(|spot| !spot.shareable) {
            for (slot, amount) in known.draws.iter().flat_map(|draw| &draw.amounts) {
                let (slot, amount) = (*slot as usize, *amount);
                if amount > left[slot] / 2 && amount > 0 && users[slot] != User::Several {
                    users[slot] = User::One;
                } else if amount != 0 {
                    users[slot] = User::Several;
                }
            }
        }
        users
    }

    /// What is left in each sum. What no request can draw on is of no use.
    fn left_in_sums(&self, users: &[User]) -> Vec<i128> {
        let supply = &self.supply;
        let mut sums = vec![0; supply.sums];
        for (slot, left) in self.state.counters.left.iter().enumerate() {
            if users[slot] != User::Nobody {
                sums[supply.amounts[slot]] += (*left).max(0);
            }
            if users[slot] == User::One {
                sums[supply.places[slot]] += 1;
            }
        }
        sums
    }

    /// For each sum, the least that one of the devices takes from it.
    fn least_drawn(&self, open: &FixedBitSet, users: &[User]) -> Vec<i128> {
        let supply = &self.supply;
        let (by_amount, by_place) = (self.cuts.has(Cut::Pools), self.cuts.has(Cut::Places));
        let mut least = vec![i128::MAX; supply.sums];
        let mut drawn = vec![0_i128; supply.sums];
        let mut counts = vec![0_usize; supply.of_pool.len()];
        for known in open.ones().map(|spot| &self.problem.spots[spot]).filter(|spot| !spot.shareable) {
            let sums = supply.of_pool[known.pool as usize].clone();
            counts[known.pool as usize] += 1;
            drawn[sums.clone()].fill(0);
            for (slot, amount) in known.draws.iter().flat_map(|draw| &draw.amounts) {
                let slot = *slot as usize;
                if by_amount {
                    drawn[supply.amounts[slot]] += amount;
                }
                if by_place && *amount > 0 && users[slot] == User::One {
                    drawn[supply.places[slot]] += 1;
                }
            }
            for (least, drawn) in least[sums.clone()].iter_mut().zip(&drawn[sums]) {
                *least = (*least).min((*drawn).max(0));
            }
        }
        // A request that can have a device of another pool, or one that is shared, need not draw on this one.
        let all = open.count_ones(..);
        for (sums, count) in supply.of_pool.iter().zip(counts) {
            if count < all || all == 0 {
                least[sums.clone()].fill(0);
            }
        }
        least
    }
}

/// A demand for which the counters cover so many devices only.
fn not_covered(demand: &Demand, most: usize) -> Shortage {
    let stage_count = Some(StageCount { stage: Stage::CountersTogether, left: most });
    Shortage { alternative: demand.alternative, found: most, stage_count }
}

/// A request that can still draw on a counter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum User {
    /// No device that a demand could have.
    Nobody,
    /// Any of some devices, but no two of them: it is a place that one of them takes.
    One,
    Several,
}

/// What is added up over the sets of a pool: for each pool the places, and then the counters of each name.
#[derive(Debug, Default)]
pub(super) struct Supply {
    sums: usize,
    of_pool: Vec<Range<usize>>,
    /// For each slot, the sum that its amount counts in.
    amounts: Vec<usize>,
    /// For each slot, the sum that it counts in as a place.
    places: Vec<usize>,
    shareable: FixedBitSet,
}

impl Supply {
    pub fn new(problem: &Problem) -> Supply {
        let counters = &problem.counters;
        let mut supply = Supply::default();
        if counters.sets.is_empty() {
            return supply;
        }
        supply.shareable = (0..problem.spots.len()).filter(|spot| problem.spots[*spot].shareable).collect();
        supply.of_pool = vec![0..0; counters.overdrawn.len()];
        supply.amounts = vec![0; counters.left.len()];
        supply.places = vec![0; counters.left.len()];
        for sets in counters.sets.chunk_by(|left, right| left.pool == right.pool) {
            supply.add_pool(sets);
        }
        supply
    }

    fn add_pool(&mut self, sets: &[ParsedCounterSet]) {
        let places = self.sums;
        let mut names: Vec<&Arc<str>> = Vec::new();
        for set in sets {
            for (at, (slot, name)) in set.slots.clone().zip(&set.names).enumerate() {
                // Sets of a pool are mostly alike, so the name is looked for at its place first.
                let same_place = names.get(at).filter(|known| **known == name).map(|_| at);
                let number = same_place.or_else(|| names.iter().position(|known| *known == name));
                self.amounts[slot] = places + 1 + number.unwrap_or(names.len());
                self.places[slot] = places;
                if number.is_none() {
                    names.push(name);
                }
            }
            self.of_pool[set.pool as usize] = places..places + 1 + names.len();
        }
        self.sums = places + 1 + names.len();
    }
}
