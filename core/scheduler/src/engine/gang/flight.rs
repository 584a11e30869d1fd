//! Members that are to be bound together: none is bound before enough of them have all that they need.
//!
//! Invariant: as long as no member is being bound, a gang that falls short of what it needs is taken back as a whole. After
//! that nobody can be taken back who is bound: a member that could not be is looked a place for again where the others are, once
//! it is known of all of them whether they are bound. If none is, the gang is free to go elsewhere as a whole. The seat of one
//! whose devices failed may be kept open for it. Before the first is bound, all are looked at once more.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::groups::Root;
use decisions::gang::joint;
use model::group::GroupId;
use model::timestamp::Timestamp;

use crate::engine::{Engine, Placing};

/// Members of a gang that found their seats at once.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// Who is on the way.
    pub members: BTreeSet<Arc<str>>,
    /// Those that have all that they need.
    pub ready: BTreeSet<Arc<str>>,
    /// Those whose devices failed, and who are looked after again before the others are taken back.
    pub vacant: BTreeSet<Arc<str>>,
    /// How many have to be bound together.
    pub at_least: usize,
    /// They may be bound.
    pub is_cleared: bool,
    /// How often the gang was looked at.
    pub attempts: u32,
    /// When it first was ready to be placed.
    pub since: Option<Timestamp>,
    /// When the youngest of them was made.
    pub youngest: Option<Timestamp>,
}

/// How the flight of a member was when it left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed {
    pub attempts: u32,
    pub since: Option<Timestamp>,
}

impl Engine {
    /// Whether a pod that could be bound waits for other members of its gang. The last one lets all of them go on.
    pub(crate) fn waits_for_gang(&mut self, now: Timestamp, uid: &Arc<str>) -> bool {
        let Some(flight) = self.flight_mut(uid).filter(|flight| !flight.is_cleared) else { return false };
        flight.ready.insert(uid.clone());
        let Some(flight) = self.flight(uid).filter(|flight| self.is_whole(flight)) else { return true };
        let others: Vec<Arc<str>> = flight.members.iter().filter(|other| *other != uid).cloned().collect();
        // All are asked what each was asked when it became ready: a list of claims or another scheduler may have come since.
        let is_fit = |other: &Arc<str>| {
            self.has_ready_devices(now, other)
                && self.keeps_devices(now, other)
                && self.has_waited_enough(now, other)
        };
        let (fit, unfit): (Vec<Arc<str>>, Vec<Arc<str>>) = others.into_iter().partition(is_fit);
        let Some(flight) = self.flight_mut(uid) else { return true };
        if unfit.is_empty() {
            flight.is_cleared = true;
            fit.iter().for_each(|other| self.go_on(now, other));
            return false;
        }
        // What they had is lost: they see so now, and whoever of them is fit after all lets everybody go on.
        flight.ready.retain(|other| !unfit.contains(other));
        unfit.iter().for_each(|other| self.go_on(now, other));
        true
    }

    /// Whether a pod is on its way with a gang of which nobody may be bound yet.
    pub(crate) fn is_held_for_gang(&self, uid: &Arc<str>) -> bool {
        self.flight(uid).is_some_and(|flight| !flight.is_cleared)
    }

    /// Whether a pod on its way has all that it needs but for the other members of its gang.
    pub(crate) fn is_ready_for_gang(&self, uid: &Arc<str>) -> bool {
        self.flight(uid).is_some_and(|flight| !flight.is_cleared && flight.ready.contains(uid))
    }

    /// A member lacks something after all.
    pub(crate) fn is_not_ready(&mut self, uid: &Arc<str>) {
        if let Some(flight) = self.flight_mut(uid) {
            flight.ready.remove(uid);
        }
    }

