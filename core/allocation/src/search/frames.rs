//! The walk itself, as frames on a stack instead of calls: what is next, and what is waited for.
//!
//! Invariant: between two steps everything is in the frames and in the state, so it makes no difference how many steps are taken
//! at a time.

use std::sync::Arc;

use super::state::{ClaimBefore, Try};
use super::{Flow, Outcome, Search, Slot, next_one};
use crate::RESULTS_MAX;
use crate::error::AllocationError;
use crate::search::cuts::Cut;
use crate::work;

/// What is next.
#[derive(Debug)]
pub(super) enum Doing {
    /// Satisfy all requests from this one on.
    Request(usize),
    /// Find the next device of an alternative, and everything after it.
    Slot(Slot),
    /// Try the next device at the place of the last frame.
    Device,
    /// Tell the last frame what came of what it waits for.
    Return(Flow),
}

/// What is waited for, and how to go on then.
#[derive(Debug)]
pub(super) enum Frame {
    /// The requests of a claim.
    Claim(ClaimBefore),
    /// One alternative of several.
    Alternative { request: usize, alternative: usize, all_too_many: bool },
    /// All that comes after the choice of a device.
    Device { slot: Slot, mark: usize, next: usize, tried: Vec<u32> },
}

impl Search {
    /// Goes on until it knows, or so many steps are taken or so much work is done in all; at least one step is taken.
    pub fn advance(&mut self, steps_max: u64, work_max: u64) -> Option<Outcome> {
        let begun = self.steps;
        loop {
            match std::mem::replace(&mut self.doing, Doing::Device) {
                Doing::Request(request) => self.request(request),
                Doing::Slot(slot) => {
                    if self.steps > begun && (self.steps >= steps_max || self.work >= work_max) {
                        self.doing = Doing::Slot(slot);
                        return None;
                    }
                    self.slot(slot);
                }
                Doing::Device => self.device(),
                Doing::Return(flow) => {
                    let Some(frame) = self.frames.pop() else { return Some(self.outcome(flow)) };
                    self.resume(frame, flow);
                }
            }
        }
    }

    fn outcome(&mut self, flow: Flow) -> Outcome {
        match flow {
            Flow::Found => {
                let mut solution = std::mem::take(&mut self.solution);
                solution.chosen = std::mem::take(&mut self.state.chosen);
                Outcome::Found(solution)
            }
            Flow::Fail | Flow::TooMany => Outcome::Impossible(self.take_miss()),
            Flow::Fault(error) => Outcome::Fault(error),
        }
    }

    fn request(&mut self, request: usize) {
        let Some(known) = self.problem.requests.get(request).copied() else {
            self.doing = Doing::Return(Flow::Found);
            return;
        };
        if request == 0 || self.problem.requests[request - 1].claim != known.claim {
            let before = self.state.enter_claim(known.claim as usize);
            self.frames.push(Frame::Claim(before));
        }
        let alternative = known.first_alternative as usize;
        if known.first_available {
            self.frames.push(Frame::Alternative { request, alternative, all_too_many: true });
        }
        self.alternative(request, alternative);
    }

    fn alternative(&mut self, request: usize, alternative: usize) {
        self.solution.alternatives[request] = alternative as u32;
        self.doing = Doing::Slot(Slot { request, alternative, taken: 0, start: 0 });
    }

    fn slot(&mut self, slot: Slot) {
        self.steps += 1;
        self.work += work::of_step(&self.problem, self.problem.alternatives.len() - slot.alternative);
        let alternative = &self.problem.alternatives[slot.alternative];
        if alternative.all.as_ref().is_some_and(Vec::is_empty) {
            self.note_miss(slot);
            self.doing = Doing::Return(Flow::Fail);
            return;
        }
        if slot.taken == alternative.need {
            self.doing = Doing::Request(slot.request + 1);
            return;
        }
        if self.state.in_claim() + (alternative.need - slot.taken) > RESULTS_MAX {
            self.doing = Doing::Return(Flow::TooMany);
            return;
        }
        if slot.request >= self.clean_from && !self.can_still_fit(slot) {
            self.failures += 1;
            self.doing = Doing::Return(Flow::Fail);
            return;
        }
        if self.failures > 0 && self.cuts.has(Cut::FailedStates) && self.has_failed(slot) {
            self.doing = Doing::Return(Flow::Fail);
            return;
        }
        let mark = self.state.mark();
        self.frames.push(Frame::Device { slot, mark, next: slot.start, tried: Vec::new() });
        self.doing = Doing::Device;
    }

