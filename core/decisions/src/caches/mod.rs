//! What was found out and could be found out again. A cache may be dropped at any time without changing an answer.

pub(crate) mod kinds;
pub(crate) mod learned;
pub(crate) mod refusals;
pub(crate) mod scopes;
pub(crate) mod tiers;

use std::sync::Arc;

use allocation::Expressions;

use crate::caches::kinds::PodKind;
use crate::caches::refusals::Refusals;
use crate::caches::scopes::Scopes;
use crate::lanes::{Lanes, OneLane};
use crate::values::work::Work;

/// What was found out and could be found out again.
#[derive(Debug)]
pub struct Caches {
    /// Where things are found out that do not depend on each other.
    pub lanes: Arc<dyn Lanes>,
    /// Expressions that were parsed, and what they said of devices.
    pub expressions: Expressions,
    /// How much may still be done for what is being decided.
    pub work: Work,
    /// What claims could get.
    pub scopes: Scopes,
    /// Answers about nodes for kinds of pods, the youngest last.
    pub(crate) kinds: Vec<PodKind>,
    /// Why pods have no node.
    pub(crate) refusals: Refusals,
}

impl Default for Caches {
    fn default() -> Caches {
        Caches {
            lanes: Arc::new(OneLane),
            expressions: Expressions::default(),
            work: Work::default(),
            scopes: Scopes::default(),
            kinds: Vec::new(),
            refusals: Refusals::default(),
        }
    }
}
