//! Why a gang has no seats.

use std::sync::Arc;

use crate::values::certainty::Certainty;
use crate::values::filter_set::FilterSet;
use crate::values::in_the_way::InTheWay;
use crate::values::wake::Wakes;

/// Why a gang has no seats.
#[derive(Debug)]
pub struct GangRefusal {
    /// In words.
    pub message: String,
    /// What could undo it.
    pub wakes_on: Wakes,
    /// The filters that say so.
    pub filters: FilterSet,
    /// Whether there certainly is no place.
    pub certainty: Certainty,
    /// Claims of members that have devices of no use to any pod, and for which pod they give them back.
    pub in_the_way: Vec<(InTheWay, Arc<str>)>,
}

impl GangRefusal {
    /// Room is being made. It is known now what the gang waits for, so it is tried as soon as that happens.
    pub fn waits_for(&mut self, wakes: Wakes) {
        self.wakes_on = self.wakes_on.or(wakes);
        self.certainty = Certainty::Proved;
    }
}
