//! A claim is reserved only while it is allocated, for not too many consumers, all of which exist.

use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;

use crate::evidence::Evidence;
use crate::names::ClaimName;
use crate::violation::Violation;

/// The most consumers that a claim can have.
const CONSUMERS_MAX: usize = 256;

/// Reservations that should not be. Without pods nobody can say who is gone.
pub(crate) fn of_state(evidence: &Evidence<'_>, pods: Option<&[Pod]>) -> Vec<Violation> {
    evidence.claims.iter().flat_map(|claim| of_claim(claim, pods)).collect()
}

fn of_claim(claim: &ResourceClaim, pods: Option<&[Pod]>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let name = ClaimName::of(claim);
    let consumers = &claim.status.reserved_for;
    let found = consumers.len();
    if found > 0 && claim.status.allocation.is_none() {
        violations.push(Violation::ReservedUnallocated { claim: name.clone(), consumers: found });
    }
    if found > CONSUMERS_MAX {
        violations.push(Violation::TooManyConsumers { claim: name.clone(), found, max: CONSUMERS_MAX });
    }
    let Some(pods) = pods else { return violations };
    for consumer in consumers.iter().filter(|one| one.api_group.is_empty() && one.resource == "pods") {
        let is_consumer = |pod: &Pod| {
            // A new pod with an old name is another pod.
            let metadata = &pod.metadata;
            metadata.uid == consumer.uid
                && metadata.name == consumer.name
                && metadata.namespace == name.namespace
        };
        if !pods.iter().any(is_consumer) {
            violations.push(Violation::ReservedForGone {
                claim: name.clone(),
                pod: consumer.name.clone(),
                uid: consumer.uid.clone(),
            });
        }
    }
    violations
}