    /// A member is not on its way any more. What is told is how its flight was when it left.
    pub(crate) fn leave_flight(&mut self, uid: &Arc<str>) -> Option<Departed> {
        let id = self.gangs.in_flight.remove(uid)?;
        let flight = self.gangs.flights.get_mut(&id)?;
        let before = Departed { attempts: flight.attempts, since: flight.since };
        flight.members.remove(uid);
        flight.ready.remove(uid);
        if flight.members.is_empty()
            && let Some(flight) = self.gangs.flights.remove(&id)
        {
            self.end_landing(&id, &flight);
        }
        Some(before)
    }

    /// A member was bound by somebody else: those who waited for it alone go on.
    pub(crate) fn slip_from_flight(&mut self, now: Timestamp, uid: &Arc<str>) {
        let Some(id) = self.gangs.in_flight.get(uid).cloned() else { return };
        self.leave_flight(uid);
        self.clear_if_ready(now, &id);
    }

    /// A member will not be bound. If too few are left, those that are not being bound yet come back as well. Whoever is bound
    /// or is being bound stays: the others are then looked a place for where these are.
    pub(crate) fn fail_flight(&mut self, now: Timestamp, uid: &Arc<str>) {
        let Some(id) = self.gangs.in_flight.get(uid).cloned() else { return };
        self.leave_flight(uid);
        let Some(flight) = self.gangs.flights.get(&id) else { return };
        let is_binding =
            |uid: &&Arc<str>| self.bindings.placing.get(*uid).is_some_and(Placing::is_being_bound);
        let is_enough = if flight.is_cleared {
            let wanted = self.facts.groups.get(&id).map_or(0, |group| group.at_least as usize);
            let landed = |uid: &&Arc<str>| !self.bindings.placing.contains_key(*uid) || is_binding(uid);
            self.facts.groups.seated(&id).filter(landed).count() >= wanted
        } else {
            self.has_enough(flight, flight.vacant.len())
        };
        if is_enough {
            return self.clear_if_ready(now, &id);
        }
        self.call_flight_back(now, &id, "another member of the pod group could not be bound");
    }

    /// Takes members back that are on their way and not being bound.
    fn call_flight_back(&mut self, now: Timestamp, id: &GroupId, why: &str) {
        let Some(flight) = self.gangs.flights.get(id) else { return };
        let is_binding =
            |uid: &&Arc<str>| self.bindings.placing.get(*uid).is_some_and(Placing::is_being_bound);
        let others: Vec<Arc<str>> = flight.members.iter().filter(|uid| !is_binding(uid)).cloned().collect();
        for other in &others {
            self.leave_flight(other);
        }
        for other in others {
            self.call_back(now, &other, why);
        }
    }

    /// Takes members on their way back if they have become too few, and nobody is bound yet.
    pub(crate) fn recount_flight(&mut self, now: Timestamp, id: &GroupId, why: &str) {
        let is_short = |flight: &&Flight| !flight.is_cleared && !self.has_enough(flight, flight.vacant.len());
        if self.gangs.flights.get(id).filter(is_short).is_some() {
            self.call_flight_back(now, id, why);
        }
    }

    /// A gang or a tree may need another number of members: those on their way are too few now, or wait for nobody any more.
    pub(super) fn resize_flight(&mut self, now: Timestamp, id: &GroupId) {
        self.recount_flight(now, id, "the pod group needs more members than were on their way");
        self.clear_if_ready(now, id);
    }

    /// The name under which members of a group are on their way: its own, or that of all of its tree.
    pub(super) fn flight_id(&self, group: &GroupId) -> GroupId {
        match self.facts.groups.root_of(group) {
            Some(Root::Composite(root)) => joint(&root),
            Some(Root::Group(_)) | None => group.clone(),
        }
    }

    /// Whether enough members are on the way, and all of them have what they need.
    fn is_whole(&self, flight: &Flight) -> bool {
        self.has_enough(flight, 0) && flight.ready.len() == flight.members.len()
    }

    /// Whether a member on its way is being taken back: what is written for it is undone, or has yet to be answered.
    pub(super) fn is_coming_back(&self, uid: &Arc<str>) -> bool {
        !self.facts.nodes.has_pod(uid)
            || self.bindings.placing.get(uid).is_some_and(|placing| placing.failed.is_some())
    }

