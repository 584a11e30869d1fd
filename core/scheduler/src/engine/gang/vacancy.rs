//! Seats of members whose devices did not become ready: such a member alone is looked after again, within what binds the gang,
//! while the others keep what they have.
//!
//! Invariant: nobody waits for a seat that will not be filled. If no other devices are found for the member, or it is held back
//! or gone, all are taken back.

use std::sync::Arc;

use model::group::GroupId;
use model::timestamp::Timestamp;

use crate::engine::Engine;

impl Engine {
    /// Keeps the seat of a member open that is about to be taken back, as long as it can be placed anew.
    pub(crate) fn vacate(&mut self, uid: &Arc<str>) {
        let Some(id) = self.gangs.in_flight.get(uid) else { return };
        let waits = self.facts.groups.waiting(id).and_then(|members| members.get(uid));
        let may_be_placed = waits == Some(&false);
        let flight = self.gangs.flights.get_mut(id).filter(|flight| may_be_placed && !flight.is_cleared);
        if let Some(flight) = flight {
            flight.vacant.insert(uid.clone());
        }
    }

    /// A member will not be placed anew. If too few are left the others come back as well.
    pub(super) fn close_seat(&mut self, now: Timestamp, id: &GroupId, uid: &str) {
        let Some(flight) = self.gangs.flights.get_mut(id) else { return };
        flight.vacant.remove(uid);
        self.recount_flight(now, id, "another member of the pod group has gone");
    }

    /// Open seats are not filled: those who wait for that come back.
    pub(super) fn close_seats(&mut self, now: Timestamp, id: &GroupId, why: &str) {
        let Some(flight) = self.gangs.flights.get_mut(id) else { return };
        if flight.is_cleared || flight.vacant.is_empty() {
            return;
        }
        flight.vacant.clear();
        self.recount_flight(now, id, why);
    }
}
