//! Writes as calls of the API: what the engine wants done, one call after the other.
//!
//! Invariant: a call is a value that follows from the write and from the objects as they are. Carrying it out is left to
//! others; whoever does asks again with the object that the call gave, until there is no more to call.

use std::collections::BTreeSet;
use std::sync::Arc;

use convert::change::CLAIM_FINALIZER;
use convert::{ConvertError, DISRUPTION_TARGET, GANG_BINDING_FAILED, allocation, is_kept};
use model::claim::ClaimId;
use model::identity::ConsumerUid;
use model::pod::{PodId, Together};
use model::timestamp::Timestamp;
use objects::core::kinds::{Binding, PersistentVolume, PersistentVolumeClaim};
use objects::core::pod::Pod;
use objects::resource::allocation::{AllocationResult, ResourceClaimConsumerReference};
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::annotations::{BOUND_TOGETHER, NOT_BOUND_TOGETHER};
use objects::supercargo::noted_groups;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use objects::{Object, Time};
use scheduler::write::{Consumer, Preemptor, WaitReason, Write};
use serde_json::{Value, json};

use crate::made_claim::{Making, delete, make};
use crate::{footprint, negotiation, noted_group, volume};

/// The most users that a claim may have.
const CONSUMERS_MAX: usize = 256;

/// What a call does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    /// Makes something.
    Create,
    /// Puts an object in place of the one that is there, if nobody changed that meanwhile.
    Update,
    /// Changes an object by a strategic merge patch.
    Patch,
    /// Deletes an object, in the way and at the time that it asks for.
    Delete,
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
    /// The object's name; empty if the API is to find one.
    pub name: String,
    /// The part of it, if not the whole.
    pub subresource: Option<&'static str>,
    /// What is sent.
    pub body: Value,
}

