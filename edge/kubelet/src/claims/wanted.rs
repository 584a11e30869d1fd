//! The claims that a pod wants, and whether it may have them.

use std::collections::BTreeMap;

use objects::core::pod::Pod;
use objects::meta::OwnerReference;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::control;

use super::held::ClaimKey;
use super::prepare::PrepareError;

/// A claim that a pod names, before anybody looked at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reference {
    pub(crate) key: ClaimKey,
    /// It was made for the pod, and another of that name would not do.
    pub(crate) made_for_pod: bool,
}

/// A claim that a pod may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) key: ClaimKey,
    pub(crate) uid: String,
    /// Its drivers, and the calls that each does without.
    pub(crate) drivers: BTreeMap<String, Vec<String>>,
}

const SCHEDULING_GROUP: &str = "scheduling.k8s.io";

/// The claims that a pod names, with the one that was made for its extended resources.
///
/// # Errors
/// A claim is to be made from a template and has not been.
pub(crate) fn references(pod: &Pod) -> Result<Vec<Reference>, PrepareError> {
    let mut found = Vec::new();
    let key = |name: &str| ClaimKey { namespace: pod.metadata.namespace.clone(), name: name.to_owned() };
    for entry in &pod.spec.resource_claims {
        if let Some((name, made_for_pod)) = claim_name(pod, &entry.name)? {
            found.push(Reference { key: key(name), made_for_pod });
        }
    }
    if let Some(extended) = &pod.status.extended_resource_claim_status {
        found.push(Reference { key: key(&extended.resource_claim_name), made_for_pod: false });
    }
    Ok(found)
}

/// The claim behind an entry of a pod's `resourceClaims`, if there is one and it is needed.
pub(crate) fn claim_of<'a>(pod: &'a Pod, entry: &str) -> Option<&'a str> {
    claim_name(pod, entry).ok().flatten().map(|(name, _)| name)
}

/// The name of the claim behind an entry, and whether it was made for the pod; nothing if no claim is needed.
fn claim_name<'a>(pod: &'a Pod, entry: &str) -> Result<Option<(&'a str, bool)>, PrepareError> {
    let Some(claim) = pod.spec.resource_claims.iter().find(|claim| claim.name == entry) else {
        return Ok(None);
    };
    if let Some(name) = &claim.resource_claim_name {
        return Ok(Some((name, false)));
    }
    let made = pod.status.resource_claim_statuses.iter().find(|status| status.name == entry);
    match made {
        Some(status) => Ok(status.resource_claim_name.as_deref().map(|name| (name, true))),
        None => Err(PrepareError::NotMade { entry: entry.to_owned() }),
    }
}

impl Wanted {
    /// A claim as the API has it, if the pod may use it.
    ///
    /// # Errors
    /// It belongs to somebody else, or is not reserved for the pod, or has no devices.
    pub(crate) fn of(pod: &Pod, reference: &Reference, claim: &ResourceClaim) -> Result<Self, PrepareError> {
        let name = || reference.key.name.clone();
        if reference.made_for_pod && !is_made_for(pod, claim) {
            return Err(PrepareError::OfAnother { claim: name(), pod: pod.metadata.name.clone() });
        }
        if !is_reserved_for(pod, claim) {
            return Err(PrepareError::NotReserved {
                claim: name(),
                claim_uid: claim.metadata.uid.clone(),
                pod: pod.metadata.name.clone(),
                pod_uid: pod.metadata.uid.clone(),
            });
        }
        let drivers = drivers(claim).ok_or_else(|| PrepareError::NotAllocated { claim: name() })?;
        Ok(Self { key: reference.key.clone(), uid: claim.metadata.uid.clone(), drivers })
    }
}

/// The pod or its group controls the claim.
fn is_made_for(pod: &Pod, claim: &ResourceClaim) -> bool {
    let Some(owner) = claim.metadata.owner_references.iter().find(|owner| owner.controller == Some(true))
    else {
        return false;
    };
    owner.uid == pod.metadata.uid || is_group_of(pod, owner)
}

/// A pod knows its group by name only.
fn is_group_of(pod: &Pod, owner: &OwnerReference) -> bool {
    let group = owner.api_version.split_once('/').map(|(group, _)| group);
    group == Some(SCHEDULING_GROUP) && owner.kind == "PodGroup" && group_name(pod) == Some(&owner.name)
}

fn group_name(pod: &Pod) -> Option<&str> {
    pod.spec.scheduling_group.as_ref()?.pod_group_name.as_deref()
}

fn is_reserved_for(pod: &Pod, claim: &ResourceClaim) -> bool {
    claim.status.reserved_for.iter().any(|user| {
        let is_group = user.api_group == SCHEDULING_GROUP && user.resource == "podgroups";
        user.uid == pod.metadata.uid || is_group && group_name(pod) == Some(&user.name)
    })
}

/// The drivers of what is allocated, each with the calls that all its devices do without; nothing if nothing is allocated.
fn drivers(claim: &ResourceClaim) -> Option<BTreeMap<String, Vec<String>>> {
    let allocation = claim.status.allocation.as_ref()?;
    let mut skips: BTreeMap<String, Vec<&[String]>> = BTreeMap::new();
    for result in &allocation.devices.results {
        skips.entry(result.driver.clone()).or_default().push(&result.skip_node_operations);
    }
    // Handles that cannot be read are those of nobody.
    for handle in control::handles(claim).unwrap_or_default() {
        skips.entry(handle.driver_name).or_default().push(&[]);
    }
    Some(skips.into_iter().map(|(driver, devices)| (driver, skipped_by_all(&devices))).collect())
}

