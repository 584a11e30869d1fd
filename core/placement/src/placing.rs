//! A gang that is being placed: which domains there are, which of them will do, and which is best.
//!
//! Placing owns its progress. It can stop after any number of steps and go on later; while it is stopped nothing is assumed on the
//! state, and where it stops changes nothing about what comes of it.
//!
//! Invariant: "impossible" is said only if every domain was refused by a proof. A domain whose search met its bound leaves
//! the question open, unless another will do.

use std::borrow::Cow;

use cluster::nodes::NodeIdx;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::{Lack, Placement, PlacementAnswer, Refusal, Seats, Shortfall};
use crate::arithmetic::{Amounts, shortfall};
use crate::budget::Budget;
use crate::closest::{Closest, Near, lack_beside};
use crate::domain_search::{Attempted, DomainSearch};
use crate::gang::Gang;
use crate::generator::Domain;
use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::room::Room;
use crate::scorer::{Scored, Weighted, judge};
use crate::search::Outcome;
use crate::state::{Likeness, PlacementState};

/// How far placing a gang has come.
#[derive(Clone, PartialEq, Debug)]
pub enum Progress<W> {
    /// It has come to its end.
    Done(PlacementAnswer<W>),
    /// It goes on when it is asked to.
    Paused,
}

/// A gang that is being placed.
#[derive(Debug)]
pub struct Placing<'q, W> {
    gang: Cow<'q, Gang>,
    domains: Cow<'q, [Domain]>,
    budget: Budget,
    room: Room,
    /// How many members are to be seated: all of them first, then as many as have to be.
    at_least: u32,
    /// How much has to be left when all members were tried.
    reserve: u64,
    /// The domains in the order in which they are tried.
    queue: Vec<usize>,
    next: usize,
    /// The search in the next domain, and how much has to be left when it ends.
    search: Option<(DomainSearch<W>, u64)>,
    /// The best placement in domains of the rank that is being tried.
    best: Option<(u32, Placement)>,
    /// Domains that were tried, by rank and by what their nodes are like: another of the same kind is no better.
    tried: FxHashSet<(u32, Vec<Vec<Likeness>>)>,
    is_open: bool,
    closest: Closest<W>,
}

