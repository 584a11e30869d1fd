//! Prices as a proof: if all nodes together cannot take members worth as much as those that have to be seated, these have no seats.
//!
//! Invariant: all numbers are whole, and what nodes take is counted at the most, so that what prices refuse cannot be.

use crate::pack::worth::cheapest;

/// The price of the dearest kind.
pub(super) const PRICE_MAX: u64 = 1 << 20;

/// A price for each kind, and what loads are worth by these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Prices {
    pub of_kinds: Vec<u64>,
    /// By likeness, what no load of a node is worth more than.
    pub dearest: Vec<u64>,
}

impl Prices {
    /// What so many nodes of each likeness take at the most.
    pub fn supply(&self, nodes: &[u32]) -> u64 {
        self.dearest.iter().zip(nodes).map(|(dearest, nodes)| dearest * u64::from(*nodes)).sum()
    }

    /// What so many of these members are worth at the least.
    pub fn demand(&self, members: &[u32], wanted: u32) -> u64 {
        cheapest(&self.of_kinds, members, wanted)
    }

    /// Whether so many of these members have no seats on so many nodes of each likeness.
    pub fn refuse(&self, nodes: &[u32], members: &[u32], wanted: u32) -> bool {
        self.supply(nodes) < self.demand(members, wanted)
    }

    /// What a load is worth.
    pub fn worth(&self, load: &[u32]) -> u64 {
        load.iter().zip(&self.of_kinds).map(|(count, price)| u64::from(*count) * price).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worth_more_than_all_nodes_take_is_refused() {
        // A node takes one large member, or two of middle size, or one of these and two small ones.
        let prices = Prices { of_kinds: vec![4, 2, 1], dearest: vec![4] };
        assert!(!prices.refuse(&[3], &[1, 2, 2], 5), "10 of 12");
        assert!(prices.refuse(&[3], &[2, 2, 1], 5), "13 of 12");
        assert!(!prices.refuse(&[3], &[2, 2, 1], 4), "the four cheapest are 9 of 12");
    }
}
