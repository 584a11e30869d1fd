//! Who claims are made for: pods and groups of pods, seen alike.
//!
//! Invariant: a claim belongs to whoever controls it, by uid. A name alone may be that of a successor.

use objects::Object;
use objects::core::pod::Pod;
use objects::resource::allocation::ResourceClaimConsumerReference;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;

/// A pod or a group that wants claims.
pub trait Claimant: Object {
    /// What an entry of it is called.
    const ENTRY: &'static str;

    /// The claims that it wants.
    fn entries(&self) -> impl Iterator<Item = ResourceClaimEntry<'_>>;

    /// What it says of claims that were made for it: the entry, and the claim unless none is needed.
    fn notes(&self) -> impl Iterator<Item = (&str, Option<&str>)>;
}

/// A claim that somebody wants: one that is there, or one to be made from a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceClaimEntry<'a> {
    /// The name by which containers know it.
    pub name: &'a str,
    /// The claim's own name.
    pub claim: Option<&'a str>,
    /// The template's name.
    pub template: Option<&'a str>,
}

impl Claimant for Pod {
    const ENTRY: &'static str = "PodResourceClaim";

    fn entries(&self) -> impl Iterator<Item = ResourceClaimEntry<'_>> {
        self.spec.resource_claims.iter().map(|entry| ResourceClaimEntry {
            name: &entry.name,
            claim: entry.resource_claim_name.as_deref(),
            template: entry.resource_claim_template_name.as_deref(),
        })
    }

    fn notes(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let statuses = self.status.resource_claim_statuses.iter();
        statuses.map(|status| (status.name.as_str(), status.resource_claim_name.as_deref()))
    }
}

impl Claimant for PodGroup {
    const ENTRY: &'static str = "PodGroupResourceClaim";

    fn entries(&self) -> impl Iterator<Item = ResourceClaimEntry<'_>> {
        self.spec.resource_claims.iter().map(|entry| ResourceClaimEntry {
            name: &entry.name,
            claim: entry.resource_claim_name.as_deref(),
            template: entry.resource_claim_template_name.as_deref(),
        })
    }

    fn notes(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let statuses = self.status.resource_claim_statuses.iter();
        statuses.map(|status| (status.name.as_str(), status.resource_claim_name.as_deref()))
    }
}

/// The names of all claims of a claimant, whether it named them or they were made for it.
pub fn claim_names<T: Claimant>(claimant: &T) -> impl Iterator<Item = &str> {
    claimant.entries().filter_map(|entry| entry.claim).chain(claimant.notes().filter_map(|(_, claim)| claim))
}

/// The name of an entry's claim, if it is known.
pub fn claim_of<'a, T: Claimant>(claimant: &'a T, entry: &ResourceClaimEntry<'a>) -> Option<&'a str> {
    let noted = || claimant.notes().find(|(name, _)| *name == entry.name).and_then(|(_, claim)| claim);
    entry.claim.or_else(noted)
}

/// Whether a claim was made for an object.
pub fn is_controlled_by(claim: &ResourceClaim, uid: &str) -> bool {
    let mut owners = claim.metadata.owner_references.iter();
    owners.any(|owner| owner.controller == Some(true) && owner.uid == uid)
}

/// The name of the group that a pod belongs to.
pub fn group_of(pod: &Pod) -> Option<&str> {
    pod.spec.scheduling_group.as_ref()?.pod_group_name.as_deref()
}

/// Whether an entry of a pod is one that its group has too, so that all members share one claim.
pub fn is_shared(group: &PodGroup, entry: &ResourceClaimEntry<'_>) -> bool {
    group.entries().any(|shared| shared == *entry)
}

/// Who uses the claim of an entry: the pod, or its group if it shares it.
pub fn consumer(
    pod: &Pod,
    group: Option<&PodGroup>,
    entry: &ResourceClaimEntry<'_>,
) -> ResourceClaimConsumerReference {
    match group.filter(|group| is_shared(group, entry)) {
        Some(group) => reference("scheduling.k8s.io", "podgroups", group),
        None => reference("", "pods", pod),
    }
}

fn reference<K: Object>(group: &str, resource: &str, object: &K) -> ResourceClaimConsumerReference {
    ResourceClaimConsumerReference {
        api_group: group.to_owned(),
        resource: resource.to_owned(),
        name: object.metadata().name.clone(),
        uid: object.metadata().uid.clone(),
        ..ResourceClaimConsumerReference::default()
    }
}
