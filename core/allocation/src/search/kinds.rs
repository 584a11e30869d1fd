//! Which devices are equal, so that one stands for all.
//!
//! Two devices are equal if exchanging them changes nothing for what is still to be satisfied: the same alternatives could use
//! them, constraints see the same values, and they draw the same. Devices that draw on different counter sets are equal
//! too if the sets are: the same devices stand on them, and the same is left of them. Then the sets can be exchanged as a
//! whole.
//!
//! When a device failed at some place, an equal one that comes later fails as well. For if it succeeded, exchanging the two
//! in that solution would give one that the search had met before.

use std::collections::BTreeMap;

use super::cuts::{Cut, Cuts};
use super::state::State;
use crate::constraint::Found;
use crate::problem::Problem;

/// The kinds of devices and counter sets.
#[derive(Debug)]
pub(crate) struct Kinds {
    /// What a device is like, apart from the counter set that it draws on.
    pub base: Vec<u32>,
    /// The counter set of a device that draws on exactly one.
    pub set: Vec<Option<u32>>,
    /// What a counter set is like.
    pub of_set: Vec<u32>,
}

/// Gives each distinct key a number.
#[derive(Default)]
struct Distinct(BTreeMap<Vec<u64>, u32>);

impl Distinct {
    fn number(&mut self, key: Vec<u64>) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(key).or_insert(next)
    }
}

impl Kinds {
    pub fn new(problem: &Problem) -> Kinds {
        let mut distinct = Distinct::default();
        let base = (0..problem.spots.len()).map(|spot| distinct.number(key(problem, spot))).collect();
        let set = problem
            .spots
            .iter()
            .map(|spot| match &spot.draws[..] {
                [draw] => Some(draw.set),
                _ => None,
            })
            .collect();
        let mut kinds = Kinds { base, set, of_set: Vec::new() };
        kinds.of_set = kinds.sets(problem);
        kinds
    }

    /// The kinds of counter sets: what was left at the beginning, which groups hold them, and which devices stand on them.
    fn sets(&self, problem: &Problem) -> Vec<u32> {
        let mut distinct = Distinct::default();
        let counters = &problem.counters;
        let mut standing = vec![Vec::new(); counters.sets.len()];
        let mut entangled = vec![false; counters.sets.len()];
        for (spot, known) in problem.spots.iter().enumerate() {
            match &known.draws[..] {
                [draw] => standing[draw.set as usize].push(u64::from(self.base[spot])),
                draws => draws.iter().for_each(|draw| entangled[draw.set as usize] = true),
            }
        }
        let key = |(number, set): (usize, &crate::counters::ParsedCounterSet)| {
            let mut key = vec![u64::from(set.pool), set.slots.len() as u64];
            // A set on which a device stands that draws on others too is like no other.
            key.push(if entangled[number] { number as u64 + 1 } else { 0 });
            for (name, left) in set.names.iter().zip(&counters.left[set.slots.clone()]) {
                push_text(&mut key, name);
                push_amount(&mut key, *left);
            }
            push_members(&mut key, &set.members);
            standing[number].sort_unstable();
            key.extend_from_slice(&standing[number]);
            distinct.number(key)
        };
        counters.sets.iter().enumerate().map(key).collect()
    }

    /// Whether two devices are equal in the present state.
    pub fn are_equal(&self, left: u32, right: u32, state: &State, cuts: Cuts) -> bool {
        let (at, other) = (left as usize, right as usize);
        if !cuts.has(Cut::EqualDevices) || self.base[at] != self.base[other] || !is_alike(at, other, state) {
            return false;
        }
        match (self.set[at], self.set[other]) {
            (Some(set), Some(other)) => {
                set == other || (cuts.has(Cut::EqualSets) && self.sets_are_equal(set, other, state))
            }
            // The kind holds the sets of a device that draws on several or on none.
            _ => true,
        }
    }

