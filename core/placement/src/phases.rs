//! The three phases: which domains there are, which of them will do, and which is best.
//!
//! Invariant: "impossible" is said only if every domain was refused by a proof. A domain whose search met its bound leaves
//! the question open, unless another will do.

use cluster::nodes::NodeIdx;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::{Lack, Placement, PlacementAnswer, Refusal, Seats, Shortfall};
use crate::arithmetic::{Amounts, shortfall};
use crate::budget::Budget;
use crate::domain_name::DomainName;
use crate::gang::Gang;
use crate::generator::Domain;
use crate::load::Load;
use crate::room::Room;
use crate::scorer::{Scored, Weighted, judge};
use crate::search::{Errand, Outcome, search};
use crate::state::{Likeness, PlacementState, Walk};

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

/// Of how many domains it is told what they lack.
const LACKS_MAX: usize = 64;

/// Seats a gang in the best domain of the lowest rank that will do, or says why there is none. Everybody comes first: only if
/// no domain of any rank has room for all members, one that has room for as many as have to be seated will do.
pub fn place<S: PlacementState + ?Sized>(
    question: Question<'_>,
    state: &mut S,
    budget: &mut Budget,
) -> PlacementAnswer<S::Stop> {
    let mut phases = Phases {
        question,
        state,
        room: Room::default(),
        tried: FxHashSet::default(),
        is_open: false,
        nearest: None,
        lacks: Vec::new(),
    };
    let (everybody, at_least) = (question.gang.members(), question.gang.at_least);
    if at_least < everybody {
        if let Some(best) = budget.share(2, |budget| phases.best(everybody, budget)) {
            return PlacementAnswer::Placed(best);
        }
        phases.tried.clear();
        (phases.is_open, phases.nearest) = (false, None);
        phases.lacks.clear();
    }
    match phases.best(at_least, budget) {
        Some(best) => PlacementAnswer::Placed(best),
        None => phases.refused(),
    }
}

struct Phases<'p, S: PlacementState + ?Sized> {
    question: Question<'p>,
    state: &'p mut S,
    room: Room,
    /// Domains that were tried, by rank and by what their nodes are like: another of the same kind is no better.
    tried: FxHashSet<(u32, Vec<Vec<Likeness>>)>,
    is_open: bool,
    nearest: Option<Shortfall<S::Stop>>,
    lacks: Vec<Shortfall<S::Stop>>,
}

