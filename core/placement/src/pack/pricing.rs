//! Finds prices: those by which nodes take the least for what members are worth.
//!
//! Rounds of asking and answering. A linear program mixes the loads that are known, and its prices say what a seat is worth; each
//! node then names its dearest load by these prices. Either nodes take too little in all, which proves that there are too few
//! seats, or their loads are new to the program and make the mixture better.
//!
//! Invariant: the program only guides. What is called refused was added up in whole numbers.

use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::alike::Stock;
use crate::pack::dearest::{Dearest, dearest};
use crate::pack::linear_program::LinearProgram;
use crate::pack::prices::{PRICE_MAX, Prices};
use crate::state::PlacementState;

/// In how many bundles nodes are at the most that choose their loads for themselves.
const BUNDLES_MAX: usize = 32;

/// How many rounds there are at the most.
const ROUNDS_MAX: u32 = 80;

/// If so many more members of all kinds would have seats, prices need not be better.
const LOOSE: f64 = 1.0;

/// How many of the best prices are kept.
const KEPT_MAX: usize = 4;

/// What came of looking for prices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Priced {
    /// There are not enough seats.
    Refused,
    /// Nothing is proved. This many members have no seat in the best mixture, as far as is known.
    Open { is_short: bool },
}

/// Where prices come from that are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Guess,
    /// Between the best that are known and those of the program.
    Between,
    Program,
}

/// Loads for the nodes of a bundle.
#[derive(Clone, PartialEq, Debug)]
struct Column {
    bundle: usize,
    loads: Vec<Load>,
}

/// Looks for prices.
#[derive(Debug)]
pub(super) struct Pricing {
    left: Vec<u32>,
    nodes: Vec<u32>,
    wanted: u32,
    /// Likenesses by bundle.
    bundles: Vec<Vec<usize>>,
    columns: Vec<Column>,
    program: LinearProgram,
    asked: Vec<u64>,
    asked_from: Source,
    /// What nodes said in this round, by likeness.
    told: Vec<Dearest>,
    /// What they said in the round before.
    last: Vec<Load>,
    rounds: u32,
    /// The best prices that are known, the best first.
    pub best: Vec<Prices>,
}

impl Pricing {
    /// Prices for seats on so many nodes of each likeness, for so many of these members.
    pub fn new(stock: &Stock, nodes: Vec<u32>, left: Vec<u32>, wanted: u32) -> Pricing {
        let open: Vec<usize> = (0..nodes.len()).filter(|group| nodes[*group] > 0).collect();
        let size = open.len().div_ceil(BUNDLES_MAX).max(1);
        let bundles: Vec<Vec<usize>> = open.chunks(size).map(<[usize]>::to_vec).collect();
        let mut pricing = Pricing {
            program: LinearProgram::new(&left, bundles.len()),
            left,
            nodes,
            wanted,
            bundles,
            columns: Vec::new(),
            asked: Vec::new(),
            asked_from: Source::Guess,
            told: Vec::new(),
            last: Vec::new(),
            rounds: 0,
            best: Vec::new(),
        };
        pricing.asked = pricing.by_size(stock);
        pricing
    }

    /// The same with fewer nodes and members; what is known of loads is kept.
    pub fn narrowed(&self, stock: &Stock, nodes: Vec<u32>, left: Vec<u32>, wanted: u32) -> Pricing {
        let mut next = Pricing::new(stock, nodes, left, wanted);
        let open: usize = next.bundles.iter().map(Vec::len).sum();
        let size = open.div_ceil(BUNDLES_MAX).max(1);
        let is_open = |group: &usize| next.nodes[*group] > 0;
        let mut parts: Vec<(usize, Vec<usize>)> = Vec::new();
        for (bundle, groups) in self.bundles.iter().enumerate() {
            let open: Vec<usize> = groups.iter().copied().filter(is_open).collect();
            parts.extend(open.chunks(size).map(|part| (bundle, part.to_vec())));
        }
        next.bundles = parts.iter().map(|(_, part)| part.clone()).collect();
        next.program = LinearProgram::new(&next.left, next.bundles.len());
        for column in &self.columns {
            for (place, (_, part)) in parts.iter().enumerate().filter(|(_, (from, _))| *from == column.bundle)
            {
                let loads = self.bundles[column.bundle].iter().zip(&column.loads);
                let loads = loads.filter(|(group, _)| part.contains(group)).map(|(_, load)| load.clone());
                let loads = loads.collect();
                next.add(Column { bundle: place, loads });
            }
        }
        next.last.clone_from(&self.last);
        next.ask_program();
        next
    }

