//! A proof by adding up: what all requests draw at least is more than can be drawn.
//!
//! What can be drawn from a counter is added up over the sets of a pool, and from a capacity over all devices that can be shared.
//! It is what is left, less what remains over whichever of the devices that are still open are taken. Each request draws
//! at least what the cheapest of its devices draws. Where amounts are large, it is also counted how many of them go where, and where
//! devices draw on two counters, how much of one can be had within what is left of the other.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::aids::{Aid, Aids};
use super::board::Board;
use super::coupling::Coupling;
use super::model::Model;
use super::{Shortage, bits};
use crate::problem::Problem;
use crate::refusal::Stage;
use crate::work;

/// Up to so many units, what can be drawn is told exactly.
const UNITS_MAX: i128 = 1024;

/// What is added up.
#[derive(Debug)]
pub(crate) struct Sums {
    counters: Vec<Sum<u32>>,
    /// For each of the counters, with which others its devices draw on it.
    coupled: Vec<Vec<Coupling>>,
    /// Devices, and the place of the capacity among theirs.
    capacities: Vec<Sum<(u32, u32)>>,
    /// Whether it is also counted how many of the largest amounts go where.
    crowding: bool,
}

/// What a device draws at places of one sum.
type Drawn = SmallVec<[i128; 2]>;

/// Amounts of one name.
#[derive(Debug)]
struct Sum<P> {
    /// Where they are.
    places: Vec<P>,
    /// For each way, what it draws at least for one device.
    least: Vec<i128>,
    /// All amounts that are drawn are multiples of it.
    unit: i128,
    /// Some way cannot but draw on it.
    matters: bool,
    /// No device draws on it at two places.
    single: bool,
    /// What remains over is left out. No request draws twice for one device then, as admin access would.
    exact: bool,
}

impl<P> Sum<P> {
    /// Adds up over the devices of each way what `drawn` says of each place.
    fn new(model: &Model, places: Vec<P>, drawn: impl Fn(&[P], usize, usize) -> Drawn) -> Sum<P> {
        let (mut unit, mut single) = (0, true);
        let mut least = Vec::new();
        for (number, way) in model.ways.iter().enumerate() {
            let mut lowest = i128::MAX;
            for device in bits::ones(&way.open) {
                let amounts = drawn(&places, number, device);
                single &= amounts.len() <= 1;
                unit = amounts.iter().copied().fold(unit, divisor);
                lowest = lowest.min(amounts.iter().sum());
            }
            least.push(if lowest == i128::MAX { 0 } else { lowest });
        }
        let matters = least.iter().any(|least| *least > 0);
        Sum { places, least, unit: unit.max(1), matters, single, exact: false }
    }

    /// The request that goes short if each draws the least it can, and how many devices are covered for it.
    fn shortage(&self, model: &Model, board: &Board, mut left: i128, stage: Stage) -> Option<Shortage> {
        for request in 0..model.requests.len() {
            if board.is_done(model, request) {
                continue;
            }
            let drawn = |way: usize| self.least[way].saturating_mul(i128::from(board.missing(model, way)));
            let way = board.ways(model, request).min_by_key(|way| drawn(*way))?;
            if drawn(way) > left {
                let covered = board.picks[request].len() as i128 + left.max(0) / self.least[way];
                return Some(Shortage { request, found: covered as usize, stage });
            }
            left -= drawn(way);
        }
        None
    }

    /// The request that goes short if it is counted how many of the largest amounts go where: of amounts of nine, one goes where
    /// seventeen are left.
    fn crowded(&self, model: &Model, board: &Board, left: &[i128], stage: Stage) -> Option<Shortage> {
        let open = (0..model.requests.len()).filter(|request| self.single && !board.is_done(model, *request));
        let mut wants: Vec<(i128, usize, usize)> = open
            .filter_map(|request| {
                let amount = board.ways(model, request).map(|way| self.least[way]).min()?;
                let missing = board.ways(model, request).map(|way| board.missing(model, way)).min()?;
                (amount > 0).then_some((amount, request, missing as usize))
            })
            .collect();
        wants.sort_by_key(|(amount, request, _)| (-amount, *request));
        let mut needed = 0;
        for (amount, request, missing) in wants {
            let seats: i128 = left.iter().map(|left| left / amount).sum();
            let seats = usize::try_from(seats).unwrap_or(usize::MAX);
            if needed + missing > seats {
                let found = board.picks[request].len() + seats.saturating_sub(needed);
                return Some(Shortage { request, found, stage });
            }
            needed += missing;
        }
        None
    }

