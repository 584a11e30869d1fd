//! Seats from a mixture: whole numbers of it are fixed, prices are found for what is left, and the last nodes are searched.
//!
//! A mixture of loads seats all members, but uses fractions of nodes. What it uses whole is fixed, which leaves a few nodes for
//! the next mixture. If the last nodes do not take the members that are left, the nodes that were fixed last are searched with them.
//!
//! Invariant: only loads that a node takes are fixed, and no member has two seats.

use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::alike::Stock;
use crate::pack::load_search::{LoadSearch, Searched};
use crate::pack::pricing::{Priced, Pricing};
use crate::state::PlacementState;

/// How many nodes are left to the search.
const TAIL: u32 = 5;

/// How often nodes that were fixed are searched after all.
const TAILS_MAX: u32 = 4;

/// What one dive may use of the steps that it has left, one of so many shares.
const SHARES: u64 = 3;

/// Seats from mixtures.
#[derive(Debug)]
pub(super) struct Dive {
    wanted: u32,
    left: Vec<u32>,
    nodes: Vec<u32>,
    fixed: Vec<(usize, Load)>,
    /// How many nodes are searched.
    tail: u32,
    tails: u32,
    at: Place,
    /// The most members that had a seat at once, and their loads.
    pub best: (u32, Vec<(usize, Load)>),
}

#[derive(Debug)]
enum Place {
    Pricing(Pricing),
    /// The last nodes, with prices for them.
    Tail(Box<LoadSearch>, Pricing, u64),
}

impl Dive {
    /// Begins with prices for all nodes and members.
    pub fn new(nodes: Vec<u32>, members: &[u32], wanted: u32, pricing: Pricing) -> Dive {
        let (left, at) = (members.to_vec(), Place::Pricing(pricing));
        Dive { wanted, left, nodes, fixed: Vec::new(), tail: TAIL, tails: 0, at, best: (0, Vec::new()) }
    }

    /// Seats for as many as are wanted, or nothing found. The outer nothing if it is to pause.
    pub fn advance<S: PlacementState + ?Sized>(
        &mut self,
        stock: &mut Stock,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Option<Option<Vec<(usize, Load)>>> {
        loop {
            if inquiry.budget.left() == 0 {
                return Some(None);
            }
            match &mut self.at {
                Place::Pricing(pricing) => {
                    let priced = pricing.advance(stock, inquiry)?;
                    if priced == Priced::Refused && !self.widen(stock) {
                        return Some(None);
                    }
                    if priced != Priced::Refused {
                        self.fix(stock, inquiry.budget.floor(SHARES));
                    }
                }
                Place::Tail(search, _, floor) => {
                    let floor = *floor;
                    let searched = inquiry.above(floor, |inquiry| search.advance(stock, inquiry))?;
                    if search.best.0 + self.fixed.iter().map(|(_, load)| load.total()).sum::<u32>()
                        > self.best.0
                    {
                        let all: Vec<_> = self.fixed.iter().chain(&search.best.1).cloned().collect();
                        self.best = (all.iter().map(|(_, load)| load.total()).sum(), all);
                    }
                    if let Searched::Found(loads) = searched {
                        return Some(Some(self.fixed.iter().cloned().chain(loads).collect()));
                    }
                    if !self.widen(stock) {
                        return Some(None);
                    }
                }
            }
        }
    }

    /// How many of the members that are left have to be seated.
    fn still_wanted(&self) -> u32 {
        let fixed: u32 = self.fixed.iter().map(|(_, load)| load.total()).sum();
        self.wanted.saturating_sub(fixed)
    }

    /// Fixes what a mixture uses whole, or else that of which it uses the most, and goes on with the rest.
    fn fix(&mut self, stock: &Stock, floor: u64) {
        let Place::Pricing(pricing) = &self.at else { return };
        let mut mixture = pricing.mixture();
        let is_tail = |nodes: &[u32], tail: u32| nodes.iter().sum::<u32>() <= tail;
        if !is_tail(&self.nodes, self.tail) {
            if mixture.iter().all(|(_, _, nodes)| *nodes < 1.0 - 1e-6) {
                let most = mixture.iter().map(|(_, _, nodes)| *nodes).fold(0.0, f64::max);
                mixture.retain(|(_, _, nodes)| *nodes >= most - 1e-9);
                mixture.truncate(1);
                mixture.iter_mut().for_each(|(_, _, nodes)| *nodes = 1.0);
            }
            let mut is_any = false;
            for (group, load, nodes) in mixture {
                for _ in 0..(nodes + 1e-6).floor() as u32 {
                    if is_tail(&self.nodes, self.tail) || self.nodes[group] == 0 {
                        break;
                    }
                    let clipped = load.counts().iter().zip(&self.left).map(|(one, left)| *one.min(left));
                    let clipped = Load::new(clipped);
                    self.left.iter_mut().zip(clipped.counts()).for_each(|(left, one)| *left -= one);
                    self.nodes[group] -= 1;
                    self.fixed.push((group, clipped));
                    is_any = true;
                }
            }
            if !is_any {
                // Rounding left nothing to go by; what is left is searched.
                self.tail = self.nodes.iter().sum();
            }
            let wanted = self.still_wanted();
            self.at = Place::Pricing(pricing.narrowed(stock, self.nodes.clone(), self.left.clone(), wanted));
            return;
        }
        let search =
            LoadSearch::new(self.nodes.clone(), &self.left, self.still_wanted(), pricing.best.clone());
        let wanted = self.still_wanted();
        let pricing = pricing.narrowed(stock, self.nodes.clone(), self.left.clone(), wanted);
        self.at = Place::Tail(Box::new(search), pricing, floor);
    }

    /// Takes back what was fixed last, so that more nodes are searched.
    fn widen(&mut self, stock: &Stock) -> bool {
        if self.tails == TAILS_MAX || self.fixed.is_empty() {
            return false;
        }
        self.tails += 1;
        self.tail = self.tail.max(self.nodes.iter().sum()) * 2;
        while self.nodes.iter().sum::<u32>() < self.tail {
            let Some((group, load)) = self.fixed.pop() else { break };
            self.nodes[group] += 1;
            self.left.iter_mut().zip(load.counts()).for_each(|(left, one)| *left += one);
        }
        let wanted = self.still_wanted();
        let (Place::Pricing(pricing) | Place::Tail(_, pricing, _)) = &self.at;
        self.at = Place::Pricing(
            Pricing::new(stock, self.nodes.clone(), self.left.clone(), wanted).taught_by(pricing),
        );
        true
    }
}
