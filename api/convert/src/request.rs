//! Writes as calls of the API: what the engine wants done, one call after the other.
//!
//! Invariant: a call is a value that follows from the write and from the objects as they are. Carrying it out is left to
//! others; whoever does asks again with the object that the call gave, until there is no more to call.

use model::claim::ClaimId;
use model::pod::PodId;
use model::timestamp::Timestamp;
use objects::core::kinds::Binding;
use objects::core::pod::Pod;
use objects::resource::allocation::ResourceClaimConsumerReference;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::{Object, Time};
use scheduler::change::{Consumer, WaitReason, Write};
use serde_json::{Value, json};

use crate::allocation::allocation;
use crate::change::CLAIM_FINALIZER;
use crate::error::ConvertError;

/// What a call does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    /// Makes something.
    Create,
    /// Puts an object in place of the one that is there, if nobody changed that meanwhile.
    Update,
    /// Changes an object by a strategic merge patch.
    Patch,
}

/// One call of the API.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiCall {
    /// What it does.
    pub verb: Verb,
    /// The kind of the object that it goes to.
    pub kind: &'static str,
    /// The object's namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The part of it, if not the whole.
    pub subresource: Option<&'static str>,
    /// What is sent.
    pub body: Value,
}

/// What comes next for a write.
#[derive(Clone, PartialEq, Debug)]
pub enum Next {
    /// This, and then whatever comes next for the object that it gives.
    Then(ApiCall),
    /// This, and then it is done.
    Last(ApiCall),
    /// It is done.
    Done,
}

/// What a write is made from besides itself.
#[derive(Clone, Copy)]
pub struct Seen<'o> {
    /// The claim that the write names, as it is.
    pub claim: Option<&'o ResourceClaim>,
    /// The pod that the write names, as it is.
    pub pod: Option<&'o Pod>,
    /// Classes by name, for the configuration that allocations copy.
    pub class: &'o dyn Fn(&str) -> Option<&'o DeviceClass>,
    /// The time.
    pub now: Timestamp,
    /// Whether allocations say when they were made, as binding conditions need it.
    pub allocation_times: bool,
}

impl std::fmt::Debug for Seen<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (claim, pod) = (self.claim.map(|claim| &claim.metadata), self.pod.map(|pod| &pod.metadata));
        write!(out, "{claim:?} and {pod:?} at {}", self.now)
    }
}

/// Why a write came too late.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RequestError {
    /// The object is not there, or another has its name.
    #[error("it is gone")]
    Gone,
    /// The claim or the pod is on its way out.
    #[error("it got deleted in the meantime")]
    Deleting,
    /// Somebody else gave the claim devices.
    #[error("it got allocated elsewhere in the meantime")]
    Allocated,
    /// The claim has no devices any more.
    #[error("it got deallocated elsewhere in the meantime")]
    Deallocated,
    /// The pod is on another node.
    #[error("it got bound to {0} in the meantime")]
    Bound(String),
    /// What the write was decided by has changed.
    #[error(transparent)]
    Convert(#[from] ConvertError),
}

/// The object that a write goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject<'w> {
    /// A claim.
    Claim(&'w ClaimId),
    /// A pod.
    Pod(&'w PodId),
}

/// The object that a write goes to, which [`next`] is to be shown.
#[must_use]
pub fn subject(write: &Write) -> Subject<'_> {
    match write {
        Write::Allocate { claim, .. } | Write::Reserve { claim, .. } | Write::Release { claim, .. } => {
            Subject::Claim(claim)
        }
        Write::Bind { pod, .. } | Write::Note { pod, .. } => Subject::Pod(pod),
    }
}

/// What comes next for a write, given the objects as they are.
///
/// # Errors
/// The objects have changed so that it cannot be done any more.
pub fn next(write: &Write, seen: &Seen<'_>) -> Result<Next, RequestError> {
    match write {
        Write::Allocate { uid, allocation: granted, shares, consumer, .. } => {
            let mut claim = open_claim(seen, uid)?;
            let mut shares = shares.iter();
            let mut share = || shares.next().map(ToString::to_string).unwrap_or_default();
            let mut result = || allocation(granted, &claim, seen.class, &mut share);
            if let Some(found) = &claim.status.allocation {
                // A call without an answer may have been carried out.
                let is_ours = found.devices == result()?.devices && is_reserved(&claim, consumer);
                return if is_ours { Ok(Next::Done) } else { Err(RequestError::Allocated) };
            }
            if !claim.metadata.finalizers.iter().any(|one| one == CLAIM_FINALIZER) {
                claim.metadata.finalizers.push(CLAIM_FINALIZER.to_owned());
                return Ok(Next::Then(update(&claim, None)));
            }
            let mut result = result()?;
            result.allocation_timestamp = seen.allocation_times.then_some(Time(seen.now.to_seconds()));
            claim.status.allocation = Some(result);
            claim.status.reserved_for.push(reference(consumer));
            Ok(Next::Last(update(&claim, Some("status"))))
        }
        Write::Reserve { uid, consumer, .. } => {
            let mut claim = open_claim(seen, uid)?;
            if claim.status.allocation.is_none() {
                return Err(RequestError::Deallocated);
            }
            if is_reserved(&claim, consumer) {
                return Ok(Next::Done);
            }
            claim.status.reserved_for.push(reference(consumer));
            Ok(Next::Last(update(&claim, Some("status"))))
        }
        Write::Release { claim, uid, consumer } => Ok(release(seen, claim, uid, consumer)),
        Write::Bind { pod, uid, node } => bind(seen, pod, uid, node),
        Write::Note { uid, reason, message, .. } => note(seen, uid, *reason, message),
    }
}