/// The calls that every device of a driver does without.
fn skipped_by_all(devices: &[&[String]]) -> Vec<String> {
    let every = "*".to_owned();
    if devices.iter().all(|skips| skips.contains(&every)) {
        return vec![every];
    }
    let mut named: Vec<String> = devices.iter().flat_map(|skips| skips.iter().cloned()).collect();
    named.sort();
    named.dedup();
    named.retain(|call| {
        *call != every && devices.iter().all(|skips| skips.contains(&every) || skips.contains(call))
    });
    named
}

/// The request that a reference is to, which may name an alternative within it.
pub(crate) fn base_request(reference: &str) -> &str {
    reference.split('/').next().unwrap_or(reference)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(spec: &Value, status: &Value) -> Pod {
        let metadata = json!({ "name": "p", "namespace": "ns", "uid": "pod-uid" });
        serde_json::from_value(json!({ "metadata": metadata, "spec": spec, "status": status }))
            .expect("a pod")
    }

    fn claim(value: Value) -> ResourceClaim {
        serde_json::from_value(value).expect("a claim")
    }

    fn reference(made_for_pod: bool) -> Reference {
        Reference { key: ClaimKey { namespace: "ns".into(), name: "c".into() }, made_for_pod }
    }

    #[test]
    fn a_pod_names_claims_directly_by_template_and_by_extended_resources() {
        let spec = json!({ "resourceClaims": [
            { "name": "a", "resourceClaimName": "shared" },
            { "name": "b", "resourceClaimTemplateName": "t" },
            { "name": "none", "resourceClaimTemplateName": "t" },
        ]});
        let status = json!({
            "resourceClaimStatuses": [{ "name": "b", "resourceClaimName": "p-b-x" }, { "name": "none" }],
            "extendedResourceClaimStatus": { "resourceClaimName": "p-extended" },
        });
        let found = references(&pod(&spec, &status)).expect("all are made");
        let names: Vec<(&str, bool)> = found.iter().map(|one| (&*one.key.name, one.made_for_pod)).collect();
        assert_eq!(names, [("shared", false), ("p-b-x", true), ("p-extended", false)]);
        let early = references(&pod(&spec, &json!({}))).expect_err("no claim is made yet");
        assert!(matches!(early, PrepareError::NotMade { entry } if entry == "b"));
    }

    #[test]
    fn a_pod_may_use_what_is_allocated_reserved_for_it_and_its_own() {
        let allocation = json!({ "devices": { "results": [
            { "driver": "gpu", "request": "r", "pool": "p", "device": "d" },
        ]}});
        let reserved = json!([{ "resource": "pods", "name": "p", "uid": "pod-uid" }]);
        let owner = |uid: &str| json!([{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": true }]);
        let plain = pod(&json!({}), &json!({}));
        let good = claim(json!({
            "metadata": { "uid": "u", "ownerReferences": owner("pod-uid") },
            "status": { "allocation": allocation, "reservedFor": reserved },
        }));
        let wanted = Wanted::of(&plain, &reference(true), &good).expect("it may");
        assert_eq!(wanted.drivers, BTreeMap::from([("gpu".to_owned(), vec![])]));

        let other = claim(json!({
            "metadata": { "ownerReferences": owner("other") },
            "status": { "allocation": allocation, "reservedFor": reserved },
        }));
        let refused = Wanted::of(&plain, &reference(true), &other).expect_err("it is another's");
        assert!(matches!(refused, PrepareError::OfAnother { .. }));
        assert!(Wanted::of(&plain, &reference(false), &other).is_ok());

        let free = claim(json!({ "status": { "allocation": allocation } }));
        let refused = Wanted::of(&plain, &reference(false), &free).expect_err("it is not reserved");
        assert!(matches!(refused, PrepareError::NotReserved { .. }));
        let empty = claim(json!({ "status": { "reservedFor": reserved } }));
        let refused = Wanted::of(&plain, &reference(false), &empty).expect_err("it has no devices");
        assert!(matches!(refused, PrepareError::NotAllocated { .. }));
    }

    #[test]
    fn what_belongs_to_a_group_is_for_its_pods() {
        let member = pod(&json!({ "schedulingGroup": { "podGroupName": "g" } }), &json!({}));
        let status = json!({
            "allocation": {},
            "reservedFor": [{ "apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "x" }],
        });
        let owner = json!([{
            "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "g", "uid": "x", "controller": true,
        }]);
        let shared = claim(json!({ "metadata": { "ownerReferences": owner }, "status": status }));
        assert!(Wanted::of(&member, &reference(true), &shared).is_ok());
        assert!(Wanted::of(&pod(&json!({}), &json!({})), &reference(true), &shared).is_err());
    }

    #[test]
    fn a_call_is_skipped_only_if_every_device_of_the_driver_does_without_it() {
        let skips = |lists: &[&[&str]]| {
            let lists: Vec<Vec<String>> =
                lists.iter().map(|list| list.iter().map(|&call| call.to_owned()).collect()).collect();
            skipped_by_all(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        assert_eq!(skips(&[&["*"], &["*"]]), ["*"]);
        assert_eq!(skips(&[&["*"], &["NodePrepareResources"]]), ["NodePrepareResources"]);
        assert!(skips(&[&["*"], &[]]).is_empty());
        assert!(skips(&[&["NodePrepareResources"], &["NodeUnprepareResources"]]).is_empty());
    }
}
