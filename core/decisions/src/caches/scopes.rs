//! What requests for devices could get, by class and by their own selectors.
//!
//! Bound: beyond [`KEPT_MAX`] kinds of requests all are forgotten and found out again.

use std::collections::BTreeMap;
use std::sync::Arc;

/// How many kinds of requests are kept; beyond that all are forgotten.
const KEPT_MAX: usize = 10_000;

/// A selector, unless it is one that cannot be read.
pub(crate) type Selector = Option<Arc<str>>;

/// What requests could get, by class and by their own selectors.
#[derive(Debug, Default)]
pub struct Scopes {
    known: BTreeMap<Arc<str>, Vec<(Vec<Selector>, Scope)>>,
    kept: usize,
}

/// What a request could get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Scope {
    /// Devices of a pool that several nodes reach.
    pub(crate) shared: bool,
    /// Devices that take of what their node has.
    pub(crate) takes_of_node: bool,
}

impl Scopes {
    /// Slices or classes are others now.
    pub fn forget(&mut self) {
        *self = Scopes::default();
    }

    pub(crate) fn get(&self, class: &str, selectors: &[Selector]) -> Option<Scope> {
        let known = self.known.get(class)?.iter().find(|(known, _)| *known == selectors)?;
        Some(known.1)
    }

    pub(crate) fn insert(&mut self, class: &Arc<str>, selectors: &[Selector], scope: Scope) {
        if self.kept >= KEPT_MAX {
            self.forget();
        }
        self.kept += 1;
        self.known.entry(class.clone()).or_default().push((selectors.to_vec(), scope));
    }
}
