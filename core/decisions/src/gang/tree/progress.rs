//! A search for seats in a tree: the seats that groups have for the moment, and how much may still be tried.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::trial::Mark;
use model::allocation::Allocation;
use model::group::{Group, GroupId};

use crate::cycle::Cycle;
use crate::devices::holding::held;
use crate::gang::answer::seats::Seated;
use crate::values::certainty::Certainty;
use crate::values::choice::Wanted;
use crate::values::gang_reason::GangReason;
use crate::values::miss::Miss;

/// How often seats for a group are looked for in one search, unless it has many groups.
const TRIES_MAX: u64 = 512;

/// How often that is for each group at the least: twice to compare domains, and again in the best.
const TRIES_PER_GROUP: u64 = 4;

/// How many groups are tried in other domains for the sake of others. The search is as deep as there are groups.
pub(crate) const LOOK_BACK_MAX: usize = 128;

/// Of how many groups it is told what they lack.
const GROUPS_MAX: usize = 64;

/// So many steps of a search stand for one of these.
const STEPS_PER_TRY: u64 = 4_000;

impl<'e, 'c> TreeSearch<'e, 'c> {
    /// A search of so many steps, for so many groups.
    pub fn new(cycle: &'e mut Cycle<'c>, steps_max: u64, groups: usize) -> TreeSearch<'e, 'c> {
        let tries = (steps_max / STEPS_PER_TRY).clamp(1, TRIES_MAX).max(TRIES_PER_GROUP * groups as u64);
        let (seats, certainty, nearest, groups) = Default::default();
        TreeSearch { cycle, seats, tries_left: tries, tries, certainty, steps_max, nearest, groups }
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
    pub fn miss(self, otherwise: impl FnOnce(&Cycle<'c>) -> GangReason) -> Miss {
        let TreeSearch { cycle, nearest, groups, certainty, .. } = self;
        let nearest = nearest.map_or_else(|| otherwise(cycle), |(_, why)| why);
        let groups = groups.into_iter().map(|(id, (_, why))| (id, why)).collect();
        Miss { certainty, ..Miss::proved(GangReason::Tree { nearest: Box::new(nearest), groups }) }
    }

    /// Goes on as if members of a group were on their nodes. Their claims have devices then, which members of other groups that name
    /// them share.
    pub(crate) fn assume_group(&mut self, seated: Seated) {
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
    pub(crate) fn revert_group(&mut self) -> Option<Seated> {
        let (seated, mark) = self.seats.pop()?;
        self.cycle.facts.rewind(mark);
        for (state, _) in brought(&seated) {
            self.cycle.assumed.remove(&state.wish.id);
        }
        Some(seated)
    }

    /// Takes back what was assumed of all groups but the first ones: their seats.
    pub(crate) fn revert_to(&mut self, groups: usize) -> Seated {
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
    pub fn lacks(&mut self, why: impl FnOnce() -> GangReason) {
        self.nearest.get_or_insert_with(|| (0, why()));
    }

    /// A group has no seats beside those that have.
    pub(crate) fn came_close(&mut self, group: &Group, why: GangReason) {
        let placed = self.seats.len();
        if self.nearest.as_ref().is_none_or(|(most, _)| *most < placed) {
            let (group, why) = (group.id.clone(), Box::new(why.clone()));
            self.nearest = Some((placed, GangReason::Group { group, beside: placed, why }));
        }
        let known = self.groups.get(&group.id);
        let is_told = known.is_some() || self.groups.len() < GROUPS_MAX;
        if is_told && known.is_none_or(|(most, _)| *most < placed) {
            self.groups.insert(group.id.clone(), (placed, why));
        }
    }
}

/// A search, with the seats that groups have for the moment.
pub(crate) struct TreeSearch<'e, 'c> {
    pub cycle: &'e mut Cycle<'c>,
    pub(crate) seats: Vec<(Seated, Mark)>,
    pub tries_left: u64,
    /// How many there are for each way to search.
    tries: u64,
    /// Whether everything was tried.
    pub certainty: Certainty,
    /// How many steps each search for seats of a group may take.
    pub steps_max: u64,
    /// How many groups had seats at most, and why the next had none.
    nearest: Option<(usize, GangReason)>,
    /// How many groups had seats at most when a group had none, and why.
    groups: BTreeMap<GroupId, (usize, GangReason)>,
}

/// The claims that get devices with members.
fn brought(seated: &Seated) -> impl Iterator<Item = (&Arc<ClaimState>, &Allocation)> {
    let claims = seated.iter().flat_map(|(_, choice)| &choice.claims);
    claims.filter_map(|wanted| match wanted {
        Wanted::Allocation { state, allocation } => Some((state, allocation)),
        _ => None,
    })
}