impl<S: PlacementState + ?Sized> Phases<'_, S> {
    /// The best placement for so many members, in domains of the lowest rank that will do.
    fn best(&mut self, at_least: u32, budget: &mut Budget) -> Option<Placement> {
        let domains = self.question.domains;
        let mut ranks: Vec<u32> = domains.iter().map(|domain| domain.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut left = domains.len() as u64;
        for rank in ranks {
            let mut best: Option<Placement> = None;
            for domain in domains.iter().filter(|domain| domain.rank == rank) {
                let placed = budget.share(left, |budget| self.attempt(domain, at_least, budget));
                left -= 1;
                // The first of those that are equally good is kept.
                if let Some(placed) = placed
                    && best.as_ref().is_none_or(|best| best.score < placed.score)
                {
                    best = Some(placed);
                }
            }
            if best.is_some() {
                return best;
            }
        }
        None
    }

    /// Seats in a domain, with what scorers make of them.
    fn attempt(&mut self, domain: &Domain, at_least: u32, budget: &mut Budget) -> Option<Placement> {
        if !self.state.crosses_nodes() {
            let kind = self.kind_of(domain);
            if !self.tried.insert((domain.rank, kind)) {
                return None;
            }
        }
        let Question { gang, .. } = self.question;
        let free = self.free_in(domain);
        if let Some(Shortfall { domain, room_for, lack }) = shortfall(gang, at_least, domain, &free) {
            self.came_close(&domain, room_for, lack);
            self.state.tried(false);
            return None;
        }
        let (outcome, walked) = self.search_in(domain, at_least, budget);
        self.state.tried(matches!(outcome, Outcome::Found(_)));
        let (seated_max, is_open) = match outcome {
            Outcome::Found(loads) => return Some(self.judge(domain, loads)),
            Outcome::Impossible { seated_max } => (seated_max, false),
            Outcome::Spent { seated_max } => (seated_max, true),
        };
        self.is_open |= is_open;
        let lack = if is_open { Lack::Together } else { self.lack_in(domain, budget) };
        match walked {
            // Those that a search had seats for need not have been able to be there at once.
            Some(Walk { loads, stopped_by: Some(why) }) if lack == Lack::Together => {
                let seated = loads.iter().map(|(_, load)| load.total()).sum();
                self.came_close(&domain.name, seated, Lack::Next(why));
            }
            Some(walk) => self.came_close(&domain.name, walk.seated(), lack),
            None => self.came_close(&domain.name, seated_max, lack),
        }
        None
    }

    /// What the nodes of a domain are like, part by part.
    fn kind_of(&mut self, domain: &Domain) -> Vec<Vec<Likeness>> {
        let mut parts: FxHashMap<u32, Vec<Likeness>> = FxHashMap::default();
        for (node, part) in domain.nodes.iter().zip(&domain.parts) {
            parts.entry(*part).or_default().push(self.room.likeness(self.state, *node));
        }
        let mut kind: Vec<Vec<Likeness>> = parts.into_values().collect();
        kind.iter_mut().for_each(|part| part.sort_unstable());
        kind.sort_unstable();
        kind
    }

    /// Two orders: as the domain has them, with the parts where members are already and then those that have most room first, so
    /// that few are needed; and if that takes too long those nodes first that take the fewest members, as these leave the least to be tried.
    ///
    /// If something crosses nodes, members are seated one after the other before, as that will often do.
    fn search_in(
        &mut self,
        domain: &Domain,
        at_least: u32,
        budget: &mut Budget,
    ) -> (Outcome, Option<Walk<S::Stop>>) {
        let gang = self.question.gang;
        self.room.unsure = false;
        let alone = self.alone_in(domain, budget);
        let rooms: Vec<u32> = alone.iter().map(|(_, room)| room.total()).collect();
        let mut of_parts: FxHashMap<u32, u64> = FxHashMap::default();
        for (part, room) in domain.parts.iter().zip(&rooms) {
            *of_parts.entry(*part).or_default() += u64::from(*room);
        }
        let mut order: Vec<usize> = (0..domain.nodes.len()).collect();
        let crosses = self.state.crosses_nodes();
        order.sort_by_key(|at| {
            let part = domain.parts[*at];
            let group = if crosses { self.state.group(domain.nodes[*at]) } else { 0 };
            (part >= domain.homes, std::cmp::Reverse(of_parts[&part]), part, group)
        });
        let nodes = |order: &[usize]| order.iter().map(|at| domain.nodes[*at]).collect::<Vec<_>>();
        let preferred = nodes(&order);
        if crosses && !self.room.unsure {
            let most = self.state.most(&alone);
            let counts = gang.kinds.iter().zip(most.counts());
            let seated_max = counts.map(|(kind, most)| kind.members.min(*most)).sum();
            if seated_max < at_least {
                return (Outcome::Impossible { seated_max }, None);
            }
        }
        let walk = crosses.then(|| self.state.walk(&preferred, budget));
        if let Some(walk) = walk.as_ref().filter(|walk| walk.seated() >= at_least) {
            return (Outcome::Found(walk.loads.clone()), None);
        }
        let errand = Errand { gang, nodes: &preferred, at_least };
        let found = budget.share(4, |budget| search(errand, self.state, &mut self.room, budget));
        if !matches!(found, Outcome::Spent { .. }) {
            return (found, walk);
        }
        order.sort_by_key(|at| (rooms[*at], self.room.likeness(self.state, domain.nodes[*at])));
        let scarcest_first = nodes(&order);
        (search(Errand { nodes: &scarcest_first, ..errand }, self.state, &mut self.room, budget), walk)
    }

    /// How many members of each kind nodes take if there are no others.
    fn alone_in(&mut self, domain: &Domain, budget: &mut Budget) -> Vec<(NodeIdx, Load)> {
        let gang = self.question.gang;
        let alone = |node: &NodeIdx| (*node, self.room.alone(self.state, gang, *node, budget));
        domain.nodes.iter().map(alone).collect()
    }

    fn free_in(&mut self, domain: &Domain) -> Amounts {
        let mut sum = Amounts::nothing(self.question.gang.axes.len());
        sum.add(&self.state.shared(&domain.nodes));
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
        let shared = &self.state.shared(&domain.nodes);
        let scored = Scored { gang: self.question.gang, domain, free: &free, shared, seats: &seats };
        let score = judge(self.question.scorers, &scored);
        Placement { domain: domain.name.clone(), rank: domain.rank, seats, score }
    }

    /// What a domain lacks in which the members cannot be seated.
    fn lack_in(&mut self, domain: &Domain, budget: &mut Budget) -> Lack<S::Stop> {
        let gang = self.question.gang;
        let alone = self.alone_in(domain, budget);
        let rooms = if self.state.crosses_nodes() {
            self.state.most(&alone)
        } else {
            let mut sum = Load::none(gang.kinds.len());
            alone.iter().for_each(|(_, room)| sum.add(room));
            sum
        };
        let rooms = rooms.counts().iter().copied();
        let short = gang.kinds.iter().zip(rooms).find(|(kind, room)| *room < kind.members);
        match short.filter(|_| gang.at_least == gang.members()) {
            Some((kind, room_for)) => Lack::Seats { kind: kind.name.clone(), wanted: kind.members, room_for },
            None => Lack::Together,
        }
    }

    fn came_close(&mut self, domain: &DomainName, room_for: u32, lack: Lack<S::Stop>) {
        let shortfall = Shortfall { domain: domain.clone(), room_for, lack };
        if self.nearest.as_ref().is_none_or(|nearest| nearest.room_for < room_for) {
            self.nearest = Some(shortfall.clone());
        }
        if self.lacks.len() < LACKS_MAX {
            self.lacks.push(shortfall);
        }
    }

    fn refused(self) -> PlacementAnswer<S::Stop> {
        let Question { gang, domains, .. } = self.question;
        let Phases { nearest, lacks, .. } = self;
        let refusal = Refusal { domains: domains.len(), wanted: gang.at_least, nearest, lacks };
        if self.is_open {
            PlacementAnswer::BudgetSpent(refusal)
        } else {
            PlacementAnswer::Impossible(refusal)
        }
    }
}
