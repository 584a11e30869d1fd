//! Negotiations with drivers' controllers: contexts as facts, and what claims and classes say about them.

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

use crate::change::Fact;
use crate::error::{ConvertError, ObjectName};
use crate::node::node_selector;

impl Fact for PodSchedulingContext {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        let context = PodContext {
            pod: pod_of(self),
            uid: self.metadata.uid.as_str().into(),
            version: self.metadata.resource_version.as_str().into(),
            owner: owner(self).unwrap_or_default().into(),
            selected: Some(self.spec.selected_node.as_str()).filter(|node| !node.is_empty()).map(Into::into),
            potential: self.spec.potential_nodes.iter().map(|node| node.as_str().into()).collect(),
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
#[must_use]
pub fn owner(context: &PodSchedulingContext) -> Option<&str> {
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