    /// The most that can be drawn of what is left by taking some of these amounts.
    fn drawable(&self, left: i128, amounts: impl Iterator<Item = i128>) -> i128 {
        let units = left.max(0) / self.unit;
        if units > UNITS_MAX || !self.exact {
            return units * self.unit;
        }
        let end = units as usize;
        let mut reached = vec![0_u64; end / 64 + 1];
        reached[0] = 1;
        for amount in amounts.filter(|amount| *amount > 0 && *amount <= left) {
            shift_in(&mut reached, (amount / self.unit) as usize);
            if bits::contains(&reached, end) {
                return units * self.unit;
            }
        }
        let most = (0..=end).rev().find(|sum| bits::contains(&reached, *sum));
        most.unwrap_or(0) as i128 * self.unit
    }
}

/// Adds to all sums that are reached those with one amount more.
fn shift_in(reached: &mut [u64], by: usize) {
    let (words, bits) = (by / 64, by % 64);
    for at in (words..reached.len()).rev() {
        let low = if bits == 0 || at == words { 0 } else { reached[at - words - 1] >> (64 - bits) };
        reached[at] |= reached[at - words] << bits | low;
    }
}

fn divisor(left: i128, right: i128) -> i128 {
    if right == 0 { left } else { divisor(right, left % right) }
}

impl Sums {
    /// What is added up, and in which ways.
    pub fn new(problem: &Problem, model: &Model, aids: Aids) -> Sums {
        let mut counters: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for set in &problem.counters.sets {
            for (slot, name) in set.slots.clone().zip(&set.names) {
                counters.entry((set.pool, name)).or_default().push(slot as u32);
            }
        }
        let mut capacities: BTreeMap<_, Vec<(u32, u32)>> = BTreeMap::new();
        for (number, spot) in problem.spots.iter().enumerate().filter(|(_, spot)| spot.shareable) {
            for (at, name) in spot.device().capacity.keys().enumerate() {
                capacities.entry(name).or_default().push((number as u32, at as u32));
            }
        }
        let of_counter = |slots: &[u32], _: usize, device: usize| {
            let amounts = model.devices[device].amounts.iter();
            let drawn =
                amounts.filter(|(slot, _)| model.is_counted(device) && slots.binary_search(slot).is_ok());
            drawn.map(|(_, amount)| *amount).collect()
        };
        let of_capacity = |places: &[(u32, u32)], way: usize, device: usize| {
            let place = places.binary_search_by_key(&(device as u32), |(device, _)| *device).ok();
            let taken = place.and_then(|at| model.ways[way].taken(device)?.get(places[at].1 as usize));
            taken.into_iter().copied().collect()
        };
        let exact = aids.has(Aid::Remainders) && model.ways.iter().all(|way| !way.admin);
        let counters = counters.into_values().map(|slots| Sum::new(model, slots, of_counter));
        let capacities = capacities.into_values().map(|places| Sum::new(model, places, of_capacity));
        let counters: Vec<Sum<u32>> = counters.map(|sum| Sum { exact, ..sum }).collect();
        // No request draws twice for one device, as admin access would.
        let are_coupled = aids.has(Aid::Coupling) && model.ways.iter().all(|way| !way.admin);
        let coupled = |(number, sum): (usize, &Sum<u32>)| -> Vec<Coupling> {
            let others = counters.iter().enumerate().filter(|(other, _)| are_coupled && *other != number);
            let others = others.filter(|_| sum.matters);
            others
                .filter_map(|(_, within)| Coupling::new(model, &sum.places, &within.places, within.unit))
                .collect()
        };
        let coupled = counters.iter().enumerate().map(coupled).collect();
        Sums {
            counters,
            coupled,
            capacities: capacities.map(|sum| Sum { exact, ..sum }).collect(),
            crowding: aids.has(Aid::Crowding),
        }
    }

