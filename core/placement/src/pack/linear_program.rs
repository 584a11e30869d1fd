//! A small linear program: which mixture of loads leaves the fewest members without a seat, and if it leaves none, which would do
//! for the most members of all kinds alike?
//!
//! Each column is a choice of loads for a bundle of nodes, and of each bundle at most one column may be used in all. Numbers are
//! rounded, so what comes of it is a guide: prices for kinds, and how much of each column to use. Nothing is proved here.

/// What is too small to count.
const TINY: f64 = 1e-9;

/// What a seat that a member has counts for more than one besides.
const SEAT: f64 = 1e3;

/// How often the basis changes at the most in one solution.
const PIVOTS_MAX: usize = 2_000;

/// After so many changes without any gain the first that will do is taken, so that there is no going in circles.
const IDLE_MAX: usize = 40;

/// A variable of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Variable {
    /// Members of a kind that have no seat.
    Short(usize),
    /// Seats of a kind that no member needs.
    Over(usize),
    /// A bundle that is not used.
    Idle(usize),
    /// How many times all members there could be besides.
    Beyond,
    Column(usize),
}

#[derive(Clone, Debug)]
struct Column {
    bundle: usize,
    /// Which part of the members of each kind it seats.
    parts: Vec<f64>,
}

/// The program, with the best basis that is known.
#[derive(Clone, Debug)]
pub(super) struct LinearProgram {
    members: Vec<f64>,
    bundles: usize,
    columns: Vec<Column>,
    basis: Vec<Variable>,
    values: Vec<f64>,
    /// All members have a seat, and more of all kinds are to have one.
    goes_beyond: bool,
    /// The inverse of the basis, row by row.
    inverse: Vec<Vec<f64>>,
    pub pivots: usize,
}

impl LinearProgram {
    /// A program for so many members of each kind and so many bundles of nodes, in which no member has a seat.
    pub fn new(members: &[u32], bundles: usize) -> LinearProgram {
        let rows = members.len() + bundles;
        let unit = |row: usize| (0..rows).map(|at| if at == row { 1.0 } else { 0.0 }).collect();
        let short = (0..members.len()).map(Variable::Short);
        LinearProgram {
            members: members.iter().map(|count| f64::from(*count)).collect(),
            bundles,
            columns: Vec::new(),
            basis: short.chain((0..bundles).map(Variable::Idle)).collect(),
            values: vec![1.0; rows],
            inverse: (0..rows).map(unit).collect(),
            goes_beyond: false,
            pivots: 0,
        }
    }

    /// Adds a choice of loads for a bundle, by how many members of each kind it seats.
    pub fn add(&mut self, bundle: usize, seats: &[u64]) {
        let part = |(seats, members): (&u64, &f64)| {
            if *members > 0.0 { *seats as f64 / members } else { 0.0 }
        };
        let parts = seats.iter().zip(&self.members).map(part).collect();
        self.columns.push(Column { bundle, parts });
    }

    /// How many members have no seat.
    pub fn unseated(&self) -> f64 {
        let value = |(variable, value): (&Variable, &f64)| match variable {
            Variable::Short(kind) => self.members[*kind] * value.max(0.0),
            Variable::Over(_) | Variable::Idle(_) | Variable::Beyond | Variable::Column(_) => 0.0,
        };
        self.basis.iter().zip(&self.values).map(value).sum()
    }

    /// How much of each column is used.
    pub fn used(&self) -> Vec<f64> {
        let mut used = vec![0.0; self.columns.len()];
        for (variable, value) in self.basis.iter().zip(&self.values) {
            if let Variable::Column(column) = variable {
                used[*column] = value.max(0.0);
            }
        }
        used
    }

    /// What a member of each kind is worth, from 0 to 1.
    pub fn prices(&self) -> Vec<f64> {
        let duals = self.duals();
        let price = |(dual, members): (&f64, &f64)| {
            if *members > 0.0 { (dual / members).max(0.0) } else { 0.0 }
        };
        let prices: Vec<f64> = duals.iter().zip(&self.members).map(price).collect();
        let most = prices.iter().copied().fold(TINY, f64::max);
        prices.into_iter().map(|price| price / most).collect()
    }

    fn cost(&self, variable: Variable) -> f64 {
        match variable {
            // A member that has a seat keeps it.
            Variable::Short(kind) if self.goes_beyond => self.members[kind] * SEAT,
            Variable::Short(kind) => self.members[kind],
            Variable::Beyond => -self.members.iter().sum::<f64>(),
            Variable::Over(_) | Variable::Idle(_) | Variable::Column(_) => 0.0,
        }
    }

    /// Lets more than all members have seats from now on. Only if all have one.
    pub fn go_beyond(&mut self) {
        self.goes_beyond = true;
    }

    /// How many times all members there could be besides, if all have seats.
    pub fn beyond(&self) -> Option<f64> {
        let place = self.basis.iter().position(|variable| *variable == Variable::Beyond);
        self.goes_beyond.then(|| place.map_or(0.0, |place| self.values[place]))
    }

    fn duals(&self) -> Vec<f64> {
        let mut duals = vec![0.0; self.basis.len()];
        for (row, variable) in self.basis.iter().enumerate() {
            let cost = self.cost(*variable);
            if cost != 0.0 {
                duals.iter_mut().zip(&self.inverse[row]).for_each(|(dual, entry)| *dual += cost * entry);
            }
        }
        duals
    }