    /// Lets the program know loads that nodes take.
    pub fn learn(&mut self, loads: &[(usize, Load)]) {
        for bundle in 0..self.bundles.len() {
            let groups = &self.bundles[bundle];
            if let [group] = groups[..] {
                let own = loads.iter().filter(|(of, _)| *of == group).map(|(_, load)| load.clone());
                for load in own.collect::<Vec<_>>() {
                    self.add(Column { bundle, loads: vec![load] });
                }
                continue;
            }
            let load = |group: &usize| {
                let own = loads.iter().find(|(of, _)| of == group);
                own.map_or_else(|| Load::none(self.left.len()), |(_, load)| load.clone())
            };
            let loads = groups.iter().map(load).collect();
            self.add(Column { bundle, loads });
        }
    }

    /// The same with what others know of loads, as far as nodes choose for themselves.
    pub fn taught_by(mut self, other: &Pricing) -> Pricing {
        let loads: Vec<(usize, Load)> = other
            .columns
            .iter()
            .flat_map(|column| other.bundles[column.bundle].iter().copied().zip(column.loads.iter().cloned()))
            .collect();
        self.learn(&loads);
        self.ask_program();
        self
    }

    /// Asks and answers until something is known. Nothing if it is to pause.
    pub fn advance<S: PlacementState + ?Sized>(
        &mut self,
        stock: &mut Stock,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Option<Priced> {
        loop {
            let group = self.told.len();
            if group == self.nodes.len() {
                if let Some(priced) = self.end_round(inquiry) {
                    return Some(priced);
                }
                continue;
            }
            if self.nodes[group] == 0 {
                self.told.push(Dearest { worth: 0, load: Load::none(self.left.len()) });
                continue;
            }
            let known = self.last.get(group);
            self.told.push(dearest(&mut stock.alike[group], &self.asked, &self.left, known, inquiry));
            if !inquiry.budget.spend(1) {
                return Some(Priced::Open { is_short: true });
            }
            if inquiry.budget.is_paused() {
                return None;
            }
        }
    }

    /// How many nodes of a likeness have which load in the best mixture that is known.
    pub fn mixture(&self) -> Vec<(usize, Load, f64)> {
        let mut mixture: Vec<(usize, Load, f64)> = Vec::new();
        for (column, used) in self.columns.iter().zip(self.program.used()).filter(|(_, used)| *used > 1e-6) {
            for (group, load) in self.bundles[column.bundle].iter().zip(&column.loads) {
                let nodes = used * f64::from(self.nodes[*group]);
                match mixture.iter_mut().find(|(of, known, _)| of == group && known == load) {
                    Some((_, _, sum)) => *sum += nodes,
                    None => mixture.push((*group, load.clone(), nodes)),
                }
            }
        }
        mixture
    }

    /// The loads that the best mixture uses whole, for members that there are.
    pub fn whole_loads(&self) -> Vec<(usize, Load)> {
        let mut left = Load::new(self.left.iter().copied());
        let mut whole = Vec::new();
        for (group, load, nodes) in self.mixture() {
            for _ in 0..(nodes + 1e-6).floor() as u32 {
                let clipped = load.clipped(&left);
                left.subtract(&clipped);
                whole.push((group, clipped));
            }
        }
        whole
    }

    /// Prices by how much of a node members need.
    fn by_size(&self, stock: &Stock) -> Vec<u64> {
        let size = |kind: usize| {
            let sizes =
                stock.alike.iter().filter(|alike| alike.alone[kind] > 0).map(|alike| alike.sizes[kind]);
            sizes.min().unwrap_or(1)
        };
        let sizes: Vec<u64> = (0..self.left.len()).map(size).collect();
        let largest = sizes.iter().copied().max().unwrap_or(1).max(1);
        sizes
            .iter()
            .map(|size| (u128::from(*size) * u128::from(PRICE_MAX) / u128::from(largest)) as u64)
            .collect()
    }

    /// Begins with the prices of the program.
    fn ask_program(&mut self) {
        self.solve();
        self.asked = self.of_program();
        self.asked_from = Source::Program;
    }

    /// Finds the best mixture of the loads that are known.
    fn solve(&mut self) {
        self.program.solve();
        if self.program.unseated() < 1e-6 && self.program.beyond().is_none() {
            self.program.go_beyond();
            self.program.solve();
        }
    }

    fn of_program(&self) -> Vec<u64> {
        let prices = self.program.prices();
        prices.iter().map(|price| (price * PRICE_MAX as f64).round() as u64).collect()
    }

    fn add(&mut self, column: Column) -> bool {
        if self.columns.contains(&column) {
            return false;
        }
        let mut seats = vec![0_u64; self.left.len()];
        for (group, load) in self.bundles[column.bundle].iter().zip(&column.loads) {
            let nodes = u64::from(self.nodes[*group]);
            seats.iter_mut().zip(load.counts()).for_each(|(sum, count)| *sum += nodes * u64::from(*count));
        }
        self.program.add(column.bundle, &seats);
        self.columns.push(column);
        true
    }

    fn end_round<S: PlacementState + ?Sized>(&mut self, inquiry: &mut Inquiry<'_, S>) -> Option<Priced> {
        let told = std::mem::take(&mut self.told);
        self.last = told.iter().map(|dearest| dearest.load.clone()).collect();
        let dearest = told.iter().map(|dearest| dearest.worth).collect();
        let prices = Prices { of_kinds: self.asked.clone(), dearest };
        let refuses = prices.refuse(&self.nodes, &self.left, self.wanted);
        self.keep(prices);
        if refuses {
            return Some(Priced::Refused);
        }
        let mut is_new = false;
        for bundle in 0..self.bundles.len() {
            let loads = self.bundles[bundle].iter().map(|group| told[*group].load.clone()).collect();
            is_new |= self.add(Column { bundle, loads });
        }
        let pivots = self.program.pivots;
        self.solve();
        let rows = (self.left.len() + self.bundles.len()) as u64;
        inquiry.budget.spend((self.program.pivots - pivots) as u64 * (1 + rows * rows / 256));
        let spare = f64::from(self.left.iter().sum::<u32>() - self.wanted);
        let is_short = self.program.unseated() > spare + 1e-6;
        let is_loose = self.program.beyond().is_some_and(|beyond| beyond > LOOSE);
        self.rounds += 1;
        let is_settled = !is_new && self.asked_from == Source::Program;
        let is_partial = !is_short && self.program.beyond().is_none();
        if is_loose || is_partial || is_settled || self.rounds > ROUNDS_MAX {
            return Some(Priced::Open { is_short });
        }
        let next = self.of_program();
        // Halfway to the best that is known, prices do not swing. If that taught nothing, the program is asked itself.
        self.asked_from = if is_new { Source::Between } else { Source::Program };
        self.asked = match self.best.first().filter(|_| self.asked_from == Source::Between) {
            Some(best) => best.of_kinds.iter().zip(&next).map(|(one, other)| one.midpoint(*other)).collect(),
            None => next,
        };
        None
    }

    /// Keeps prices among the best.
    fn keep(&mut self, prices: Prices) {
        let worst = |one: &Prices, other: &Prices| {
            let ratio = |prices: &Prices| {
                let demand = prices.demand(&self.left, self.wanted).max(1);
                (u128::from(prices.supply(&self.nodes)) << 32) / u128::from(demand)
            };
            ratio(one).cmp(&ratio(other))
        };
        let place = self.best.partition_point(|known| worst(known, &prices).is_le());
        self.best.insert(place, prices);
        self.best.truncate(KEPT_MAX);
    }
}