/// Takes one entry of one claim away. With the claim at hand it is taken from that version only: a call that arrives after it
/// was given up must not take a reservation that was made since.
fn release(seen: &Seen<'_>, id: &ClaimId, uid: &str, consumer: &Consumer) -> Next {
    let mut metadata = json!({ "uid": uid });
    if let Some(claim) = seen.claim {
        if claim.metadata.uid != uid || !is_reserved(claim, consumer) {
            return Next::Done;
        }
        metadata["resourceVersion"] = json!(claim.metadata.resource_version);
    }
    Next::Last(ApiCall {
        verb: Verb::Patch,
        kind: ResourceClaim::KIND,
        namespace: id.namespace.to_string(),
        name: id.name.to_string(),
        subresource: Some("status"),
        body: json!({
            "metadata": metadata,
            "status": { "reservedFor": [{ "$patch": "delete", "uid": *consumer.uid }] },
        }),
    })
}

/// The binding of a pod. Without having seen the pod it is left to the API to say that it cannot be bound.
fn bind(seen: &Seen<'_>, pod: &PodId, uid: &str, node: &str) -> Result<Next, RequestError> {
    if let Some(found) = seen.pod {
        if found.metadata.uid != uid {
            return Err(RequestError::Gone);
        }
        match found.spec.node_name.as_str() {
            "" if found.metadata.deletion_timestamp.is_some() => return Err(RequestError::Deleting),
            "" => {}
            // A call without an answer may have been carried out.
            found if found == node => return Ok(Next::Done),
            found => return Err(RequestError::Bound(found.to_owned())),
        }
    }
    Ok(Next::Last(ApiCall {
        verb: Verb::Create,
        kind: Pod::KIND,
        namespace: pod.namespace.to_string(),
        name: pod.name.to_string(),
        subresource: Some("binding"),
        body: json!({
            "apiVersion": Binding::API_VERSION,
            "kind": Binding::KIND,
            "metadata": { "namespace": *pod.namespace, "name": *pod.name, "uid": uid },
            "target": { "apiVersion": "v1", "kind": "Node", "name": node },
        }),
    }))
}

fn is_reserved(claim: &ResourceClaim, consumer: &Consumer) -> bool {
    claim.status.reserved_for.iter().any(|one| *one.uid == *consumer.uid)
}

/// The claim of a write, if it can still be given something.
fn open_claim(seen: &Seen<'_>, uid: &str) -> Result<ResourceClaim, RequestError> {
    let claim = seen.claim.filter(|claim| claim.metadata.uid == uid).ok_or(RequestError::Gone)?;
    if claim.metadata.deletion_timestamp.is_some() {
        return Err(RequestError::Deleting);
    }
    Ok(claim.clone())
}

fn reference(consumer: &Consumer) -> ResourceClaimConsumerReference {
    ResourceClaimConsumerReference {
        name: consumer.name.to_string(),
        resource: "pods".to_owned(),
        uid: consumer.uid.to_string(),
        ..Default::default()
    }
}

fn update(claim: &ResourceClaim, subresource: Option<&'static str>) -> ApiCall {
    ApiCall {
        verb: Verb::Update,
        kind: ResourceClaim::KIND,
        namespace: claim.metadata.namespace.clone(),
        name: claim.metadata.name.clone(),
        subresource,
        body: serde_json::to_value(claim).expect("the keys of our wire types are texts"),
    }
}

/// The condition that says why a pod waits. It keeps the time at which it began to.
fn note(seen: &Seen<'_>, uid: &str, reason: WaitReason, message: &str) -> Result<Next, RequestError> {
    let pod = seen.pod.filter(|pod| pod.metadata.uid == uid).ok_or(RequestError::Gone)?;
    let reason = match reason {
        WaitReason::Unschedulable => "Unschedulable",
        WaitReason::SchedulerError => "SchedulerError",
    };
    let known = pod.status.conditions.iter().find(|condition| condition.type_ == "PodScheduled");
    if known.is_some_and(|one| one.status == "False" && one.reason == reason && one.message == message) {
        return Ok(Next::Done);
    }
    let mut condition =
        json!({ "type": "PodScheduled", "status": "False", "reason": reason, "message": message });
    if known.is_none_or(|known| known.status != "False") {
        condition["lastTransitionTime"] = json!(seen.now.to_seconds().to_string());
    }
    Ok(Next::Last(ApiCall {
        verb: Verb::Patch,
        kind: Pod::KIND,
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        subresource: Some("status"),
        body: json!({ "metadata": { "uid": uid }, "status": { "conditions": [condition] } }),
    }))
}