impl ApiCall {
    /// Whether the answer is the object as it is now. Bindings and deletions are answered with something else.
    #[must_use]
    pub fn gives_object(&self) -> bool {
        self.verb != Verb::Delete && self.subresource != Some("binding")
    }
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
    /// The claim that the write names, or that it has made so far, as it is.
    pub claim: Option<&'o ResourceClaim>,
    /// The pod that the write names, as it is.
    pub pod: Option<&'o Pod>,
    /// The pods that [`users`] names, as they are.
    pub users: &'o [Arc<Pod>],
    /// The group of pods that the write names, as it is.
    pub group: Option<&'o PodGroup>,
    /// What is negotiated about the pod that the write names, as it is.
    pub context: Option<&'o PodSchedulingContext>,
    /// The volume that the write names, as it is.
    pub volume: Option<&'o PersistentVolume>,
    /// The claim for a volume that the write names, as it is.
    pub volume_claim: Option<&'o PersistentVolumeClaim>,
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
    #[error("it was deleted concurrently")]
    Deleting,
    /// Somebody else gave the claim devices.
    #[error("it was allocated for another node concurrently")]
    Allocated,
    /// The claim has no devices any more.
    #[error("it was deallocated concurrently")]
    Deallocated,
    /// Somebody else uses the claim.
    #[error("it is in use")]
    Used,
    /// What is negotiated about another pod of this name has yet to go.
    #[error("it belongs to a deleted pod of the same name")]
    AnotherPods,
    /// The claim would have more users than it may.
    #[error("it is reserved for {reserved} pods or groups; the limit is {CONSUMERS_MAX}")]
    Full {
        /// For how many it is.
        reserved: usize,
    },
    /// The pod is on another node.
    #[error("it was bound to {0} concurrently")]
    Bound(String),
    /// The volume is for another claim.
    #[error("it was bound to claim {0} concurrently")]
    Taken(String),
    /// The claim has a volume.
    #[error("it was bound to volume {0} concurrently")]
    HasVolume(String),
    /// A volume is to be provisioned for another node.
    #[error("node {0} was selected for it concurrently")]
    Selected(String),
    /// What the write was decided by has changed.
    #[error(transparent)]
    Convert(#[from] ConvertError),
}

/// What comes next for a write, given the objects as they are.
///
/// # Errors
/// The objects have changed so that it cannot be done any more.
pub fn next(write: &Write, seen: &Seen<'_>) -> Result<Next, RequestError> {
    match write {
        Write::Allocate { uid, allocation: granted, shares, consumers, .. } => {
            let mut claim = open_claim(seen, uid)?;
            let mut shares = shares.iter();
            let mut share = || shares.next().map(ToString::to_string).unwrap_or_default();
            let mut result = allocation(granted, &claim, seen.class, &mut share)?;
            if let Some(found) = &claim.status.allocation {
                // A call without an answer may have been carried out.
                let is_ours = is_kept(&result.devices, &found.devices)
                    && consumers.iter().any(|consumer| is_reserved(&claim, consumer));
                return if is_ours { reserve(claim, consumers) } else { Err(RequestError::Allocated) };
            }
            if let Some(call) = ready(&mut claim, &result) {
                return Ok(Next::Then(call));
            }
            result.allocation_timestamp = seen.allocation_times.then_some(Time(seen.now.to_seconds()));
            claim.status.allocation = Some(result);
            reserve(claim, consumers)
        }
        Write::Reserve { uid, consumers, .. } => {
            let claim = open_claim(seen, uid)?;
            if claim.status.allocation.is_none() {
                return Err(RequestError::Deallocated);
            }
            reserve(claim, consumers)
        }
        Write::Release { claim, uid, consumers, node } => {
            release(seen, (claim, uid), consumers, node.as_deref())
        }
        Write::Deallocate { uid, user, .. } => deallocate(seen, uid, user.as_deref()),
        Write::MakeClaim { pod, uid, spec, allocation: granted, shares, mappings } => {
            make(&Making { pod, uid, spec, granted, shares, mappings }, seen)
        }
        Write::DeleteClaim { uid, .. } => Ok(delete(seen, uid)),
        Write::Negotiate { pod, uid, selected, potential } => {
            negotiation::negotiate(seen, (pod, uid), selected.as_deref(), potential)
        }
        Write::EndNegotiation { uid, .. } => Ok(negotiation::end(seen, uid)),
        Write::BindVolume { uid, claim, claim_uid, .. } => volume::bind(seen, uid, (claim, claim_uid)),
        Write::SelectNode { uid, node, .. } => volume::select_node(seen, uid, node),
        Write::Bind { pod, uid, node, together } => bind(seen, (pod, uid), node, together.as_ref()),
        Write::NoteResources { uid, claims, .. } => footprint::note(seen, uid, claims),
        Write::Note { uid, reason, message, .. } => note(seen, uid, *reason, message),
        Write::Evict { uid, scheduler, by, .. } => Ok(evict(seen, uid, scheduler, *by)),
        Write::Nominate { uid, node, .. } => {
            let pod = seen.pod.filter(|pod| pod.metadata.uid == **uid).ok_or(RequestError::Gone)?;
            let node = node.as_deref();
            // A pod that is bound is nominated for no node any more.
            let is_over = node.is_some() && !pod.spec.node_name.is_empty();
            if is_over || pod.status.nominated_node_name == node.unwrap_or_default() {
                return Ok(Next::Done);
            }
            // Null takes a field away.
            let status = json!({ "nominatedNodeName": node });
            Ok(Next::Last(patch_status(pod, &status)))
        }
        Write::NoteGroup { uid, state, .. } => noted_group::note(seen, uid, state),
    }
}

/// The pods that have to be read besides the claim that a write is about: whom the claim is reserved for that is to lose its
/// devices or the reservations. Others bind pods too, and a node may use the devices before anybody who follows pods is told.
#[must_use]
pub fn users(write: &Write, claim: &ResourceClaim) -> Vec<PodId> {
    let (id, users): (_, BTreeSet<ConsumerUid>) = match write {
        Write::Deallocate { claim, user, .. } => (claim, user.iter().cloned().collect()),
        Write::Release { claim, consumers, .. } => (claim, consumers.iter().map(Consumer::user).collect()),
        _ => return Vec::new(),
    };
    let named = |one: &ResourceClaimConsumerReference| PodId {
        namespace: id.namespace.clone(),
        name: one.name.as_str().into(),
    };
    let reserved = claim.status.reserved_for.iter().filter(|one| one.resource == "pods");
    reserved.filter(|one| users.contains(&*one.uid)).map(named).collect()
}

/// What comes next to take back a write that could not be done to the end, given the claim that it has made so far.
#[must_use]
pub fn undo(write: &Write, seen: &Seen<'_>) -> Next {
    match (write, seen.claim) {
        (Write::MakeClaim { .. }, Some(claim)) => delete(seen, &claim.metadata.uid),
        _ => Next::Done,
    }
}

/// Reserves a claim for those for whom it is not yet. What others have written to it meanwhile stays.
fn reserve(mut claim: ResourceClaim, consumers: &[Consumer]) -> Result<Next, RequestError> {
    let missing: Vec<_> = consumers.iter().filter(|one| !is_reserved(&claim, one)).map(reference).collect();
    if missing.is_empty() {
        return Ok(Next::Done);
    }
    let reserved = claim.status.reserved_for.len();
    if reserved + missing.len() > CONSUMERS_MAX {
        return Err(RequestError::Full { reserved });
    }
    claim.status.reserved_for.extend(missing);
    Ok(Next::Last(update(&claim, Some("status"))))
}

/// Takes entries of one claim away, and of this version only: a call that arrives after it was given up must not take
/// reservations that were made since. Nor are they taken from a pod that somebody has put on a node meanwhile.
fn release(
    seen: &Seen<'_>,
    (id, uid): (&ClaimId, &str),
    consumers: &[Consumer],
    node: Option<&str>,
) -> Result<Next, RequestError> {
    let claim = seen.claim.ok_or(RequestError::Gone)?;
    let reserved = || consumers.iter().filter(|consumer| is_reserved(claim, consumer));
    if claim.metadata.uid != uid || reserved().next().is_none() {
        return Ok(Next::Done);
    }
    let is_elsewhere = |pod: &&Arc<Pod>| Some(pod.spec.node_name.as_str()) != node && is_at_work(pod, claim);
    let elsewhere: BTreeSet<&str> =
        seen.users.iter().filter(is_elsewhere).map(|pod| &*pod.metadata.uid).collect();
    let entries: Vec<Value> = reserved()
        .filter(|consumer| !elsewhere.contains(&*consumer.user()))
        .map(|consumer| json!({ "$patch": "delete", "uid": *consumer.user() }))
        .collect();
    if entries.is_empty() {
        return Err(RequestError::Used);
    }
    let version = &claim.metadata.resource_version;
    Ok(Next::Last(ApiCall {
        verb: Verb::Patch,
        kind: ResourceClaim::KIND,
        namespace: id.namespace.to_string(),
        name: id.name.to_string(),
        subresource: Some("status"),
        body: json!({
            "metadata": { "uid": uid, "resourceVersion": version },
            "status": { "reservedFor": entries },
        }),
    }))
}

/// Whether a pod that a claim is reserved for is on a node and may use it there. Another pod of its name may not.
fn is_at_work(pod: &Pod, claim: &ResourceClaim) -> bool {
    let is_over = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
    let is_user = || claim.status.reserved_for.iter().any(|one| one.uid == pod.metadata.uid);
    !pod.spec.node_name.is_empty() && !is_over && is_user()
}

/// The binding of a pod. Without having seen the pod it is left to the API to say that it cannot be bound.
fn bind(
    seen: &Seen<'_>,
    (pod, uid): (&PodId, &str),
    node: &str,
    together: Option<&Together>,
) -> Result<Next, RequestError> {
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
    let mut body = json!({
        "apiVersion": Binding::API_VERSION,
        "kind": Binding::KIND,
        "metadata": { "namespace": *pod.namespace, "name": *pod.name, "uid": uid },
        "target": { "apiVersion": "v1", "kind": "Node", "name": node },
    });
    if let Some(Together { youngest, left_out }) = together {
        // The API server hands annotations of a binding on to its pod.
        let annotations = &mut body["metadata"]["annotations"];
        *annotations = json!({ BOUND_TOGETHER: youngest.to_string() });
        if !left_out.is_empty() {
            annotations[NOT_BOUND_TOGETHER] = json!(left_out.join(","));
        }
    }
    Ok(Next::Last(ApiCall {
        verb: Verb::Create,
        kind: Pod::KIND,
        namespace: pod.namespace.to_string(),
        name: pod.name.to_string(),
        subresource: Some("binding"),
        body,
    }))
}

fn is_reserved(claim: &ResourceClaim, consumer: &Consumer) -> bool {
    claim.status.reserved_for.iter().any(|one| *one.uid == *consumer.user())
}

/// What a claim needs before it is given devices, if it does not have it: it is protected, and says what a server may drop
/// from its status. The status is written over this version and no other, so that it is never there without.
pub(crate) fn ready(claim: &mut ResourceClaim, result: &AllocationResult) -> Option<ApiCall> {
    let before = claim.metadata.clone();
    protect(claim);
    noted_groups::note(claim, &result.devices.results);
    (claim.metadata != before).then(|| update(claim, None))
}

/// Keeps a claim that has devices from vanishing, and says whether nothing did.
pub(crate) fn protect(claim: &mut ResourceClaim) -> bool {
    let is_bare = !is_protected(claim);
    if is_bare {
        claim.metadata.finalizers.push(CLAIM_FINALIZER.to_owned());
    }
    is_bare
}

/// Whether a scheduler keeps a claim from vanishing, as it does before it allocates it.
pub(crate) fn is_protected(claim: &ResourceClaim) -> bool {
    claim.metadata.finalizers.iter().any(|one| one == CLAIM_FINALIZER)
}

/// The claim of a write, if it can still be given something.
pub(crate) fn open_claim(seen: &Seen<'_>, uid: &str) -> Result<ResourceClaim, RequestError> {
    let claim = seen.claim.filter(|claim| claim.metadata.uid == uid).ok_or(RequestError::Gone)?;
    if claim.metadata.deletion_timestamp.is_some() {
        return Err(RequestError::Deleting);
    }
    Ok(claim.clone())
}

/// Leaves a claim without devices; what kept it from vanishing stays, and does no harm. What a driver's controller allocated is asked
/// back from it.
fn deallocate(seen: &Seen<'_>, uid: &str, user: Option<&str>) -> Result<Next, RequestError> {
    let mut claim = open_claim(seen, uid)?;
    if claim.status.allocation.is_none() {
        return Ok(Next::Done);
    }
    let is_used = claim.status.reserved_for.iter().any(|one| Some(&*one.uid) != user);
    if is_used || seen.users.iter().any(|pod| is_at_work(pod, &claim)) {
        return Err(RequestError::Used);
    }
    if negotiation::is_of_driver(seen, &claim) {
        return negotiation::ask_back(seen, uid);
    }
    claim.status.allocation = None;
    claim.status.reserved_for.clear();
    claim.status.devices.clear();
    Ok(Next::Last(update(&claim, Some("status"))))
}

pub(crate) fn reference(consumer: &Consumer) -> ResourceClaimConsumerReference {
    let (api_group, resource, name) = match &consumer.group {
        Some(group) => ("scheduling.k8s.io", "podgroups", group.name.to_string()),
        None => ("", "pods", consumer.name.to_string()),
    };
    ResourceClaimConsumerReference {
        api_group: api_group.to_owned(),
        name,
        resource: resource.to_owned(),
        uid: consumer.user().to_string(),
        ..Default::default()
    }
}

pub(crate) fn update(claim: &ResourceClaim, subresource: Option<&'static str>) -> ApiCall {
    let body = claim.write_value();
    let (namespace, name) = (&claim.metadata.namespace, &claim.metadata.name);
    call(Verb::Update, ResourceClaim::KIND, namespace, name, subresource, body)
}

pub(crate) fn call(
    verb: Verb,
    kind: &'static str,
    namespace: &str,
    name: &str,
    subresource: Option<&'static str>,
    body: Value,
) -> ApiCall {
    ApiCall { verb, kind, namespace: namespace.to_owned(), name: name.to_owned(), subresource, body }
}

/// The condition that says why a pod waits. It keeps the time at which it began to.
fn note(seen: &Seen<'_>, uid: &str, reason: WaitReason, message: &str) -> Result<Next, RequestError> {
    let pod = seen.pod.filter(|pod| pod.metadata.uid == uid).ok_or(RequestError::Gone)?;
    if !pod.spec.node_name.is_empty() {
        // It waits no more.
        return Ok(Next::Done);
    }
    let reason = reason.code();
    let known = pod.status.conditions.iter().find(|condition| condition.type_ == "PodScheduled");
    if known.is_some_and(|one| one.status == "False" && one.reason == reason && one.message == message) {
        return Ok(Next::Done);
    }
    let mut condition =
        json!({ "type": "PodScheduled", "status": "False", "reason": reason, "message": message });
    if known.is_none_or(|known| known.status != "False") {
        condition["lastTransitionTime"] = json!(seen.now.to_seconds().to_string());
    }
    let mut call = patch_status(pod, &json!({ "conditions": [condition] }));
    if !pod.metadata.resource_version.is_empty() {
        // A call that is late must not undo what the pod's binding has said since.
        call.body["metadata"]["resourceVersion"] = json!(pod.metadata.resource_version);
    }
    Ok(Next::Last(call))
}

/// Changes some of a pod's status, if it is still the same pod.
fn patch_status(pod: &Pod, status: &Value) -> ApiCall {
    ApiCall {
        verb: Verb::Patch,
        kind: Pod::KIND,
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        subresource: Some("status"),
        body: json!({ "metadata": { "uid": pod.metadata.uid }, "status": status }),
    }
}

/// First the condition that says why, so that whoever made the pod can tell, and then its deletion.
fn evict(seen: &Seen<'_>, uid: &str, scheduler: &str, by: Preemptor) -> Next {
    let is_staying = |pod: &&Pod| pod.metadata.uid == uid && pod.metadata.deletion_timestamp.is_none();
    let Some(pod) = seen.pod.filter(is_staying) else { return Next::Done };
    let (reason, message) = match by {
        Preemptor::Pod | Preemptor::Group => (
            "PreemptionByScheduler",
            format!("{scheduler}: preempting to accommodate a higher priority {}", by.name()),
        ),
        Preemptor::OwnGang => {
            (GANG_BINDING_FAILED, format!("{scheduler}: another pod of the group could not be bound"))
        }
    };
    let known = pod.status.conditions.iter().find(|condition| condition.type_ == DISRUPTION_TARGET);
    if known.is_none_or(|one| one.status != "True" || one.reason != reason || one.message != message) {
        let mut condition =
            json!({ "type": DISRUPTION_TARGET, "status": "True", "reason": reason, "message": message });
        if known.is_none_or(|known| known.status != "True") {
            condition["lastTransitionTime"] = json!(seen.now.to_seconds().to_string());
        }
        if let generation @ 1.. = pod.metadata.generation {
            condition["observedGeneration"] = json!(generation);
        }
        return Next::Then(patch_status(pod, &json!({ "conditions": [condition] })));
    }
    Next::Last(ApiCall {
        verb: Verb::Delete,
        kind: Pod::KIND,
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        subresource: None,
        body: json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": uid },
        }),
    })
}
