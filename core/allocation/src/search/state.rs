//! What has been chosen so far, and taking it back.
//!
//! Invariant: rewinding to a mark restores exactly the state at that mark. Every change is on the trail, and nothing but
//! the trail undoes it.

use std::sync::Arc;

use fixedbitset::FixedBitSet;

use crate::constraint::{Found, Memory, ParsedConstraint};
use crate::counters::Counters;
use crate::error::AllocationError;
use crate::problem::Problem;

/// What came of trying a device.
pub(crate) enum Try {
    Taken,
    /// Something other than a constraint is against it.
    Refused,
    /// A constraint of the claim is against it.
    Constrained,
    Fault(Box<AllocationError>),
}

/// A change, with what it takes to undo it.
#[derive(Debug)]
enum Change {
    Chosen,
    Picked(u32),
    PickedHere(u32),
    Drawn(u32),
    Joined(u32, crate::counters::Members),
    Shared { spot: u32, alternative: u32 },
    Remembered(u32, Memory),
}

/// What has been chosen so far.
#[derive(Debug)]
pub(crate) struct State {
    problem: Arc<Problem>,
    /// Alternatives and devices, in order.
    pub chosen: Vec<(u32, u32)>,
    /// Devices that are no longer free: those that are not shareable and were chosen for any claim.
    pub picked: FixedBitSet,
    /// Those chosen for the present claim.
    pub picked_here: FixedBitSet,
    pub counters: Counters,
    /// How many shares of each device were chosen.
    pub shares: Vec<u32>,
    /// What is left of the capacities of shareable devices.
    pub capacity_left: Vec<Vec<i128>>,
    /// What the constraints of the present claim remember.
    pub memories: Vec<Memory>,
    /// How many devices had been chosen when the present claim began.
    claim_start: usize,
    claim: Option<usize>,
    trail: Vec<Change>,
}

/// What was set aside when a claim began.
#[derive(Debug)]
pub(crate) struct ClaimBefore {
    picked_here: FixedBitSet,
    memories: Vec<Memory>,
    claim_start: usize,
    claim: Option<usize>,
}

impl State {
    pub fn new(problem: Arc<Problem>) -> State {
        let spots = problem.spots.len();
        let any_shareable = problem.spots.iter().any(|spot| spot.shareable);
        let left = |spot: &crate::problem::Spot| spot.capacity_left.clone();
        State {
            chosen: Vec::new(),
            picked: FixedBitSet::with_capacity(spots),
            picked_here: FixedBitSet::with_capacity(spots),
            counters: problem.counters.clone(),
            shares: if any_shareable { vec![0; spots] } else { Vec::new() },
            capacity_left: if any_shareable { problem.spots.iter().map(left).collect() } else { Vec::new() },
            memories: Vec::new(),
            claim_start: 0,
            claim: None,
            trail: Vec::new(),
            problem,
        }
    }

    /// Begins a claim.
    pub fn enter_claim(&mut self, claim: usize) -> ClaimBefore {
        let memories = vec![Memory::Empty; self.problem.claims[claim].constraints.len()];
        let fresh = FixedBitSet::with_capacity(self.picked.len());
        ClaimBefore {
            picked_here: std::mem::replace(&mut self.picked_here, fresh),
            memories: std::mem::replace(&mut self.memories, memories),
            claim_start: std::mem::replace(&mut self.claim_start, self.chosen.len()),
            claim: self.claim.replace(claim),
        }
    }

    /// Goes back to the claim before.
    pub fn leave_claim(&mut self, before: ClaimBefore) {
        self.picked_here = before.picked_here;
        self.memories = before.memories;
        self.claim_start = before.claim_start;
        self.claim = before.claim;
    }

    /// The number of the present claim.
    pub fn claim(&self) -> usize {
        self.claim.expect("devices are chosen for a claim")
    }

    /// How many devices the present claim has.
    pub fn in_claim(&self) -> usize {
        self.chosen.len() - self.claim_start
    }

    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Whether a device is not free for an alternative, because of what was chosen.
    pub fn is_in_use(&self, alternative: usize, spot: u32) -> bool {
        if self.problem.alternatives[alternative].admin {
            self.picked_here.contains(spot as usize)
        } else {
            self.picked.contains(spot as usize)
        }
    }

    /// Whether the draws of a device count already, since it has shares.
    fn is_charged(&self, spot: u32) -> bool {
        self.problem.spots[spot as usize].charged
            || self.shares.get(spot as usize).is_some_and(|shares| *shares > 0)
    }

    /// Whether other shares of a device vouch for its groups.
    fn is_settled(&self, spot: u32) -> bool {
        self.problem.spots[spot as usize].settled
            || self.shares.get(spot as usize).is_some_and(|shares| *shares > 0)
    }

    pub fn counters_cover(&self, spot: u32) -> bool {
        let known = &self.problem.spots[spot as usize];
        known.draws.is_empty() || self.is_charged(spot) || self.counters.cover(&known.draws, known.pool)
    }

    pub fn groups_admit(&self, spot: u32) -> bool {
        let known = &self.problem.spots[spot as usize];
        known.draws.is_empty() || self.is_settled(spot) || self.counters.admit(&known.draws)
    }

    /// Whether what other shares leave of a device is enough for an alternative.
    pub fn capacity_suffices(&self, alternative: usize, spot: u32) -> bool {
        let Some(taken) = self.problem.alternatives[alternative].taken(spot) else { return true };
        taken.nanos.iter().zip(&self.capacity_left[spot as usize]).all(|(taken, left)| taken <= left)
    }

