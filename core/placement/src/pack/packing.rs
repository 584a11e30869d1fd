//! The passes over a domain, the cheapest first: construction, prices, a search over full loads, and seats from mixtures.
//!
//! Invariant: the largest set of members that had seats at once is kept, whichever pass found it.

use cluster::nodes::NodeIdx;

use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::alike::Stock;
use crate::pack::best_fit::{First, Next, PASSES, best_fit, best_fit_beside, order};
use crate::pack::dive::Dive;
use crate::pack::load_search::{LoadSearch, Searched};
use crate::pack::prices::Prices;
use crate::pack::pricing::{Priced, Pricing};
use crate::state::{PlacementState, Trial, Verdict};

/// Of more kinds than this no prices are found: there would be too many loads.
const KINDS_MAX: usize = 40;

/// What came of the passes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Packed {
    /// Loads for nodes, for as many members as are wanted.
    Seated(Vec<(NodeIdx, Load)>),
    /// There are not as many seats.
    Refused,
    /// Nothing was found, and nothing is proved.
    Open,
}

/// The passes over a domain.
#[derive(Debug)]
pub(crate) struct Packing {
    stock: Stock,
    wanted: u32,
    /// Loads of nodes can be in each other's way, so that seats count only if all can be so at once.
    crosses: bool,
    pass: Pass,
    /// How much has to be left when the pass ends.
    floor: Option<u64>,
    prices: Vec<Prices>,
    /// The loads by likeness that passes found, for the prices to begin with.
    found: Vec<Vec<(usize, Load)>>,
    best: Vec<(usize, Load)>,
}

#[derive(Debug)]
enum Pass {
    BestFit(usize),
    Price(Pricing),
    Dive(Dive),
    Search(LoadSearch),
    End,
}