impl<'q, W: Clone + PartialEq> Placing<'q, W> {
    /// Places a gang in one of these domains, with so many steps in all.
    #[must_use]
    pub fn new(gang: Cow<'q, Gang>, domains: Cow<'q, [Domain]>, budget: Budget) -> Placing<'q, W> {
        let mut queue: Vec<usize> = (0..domains.len()).collect();
        queue.sort_by_key(|at| domains[*at].rank);
        let (everybody, at_least) = (gang.members(), gang.at_least);
        Placing {
            room: Room::new(&gang),
            reserve: if at_least < everybody { budget.floor(2) } else { 0 },
            at_least: everybody.max(at_least),
            gang,
            domains,
            budget,
            queue,
            next: 0,
            search: None,
            best: None,
            tried: FxHashSet::default(),
            is_open: false,
            closest: Closest::new(),
        }
    }

    /// How many steps are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.budget.left()
    }

    /// Goes on for about so many steps; a question to the state is never broken off. The state has to be as it was.
    pub fn advance<S: PlacementState<Stop = W> + ?Sized>(
        &mut self,
        state: &mut S,
        scorers: &[Weighted<'_>],
        steps: u64,
    ) -> Progress<W> {
        self.budget.pause_after(steps);
        self.go_on(state, scorers).map_or(Progress::Paused, Progress::Done)
    }

    fn go_on<S: PlacementState<Stop = W> + ?Sized>(
        &mut self,
        state: &mut S,
        scorers: &[Weighted<'_>],
    ) -> Option<PlacementAnswer<W>> {
        loop {
            let index = self.queue.get(self.next).copied();
            let rank = index.map(|index| self.domains[index].rank);
            if let Some((_, best)) = self.best.take_if(|(of, _)| Some(*of) != rank) {
                return Some(PlacementAnswer::Placed(best));
            }
            match index {
                Some(index) => self.attempt(index, state, scorers)?,
                None if self.at_least > self.gang.at_least => self.settle_for_less(),
                None => {
                    let Placing { gang, domains, room, budget, closest, .. } = self;
                    if !closest.measure(domains, &mut Inquiry { gang, state, room, budget }) {
                        return Some(self.refused());
                    }
                }
            }
            if self.budget.is_paused() {
                return None;
            }
        }
    }

    /// There is no room for all, so for as many as have to be seated.
    fn settle_for_less(&mut self) {
        self.at_least = self.gang.at_least;
        (self.next, self.reserve, self.is_open) = (0, 0, false);
        self.tried.clear();
        self.closest = Closest::new();
    }

    /// Looks for seats in a domain. Nothing if it is to pause.
    fn attempt<S: PlacementState<Stop = W> + ?Sized>(
        &mut self,
        index: usize,
        state: &mut S,
        scorers: &[Weighted<'_>],
    ) -> Option<()> {
        if self.search.is_none() && !self.is_worth_it(index, state) {
            self.next += 1;
            return Some(());
        }
        let shares = (self.queue.len() - self.next) as u64;
        let left = self.budget.left();
        let floor = left - left.saturating_sub(self.reserve).div_ceil(shares);
        let (search, floor) = self.search.get_or_insert_with(|| (DomainSearch::new(self.at_least), floor));
        let domain = &self.domains[index];
        let Placing { gang, room, budget, .. } = self;
        let mut inquiry = Inquiry { gang, state, room, budget };
        let attempted = inquiry.above(*floor, |inquiry| search.advance(domain, inquiry))?;
        let floor = *floor;
        self.search = None;
        self.next += 1;
        state.tried(matches!(attempted.outcome, Outcome::Found(_)));
        if let Outcome::Found(loads) = attempted.outcome {
            let placed = self.judge(index, loads, state, scorers);
            // The first of those that are equally good is kept.
            if self.best.as_ref().is_none_or(|(_, best)| best.score < placed.score) {
                self.best = Some((placed.rank, placed));
            }
            return Some(());
        }
        self.came_close(index, attempted, floor, state);
        Some(())
    }

    /// Whether a domain has to be tried: another like it was not, and sums do not refuse it.
    fn is_worth_it<S: PlacementState<Stop = W> + ?Sized>(&mut self, index: usize, state: &mut S) -> bool {
        let domain = &self.domains[index];
        if !state.crosses_nodes() {
            let mut parts: FxHashMap<u32, Vec<Likeness>> = FxHashMap::default();
            for (node, part) in domain.nodes.iter().zip(&domain.parts) {
                parts.entry(*part).or_default().push(self.room.likeness(state, *node));
            }
            let mut kind: Vec<Vec<Likeness>> = parts.into_values().collect();
            kind.iter_mut().for_each(|part| part.sort_unstable());
            kind.sort_unstable();
            if !self.tried.insert((domain.rank, kind)) {
                return false;
            }
        }
        let shared = state.shared(&domain.nodes);
        let mut free = Amounts::nothing(self.gang.axes.len());
        free.add(&shared);
        self.room.share(shared);
        for node in &domain.nodes {
            free.add(self.room.free(state, *node));
        }
        let Some(Shortfall { room_for: most, lack, .. }) =
            shortfall(&self.gang, self.at_least, domain, &free)
        else {
            return true;
        };
        self.closest.add(Near { domain: index, most, lack, seated: None });
        state.tried(false);
        false
    }

    /// A placement, with what scorers make of it.
    fn judge<S: PlacementState + ?Sized>(
        &mut self,
        index: usize,
        loads: Vec<(NodeIdx, Load)>,
        state: &mut S,
        scorers: &[Weighted<'_>],
    ) -> Placement {
        let domain = &self.domains[index];
        let seats: Vec<Seats> = loads.into_iter().map(|(node, load)| Seats { node, load }).collect();
        let free = domain.nodes.iter().map(|node| (*node, self.room.free(state, *node).clone())).collect();
        let shared = &state.shared(&domain.nodes);
        let scored = Scored { gang: &self.gang, domain, free: &free, shared, seats: &seats };
        let score = judge(scorers, &scored);
        Placement { domain: domain.name.clone(), rank: domain.rank, seats, score }
    }

    /// Notes what a domain lacks in which too few members have seats.
    fn came_close<S: PlacementState<Stop = W> + ?Sized>(
        &mut self,
        index: usize,
        attempted: Attempted<W>,
        floor: u64,
        state: &mut S,
    ) {
        let Attempted { outcome, walk, best } = attempted;
        let (seated_max, is_open) = match outcome {
            Outcome::Found(_) => return,
            Outcome::Impossible { seated_max } => (seated_max, false),
            Outcome::Spent { seated_max } => (seated_max, true),
        };
        self.is_open |= is_open;
        let Placing { gang, domains, room, budget, .. } = self;
        let nodes = &domains[index].nodes;
        let mut inquiry = Inquiry { gang, state, room, budget };
        let mut lack = Lack::Together;
        if !is_open {
            lack = inquiry.above(floor, |inquiry| lack_in(nodes, inquiry));
        }
        let mut near = Near { domain: index, most: self.at_least - 1, lack, seated: None };
        match (walk, best) {
            // Those that a search had seats for need not have been able to be there at once.
            (Some(walk), _) => {
                near.seated = Some(walk.seated());
                if let (Some(why), Lack::Together) = (walk.stopped_by, &near.lack) {
                    near.lack = Lack::Next(why);
                }
            }
            (None, Some(loads)) => {
                let seated: u32 = loads.iter().map(|(_, load)| load.total()).sum();
                near.seated = Some(seated.max(seated_max.min(self.at_least - 1)));
                if near.lack == Lack::Together {
                    near.lack = inquiry.above(floor, |inquiry| lack_beside(nodes, &loads, inquiry));
                }
            }
            (None, None) => {}
        }
        self.closest.add(near);
    }

    fn refused(&mut self) -> PlacementAnswer<W> {
        let closest = std::mem::replace(&mut self.closest, Closest::new());
        let (nearest, lacks) = closest.told(&self.domains);
        let refusal = Refusal { domains: self.domains.len(), wanted: self.gang.at_least, nearest, lacks };
        if self.is_open {
            PlacementAnswer::BudgetSpent(refusal)
        } else {
            PlacementAnswer::Impossible(refusal)
        }
    }
}

/// What a domain lacks in which the members cannot be seated.
fn lack_in<S: PlacementState + ?Sized>(nodes: &[NodeIdx], inquiry: &mut Inquiry<'_, S>) -> Lack<S::Stop> {
    let Inquiry { gang, state, room, budget } = inquiry;
    let alone = |node: &NodeIdx| (*node, room.alone(*state, gang, *node, budget));
    let alone: Vec<(NodeIdx, Load)> = nodes.iter().map(alone).collect();
    let rooms = if state.crosses_nodes() {
        state.most(&alone)
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
