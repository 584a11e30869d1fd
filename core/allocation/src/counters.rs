//! What is left in the counter sets of all pools, and which groups hold them.
//!
//! A counter is a slot in one long row. Groups have numbers, the same in all sets, so that sets can be compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::ledger::{Holdings, Ledger};
use cluster::pools::WholePool;
use gates::{Gate, Gates};
use model::device::{Device, DeviceId};
use model::quantity::NANOS_MAX;
use smallvec::SmallVec;

use crate::problem::ParsedDraw;

/// All counter sets.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Counters {
    pub sets: Vec<ParsedCounterSet>,
    /// What is left in each slot, in billionths.
    pub left: Vec<i128>,
    /// How many slots of each pool are below zero.
    pub overdrawn: Vec<u32>,
    index: BTreeMap<(u32, Arc<str>), u32>,
    groups: BTreeMap<Arc<str>, u32>,
}

/// A counter set.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ParsedCounterSet {
    pub name: Arc<str>,
    pub pool: u32,
    /// Its slots, in the order of names.
    pub slots: std::ops::Range<usize>,
    pub names: Vec<Arc<str>>,
    pub members: Members,
}

/// Devices that hold a counter set.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Members {
    /// None.
    #[default]
    None,
    /// Devices without groups.
    Ungrouped,
    /// Devices that have these groups in common.
    Grouped(SmallVec<[u32; 2]>),
    /// Devices beside which no other may join until one of them is gone: some have groups and others have none, or groups are
    /// not understood. Which of them came first does not matter.
    Closed,
}

impl Members {
    /// The devices that hold the set when another joins; `None` if it may not.
    pub fn joined_by(&self, groups: &[u32]) -> Option<Members> {
        match self {
            Members::None if groups.is_empty() => Some(Members::Ungrouped),
            Members::None => Some(Members::Grouped(groups.into())),
            Members::Ungrouped if groups.is_empty() => Some(Members::Ungrouped),
            Members::Grouped(held) => {
                let common: SmallVec<[u32; 2]> =
                    held.iter().copied().filter(|group| groups.contains(group)).collect();
                (!common.is_empty()).then_some(Members::Grouped(common))
            }
            Members::Ungrouped | Members::Closed => None,
        }
    }

    /// The devices that hold the set with one that is on it already, whether or not it should be. Devices that contradict each other
    /// leave room for none, in whichever order they are counted.
    fn with(self, groups: &[u32]) -> Members {
        match (self, groups.is_empty()) {
            (Members::None, _) => Members::None.joined_by(groups).unwrap_or_default(),
            (Members::Ungrouped, true) => Members::Ungrouped,
            (Members::Grouped(held), false) => {
                Members::Grouped(held.into_iter().filter(|group| groups.contains(group)).collect())
            }
            (Members::Ungrouped, false) | (Members::Grouped(_), true) | (Members::Closed, _) => {
                Members::Closed
            }
        }
    }
}

/// What a device draws.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    pub parsed: SmallVec<[ParsedDraw; 1]>,
    /// No amount was too large to be counted, or below zero. A device for which this is not so is never given: whether the
    /// counters cover it cannot be told, or it would make room for others by being taken.
    pub counted: bool,
}

impl Counters {
    /// Adds a pool: its counters less what the holders of its devices draw. Says what number it has.
    pub fn add_pool(&mut self, pool: &WholePool, ledger: &Ledger, gates: Gates) -> u32 {
        let number = self.overdrawn.len() as u32;
        self.overdrawn.push(0);
        if pool.counters.is_empty() {
            return number;
        }
        for set in pool.counters.iter().flat_map(|slice| &slice.slice.counter_sets) {
            let start = self.left.len();
            self.left.extend(set.counters.values().map(|value| {
                value.nanos().unwrap_or(if value.signum() < 0 { -NANOS_MAX } else { NANOS_MAX })
            }));
            self.index.insert((number, set.name.clone()), self.sets.len() as u32);
            self.sets.push(ParsedCounterSet {
                name: set.name.clone(),
                pool: number,
                slots: start..self.left.len(),
                names: set.counters.keys().cloned().collect(),
                members: Members::None,
            });
        }
        self.count_holders(number, pool, ledger, gates);
        for set in self.sets.iter().filter(|set| set.pool == number) {
            let below = self.left[set.slots.clone()].iter().filter(|left| **left < 0).count();
            self.overdrawn[number as usize] += below as u32;
        }
        number
    }

