//! States that failed.
//!
//! Invariant: from a state that is kept here nothing succeeds. What is left to seat and the nodes that are left decide, so
//! it does not matter how the state was reached. It also fails if even more is left to seat at the same place. If loads of
//! nodes that are filled matter to others, the gist of them is a part of the state, and only equal states are compared.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::load::Load;

/// How many states are kept for comparison with states that are not equal.
const COMPARED_MAX: usize = 32;

/// How many states are kept at the most if loads of nodes matter to others.
const ACROSS_MAX: usize = 1_000_000;

/// States that failed, by how many nodes were filled.
#[derive(Debug, Default)]
pub(super) struct Memory {
    failed: FxHashMap<usize, Failed>,
    across: FxHashSet<(usize, Load, Box<[u32]>)>,
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

    /// Keeps that nothing succeeds with so much left to seat, and with loads of which this is the gist.
    pub fn failed_with(&mut self, at: usize, left: &Load, gist: Box<[u32]>) {
        if self.across.len() < ACROSS_MAX {
            self.across.insert((at, left.clone(), gist));
        }
    }

    /// Whether it is known that nothing succeeds with loads of which this is the gist.
    pub fn knows_with(&self, at: usize, left: &Load, gist: &[u32]) -> bool {
        !self.across.is_empty() && self.across.contains(&(at, left.clone(), gist.into()))
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
