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

/// How the flight of a member was when it left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed {
    pub attempts: u32,
    pub since: Option<Timestamp>,
    was_cleared: bool,
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
    pub(crate) fn leave_flight(&mut self, uid: &Arc<str>) -> Option<Departed> {
        let id = self.gangs.in_flight.remove(uid)?;
        let flight = self.gangs.flights.get_mut(&id)?;
        let before =
            Departed { attempts: flight.attempts, since: flight.since, was_cleared: flight.is_cleared };
        flight.members.remove(uid);
        flight.ready.remove(uid);
        if flight.members.is_empty() {
            self.gangs.flights.remove(&id);
        }
        Some(before)
    }

    /// A member will not be bound. If too few are left and none was bound yet, the others come back as well.
    pub(crate) fn fail_flight(&mut self, now: Timestamp, uid: &Arc<str>) {
        let Some(id) = self.gangs.in_flight.get(uid).cloned() else { return };
        if self.leave_flight(uid).is_none_or(|before| before.was_cleared) {
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
            self.gangs.in_flight.remove(&other);
            self.call_back(now, &other, "another member of the pod group could not be bound");
        }
    }

    /// Says that members are to be bound together, and with those that are on their way already.
    pub(super) fn begin_flight(&mut self, id: &GroupId, flight: Flight) {
        let members = flight.members.iter().map(|uid| (uid.clone(), id.clone()));
        self.gangs.in_flight.extend(members);
        match self.gangs.flights.get_mut(id) {
            Some(before) => before.members.extend(flight.members),
            None => drop(self.gangs.flights.insert(id.clone(), flight)),
        }
    }

    fn flight_mut(&mut self, uid: &Arc<str>) -> Option<&mut Flight> {
        let id = self.gangs.in_flight.get(uid)?;
        self.gangs.flights.get_mut(id)
    }
}
