//! The three phases: which domains there are, which of them will do, and which is best.
//!
//! Invariant: "impossible" is said only if every domain was refused by a proof. A domain whose search met its bound leaves
//! the question open, unless another will do.

use std::sync::Arc;

use cluster::nodes::NodeIdx;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::{Answer, Lack, Placement, Refusal, Seats, Shortfall};
use crate::arithmetic::{Amounts, shortage};
use crate::budget::Budget;
use crate::gang::Gang;
use crate::generator::Domain;
use crate::load::Load;
use crate::room::Room;
use crate::scorer::{Scored, Weighted};
use crate::search::{Errand, Outcome, search};
use crate::state::{Likeness, PlacementState};

/// What is to be decided.
#[derive(Clone, Copy)]
pub struct Question<'q> {
    /// The gang.
    pub gang: &'q Gang,
    /// The domains in which it may be.
    pub domains: &'q [Domain],
    /// Who says which placement is best.
    pub scorers: &'q [Weighted<'q>],
}

/// Seats a gang in the best domain of the lowest rank that will do, or says why there is none.
pub fn place<S: PlacementState + ?Sized>(
    question: Question<'_>,
    state: &mut S,
    budget: &mut Budget,
) -> Answer {
    let mut phases = Phases {
        question,
        state,
        room: Room::default(),
        tried: FxHashSet::default(),
        is_open: false,
        nearest: None,
    };
    let mut ranks: Vec<u32> = question.domains.iter().map(|domain| domain.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut left = question.domains.len() as u64;
    for rank in ranks {
        let mut best: Option<Placement> = None;
        for domain in question.domains.iter().filter(|domain| domain.rank == rank) {
            let placed = budget.share(left, |budget| phases.attempt(domain, budget));
            left -= 1;
            // The first of those that are equally good is kept.
            if let Some(placed) = placed
                && best.as_ref().is_none_or(|best| best.score < placed.score)
            {
                best = Some(placed);
            }
        }
        if let Some(best) = best {
            return Answer::Placed(best);
        }
    }
    phases.refused()
}

struct Phases<'p, S: PlacementState + ?Sized> {
    question: Question<'p>,
    state: &'p mut S,
    room: Room,
    /// Domains that were tried, by rank and by what their nodes are like: another of the same kind is no better.
    tried: FxHashSet<(u32, Vec<Likeness>)>,
    is_open: bool,
    nearest: Option<Shortfall>,
}

