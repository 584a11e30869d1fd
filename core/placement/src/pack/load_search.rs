//! The exact search over full loads: node by node, the dearest load first, with prices that say when to turn back.
//!
//! Every node has one of its full loads, as far as members are left for it; that loses nothing, since a node that takes a load takes
//! every smaller one. Nodes that are alike come one after the other and have their loads in the order of the list. By
//! prices the members that are left may not be worth more than what the nodes that are left can take.
//!
//! Invariant: a branch is left only for a reason that proves that nothing succeeds there, so if all are, there is nothing.

use rustc_hash::FxHashMap;

use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::alike::Stock;
use crate::pack::full_loads::full_loads;
use crate::pack::prices::Prices;
use crate::pack::worth::cheapest;
use crate::state::PlacementState;

/// How many loads all lists have at the most.
const LOADS_MAX: usize = 30_000;

/// How many states are compared with others that are not equal, by place.
const COMPARED_MAX: usize = 24;

/// How many states are kept at the most.
const STATES_MAX: usize = 1_000_000;

/// How often fewer loads are listed if there are too many.
const RAISED_MAX: usize = 6;

/// How many steps it is to give a place its next load, with the state that is kept or compared.
const STATE: u64 = 2;

/// How many loads of a list are looked at for a step.
const LOOKS: u32 = 8;

/// What came of a search.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Searched {
    Found(Vec<(usize, Load)>),
    /// There is nothing.
    Nothing,
    /// The steps were spent, or there are too many loads.
    Spent,
}

/// Prices, with what the places from each on can take.
#[derive(Debug)]
struct Ceiling {
    prices: Prices,
    rest: Vec<u64>,
}

#[derive(Debug)]
struct Frame {
    /// The load of the list that is tried next.
    next: usize,
    load: Load,
}

/// States in which nothing succeeds, at one place.
#[derive(Debug, Default)]
struct Failed {
    /// Which members were left, and from which load of the list on all were tried.
    exact: FxHashMap<Load, usize>,
    least: Vec<(Load, usize)>,
}

/// The search.
#[derive(Debug)]
pub(super) struct LoadSearch {
    nodes: Vec<u32>,
    wanted: u32,
    left: Load,
    seated: u32,
    /// Full loads by likeness; those that are missing are still to be listed.
    lists: Vec<Vec<(u64, Load)>>,
    known: Vec<Prices>,
    places: Vec<usize>,
    ceilings: Vec<Ceiling>,
    frames: Vec<Frame>,
    failed: Vec<Failed>,
    states: usize,
    /// No load that could be used is missing in lists.
    is_whole: bool,
    /// The most members that had a seat at once, and their loads.
    pub best: (u32, Vec<(usize, Load)>),
}

enum Move {
    Down,
    Up,
    Done,
}

impl LoadSearch {
    /// Seats for so many of these members on so many nodes of each likeness. The first prices say which loads come first.
    pub fn new(nodes: Vec<u32>, left: &[u32], wanted: u32, known: Vec<Prices>) -> LoadSearch {
        LoadSearch {
            nodes,
            wanted,
            left: Load::new(left.iter().copied()),
            seated: 0,
            lists: Vec::new(),
            known,
            places: Vec::new(),
            ceilings: Vec::new(),
            frames: Vec::new(),
            failed: Vec::new(),
            states: 0,
            is_whole: true,
            best: (0, Vec::new()),
        }
    }

