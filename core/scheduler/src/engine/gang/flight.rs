//! Members that are to be bound together: none is bound before enough of them have all that they need.
//!
//! Invariant: as long as no member is being bound, a gang that falls short of what it needs is taken back as a whole. After
//! that no pod can be taken back that is bound: a member that could not be is looked a place for again where the others are, once
//! it is known of all of them whether they are bound. If none is, the gang is free to go elsewhere as a whole. The seat of one
//! whose devices failed may be kept open for it. Before the first is bound, all are looked at once more.

use std::collections::BTreeSet;

use cluster::groups::Root;
use decisions::not_bound::{GangFell, NotBound};
use model::group::GroupId;
use model::identity::PodUid;
use model::timestamp::Timestamp;

use crate::engine::Engine;
use crate::life_cycles::binding::Binding;
use crate::life_cycles::flight::{Event, Flight};
use crate::queue::Tries;

impl Engine {
    /// A member has all that it needs: if it is the last one, all of them are bound.
    pub(crate) fn complete_flight(&mut self, now: Timestamp, uid: &PodUid) {
        let Some(root) = self.gangs.flights.root_of(uid).cloned() else { return };
        let flight = self.gangs.flights.get(&root).filter(|flight| self.is_whole(&root, flight));
        let Some(flight) = flight else { return };
        let others = flight.members.iter().filter(|other| *other != uid);
        let members: Vec<PodUid> = others.chain([uid]).cloned().collect();
        // All are asked what each was asked when it became ready: a list of claims or another scheduler may have come since. The last
        // one is asked as well: while its volumes were being bound, it was not asked whether its node is cordoned.
        let unfit: Vec<PodUid> =
            members.iter().filter(|member| !self.could_be_bound(now, member)).cloned().collect();
        if unfit.is_empty() {
            self.gangs.flights.step(&root, Event::Cleared);
            members.iter().for_each(|one| self.go_on(now, one));
            return;
        }
        // What they had is lost: they see so now.
        unfit.iter().for_each(|member| self.go_on(now, member));
    }

    /// Whether a pod is on its way with a gang of which no member may be bound yet.
    pub(crate) fn is_held_for_gang(&self, uid: &PodUid) -> bool {
        self.gangs.flights.of(uid).is_some_and(|flight| !flight.is_cleared())
    }

    /// A member is not on its way any more. What is told is how often its gang had been looked at.
    pub(crate) fn leave_flight(&mut self, uid: &PodUid) -> Option<Tries> {
        let root = self.gangs.flights.root_of(uid)?.clone();
        let flight = self.gangs.flights.get(&root)?;
        let before = flight.tries;
        if let Some(over) = self.gangs.flights.step(&root, Event::Left(uid.clone())) {
            self.end_landing(&root, &over);
        }
        Some(before)
    }

    /// A member was bound by another client: those that waited for it alone go on.
    pub(crate) fn slip_from_flight(&mut self, now: Timestamp, uid: &PodUid) {
        let Some(root) = self.gangs.flights.root_of(uid).cloned() else { return };
        self.leave_flight(uid);
        self.clear_if_ready(now, &root);
    }

    /// A member will not be bound. If too few are left, those that are not being bound yet come back as well. A pod that is bound
    /// or is being bound stays: the others are then looked a place for where these are.
    pub(crate) fn fail_flight(&mut self, now: Timestamp, uid: &PodUid) {
        let Some(root) = self.gangs.flights.root_of(uid).cloned() else { return };
        self.leave_flight(uid);
        let Some(flight) = self.gangs.flights.get(&root) else { return };
        let is_enough = if flight.is_cleared() {
            self.has_landed_enough(&root)
        } else {
            self.has_enough(&root, flight, flight.vacant())
        };
        if is_enough {
            return self.clear_if_ready(now, &root);
        }
        self.call_flight_back(now, &root, GangFell::MemberFailed);
    }

    /// Whether enough members are bound or being bound. What is enough of a tree is looked at when all of it has landed.
    fn has_landed_enough(&self, root: &Root) -> bool {
        let Root::Group(id) = root else { return true };
        let wanted = self.facts.groups.get(id).map_or(0, |group| group.at_least as usize);
        let has_landed = |uid: &&PodUid| self.bindings.get(uid).is_none_or(Binding::is_being_bound);
        self.facts.groups.seated(id).filter(has_landed).count() >= wanted
    }

    /// Takes members back that are on their way and not being bound.
    fn call_flight_back(&mut self, now: Timestamp, root: &Root, why: GangFell) {
        let Some(flight) = self.gangs.flights.get(root) else { return };
        let is_binding = |uid: &&PodUid| self.bindings.get(uid).is_some_and(Binding::is_being_bound);
        let others: Vec<PodUid> = flight.members.iter().filter(|uid| !is_binding(uid)).cloned().collect();
        for other in &others {
            self.leave_flight(other);
        }
        for other in others {
            self.call_back(now, &other, NotBound::Gang(why));
        }
    }

