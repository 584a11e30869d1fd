//! What is done to make room for a gang, or why nothing is, as it is told.

use crate::values::miss::Miss;

/// What is done to make room for a gang, or why nothing is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GangPreemption {
    /// Claims that no pod uses give their devices back.
    ClaimsGiveBack {
        /// How many.
        claims: usize,
    },
    /// The gang may not preempt.
    NotEligible,
    /// It would not help.
    Hopeless(Helpless),
    /// Pods are going already.
    Ongoing,
    /// Pods are preempted.
    Found {
        /// How many.
        victims: usize,
    },
}

/// Why preemption would not help a gang.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Helpless {
    /// There is no pod that could go.
    NoVictims,
    /// It would not be enough.
    Lacks(Box<Miss>),
    /// The search for pods to preempt reached its limit.
    LimitReached,
}
