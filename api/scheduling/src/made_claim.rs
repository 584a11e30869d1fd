//! Claims that are made for resources which a pod asks for by name, as calls of the API.
//!
//! Invariant: what comes next follows from the claim and the pod as they are, so that a call that is repeated does no harm.
//! A claim gets no devices before it is protected, and the pod names it only when it has them.

use convert::allocation;
use convert::change::{CLAIM_FINALIZER, EXTENDED_ANNOTATION};
use model::allocation::Allocation;
use model::claim::{Amount, Ask, ClaimSpec, Request, Wish};
use model::pod::PodId;
use objects::core::pod::{ContainerExtendedResourceRequest, Pod, PodExtendedResourceClaimStatus};
use objects::resource::claim::ResourceClaim;
use objects::{Object, Time};
use scheduler::write::{Consumer, RequestMapping};
use serde_json::{Value, json};

use crate::request::{
    ApiCall, Next, RequestError, Seen, Verb, call, open_claim, protect, ready, reference, update,
};

/// What is to be made.
pub(crate) struct Making<'w> {
    pub pod: &'w PodId,
    pub uid: &'w str,
    pub spec: &'w ClaimSpec,
    pub granted: &'w Allocation,
    pub shares: &'w [std::sync::Arc<str>],
    pub mappings: &'w [RequestMapping],
}

/// What comes next for a claim that is to be made.
pub(crate) fn make(making: &Making<'_>, seen: &Seen<'_>) -> Result<Next, RequestError> {
    let pod = seen.pod.filter(|pod| *pod.metadata.uid == *making.uid).ok_or(RequestError::Gone)?;
    let Some(known) = seen.claim else { return Ok(Next::Then(create(making))) };
    let mut claim = open_claim(seen, &known.metadata.uid)?;
    if claim.status.allocation.is_none() {
        let mut shares = making.shares.iter();
        let mut share = || shares.next().map(ToString::to_string).unwrap_or_default();
        let mut result = allocation(making.granted, &claim, seen.class, &mut share)?;
        if let Some(call) = ready(&mut claim, &result) {
            return Ok(Next::Then(call));
        }
        result.allocation_timestamp = seen.allocation_times.then_some(Time(seen.now.to_seconds()));
        claim.status.allocation = Some(result);
        let consumer = Consumer { name: making.pod.name.clone(), uid: making.uid.into(), group: None };
        claim.status.reserved_for.push(reference(&consumer));
        return Ok(Next::Then(update(&claim, Some("status"))));
    }
    if protect(&mut claim) {
        return Ok(Next::Then(update(&claim, None)));
    }
    let status = PodExtendedResourceClaimStatus {
        request_mappings: making.mappings.iter().map(mapping).collect(),
        resource_claim_name: claim.metadata.name.clone(),
        ..Default::default()
    };
    if pod.status.extended_resource_claim_status.as_ref() == Some(&status) {
        return Ok(Next::Done);
    }
    let body = json!({
        "metadata": { "uid": *making.uid },
        "status": { "extendedResourceClaimStatus": value(&status) },
    });
    let (namespace, name) = (&*making.pod.namespace, &*making.pod.name);
    Ok(Next::Last(call(Verb::Patch, Pod::KIND, namespace, name, Some("status"), body)))
}

/// What comes next for a claim that is to be deleted, whatever it has.
pub(crate) fn delete(seen: &Seen<'_>, uid: &str) -> Next {
    let Some(claim) = seen.claim.filter(|claim| claim.metadata.uid == uid) else { return Next::Done };
    let meta = &claim.metadata;
    if meta.finalizers.iter().any(|one| one == CLAIM_FINALIZER) {
        let mut claim = claim.clone();
        claim.metadata.finalizers.retain(|one| one != CLAIM_FINALIZER);
        return Next::Then(update(&claim, None));
    }
    if meta.deletion_timestamp.is_some() {
        return Next::Done;
    }
    let body = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": uid } });
    Next::Last(call(Verb::Delete, ResourceClaim::KIND, &meta.namespace, &meta.name, None, body))
}

fn create(making: &Making<'_>) -> ApiCall {
    let PodId { namespace, name } = making.pod;
    let owner =
        json!({ "apiVersion": "v1", "kind": "Pod", "name": **name, "uid": *making.uid, "controller": true });
    let body = json!({
        "apiVersion": ResourceClaim::API_VERSION,
        "kind": ResourceClaim::KIND,
        "metadata": {
            "namespace": **namespace,
            "generateName": format!("{name}-extended-resources-"),
            "annotations": { EXTENDED_ANNOTATION: "true" },
            "ownerReferences": [owner],
        },
        "spec": { "devices": { "requests": making.spec.requests.iter().map(request).collect::<Vec<_>>() } },
    });
    call(Verb::Create, ResourceClaim::KIND, namespace, "", None, body)
}

/// A request as it is written. Those for resources by name want a number of devices of a class.
fn request(request: &Request) -> Value {
    let ask = |ask: &Ask| {
        let count = match &ask.amount {
            Amount::Exactly(count) => *count,
            Amount::All | Amount::Unknown(_) => 1,
        };
        json!({ "deviceClassName": *ask.class, "allocationMode": "ExactCount", "count": count })
    };
    match &request.wish {
        Wish::Exactly(exact) => json!({ "name": *request.name, "exactly": ask(exact) }),
        Wish::FirstAvailable(_) => json!({ "name": *request.name }),
    }
}

fn mapping(mapping: &RequestMapping) -> ContainerExtendedResourceRequest {
    ContainerExtendedResourceRequest {
        container_name: mapping.container.to_string(),
        resource_name: mapping.resource.to_string(),
        request_name: mapping.request.to_string(),
        ..Default::default()
    }
}

fn value(status: &PodExtendedResourceClaimStatus) -> Value {
    serde_json::to_value(status).expect("the keys of our wire types are texts")
}