impl<S: PlacementState + ?Sized> Phases<'_, S> {
    /// Seats in a domain, with what scorers make of them.
    fn attempt(&mut self, domain: &Domain, budget: &mut Budget) -> Option<Placement> {
        if !self.state.crosses_nodes() {
            let mut kind: Vec<Likeness> =
                domain.nodes.iter().map(|node| self.room.likeness(self.state, *node)).collect();
            kind.sort_unstable();
            if !self.tried.insert((domain.rank, kind)) {
                return None;
            }
        }
        let Question { gang, .. } = self.question;
        let free = self.free_in(domain);
        if let Some(short) = shortage(gang, &gang.everybody(), gang.at_least, &free) {
            let (needed, free) = (short.needed, short.free);
            let lack = Lack::Amount { axis: gang.axes[short.axis].clone(), needed, free };
            self.came_close(&domain.name, short.room_for, lack);
            self.state.tried(false);
            return None;
        }
        let outcome = self.search_by_size(domain, budget);
        self.state.tried(matches!(outcome, Outcome::Found(_)));
        match outcome {
            Outcome::Found(loads) => Some(self.judge(domain, loads)),
            Outcome::Impossible { seated_max } => {
                let lack = self.lack_in(domain, budget);
                self.came_close(&domain.name, seated_max, lack);
                None
            }
            Outcome::Spent { seated_max } => {
                self.is_open = true;
                self.came_close(&domain.name, seated_max, Lack::Together);
                None
            }
        }
    }

    /// Everybody; and if that is too much, as many as have to be.
    fn search_by_size(&mut self, domain: &Domain, budget: &mut Budget) -> Outcome {
        let (everybody, at_least) = (self.question.gang.members(), self.question.gang.at_least);
        if at_least < everybody {
            let found = budget.share(2, |budget| self.search_in(domain, everybody, budget));
            if matches!(found, Outcome::Found(_)) {
                return found;
            }
        }
        self.search_in(domain, at_least, budget)
    }

    /// Two orders: as the domain has them, with the parts that have most room first so that few are needed; and if that takes
    /// too long those nodes first that take the fewest members, as these leave the least to be tried.
    fn search_in(&mut self, domain: &Domain, at_least: u32, budget: &mut Budget) -> Outcome {
        let gang = self.question.gang;
        let rooms: Vec<u32> = domain
            .nodes
            .iter()
            .map(|node| self.room.alone(self.state, gang, *node, budget).total())
            .collect();
        let mut of_parts: FxHashMap<u32, u64> = FxHashMap::default();
        for (part, room) in domain.parts.iter().zip(&rooms) {
            *of_parts.entry(*part).or_default() += u64::from(*room);
        }
        let mut order: Vec<usize> = (0..domain.nodes.len()).collect();
        order.sort_by_key(|at| (std::cmp::Reverse(of_parts[&domain.parts[*at]]), domain.parts[*at]));
        let nodes = |order: &[usize]| order.iter().map(|at| domain.nodes[*at]).collect::<Vec<_>>();
        let preferred = nodes(&order);
        let errand = Errand { gang, nodes: &preferred, at_least };
        let found = budget.share(4, |budget| search(errand, self.state, &mut self.room, budget));
        if !matches!(found, Outcome::Spent { .. }) {
            return found;
        }
        order.sort_by_key(|at| (rooms[*at], self.room.likeness(self.state, domain.nodes[*at])));
        let scarcest_first = nodes(&order);
        search(Errand { nodes: &scarcest_first, ..errand }, self.state, &mut self.room, budget)
    }

    fn free_in(&mut self, domain: &Domain) -> Amounts {
        let mut sum = Amounts::nothing(self.question.gang.axes.len());
        for node in &domain.nodes {
            sum.add(self.room.free(self.state, *node));
        }
        sum
    }

    /// A placement, with what scorers make of it.
    fn judge(&mut self, domain: &Domain, loads: Vec<(NodeIdx, Load)>) -> Placement {
        let seats: Vec<Seats> = loads.into_iter().map(|(node, load)| Seats { node, load }).collect();
        let free =
            domain.nodes.iter().map(|node| (*node, self.room.free(self.state, *node).clone())).collect();
        let scored = Scored { gang: self.question.gang, domain, free: &free, seats: &seats };
        let score = self.question.scorers.iter().map(|one| one.weight * one.scorer.score(&scored)).sum();
        Placement { domain: domain.name.clone(), rank: domain.rank, seats, score }
    }

    /// What a domain lacks in which the members cannot be seated.
    fn lack_in(&mut self, domain: &Domain, budget: &mut Budget) -> Lack {
        let gang = self.question.gang;
        let mut rooms = vec![0_u32; gang.kinds.len()];
        for node in &domain.nodes {
            let alone = self.room.alone(self.state, gang, *node, budget);
            rooms.iter_mut().zip(alone.counts()).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        }
        let short = gang.kinds.iter().zip(rooms).find(|(kind, room)| *room < kind.members);
        match short.filter(|_| gang.at_least == gang.members()) {
            Some((kind, room_for)) => Lack::Seats { kind: kind.name.clone(), wanted: kind.members, room_for },
            None => Lack::Together,
        }
    }

    fn came_close(&mut self, domain: &Arc<str>, room_for: u32, lack: Lack) {
        if self.nearest.as_ref().is_none_or(|nearest| nearest.room_for < room_for) {
            self.nearest = Some(Shortfall { domain: domain.clone(), room_for, lack });
        }
    }

    fn refused(self) -> Answer {
        let Question { gang, domains, .. } = self.question;
        let refusal = Refusal { domains: domains.len(), wanted: gang.at_least, nearest: self.nearest };
        if self.is_open { Answer::BudgetSpent(refusal) } else { Answer::Impossible(refusal) }
    }
}
