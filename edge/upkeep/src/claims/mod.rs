//! Claims: made from templates, reserved for pods that were bound by hand, released when their users are done, deleted with
//! what they were made for.

mod make;
mod release;
mod reserve;

use controllers::claim_templates::ENTRY;
use controllers::claimants::{Claimant, claim_names};
use controllers::claims::EXTENDED;
use objects::Object;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::resource::class::DeviceClass;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;

use crate::controller::{Controller, Look, Subject, Tools};
use crate::kinds::{Followed, Kind, Mark, kind};
use crate::notice::{ClaimSource, ClaimState, Listener, Notice};
use crate::world::{Change, World, name};

/// The name of the controller.
const NAME: &str = "resourceclaim-controller";

/// Makes, reserves and releases claims.
pub(crate) struct Claims;

impl Controller for Claims {
    fn name(&self) -> &'static str {
        NAME
    }

    fn queue(&self) -> &'static str {
        "resource_claim"
    }

    fn count(&self, change: &Change, listener: &dyn Listener) {
        let Some(claim) = change.of::<ResourceClaim>() else { return };
        let (before, after) = (claim.before.map(state), claim.after.map(state));
        if before != after {
            listener.hear(&Notice::ClaimCounted { before, after });
        }
    }

    fn follows(&self) -> Vec<Kind> {
        vec![
            kind::<Pod>(),
            kind::<PodGroup>(),
            kind::<ResourceClaim>(),
            kind::<ResourceClaimTemplate>(),
            kind::<DeviceClass>(),
            kind::<PodSchedulingContext>(),
        ]
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(pod) = change.of::<Pod>() {
            return with_claims(pod.object(), world);
        }
        if let Some(claim) = change.of::<ResourceClaim>() {
            return around_claim(claim.object(), world);
        }
        if let Some(group) = change.of::<PodGroup>() {
            let members = subjects::<Pod>(world, &Mark::Group(name(group.object())));
            return members.chain(with_claims(group.object(), world)).collect();
        }
        if let Some(template) = change.of::<ResourceClaimTemplate>() {
            let mark = Mark::Template(name(template.object()));
            return subjects::<Pod>(world, &mark).chain(subjects::<PodGroup>(world, &mark)).collect();
        }
        if let Some(context) = change.of::<PodSchedulingContext>() {
            return vec![Subject::named::<Pod>(name(context.object()))];
        }
        // Whether a driver's controller gives its devices is asked only of pods that were bound by hand.
        let classes = change.of::<DeviceClass>().and_then(|class| class.after);
        let is_controlled = classes.is_some_and(|class| !class.spec.controller_name.is_empty());
        let pods = world.all::<Pod>().filter(|pod| is_controlled && reserve::may_concern(pod));
        pods.map(|pod| Subject::of(&**pod)).collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        match subject.kind {
            Pod::KIND => {
                let Some(pod) = world.get::<Pod>(&subject.name) else { return Look::NOTHING };
                let look = make::look_at_pod(pod, world, tools);
                if look.work.is_some() { look } else { reserve::look(pod, world, tools) }
            }
            PodGroup::KIND => match world.get::<PodGroup>(&subject.name) {
                Some(group) => make::look_at_group(group, world, tools),
                None => Look::NOTHING,
            },
            _ => release::look(&subject.name, world, tools),
        }
    }
}

/// A claimant, and the claims that it names or that were made for it.
fn with_claims<T: Claimant + Followed>(claimant: &T, world: &World) -> Vec<Subject> {
    let namespace = &claimant.metadata().namespace;
    let named = claim_names(claimant).map(|name| (namespace.clone(), name.to_owned()));
    let made = world.owned::<ResourceClaim>(&claimant.metadata().uid).map(|claim| name(&**claim));
    let claims = named.chain(made).filter(|claim| world.get::<ResourceClaim>(claim).is_some());
    claims.map(Subject::named::<ResourceClaim>).chain([Subject::of(claimant)]).collect()
}

/// A claim, those who name it, and those whom it was made for: they may have to note it, or need another.
fn around_claim(claim: &ResourceClaim, world: &World) -> Vec<Subject> {
    let home = &claim.metadata.namespace;
    let mark = Mark::Claim(name(claim));
    let mut around: Vec<Subject> =
        subjects::<Pod>(world, &mark).chain(subjects::<PodGroup>(world, &mark)).collect();
    for owner in &claim.metadata.owner_references {
        let name = (home.clone(), owner.name.clone());
        match owner.kind.as_str() {
            Pod::KIND => around.push(Subject::named::<Pod>(name)),
            PodGroup::KIND => {
                around.extend(subjects::<Pod>(world, &Mark::Group(name.clone())));
                around.push(Subject::named::<PodGroup>(name));
            }
            _ => {}
        }
    }
    around.push(Subject::of(claim));
    around
}

fn subjects<'a, K: Followed>(world: &'a World, mark: &Mark) -> impl Iterator<Item = Subject> + use<'a, K> {
    world.marked::<K>(mark).map(|object| Subject::of(&**object))
}

/// Tells that a claim was made, or was not.
fn made(claim: &ResourceClaim, is_made: bool) -> Notice<'_> {
    let owner = claim.metadata.owner_references.iter().find(|owner| owner.controller == Some(true));
    let (api_version, kind) = owner.map_or(("", ""), |owner| (&owner.api_version, &owner.kind));
    let owner_group = api_version.split_once('/').map_or("", |(group, _)| group);
    Notice::ClaimMade { is_made, admin_access: has_admin_access(claim), owner_group, owner_kind: kind }
}

/// What is counted of a claim.
fn state(claim: &ResourceClaim) -> ClaimState {
    let is_marked = |annotation: &str, is: fn(&str) -> bool| {
        claim.metadata.annotations.get(annotation).is_some_and(|value| is(value))
    };
    let source = if is_marked(EXTENDED, |value| value == "true") {
        ClaimSource::ExtendedResource
    } else if is_marked(ENTRY, |value| !value.is_empty()) {
        ClaimSource::Template
    } else {
        ClaimSource::Somebody
    };
    let allocated = claim.status.allocation.is_some();
    ClaimState { allocated, admin_access: has_admin_access(claim), source }
}

fn has_admin_access(claim: &ResourceClaim) -> bool {
    let exact = claim.spec.devices.requests.iter().filter_map(|request| request.exactly.as_ref());
    exact.into_iter().any(|exactly| exactly.admin_access == Some(true))
}
