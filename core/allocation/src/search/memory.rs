//! States from which nothing succeeded.
//!
//! A state is remembered by what can still make a difference: the place in the search, the devices that later requests
//! could use and that are gone, what is left of counters and capacities, and what the constraints remember. Devices are
//! told by kind, so equal states are recognised however they were reached. The whole state is kept, not a hash of it: two
//! states that only look alike would lose a solution.

use rustc_hash::FxHashSet;

use super::Slot;
use super::kinds::{Kinds, push_amount, push_members};
use super::state::State;
use crate::constraint::Memory;
use crate::plan::Problem;

/// How many states are kept; beyond that the search goes on without learning.
const STATES_MAX: usize = 50_000;

/// The states that failed.
#[derive(Debug, Default)]
pub(super) struct FailedStates {
    known: FxHashSet<Box<[u64]>>,
    scratch: Vec<u64>,
}

impl FailedStates {
    pub fn contains(
        &mut self,
        slot: Slot,
        problem: &Problem<'_>,
        state: &State<'_, '_>,
        kinds: &Kinds,
    ) -> bool {
        if self.known.is_empty() {
            return false;
        }
        write_key(&mut self.scratch, slot, problem, state, kinds);
        self.known.contains(&self.scratch[..])
    }

    pub fn insert(&mut self, slot: Slot, problem: &Problem<'_>, state: &State<'_, '_>, kinds: &Kinds) {
        if self.known.len() < STATES_MAX {
            write_key(&mut self.scratch, slot, problem, state, kinds);
            self.known.insert(self.scratch.as_slice().into());
        }
    }
}

/// Writes what can still make a difference.
fn write_key(key: &mut Vec<u64>, slot: Slot, problem: &Problem<'_>, state: &State<'_, '_>, kinds: &Kinds) {
    key.clear();
    key.extend([slot.plan as u64, slot.taken as u64, slot.start as u64, state.in_claim() as u64]);
    let whole = slot.start == 0;
    let mut picked: Vec<u64> = Vec::new();
    for spot in state.picked.ones().filter(|spot| matters(problem, slot, *spot)) {
        if whole && kinds.set[spot].is_some() {
            continue;
        }
        let side = u64::from(spot >= slot.start) | u64::from(state.picked_here.contains(spot)) << 1;
        let set = kinds.set[spot].map_or(0, |set| u64::from(set) + 1);
        picked.push(u64::from(kinds.base[spot]) << 34 | set << 2 | side);
    }
    picked.sort_unstable();
    key.push(picked.len() as u64);
    key.extend_from_slice(&picked);
    write_sets(key, whole, problem, slot, state, kinds);
    for (spot, shares) in state.shares.iter().enumerate().filter(|(_, shares)| **shares > 0) {
        key.extend([spot as u64, u64::from(*shares)]);
        state.capacity_left[spot].iter().for_each(|left| push_amount(key, *left));
    }
    for memory in &state.memories {
        match memory {
            Memory::Empty => key.push(0),
            Memory::Alone => key.push(1),
            Memory::Values(values) => {
                key.push(2 + values.len() as u64);
                key.extend(values.iter().map(|value| u64::from(*value)));
            }
        }
    }
}

/// Whether any plan from here on could use or must look at a device.
fn matters(problem: &Problem<'_>, slot: Slot, spot: usize) -> bool {
    let first = if slot.taken == 0 && slot.start == 0 {
        problem.requests[slot.request].first_plan as usize
    } else {
        slot.plan
    };
    problem.plans[first..].iter().any(|plan| {
        plan.candidates.contains(spot)
            || plan.faulty.contains(spot)
            || plan.all.as_ref().is_some_and(|all| all.contains(&(spot as u32)))
    })
}

/// Writes what is left of each counter set. At the beginning of a plan sets of one kind can be exchanged, so they are
/// written in order of content; within a plan the devices before its start are closed, and sets are told by number.
fn write_sets(
    key: &mut Vec<u64>,
    whole: bool,
    problem: &Problem<'_>,
    slot: Slot,
    state: &State<'_, '_>,
    kinds: &Kinds,
) {
    let counters = &state.counters;
    if !whole {
        counters.left.iter().for_each(|left| push_amount(key, *left));
        counters.sets.iter().for_each(|set| push_members(key, &set.members));
        return;
    }
    let mut sets: Vec<Vec<u64>> = Vec::with_capacity(counters.sets.len());
    for (number, set) in counters.sets.iter().enumerate() {
        let mut content = vec![u64::from(kinds.of_set[number])];
        if !state.shares.is_empty() {
            content.push(number as u64);
        }
        counters.left[set.slots.clone()].iter().for_each(|left| push_amount(&mut content, *left));
        push_members(&mut content, &set.members);
        let on = state.picked.ones().filter(|spot| kinds.set[*spot] == Some(number as u32));
        let mut picked: Vec<u64> = on
            .filter(|spot| matters(problem, slot, *spot))
            .map(|spot| u64::from(kinds.base[spot]) << 1 | u64::from(state.picked_here.contains(spot)))
            .collect();
        picked.sort_unstable();
        content.push(picked.len() as u64);
        content.extend_from_slice(&picked);
        sets.push(content);
    }
    sets.sort_unstable();
    sets.iter().for_each(|content| key.extend_from_slice(content));
}
