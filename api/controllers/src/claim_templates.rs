//! Claims that are made from templates, for a pod or for a group: what is missing, and what its claimant then says of it.
//!
//! Invariant: a claim is made once. One that the claimant names, or that was made for it and not noted yet, is taken as it
//! is. What a group shares is made for the group; its members only name it.

use gates::{Gate, Gates};
use objects::core::pod::Pod;
use objects::meta::OwnerReference;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::scheduling::pod_group::PodGroup;
use serde_json::{Value, json};
use thiserror::Error;

use crate::claimants::{Claimant, ResourceClaimEntry, group_of, is_controlled_by, is_shared};

/// Tells for which entry a claim was made.
pub const ENTRY: &str = "resource.kubernetes.io/pod-claim-name";

/// How long the made-up part of a name may be before five characters are added.
const PREFIX_MAX: usize = 57;

/// What to do about one entry.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimTemplateAction {
    /// Make this claim; the server gives it its name.
    Make {
        /// The entry.
        entry: String,
        /// The claim.
        claim: Box<ResourceClaim>,
        /// The claim that is named and that nobody knows. Only the server can say that it is lost.
        instead_of: Option<String>,
    },
    /// The claim of this name was made already: note it.
    Note {
        /// The entry.
        entry: String,
        /// The claim's name.
        claim: String,
    },
    /// Nothing can be done yet, or at all.
    Wait {
        /// The entry.
        entry: String,
        /// Why not.
        why: Obstacle,
    },
}

/// Why a claim is not made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// The template is not there.
    #[error("resourceclaimtemplate {template:?} not found")]
    NoTemplate {
        /// Its name.
        template: String,
    },
    /// The pod's group is not there, which may share the claim.
    #[error("podgroup {group:?} not found")]
    NoGroup {
        /// Its name.
        group: String,
    },
    /// Groups, or their claims, are switched off.
    #[error(
        "podgroup {group:?} shares the claim, but feature gate {gate} is off; hint: enable the feature gate, or \
            remove the pod from its group"
    )]
    Off {
        /// The group's name.
        group: String,
        /// The feature.
        gate: Gate,
    },
}

/// What is known of a claimant's namespace.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// A template by its name.
    pub template: &'a dyn Fn(&str) -> Option<&'a ResourceClaimTemplate>,
    /// Claims by the uid of an owner.
    pub owned: &'a dyn Fn(&str) -> Vec<&'a ResourceClaim>,
    /// Groups by name.
    pub group: &'a dyn Fn(&str) -> Option<&'a PodGroup>,
    /// Features of the cluster.
    pub gates: Gates,
}

/// What to do for a group; nothing if claims of groups are off.
pub fn actions_for_group(group: &PodGroup, around: &Around<'_>) -> Vec<ClaimTemplateAction> {
    if !around.gates.enabled(Gate::DRAWorkloadResourceClaims) {
        return Vec::new();
    }
    actions(group, around, |entry, template, noted| Some(own(group, around, entry, template, noted)))
}

/// What to do for a pod.
pub fn actions_for_pod(pod: &Pod, around: &Around<'_>) -> Vec<ClaimTemplateAction> {
    actions(pod, around, |entry, template, noted| {
        let wait = |why| Some(ClaimTemplateAction::Wait { entry: entry.name.to_owned(), why });
        let Some(name) = group_of(pod) else { return Some(own(pod, around, entry, template, noted)) };
        let off = |gate| wait(Obstacle::Off { group: name.to_owned(), gate });
        if !around.gates.enabled(Gate::GenericWorkload) {
            return off(Gate::GenericWorkload);
        }
        let Some(group) = (around.group)(name) else {
            return wait(Obstacle::NoGroup { group: name.to_owned() });
        };
        if !is_shared(group, &entry) {
            return Some(own(pod, around, entry, template, noted));
        }
        if !around.gates.enabled(Gate::DRAWorkloadResourceClaims) {
            return off(Gate::DRAWorkloadResourceClaims);
        }
        let claim = made(around, &group.metadata.uid, entry.name)?.metadata.name.clone();
        (noted != Some(claim.as_str()))
            .then(|| ClaimTemplateAction::Note { entry: entry.name.to_owned(), claim })
    })
}

