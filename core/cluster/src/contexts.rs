//! The object in which a negotiation about one pod is written down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::identity::{NodeName, PodUid};
use model::pod::PodId;

/// A negotiation as the API has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodContext {
    /// The pod of its name.
    pub pod: PodId,
    /// Tells it from others that had or will have its name.
    pub uid: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
    /// The uid of the pod that it is for.
    pub owner: PodUid,
    /// The node that is chosen.
    pub selected: Option<NodeName>,
    /// The nodes that would do otherwise.
    pub potential: Vec<NodeName>,
    /// The nodes that will not do, by the pod's name for the claim. A claim that is not here has no answer yet.
    pub answers: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

impl PodContext {
    /// Whether another state came after this one, of the same context or of one that took its place: a late answer may tell
    /// of one that is gone. Versions that are no numbers cannot be compared.
    #[must_use]
    pub fn is_older(&self, known: &PodContext) -> bool {
        let number = |context: &PodContext| context.version.parse::<u64>().ok();
        number(self).zip(number(known)).is_some_and(|(this, that)| this < that)
    }
}
