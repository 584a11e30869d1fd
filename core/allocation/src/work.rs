//! How much work it is to look for devices, in nominal nanoseconds.
//!
//! The figures were measured; `cargo run --release -p bench -- allocate` shows how far they agree with the time on a machine.

use crate::problem::Problem;

/// To put a question.
const QUESTION: u64 = 4_000;
/// To look at a device.
const DEVICE: u64 = 150;
/// To look at a device for a request.
const DEVICE_FOR_REQUEST: u64 = 60;
/// To put a way to satisfy a request, or a constraint, whatever devices there are.
const ALTERNATIVE: u64 = 800;
const CONSTRAINT: u64 = 350;
/// To look up what constraints compare of a device.
const DEVICE_FOR_CONSTRAINT: u64 = 50;
/// To take a step, whatever else there is.
const STEP: u64 = 300;
/// To look at what a device is worth for a request that is still to be satisfied, at each step.
const DEVICE_AT_STEP: u64 = 2;

/// To make a choice in the search for any solution, whatever else there is.
pub(crate) const CHOICE: u64 = 1_500;
/// To look at a request, a way or a device once in that search.
pub(crate) const GLANCE: u64 = 12;
/// To look a state up among those that failed there, or to add it.
pub(crate) const STATE: u64 = 2_000;
/// To look at a word of a set of devices there.
pub(crate) const WORD: u64 = 2;

/// To turn a question into numbers.
pub(crate) fn to_begin(problem: &Problem) -> u64 {
    let (devices, alternatives) = (problem.spots.len() as u64, problem.alternatives.len() as u64);
    let constraints: u64 = problem.claims.iter().map(|claim| claim.constraints.len() as u64).sum();
    QUESTION
        + devices * DEVICE
        + alternatives * (ALTERNATIVE + devices * DEVICE_FOR_REQUEST)
        + constraints * (CONSTRAINT + devices * DEVICE_FOR_CONSTRAINT)
}

/// To take a step while so many alternatives are still to be looked at.
pub(crate) fn of_step(problem: &Problem, alternatives_left: usize) -> u64 {
    STEP + problem.spots.len() as u64 * alternatives_left as u64 * DEVICE_AT_STEP
}