    /// The request that goes short, and how many devices are covered for it. `useful` are the devices that are open to any request.
    pub fn shortage(
        &self,
        model: &Model,
        board: &Board,
        useful: &[u64],
        spent: &mut u64,
    ) -> Option<Shortage> {
        for (sum, coupled) in self.counters.iter().zip(&self.coupled).filter(|(sum, _)| sum.matters) {
            let drawable = |slot: &u32| {
                let set = model.counters.sets.partition_point(|set| set.slots.end <= *slot as usize);
                let open = model.on_set[set].iter().map(|device| *device as usize);
                let amounts = open.filter(|device| bits::contains(useful, *device)).map(|device| {
                    let drawn = model.devices[device].amounts.iter().find(|(drawn, _)| drawn == slot);
                    drawn.filter(|_| model.is_counted(device)).map_or(0, |(_, amount)| *amount)
                });
                sum.drawable(board.left[*slot as usize], amounts)
            };
            *spent += sum.places.len() as u64 * 8 * work::GLANCE;
            let left: Vec<i128> = sum.places.iter().map(drawable).collect();
            let short = self.short_of(sum, model, board, &left, Stage::CountersTogether).or_else(|| {
                let within = |coupling: &Coupling| coupling.drawable(board, &left, useful, spent);
                let most = coupled.iter().map(within).min()?;
                sum.shortage(model, board, most, Stage::CountersTogether)
            });
            if short.is_some() {
                return short;
            }
        }
        for sum in self.capacities.iter().filter(|sum| sum.matters) {
            let drawable = |(device, at): &(u32, u32)| {
                let device = *device as usize;
                let sharers = model.devices[device].sharers.iter().map(|way| *way as usize);
                let open = sharers.filter(|way| {
                    board.is_possible(model, *way) && bits::contains(board.open(model, *way), device)
                });
                let amounts =
                    open.map(|way| model.ways[way].taken(device).map_or(0, |taken| taken[*at as usize]));
                sum.drawable(board.capacity_left[device][*at as usize], amounts)
            };
            *spent += sum.places.len() as u64 * 16 * work::GLANCE;
            let left: Vec<i128> = sum.places.iter().map(drawable).collect();
            let short = self.short_of(sum, model, board, &left, Stage::CapacityTaken);
            if short.is_some() {
                return short;
            }
        }
        None
    }

    fn short_of<P>(
        &self,
        sum: &Sum<P>,
        model: &Model,
        board: &Board,
        left: &[i128],
        stage: Stage,
    ) -> Option<Shortage> {
        let short = sum.shortage(model, board, left.iter().sum(), stage.clone());
        short.or_else(|| if self.crowding { sum.crowded(model, board, left, stage) } else { None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_reached_across_words() {
        let mut reached = vec![1, 0, 0];
        shift_in(&mut reached, 60);
        shift_in(&mut reached, 70);
        let sums: Vec<usize> = bits::ones(&reached).collect();
        assert_eq!(sums, [0, 60, 70, 130]);
    }

    #[test]
    fn what_remains_over_cannot_be_drawn() {
        let sum =
            Sum { places: vec![()], least: Vec::new(), unit: 2, matters: true, single: true, exact: true };
        assert_eq!(sum.drawable(11, [4, 4, 6].into_iter()), 10);
        assert_eq!(sum.drawable(9, [6, 6].into_iter()), 6);
        assert_eq!(sum.drawable(-1, [6, 6].into_iter()), 0);
        assert_eq!(sum.drawable(1_000_001, [6].into_iter()), 1_000_000);
    }
}