impl Packing {
    /// Passes over these nodes for so many members.
    pub fn new<S: PlacementState + ?Sized>(
        nodes: &[NodeIdx],
        wanted: u32,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Packing {
        let stock = Stock::new(nodes, inquiry);
        let (prices, found, best) = Default::default();
        let crosses = inquiry.state.crosses_nodes();
        Packing { stock, wanted, crosses, pass: Pass::BestFit(0), floor: None, prices, found, best }
    }

    /// The largest set of members that had seats at once.
    pub fn best(&self) -> Vec<(NodeIdx, Load)> {
        self.stock.name(self.best.clone())
    }

    /// Goes on with the passes. Nothing if they are to pause.
    pub fn advance<S: PlacementState + ?Sized>(&mut self, inquiry: &mut Inquiry<'_, S>) -> Option<Packed> {
        loop {
            if let Pass::End = self.pass {
                return Some(Packed::Open);
            }
            if inquiry.budget.left() == 0 {
                return Some(Packed::Open);
            }
            let floor = *self.floor.get_or_insert(inquiry.budget.floor(self.pass.shares()));
            let packed = inquiry.above(floor, |inquiry| self.go_on(inquiry))?;
            if let Some(packed) = packed {
                return Some(packed);
            }
            self.floor = None;
            if inquiry.budget.is_paused() {
                return None;
            }
        }
    }

    /// Goes on with a pass, and says what came of it if that is the end. The outer nothing if it is to pause.
    fn go_on<S: PlacementState + ?Sized>(&mut self, inquiry: &mut Inquiry<'_, S>) -> Option<Option<Packed>> {
        let Packing { stock, .. } = self;
        match &mut self.pass {
            Pass::BestFit(number) => {
                let (first, next) = PASSES[*number];
                *number += 1;
                let is_last = *number == PASSES.len();
                let kinds = order(stock, first, &[]);
                let loads = best_fit(stock, &kinds, next, inquiry);
                if is_last {
                    self.pass = if stock.members.len() > KINDS_MAX { Pass::End } else { self.price() };
                }
                return Some(self.came_to(loads, inquiry));
            }
            Pass::Price(pricing) => {
                let priced = pricing.advance(stock, inquiry)?;
                let whole = pricing.whole_loads();
                if priced == Priced::Refused {
                    let kinds = order(stock, First::Smallest, &[]);
                    let loads = best_fit_beside(stock, &whole, &kinds, Next::Fullest, inquiry);
                    self.came_to(loads, inquiry);
                    return Some(Some(Packed::Refused));
                }
                if self.crosses || pricing.best.is_empty() {
                    // What follows is for nodes that decide for themselves, and goes by prices.
                    self.pass = Pass::End;
                    return Some(None);
                }
                self.prices.clone_from(&pricing.best);
                let kinds = order(stock, First::Dearest, &pricing.best[0].of_kinds);
                let loads = best_fit_beside(stock, &whole, &kinds, Next::Fullest, inquiry);
                let Pass::Price(pricing) = std::mem::replace(&mut self.pass, Pass::End) else {
                    return Some(None);
                };
                let (nodes, members) = (self.stock.counts(), &self.stock.members);
                self.pass = Pass::Dive(Dive::new(nodes, members, self.wanted, pricing));
                return Some(self.came_to(loads, inquiry));
            }
            Pass::Dive(dive) => {
                let found = dive.advance(stock, inquiry)?;
                let loads = found.unwrap_or(std::mem::take(&mut dive.best).1);
                self.pass = Pass::Search(self.search());
                return Some(self.came_to(loads, inquiry));
            }
            Pass::Search(search) => {
                let searched = search.advance(stock, inquiry)?;
                let best = std::mem::take(&mut search.best).1;
                self.pass = Pass::End;
                return Some(self.searched(searched, best, inquiry));
            }
            Pass::End => {}
        }
        Some(None)
    }

    fn price(&self) -> Pass {
        let mut pricing =
            Pricing::new(&self.stock, self.stock.counts(), self.stock.members.clone(), self.wanted);
        self.found.iter().for_each(|loads| pricing.learn(loads));
        Pass::Price(pricing)
    }

    fn search(&self) -> LoadSearch {
        LoadSearch::new(self.stock.counts(), &self.stock.members, self.wanted, self.prices.clone())
    }

    fn searched<S: PlacementState + ?Sized>(
        &mut self,
        searched: Searched,
        best: Vec<(usize, Load)>,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Option<Packed> {
        match searched {
            Searched::Found(loads) => self.came_to(loads, inquiry),
            Searched::Nothing => {
                self.came_to(best, inquiry);
                Some(Packed::Refused)
            }
            Searched::Spent => self.came_to(best, inquiry),
        }
    }

    /// Keeps loads if they are for more members than those before, and ends if they are for enough.
    fn came_to<S: PlacementState + ?Sized>(
        &mut self,
        loads: Vec<(usize, Load)>,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Option<Packed> {
        let seated = |loads: &[(usize, Load)]| loads.iter().map(|(_, load)| load.total()).sum::<u32>();
        let here = seated(&loads);
        if here >= self.wanted {
            let named = self.stock.name(loads.clone());
            if !self.crosses || can_be_at_once(&named, inquiry) {
                return Some(Packed::Seated(named));
            }
        }
        if here > seated(&self.best) {
            self.best.clone_from(&loads);
        }
        self.found.push(loads);
        None
    }
}

/// Whether loads of nodes are not in each other's way.
fn can_be_at_once<S: PlacementState + ?Sized>(
    loads: &[(NodeIdx, Load)],
    inquiry: &mut Inquiry<'_, S>,
) -> bool {
    let Inquiry { state, budget, .. } = inquiry;
    state.begin(&loads.iter().map(|(node, _)| *node).collect::<Vec<_>>());
    let mut trial = Trial::begin(*state);
    let mut assumed = loads.iter();
    assumed.all(|(node, load)| budget.spend(1) && trial.assume(*node, load, budget) == Verdict::Yes)
        && trial.state().confirm(budget) == Verdict::Yes
}

impl Pass {
    /// The share of the steps that are left which the pass may use, one of so many.
    fn shares(&self) -> u64 {
        match self {
            Pass::BestFit(_) | Pass::Price(_) | Pass::Dive(_) => 2,
            Pass::Search(_) | Pass::End => 1,
        }
    }
}
