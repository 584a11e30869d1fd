//! Negotiations with drivers' controllers: contexts and claims as facts, and what is written to them as calls.
//!
//! Invariant: a context is written for the pod that owns it and no other of its name, and is deleted only as the one that
//! was looked at.

use std::sync::Arc;

use cluster::change::{Change, NegotiationChange};
use cluster::contexts::PodContext;
use model::claim::{ClaimControl, Control};
use model::pod::PodId;
use objects::Object;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::control;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::json;

use crate::change::Fact;
use crate::error::{ConvertError, ObjectName};
use crate::node::node_selector;
use crate::request::{ApiCall, Next, RequestError, Seen, Verb, call, open_claim, update};
use crate::text::shared;

impl Fact for PodSchedulingContext {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        let context = PodContext {
            pod: pod_of(self),
            uid: self.metadata.uid.as_str().into(),
            version: self.metadata.resource_version.as_str().into(),
            owner: owner(self).unwrap_or_default().into(),
            selected: Some(self.spec.selected_node.as_str()).filter(|node| !node.is_empty()).map(Arc::from),
            potential: shared(&self.spec.potential_nodes),
            answers: {
                let answers = self.status.resource_claims.iter();
                let nodes = |nodes: &[String]| nodes.iter().map(|node| node.as_str().into()).collect();
                answers.map(|claim| (claim.name.as_str().into(), nodes(&claim.unsuitable_nodes))).collect()
            },
        };
        Ok(Change::Negotiation(NegotiationChange::Applied(Box::new(context))))
    }

    fn gone(&self) -> Change {
        let uid = self.metadata.uid.as_str().into();
        Change::Negotiation(NegotiationChange::Gone(pod_of(self), uid))
    }
}

fn pod_of(context: &PodSchedulingContext) -> PodId {
    let metadata = &context.metadata;
    PodId { namespace: metadata.namespace.as_str().into(), name: metadata.name.as_str().into() }
}

/// The uid of the pod that a context is for.
fn owner(context: &PodSchedulingContext) -> Option<&str> {
    let mut owners = context.metadata.owner_references.iter();
    owners.find(|owner| owner.kind == Pod::KIND).map(|owner| owner.uid.as_str())
}

/// Who gives devices to claims of a class, if the scheduler does not.
///
/// # Errors
/// An annotation means nothing.
pub(crate) fn class_control(class: &DeviceClass) -> Result<Option<Arc<Control>>, ConvertError> {
    let said = control::of_class(class).map_err(|(annotation, why)| ConvertError::Annotation {
        object: ObjectName::of(class),
        annotation,
        why,
    })?;
    Ok(said.map(|said| {
        let suitable = said.suitable_nodes.as_ref().map(node_selector);
        Arc::new(Control { controller: said.controller.into(), suitable })
    }))
}

/// How a claim stands with the controller of a driver.
pub(crate) fn claim_control(claim: &ResourceClaim) -> ClaimControl {
    let controller = control::controller(claim);
    ClaimControl {
        controller: (!controller.is_empty()).then(|| controller.into()),
        immediate: control::is_immediate(claim),
        leaving: control::is_leaving(claim),
        shareable: control::is_shareable(claim),
    }
}

/// What comes next to tell where a pod may go and is to go.
pub(crate) fn negotiate(
    seen: &Seen<'_>,
    (pod, uid): (&PodId, &str),
    selected: Option<&str>,
    potential: &[Arc<str>],
) -> Result<Next, RequestError> {
    let mut context = match seen.context {
        Some(known) if owner(known) != Some(uid) => return Err(RequestError::AnotherPods),
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
    let body = serde_json::to_value(&context).expect("the keys of our wire types are texts");
    Ok(Next::Last(call(verb, PodSchedulingContext::KIND, &pod.namespace, &pod.name, None, body)))
}

/// What comes next to end the negotiation about a pod.
pub(crate) fn end(seen: &Seen<'_>, uid: &str) -> Next {
    let Some(context) = seen.context.filter(|context| owner(context) == Some(uid)) else {
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
    match control::form(&claim) {
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
