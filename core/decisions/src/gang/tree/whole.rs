//! Every choice of domains for the groups of a tree, with seats for the members of all groups at once.
//!
//! Groups are given domains one after the other. Seats are looked for all members of the groups that have one, each within the
//! domain of its group, so that no choice of seats is left out. If there are none, other groups would only take more room, and
//! the choice is given up. A tree for which no choice is left has no seats, and that is a proof.
//!
//! Bounds: each search for seats is a try. A tree with many groups is left open.
//!
//! Invariant: as few groups have seats as have to; others may get theirs later.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::group::{Composite, Group};
use model::pod::{Pod, Resources, Shape};
use placement::Domain;

use crate::cycle::Cycle;
use crate::gang::answer::seats::{Seated, sort};
use crate::gang::members::cast::Cast;
use crate::gang::members::member::Member;
use crate::gang::seats::sought::SeatsWanted;
use crate::gang::tree::branch::Branch;
use crate::gang::tree::progress::{LOOK_BACK_MAX, TreeSearch};
use crate::gang::tree::sought::Tree;
use crate::values::certainty::Certainty;
use crate::values::gang_reason::GangReason;
use crate::values::miss::Miss;

/// A group that has a domain.
struct GroupDomain<'t> {
    group: &'t Arc<Group>,
    /// Its members that wait, and how many of them it needs.
    pods: &'t [Arc<Pod>],
    missing: usize,
    nodes: Arc<BTreeSet<NodeIdx>>,
    /// Seats for the members of this group and of all groups before it.
    seated: Seated,
}

/// The groups that have a domain so far.
struct GroupDomains<'s, 'e, 'c, 't> {
    search: &'s mut TreeSearch<'e, 'c>,
    tree: &'t Tree,
    within: &'t Domain,
    chosen: Vec<GroupDomain<'t>>,
    /// Nothing that is in the way of some members goes away if there are more.
    is_monotone: bool,
}

/// What is in a group of groups.
type Parts<'t> = (&'t Composite, &'t [Branch]);

/// What has to get domains besides.
type Then<'f, 's, 'e, 'c, 't> = &'f mut dyn FnMut(&mut GroupDomains<'s, 'e, 'c, 't>) -> bool;

impl TreeSearch<'_, '_> {
    /// Seats for enough groups of a tree in one of these domains, and in which. If there are none, [`TreeSearch::certainty`] says
    /// what that is worth.
    pub fn seat_whole(&mut self, tree: &Tree, domains: &[Domain], wanted: u32) -> Option<(usize, Seated)> {
        let is_monotone = self.cycle.is_monotone(tree);
        if self.certainty == Certainty::Proved && is_monotone {
            return None;
        }
        if tree.groups.len() > LOOK_BACK_MAX {
            self.certainty = Certainty::LimitReached;
            return None;
        }
        self.begin_anew();
        for (at, within) in domains.iter().enumerate() {
            let parts = (&*tree.composite, &*tree.branches);
            let mut choices = GroupDomains { search: self, tree, within, chosen: Vec::new(), is_monotone };
            if choices.give_domains(parts, within, 0, &mut |_| true) {
                let seated = choices.chosen.pop().map(|last| last.seated).unwrap_or_default();
                if seated.len() >= wanted as usize {
                    return Some((at, seated));
                }
                // Enough groups are whole without any member that waits, so that all of this says nothing.
                self.certainty = Certainty::LimitReached;
            }
        }
        None
    }
}

impl<'s, 'e, 'c, 't> GroupDomains<'s, 'e, 'c, 't> {
    /// Gives domains to enough of these, of which `placed` have theirs, and to the rest.
    fn give_domains(
        &mut self,
        (composite, branches): Parts<'t>,
        within: &Domain,
        placed: u32,
        then: Then<'_, 's, 'e, 'c, 't>,
    ) -> bool {
        if placed >= composite.at_least {
            return then(self);
        }
        let Some((first, rest)) = branches.split_first() else { return false };
        if placed + (branches.len() as u32) < composite.at_least {
            return false;
        }
        let rest = (composite, rest);
        let mut with =
            |choices: &mut GroupDomains<'s, 'e, 'c, 't>| choices.give_domains(rest, within, placed + 1, then);
        let is_given = match first {
            Branch::Leaf { group, pods } => self.give_group((group, pods), within, &mut with),
            Branch::Inner { composite, branches } => {
                let pinned = self.search.cycle.pins(branches);
                let domains = self.search.cycle.domains_within(&composite.levels, &pinned, within);
                let parts = (&**composite, &**branches);
                domains.iter().any(|within| self.give_domains(parts, within, 0, &mut with))
            }
        };
        is_given || self.give_domains(rest, within, placed, then)
    }

