//! Depth first over claims, requests and devices, in the reference's order; the first complete choice wins.
//!
//! Three things keep it from exploring what cannot succeed, and each may only cut a branch without a solution:
//! *forward checks* count what is left for everything still to be satisfied ([`forward`]), *equal devices* are tried once
//! ([`kinds`]), and *failed states* are remembered ([`memory`]). A device that ends the search when it is looked at must be
//! met if the reference meets it, so a forward check cuts nothing while such a device may still be looked at.

mod cuts;
mod forward;
mod kinds;
mod memory;
mod state;
mod supply;
#[cfg(test)]
mod tests;

use fixedbitset::FixedBitSet;

use crate::RESULTS_MAX;
use crate::constraint::Found;
use crate::error::AllocationError;
use crate::problem::Problem;
use crate::refusal::{Stage, StageCount};
use crate::work;
use cuts::{Cut, Cuts};
use kinds::Kinds;
use memory::FailedStates;
use state::{State, Try};
use supply::Supply;

/// What came of a search.
#[derive(Debug)]
pub(crate) struct Finding {
    pub outcome: Outcome,
    pub steps: u64,
    pub work: u64,
}

/// What a search found.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A device for every slot.
    Found(Solution),
    /// Nothing, and where it came closest.
    Impossible(Option<Miss>),
    /// Nothing before the budget was spent.
    Spent,
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
enum Flow {
    Found,
    /// No choice below succeeds.
    Fail,
    /// More devices would be needed than a claim can hold, whichever they are.
    TooMany,
    Fault(Box<AllocationError>),
    Spent,
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

struct Search<'p, 'q> {
    problem: &'p Problem<'q>,
    state: State<'p, 'q>,
    /// From this request on, no device ends the search.
    clean_from: usize,
    cuts: Cuts,
    supply: Supply,
    kinds: Option<Kinds>,
    failed: FailedStates,
    failures: u64,
    miss: Option<(usize, Miss)>,
    solution: Solution,
    steps: u64,
    budget: u64,
    work: u64,
    work_max: u64,
}

/// Finds the first solution.
pub(crate) fn solve(problem: &Problem<'_>, budget: u64, work_max: u64) -> Result<Finding, AllocationError> {
    solve_with(problem, budget, work_max, Cuts::ALL)
}

/// Finds the first solution with some of the ways to skip branches only.
fn solve_with(
    problem: &Problem<'_>,
    budget: u64,
    work_max: u64,
    cuts: Cuts,
) -> Result<Finding, AllocationError> {
    let mut search = Search {
        problem,
        state: State::new(problem),
        clean_from: clean_from(problem),
        cuts,
        supply: Supply::new(problem),
        kinds: None,
        failed: FailedStates::default(),
        failures: 0,
        miss: None,
        solution: Solution { chosen: Vec::new(), alternatives: vec![0; problem.requests.len()] },
        steps: 0,
        budget,
        work: 0,
        work_max,
    };
    let flow = search.request(0);
    let (steps, work) = (search.steps, search.work);
    let outcome = match flow {
        Flow::Found => {
            let mut solution = search.solution;
            solution.chosen = search.state.chosen;
            Outcome::Found(solution)
        }
        Flow::Fail | Flow::TooMany => Outcome::Impossible(search.miss.map(|(_, miss)| miss)),
        Flow::Fault(error) => return Err(*error),
        Flow::Spent => Outcome::Spent,
    };
    Ok(Finding { outcome, steps, work })
}

/// The first request from which on nothing ends the search: no faulty device, no attribute that cannot be told, and no
/// wish for all devices that a constraint might contradict.
fn clean_from(problem: &Problem<'_>) -> usize {
    let is_clean = |alternative: &crate::problem::Alternative<'_>| {
        alternative.faults.is_empty()
            && (alternative.all.is_none() || alternative.constraints.is_empty())
            && !alternative.constraints.iter().any(|(_, table)| problem.tables[*table as usize].is_broken())
    };
    let unclean = problem.alternatives.iter().rev().find(|alternative| !is_clean(alternative));
    unclean.map_or(0, |alternative| alternative.request as usize + 1)
}

impl Search<'_, '_> {
    /// Satisfies all requests from this one on.
    fn request(&mut self, request: usize) -> Flow {
        let Some(known) = self.problem.requests.get(request) else { return Flow::Found };
        let new_claim = request == 0 || self.problem.requests[request - 1].claim != known.claim;
        if !new_claim {
            return self.any_alternative(request);
        }
        let before = self.state.enter_claim(known.claim as usize);
        let flow = self.any_alternative(request);
        self.state.leave_claim(before);
        match flow {
            // Another choice for the claims before may leave an alternative here that needs fewer.
            Flow::TooMany => Flow::Fail,
            flow => flow,
        }
    }