/// What to do for each entry that wants a claim made and has none.
fn actions<'c, T: Claimant>(
    claimant: &'c T,
    around: &Around<'_>,
    action: impl Fn(ResourceClaimEntry<'c>, &'c str, Option<&'c str>) -> Option<ClaimTemplateAction>,
) -> Vec<ClaimTemplateAction> {
    let metadata = claimant.metadata();
    if metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let own = (around.owned)(&metadata.uid);
    let action = |entry: ResourceClaimEntry<'c>| {
        let template = entry.template?;
        let noted = claimant.notes().find(|(name, _)| *name == entry.name);
        match noted {
            // Somebody said that this entry needs no claim.
            Some((_, None)) => None,
            Some((_, Some(claim))) if own.iter().any(|own| own.metadata.name == claim) => None,
            noted => action(entry, template, noted.and_then(|(_, claim)| claim)),
        }
    };
    claimant.entries().filter_map(action).collect()
}

/// What to do for an entry whose claim is the claimant's own.
fn own<T: Claimant>(
    claimant: &T,
    around: &Around<'_>,
    entry: ResourceClaimEntry<'_>,
    template: &str,
    noted: Option<&str>,
) -> ClaimTemplateAction {
    let name = entry.name.to_owned();
    if let Some(claim) = made(around, &claimant.metadata().uid, entry.name) {
        return ClaimTemplateAction::Note { entry: name, claim: claim.metadata.name.clone() };
    }
    match (around.template)(template) {
        None => ClaimTemplateAction::Wait {
            entry: name,
            why: Obstacle::NoTemplate { template: template.to_owned() },
        },
        Some(template) => {
            let claim = Box::new(claim(claimant, entry.name, template));
            ClaimTemplateAction::Make { entry: name, claim, instead_of: noted.map(str::to_owned) }
        }
    }
}

/// The claim that was made for an entry, if it is to stay.
fn made<'a>(around: &Around<'a>, uid: &str, entry: &str) -> Option<&'a ResourceClaim> {
    let is_made = |claim: &&ResourceClaim| {
        is_controlled_by(claim, uid)
            && claim.metadata.deletion_timestamp.is_none()
            && claim.metadata.annotations.get(ENTRY).is_some_and(|name| name == entry)
    };
    (around.owned)(uid).into_iter().find(is_made)
}

/// The claim of a template, made for somebody.
fn claim<T: Claimant>(claimant: &T, entry: &str, template: &ResourceClaimTemplate) -> ResourceClaim {
    let owner = claimant.metadata();
    let wanted = &template.spec.metadata;
    let mut claim = ResourceClaim::default();
    claim.metadata.generate_name = prefix(&owner.name, entry);
    claim.metadata.namespace = owner.namespace.clone();
    claim.metadata.labels = wanted.labels.clone();
    claim.metadata.annotations = wanted.annotations.clone();
    claim.metadata.annotations.insert(ENTRY.to_owned(), entry.to_owned());
    claim.metadata.owner_references.push(OwnerReference {
        api_version: T::API_VERSION.to_owned(),
        kind: T::KIND.to_owned(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
        controller: Some(true),
        ..OwnerReference::default()
    });
    claim.spec = template.spec.spec.clone();
    claim
}

/// The name without its last characters. One that is too long keeps a part of the claimant's name and a part of the entry's.
fn prefix(claimant: &str, entry: &str) -> String {
    let whole = format!("{claimant}-{entry}-");
    if whole.len() <= PREFIX_MAX {
        return whole;
    }
    let cut = |part: &str| {
        let end = part.floor_char_boundary(part.len() * PREFIX_MAX / whole.len());
        part[..end].to_owned()
    };
    format!("{}-{}", cut(claimant), cut(entry))
}

/// What a claimant says of its claims once these were made: all of them, by name.
pub fn statuses<T: Claimant>(claimant: &T, made: &[(String, String)]) -> Value {
    let is_new = |entry: &str| made.iter().any(|(made, _)| made == entry);
    let known = claimant.notes().filter_map(|(entry, claim)| Some((entry, claim?)));
    let known = known.filter(|(entry, _)| !is_new(entry));
    let mut all: Vec<(&str, &str)> =
        known.chain(made.iter().map(|(entry, claim)| (entry.as_str(), claim.as_str()))).collect();
    all.sort_unstable();
    all.into_iter().map(|(entry, claim)| json!({ "name": entry, "resourceClaimName": claim })).collect()
}

#[cfg(test)]
mod tests;
