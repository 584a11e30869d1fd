//! What a pod's devices take of its node, as it is noted on the pod.

use std::sync::Arc;

use objects::core::pod::{
    NodeAllocatableMappedResources, NodeAllocatableOverheadResources, NodeAllocatableResourceClaimStatus, Pod,
};
use objects::{Object, Quantity};
use scheduler::write::ClaimFootprint;
use serde_json::{Value, json};

use crate::request::{Next, RequestError, Seen, Verb, call};

/// The call that notes it, unless it stands there already.
pub(crate) fn note(seen: &Seen<'_>, uid: &str, claims: &[ClaimFootprint]) -> Result<Next, RequestError> {
    let pod = seen.pod.filter(|pod| pod.metadata.uid == uid).ok_or(RequestError::Gone)?;
    let statuses: Vec<_> = claims.iter().map(status).collect();
    if pod.status.node_allocatable_resource_claim_statuses == statuses {
        return Ok(Next::Done);
    }
    // What an earlier attempt noted must not stay, whatever its claims are called.
    let mut list = vec![json!({ "$patch": "replace" })];
    list.extend(statuses.iter().map(value));
    let body = json!({
        "metadata": { "uid": uid },
        "status": { "nodeAllocatableResourceClaimStatuses": list },
    });
    let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
    Ok(Next::Last(call(Verb::Patch, Pod::KIND, namespace, name, Some("status"), body)))
}

fn status(footprint: &ClaimFootprint) -> NodeAllocatableResourceClaimStatus {
    let mapping = footprint.mapping.iter().map(|(name, amount)| NodeAllocatableMappedResources {
        name: name.to_string(),
        quantity: Some(Quantity(amount.clone())),
        ..Default::default()
    });
    let amount = |amount: &Option<model::quantity::Quantity>| amount.clone().map(Quantity);
    let overhead = footprint.overhead.iter();
    let overhead =
        overhead.map(|(name, (per_pod, per_container)): (&Arc<str>, _)| NodeAllocatableOverheadResources {
            name: name.to_string(),
            per_pod: amount(per_pod),
            per_container: amount(per_container),
            ..Default::default()
        });
    NodeAllocatableResourceClaimStatus {
        resource_claim_name: footprint.claim.to_string(),
        containers: footprint.containers.iter().map(ToString::to_string).collect(),
        mapping: mapping.collect(),
        overhead: overhead.collect(),
        ..Default::default()
    }
}

fn value(status: &NodeAllocatableResourceClaimStatus) -> Value {
    serde_json::to_value(status).expect("the keys of our wire types are texts")
}
