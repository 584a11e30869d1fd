//! What a pod waits for of drivers' controllers.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::identity::NodeName;

/// What is awaited of a driver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Await {
    /// It is to say which nodes will not do.
    Information,
    /// It is to give devices for the node that is chosen.
    Allocation,
}

impl Await {
    /// In a word, as metrics have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Await::Information => "information",
            Await::Allocation => "allocation",
        }
    }
}

/// What a pod waits for, and of which drivers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// What is awaited.
    pub what: Await,
    /// The node that is chosen.
    pub node: Option<NodeName>,
    /// The claims, and the driver of each.
    pub claims: Vec<(Arc<str>, Arc<str>)>,
}

impl Wait {
    /// The drivers, each once.
    #[must_use]
    pub fn drivers(&self) -> BTreeSet<Arc<str>> {
        self.claims.iter().map(|(_, driver)| driver.clone()).collect()
    }
}
