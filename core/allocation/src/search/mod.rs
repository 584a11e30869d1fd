//! Depth first over claims, requests and devices, in the reference's order; the first complete choice wins.
//!
//! Where the search stands is a stack of frames, so that it can be put down between any two steps and taken up later.
//!
//! Three things keep it from exploring what cannot succeed, and each may only cut a branch without a solution:
//! *forward checks* count what is left for everything still to be satisfied ([`forward`]), *equal devices* are tried once
//! ([`kinds`]), and *failed states* are remembered ([`memory`]). A device that ends the search when it is looked at must be
//! met if the reference meets it, so a forward check cuts nothing while such a device may still be looked at.

mod cuts;
mod forward;
mod frames;
pub(crate) mod kinds;
mod memory;
mod state;
mod supply;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use fixedbitset::FixedBitSet;

use crate::constraint::Found;
use crate::error::AllocationError;
use crate::problem::Problem;
use crate::refusal::{Stage, StageCount};
use cuts::Cuts;
use frames::{Doing, Frame};
use kinds::Kinds;
use memory::FailedStates;
use state::State;
use supply::Supply;

/// What a search found.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A device for every slot.
    Found(Solution),
    /// Nothing, and where it came closest.
    Impossible(Option<Miss>),
    /// Nothing before the budget was spent.
    Spent,
    /// A device that ends the search was met.
    Fault(Box<AllocationError>),
}

/// The devices that were chosen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solution {
    /// Alternatives and devices, in the order of requests.
    pub chosen: Vec<(u32, u32)>,
    /// The alternative of each request.
    pub alternatives: Vec<u32>,
}

/// Where devices ran out.
#[derive(Clone, Debug)]
pub(crate) struct Miss {
    pub alternative: usize,
    pub found: usize,
    /// What the requests before it left.
    pub stages: Vec<StageCount>,
}

/// What came of one branch.
#[derive(Debug)]
enum Flow {
    Found,
    /// No choice below succeeds.
    Fail,
    /// More devices would be needed than a claim can hold, whichever they are.
    TooMany,
    Fault(Box<AllocationError>),
}

/// A place in the search: the next device of an alternative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub request: usize,
    pub alternative: usize,
    /// How many devices the alternative has already.
    pub taken: usize,
    /// Devices before this one have been passed over.
    pub start: usize,
}

/// A search for the first solution.
#[derive(Debug)]
pub(crate) struct Search {
    problem: Arc<Problem>,
    state: State,
    /// From this request on, no device ends the search.
    clean_from: usize,
    cuts: Cuts,
    supply: Supply,
    kinds: Option<Kinds>,
    failed: FailedStates,
    failures: u64,
    miss: Option<(usize, Miss)>,
    solution: Solution,
    frames: Vec<Frame>,
    doing: Doing,
    pub steps: u64,
    pub work: u64,
}

/// The first request from which on nothing ends the search: no faulty device, no attribute that cannot be told, and no
/// wish for all devices that a constraint might contradict.
pub(crate) fn clean_from(problem: &Problem) -> usize {
    let is_clean = |alternative: &crate::problem::Alternative| {
        alternative.faults.is_empty()
            && (alternative.all.is_none() || alternative.constraints.is_empty())
            && !alternative.constraints.iter().any(|(_, table)| problem.tables[*table as usize].is_broken())
    };
    let unclean = problem.alternatives.iter().rev().find(|alternative| !is_clean(alternative));
    unclean.map_or(0, |alternative| alternative.request as usize + 1)
}

impl Search {
    /// Begins to look for the first solution.
    pub fn new(problem: Arc<Problem>) -> Search {
        Search::with(problem, Cuts::ALL)
    }

    /// Begins with some of the ways to skip branches only.
    fn with(problem: Arc<Problem>, cuts: Cuts) -> Search {
        Search {
            state: State::new(problem.clone()),
            clean_from: clean_from(&problem),
            cuts,
            supply: Supply::new(&problem),
            kinds: None,
            failed: FailedStates::default(),
            failures: 0,
            miss: None,
            solution: Solution { chosen: Vec::new(), alternatives: vec![0; problem.requests.len()] },
            frames: Vec::new(),
            doing: Doing::Request(0),
            steps: 0,
            work: 0,
            problem,
        }
    }

