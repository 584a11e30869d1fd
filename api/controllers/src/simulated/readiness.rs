//! Whether a node may run a pod with claims: each of them must have its devices, and be reserved for the pod or its group.
//!
//! Invariant: a simulated node refuses what a real one refuses, and with the same event. Nothing runs with devices that
//! another may get.

use objects::core::pod::{Pod, PodResourceClaim};
use objects::resource::claim::ResourceClaim;

use crate::claimants::group_of;

/// The reason of the event about a pod that a node refuses to start.
pub const REFUSED: &str = "FailedPrepareDynamicResources";

/// Why a pod may not be started, if it may not; `claim` gives a claim of its namespace by name.
pub fn refusal<'a>(pod: &Pod, claim: &dyn Fn(&str) -> Option<&'a ResourceClaim>) -> Option<String> {
    let entries = pod.spec.resource_claims.iter().map(|entry| named(pod, entry));
    let extended = pod.status.extended_resource_claim_status.iter();
    let extended = extended.map(|status| Ok(Some(status.resource_claim_name.as_str())));
    entries.chain(extended).find_map(|name| match name {
        // A claim that is not needed is not made.
        Ok(None) => None,
        Ok(Some(name)) => hindrance(pod, name, claim(name)),
        Err(why) => Some(why),
    })
}

/// The claims that a pod needs to start, by name, as far as they are known.
pub fn claims_of(pod: &Pod) -> impl Iterator<Item = &str> {
    let entries = pod.spec.resource_claims.iter().filter_map(|entry| named(pod, entry).ok().flatten());
    let extended = pod.status.extended_resource_claim_status.iter();
    entries.chain(extended.map(|status| status.resource_claim_name.as_str()))
}

/// The name of the claim that an entry of a pod means.
fn named<'a>(pod: &'a Pod, entry: &'a PodResourceClaim) -> Result<Option<&'a str>, String> {
    if let Some(name) = &entry.resource_claim_name {
        return Ok(Some(name));
    }
    let noted = pod.status.resource_claim_statuses.iter().find(|status| status.name == entry.name);
    match noted {
        Some(noted) => Ok(noted.resource_claim_name.as_deref()),
        None => Err(format!("the ResourceClaim for {} is not created yet", entry.name)),
    }
}

fn hindrance(pod: &Pod, name: &str, claim: Option<&ResourceClaim>) -> Option<String> {
    let Some(claim) = claim else { return Some(format!("ResourceClaim {name} not found")) };
    let is_reserved = claim.status.reserved_for.iter().any(|user| {
        let is_group = user.api_group == "scheduling.k8s.io" && user.resource == "podgroups";
        user.uid == pod.metadata.uid || (is_group && group_of(pod) == Some(user.name.as_str()))
    });
    if !is_reserved {
        let (pod, uid) = (&pod.metadata.name, &pod.metadata.uid);
        let claim_uid = &claim.metadata.uid;
        return Some(format!("ResourceClaim {name} ({claim_uid}) is not reserved for pod {pod} ({uid})"));
    }
    claim.status.allocation.is_none().then(|| format!("ResourceClaim {name} is not allocated yet"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(statuses: &Value) -> Pod {
        let pod = json!({
            "metadata": { "name": "p", "uid": "u" },
            "spec": {
                "resourceClaims": [{ "name": "gpu", "resourceClaimTemplateName": "t" }],
                "schedulingGroup": { "podGroupName": "g" },
            },
            "status": { "resourceClaimStatuses": statuses },
        });
        serde_json::from_value(pod).expect("a pod")
    }

    fn claim(status: &Value) -> ResourceClaim {
        let claim = json!({ "metadata": { "name": "c", "uid": "cu" }, "status": status });
        serde_json::from_value(claim).expect("a claim")
    }

    #[test]
    fn a_pod_needs_claims_that_are_allocated_and_reserved_for_it_or_its_group() {
        let made = json!([{ "name": "gpu", "resourceClaimName": "c" }]);
        let devices = json!({ "devices": {} });
        let user = json!({ "resource": "pods", "name": "p", "uid": "u" });
        let group =
            json!({ "apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "gu" });
        let other = json!({ "resource": "pods", "name": "p", "uid": "another" });
        let denied = "ResourceClaim c (cu) is not reserved for pod p (u)";
        let table: [(&Value, Option<Value>, Option<&str>); 8] = [
            (&json!([]), None, Some("the ResourceClaim for gpu is not created yet")),
            (&json!([{ "name": "gpu" }]), None, None),
            (&made, None, Some("ResourceClaim c not found")),
            (&made, Some(json!({ "allocation": devices })), Some(denied)),
            (&made, Some(json!({ "allocation": devices, "reservedFor": [other] })), Some(denied)),
            (&made, Some(json!({ "reservedFor": [user] })), Some("ResourceClaim c is not allocated yet")),
            (&made, Some(json!({ "allocation": devices, "reservedFor": [other, user] })), None),
            (&made, Some(json!({ "allocation": devices, "reservedFor": [group] })), None),
        ];
        for (statuses, status, expected) in table {
            let claim = status.map(|status| claim(&status));
            let found = refusal(&pod(statuses), &|name| claim.as_ref().filter(|_| name == "c"));
            assert_eq!(found.as_deref(), expected);
        }
    }

    #[test]
    fn a_claim_for_extended_resources_is_needed_too() {
        let mut pod = pod(&json!([{ "name": "gpu", "resourceClaimName": "c" }]));
        pod.status.extended_resource_claim_status =
            serde_json::from_value(json!({ "resourceClaimName": "e" })).expect("a status");
        assert_eq!(claims_of(&pod).collect::<Vec<_>>(), ["c", "e"]);
        let granted =
            claim(&json!({ "allocation": {}, "reservedFor": [{ "resource": "pods", "uid": "u" }] }));
        let found = refusal(&pod, &|name| Some(&granted).filter(|_| name == "c"));
        assert_eq!(found.as_deref(), Some("ResourceClaim e not found"));
    }
}
