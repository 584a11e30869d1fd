//! What is known of a cluster by the one who asks, and which names of it they are told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::facts::Facts;
use model::claim::ClaimId;
use model::claim_use::ClaimUse;

/// A cluster as it was observed.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'o> {
    /// The facts.
    pub facts: &'o Facts,
    /// The users and devices of each claim.
    pub uses: &'o BTreeMap<ClaimId, ClaimUse>,
    /// The namespaces whose claims are among the facts. A device that no claim of these holds may be held by another.
    pub claims: &'o Namespaces,
    /// The namespaces of which claims and pods are named. Of others is told only that a device is in use.
    pub named: &'o Namespaces,
}

/// Some namespaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Namespaces {
    /// All of them.
    All,
    /// These.
    Only(BTreeSet<Arc<str>>),
}

impl Namespaces {
    /// Whether a namespace is among them.
    #[must_use]
    pub fn contains(&self, namespace: &str) -> bool {
        match self {
            Namespaces::All => true,
            Namespaces::Only(names) => names.contains(namespace),
        }
    }
}
