//! The load of a node that is worth the most.
//!
//! Invariant: no load that the node takes is worth more than what is said, whether or not the search for it came to its end.

use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::alike::Alike;
use crate::pack::worth::Worth;
use crate::state::PlacementState;

/// How many loads are looked at for one node at the most.
const LOOKED_AT_MAX: u32 = 8_000;

/// A step of a search that as many looks at amounts stand for.
pub(super) const LOOKS: u32 = 4;

/// The load of a node that is worth the most.
#[derive(Clone, Debug)]
pub(super) struct Dearest {
    /// What no load is worth more than.
    pub worth: u64,
    /// A load that the node takes, of that worth if the search came to its end.
    pub load: Load,
}

/// The dearest load of a node, of up to so many members of each kind. A load that is known to be taken is where it begins.
pub(super) fn dearest<S: PlacementState + ?Sized>(
    alike: &mut Alike,
    prices: &[u64],
    left: &[u32],
    known: Option<&Load>,
    inquiry: &mut Inquiry<'_, S>,
) -> Dearest {
    let bounds: Vec<u32> = alike.alone.iter().zip(left).map(|(alone, left)| *alone.min(left)).collect();
    let worth = Worth::new(alike, prices, &bounds, false);
    let most = worth.most(0, &worth.free);
    let clipped =
        known.map(|load| Load::new(load.counts().iter().zip(&bounds).map(|(one, bound)| *one.min(bound))));
    let known = clipped.unwrap_or_else(|| Load::none(prices.len()));
    let sum = known.present().map(|(kind, count)| prices[kind] * u64::from(count)).sum();
    let was_unsure = std::mem::replace(&mut inquiry.room.unsure, false);
    let found = loop {
        let mut descent = Descent {
            alike,
            worth: &worth,
            rest: worth.free.clone(),
            load: Load::none(prices.len()),
            best: sum,
            best_load: known.clone(),
            looks: 0,
        };
        let end = descent.go(0, 0, inquiry);
        let (looks, best, load) = (descent.looks, descent.best, descent.best_load);
        inquiry.budget.spend(u64::from(looks / LOOKS));
        match end {
            End::Refused => alike.is_strict = true,
            End::Whole if !inquiry.room.unsure => break Dearest { worth: best, load },
            End::Whole | End::Cut => break Dearest { worth: most, load },
        }
    };
    inquiry.room.unsure |= was_unsure;
    found
}

/// How a search for a load ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Whole,
    /// There was too much to look at.
    Cut,
    /// The state refused what amounts allow.
    Refused,
}

struct Descent<'d> {
    alike: &'d Alike,
    worth: &'d Worth,
    rest: Vec<u64>,
    load: Load,
    best: u64,
    best_load: Load,
    looks: u32,
}

impl Descent<'_> {
    /// Looks at all loads that have these members up to a place in the order, unless none of them can be worth more.
    fn go<S: PlacementState + ?Sized>(
        &mut self,
        place: usize,
        sum: u64,
        inquiry: &mut Inquiry<'_, S>,
    ) -> End {
        let Inquiry { state, room, budget, .. } = inquiry;
        let node = self.alike.nodes[0];
        let Some(kind) = self.worth.order.get(place).copied() else {
            if sum > self.best {
                if !self.alike.is_strict && !room.takes(*state, node, &self.load, budget) {
                    return if room.unsure { End::Cut } else { End::Refused };
                }
                (self.best, self.best_load) = (sum, self.load.clone());
            }
            return End::Whole;
        };
        let mut most = self.worth.fitting(place, &self.rest);
        if self.alike.is_strict {
            most = room.most(*state, node, &self.load, kind, most, budget);
        }
        let price = self.worth.prices[place];
        self.worth.take(place, most, &mut self.rest);
        for count in (0..=most).rev() {
            self.looks += 1;
            let here = sum + price * u64::from(count);
            let end = if self.looks > LOOKED_AT_MAX {
                End::Cut
            } else if here + self.worth.most(place + 1, &self.rest) > self.best {
                self.load.set(kind, count);
                self.go(place + 1, here, inquiry)
            } else {
                End::Whole
            };
            if end != End::Whole {
                return end;
            }
            if count > 0 {
                self.worth.give_back(place, 1, &mut self.rest);
            }
        }
        self.load.set(kind, 0);
        End::Whole
    }
}
