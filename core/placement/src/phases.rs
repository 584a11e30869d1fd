//! The three phases at once: which domains there are, which of them will do, and which is best.

use std::borrow::Cow;

use crate::answer::PlacementAnswer;
use crate::budget::Budget;
use crate::gang::Gang;
use crate::generator::Domain;
use crate::placing::{Placing, Progress};
use crate::scorer::Weighted;
use crate::state::PlacementState;

/// What is to be decided.
#[derive(Clone, Copy)]
pub struct PlacementQuestion<'q> {
    /// The gang.
    pub gang: &'q Gang,
    /// The domains in which it may be.
    pub domains: &'q [Domain],
    /// What says which placement is best.
    pub scorers: &'q [Weighted<'q>],
}

/// Seats a gang in the best domain of the lowest rank that will do, or says why there is none. All members come first: only if
/// no domain of any rank has room for all members, one that has room for as many as have to be seated will do.
pub fn place<S: PlacementState + ?Sized>(
    question: PlacementQuestion<'_>,
    state: &mut S,
    budget: &mut Budget,
) -> PlacementAnswer<S::Stop> {
    let PlacementQuestion { gang, domains, scorers } = question;
    let mut placing = Placing::new(Cow::Borrowed(gang), Cow::Borrowed(domains), *budget);
    loop {
        if let Progress::Done(answer) = placing.advance(state, scorers, u64::MAX) {
            budget.spend(budget.left() - placing.left());
            return answer;
        }
    }
}
