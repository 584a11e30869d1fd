//! Resources of a pod as a whole: what its containers add up to, what follows from that, and its class of service.

use std::collections::{BTreeMap, BTreeSet};

use objects::Quantity;
use objects::core::container::{Container, ResourceRequirements};
use objects::core::pod::PodSpec;
use schema::Path;

use crate::cause::Causes;
use crate::kinds::container::{is_sidecar, validate_claims, validate_resources};
use crate::kinds::resource_names::{
    is_huge_pages, is_pod_level, may_be_overcommitted, round_up, validate_pod_name,
};

type Amounts = BTreeMap<String, Quantity>;

/// Requests that were left out are the limits, and nothing is finer than a thousandth.
pub(crate) fn set_defaults(spec: &mut PodSpec) {
    let PodSpec { containers, init_containers, resources, overhead, .. } = spec;
    for container in containers.iter_mut().chain(init_containers) {
        let ResourceRequirements { limits, requests, .. } = &mut container.resources;
        round_up(limits);
        round_up(requests);
        for (name, limit) in limits {
            requests.entry(name.clone()).or_insert_with(|| limit.clone());
        }
    }
    if let Some(resources) = resources {
        round_up(&mut resources.limits);
        round_up(&mut resources.requests);
    }
    round_up(overhead);
}

/// The same rounding for the template of a controller, whose requests stay as they are.
pub(crate) fn round_template(spec: &mut PodSpec) {
    for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
        round_up(&mut container.resources.limits);
        round_up(&mut container.resources.requests);
    }
    if let Some(resources) = &mut spec.resources {
        round_up(&mut resources.limits);
        round_up(&mut resources.requests);
    }
    round_up(&mut spec.overhead);
}

/// What the containers need at most at one time. Those that run side by side add up; an init container runs alone with
/// the sidecars that were started before it.
fn total(spec: &PodSpec, of: fn(&ResourceRequirements) -> &Amounts) -> Amounts {
    let mut sum = Amounts::new();
    for container in &spec.containers {
        add(&mut sum, of(&container.resources));
    }
    let (mut sidecars, mut peak) = (Amounts::new(), Amounts::new());
    for container in &spec.init_containers {
        let own = of(&container.resources);
        // Of what it does not need itself, nothing more is needed than before it.
        let before =
            own.keys().filter_map(|name| sidecars.get(name).map(|amount| (name.clone(), amount.clone())));
        let mut now: Amounts = before.collect();
        add(&mut now, own);
        raise(&mut peak, &now);
        if is_sidecar(container) {
            add(&mut sum, own);
            sidecars.extend(now);
        }
    }
    raise(&mut sum, &peak);
    sum
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        match sum.get_mut(name) {
            Some(sum) => sum.0 += &amount.0,
            None => {
                sum.insert(name.clone(), amount.clone());
            }
        }
    }
}

fn raise(most: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        match most.get_mut(name) {
            Some(most) if most.0 >= amount.0 => {}
            Some(most) => *most = amount.clone(),
            None => {
                most.insert(name.clone(), amount.clone());
            }
        }
    }
}

/// Fills in what a pod that has resources of its own left out, from its containers.
pub(crate) fn complete(spec: &mut PodSpec) {
    let Some(mut own) = spec.resources.take() else { return };
    if !own.requests.is_empty() || !own.limits.is_empty() {
        let limits = total(spec, |resources| &resources.limits);
        for (name, limit) in limits.iter().filter(|(name, _)| is_huge_pages(name)) {
            if !own.requests.contains_key(name) {
                own.limits.entry(name.clone()).or_insert_with(|| limit.clone());
            }
        }
        for (name, request) in total(spec, |resources| &resources.requests) {
            if is_pod_level(&name) && may_be_overcommitted(&name) {
                own.requests.entry(name).or_insert(request);
            }
        }
        for (name, limit) in own.limits.iter().filter(|(name, _)| is_pod_level(name)) {
            own.requests.entry(name.clone()).or_insert_with(|| limit.clone());
        }
        complete_limits(&mut own, spec, &limits);
    }
    spec.resources = Some(own);
}

/// A limit of the pod follows from its containers only if all of them have one.
fn complete_limits(own: &mut ResourceRequirements, spec: &PodSpec, limits: &Amounts) {
    let containers = || spec.containers.iter().chain(&spec.init_containers);
    for (name, request) in own.requests.iter().filter(|(name, _)| is_pod_level(name)) {
        let all = containers().all(|container: &Container| container.resources.limits.contains_key(name));
        if let Some(limit) = limits.get(name).filter(|_| all) {
            let limit = if request.0 > limit.0 { request } else { limit };
            own.limits.entry(name.clone()).or_insert_with(|| limit.clone());
        }
    }
}

