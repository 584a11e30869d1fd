//! The search for seats in a tree.
//!
//! Groups are placed in the order in which they were made, each as if those before it had their seats. If one does not fit, those
//! before it are tried in other domains, up to a bound. Seats for groups that may be anywhere in the domain of their parent are
//! looked for together first. Each group has one choice of seats in each domain here, so that there are none proves nothing:
//! every choice is looked at by [`whole`](super::whole).
//!
//! Of several domains for a group of groups, those that will do are tried one after the other, each by itself, and their seats are
//! compared as those of gangs are. That takes half of the tries at the most: domains of which nothing is known then come after those
//! that will do.
//!
//! Invariants: what is assumed of members is taken back with their seats. That there are no seats is certain only if everything
//! was tried.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::group::{Composite, Group};
use model::pod::Pod;
use placement::{Domain, Refusal, Scored, judge};

use crate::gang::answer::seats::{Seated, sort};
use crate::gang::tree::branch::Branch;
use crate::gang::tree::progress::{LOOK_BACK_MAX, TreeSearch};
use crate::gang::tree::survey::{Look, Sight, Survey};
use crate::values::certainty::Certainty;
use crate::values::gang_reason::GangReason;

/// What is in a group of groups, and the domain in which it is to be.
#[derive(Clone, Copy)]
pub(crate) struct Part<'p> {
    pub composite: &'p Composite,
    pub branches: &'p [Branch],
    pub within: &'p Domain,
}

/// What has to fit besides.
pub(crate) type Then<'t> = &'t mut dyn FnMut(&mut TreeSearch<'_, '_>) -> bool;

impl<'e, 'c> TreeSearch<'e, 'c> {
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
    pub fn try_part(&mut self, part: Part<'_>, tries: u64) -> Result<Seated, Certainty> {
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
    fn seat_as_one(&mut self, Part { branches, within, .. }: Part<'_>, then: Then<'_>) -> bool {
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
        sort(&mut pods);
        let Ok(mut seated) = self.cycle.seat_all_in(&pods, within, self.steps_max) else { return false };
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
                self.lacks(|| GangReason::GroupNotTried(group.id.clone()));
                return false;
            }
            let seated = match self.cycle.seat_gang_in(group, pods, among, self.steps_max) {
                Ok(seated) => seated,
                Err(miss) => {
                    self.certainty = self.certainty.and(miss.certainty);
                    self.came_close(group, miss.why);
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
}

impl TreeSearch<'_, '_> {
    /// Seats what is in a group of groups, at least so many members, in one of these domains: in the best in which the rest fits
    /// as well. Says in which.
    pub fn seat_in_best(
        &mut self,
        (composite, branches): (&Composite, &[Branch]),
        domains: &[Domain],
        wanted: u32,
        then: Then<'_>,
    ) -> Option<usize> {
        let part = |at: usize| Part { composite, branches, within: &domains[at] };
        // So many tries it takes to seat each group once.
        let leaves =
            branches.iter().flat_map(Branch::leaves).filter(|(_, pods)| !pods.is_empty()).count() as u64;
        let wanted = self.cycle.least(composite, branches).unwrap_or(0).max(wanted);
        let order = match self.survey(branches, domains, wanted) {
            None => (0..domains.len()).collect(),
            Some(Survey { sights, nearest, .. }) if sights.is_empty() => {
                if let Some((at, shortfall)) = nearest {
                    // For the sake of the sentence: which group would be short of what.
                    let _ = self.try_part(part(at), 2 * leaves);
                    let lacks = vec![shortfall.clone()];
                    let refusal = Refusal { domains: domains.len(), wanted, nearest: Some(shortfall), lacks };
                    self.lacks(|| GangReason::NoRoom(Box::new(refusal)));
                }
                Vec::new()
            }
            Some(Survey { sights, .. }) if sights.len() == 1 => vec![sights[0].at],
            Some(survey) => self.best_first(&survey, part, leaves),
        };
        order.into_iter().find(|at| self.seat_together(part(*at), then))
    }

    /// The domains that may do: those that are known to first, by what scorers make of the seats there.
    fn best_first<'p>(
        &mut self,
        survey: &Survey,
        part: impl Fn(usize) -> Part<'p>,
        leaves: u64,
    ) -> Vec<usize> {
        let mut known: BTreeMap<&Look, DomainOutcome> = BTreeMap::new();
        let mut outcomes: Vec<(usize, DomainOutcome)> = Vec::new();
        let mut to_spend = self.tries_left / 2;
        for (done, sight) in survey.sights.iter().enumerate() {
            let alike = sight.look.as_ref().and_then(|look| known.get(look));
            let outcome = match alike {
                Some(outcome) => *outcome,
                None if to_spend < leaves => DomainOutcome::Open,
                None => {
                    let left = (survey.sights.len() - done) as u64;
                    let tries = to_spend.div_ceil(left).max(leaves).min(to_spend);
                    let before = self.tries_left;
                    let outcome = self.try_by_itself(survey, sight, part(sight.at), tries);
                    to_spend -= before - self.tries_left;
                    outcome
                }
            };
            known.extend(sight.look.as_ref().map(|look| (look, outcome)));
            outcomes.push((sight.at, outcome));
        }
        let rank = |outcome: &DomainOutcome| match *outcome {
            DomainOutcome::Seats(is_everybody, score) => Some((is_everybody, score)),
            DomainOutcome::Impossible | DomainOutcome::Open => None,
        };
        let mut order: Vec<(usize, (bool, f64))> =
            outcomes.iter().filter_map(|(at, outcome)| Some((*at, rank(outcome)?))).collect();
        // The first of those that are equally good is kept.
        order.sort_by(|(_, one), (_, other)| other.0.cmp(&one.0).then(other.1.total_cmp(&one.1)));
        let open =
            outcomes.iter().filter(|(_, outcome)| matches!(outcome, DomainOutcome::Open)).map(|(at, _)| *at);
        order.into_iter().map(|(at, _)| at).chain(open).collect()
    }

    fn try_by_itself(&mut self, survey: &Survey, sight: &Sight, part: Part<'_>, tries: u64) -> DomainOutcome {
        let seated = match self.try_part(part, tries) {
            Ok(seated) => seated,
            Err(Certainty::Proved) => return DomainOutcome::Impossible,
            Err(Certainty::LimitReached) => return DomainOutcome::Open,
        };
        let Survey { profile, gang, kinds, .. } = survey;
        let is_everybody = seated.len() == gang.members() as usize;
        let seats = self.seats_by_node(gang, kinds, &seated);
        let scored =
            Scored { gang, domain: part.within, free: &sight.free, shared: &sight.shared, seats: &seats };
        DomainOutcome::Seats(is_everybody, judge(&profile.placement.scorers(), &scored))
    }
}

/// What came of trying a domain by itself.
#[derive(Clone, Copy)]
enum DomainOutcome {
    /// There are seats: whether for all members, and what scorers make of them.
    Seats(bool, f64),
    Impossible,
    /// It was not found out.
    Open,
}
