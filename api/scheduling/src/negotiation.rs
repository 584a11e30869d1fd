//! Negotiations with drivers' controllers: what is written to contexts and claims, as calls.
//!
//! Invariant: a context is written for the pod that owns it and no other of its name, and is deleted only as the one that
//! was looked at.

use convert::context_owner;
use model::identity::NodeName;
use model::pod::PodId;
use objects::Object;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::control;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::json;

use crate::request::{ApiCall, Next, RequestError, Seen, Verb, call, is_protected, open_claim, update};

/// What comes next to tell where a pod may go and is to go.
pub(crate) fn negotiate(
    seen: &Seen<'_>,
    (pod, uid): (&PodId, &str),
    selected: Option<&str>,
    potential: &[NodeName],
) -> Result<Next, RequestError> {
    let mut context = match seen.context {
        Some(known) if context_owner(known) != Some(uid) => return Err(RequestError::AnotherPods),
        Some(known) if known.metadata.deletion_timestamp.is_some() => return Err(RequestError::Deleting),
        Some(known) => known.clone(),
        None => PodSchedulingContext::owned_by(&pod.namespace, &pod.name, uid),
    };
    let (before, is_new) = (context.spec.clone(), seen.context.is_none());
    context.spec.selected_node = selected.unwrap_or_default().to_owned();
    context.spec.potential_nodes = potential.iter().map(ToString::to_string).collect();
    if !is_new && before == context.spec {
        return Ok(Next::Done);
    }
    let verb = if is_new { Verb::Create } else { Verb::Update };
    let body = context.write_value();
    Ok(Next::Last(call(verb, PodSchedulingContext::KIND, &pod.namespace, &pod.name, None, body)))
}

/// What comes next to end the negotiation about a pod.
pub(crate) fn end(seen: &Seen<'_>, uid: &str) -> Next {
    let Some(context) = seen.context.filter(|context| context_owner(context) == Some(uid)) else {
        return Next::Done;
    };
    let metadata = &context.metadata;
    Next::Last(ApiCall {
        verb: Verb::Delete,
        kind: PodSchedulingContext::KIND,
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        subresource: None,
        body: json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": metadata.uid },
        }),
    })
}

/// What comes next to ask a controller for the devices of a claim, which it gave.
pub(crate) fn ask_back(seen: &Seen<'_>, uid: &str) -> Result<Next, RequestError> {
    let mut claim = open_claim(seen, uid)?;
    let is_leaving = control::is_leaving(&claim);
    if is_leaving && claim.status.reserved_for.is_empty() {
        return Ok(Next::Done);
    }
    match form(seen, &claim) {
        control::Form::Fields => claim.status.deallocation_requested = true,
        control::Form::Annotations if !is_leaving => {
            control::note_leaving(&mut claim);
            let call = update(&claim, None);
            let is_last = claim.status.reserved_for.is_empty();
            return Ok(if is_last { Next::Last(call) } else { Next::Then(call) });
        }
        control::Form::Annotations => {}
    }
    claim.status.reserved_for.clear();
    Ok(Next::Last(update(&claim, Some("status"))))
}

/// Whether a driver's controller allocated a claim, even if the name of the controller was lost: no scheduler allocates a claim that is
/// not protected.
pub(crate) fn is_of_driver(seen: &Seen<'_>, claim: &ResourceClaim) -> bool {
    !control::controller(claim).is_empty()
        || (!is_protected(claim) && classes_of(seen, claim).any(control::is_controlled))
}

/// How a claim is asked back. Where the name of the controller was lost, its class says which form the server keeps.
fn form(seen: &Seen<'_>, claim: &ResourceClaim) -> control::Form {
    if !control::controller(claim).is_empty() {
        return control::form(claim);
    }
    let named = classes_of(seen, claim).find_map(|class| control::of_class(class).ok().flatten());
    named.map_or_else(|| control::form(claim), |named| named.form)
}

/// The classes that a claim asks for devices of. A controller allocates only what is asked for without alternatives.
fn classes_of<'o>(seen: &Seen<'o>, claim: &ResourceClaim) -> impl Iterator<Item = &'o DeviceClass> {
    let requests = claim.spec.devices.requests.iter();
    requests.filter_map(|request| (seen.class)(&request.exactly.as_ref()?.device_class_name))
}
