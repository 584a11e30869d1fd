//! What keeps a claim from being made for the resources that a pod asks for by name.

use model::pod::Pod;

use crate::cycle::Cycle;
use crate::values::in_the_way::{InTheWay, Remedy};
use crate::values::reason::ClaimReason;

impl Cycle<'_> {
    /// What keeps a claim from being made for a pod, and what can be done about it.
    pub(crate) fn cannot_make(&self, pod: &Pod) -> Option<(ClaimReason, Option<InTheWay>)> {
        if let Some(claim) = self.facts.made.get(&pod.uid) {
            let known = self.facts.claims.get(claim)?;
            let delete = InTheWay { claim: claim.clone(), uid: known.uid.clone(), remedy: Remedy::Delete };
            let is_leaving = known.deleting || self.underway.is_given_up(claim);
            return Some((ClaimReason::ExtendedLeft(claim.clone()), (!is_leaving).then_some(delete)));
        }
        let is_coming = self.facts.claims.unmade(&pod.uid).is_some();
        is_coming.then_some((ClaimReason::ExtendedBeingMade, None))
    }
}