    /// Takes members on their way back if they have become too few, and none is bound yet.
    pub(crate) fn recount_flight(&mut self, now: Timestamp, root: &Root, why: GangFell) {
        let is_short =
            |flight: &&Flight| !flight.is_cleared() && !self.has_enough(root, flight, flight.vacant());
        if self.gangs.flights.get(root).filter(is_short).is_some() {
            self.call_flight_back(now, root, why);
        }
    }

    /// A gang or a tree may need another number of members: those on their way are too few now, or wait for no other any more.
    pub(super) fn resize_flight(&mut self, now: Timestamp, root: &Root) {
        self.recount_flight(now, root, GangFell::NeedsMore);
        self.clear_if_ready(now, root);
    }

    /// Whether enough members are on the way, and all of them have what they need.
    fn is_whole(&self, root: &Root, flight: &Flight) -> bool {
        let is_ready = |uid: &PodUid| self.bindings.get(uid).is_some_and(Binding::is_held);
        // Of a large tree it takes long to say whether it has enough, so it is asked last. The last member mostly is the last to be ready.
        !flight.is_cleared() && flight.members.iter().rev().all(is_ready) && self.has_enough(root, flight, 0)
    }

    /// Members have set off, and those whose places failed at once have left again: the others are enough to be bound one day.
    pub(super) fn check_flight(&self, root: &Root) {
        let is_enough =
            |flight: &Flight| flight.is_cleared() || self.has_enough(root, flight, flight.vacant());
        debug_assert!(
            self.gangs.flights.get(root).is_none_or(is_enough),
            "seats are given to enough members of {root:?}"
        );
    }

    /// Whether a member on its way is being taken back: what is written for it is undone, or has yet to be answered.
    pub(super) fn is_coming_back(&self, uid: &PodUid) -> bool {
        !self.facts.nodes.has_pod(uid) || self.bindings.get(uid).is_some_and(Binding::is_coming_back)
    }

    /// Whether enough members are on the way together, with those that are on nodes by now and so many whose seats are open.
    fn has_enough(&self, root: &Root, flight: &Flight, open: usize) -> bool {
        let Root::Group(id) = root else { return self.is_tree_enough(flight) };
        let needed = self.facts.groups.get(id).map_or(flight.at_least, |group| {
            let bound = self.stays(flight, id).filter(|uid| !flight.members.contains(*uid)).count();
            (group.at_least as usize).saturating_sub(bound)
        });
        flight.members.len() + open >= needed
    }

    /// Whether enough groups of a tree have enough members, and so has each group of which a member is on the way: pods of one
    /// group do not stand for those of another.
    fn is_tree_enough(&self, flight: &Flight) -> bool {
        let members = flight.members.iter().filter_map(|uid| self.bindings.get(uid));
        let groups: BTreeSet<GroupId> =
            members.filter_map(|binding| self.facts.groups.gang_of(&binding.pod)).collect();
        let is_enough = |root: &Root| {
            self.facts.groups.is_enough(root, &|leaf: &GroupId| self.stays(flight, leaf).count())
        };
        let mut roots: Vec<Root> = Vec::new();
        let are_enough = groups.into_iter().all(|group| {
            let Some(root) = self.facts.groups.root_of(&group) else { return false };
            if !roots.contains(&root) {
                roots.push(root);
            }
            is_enough(&Root::Group(group))
        });
        are_enough && roots.iter().all(is_enough)
    }

    /// The members of a group that are on nodes or on their way with a flight, without those that are being taken back.
    fn stays<'e>(&'e self, flight: &'e Flight, group: &GroupId) -> impl Iterator<Item = &'e PodUid> {
        let stays = |uid: &&PodUid| flight.members.contains(*uid) || !self.is_coming_back(uid);
        self.facts.groups.seated(group).filter(stays)
    }

    /// Lets all members go on if none of them is waited for any more.
    fn clear_if_ready(&mut self, now: Timestamp, root: &Root) {
        let whole = self.gangs.flights.get(root).filter(|flight| self.is_whole(root, flight));
        // The last one lets all others go on.
        let last = whole.and_then(|flight| flight.members.last()).cloned();
        last.iter().for_each(|last| self.go_on(now, last));
    }

    /// Whether members are being bound, and the gang or the tree has too few if that fails, or members are let go: where the others
    /// can be depends on it.
    pub(super) fn is_landing(&self, root: &Root) -> bool {
        self.facts.groups.leaves_of(root).iter().any(|leaf| self.has_released(leaf))
            || (self.gangs.flights.get(root).is_some_and(Flight::is_cleared) && !self.is_bound(root))
    }
}