    /// Tries the next device at a place, or fails there.
    fn device(&mut self) {
        let Some(Frame::Device { slot, next, tried, .. }) = self.frames.last_mut() else {
            unreachable!("devices are tried at a place")
        };
        let (slot, next, tried) = (*slot, *next, std::mem::take(tried));
        let problem = Arc::clone(&self.problem);
        let taken = match &problem.alternatives[slot.alternative].all {
            Some(_) if !tried.is_empty() => Ok(None),
            Some(all) => self.this_device(slot, all[slot.taken]).map(Some),
            None => self.any_device(slot, next, &tried),
        };
        match taken {
            Ok(Some(spot)) => {
                let after = spot as usize + 1;
                if let Some(Frame::Device { next, tried: known, .. }) = self.frames.last_mut() {
                    (*next, *known) = (after, tried);
                    known.push(spot);
                }
                let is_all = problem.alternatives[slot.alternative].all.is_some();
                let start = if is_all { slot.start } else { after };
                self.doing = Doing::Slot(Slot { taken: slot.taken + 1, start, ..slot });
            }
            Ok(None) => {
                self.frames.pop();
                if problem.alternatives[slot.alternative].all.is_none() {
                    self.note_miss(slot);
                }
                self.fail_at(slot);
            }
            Err(Flow::Fail) => {
                self.frames.pop();
                self.note_miss(slot);
                self.fail_at(slot);
            }
            Err(flow) => {
                self.frames.pop();
                self.doing = Doing::Return(flow);
            }
        }
    }

    /// Nothing succeeds at a place.
    fn fail_at(&mut self, slot: Slot) {
        self.failures += 1;
        if self.cuts.has(Cut::FailedStates) {
            self.remember_failed(slot);
        }
        self.doing = Doing::Return(Flow::Fail);
    }

    /// Takes the device that comes next when all are wanted.
    fn this_device(&mut self, slot: Slot, spot: u32) -> Result<u32, Flow> {
        match self.state.take(slot.alternative, spot) {
            Try::Taken => Ok(spot),
            Try::Refused => Err(Flow::Fail),
            Try::Constrained => {
                let alternative = &self.problem.alternatives[slot.alternative];
                let claim = self.problem.requests[slot.request].claim as usize;
                Err(Flow::Fault(Box::new(AllocationError::AllAgainstConstraint {
                    claim: self.problem.claims[claim].asker.clone(),
                    request: alternative.name.clone(),
                    device: Box::new(self.problem.spots[spot as usize].id.clone()),
                })))
            }
            Try::Fault(error) => Err(Flow::Fault(error)),
        }
    }

    /// Takes the first of the devices from here on that may be taken, and that equals none of those that were tried.
    fn any_device(&mut self, slot: Slot, mut next: usize, tried: &[u32]) -> Result<Option<u32>, Flow> {
        let problem = Arc::clone(&self.problem);
        let alternative = &problem.alternatives[slot.alternative];
        while let Some(spot) = next_one(&alternative.candidates, &alternative.faulty, next) {
            next = spot + 1;
            if self.state.is_in_use(slot.alternative, spot as u32) {
                continue;
            }
            if alternative.faulty.contains(spot) {
                let fault = alternative.fault(spot as u32).expect("a faulty device has its error").clone();
                return Err(Flow::Fault(Box::new(fault)));
            }
            if !tried.is_empty() && self.equals_one_of(spot as u32, tried) {
                continue;
            }
            match self.state.take(slot.alternative, spot as u32) {
                Try::Taken => return Ok(Some(spot as u32)),
                Try::Refused | Try::Constrained => {}
                Try::Fault(error) => return Err(Flow::Fault(error)),
            }
        }
        Ok(None)
    }

    /// Goes on with what came of that for which a frame waited.
    fn resume(&mut self, frame: Frame, flow: Flow) {
        match (frame, flow) {
            (Frame::Claim(before), flow) => {
                self.state.leave_claim(before);
                // Another choice for the claims before may leave an alternative here that needs fewer.
                let flow = if matches!(flow, Flow::TooMany) { Flow::Fail } else { flow };
                self.doing = Doing::Return(flow);
            }
            (
                Frame::Alternative { request, alternative, all_too_many },
                flow @ (Flow::Fail | Flow::TooMany),
            ) => {
                let all_too_many = all_too_many && matches!(flow, Flow::TooMany);
                let next = alternative + 1;
                if self.problem.requests[request].alternatives().contains(&next) {
                    self.frames.push(Frame::Alternative { request, alternative: next, all_too_many });
                    self.alternative(request, next);
                } else {
                    self.doing = Doing::Return(if all_too_many { Flow::TooMany } else { Flow::Fail });
                }
            }
            (Frame::Device { slot, mark, next, tried }, Flow::Fail) => {
                self.state.rewind(mark);
                self.frames.push(Frame::Device { slot, mark, next, tried });
                self.doing = Doing::Device;
            }
            (Frame::Device { mark, .. }, flow @ (Flow::TooMany | Flow::Fault(_))) => {
                self.state.rewind(mark);
                self.doing = Doing::Return(flow);
            }
            (Frame::Alternative { .. } | Frame::Device { .. }, flow) => self.doing = Doing::Return(flow),
        }
    }
}
