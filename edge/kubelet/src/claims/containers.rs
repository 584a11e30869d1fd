//! Which devices each container of a pod gets.

use std::collections::BTreeMap;

use objects::core::container::Container;
use objects::core::pod::Pod;

use super::held::{ClaimKey, Held};
use super::wanted::{base_request, claim_of};

/// The CDI ids that the containers of a pod are to be started with, by the names of the containers; those that get none are
/// left out.
pub(crate) fn devices_of(pod: &Pod, held: &Held) -> BTreeMap<String, Vec<String>> {
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    let given = containers.map(|container| (container.name.clone(), ids(pod, container, held)));
    given.filter(|(_, ids)| !ids.is_empty()).collect()
}

fn ids(pod: &Pod, container: &Container, held: &Held) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (claim, request) in requests(pod, container) {
        let key = ClaimKey { namespace: pod.metadata.namespace.clone(), name: claim.to_owned() };
        let devices = held.0.get(&key).into_iter().flat_map(|claim| claim.drivers.values());
        let devices = devices.flat_map(|part| &part.devices).filter(|device| device.serves(request));
        for id in devices.flat_map(|device| &device.cdi_ids) {
            // A container that names a claim and one of its requests gets each device once.
            if !found.contains(id) {
                found.push(id.clone());
            }
        }
    }
    found
}

/// The claims that a container uses, with the request or an empty word for all of them.
fn requests<'a>(pod: &'a Pod, container: &'a Container) -> Vec<(&'a str, &'a str)> {
    let claims = container.resources.claims.iter();
    let mut found: Vec<(&str, &str)> = claims
        .filter_map(|claim| Some((claim_of(pod, &claim.name)?, base_request(&claim.request))))
        .collect();
    if let Some(extended) = &pod.status.extended_resource_claim_status {
        let mine = extended.request_mappings.iter().filter(|mapping| {
            mapping.container_name == container.name
                && container.resources.requests.contains_key(&mapping.resource_name)
        });
        found.extend(mine.map(|mapping| (&*extended.resource_claim_name, &*mapping.request_name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::super::held::{DriverPart, HeldClaim, HeldClaimStage, HeldDevice};
    use super::*;

    fn claim(name: &str, devices: &[(&str, &[&str])]) -> (ClaimKey, HeldClaim) {
        let device = |&(id, requests): &(&str, &[&str])| HeldDevice {
            cdi_ids: vec![id.to_owned()],
            requests: requests.iter().map(|&name| name.to_owned()).collect(),
            ..HeldDevice::default()
        };
        let part = DriverPart { devices: devices.iter().map(device).collect(), skips: Vec::new() };
        let held = HeldClaim {
            uid: "u".into(),
            pods: BTreeSet::new(),
            drivers: BTreeMap::from([("gpu".to_owned(), part)]),
            stage: HeldClaimStage::Prepared,
        };
        (ClaimKey { namespace: "ns".into(), name: name.into() }, held)
    }

    #[test]
    fn a_container_gets_the_devices_of_the_requests_that_it_names() {
        let container = |name: &str, claims: serde_json::Value| json!({ "name": name, "resources": { "claims": claims } });
        let pod: Pod = serde_json::from_value(json!({
            "metadata": { "namespace": "ns" },
            "spec": {
                "resourceClaims": [{ "name": "g", "resourceClaimName": "c" }],
                "initContainers": [container("init", json!([{ "name": "g", "request": "a" }]))],
                "containers": [
                    container("all", json!([{ "name": "g" }, { "name": "g", "request": "a" }])),
                    container("sub", json!([{ "name": "g", "request": "b/large" }])),
                    container("none", json!([])),
                    { "name": "named", "resources": { "requests": { "example.com/gpu": "1" } } },
                ],
            },
            "status": { "extendedResourceClaimStatus": {
                "resourceClaimName": "x",
                "requestMappings": [
                    { "containerName": "named", "requestName": "r", "resourceName": "example.com/gpu" },
                    { "containerName": "none", "requestName": "r", "resourceName": "example.com/gpu" },
                ],
            }},
        }))
        .expect("a pod");
        let held = Held(BTreeMap::from([
            claim("c", &[("v/g=1", &["a"]), ("v/g=2", &["b"]), ("v/g=any", &[])]),
            claim("x", &[("v/g=9", &["r"])]),
        ]));
        let given = devices_of(&pod, &held);
        assert_eq!(given["init"], ["v/g=1", "v/g=any"]);
        assert_eq!(given["all"], ["v/g=1", "v/g=2", "v/g=any"]);
        assert_eq!(given["sub"], ["v/g=2", "v/g=any"]);
        assert_eq!(given["named"], ["v/g=9"]);
        assert!(!given.contains_key("none"));
    }
}
