//! Claims: made from templates, released when their users are done, deleted with what they were made for.

mod make;
mod release;

use objects::Object;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};

use crate::controller::{Controller, Look, Subject, Tools};
use crate::kinds::{Kind, Mark, kind};
use crate::world::{Change, World, name};

/// The name of the controller.
const NAME: &str = "resourceclaim-controller";

/// Makes and releases claims.
pub(crate) struct Claims;

impl Controller for Claims {
    fn name(&self) -> &'static str {
        NAME
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<Pod>(), kind::<ResourceClaim>(), kind::<ResourceClaimTemplate>()]
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(pod) = change.of::<Pod>() {
            return around_pod(pod.object(), world);
        }
        if let Some(claim) = change.of::<ResourceClaim>() {
            return around_claim(claim.object(), claim.after.is_none());
        }
        match change.of::<ResourceClaimTemplate>().and_then(|template| template.after) {
            // Pods that wait for it.
            Some(template) => {
                let pods = world.marked::<Pod>(&Mark::Template(name(template)));
                pods.map(|pod| Subject::of(&**pod)).collect()
            }
            None => Vec::new(),
        }
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        match subject.kind {
            Pod::KIND => make::look(&subject.name, world, tools),
            _ => release::look(&subject.name, world, tools),
        }
    }
}

/// A pod, and the claims that it names or that were made for it.
fn around_pod(pod: &Pod, world: &World) -> Vec<Subject> {
    let namespace = &pod.metadata.namespace;
    let named = pod.spec.resource_claims.iter().filter_map(|entry| entry.resource_claim_name.as_ref());
    let noted = pod.status.resource_claim_statuses.iter();
    let noted = noted.filter_map(|status| status.resource_claim_name.as_ref());
    let names = named.chain(noted).map(|name| (namespace.clone(), name.clone()));
    let made = world.owned::<ResourceClaim>(&pod.metadata.uid).map(|claim| name(&**claim));
    let claims = names.chain(made).filter(|claim| world.get::<ResourceClaim>(claim).is_some());
    claims.map(Subject::named::<ResourceClaim>).chain([Subject::of(pod)]).collect()
}

/// A claim, and if it is gone the pod that it was made for, which may need another.
fn around_claim(claim: &ResourceClaim, is_gone: bool) -> Vec<Subject> {
    if !is_gone {
        return vec![Subject::of(claim)];
    }
    let home = &claim.metadata.namespace;
    let owners = claim.metadata.owner_references.iter();
    owners.map(|owner| Subject::named::<Pod>((home.clone(), owner.name.clone()))).collect()
}