    /// Where a search that is not finished came closest.
    pub fn take_miss(&mut self) -> Option<Miss> {
        self.miss.take().map(|(_, miss)| miss)
    }

    /// Whether a device equals one that was tried at this place, for all that is still to be satisfied.
    fn equals_one_of(&mut self, spot: u32, tried: &[u32]) -> bool {
        let kinds = self.kinds.get_or_insert_with(|| Kinds::new(&self.problem));
        tried.iter().any(|known| kinds.are_equal(*known, spot, &self.state, self.cuts))
    }

    fn has_failed(&mut self, slot: Slot) -> bool {
        let kinds = self.kinds.get_or_insert_with(|| Kinds::new(&self.problem));
        self.failed.contains(slot, &self.problem, &self.state, kinds)
    }

    fn remember_failed(&mut self, slot: Slot) {
        let kinds = self.kinds.get_or_insert_with(|| Kinds::new(&self.problem));
        self.failed.insert(slot, &self.problem, &self.state, kinds);
    }

    /// Remembers where devices ran out, if more had been chosen than ever before.
    fn note_miss(&mut self, slot: Slot) {
        let depth = self.state.chosen.len();
        if self.miss.as_ref().is_some_and(|(deepest, _)| *deepest >= depth) {
            return;
        }
        let stages = self.dynamic_stages(slot.alternative);
        self.miss = Some((depth, Miss { alternative: slot.alternative, found: slot.taken, stages }));
    }

    /// How many of an alternative's devices the choices so far leave, stage by stage.
    fn dynamic_stages(&self, alternative: usize) -> Vec<StageCount> {
        let known = &self.problem.alternatives[alternative];
        let mut open = known.candidates.clone();
        let mut stages = Vec::new();
        let mut note = |stage: Stage, open: &FixedBitSet| {
            stages.push(StageCount { stage, left: open.count_ones(..) });
        };
        let keep = |open: &mut FixedBitSet, wanted: &dyn Fn(u32) -> bool| {
            for spot in open.ones().collect::<Vec<_>>() {
                open.set(spot, wanted(spot as u32));
            }
        };
        keep(&mut open, &|spot| !self.state.is_in_use(alternative, spot));
        note(Stage::Chosen, &open);
        keep(&mut open, &|spot| self.state.counters_cover(spot));
        note(Stage::Counters, &open);
        keep(&mut open, &|spot| self.state.groups_admit(spot));
        note(Stage::Groups, &open);
        if !known.consumption.is_empty() {
            keep(&mut open, &|spot| self.state.capacity_suffices(alternative, spot));
            note(Stage::CapacityTaken, &open);
        }
        let claim = self.problem.requests[known.request as usize].claim as usize;
        // Of a claim that is not the present one the constraints remember nothing yet.
        let present = claim == self.state.claim();
        for (constraint, table) in known.constraints.iter().filter(|_| present) {
            let found = &self.problem.tables[*table as usize].found;
            keep(&mut open, &|spot| {
                !matches!(found[spot as usize], Found::Broken(_))
                    && self.state.satisfies(*constraint, &found[spot as usize])
            });
            note(Stage::Constraint(*constraint as usize), &open);
        }
        stages
    }
}

/// The first device from here on that one of two sets holds.
fn next_one(left: &FixedBitSet, right: &FixedBitSet, from: usize) -> Option<usize> {
    let first = |set: &FixedBitSet| {
        let (blocks, bits) = (set.as_slice(), usize::BITS as usize);
        let mut block = from / bits;
        let mut word = *blocks.get(block)? & (usize::MAX << (from % bits));
        loop {
            if word != 0 {
                return Some(block * bits + word.trailing_zeros() as usize);
            }
            block += 1;
            word = *blocks.get(block)?;
        }
    };
    match (first(left), first(right)) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    }
}