    /// Whether a device with these values may be chosen, as far as a constraint of the present claim is concerned.
    pub fn satisfies(&self, constraint: u32, found: &Found) -> bool {
        let rule = self.constraint(constraint);
        self.memories[constraint as usize].with(rule, found).is_some()
    }

    fn constraint(&self, constraint: u32) -> ParsedConstraint {
        self.problem.claims[self.claim()].constraints[constraint as usize]
    }

    /// Chooses a device for an alternative, if nothing chosen so far is against it. What is refused leaves no trace.
    pub fn take(&mut self, alternative: usize, spot: u32) -> Try {
        let problem = Arc::clone(&self.problem);
        let (known, device) = (&problem.alternatives[alternative], &problem.spots[spot as usize]);
        if self.is_in_use(alternative, spot)
            || !known.candidates.contains(spot as usize)
            || !self.capacity_suffices(alternative, spot)
        {
            return Try::Refused;
        }
        if !self.groups_admit(spot) || !self.counters_cover(spot) {
            return Try::Refused;
        }
        let mark = self.mark();
        for (constraint, table) in &known.constraints {
            let found = &problem.tables[*table as usize].found[spot as usize];
            if let Found::Broken(error) = found {
                self.rewind(mark);
                return Try::Fault(error.clone());
            }
            let rule = self.constraint(*constraint);
            let memory = &mut self.memories[*constraint as usize];
            let Some(next) = memory.with(rule, found) else {
                self.rewind(mark);
                return Try::Constrained;
            };
            let before = std::mem::replace(memory, next);
            self.trail.push(Change::Remembered(*constraint, before));
        }
        if !(device.draws.is_empty() || self.draw(spot) && self.join(spot)) {
            self.rewind(mark);
            return Try::Refused;
        }
        if device.shareable {
            self.share(alternative, spot);
        } else {
            self.pick(spot);
        }
        self.chosen.push((alternative as u32, spot));
        self.trail.push(Change::Chosen);
        Try::Taken
    }

    fn pick(&mut self, spot: u32) {
        if !self.picked.put(spot as usize) {
            self.trail.push(Change::Picked(spot));
        }
        if !self.picked_here.put(spot as usize) {
            self.trail.push(Change::PickedHere(spot));
        }
    }

    fn share(&mut self, alternative: usize, spot: u32) {
        self.shares[spot as usize] += 1;
        self.count_share(alternative, spot, 1);
        self.trail.push(Change::Shared { spot, alternative: alternative as u32 });
    }

    fn count_share(&mut self, alternative: usize, spot: u32, sign: i128) {
        let problem = Arc::clone(&self.problem);
        let Some(taken) = problem.alternatives[alternative].taken(spot) else { return };
        for (left, taken) in self.capacity_left[spot as usize].iter_mut().zip(&taken.nanos) {
            *left -= sign * taken;
        }
    }

    /// Takes what a device draws, and says whether there was enough of everything. It was asked before, but a device that
    /// names a counter twice is told only now.
    fn draw(&mut self, spot: u32) -> bool {
        if self.is_charged(spot) {
            return true;
        }
        self.count_draws(spot, 1);
        self.trail.push(Change::Drawn(spot));
        let pool = self.problem.spots[spot as usize].pool;
        self.counters.overdrawn[pool as usize] == 0
    }

    /// Joins the devices that hold the counter sets, and says whether all of them let the device join.
    fn join(&mut self, spot: u32) -> bool {
        if self.is_settled(spot) {
            return true;
        }
        let problem = Arc::clone(&self.problem);
        for draw in &problem.spots[spot as usize].draws {
            let members = &mut self.counters.sets[draw.set as usize].members;
            let Some(joined) = members.joined_by(&draw.groups) else { return false };
            let before = std::mem::replace(members, joined);
            self.trail.push(Change::Joined(draw.set, before));
        }
        true
    }

    fn count_draws(&mut self, spot: u32, sign: i128) {
        let problem = Arc::clone(&self.problem);
        let known = &problem.spots[spot as usize];
        for (slot, amount) in known.draws.iter().flat_map(|draw| &draw.amounts) {
            let left = &mut self.counters.left[*slot as usize];
            let was_below = *left < 0;
            *left -= sign * amount;
            let overdrawn = &mut self.counters.overdrawn[known.pool as usize];
            match (was_below, *left < 0) {
                (false, true) => *overdrawn += 1,
                (true, false) => *overdrawn -= 1,
                _ => {}
            }
        }
    }

    /// Takes back everything that was chosen since a mark.
    pub fn rewind(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop().expect("the trail is longer than the mark") {
                Change::Chosen => {
                    self.chosen.pop();
                }
                Change::Picked(spot) => self.picked.set(spot as usize, false),
                Change::PickedHere(spot) => self.picked_here.set(spot as usize, false),
                Change::Drawn(spot) => self.count_draws(spot, -1),
                Change::Joined(set, before) => self.counters.sets[set as usize].members = before,
                Change::Shared { spot, alternative } => {
                    self.shares[spot as usize] -= 1;
                    self.count_share(alternative as usize, spot, -1);
                }
                Change::Remembered(constraint, before) => self.memories[constraint as usize] = before,
            }
        }
    }
}