    /// Searches on. Nothing if it is to pause.
    pub fn advance<S: PlacementState + ?Sized>(
        &mut self,
        stock: &mut Stock,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Option<Searched> {
        while self.lists.len() < self.nodes.len() {
            let Some(list) = self.list(self.lists.len(), stock, inquiry) else {
                return Some(Searched::Spent);
            };
            self.lists.push(list.0);
            self.is_whole &= list.1;
            if self.lists.iter().map(Vec::len).sum::<usize>() > LOADS_MAX || !inquiry.budget.spend(1) {
                return Some(Searched::Spent);
            }
            if inquiry.budget.is_paused() {
                return None;
            }
        }
        let mut next = if self.failed.is_empty() {
            self.line_up();
            self.enter(0)
        } else {
            Move::Up
        };
        loop {
            match next {
                Move::Done => return Some(Searched::Found(self.found())),
                Move::Up if self.frames.is_empty() => return Some(self.nothing()),
                Move::Down | Move::Up => {}
            }
            if let Move::Down = next {
                let next = self.first_load();
                self.frames.push(Frame { next, load: Load::none(self.left.counts().len()) });
            }
            if !inquiry.budget.spend(STATE) {
                return Some(Searched::Spent);
            }
            next = self.go_on(inquiry);
            if inquiry.budget.is_paused() && !matches!(next, Move::Done) {
                if let Move::Down = next {
                    let next = self.first_load();
                    self.frames.push(Frame { next, load: Load::none(self.left.counts().len()) });
                }
                return if self.frames.is_empty() { Some(self.nothing()) } else { None };
            }
        }
    }

    /// Nothing was found.
    fn nothing(&self) -> Searched {
        if self.is_whole { Searched::Nothing } else { Searched::Spent }
    }

    /// Loads of a likeness that can be used: the others lose more than there is to lose.
    fn list<S: PlacementState + ?Sized>(
        &self,
        group: usize,
        stock: &mut Stock,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Option<(Vec<(u64, Load)>, bool)> {
        if self.nodes[group] == 0 {
            return Some((Vec::new(), true));
        }
        let prices = self.known.first()?;
        let spare = prices.supply(&self.nodes).checked_sub(prices.demand(self.left.counts(), self.wanted));
        let at_least = prices.dearest[group].saturating_sub(spare.unwrap_or(0));
        let list =
            full_loads(&mut stock.alike[group], &prices.of_kinds, self.left.counts(), at_least, inquiry);
        if let Some(list) = list {
            return Some((list, true));
        }
        // Some of those that lose the least will do for finding seats, though not for a proof.
        let mut at_least = at_least;
        for _ in 0..RAISED_MAX {
            at_least = at_least.midpoint(prices.dearest[group]);
            let list =
                full_loads(&mut stock.alike[group], &prices.of_kinds, self.left.counts(), at_least, inquiry);
            if let Some(list) = list {
                return Some((list, false));
            }
        }
        None
    }

    /// Nodes in the order in which they get their loads: those first that have the fewest to choose from.
    fn line_up(&mut self) {
        let mut groups: Vec<usize> = (0..self.nodes.len()).filter(|group| self.nodes[*group] > 0).collect();
        groups.sort_by_key(|group| self.lists[*group].len());
        let nodes = |group: &usize| std::iter::repeat_n(*group, self.nodes[*group] as usize);
        self.places = groups.iter().flat_map(nodes).collect();
        let ceiling = |prices: &Prices| {
            let mut rest = vec![0; self.places.len() + 1];
            for (at, group) in self.places.iter().enumerate().rev() {
                rest[at] = rest[at + 1] + prices.dearest[*group];
            }
            Ceiling { prices: prices.clone(), rest }
        };
        self.ceilings = self.known.iter().map(ceiling).collect();
        self.failed = (0..=self.places.len()).map(|_| Failed::default()).collect();
    }

    /// From where on the list of the next place is tried: nodes that are alike have their loads in its order.
    fn first_load(&self) -> usize {
        let at = self.frames.len();
        let is_alike = at > 0 && self.places[at - 1] == self.places[at];
        if is_alike { self.frames[at - 1].next - 1 } else { 0 }
    }

    /// Looks at the members that are left, and says whether it is worth going on.
    fn enter(&mut self, from: usize) -> Move {
        let at = self.frames.len();
        if self.seated > self.best.0 {
            self.best = (self.seated, self.loads());
        }
        let wanted = self.wanted.saturating_sub(self.seated);
        if wanted == 0 {
            return Move::Done;
        }
        if at == self.places.len() || self.known_to_fail(at, from) {
            return Move::Up;
        }
        let left = self.left.counts();
        let refuses = |ceiling: &Ceiling| cheapest(&ceiling.prices.of_kinds, left, wanted) > ceiling.rest[at];
        if self.ceilings.iter().any(refuses) { Move::Up } else { Move::Down }
    }

    /// Gives the last place its next load, or leaves it.
    fn go_on<S: PlacementState + ?Sized>(&mut self, inquiry: &mut Inquiry<'_, S>) -> Move {
        let at = self.frames.len() - 1;
        let frame = &mut self.frames[at];
        self.left.add(&frame.load);
        self.seated -= frame.load.total();
        frame.load = Load::none(self.left.counts().len());
        let wanted = self.wanted - self.seated;
        let Ceiling { prices, rest } = &self.ceilings[0];
        // What this place has to take so that the others can take the rest.
        let needed = prices.demand(self.left.counts(), wanted).saturating_sub(rest[at + 1]);
        let list = &self.lists[self.places[at]];
        let mut looks = 0;
        while let Some((_, load)) = list.get(frame.next).filter(|(worth, _)| *worth >= needed) {
            frame.next += 1;
            looks += 1;
            let clipped = load.clipped(&self.left);
            if prices.worth(clipped.counts()) < needed {
                continue;
            }
            inquiry.budget.spend(u64::from(looks / LOOKS));
            self.left.subtract(&clipped);
            self.seated += clipped.total();
            frame.load = clipped;
            let from = if self.places.get(at + 1) == Some(&self.places[at]) { frame.next - 1 } else { 0 };
            return self.enter(from);
        }
        inquiry.budget.spend(u64::from(looks / LOOKS));
        self.frames.pop();
        self.fail(at, self.first_load());
        Move::Up
    }

    fn fail(&mut self, at: usize, from: usize) {
        let failed = &mut self.failed[at];
        if self.states < STATES_MAX {
            self.states += 1;
            let known = failed.exact.entry(self.left.clone()).or_insert(from);
            *known = from.min(*known);
        }
        let left = &self.left;
        failed.least.retain(|(known, since)| !(is_within(left, known) && from <= *since));
        if failed.least.len() < COMPARED_MAX {
            failed.least.push((left.clone(), from));
        }
    }

    fn known_to_fail(&self, at: usize, from: usize) -> bool {
        let failed = &self.failed[at];
        // With more left to seat than there was, it fails too.
        let is_worse = |(known, since): &(Load, usize)| *since <= from && is_within(known, &self.left);
        failed.exact.get(&self.left).is_some_and(|since| *since <= from) || failed.least.iter().any(is_worse)
    }

    fn loads(&self) -> Vec<(usize, Load)> {
        self.places.iter().copied().zip(self.frames.iter().map(|frame| frame.load.clone())).collect()
    }

    /// The loads that were found, and seats for others besides, as far as the rest of the nodes has room.
    fn found(&mut self) -> Vec<(usize, Load)> {
        let mut found = self.loads();
        for group in &self.places[found.len()..] {
            let clip = |(_, load): &(u64, Load)| load.clipped(&self.left);
            let Some(load) = self.lists[*group].iter().map(clip).max_by_key(Load::total) else { continue };
            self.left.subtract(&load);
            found.push((*group, load));
        }
        found
    }
}

fn is_within(less: &Load, more: &Load) -> bool {
    less.counts().iter().zip(more.counts()).all(|(less, more)| less <= more)
}
