//! The search for seats in a tree.
//!
//! Groups are placed in the order in which they were made, each as if those before it had their seats. If one does not fit, those
//! before it are tried in other domains, up to a bound. Groups that may be anywhere in the domain of their parent are searched
//! seats for together first. Each group has one choice of seats in each domain here, so that there are none proves nothing:
//! every choice is looked at by [`tree_whole`](super::tree_whole).
//!
//! Invariants: what is assumed of members is taken back with their seats. That there are no seats is certain only if everything
//! was tried.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::nodes::NodeIdx;
use cluster::trial::Mark;
use model::allocation::Allocation;
use model::group::{Composite, Group};
use model::pod::Pod;
use placement::Domain;

use super::attempt::Miss;
use super::seek::{self, Seated};
use super::tree::Branch;
use super::tree_seats::joint;
use crate::certainty::Certainty;
use crate::cycle::Cycle;
use crate::holding::held;
use crate::pod::Wanted;

/// How often seats for a group are looked for in one search, unless it has many groups.
const TRIES_MAX: u64 = 512;

/// How often that is for each group at the least: twice to compare domains, and again in the best.
const TRIES_PER_GROUP: u64 = 4;

/// How many groups are tried in other domains for the sake of others. The search is as deep as there are groups.
pub(super) const LOOK_BACK_MAX: usize = 128;

/// So many steps of a search stand for one of these.
const STEPS_PER_TRY: u64 = 4_000;

/// A search, with the seats that groups have for the moment.
pub(super) struct TreeSearch<'e, 'c> {
    pub cycle: &'e mut Cycle<'c>,
    seats: Vec<(Seated, Mark)>,
    pub tries_left: u64,
    /// How many there are for each way to search.
    tries: u64,
    /// Whether everything was tried.
    pub certainty: Certainty,
    /// How many steps each search for seats of a group may take.
    pub steps_max: u64,
    /// How many groups had seats at most, and why the next had none.
    nearest: Option<(usize, String)>,
}

/// What is in a group of groups, and the domain in which it is to be.
#[derive(Clone, Copy)]
pub(super) struct Part<'p> {
    pub composite: &'p Composite,
    pub branches: &'p [Branch],
    pub within: &'p Domain,
}

/// What has to fit besides.
pub(super) type Then<'t> = &'t mut dyn FnMut(&mut TreeSearch<'_, '_>) -> bool;

impl<'e, 'c> TreeSearch<'e, 'c> {
    /// A search of so many steps, for so many groups.
    pub fn new(cycle: &'e mut Cycle<'c>, steps_max: u64, groups: usize) -> TreeSearch<'e, 'c> {
        let tries = (steps_max / STEPS_PER_TRY).clamp(1, TRIES_MAX).max(TRIES_PER_GROUP * groups as u64);
        let (seats, certainty, nearest) = Default::default();
        TreeSearch { cycle, seats, tries_left: tries, tries, certainty, steps_max, nearest }
    }

    /// Begins another way to search, with as many tries.
    pub fn begin_anew(&mut self) {
        self.tries_left = self.tries;
        self.certainty = Certainty::Proved;
    }

    /// How many members have seats.
    pub fn count(&self) -> usize {
        self.seats.iter().map(|(seated, _)| seated.len()).sum()
    }

    /// Ends the search: the seats, with nothing assumed any more.
    pub fn end(&mut self) -> Seated {
        self.revert_to(0)
    }

    /// What came closest, or this if nothing was tried.
    pub fn miss(&self, otherwise: impl FnOnce() -> String) -> Miss {
        let message = self.nearest.as_ref().map_or_else(otherwise, |(_, why)| why.clone());
        Miss { room_for: 0, message, certainty: self.certainty }
    }

    /// Seats what is in a group of groups within its domain.
    pub fn seat_together(&mut self, part: Part<'_>, then: Then<'_>) -> bool {
        if self.seat_as_one(part, then) {
            return true;
        }
        let groups: usize = part.branches.iter().map(|branch| branch.leaves().len()).sum();
        if groups > LOOK_BACK_MAX {
            return self.seat_straight(part, then);
        }
        self.seat_branches(part, 0, then)
    }

