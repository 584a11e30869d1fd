//! How much of one counter can be drawn within what is left of another.
//!
//! A partition draws on its card, and on the switch that the card is plugged into. Each counter by itself may suffice: the cards have enough
//! slices, the switches enough lanes. But where a switch has few lanes left, the slices of its cards cannot all be had.
//!
//! Invariant: no choice among the devices that are open draws more than is said here.

use super::bits;
use super::board::Board;
use super::model::Model;
use crate::work;

/// Up to so many units of the other counter it is told what can be drawn.
const UNITS_MAX: i128 = 256;

/// A counter, and another that all of its devices draw on as well.
#[derive(Debug)]
pub(super) struct Coupling {
    /// All amounts that are drawn of the other counter are multiples of it.
    unit: i128,
    within: Vec<Place>,
}

/// Where the other counter is, and the places of the counter whose devices draw on it there.
#[derive(Debug)]
struct Place {
    slot: u32,
    parts: Vec<Part>,
}

/// Devices that draw on one place of the counter.
#[derive(Debug)]
struct Part {
    /// The place, as one of those of the counter.
    at: usize,
    /// Devices, what they draw, and how many units of the other counter.
    devices: Vec<(u32, i128, i128)>,
}

impl Coupling {
    /// The counter at these slots and another one at those, of which each that draws on the former draws at one place each; nothing if
    /// that is not so.
    pub fn new(model: &Model, of: &[u32], within: &[u32], unit: i128) -> Option<Coupling> {
        let mut places: Vec<Place> = Vec::new();
        for (number, facet) in
            model.devices.iter().enumerate().filter(|(number, _)| model.is_counted(*number))
        {
            let at = |slots: &[u32]| {
                let amounts = facet.amounts.iter().filter(|(_, amount)| *amount != 0);
                let mut here =
                    amounts.filter_map(|(slot, amount)| Some((slots.binary_search(slot).ok()?, *amount)));
                (here.next(), here.next().is_some())
            };
            let (drawn, other) = match (at(of), at(within)) {
                ((None, _), _) => continue,
                ((Some(drawn), false), (Some(other), false)) => (drawn, other),
                _ => return None,
            };
            let slot = within[other.0];
            let place = places.iter().position(|place| place.slot == slot).unwrap_or_else(|| {
                places.push(Place { slot, parts: Vec::new() });
                places.len() - 1
            });
            let parts = &mut places[place].parts;
            let part = parts.iter().position(|part| part.at == drawn.0).unwrap_or_else(|| {
                parts.push(Part { at: drawn.0, devices: Vec::new() });
                parts.len() - 1
            });
            parts[part].devices.push((number as u32, drawn.1, other.1 / unit));
        }
        (!places.is_empty()).then_some(Coupling { unit, within: places })
    }

    /// The most that can be drawn in all, if at each place of the counter there is so much. `useful` are the devices that are open to
    /// any request.
    pub fn drawable(&self, board: &Board, left: &[i128], useful: &[u64], spent: &mut u64) -> i128 {
        let at_place = |place: &Place| {
            let units = board.left[place.slot as usize].max(0) / self.unit;
            if units > UNITS_MAX {
                return place.parts.iter().map(|part| left[part.at]).sum();
            }
            let mut best = vec![0; units as usize + 1];
            for (number, part) in place.parts.iter().enumerate() {
                let of_part = part.by_units(units as usize, left[part.at], useful, spent);
                best = if number == 0 { of_part } else { together(&best, &of_part, spent) };
            }
            best.last().copied().unwrap_or(0)
        };
        self.within.iter().map(at_place).sum()
    }
}

impl Part {
    /// The most that can be drawn within each number of units of the other counter, up to so many.
    fn by_units(&self, units: usize, left: i128, useful: &[u64], spent: &mut u64) -> Vec<i128> {
        let open = self.devices.iter().filter(|(device, ..)| bits::contains(useful, *device as usize));
        let mut best = vec![0; units + 1];
        for (_, drawn, other) in open {
            let other = *other as usize;
            if other > units || *drawn > left {
                continue;
            }
            *spent += (units + 1 - other) as u64 * work::WORD;
            for at in (other..=units).rev() {
                best[at] = best[at].max(best[at - other] + drawn);
            }
        }
        best.iter_mut().for_each(|best| *best = (*best).min(left));
        best
    }
}

/// The most that can be drawn of both within each number of units.
fn together(one: &[i128], other: &[i128], spent: &mut u64) -> Vec<i128> {
    *spent += (one.len() * one.len() / 2) as u64 * work::WORD;
    let most = |units: usize| (0..=units).map(|part| one[part] + other[units - part]).max();
    (0..one.len()).map(|units| most(units).unwrap_or(0)).collect()
}
