//! Claims whose users are done: reservations are released, devices are given back, claims that were made for somebody go
//! with them.
//!
//! Invariant: a claim loses its devices only when its last user goes, or when it goes itself. One that nobody uses yet
//! keeps them, because whoever allocated it may be about to use it.

use std::collections::BTreeSet;

use objects::Object;
use objects::core::pod::Pod;
use objects::resource::allocation::ResourceClaimConsumerReference;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::control::{self, Form};
use objects::supercargo::noted_groups;

use crate::claim_templates::ENTRY;
use crate::claimants::{Claimant, is_controlled_by};

/// Keeps an allocated claim from going before its devices are given back.
pub const PROTECTION: &str = "resource.kubernetes.io/delete-protection";

/// Tells that a claim was made by a scheduler, for extended resources.
pub const EXTENDED: &str = "resource.kubernetes.io/extended-resource-claim";

/// Somebody who uses a claim or whom it was made for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// What it is.
    pub kind: UserKind,
    /// Its name, in the claim's namespace.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// What may use a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UserKind {
    /// A pod.
    Pod,
    /// A group of pods.
    Group,
}

/// What to do about a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimAction {
    /// Nothing.
    Leave,
    /// Write this status; if nothing is allocated after that, take the protection away as well.
    Release(Box<ResourceClaim>),
    /// Write this, which asks a driver for the devices that it gave. What is left is seen to after that.
    AskBack(Box<ResourceClaim>),
    /// Take the protection away: nothing is allocated, and nothing will be.
    Unprotect,
    /// Delete it: it was made for somebody who needs it no more.
    Delete,
}

/// Whether a pod will run no more.
pub fn is_done(pod: &Pod) -> bool {
    let never_ran = pod.metadata.deletion_timestamp.is_some() && pod.spec.node_name.is_empty();
    matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") || never_ran
}

/// Everybody who must be known to decide about a claim.
pub fn users(claim: &ResourceClaim) -> BTreeSet<User> {
    claim.status.reserved_for.iter().filter_map(reserved).chain(owner(claim)).collect()
}

/// What is known around a claim.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// Who of [`users`] needs the claim no more; this must be certain.
    pub is_gone: &'a dyn Fn(&User) -> bool,
    /// Somebody names the claim, so that it may be about to get devices.
    pub is_wanted: bool,
}

/// Decides about a claim.
pub fn decide(claim: &ResourceClaim, around: &Around<'_>) -> ClaimAction {
    let mut remaining = claim.status.reserved_for.clone();
    // Who else may use a claim is not known here, so others are left alone.
    remaining.retain(|one| !reserved(one).is_some_and(|user| (around.is_gone)(&user)));
    let goes = claim.metadata.deletion_timestamp.is_some();
    let was_used = remaining.len() < claim.status.reserved_for.len();
    // What is allocated at once and for good stays so until it goes.
    let is_kept = control::is_immediate(claim);
    let is_classic = !control::controller(claim).is_empty();
    // Drivers reserve what they give at once, so that what nobody uses was let go, and by now nobody wants it. Who does will be
    // given it anew.
    let is_forgotten = is_classic && claim.status.allocation.is_some() && !around.is_wanted && !is_kept;
    let is_free = remaining.is_empty() && ((was_used && !is_kept) || goes || is_forgotten);
    // Who asked for the devices back may have put a protection of its own on the claim: it goes without them.
    let frees = is_free && is_protected(claim) && !is_classic;
    // Devices that a driver's controller gave are its own to take back.
    let asks = is_free && is_classic && !control::is_leaving(claim);
    if asks && control::form(claim) == Form::Annotations && !goes {
        // It is asked for first and released then, so that whoever stops in between leaves something to be done.
        let mut asked = claim.clone();
        control::note_leaving(&mut asked);
        return ClaimAction::AskBack(Box::new(asked));
    }
    if was_used || (asks && !goes) || (frees && claim.status.allocation.is_some()) {
        let mut released = claim.clone();
        released.status.reserved_for = remaining;
        released.status.deallocation_requested |= asks;
        if frees {
            released.status.allocation = None;
            // What drivers said about devices that are no longer the claim's means nothing.
            released.status.devices.clear();
        }
        return ClaimAction::Release(Box::new(released));
    }
    // Whoever took the devices back may have been stopped before the protection was gone, too.
    let is_left_over = remaining.is_empty()
        && is_protected(claim)
        && claim.status.allocation.is_none()
        && owner(claim).is_none()
        && !around.is_wanted;
    if frees || is_left_over {
        return ClaimAction::Unprotect;
    }
    match owner(claim) {
        Some(owner) if remaining.is_empty() && !goes && (around.is_gone)(&owner) => ClaimAction::Delete,
        _ => ClaimAction::Leave,
    }
}

