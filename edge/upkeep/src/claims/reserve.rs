//! Claims of pods that were bound by hand: reserved, and their node told to drivers' controllers.
//!
//! Invariant: every write names the version that it was made from, so that a scheduler that does the same at the same time
//! is not overwritten.

use std::sync::Arc;

use controllers::claim_reservations::{Around, Negotiation, Reservations, negotiation, reservations};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::control;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;

use crate::controller::{Done, Look, Tools, Undone, done};
use crate::kinds::resource;
use crate::world::{World, name};

/// Whether there may be something to do for a pod.
pub(super) fn may_concern(pod: &Pod) -> bool {
    !pod.spec.node_name.is_empty() && !pod.spec.resource_claims.is_empty()
}

pub(super) fn look(pod: &Arc<Pod>, world: &World, tools: &Tools) -> Look {
    if !may_concern(pod) {
        return Look::NOTHING;
    }
    let here = |name: &str| (pod.metadata.namespace.clone(), name.to_owned());
    let class = |name: &str| world.get::<DeviceClass>(&(String::new(), name.to_owned()));
    let needs = reservations(
        pod,
        &Around {
            claim: &|name| world.get::<ResourceClaim>(&here(name)).map(Arc::as_ref),
            group: &|name| world.get::<PodGroup>(&here(name)).map(Arc::as_ref),
            is_controlled: &|name| class(name).is_some_and(|class| control::is_controlled(class)),
            gates: tools.gates,
        },
    );
    let context = if needs.negotiate && world.serves::<PodSchedulingContext>() {
        negotiation(pod, world.get::<PodSchedulingContext>(&name(&**pod)).map(Arc::as_ref))
    } else {
        Negotiation::Leave
    };
    // One that belongs to another pod of this name wakes us when it goes.
    let waits = matches!(context, Negotiation::Leave | Negotiation::Wait);
    if needs.reserve.is_empty() && needs.full.is_empty() && waits {
        return Look::NOTHING;
    }
    Look::work(reserve(tools.clone(), pod.clone(), needs, context))
}

async fn reserve(
    tools: Tools,
    pod: Arc<Pod>,
    needs: Reservations,
    context: Negotiation,
) -> Result<Done, Undone> {
    let mut reserved = Done::default();
    let namespace = &pod.metadata.namespace;
    for name in &needs.full {
        let note = format!("claim {name} has as many users as a claim can have; hint: make another claim");
        tools.warn(&*pod, super::NAME, "FailedResourceClaimReservation", note);
    }
    let claims = resource::<ResourceClaim>(namespace);
    for claim in &needs.reserve {
        match done(tools.connection.update_status(&claims, claim).await) {
            Ok(claim) => reserved.learn(claim),
            Err(undone) => reserved.trouble = Some(undone),
        }
    }
    let contexts = resource::<PodSchedulingContext>(namespace);
    let answer = match &context {
        Negotiation::Make(context) => tools.connection.create(&contexts, context).await,
        Negotiation::Correct(context) => tools.connection.update(&contexts, context).await,
        Negotiation::Leave | Negotiation::Wait => return Ok(reserved),
    };
    reserved.learn(done(answer)?);
    Ok(reserved)
}
