//! How many placements were looked at for a gang.

/// Placements that were looked at in one turn of a gang.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tried {
    /// How many came into question.
    pub generated: u64,
    /// How many would have done.
    pub feasible: u64,
    /// How many would not.
    pub infeasible: u64,
}

impl Tried {
    /// One more was looked at.
    pub(crate) fn count(&mut self, fits: bool) {
        *(if fits { &mut self.feasible } else { &mut self.infeasible }) += 1;
    }
}
