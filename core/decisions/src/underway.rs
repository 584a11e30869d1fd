//! What is being written, as far as it counts in a decision.

use std::sync::Arc;

use model::claim::ClaimId;
use model::identity::PodUid;
use model::pod::Pod;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is being written, as far as it counts in a decision.
pub trait Underway: Sync {
    /// Whether a pod is on its way to a node, or is being taken back from there.
    fn is_on_its_way(&self, pod: &str) -> bool;

    /// Whether a pod on its way is about to use a claim, besides this one.
    fn is_being_reserved(&self, claim: &ClaimId, besides: Option<&str>) -> bool;

    /// The pods on their way that are about to use a claim.
    fn reserving(&self, claim: &ClaimId) -> Vec<Arc<Pod>>;

    /// Whether a claim is about to lose its devices, or to go.
    fn is_given_up(&self, claim: &ClaimId) -> bool;

    /// What ties a pod on its way to its node.
    fn tie(&self, pod: &str) -> Tie;
}

/// What ties a pod to the node that it is on its way to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tie {
    /// Nothing: another node would do.
    None,
    /// It waited there for its devices, and that node is tried first when it fails.
    Readied,
    /// It was bound to the node before its claims had devices.
    Bound,
}

/// What is being written at a moment.
#[derive(Clone, Debug, Default)]
pub struct Frozen {
    /// Pods on their way, by uid.
    pub ties: FxHashMap<PodUid, Tie>,
    /// Claims that pods are about to use, with these.
    pub reserved: FxHashMap<ClaimId, Vec<PodUid>>,
    /// The same, but for pods that were taken back while that is being written.
    pub reserving: FxHashMap<ClaimId, Vec<Arc<Pod>>>,
    /// Claims that are about to lose their devices, or to go.
    pub given_up: FxHashSet<ClaimId>,
}

impl Underway for Frozen {
    fn is_on_its_way(&self, pod: &str) -> bool {
        self.ties.contains_key(pod)
    }

    fn is_being_reserved(&self, claim: &ClaimId, besides: Option<&str>) -> bool {
        let users = self.reserved.get(claim).into_iter().flatten();
        users.into_iter().any(|user| besides != Some(&**user))
    }

    fn reserving(&self, claim: &ClaimId) -> Vec<Arc<Pod>> {
        self.reserving.get(claim).cloned().unwrap_or_default()
    }

    fn is_given_up(&self, claim: &ClaimId) -> bool {
        self.given_up.contains(claim)
    }

    fn tie(&self, pod: &str) -> Tie {
        self.ties.get(pod).copied().unwrap_or(Tie::None)
    }
}
