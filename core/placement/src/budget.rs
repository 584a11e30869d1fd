//! How much work a search may do, in all and before it pauses.
//!
//! Invariant: what is left only shrinks, so a search that counts every step against it ends. Where it pauses changes nothing about
//! how much is left.

/// Steps that are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    left: u64,
    /// A search pauses as soon as no more than this is left.
    pause_at: Option<u64>,
}

impl Budget {
    /// So many steps.
    #[must_use]
    pub const fn new(steps: u64) -> Budget {
        Budget { left: steps, pause_at: None }
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

    /// Lets a search pause after so many steps, if there are as many.
    pub(crate) fn pause_after(&mut self, steps: u64) {
        self.pause_at = self.left.checked_sub(steps);
    }

    /// Whether a search is to pause now.
    pub(crate) fn is_paused(&self) -> bool {
        self.pause_at.is_some_and(|at| self.left <= at)
    }

    /// How much is left if a part of the work has used its share, one of so many.
    pub(crate) fn floor(&self, shares: u64) -> u64 {
        self.left - self.left.div_ceil(shares.max(1))
    }

    /// Lets a part of the work use the steps above a floor, and counts what it used.
    pub(crate) fn above<T>(&mut self, floor: u64, work: impl FnOnce(&mut Budget) -> T) -> T {
        let granted = self.left.saturating_sub(floor);
        // Below its floor the part has ended, which is no reason to pause.
        let pause_at = self.pause_at.and_then(|at| at.checked_sub(self.left - granted));
        let mut part = Budget { left: granted, pause_at };
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
        let floor = budget.floor(4);
        let (enough, too_much) = budget.above(floor, |part| (part.spend(20), part.spend(20)));
        assert_eq!((enough, too_much, budget.left()), (true, false, 75));
        budget.above(budget.floor(3), |part| part.spend(1));
        assert_eq!(budget.left(), 74);
        assert!(!budget.above(80, |part| part.spend(1)), "nothing is above the floor");
        assert_eq!(budget.left(), 74);
    }

    #[test]
    fn a_part_pauses_where_the_whole_does() {
        let mut budget = Budget::new(100);
        budget.pause_after(30);
        let paused = budget.above(60, |part| {
            part.spend(29);
            let before = part.is_paused();
            part.spend(1);
            (before, part.is_paused())
        });
        assert_eq!((paused, budget.is_paused(), budget.left()), ((false, true), true, 70));
        budget.pause_after(30);
        let ended = budget.above(60, |part| (part.spend(11), part.is_paused()));
        assert_eq!((ended, budget.left()), ((false, false), 60), "it has ended, and need not pause");
    }
}
