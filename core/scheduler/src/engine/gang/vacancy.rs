//! Seats of members whose devices did not become ready: such a member alone is looked after again, within what binds the gang,
//! while the others keep what they have.
//!
//! Invariant: no member waits for a seat that will not be filled. If no other devices are found for the member, or it is held back
//! or gone, all are taken back.

use cluster::groups::Root;
use decisions::not_bound::GangFell;
use model::group::GroupId;
use model::identity::PodUid;
use model::timestamp::Timestamp;

use crate::engine::Engine;
use crate::life_cycles::flight::Event;

impl Engine {
    /// Keeps the seat of a member open that is about to be taken back, as long as it can be placed anew.
    pub(crate) fn vacate(&mut self, uid: &PodUid) {
        let Some(root) = self.gangs.flights.root_of(uid).cloned() else { return };
        let Root::Group(id) = &root else { return };
        let waits = self.facts.groups.waiting(id).and_then(|members| members.get(uid));
        if waits == Some(&false) {
            self.gangs.flights.step(&root, Event::Vacated(uid.clone()));
        }
    }

    /// A member will not be placed anew. If too few are left the others come back as well.
    pub(super) fn close_seat(&mut self, now: Timestamp, id: &GroupId, uid: &PodUid) {
        let root = Root::Group(id.clone());
        if self.gangs.flights.get(&root).is_some() {
            self.gangs.flights.step(&root, Event::Filled(Some(uid.clone())));
            self.recount_flight(now, &root, GangFell::MemberGone);
        }
    }

    /// Open seats are not filled: those that wait for that come back.
    pub(super) fn close_seats(&mut self, now: Timestamp, id: &GroupId, why: GangFell) {
        let root = Root::Group(id.clone());
        if self.gangs.flights.get(&root).is_some_and(|flight| flight.vacant() > 0) {
            self.gangs.flights.step(&root, Event::Filled(None));
            self.recount_flight(now, &root, why);
        }
    }
}