/// The claim without its protection, if it has one and needs it no more.
pub fn unprotected(claim: &ResourceClaim) -> Option<ResourceClaim> {
    (is_protected(claim) && claim.status.allocation.is_none()).then(|| {
        let mut free = claim.clone();
        free.metadata.finalizers.retain(|finalizer| finalizer != PROTECTION);
        noted_groups::forget(&mut free);
        free
    })
}

/// Whether a claim was made for somebody who uses another in its place. It happens when the answer to a write got lost and
/// the claim was made twice. `is_own` tells of claims by name: they are there to stay, and made for the same.
pub fn is_surplus(claim: &ResourceClaim, owner: &Owner<'_>, is_own: &dyn Fn(&str) -> bool) -> bool {
    let named = match owner {
        Owner::Pod(pod) if claim.metadata.annotations.get(EXTENDED).is_some_and(|is| is == "true") => {
            let status = pod.status.extended_resource_claim_status.as_ref();
            status.map(|status| status.resource_claim_name.as_str())
        }
        Owner::Pod(pod) => noted(*pod, claim),
        Owner::Group(group) => noted(*group, claim),
    };
    let uid = match owner {
        Owner::Pod(pod) => &pod.metadata.uid,
        Owner::Group(group) => &group.metadata.uid,
    };
    is_controlled_by(claim, uid) && named.is_some_and(|named| named != claim.metadata.name && is_own(named))
}

/// Whom a claim was made for.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// A pod.
    Pod(&'a Pod),
    /// A group.
    Group(&'a PodGroup),
}

/// The claim that is noted for the entry that a claim was made for.
fn noted<'a, T: Claimant>(claimant: &'a T, claim: &ResourceClaim) -> Option<&'a str> {
    let entry = claim.metadata.annotations.get(ENTRY)?;
    claimant.notes().find(|(name, _)| name == entry).and_then(|(_, claim)| claim)
}

fn is_protected(claim: &ResourceClaim) -> bool {
    claim.metadata.finalizers.iter().any(|finalizer| finalizer == PROTECTION)
}

/// Who a reservation is for, if it is a kind that we know.
fn reserved(reference: &ResourceClaimConsumerReference) -> Option<User> {
    let kind = match (reference.api_group.as_str(), reference.resource.as_str()) {
        ("", "pods") => UserKind::Pod,
        ("scheduling.k8s.io", "podgroups") => UserKind::Group,
        _ => return None,
    };
    Some(User { kind, name: reference.name.clone(), uid: reference.uid.clone() })
}

/// Whom the claim was made for.
fn owner(claim: &ResourceClaim) -> Option<User> {
    let mut owners = claim.metadata.owner_references.iter().filter(|owner| owner.controller == Some(true));
    owners.find_map(|owner| {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = match (group, owner.kind.as_str()) {
            ("", Pod::KIND) => UserKind::Pod,
            ("scheduling.k8s.io", PodGroup::KIND) => UserKind::Group,
            _ => return None,
        };
        Some(User { kind, name: owner.name.clone(), uid: owner.uid.clone() })
    })
}

#[cfg(test)]
mod tests;
