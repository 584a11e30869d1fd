//! How much work a search may do.
//!
//! Invariant: what is left only shrinks, so a search that counts every step against it ends.

/// Steps that are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// So many steps.
    #[must_use]
    pub const fn new(steps: u64) -> Budget {
        Budget { left: steps }
    }

    /// How many steps are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Counts steps, and says whether there were as many.
    pub fn spend(&mut self, steps: u64) -> bool {
        let is_enough = self.left >= steps;
        self.left = self.left.saturating_sub(steps);
        is_enough
    }

    /// Lets no step be taken any more.
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// Lets a part of the work use one share of so many, and counts what it used.
    pub(crate) fn share<T>(&mut self, of: u64, work: impl FnOnce(&mut Budget) -> T) -> T {
        let granted = self.left.div_ceil(of.max(1));
        let mut part = Budget::new(granted);
        let result = work(&mut part);
        self.left -= granted - part.left;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_costs_what_it_used() {
        let mut budget = Budget::new(100);
        let (enough, too_much) = budget.share(4, |part| (part.spend(20), part.spend(20)));
        assert_eq!((enough, too_much, budget.left()), (true, false, 75));
        budget.share(3, |part| part.spend(1));
        assert_eq!(budget.left(), 74);
    }
}
