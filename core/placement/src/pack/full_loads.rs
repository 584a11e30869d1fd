//! All loads of a node that are worth enough and to which no member can be added.
//!
//! Invariant: the list has every such load, or there is no list.

use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::alike::Alike;
use crate::pack::dearest::LOOKS;
use crate::pack::worth::Worth;
use crate::state::PlacementState;

/// How many loads a list has at the most.
const LOADS_MAX: usize = 3_000;

/// How many loads are looked at for a list at the most.
const LOOKED_AT_MAX: u32 = 16_000;

/// Why there is no list.
enum Stop {
    /// There would be too many, or a question was left open.
    TooMany,
    /// The state refused what amounts allow.
    Refused,
}

/// Full loads of up to so many members of each kind that are worth at least so much, the dearest first, with what they are worth.
pub(super) fn full_loads<S: PlacementState + ?Sized>(
    alike: &mut Alike,
    prices: &[u64],
    left: &[u32],
    at_least: u64,
    inquiry: &mut Inquiry<'_, S>,
) -> Option<Vec<(u64, Load)>> {
    let bounds: Vec<u32> = alike.alone.iter().zip(left).map(|(alone, left)| *alone.min(left)).collect();
    let worth = Worth::new(alike, prices, &bounds, true);
    let was_unsure = std::mem::replace(&mut inquiry.room.unsure, false);
    let found = loop {
        let (rest, load) = (worth.free.clone(), Load::none(prices.len()));
        let mut listing = Listing { alike, worth: &worth, at_least, rest, load, found: Vec::new(), looks: 0 };
        let end = listing.go(0, 0, inquiry);
        let (looks, mut found) = (listing.looks, listing.found);
        inquiry.budget.spend(u64::from(looks / LOOKS));
        match end {
            Err(Stop::Refused) => alike.is_strict = true,
            Err(Stop::TooMany) => break None,
            Ok(()) if inquiry.room.unsure => break None,
            Ok(()) => {
                found.sort_by(|one, other| other.cmp(one));
                break Some(found);
            }
        }
    };
    inquiry.room.unsure |= was_unsure;
    found
}

struct Listing<'l> {
    alike: &'l Alike,
    worth: &'l Worth,
    at_least: u64,
    rest: Vec<u64>,
    load: Load,
    found: Vec<(u64, Load)>,
    looks: u32,
}

impl Listing<'_> {
    fn go<S: PlacementState + ?Sized>(
        &mut self,
        place: usize,
        sum: u64,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Result<(), Stop> {
        let node = self.alike.nodes[0];
        let Some(kind) = self.worth.order.get(place).copied() else { return self.keep(sum, inquiry) };
        let mut most = self.worth.fitting(place, &self.rest);
        if self.alike.is_strict {
            let Inquiry { state, room, budget, .. } = inquiry;
            most = room.most(*state, node, &self.load, kind, most, budget);
        }
        // No member comes after the last kind that could fill what it leaves.
        let least = if place + 1 == self.worth.order.len() { most } else { 0 };
        self.worth.take(place, most, &mut self.rest);
        for count in (least..=most).rev() {
            self.looks += 1;
            if self.looks > LOOKED_AT_MAX {
                return Err(Stop::TooMany);
            }
            let here = sum + self.worth.prices[place] * u64::from(count);
            if here + self.worth.most(place + 1, &self.rest) >= self.at_least {
                self.load.set(kind, count);
                self.go(place + 1, here, inquiry)?;
            }
            if count > 0 {
                self.worth.give_back(place, 1, &mut self.rest);
            }
        }
        if least > 0 {
            self.worth.give_back(place, least - 1, &mut self.rest);
        }
        self.load.set(kind, 0);
        Ok(())
    }

    /// Keeps the load if no member can be added to it.
    fn keep<S: PlacementState + ?Sized>(
        &mut self,
        sum: u64,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Result<(), Stop> {
        let Inquiry { state, room, budget, .. } = inquiry;
        let node = self.alike.nodes[0];
        for (place, kind) in self.worth.order.iter().enumerate() {
            let count = self.load.get(*kind);
            if count < self.worth.bounds[place] && self.worth.fitting(place, &self.rest) > 0 {
                let mut more = self.load.clone();
                more.set(*kind, count + 1);
                if !self.alike.is_strict || room.takes(*state, node, &more, budget) {
                    return Ok(());
                }
            }
        }
        if !self.alike.is_strict && !room.takes(*state, node, &self.load, budget) {
            return Err(if room.unsure { Stop::TooMany } else { Stop::Refused });
        }
        if self.found.len() == LOADS_MAX {
            return Err(Stop::TooMany);
        }
        self.found.push((sum, self.load.clone()));
        Ok(())
    }
}