    /// Whether enough members are on the way together, with those that are on nodes by now and so many whose seats are open.
    fn has_enough(&self, flight: &Flight, open: usize) -> bool {
        let id = flight.members.first().and_then(|uid| self.gangs.in_flight.get(uid));
        let placing = flight.members.iter().filter_map(|uid| self.bindings.placing.get(uid));
        let groups: BTreeSet<GroupId> =
            placing.filter_map(|placing| self.facts.groups.gang_of(&placing.pod)).collect();
        if id.is_some_and(|id| !groups.contains(id)) {
            return self.is_tree_enough(flight, &groups);
        }
        let group = id.and_then(|id| self.facts.groups.get(id));
        let needed = group.map_or(flight.at_least, |group| {
            let bound = self.stays(flight, &group.id).filter(|uid| !flight.members.contains(*uid)).count();
            (group.at_least as usize).saturating_sub(bound)
        });
        flight.members.len() + open >= needed
    }

    /// Whether enough groups of a tree have enough members, and so has each group of which somebody is on the way: pods of one
    /// group do not stand for those of another.
    fn is_tree_enough(&self, flight: &Flight, groups: &BTreeSet<GroupId>) -> bool {
        let is_enough = |root: &Root| {
            self.facts.groups.is_enough(root, &|leaf: &GroupId| self.stays(flight, leaf).count())
        };
        groups.iter().all(|group| {
            let root = self.facts.groups.root_of(group);
            root.as_ref().is_some_and(is_enough) && is_enough(&Root::Group(group.clone()))
        })
    }

    /// The members of a group that are on nodes or on their way with a flight, without those that are being taken back.
    fn stays<'e>(&'e self, flight: &'e Flight, group: &GroupId) -> impl Iterator<Item = &'e Arc<str>> {
        let stays = |uid: &&Arc<str>| flight.members.contains(*uid) || !self.is_coming_back(uid);
        self.facts.groups.seated(group).filter(stays)
    }

    /// Lets all members go on if none of them is waited for any more.
    fn clear_if_ready(&mut self, now: Timestamp, id: &GroupId) {
        let whole = self.gangs.flights.get(id).filter(|flight| !flight.is_cleared && self.is_whole(flight));
        // The last one lets all others go on.
        let last = whole.and_then(|flight| flight.members.last()).cloned();
        last.iter().for_each(|last| self.go_on(now, last));
    }

    /// Whether members are being bound, and the gang or the tree has too few if that fails, or members are let go: where the others
    /// can be depends on it.
    pub(super) fn is_landing(&self, root: &Root) -> bool {
        let flight = match root {
            Root::Group(id) => self.gangs.flights.get(id),
            Root::Composite(id) => self.gangs.flights.get(&joint(id)),
        };
        self.facts.groups.leaves_of(root).iter().any(|leaf| self.has_released(leaf))
            || (flight.is_some_and(|flight| flight.is_cleared) && !self.is_bound(root))
    }

    /// Says that members are to be bound together, and with those that are on their way already.
    pub(super) fn begin_flight(&mut self, id: &GroupId, flight: Flight) {
        let members = flight.members.iter().map(|uid| (uid.clone(), id.clone()));
        self.gangs.in_flight.extend(members);
        match self.gangs.flights.get_mut(id) {
            Some(before) => {
                before.members.extend(flight.members);
                before.youngest = before.youngest.max(flight.youngest);
                before.vacant.clear();
            }
            None => drop(self.gangs.flights.insert(id.clone(), flight)),
        }
    }

    pub(super) fn flight(&self, uid: &Arc<str>) -> Option<&Flight> {
        self.gangs.flights.get(self.gangs.in_flight.get(uid)?)
    }

    fn flight_mut(&mut self, uid: &Arc<str>) -> Option<&mut Flight> {
        let id = self.gangs.in_flight.get(uid)?;
        self.gangs.flights.get_mut(id)
    }
}
