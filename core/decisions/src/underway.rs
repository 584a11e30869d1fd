//! What is being written, as far as it counts in a decision.

use std::sync::Arc;

use model::claim::ClaimId;
use model::pod::Pod;

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
