//! What asks for devices: a claim, or the extended resources of a pod, for which a claim is made only once it has devices.

use std::fmt;
use std::sync::Arc;

use model::claim::{Claim, ClaimId, ClaimSpec};

/// What asks for devices.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Asker {
    /// A claim.
    Claim(ClaimId),
    /// The claim for a pod's extended resources, which is not made yet and has no name.
    ExtendedResources,
}

impl Asker {
    /// The same with what it asks for.
    #[must_use]
    pub fn asking<'q>(&'q self, spec: &'q ClaimSpec) -> Asked<'q> {
        match self {
            Asker::Claim(id) => Asked::Claim(id, spec),
            Asker::ExtendedResources => Asked::ExtendedResources(spec),
        }
    }

    /// The namespace that it is known to be in.
    #[must_use]
    pub fn namespace(&self) -> Option<&Arc<str>> {
        match self {
            Asker::Claim(id) => Some(&id.namespace),
            Asker::ExtendedResources => None,
        }
    }

    /// The claim, if it has been made.
    pub fn claim_mut(&mut self) -> Option<&mut ClaimId> {
        match self {
            Asker::Claim(id) => Some(id),
            Asker::ExtendedResources => None,
        }
    }
}

impl fmt::Display for Asker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Asker::Claim(id) => write!(out, "claim {id}"),
            Asker::ExtendedResources => write!(out, "a claim"),
        }
    }
}

/// What devices are asked for, and by what.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'q> {
    /// By a claim.
    Claim(&'q ClaimId, &'q ClaimSpec),
    /// By the claim for a pod's extended resources, which is not made yet.
    ExtendedResources(&'q ClaimSpec),
}

impl<'q> Asked<'q> {
    pub(crate) fn spec(self) -> &'q ClaimSpec {
        match self {
            Asked::Claim(_, spec) | Asked::ExtendedResources(spec) => spec,
        }
    }

    pub(crate) fn asker(self) -> Asker {
        match self {
            Asked::Claim(id, _) => Asker::Claim(id.clone()),
            Asked::ExtendedResources(_) => Asker::ExtendedResources,
        }
    }
}

impl<'q> From<&'q Claim> for Asked<'q> {
    fn from(claim: &'q Claim) -> Asked<'q> {
        Asked::Claim(&claim.id, &claim.spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AllocationError;

    #[test]
    fn a_claim_that_is_not_made_yet_has_no_name() {
        let id = ClaimId { namespace: "ns".into(), name: "c".into() };
        let said = |claim| AllocationError::ClassUnnamed { claim, request: "r".into() }.to_string();
        assert_eq!(said(Asker::Claim(id)), "claim ns/c, request r: it has no deviceClassName");
        assert_eq!(said(Asker::ExtendedResources), "a claim, request r: it has no deviceClassName");
    }
}
