//! What may be said about a cluster by looking at its objects alone.
//!
//! Invariant: nothing here asks a scheduler. What is looked at was in the API at some moment; lists of different kinds are
//! of different moments, so what must hold at every moment is told from what must hold once all is done.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use gates::Gates;
use invariants::{Evidence, GroupsFrom, check_state};
use objects::core::pod::Pod;
use objects::resource::allocation::AllocationResult;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::resource::slice::ResourceSlice;
use objects::supercargo::control;

use crate::cluster::Cluster;

/// What keeps a claim with devices from vanishing.
const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

/// Devices that two claims hold at once, in words. They may hold at a moment, while two schedulers find out about each other.
///
/// # Errors
/// When the server does not say.
pub async fn held_twice(cluster: &Cluster) -> Result<Vec<String>> {
    let claims: Vec<ResourceClaim> = cluster.list().await?;
    let mut holders: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for claim in &claims {
        for device in devices_of(claim) {
            holders.entry(device).or_default().push(&claim.metadata.name);
        }
    }
    holders.retain(|_, claims| claims.len() > 1);
    Ok(holders.into_iter().map(|(device, claims)| format!("{device} by {}", claims.join(" and "))).collect())
}

/// The devices that a claim has, as `pool/device`.
#[must_use]
pub fn devices_of(claim: &ResourceClaim) -> Vec<String> {
    let results = claim.status.allocation.iter().flat_map(|given| &given.devices.results);
    results.map(|result| format!("{}/{}", result.pool, result.device)).collect()
}

/// Holds a cluster to all that must be so once every pod is bound: devices are where their pods are and held once, claims
/// are reserved for those who use them and for nobody else, and claims that nobody uses hold nothing.
///
/// # Errors
/// When something is not so.
pub async fn all_is_well(cluster: &Cluster) -> Result<()> {
    all_is_well_with(cluster, Gates::default()).await
}

/// The same on a cluster that has these features.
///
/// # Errors
/// When something is not so.
pub async fn all_is_well_with(cluster: &Cluster, gates: Gates) -> Result<()> {
    let (pods, claims): (Vec<Pod>, Vec<ResourceClaim>) = (cluster.list().await?, cluster.list().await?);
    let (slices, classes): (Vec<ResourceSlice>, Vec<DeviceClass>) =
        (cluster.list().await?, cluster.list().await?);
    let evidence =
        Evidence { gates, slices: &slices, classes: &classes, claims: &claims, groups: GroupsFrom::Results };
    let mut wrong: Vec<String> =
        check_state(&evidence, Some(&pods)).iter().map(ToString::to_string).collect();
    let mut users: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in &pods {
        if pod.spec.node_name.is_empty() {
            wrong.push(format!("pod {} has no node", pod.metadata.name));
        }
        for claim in &pod.spec.resource_claims {
            users.entry(claim.resource_claim_name.as_deref().unwrap_or_default()).or_default().push(pod);
        }
    }
    let nodes: BTreeMap<&str, &str> = slices
        .iter()
        .filter_map(|slice| Some((&*slice.spec.pool.name, slice.spec.node_name.as_deref()?)))
        .collect();
    for claim in &claims {
        let users = users.remove(&*claim.metadata.name).unwrap_or_default();
        wrong.extend(claim_troubles(claim, &users, &nodes));
    }
    wrong.extend(users.keys().map(|claim| format!("claim {claim} is used and is not there")));
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n  ");
    ensure!(wrong.is_empty(), "{} things are wrong:\n  {shown}", wrong.len());
    Ok(())
}

fn claim_troubles(claim: &ResourceClaim, users: &[&Pod], nodes: &BTreeMap<&str, &str>) -> Vec<String> {
    let name = &claim.metadata.name;
    let mut wrong = Vec::new();
    let Some(allocation) = &claim.status.allocation else {
        if !users.is_empty() {
            wrong.push(format!("claim {name} is used and has no devices"));
        }
        if !claim.status.reserved_for.is_empty() {
            wrong.push(format!("claim {name} has no devices and is reserved"));
        }
        return wrong;
    };
    if users.is_empty() {
        wrong.push(format!("claim {name} has devices and no user"));
    }
    // Whoever allocated it protects it.
    let finalizer = match control::controller(claim) {
        "" => FINALIZER.to_owned(),
        driver => controllers::classic::finalizer(driver),
    };
    if !claim.metadata.finalizers.contains(&finalizer) {
        wrong.push(format!("claim {name} has devices and may vanish"));
    }
    let mut reserved: Vec<&str> = claim.status.reserved_for.iter().map(|one| &*one.uid).collect();
    let mut wanted: Vec<&str> = users.iter().map(|pod| &*pod.metadata.uid).collect();
    reserved.sort_unstable();
    wanted.sort_unstable();
    if reserved != wanted {
        wrong.push(format!("claim {name} is reserved for {reserved:?} and used by {wanted:?}"));
    }
    // Devices of no node are where the allocation is bound to, or reached from every node here.
    for result in &allocation.devices.results {
        let at = nodes.get(&*result.pool).copied().filter(|node| !node.is_empty());
        let Some(at) = at.or_else(|| bound_to(allocation)) else { continue };
        for user in users.iter().filter(|user| user.spec.node_name != at) {
            let (pod, node) = (&user.metadata.name, &user.spec.node_name);
            wrong.push(format!("claim {name} has devices on {at} and its pod {pod} is on {node}"));
        }
    }
    wrong
}

/// The node that an allocation is bound to, where its devices are those of no node.
fn bound_to(allocation: &AllocationResult) -> Option<&str> {
    let terms = &allocation.node_selector.as_ref()?.node_selector_terms;
    let mut fields = terms.iter().flat_map(|term| &term.match_fields);
    let field = fields.find(|field| field.key == "metadata.name" && field.operator == "In")?;
    field.values.first().map(String::as_str)
}
