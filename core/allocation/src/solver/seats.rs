//! How many devices a counter set can give at the same time, whichever requests get them.
//!
//! Devices of a set go together only if they have a compatibility group in common, or none has any; and each draws at least what
//! the cheapest draws. A set has so many seats, and a device that stands on several sets is counted with the first.

use std::collections::BTreeMap;

use super::bits;
use super::board::Board;
use super::model::Model;

/// The devices that are counted with each set.
#[derive(Debug)]
pub(crate) struct Seats {
    at_home: Vec<Vec<u32>>,
    /// The same as sets of devices, one after the other.
    homes: Vec<u64>,
}

impl Seats {
    pub fn new(model: &Model) -> Seats {
        let mut at_home = vec![Vec::new(); model.on_set.len()];
        let mut homes = vec![0; model.on_set.len() * model.words];
        for (device, facet) in
            model.devices.iter().enumerate().filter(|(device, _)| model.is_counted(*device))
        {
            let Some((set, _)) = facet.sets.first() else { continue };
            at_home[*set as usize].push(device as u32);
            bits::insert(&mut homes[*set as usize * model.words..][..model.words], device);
        }
        Seats { at_home, homes }
    }

    pub fn is_empty(&self) -> bool {
        self.at_home.is_empty()
    }

    /// Turns the devices that each request can use into seats that it can use: instead of devices of a set, the first of them, as
    /// many as go together.
    pub fn replace(&self, model: &Model, board: &Board, useful: &[u64], unions: &mut [u64]) {
        for (set, devices) in self.at_home.iter().enumerate() {
            let most = most_together(model, board, set, devices, useful);
            let home = &self.homes[set * model.words..(set + 1) * model.words];
            for usable in unions.chunks_mut(model.words) {
                if bits::count_both(usable, home) == 0 {
                    continue;
                }
                usable.iter_mut().zip(home).for_each(|(usable, home)| *usable &= !home);
                devices.iter().take(most).for_each(|device| bits::insert(usable, *device as usize));
            }
        }
    }
}

/// At most how many of the devices that are counted with a set can be given at the same time.
fn most_together(model: &Model, board: &Board, set: usize, devices: &[u32], useful: &[u64]) -> usize {
    let open =
        || devices.iter().map(|device| *device as usize).filter(|device| bits::contains(useful, *device));
    let mut in_group: BTreeMap<u32, usize> = BTreeMap::new();
    let mut ungrouped = 0;
    for device in open() {
        match &model.devices[device].sets[0].1[..] {
            [] => ungrouped += 1,
            groups => groups.iter().for_each(|group| *in_group.entry(*group).or_default() += 1),
        }
    }
    let mut most = in_group.into_values().fold(ungrouped, usize::max);
    for slot in model.counters.sets[set].slots.clone() {
        let drawn = |device: usize| {
            let amounts = model.devices[device].amounts.iter();
            amounts.filter(|(drawn, _)| *drawn as usize == slot).map(|(_, amount)| *amount).sum::<i128>()
        };
        let least = open().map(drawn).min().unwrap_or(0);
        if least > 0 {
            most = most.min((board.left[slot].max(0) / least) as usize);
        }
    }
    most
}