    fn sets_are_equal(&self, left: u32, right: u32, state: &State) -> bool {
        if self.of_set[left as usize] != self.of_set[right as usize] || !state.shares.is_empty() {
            return false;
        }
        let counters = &state.counters;
        let (one, other) = (&counters.sets[left as usize], &counters.sets[right as usize]);
        counters.left[one.slots.clone()] == counters.left[other.slots.clone()]
            && one.members == other.members
            && self.picked_on(left, state) == self.picked_on(right, state)
    }

    /// The kinds of the devices on a set that were chosen, and for which claim.
    pub fn picked_on(&self, set: u32, state: &State) -> Vec<(u32, bool)> {
        let on = state.picked.ones().filter(|spot| self.set[*spot] == Some(set));
        let mut picked: Vec<_> = on.map(|spot| (self.base[spot], state.picked_here.contains(spot))).collect();
        picked.sort_unstable();
        picked
    }
}

/// Whether two devices are in the same situation.
fn is_alike(left: usize, right: usize, state: &State) -> bool {
    state.picked.contains(left) == state.picked.contains(right)
        && state.picked_here.contains(left) == state.picked_here.contains(right)
        && (state.shares.is_empty()
            || (state.shares[left] == state.shares[right]
                && state.capacity_left[left] == state.capacity_left[right]))
}

/// Everything about a device that decides anything, with its counter set left out if it draws on one only.
fn key(problem: &Problem, spot: usize) -> Vec<u64> {
    let known = &problem.spots[spot];
    let mut key = vec![
        u64::from(known.shareable),
        u64::from(known.charged) | u64::from(known.settled) << 1,
        known.draws.len() as u64,
        if known.draws.is_empty() { 0 } else { u64::from(known.pool) },
    ];
    for draw in &known.draws {
        if known.draws.len() > 1 {
            key.push(u64::from(draw.set));
        }
        let start = problem.counters.sets[draw.set as usize].slots.start;
        key.push(draw.amounts.len() as u64);
        for (slot, amount) in &draw.amounts {
            push_text(&mut key, &problem.counters.sets[draw.set as usize].names[*slot as usize - start]);
            push_amount(&mut key, *amount);
        }
        key.push(draw.groups.len() as u64);
        key.extend(draw.groups.iter().map(|group| u64::from(*group)));
    }
    if known.shareable {
        known.capacity_left.iter().for_each(|left| push_amount(&mut key, *left));
    }
    for alternative in &problem.alternatives {
        let on_list = alternative.all.as_ref().is_some_and(|all| all.contains(&(spot as u32)));
        key.push(
            u64::from(alternative.candidates.contains(spot))
                | u64::from(alternative.faulty.contains(spot)) << 1
                | u64::from(on_list) << 2,
        );
        if on_list && !alternative.constraints.is_empty() {
            // Whether a device of the list is gone before another breaks a constraint decides between failing and ending,
            // so places on the list are not alike.
            key.push(spot as u64);
        }
        if let Some(taken) = alternative.taken(spot as u32) {
            key.push(taken.nanos.len() as u64);
            taken.nanos.iter().for_each(|amount| push_amount(&mut key, *amount));
        }
    }
    for table in &problem.tables {
        match &table.found[spot] {
            Found::Absent => key.push(0),
            Found::Alone => key.push(1),
            // Which error is met first matters, so a device with one is like no other.
            Found::Broken(_) => key.extend([2, spot as u64]),
            Found::Values(values) => {
                key.push(3 + values.len() as u64);
                key.extend(values.iter().map(|value| u64::from(*value)));
            }
        }
    }
    key
}

pub(crate) fn push_amount(key: &mut Vec<u64>, amount: i128) {
    key.extend([amount as u64, (amount >> 64) as u64]);
}

fn push_text(key: &mut Vec<u64>, text: &str) {
    key.push(text.len() as u64);
    for chunk in text.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        key.push(u64::from_le_bytes(word));
    }
}

pub(crate) fn push_members(key: &mut Vec<u64>, members: &crate::counters::Members) {
    use crate::counters::Members;
    match members {
        Members::None => key.push(0),
        Members::Ungrouped => key.push(1),
        Members::Closed => key.push(2),
        Members::Grouped(groups) => {
            key.push(3 + groups.len() as u64);
            key.extend(groups.iter().map(|group| u64::from(*group)));
        }
    }
}
