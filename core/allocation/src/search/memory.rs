//! States from which nothing succeeded.
//!
//! A state is remembered by what can still make a difference: the place in the search, the devices that later requests
//! could use and that are gone, what is left of counters and capacities, and what the constraints remember. Devices are
//! told by kind, so equal states are recognised however they were reached. The whole state is kept, not a hash of it: two
//! states that only look alike would lose a solution.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Slot;
use super::kinds::{Kinds, push_amount, push_members};
use super::state::State;
use crate::constraint::Memory;
use crate::problem::Problem;

/// How many states are kept; beyond that the search goes on without learning.
const STATES_MAX: usize = 50_000;

/// The states that failed.
#[derive(Debug, Default)]
pub(super) struct FailedStates {
    known: FxHashSet<Box<[u64]>>,
    contents: Contents,
    key: Vec<u64>,
}

impl FailedStates {
    pub fn contains(&mut self, slot: Slot, problem: &Problem, state: &State, kinds: &Kinds) -> bool {
        if self.known.is_empty() {
            return false;
        }
        self.write(slot, problem, state, kinds, false) && self.known.contains(&self.key[..])
    }

    pub fn insert(&mut self, slot: Slot, problem: &Problem, state: &State, kinds: &Kinds) {
        if self.known.len() < STATES_MAX {
            self.write(slot, problem, state, kinds, true);
            self.known.insert(self.key.as_slice().into());
        }
    }

    /// Writes what can still make a difference. Without learning it ends, and says so, at a counter set that is like none
    /// in any state that failed: then this state is none of them.
    fn write(&mut self, slot: Slot, problem: &Problem, state: &State, kinds: &Kinds, learn: bool) -> bool {
        let lists = listed(slot, problem, state, kinds);
        let key = &mut self.key;
        key.clear();
        key.extend([slot.alternative as u64, slot.taken as u64, slot.start as u64, state.in_claim() as u64]);
        key.push(lists[0].len() as u64);
        key.extend_from_slice(&lists[0]);
        if !self.contents.write(key, &lists[1..], state, kinds, learn) {
            return false;
        }
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
        true
    }
}

/// The kinds of devices that were chosen, by the counter set that they stand on; the first list is of those that stand on
/// none, or on several.
///
/// Within an alternative, devices before its start are passed over. So the lists also tell what is still ahead, since counter sets
/// are alike only if that is.
fn listed(slot: Slot, problem: &Problem, state: &State, kinds: &Kinds) -> Vec<Vec<u64>> {
    let mut lists = vec![Vec::new(); state.counters.sets.len() + 1];
    let mut list = |spot: usize, situation: u64| {
        let at = kinds.set[spot].map_or(0, |set| set as usize + 1);
        lists[at].push(u64::from(kinds.base[spot]) << 3 | situation);
    };
    for spot in state.picked.ones().filter(|spot| matters(problem, slot, *spot)) {
        let side = u64::from(spot >= slot.start);
        list(spot, u64::from(state.picked_here.contains(spot)) << 1 | side);
    }
    if slot.start > 0 {
        let alternative = &problem.alternatives[slot.alternative];
        for spot in alternative.candidates.union(&alternative.faulty).filter(|spot| *spot >= slot.start) {
            if kinds.set[spot].is_some() && !state.picked.contains(spot) {
                list(spot, 4);
            }
        }
    }
    lists.iter_mut().for_each(|list| list.sort_unstable());
    lists
}

/// Whether any alternative from here on could use or must look at a device.
fn matters(problem: &Problem, slot: Slot, spot: usize) -> bool {
    let first = if slot.taken == 0 && slot.start == 0 {
        problem.requests[slot.request].first_alternative as usize
    } else {
        slot.alternative
    };
    problem.alternatives[first..].iter().any(|alternative| {
        alternative.candidates.contains(spot)
            || alternative.faulty.contains(spot)
            || alternative.all.as_ref().is_some_and(|all| all.contains(&(spot as u32)))
    })
}

/// What counter sets were like, each told by a number.
#[derive(Debug, Default)]
struct Contents {
    known: FxHashMap<Box<[u64]>, u64>,
    scratch: Vec<u64>,
}

impl Contents {
    /// Writes what each counter set is like, if that is known or to be learnt. Sets that are alike can be exchanged, so they
    /// are written in order of what they are like, whichever they are.
    fn write(
        &mut self,
        key: &mut Vec<u64>,
        lists: &[Vec<u64>],
        state: &State,
        kinds: &Kinds,
        learn: bool,
    ) -> bool {
        let start = key.len();
        for (number, set) in state.counters.sets.iter().enumerate() {
            let content = &mut self.scratch;
            content.clear();
            content.push(u64::from(kinds.of_set[number]));
            if !state.shares.is_empty() {
                content.push(number as u64);
            }
            state.counters.left[set.slots.clone()].iter().for_each(|left| push_amount(content, *left));
            push_members(content, &set.members);
            content.extend_from_slice(&lists[number]);
            let next = self.known.len() as u64;
            match self.known.get(&content[..]) {
                Some(number) => key.push(*number),
                None if learn => {
                    self.known.insert(content.as_slice().into(), next);
                    key.push(next);
                }
                None => return false,
            }
        }
        key[start..].sort_unstable();
        true
    }
}