    /// Gives a group each domain in turn, and goes on where there are seats.
    fn give_group(
        &mut self,
        (group, pods): (&'t Arc<Group>, &'t [Arc<Pod>]),
        within: &Domain,
        then: Then<'_, 's, 'e, 'c, 't>,
    ) -> bool {
        let seated = self.search.cycle.facts.groups.seated(&group.id).count();
        let missing = (group.at_least as usize).saturating_sub(seated);
        if missing == 0 {
            return then(self);
        }
        if pods.len() < missing {
            return false;
        }
        let pinned: Vec<NodeIdx> = self.search.cycle.pins_of(&group.id).collect();
        for domain in self.search.cycle.domains_within(&group.levels, &pinned, within) {
            let nodes = Arc::new(domain.nodes.into_iter().collect());
            self.chosen.push(GroupDomain { group, pods, missing, nodes, seated: Vec::new() });
            let found = match self.search.may_try() {
                true => self.seat_chosen(),
                false => return false,
            };
            match found {
                Ok(seated) => {
                    self.chosen.last_mut().expect("a group was chosen").seated = seated;
                    if then(self) {
                        return true;
                    }
                }
                Err(miss) => self.search.certainty = self.search.certainty.and(miss.certainty),
            }
            self.chosen.pop();
        }
        false
    }

    /// Seats for the members of all groups that have a domain, at least as many of each as it needs.
    fn seat_chosen(&mut self) -> Result<Seated, Miss> {
        let all = |chosen: &GroupDomain<'t>| chosen.pods.len();
        let seated = self.seat_members(all)?;
        if self.chosen.iter().all(|chosen| chosen.seats_in(&seated) >= chosen.missing) {
            return Ok(seated);
        }
        // Some took the room of others. Without them there is room for the rest or for no member, if it is certain that others do not
        // need less.
        let certainty = match self.chosen.iter().all(GroupDomain::has_least) {
            true => Certainty::Proved,
            false => Certainty::LimitReached,
        };
        let seated = self.seat_members(|chosen| chosen.missing);
        seated.map_err(|miss| Miss { certainty: miss.certainty.and(certainty), ..miss })
    }

    /// Seats for so many members of each group, or for as many in all as all groups need.
    fn seat_members(&mut self, count: impl Fn(&GroupDomain<'t>) -> usize) -> Result<Seated, Miss> {
        let mut members: Vec<Member> = Vec::new();
        let mut at_least = 0;
        for chosen in &self.chosen {
            let mut pods = chosen.pods.to_vec();
            pods.sort_by_key(size);
            pods.truncate(count(chosen));
            sort(&mut pods);
            let own = self.search.cycle.members_of(&pods, &self.tree.profile);
            if own.len() < chosen.missing {
                return Err(Miss::proved(GangReason::MemberClaims));
            }
            at_least += chosen.missing as u32;
            members.extend(own.into_iter().map(|one| Member { within: Some(chosen.nodes.clone()), ..one }));
        }
        let cycle = &mut *self.search.cycle;
        let cast = Cast::new(cycle, members, &self.tree.profile).counted(cycle);
        let (gang, domains) = (&cast.gang(at_least), std::slice::from_ref(self.within));
        let (cast, profile) = (&cast, &*self.tree.profile);
        let wanted = SeatsWanted { group: None, cast, gang, at_least, empty_levels: &[], profile };
        let found = cycle.find_seats(wanted, domains, gang.at_least, self.search.steps_max);
        let certainty = if self.is_monotone { Certainty::Proved } else { Certainty::LimitReached };
        found
            .map(|(_, seated)| seated)
            .map_err(|miss| Miss { certainty: miss.certainty.and(certainty), ..miss })
    }
}

impl GroupDomain<'_> {
    /// How many of these seats are for members of the group.
    fn seats_in(&self, seated: &Seated) -> usize {
        seated.iter().filter(|(pod, _)| pod.group.as_ref() == Some(&self.group.id.name)).count()
    }

    /// Whether no choice of as many members as it needs takes less than the smallest do.
    fn has_least(&self) -> bool {
        if self.missing == self.pods.len() {
            return true;
        }
        let rest = |pod: &Arc<Pod>| Shape {
            labels: Default::default(),
            requests: Resources::default(),
            scored: Resources::default(),
            ..Shape::clone(&pod.shape)
        };
        let mut pods = self.pods.to_vec();
        pods.sort_by_key(size);
        pods.iter().all(|pod| pod.claims.is_empty())
            && pods.windows(2).all(|pair| {
                rest(&pair[0]) == rest(&pair[1])
                    && needs_less(&pair[0].shape.requests, &pair[1].shape.requests)
            })
    }
}

/// How much a pod takes, for the order of members.
fn size(pod: &Arc<Pod>) -> (i64, i64, i64) {
    let Resources { cpu_milli, memory, ephemeral_storage, .. } = pod.shape.requests;
    (cpu_milli, memory, ephemeral_storage)
}

/// Whether one needs no more of anything than another.
fn needs_less(one: &Resources, other: &Resources) -> bool {
    one.cpu_milli <= other.cpu_milli
        && one.memory <= other.memory
        && one.ephemeral_storage <= other.ephemeral_storage
        && one.others.iter().all(|(name, amount)| *amount <= other.get(name))
}

impl Cycle<'_> {
    /// Whether nothing that is in the way of members of a tree goes away if there are more of them.
    fn is_monotone(&self, tree: &Tree) -> bool {
        let is_spread = |member: &Member| {
            !tree.profile.filters.default_spread.is_empty()
                && self.companions_of(&member.pod.shape, &tree.profile).is_some()
        };
        tree.cast.examples().all(|member| {
            let shape = &member.pod.shape;
            shape.near.is_empty()
                && shape.spread.is_empty()
                && member.claims.pending.is_empty()
                && !is_spread(member)
        })
    }
}