    /// Looks for seats with so many tries at the most, and takes them back: the seats, or whether there certainly are none.
    pub fn attempt(&mut self, part: Part<'_>, tries: u64) -> Result<Seated, Certainty> {
        let before = self.seats.len();
        let granted = tries.min(self.tries_left);
        let kept = self.tries_left - granted;
        let known = std::mem::replace(&mut self.certainty, Certainty::Proved);
        self.tries_left = granted;
        let is_found = self.seat_together(part, &mut |_| true);
        self.tries_left += kept;
        let certainty = std::mem::replace(&mut self.certainty, known);
        let seated = self.revert_to(before);
        if is_found { Ok(seated) } else { Err(certainty) }
    }

    /// Seats a part of a tree within a domain so that the rest fits as well.
    fn seat_branch(&mut self, branch: &Branch, within: &Domain, then: Then<'_>) -> bool {
        match branch {
            Branch::Leaf { group, pods } => self.seat_leaf((group, pods), within, then),
            Branch::Inner { composite, branches } => {
                let pinned = self.cycle.pins(branches);
                let domains = self.cycle.domains_within(&composite.levels, &pinned, within);
                self.seat_in_best((composite, branches), &domains, 0, then).is_some()
            }
        }
    }

    /// Seats all members of groups that may be anywhere in a domain as if they were one group. One after the other, the first might
    /// take what only another could use.
    fn seat_as_one(&mut self, Part { composite, branches, within }: Part<'_>, then: Then<'_>) -> bool {
        let leaf = |branch: &'_ Branch| match branch {
            Branch::Leaf { group, pods } if group.levels.is_empty() => Some((group.clone(), pods.clone())),
            Branch::Leaf { .. } | Branch::Inner { .. } => None,
        };
        let Some(leaves) = branches.iter().map(leaf).collect::<Option<Vec<_>>>() else { return false };
        let has_enough = |(group, pods): &&(Arc<Group>, Vec<Arc<Pod>>)| {
            self.cycle.facts.groups.seated(&group.id).count() + pods.len() >= group.at_least as usize
        };
        let waiting = leaves.iter().filter(|(_, pods)| !pods.is_empty()).count();
        if waiting < 2 || leaves.iter().filter(has_enough).count() < leaves.len() || !self.may_try() {
            return false;
        }
        let mut pods: Vec<Arc<Pod>> = leaves.iter().flat_map(|(_, pods)| pods).cloned().collect();
        seek::sort(&mut pods);
        let as_one = Group { id: joint(&composite.id), at_least: pods.len() as u32, ..Group::default() };
        let alone = std::slice::from_ref(within);
        let found = self.cycle.seat_gang_in(&Arc::new(as_one), &pods, alone, self.steps_max);
        let Ok(mut seated) = found else { return false };
        let before = self.seats.len();
        for (group, _) in leaves {
            let is_own = |(pod, _): &mut (Arc<Pod>, _)| pod.group.as_ref() == Some(&group.id.name);
            let own: Seated = seated.extract_if(.., is_own).collect();
            self.assume_group(own);
        }
        if then(self) {
            return true;
        }
        self.revert_to(before);
        self.certainty = Certainty::LimitReached;
        false
    }

    /// Seats these one after the other, as many as there is room for, and never looks back.
    fn seat_straight(&mut self, part: Part<'_>, then: Then<'_>) -> bool {
        let before = self.seats.len();
        let mut placed = 0;
        for branch in part.branches {
            placed += u32::from(self.seat_branch(branch, part.within, &mut |_| true));
        }
        if placed >= part.composite.at_least && then(self) {
            return true;
        }
        self.revert_to(before);
        self.certainty = Certainty::LimitReached;
        false
    }

    /// Seats as many of these as there is room for, but enough; `placed` of those before have theirs.
    fn seat_branches(&mut self, part: Part<'_>, placed: u32, then: Then<'_>) -> bool {
        let at_least = part.composite.at_least;
        let Some((first, rest)) = part.branches.split_first() else {
            return placed >= at_least && then(self);
        };
        let rest = Part { branches: rest, ..part };
        let mut with = |search: &mut TreeSearch<'_, '_>| search.seat_branches(rest, placed + 1, then);
        if self.seat_branch(first, part.within, &mut with) {
            return true;
        }
        let is_needed = placed + (rest.branches.len() as u32) < at_least;
        !is_needed && self.seat_branches(rest, placed, then)
    }

    /// Seats a group in the best domain, and if the rest does not fit then in another.
    fn seat_leaf(
        &mut self,
        (group, pods): (&Arc<Group>, &[Arc<Pod>]),
        within: &Domain,
        then: Then<'_>,
    ) -> bool {
        let is_met = self.cycle.facts.groups.seated(&group.id).count() >= group.at_least as usize;
        if pods.is_empty() {
            return is_met && then(self);
        }
        let pinned: Vec<NodeIdx> = self.cycle.pins_of(&group.id).collect();
        let domains = self.cycle.domains_within(&group.levels, &pinned, within);
        let mut best = None;
        for choice in std::iter::once(None).chain(domains.iter().map(Some)) {
            let among = match choice {
                None => &domains[..],
                // This is where it was found to be best.
                Some(domain) if domains.len() == 1 || best.is_some_and(|at| domain.nodes.contains(&at)) => {
                    continue;
                }
                Some(domain) => std::slice::from_ref(domain),
            };
            if !self.may_try() {
                self.lacks(|| format!("group {} was not tried any more", group.id.name));
                return false;
            }
            let seated = match self.cycle.seat_gang_in(group, pods, among, self.steps_max) {
                Ok(seated) => seated,
                Err(miss) => {
                    self.came_close(group, &miss.message);
                    self.certainty = self.certainty.and(miss.certainty);
                    if choice.is_none() {
                        break;
                    }
                    continue;
                }
            };
            if choice.is_none() {
                best = seated.first().and_then(|(_, choice)| self.cycle.facts.nodes.find(&choice.node));
            }
            self.assume_group(seated);
            if then(self) {
                return true;
            }
            self.revert_group();
            // With other seats in the same domain the rest might fit.
            self.certainty = Certainty::LimitReached;
        }
        is_met && then(self)
    }

    /// Goes on as if members of a group were on their nodes. Their claims have devices then, which members of other groups that name
    /// them share.
    fn assume_group(&mut self, seated: Seated) {
        let mark = self.cycle.facts.mark();
        seated.iter().for_each(|(pod, choice)| self.cycle.assume_choice(pod, choice));
        for (state, allocation) in brought(&seated) {
            let allocation = Some(Arc::new(held(&state.wish.id.clone().into(), &state.uid, allocation).0));
            let with_devices = ClaimState { allocation, ..ClaimState::clone(state) };
            self.cycle.assumed.insert(state.wish.id.clone(), Arc::new(with_devices));
        }
        self.seats.push((seated, mark));
    }

    /// Takes back what was assumed of the last group.
    fn revert_group(&mut self) -> Option<Seated> {
        let (seated, mark) = self.seats.pop()?;
        self.cycle.facts.rewind(mark);
        for (state, _) in brought(&seated) {
            self.cycle.assumed.remove(&state.wish.id);
        }
        Some(seated)
    }

    /// Takes back what was assumed of all groups but the first ones: their seats.
    fn revert_to(&mut self, groups: usize) -> Seated {
        let mut seats: Vec<Seated> = Vec::new();
        while self.seats.len() > groups {
            seats.extend(self.revert_group());
        }
        seats.into_iter().rev().flatten().collect()
    }

    /// Whether seats may be looked for once more.
    pub fn may_try(&mut self) -> bool {
        let tries_left = self.tries_left.checked_sub(1).filter(|_| !self.cycle.caches.work.is_spent());
        let Some(left) = tries_left else {
            self.certainty = Certainty::LimitReached;
            return false;
        };
        self.tries_left = left;
        true
    }

    /// There are no seats, and this is why if nothing was tried.
    pub fn lacks(&mut self, why: impl FnOnce() -> String) {
        self.nearest.get_or_insert_with(|| (0, why()));
    }

    fn came_close(&mut self, group: &Group, message: &str) {
        let placed = self.seats.len();
        if self.nearest.as_ref().is_none_or(|(most, _)| *most < placed) {
            let why = message.strip_prefix("pod group is unschedulable, ").unwrap_or(message);
            let others = if placed == 0 { String::new() } else { format!(" beside {placed} others") };
            self.nearest = Some((placed, format!("group {}{others}: {why}", group.id.name)));
        }
    }
}

/// The claims that get devices with members.
fn brought(seated: &Seated) -> impl Iterator<Item = (&Arc<ClaimState>, &Allocation)> {
    let claims = seated.iter().flat_map(|(_, choice)| &choice.claims);
    claims.filter_map(|wanted| match wanted {
        Wanted::Allocation { state, allocation } => Some((state, allocation)),
        _ => None,
    })
}