/// The rules for resources of the pod as a whole.
pub(crate) fn validate(spec: &PodSpec, claims: &BTreeSet<&str>, path: &Path<'_>, causes: &mut Causes) {
    let Some(own) = &spec.resources else { return };
    let path = path.field("resources");
    if spec.os.as_ref().is_some_and(|os| os.name == "windows") {
        causes.forbidden(&path, "cannot be set for a windows pod");
        return;
    }
    if !own.claims.is_empty() {
        causes.forbidden(&path.field("claims"), "a pod names its claims in resourceClaims");
    }
    validate_resources(own, validate_pod_name, &path, causes);
    validate_claims(&own.claims, claims, &path.field("claims"), causes);
    let requests = path.field("requests");
    for (name, sum) in total(spec, |resources| &resources.requests) {
        if own.requests.get(&name).is_some_and(|request| sum.0 > request.0) {
            causes.invalid(&requests.key(&name), format!("the containers together request {}", sum.0));
        }
    }
    let limits = path.field("limits");
    for (name, sum) in total(spec, |resources| &resources.limits) {
        if is_huge_pages(&name) && own.limits.get(&name).is_some_and(|limit| sum.0 > limit.0) {
            causes.invalid(&limits.key(&name), format!("the containers together have a limit of {}", sum.0));
        }
    }
    for (index, container) in spec.containers.iter().enumerate() {
        for (name, limit) in &container.resources.limits {
            if own.limits.get(name).is_some_and(|most| limit.0 > most.0) {
                let containers = path.field("containers");
                let container = containers.index(index);
                causes.invalid(
                    &container.key(name).field("limits"),
                    format!("{} is over the pod's limit", limit.0),
                );
            }
        }
    }
}

/// How much the node may rely on the pod's requests.
pub(crate) fn service_class(spec: &PodSpec) -> &'static str {
    if let Some(own) = &spec.resources
        && own.requests.keys().chain(own.limits.keys()).any(|name| is_pod_level(name))
    {
        return class_of(own);
    }
    let mut containers = spec.init_containers.iter().chain(&spec.containers);
    let Some(first) = containers.next() else { return "BestEffort" };
    let class = class_of(&first.resources);
    if containers.all(|container| class_of(&container.resources) == class) { class } else { "Burstable" }
}

fn class_of(resources: &ResourceRequirements) -> &'static str {
    let class = |name: &str| {
        let amount = |list: &Amounts| list.get(name).map(|amount| amount.0.clone()).unwrap_or_default();
        let (request, limit) = (amount(&resources.requests), amount(&resources.limits));
        if request != limit {
            "Burstable"
        } else if request.is_zero() {
            "BestEffort"
        } else {
            "Guaranteed"
        }
    };
    if resources.requests.is_empty() && resources.limits.is_empty() {
        return "BestEffort";
    }
    let (cpu, memory) = (class("cpu"), class("memory"));
    if cpu == memory { cpu } else { "Burstable" }
}

#[cfg(test)]
mod tests {
    use objects::core::pod::PodSpec;
    use serde_json::{Value, json};

    use super::{complete, service_class};

    fn spec(value: Value) -> PodSpec {
        serde_json::from_value(value).expect("a spec")
    }

    #[test]
    fn a_pod_is_guaranteed_only_if_every_container_is() {
        let both =
            json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}});
        let half = json!({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}});
        let class = |resources: &[&Value]| {
            let containers: Vec<Value> =
                resources.iter().map(|resources| json!({"resources": resources})).collect();
            service_class(&spec(json!({"containers": containers})))
        };
        assert_eq!(class(&[&both, &both]), "Guaranteed");
        assert_eq!(class(&[&both, &json!({})]), "Burstable");
        assert_eq!(class(&[&half]), "Burstable");
        assert_eq!(class(&[&json!({}), &json!({})]), "BestEffort");
        assert_eq!(class(&[&json!({"limits": {"example.com/gpu": "1"}})]), "BestEffort");
    }

    #[test]
    fn a_pod_with_resources_of_its_own_gets_the_rest_from_its_containers() {
        let mut pod = spec(json!({
            "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}}],
            "resources": {"limits": {"cpu": "4"}},
        }));
        complete(&mut pod);
        let own = serde_json::to_value(&pod.resources).expect("resources");
        let wanted =
            json!({"limits": {"cpu": "4", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}});
        assert_eq!(own, wanted);
    }
}
