//! Claims on one node: which devices they get, or why none.
//!
//! Three steps: [`parse`] turns the question into numbers and bits, a search finds a solution or a proof that there is none, and
//! [`render`] turns it into allocations. [`search`] looks for the first solution in the order that the reference explores. Branches
//! are skipped only when they cannot succeed, so it is the one that an exhaustive search would find. Where that takes too
//! long, [`solver`] looks for any. [`inquiry`] joins them, so that a question can be put down and taken up.
//!
//! [`parse`]: self::parse
//! [`search`]: self::search
//! [`render`]: self::render
//! [`solver`]: self::solver
//! [`inquiry`]: self::inquiry

mod asked;
mod capacity;
mod constraint;
mod counters;
mod error;
mod expressions;
mod inquiry;
mod parse;
mod problem;
mod refusal;
mod render;
mod search;
mod solver;
mod stock;
#[cfg(test)]
mod verdicts;
mod work;
#[cfg(test)]
mod worlds;

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::ledger::Ledger;
use cluster::pools::PoolView;
use gates::Gates;
use model::allocation::Allocation;
use model::claim::Class;
use model::node::Node;

pub use asked::{Asked, Asker};
pub use error::{AllocationError, ExpressionFault};
pub use expressions::{Expressions, Learned};
pub use inquiry::{Inquiry, Progress};
pub use refusal::{NearestMiss, Refusal, Stage, StageCount};
pub use stock::{Stock, Supply};

/// The most devices that a claim can hold.
pub const RESULTS_MAX: usize = 32;

/// What is to be decided.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    /// The node that will use the devices.
    pub node: &'q Node,
    /// The pools as the node sees them.
    pub pools: &'q [PoolView],
    /// The claims, in the order of the pod.
    pub claims: &'q [Asked<'q>],
    /// The classes that requests name.
    pub classes: &'q BTreeMap<Arc<str>, Class>,
    /// What is taken already.
    pub ledger: &'q Ledger,
    /// Which features are on.
    pub gates: Gates,
    /// In which order devices are tried.
    pub order: DeviceOrder,
    /// How many steps the search may take.
    pub budget: u64,
}

/// In which order devices are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeviceOrder {
    /// By driver, pool, slice name and place; a pool with any device that needs preparation goes last as a whole.
    Upstream,
    /// Device by device: what needs no preparation, then what is attached to the node, then the rest; and within each of
    /// these by driver, pool, slice name and place.
    #[default]
    PreferReady,
}

/// An answer and what it took to find.
#[derive(Clone, PartialEq, Debug)]
pub struct Reply {
    /// The answer.
    pub answer: AllocationAnswer,
    /// How many steps the search took.
    pub steps: u64,
    /// How much work that was, in nominal nanoseconds.
    pub work: u64,
}

/// What came of a question.
#[derive(Clone, PartialEq, Debug)]
pub enum AllocationAnswer {
    /// Devices for every claim, in the order of claims.
    Allocated(Vec<Allocation>),
    /// No choice of devices satisfies all claims.
    Impossible(Box<Refusal>),
    /// The search met its bound before it knew.
    BudgetSpent,
}

/// Finds devices for all claims.
///
/// # Errors
/// A claim, class or slice asks for something that cannot be judged, which no choice of devices would mend.
pub fn allocate(question: &Question<'_>, expressions: &mut Expressions) -> Result<Reply, AllocationError> {
    allocate_within(question, expressions, u64::MAX)
}

/// Finds devices for all claims with so much work at the most, in nominal nanoseconds: about what it takes on a machine of these
/// days, but counted, so that it is the same on every machine. Steps are no measure of time, as a step takes the longer the more
/// devices and requests there are.
///
/// # Errors
/// A claim, class or slice asks for something that cannot be judged, which no choice of devices would mend.
pub fn allocate_within(
    question: &Question<'_>,
    expressions: &mut Expressions,
    work_max: u64,
) -> Result<Reply, AllocationError> {
    let mut inquiry = Inquiry::new(question, expressions)?;
    let (_, begun) = inquiry.spent();
    inquiry.go_on(work_max.saturating_sub(begun)).unwrap_or_else(|| {
        let (steps, work) = inquiry.spent();
        Ok(Reply { answer: AllocationAnswer::BudgetSpent, steps, work })
    })
}