    /// What is gained by using a variable.
    fn gain(&self, variable: Variable, duals: &[f64]) -> f64 {
        let kinds = self.members.len();
        match variable {
            Variable::Short(kind) => duals[kind] - self.cost(variable),
            Variable::Over(kind) => -duals[kind],
            Variable::Idle(bundle) => duals[kinds + bundle],
            Variable::Beyond => -self.cost(variable) - self.sum_of_kinds(duals),
            Variable::Column(column) => {
                let Column { bundle, parts } = &self.columns[column];
                duals[kinds + bundle] + parts.iter().zip(duals).map(|(part, dual)| part * dual).sum::<f64>()
            }
        }
    }

    /// How the basis answers to using a variable.
    fn direction(&self, variable: Variable) -> Vec<f64> {
        let kinds = self.members.len();
        let of_row = |row: &Vec<f64>| match variable {
            Variable::Short(kind) => row[kind],
            Variable::Over(kind) => -row[kind],
            Variable::Idle(bundle) => row[kinds + bundle],
            Variable::Beyond => -self.sum_of_kinds(row),
            Variable::Column(column) => {
                let Column { bundle, parts } = &self.columns[column];
                row[kinds + bundle] + parts.iter().zip(row).map(|(part, entry)| part * entry).sum::<f64>()
            }
        };
        self.inverse.iter().map(of_row).collect()
    }

    /// The sum over kinds of which there are members.
    fn sum_of_kinds(&self, row: &[f64]) -> f64 {
        let present = self.members.iter().zip(row).filter(|(members, _)| **members > 0.0);
        present.map(|(_, entry)| entry).sum()
    }

    /// Finds the best mixture of the columns that there are.
    pub fn solve(&mut self) {
        let mut idle = 0;
        for _ in 0..PIVOTS_MAX {
            let duals = self.duals();
            let kinds = 0..self.members.len();
            let variables = (kinds.clone().map(Variable::Short))
                .chain(kinds.map(Variable::Over))
                .chain((0..self.bundles).map(Variable::Idle))
                .chain((0..self.columns.len()).map(Variable::Column))
                .chain(self.goes_beyond.then_some(Variable::Beyond));
            let scale = self.members.iter().sum::<f64>().max(1.0);
            let mut best: Option<(Variable, f64)> = None;
            for variable in variables {
                let gain = self.gain(variable, &duals);
                if gain > TINY * scale && best.is_none_or(|(_, known)| gain > known && idle < IDLE_MAX) {
                    best = Some((variable, gain));
                }
            }
            let Some((variable, _)) = best else { return };
            let Some(moved) = self.exchange(variable) else { return };
            idle = if moved > TINY { 0 } else { idle + 1 };
            self.pivots += 1;
        }
    }

    /// Puts a variable into the basis, and tells how much of it is used then.
    fn exchange(&mut self, variable: Variable) -> Option<f64> {
        let direction = self.direction(variable);
        let mut leaving: Option<(usize, f64)> = None;
        for (row, entry) in direction.iter().enumerate().filter(|(_, entry)| **entry > TINY) {
            let ratio = self.values[row].max(0.0) / entry;
            let is_better = |(known, least): (usize, f64)| {
                ratio < least - TINY || (ratio < least + TINY && direction[known] < *entry)
            };
            if leaving.is_none_or(is_better) {
                leaving = Some((row, ratio));
            }
        }
        let (row, ratio) = leaving?;
        let pivot = direction[row];
        let scaled: Vec<f64> = self.inverse[row].iter().map(|entry| entry / pivot).collect();
        for (at, entry) in direction.iter().enumerate().filter(|(at, _)| *at != row) {
            if *entry != 0.0 {
                self.inverse[at].iter_mut().zip(&scaled).for_each(|(own, other)| *own -= entry * other);
            }
            self.values[at] -= entry * ratio;
        }
        (self.inverse[row], self.values[row], self.basis[row]) = (scaled, ratio, variable);
        Some(ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_mixture_of_loads_is_found() {
        // Ten nodes take three small members, or two large ones, or one of each; there are twelve of each.
        let mut program = LinearProgram::new(&[12, 12], 1);
        [[30, 0], [0, 20], [10, 10]].iter().for_each(|seats| program.add(0, seats));
        program.solve();
        assert!(program.unseated() < 1e-6, "{}", program.unseated());
        let mut program = LinearProgram::new(&[12, 18], 1);
        [[30, 0], [0, 20], [10, 10]].iter().for_each(|seats| program.add(0, seats));
        program.solve();
        // All small members take four tenths, and twelve large ones the rest.
        assert!((program.unseated() - 6.0).abs() < 1e-6, "{}", program.unseated());
        let prices = program.prices();
        assert!((prices[1] - 1.0).abs() < 1e-6 && (prices[0] - 2.0 / 3.0).abs() < 1e-6, "{prices:?}");
    }

    #[test]
    fn if_all_have_seats_more_of_all_kinds_are_seated() {
        let mut program = LinearProgram::new(&[15, 5], 1);
        [[30, 0], [0, 20], [10, 10]].iter().for_each(|seats| program.add(0, seats));
        program.solve();
        assert!(program.unseated() < 1e-6 && program.beyond().is_none());
        program.go_beyond();
        program.solve();
        // Two thirds of the nodes take twenty small members, and the rest more than six large ones.
        assert!((program.beyond().unwrap() - 1.0 / 3.0).abs() < 1e-6, "{:?}", program.beyond());
        let prices = program.prices();
        assert!((prices[1] - 1.0).abs() < 1e-6 && (prices[0] - 2.0 / 3.0).abs() < 1e-6, "{prices:?}");
    }
}
