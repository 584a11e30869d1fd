//! The one place that calls the allocator.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::ledger::Ledger;
use cluster::pools::PoolView;
use gates::Gates;
use model::allocation::Allocation;
use model::claim::{Claim, Class};
use model::node::Node;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'q> {
    /// The node that will use the devices.
    pub(super) node: &'q Node,
    /// The pools as the node sees them.
    pub(super) pools: &'q [PoolView],
    /// The claims, in order.
    pub(super) claims: &'q [&'q Claim],
    /// The classes.
    pub(super) classes: &'q BTreeMap<Arc<str>, Class>,
    /// What is taken already.
    pub(super) ledger: &'q Ledger,
    /// Which features are on.
    pub(super) gates: Gates,
}

/// What was found, and in how many steps.
#[derive(Clone, Debug)]
pub(super) struct Solved {
    pub(super) found: Found,
    pub(super) steps: u64,
}

/// What was found.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "there is no allocator yet that finds anything")]
pub(super) enum Found {
    /// Devices for every claim.
    Allocated(Vec<Allocation>),
    /// There is no way.
    None,
    /// It cannot be judged.
    Error { kind: &'static str, text: String },
    /// The search met its bound.
    BudgetSpent,
}

/// Asks the allocator. There is none yet, so it says what it was asked.
pub(super) fn solve(question: &Question<'_>) -> Solved {
    let Question { node, pools, claims, classes, ledger, gates } = question;
    let text = format!(
        "there is no allocator yet for {} claims of {} classes on node {} with {} pools, {} devices taken and {} gates on",
        claims.len(),
        classes.len(),
        node.name,
        pools.len(),
        ledger.len(),
        gates.iter().count(),
    );
    Solved { found: Found::Error { kind: "no-allocator", text }, steps: 0 }
}
