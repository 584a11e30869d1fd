//! Devices that must not be used any more: whose pods go, when, and how far that is.
//!
//! A taint with effect `NoExecute` comes from the driver, in a slice, or from a [`DeviceTaintRule`]. The time is that of the
//! taint and what the claim tolerates, both in the API, so that a controller that begins anew finds the same.
//!
//! Invariant: only a pod for which a claim is reserved goes because of the claim's devices.
//!
//! [`DeviceTaintRule`]: objects::resource::class::DeviceTaintRule

mod report;
mod taints;

pub use report::{Field, Report, Tally, report, tally};
pub use taints::{Cause, Slices, Taints, matters, selects};

use std::collections::BTreeSet;

use model::timestamp::Timestamp;
use objects::core::pod::Pod;
use objects::resource::claim::{DeviceToleration, ResourceClaim};
use objects::resource::slice::DeviceTaint;

use crate::claimants::{self, Claimant};
use crate::claims::is_done;

/// When somebody must go, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// When.
    pub at: Timestamp,
    /// Every taint that would do, also those whose time comes later.
    pub causes: BTreeSet<Cause>,
}

impl Eviction {
    fn joined(self, other: Self) -> Self {
        let mut causes = self.causes;
        causes.extend(other.causes);
        Self { at: self.at.min(other.at), causes }
    }

    /// The first reason, and how many there are besides.
    pub fn why(&self) -> String {
        let first = self.causes.first().map(ToString::to_string).unwrap_or_default();
        match self.causes.len() {
            0 | 1 => first,
            more => format!("{first}, and {} more", more - 1),
        }
    }
}

/// When the users of a claim must go.
pub fn of_claim(claim: &ResourceClaim, taints: &Taints<'_>) -> Option<Eviction> {
    let allocation = claim.status.allocation.as_ref()?;
    let evictions = allocation.devices.results.iter().flat_map(|result| {
        let found = taints.on(&result.driver, &result.pool, &result.device);
        found.into_iter().filter_map(|(cause, taint)| {
            let at = patience(taint, &result.tolerations)?;
            Some(Eviction { at, causes: BTreeSet::from([cause]) })
        })
    });
    evictions.reduce(Eviction::joined)
}

/// When a pod must go, because of any of its claims. `claim` knows the claims of the pod's namespace by name.
pub fn of_pod<'a>(
    pod: &Pod,
    claim: impl Fn(&str) -> Option<&'a ResourceClaim>,
    taints: &Taints<'_>,
) -> Option<Eviction> {
    if pod.spec.node_name.is_empty() || is_done(pod) {
        return None;
    }
    let claims =
        claims_of(pod).into_iter().filter_map(|used| claim(used.name).filter(|claim| used.is(claim, pod)));
    claims.filter_map(|claim| of_claim(claim, taints)).reduce(Eviction::joined)
}

/// The names of all claims that a pod uses.
pub fn claim_names(pod: &Pod) -> impl Iterator<Item = &str> {
    claims_of(pod).into_iter().map(|used| used.name)
}

/// When a taint ends the use of a device; never, if it is tolerated for good.
fn patience(taint: &DeviceTaint, tolerations: &[DeviceToleration]) -> Option<Timestamp> {
    let added = taint.time_added.unwrap_or_default().0;
    let mut seconds: Option<i64> = None;
    for toleration in tolerations.iter().filter(|toleration| bears(toleration, taint)) {
        // A time counts beside the effect `NoExecute` alone, and without a time it is for good. A toleration without an
        // effect is for every effect: by the API's words it protects from eviction too.
        let limit = toleration.toleration_seconds.filter(|_| !toleration.effect.is_empty())?;
        seconds = Some(seconds.map_or(limit, |seconds| seconds.min(limit)));
    }
    Some(added.plus_millis(seconds.unwrap_or(0).max(0).saturating_mul(1_000)))
}

fn bears(toleration: &DeviceToleration, taint: &DeviceTaint) -> bool {
    let value = match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        _ => false,
    };
    value
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && (toleration.effect.is_empty() || toleration.effect == taint.effect)
}

/// A claim that a pod uses, and how it came to it.
struct Used<'a> {
    name: &'a str,
    /// It was made for the pod or its group, so that it must belong to one of them.
    is_made: bool,
}

impl Used<'_> {
    /// Whether the claim of this name is the one that the pod uses, and not another that took its name.
    fn is(&self, claim: &ResourceClaim, pod: &Pod) -> bool {
        let group = claimants::group_of(pod);
        let is_groups =
            |api: &str, name: &str| group == Some(name) && api.split('/').next() == Some("scheduling.k8s.io");
        let mut owners =
            claim.metadata.owner_references.iter().filter(|owner| owner.controller == Some(true));
        let is_own = claimants::is_controlled_by(claim, &pod.metadata.uid)
            || owners.any(|owner| owner.kind == "PodGroup" && is_groups(&owner.api_version, &owner.name));
        // A pod knows its group by name only.
        let is_reserved = claim.status.reserved_for.iter().any(|user| {
            user.uid == pod.metadata.uid
                || (user.resource == "podgroups" && is_groups(&user.api_group, &user.name))
        });
        is_reserved && (is_own || !self.is_made)
    }
}

fn claims_of(pod: &Pod) -> Vec<Used<'_>> {
    let entries = pod.entries().filter_map(|entry| {
        let name = claimants::claim_of(pod, &entry)?;
        Some(Used { name, is_made: entry.claim.is_none() })
    });
    // Resources that devices stand for come from a claim that the scheduler made.
    let extended = pod.status.extended_resource_claim_status.iter();
    let extended = extended.map(|status| Used { name: &status.resource_claim_name, is_made: true });
    entries.chain(extended).collect()
}

#[cfg(test)]
mod tests;
