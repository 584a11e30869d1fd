//! Containers that use devices: by claims, and by names of resources that devices may stand for.

use std::sync::Arc;

use cluster::resource_classes::CLASS_PREFIX;
use model::pod::ContainerWish;
use objects::core::container::Container;
use objects::core::pod::{PodResourceClaim, PodSpec};

use crate::requests::stays;

/// The containers of a pod that ask for any such resource, those that run first coming first.
pub(crate) fn device_containers(spec: &PodSpec) -> Vec<ContainerWish> {
    let first = spec.init_containers.iter().map(|container| (container, !stays(container)));
    let all = first.chain(spec.containers.iter().map(|container| (container, false)));
    all.enumerate().filter_map(|(place, (container, passes))| wish(place, container, passes)).collect()
}

fn wish(place: usize, container: &Container, passes: bool) -> Option<ContainerWish> {
    let requests = container.resources.requests.iter().enumerate();
    let amounts = requests.filter(|(_, (name, _))| may_be_devices(name));
    let amounts = amounts.map(|(at, (name, amount))| (Arc::from(name.as_str()), (at, amount.0.value())));
    let amounts = amounts.filter(|(_, (_, count))| *count > 0).collect::<std::collections::BTreeMap<_, _>>();
    let name = container.name.as_str().into();
    (!amounts.is_empty()).then_some(ContainerWish { name, place, passes, amounts })
}

/// For each claim that a pod names, the containers that use it, those that run first coming first.
pub(crate) fn claim_containers(spec: &PodSpec) -> Vec<Vec<Arc<str>>> {
    let users = |claim: &PodResourceClaim| {
        let all = spec.init_containers.iter().chain(&spec.containers);
        let uses =
            |container: &&Container| container.resources.claims.iter().any(|used| used.name == claim.name);
        all.filter(uses).map(|container| container.name.as_str().into()).collect()
    };
    spec.resource_claims.iter().map(users).collect()
}

/// Whether a resource is one that somebody other than Kubernetes gave its name, or is named after a class.
fn may_be_devices(name: &str) -> bool {
    let is_extended =
        name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.");
    is_extended || name.starts_with(CLASS_PREFIX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_are_told_with_their_places_and_those_of_what_they_ask_for() {
        let asks = |name: &str, requests: serde_json::Value| json!({ "name": name, "resources": { "requests": requests } });
        let mut sidecar = asks("sidecar", json!({ "example.com/nic": "1" }));
        sidecar["restartPolicy"] = json!("Always");
        let spec = json!({
            "initContainers": [
                asks("init", json!({ "cpu": "1", "example.com/gpu": "2", "memory": "1Gi" })), sidecar,
            ],
            "containers": [
                asks("plain", json!({ "cpu": "1", "hugepages-2Mi": "4Mi", "kubernetes.io/x": "1" })),
                asks("none", json!({ "example.com/gpu": "0", "requests.example.com/gpu": "1" })),
                asks("class", json!({ "cpu": "1", "deviceclass.resource.kubernetes.io/gpu": "3" })),
            ],
        });
        let found = device_containers(&serde_json::from_value(spec).expect("a pod's spec"));
        let told: Vec<String> = found
            .iter()
            .map(|one| format!("{} {} {} {:?}", one.name, one.place, one.passes, one.amounts))
            .collect();
        let expected = [
            "init 0 true {\"example.com/gpu\": (1, 2)}",
            "sidecar 1 false {\"example.com/nic\": (0, 1)}",
            "class 4 false {\"deviceclass.resource.kubernetes.io/gpu\": (1, 3)}",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn claims_know_the_containers_that_use_them() {
        let uses = |name: &str, claims: &[&str]| {
            let claims: Vec<_> = claims.iter().map(|claim| json!({ "name": claim })).collect();
            json!({ "name": name, "resources": { "claims": claims } })
        };
        let spec = json!({
            "resourceClaims": [{ "name": "one" }, { "name": "two" }, { "name": "three" }],
            "initContainers": [uses("init", &["two"])],
            "containers": [uses("a", &["one", "two"]), uses("b", &["two"])],
        });
        let users = claim_containers(&serde_json::from_value(spec).expect("a pod's spec"));
        let users: Vec<String> = users.iter().map(|names| names.join(" ")).collect();
        assert_eq!(users, ["a", "init a b", ""]);
    }
}