    fn any_alternative(&mut self, request: usize) -> Flow {
        let known = self.problem.requests[request];
        if !known.first_available {
            return self.alternative(request, known.first_alternative as usize);
        }
        let mut all_too_many = true;
        for alternative in known.alternatives() {
            match self.alternative(request, alternative) {
                Flow::TooMany => {}
                Flow::Fail => all_too_many = false,
                flow => return flow,
            }
        }
        if all_too_many { Flow::TooMany } else { Flow::Fail }
    }

    fn alternative(&mut self, request: usize, alternative: usize) -> Flow {
        self.solution.alternatives[request] = alternative as u32;
        self.slot(Slot { request, alternative, taken: 0, start: 0 })
    }

    /// Finds the next device of an alternative, and everything after it.
    fn slot(&mut self, slot: Slot) -> Flow {
        self.steps += 1;
        self.work += work::of_step(self.problem, self.problem.alternatives.len() - slot.alternative);
        if self.steps > self.budget || self.work > self.work_max {
            return Flow::Spent;
        }
        let alternative = &self.problem.alternatives[slot.alternative];
        if alternative.all.as_ref().is_some_and(Vec::is_empty) {
            self.note_miss(slot);
            return Flow::Fail;
        }
        if slot.taken == alternative.need {
            return self.request(slot.request + 1);
        }
        if self.state.in_claim() + (alternative.need - slot.taken) > RESULTS_MAX {
            return Flow::TooMany;
        }
        if slot.request >= self.clean_from && !self.can_still_fit(slot) {
            self.failures += 1;
            return Flow::Fail;
        }
        if self.failures > 0 && self.cuts.has(Cut::FailedStates) && self.has_failed(slot) {
            return Flow::Fail;
        }
        let flow = match &alternative.all {
            Some(all) => self.this_device(slot, all[slot.taken]),
            None => self.any_device(slot),
        };
        if matches!(flow, Flow::Fail) {
            self.failures += 1;
            if self.cuts.has(Cut::FailedStates) {
                self.remember_failed(slot);
            }
        }
        flow
    }

    /// Takes the device that comes next when all are wanted.
    fn this_device(&mut self, slot: Slot, spot: u32) -> Flow {
        let mark = self.state.mark();
        match self.state.take(slot.alternative, spot) {
            Try::Taken => {}
            Try::Refused => {
                self.note_miss(slot);
                return Flow::Fail;
            }
            Try::Constrained => {
                let alternative = &self.problem.alternatives[slot.alternative];
                let claim = self.problem.requests[slot.request].claim as usize;
                return Flow::Fault(Box::new(AllocationError::AllAgainstConstraint {
                    claim: self.problem.claims[claim].asked.asker(),
                    request: alternative.name.clone(),
                    device: Box::new(self.problem.spots[spot as usize].id.clone()),
                }));
            }
            Try::Fault(error) => return Flow::Fault(error),
        }
        let flow = self.slot(Slot { taken: slot.taken + 1, ..slot });
        if !matches!(flow, Flow::Found) {
            self.state.rewind(mark);
        }
        flow
    }

    /// Tries the devices that may come next, one after the other.
    fn any_device(&mut self, slot: Slot) -> Flow {
        let alternative = &self.problem.alternatives[slot.alternative];
        let mut tried: Vec<u32> = Vec::new();
        let mut next = slot.start;
        while let Some(spot) = next_one(&alternative.candidates, &alternative.faulty, next) {
            next = spot + 1;
            if self.state.is_in_use(slot.alternative, spot as u32) {
                continue;
            }
            if alternative.faulty.contains(spot) {
                let fault = alternative.fault(spot as u32).expect("a faulty device has its error").clone();
                return Flow::Fault(Box::new(fault));
            }
            if !tried.is_empty() && self.equals_one_of(spot as u32, &tried) {
                continue;
            }
            let mark = self.state.mark();
            match self.state.take(slot.alternative, spot as u32) {
                Try::Taken => {}
                Try::Refused | Try::Constrained => continue,
                Try::Fault(error) => return Flow::Fault(error),
            }
            let flow = self.slot(Slot { taken: slot.taken + 1, start: next, ..slot });
            if matches!(flow, Flow::Found) {
                return flow;
            }
            self.state.rewind(mark);
            if !matches!(flow, Flow::Fail) {
                return flow;
            }
            tried.push(spot as u32);
        }
        self.note_miss(slot);
        Flow::Fail
    }

    /// Whether a device equals one that was tried at this place, for all that is still to be satisfied.
    fn equals_one_of(&mut self, spot: u32, tried: &[u32]) -> bool {
        let kinds = self.kinds.get_or_insert_with(|| Kinds::new(self.problem));
        tried.iter().any(|known| kinds.are_equal(*known, spot, &self.state, self.cuts))
    }

    fn has_failed(&mut self, slot: Slot) -> bool {
        let kinds = self.kinds.get_or_insert_with(|| Kinds::new(self.problem));
        self.failed.contains(slot, self.problem, &self.state, kinds)
    }

    fn remember_failed(&mut self, slot: Slot) {
        let kinds = self.kinds.get_or_insert_with(|| Kinds::new(self.problem));
        self.failed.insert(slot, self.problem, &self.state, kinds);
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
