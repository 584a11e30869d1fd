//! What every pass of a search asks with: the gang, the cluster, what is known of it, and the steps that are left.

use crate::budget::Budget;
use crate::gang::Gang;
use crate::room::Room;
use crate::state::PlacementState;

/// A question under way.
pub(crate) struct Inquiry<'i, S: PlacementState + ?Sized> {
    pub gang: &'i Gang,
    pub state: &'i mut S,
    pub room: &'i mut Room,
    pub budget: &'i mut Budget,
}

impl<S: PlacementState + ?Sized> Inquiry<'_, S> {
    /// Lets a part of the work use the steps above a floor, and counts what it used.
    pub fn above<T>(&mut self, floor: u64, work: impl FnOnce(&mut Inquiry<'_, S>) -> T) -> T {
        let Inquiry { gang, state, room, budget } = self;
        budget.above(floor, |budget| work(&mut Inquiry { gang, state, room, budget }))
    }
}
