//! What was found out and could be found out again. A cache may be dropped at any time without changing an answer.

pub(crate) mod kinds;
pub(crate) mod put_down;
pub(crate) mod refusals;
pub(crate) mod scopes;
pub(crate) mod tiers;

use std::sync::Arc;

use allocation::Expressions;
use cluster::facts::Facts;
use model::identity::PodUid;

use crate::caches::kinds::PodKind;
use crate::caches::put_down::{Inquiries, PutDown};
use crate::caches::refusals::Refusals;
use crate::caches::scopes::Scopes;
use crate::lanes::{Lanes, OneLane};
use crate::plans::Plans;
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
    /// Searches that were put down.
    pub put_down: PutDown,
    /// What was asked for the pod about which something is being decided.
    pub inquiries: Inquiries,
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
            put_down: PutDown::default(),
            inquiries: Inquiries::default(),
            scopes: Scopes::default(),
            kinds: Vec::new(),
            refusals: Refusals::default(),
        }
    }
}

impl Caches {
    /// Takes up what was asked for a pod when its search was put down.
    pub fn take_up(&mut self, facts: &Facts, plans: &Plans, pod: &PodUid) {
        self.inquiries = self.put_down.take_up(pod);
        // With devices that failed for it, and without them, a pod asks two questions about each node.
        self.inquiries.heed(&facts.touches, plans.has_shunned(pod));
    }
}
