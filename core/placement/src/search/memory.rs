//! States that failed.
//!
//! Invariant: from a state that is kept here nothing succeeds. What is left to seat and the nodes that are left decide, so
//! it does not matter how the state was reached. It also fails if even more is left to seat at the same place.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::load::Load;

/// How many states are kept for comparison with states that are not equal.
const COMPARED_MAX: usize = 32;

/// States that failed, by how many nodes were filled.
#[derive(Debug, Default)]
pub(super) struct Memory {
    failed: FxHashMap<usize, Failed>,
}

#[derive(Debug, Default)]
struct Failed {
    exact: FxHashSet<Load>,
    /// Those with the least left to seat.
    least: Vec<Load>,
}

impl Memory {
    /// Keeps that nothing succeeds with so much left to seat.
    pub fn failed(&mut self, at: usize, left: &Load) {
        let failed = self.failed.entry(at).or_default();
        failed.exact.insert(left.clone());
        failed.least.retain(|known| !is_within(left, known));
        if failed.least.len() < COMPARED_MAX {
            failed.least.push(left.clone());
        }
    }

    /// Whether it is known that nothing succeeds.
    pub fn knows(&self, at: usize, left: &Load) -> bool {
        self.failed.get(&at).is_some_and(|failed| {
            failed.exact.contains(left) || failed.least.iter().any(|known| is_within(known, left))
        })
    }
}

fn is_within(less: &Load, more: &Load) -> bool {
    less.counts().iter().zip(more.counts()).all(|(less, more)| less <= more)
}