    /// Takes off what allocated devices draw. What they draw is read from the slices, the groups from the holdings, as a
    /// slice may have been rewritten since. Groups that were not noted are those that the device declares now.
    fn count_holders(&mut self, number: u32, pool: &WholePool, ledger: &Ledger, gates: Gates) {
        let slices = pool.here.iter().chain(&pool.elsewhere);
        for device in slices.flat_map(|slice| &slice.slice.devices) {
            let id = DeviceId {
                driver: pool.id.driver.clone(),
                pool: pool.id.pool.clone(),
                device: device.name.clone(),
            };
            let Some(holdings) = ledger.holdings(&id) else { continue };
            for draw in self.draws(number, device).parsed {
                for (slot, amount) in &draw.amounts {
                    self.left[*slot as usize] -= amount;
                }
                self.join(&draw, holdings, gates);
            }
        }
        // Once more for devices that are no longer published, or no longer draw on the set; the others are in it already.
        for holding in ledger.grouped(&pool.id).flat_map(Holdings::iter) {
            for (name, groups) in &holding.groups {
                let Some(set) = self.index.get(&(number, name.clone())).copied() else { continue };
                let groups = self.numbers(groups);
                self.count(set, &groups, gates);
            }
        }
    }

    /// Counts the holders of a device among those of a counter set.
    fn join(&mut self, draw: &ParsedDraw, holdings: &Holdings, gates: Gates) {
        let name = self.sets[draw.set as usize].name.clone();
        for holding in holdings.iter() {
            let noted = holding.groups.get(&name).map(|groups| self.numbers(groups));
            let groups =
                if holding.groups.is_empty() { draw.groups.clone() } else { noted.unwrap_or_default() };
            self.count(draw.set, &groups, gates);
        }
    }

    /// Counts a device that holds a counter set already.
    fn count(&mut self, set: u32, groups: &[u32], gates: Gates) {
        let members = &mut self.sets[set as usize].members;
        if gates.enabled(Gate::DRADeviceCompatibilityGroups) {
            *members = std::mem::take(members).with(groups);
        } else if !groups.is_empty() {
            *members = Members::Closed;
        }
    }

    /// What a device of the pool draws.
    pub fn draws(&mut self, pool: u32, device: &Device) -> Draws {
        let mut draws = Draws { parsed: SmallVec::new(), counted: true };
        for draw in &device.draws {
            let Some(set) = self.index.get(&(pool, draw.counter_set.clone())).copied() else { continue };
            let parsed = &self.sets[set as usize];
            let mut amounts = SmallVec::new();
            // Both are in the order of names, so one walk meets all that they have in common.
            let mut known = parsed.names.iter().zip(parsed.slots.clone()).peekable();
            for (name, amount) in &draw.counters {
                while known.next_if(|(known, _)| *known < name).is_some() {}
                let Some((_, slot)) = known.next_if(|(known, _)| *known == name) else { continue };
                let nanos = amount.nanos();
                draws.counted &= nanos.is_some_and(|nanos| nanos >= 0);
                amounts.push((slot as u32, nanos.unwrap_or(NANOS_MAX)));
            }
            let groups = self.numbers(&draw.groups);
            draws.parsed.push(ParsedDraw { set, amounts, groups });
        }
        draws
    }

    /// Whether what is left covers the draws. While any counter of the pool is below zero nothing more is given that draws
    /// on any of them.
    pub fn cover(&self, draws: &[ParsedDraw], pool: u32) -> bool {
        draws.is_empty()
            || (self.overdrawn[pool as usize] == 0
                && draws
                    .iter()
                    .flat_map(|draw| &draw.amounts)
                    .all(|(slot, amount)| *amount <= self.left[*slot as usize]))
    }

    /// Whether the devices that hold the sets let a device join.
    pub fn admit(&self, draws: &[ParsedDraw]) -> bool {
        draws.iter().all(|draw| self.sets[draw.set as usize].members.joined_by(&draw.groups).is_some())
    }

    /// Groups by number, sorted.
    fn numbers(&mut self, groups: &[Arc<str>]) -> SmallVec<[u32; 2]> {
        let mut numbers: SmallVec<[u32; 2]> = groups
            .iter()
            .map(|group| {
                let next = self.groups.len() as u32;
                *self.groups.entry(group.clone()).or_insert(next)
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}
