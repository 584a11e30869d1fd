//! Members that are to be bound together: none is bound before enough of them have all that they need.
//!
//! Invariant: as long as no member is bound, a gang that falls short of what it needs is taken back as a whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::group::GroupId;
use model::timestamp::Timestamp;

use crate::engine::Engine;

/// Members of a gang that found their seats at once.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// Who is on the way.
    pub members: BTreeSet<Arc<str>>,
    /// Those that have all that they need.
    pub ready: BTreeSet<Arc<str>>,
    /// How many have to be bound together.
    pub at_least: usize,
    /// They may be bound.
    pub is_cleared: bool,
    /// How often the gang was looked at.
    pub attempts: u32,
    /// When it first was ready to be placed.
    pub since: Option<Timestamp>,
}

impl Engine {
    /// Whether a pod that could be bound waits for other members of its gang. The last one lets all of them go on.
    pub(crate) fn waits_for_gang(&mut self, now: Timestamp, uid: &Arc<str>) -> bool {
        let Some(flight) = self.flight_mut(uid).filter(|flight| !flight.is_cleared) else { return false };
        flight.ready.insert(uid.clone());
        if flight.ready.len() < flight.members.len() {
            return true;
        }
        flight.is_cleared = true;
        let others: Vec<Arc<str>> = flight.members.iter().filter(|other| *other != uid).cloned().collect();
        others.iter().for_each(|other| self.go_on(now, other));
        false
    }

    /// A member is not on its way any more. What is told is how its flight was when it left.
    pub(crate) fn leave_flight(&mut self, uid: &Arc<str>) -> Option<Flight> {
        let id = self.gang_in_flight(uid)?;
        let flight = self.gangs.flights.get_mut(&id)?;
        let before = flight.clone();
        flight.members.remove(uid);
        flight.ready.remove(uid);
        if flight.members.is_empty() {
            self.gangs.flights.remove(&id);
        }
        Some(before)
    }

    /// A member will not be bound. If too few are left and none was bound yet, the others come back as well.
    pub(crate) fn fail_flight(&mut self, now: Timestamp, uid: &Arc<str>) {
        let Some(id) = self.gang_in_flight(uid) else { return };
        if self.leave_flight(uid).is_none_or(|before| before.is_cleared) {
            return;
        }
        let Some(flight) = self.gangs.flights.get_mut(&id) else { return };
        if flight.members.len() >= flight.at_least {
            if flight.ready.len() == flight.members.len() {
                flight.is_cleared = true;
                let others: Vec<Arc<str>> = flight.members.iter().cloned().collect();
                others.iter().for_each(|other| self.go_on(now, other));
            }
            return;
        }
        let others = std::mem::take(&mut flight.members);
        self.gangs.flights.remove(&id);
        for other in others {
            self.call_back(now, &other, "another member of the pod group could not be bound");
        }
    }

    fn flight_mut(&mut self, uid: &Arc<str>) -> Option<&mut Flight> {
        let id = self.gang_in_flight(uid)?;
        self.gangs.flights.get_mut(&id)
    }

    /// The gang with which a pod is to be bound.
    fn gang_in_flight(&self, uid: &Arc<str>) -> Option<GroupId> {
        let flown = |(_, flight): &(&GroupId, &Flight)| flight.members.contains(uid);
        self.gangs.flights.iter().find(flown).map(|(id, _)| id.clone())
    }
}
