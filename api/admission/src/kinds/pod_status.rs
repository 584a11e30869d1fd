//! The status of a pod: what kubelets, schedulers and controllers may say of it.

use std::collections::{BTreeMap, BTreeSet};

use gates::Gate;
use objects::Quantity;
use objects::core::container::Container;
use objects::core::pod::{
    ContainerStatus, NodeAllocatableResourceClaimStatus, Pod, PodCondition, PodExtendedResourceClaimStatus,
    PodIP, PodSpec, PodStatus,
};
use schema::Path;

use crate::addresses;
use crate::cause::{ANY_NUMBER, Causes};
use crate::kind::Context;
use crate::kinds::resource_names::is_node_allocatable;
use crate::names;

/// The single address and the list say the same; if they differ, the single one is right.
pub(crate) fn set_defaults(status: &mut PodStatus) {
    let first = status.pod_ips.first().map(|each| each.ip.clone()).unwrap_or_default();
    if status.pod_ip.is_empty() {
        status.pod_ip = first;
    } else if first != status.pod_ip {
        status.pod_ips = vec![PodIP { ip: status.pod_ip.clone(), ..Default::default() }];
    }
}

/// Writers that do not know of these fields leave them out, which does not mean that they are gone.
pub(crate) fn keep_unmentioned(status: &mut PodStatus, old: &PodStatus) {
    if status.qos_class.is_empty() {
        status.qos_class.clone_from(&old.qos_class);
    }
    if status.resource_claim_statuses.is_empty() {
        status.resource_claim_statuses.clone_from(&old.resource_claim_statuses);
    }
    if status.extended_resource_claim_status.is_none() {
        status.extended_resource_claim_status.clone_from(&old.extended_resource_claim_status);
    }
    if status.node_allocatable_resource_claim_statuses.is_empty() {
        let kept = &old.node_allocatable_resource_claim_statuses;
        status.node_allocatable_resource_claim_statuses.clone_from(kept);
    }
    if status.observed_generation == 0 {
        status.observed_generation = old.observed_generation;
    }
    let mut before: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for condition in old.conditions.iter().rev() {
        before.entry(&condition.type_).or_default().push(condition.observed_generation);
    }
    for condition in &mut status.conditions {
        let generation = before.get_mut(condition.type_.as_str()).and_then(Vec::pop).unwrap_or_default();
        if condition.observed_generation == 0 {
            condition.observed_generation = generation;
        }
    }
}

/// The rules for a change of the status.
pub(crate) fn validate(pod: &Pod, old: &Pod, context: &Context<'_>, causes: &mut Causes) {
    let (status, before) = (&pod.status, &old.status);
    let path = Path::ROOT.field("status");
    validate_conditions(&status.conditions, &path.field("conditions"), causes);
    validate_nomination(pod, old, &path.field("nominatedNodeName"), context, causes);
    if status.observed_generation < 0 {
        causes.invalid(&path.field("observedGeneration"), "must not be negative");
    }
    causes.immutable(&path.field("qosClass"), &status.qos_class, &before.qos_class);
    for (name, new, old, containers) in [
        ("containerStatuses", &status.container_statuses, &before.container_statuses, &pod.spec.containers),
        (
            "initContainerStatuses",
            &status.init_container_statuses,
            &before.init_container_statuses,
            &pod.spec.init_containers,
        ),
    ] {
        validate_transitions(new, old, containers, &pod.spec, &path.field(name), causes);
    }
    validate_claims(pod, &path.field("resourceClaimStatuses"), causes);
    if let Some(extended) = &status.extended_resource_claim_status {
        validate_extended(extended, &pod.spec, &path.field("extendedResourceClaimStatus"), causes);
    }
    let named = pod.spec.resource_claims.iter().filter_map(|claim| claim.resource_claim_name.as_deref());
    let made = status.resource_claim_statuses.iter();
    let claims: BTreeSet<&str> =
        named.chain(made.filter_map(|claim| claim.resource_claim_name.as_deref())).collect();
    causes.each_once(
        &status.node_allocatable_resource_claim_statuses,
        ANY_NUMBER,
        &path.field("nodeAllocatableResourceClaimStatuses"),
        |each| each.resource_claim_name.clone(),
        |causes, each, path| validate_node_allocatable(each, &claims, path, causes),
    );
    let pod_ips = path.field("podIPs");
    if status.pod_ip.is_empty() != status.pod_ips.is_empty() {
        causes.invalid(&pod_ips, "podIP and podIPs must both be set or both be unset");
    }
    validate_addresses(&status.pod_ips, &status.pod_ip, &pod_ips, causes);
    validate_addresses(&status.host_ips, &status.host_ip, &path.field("hostIPs"), causes);
}

fn validate_conditions(conditions: &[PodCondition], path: &Path<'_>, causes: &mut Causes) {
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        if condition.observed_generation < 0 {
            causes.invalid(&path.field("observedGeneration"), "must not be negative");
        }
        if !matches!(condition.type_.as_str(), "PodScheduled" | "Ready" | "Initialized") {
            // Quirk: the field's name begins with a capital here.
            causes.malformed(&path.field("Type"), &condition.type_, names::label_key(&condition.type_));
        }
    }
}

fn validate_nomination(pod: &Pod, old: &Pod, path: &Path<'_>, context: &Context<'_>, causes: &mut Causes) {
    let name = &pod.status.nominated_node_name;
    if name.is_empty() || *name == old.status.nominated_node_name {
        return;
    }
    causes.malformed(path, name, names::dns_subdomain(name));
    if context.has(Gate::ClearingNominatedNodeNameAfterBinding) && !old.spec.node_name.is_empty() {
        causes.forbidden(path, "the pod is bound to a node already");
    }
}

/// A container that has ended stays so, unless it is started again.
fn validate_transitions(
    new: &[ContainerStatus],
    old: &[ContainerStatus],
    containers: &[Container],
    spec: &PodSpec,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    if all_may_restart(spec) {
        return;
    }
    let statuses = first_by(new, |status| &status.name);
    let containers = first_by(containers, |container| &container.name);
    for (index, before) in old.iter().enumerate() {
        let Some(terminated) = &before.state.terminated else { continue };
        let Some(now) = statuses.get(before.name.as_str()) else { continue };
        let container = containers.get(before.name.as_str());
        let restarts = container.is_some_and(|container| restarts(container, spec, terminated.exit_code));
        if now.state.terminated.is_none() && !restarts {
            causes.forbidden(&path.index(index).field("state"), "a container that has ended stays so");
        }
    }
}

/// The first element of each name.
fn first_by<'a, T>(
    list: impl IntoIterator<Item = &'a T>,
    name: impl Fn(&'a T) -> &'a str,
) -> BTreeMap<&'a str, &'a T> {
    let mut first = BTreeMap::new();
    for element in list {
        first.entry(name(element)).or_insert(element);
    }
    first
}

fn all_may_restart(spec: &PodSpec) -> bool {
    let rules = spec.containers.iter().chain(&spec.init_containers);
    let mut rules = rules.flat_map(|container| &container.restart_policy_rules);
    rules.any(|rule| rule.action == "RestartAllContainers")
}

fn restarts(container: &Container, spec: &PodSpec, exit_code: i32) -> bool {
    if let Some(policy) = &container.restart_policy {
        let matching = container.restart_policy_rules.iter().find(|rule| {
            rule.exit_codes.as_ref().is_some_and(|codes| match codes.operator.as_str() {
                "In" => codes.values.contains(&exit_code),
                "NotIn" => !codes.values.contains(&exit_code),
                _ => false,
            })
        });
        if matching.is_some_and(|rule| matches!(rule.action.as_str(), "Restart" | "RestartAllContainers")) {
            return true;
        }
        match policy.as_str() {
            "Always" => return true,
            "OnFailure" => return exit_code != 0,
            "Never" => return false,
            _ => {}
        }
    }
    match spec.restart_policy.as_str() {
        "OnFailure" => exit_code != 0,
        "Never" => false,
        _ => true,
    }
}

fn validate_claims(pod: &Pod, path: &Path<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    let claims: BTreeSet<&str> = pod.spec.resource_claims.iter().map(|claim| claim.name.as_str()).collect();
    for (index, status) in pod.status.resource_claim_statuses.iter().enumerate() {
        let path = path.index(index);
        if !claims.contains(status.name.as_str()) {
            causes.invalid(&path.field("name"), "must be the name of one of spec.resourceClaims");
        }
        if !seen.insert(status.name.as_str()) {
            causes.duplicate(&path.field("name"), &status.name);
        }
        if let Some(name) = &status.resource_claim_name {
            causes.malformed(&path.field("resourceClaimName"), name, names::dns_subdomain(name));
        }
    }
}

fn validate_extended(
    status: &PodExtendedResourceClaimStatus,
    spec: &PodSpec,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let mappings = path.field("requestMappings");
    if status.request_mappings.is_empty() {
        causes.required(&mappings, "must have at least one mapping");
    }
    let mut seen = BTreeSet::new();
    let containers =
        first_by(spec.containers.iter().chain(&spec.init_containers), |container| &container.name);
    for (index, mapping) in status.request_mappings.iter().enumerate() {
        let element = mappings.index(index);
        match containers.get(mapping.container_name.as_str()) {
            None => causes.invalid(&element.field("containerName"), "must be a container of the pod"),
            Some(container) if !container.resources.requests.contains_key(&mapping.resource_name) => {
                causes.invalid(
                    &element.field("resourceName"),
                    "must be a resource that the container requests",
                );
            }
            Some(_) => {}
        }
        // Quirk: the request's name is looked for beside the mappings.
        let name = &mapping.request_name;
        causes.malformed(&path.field("requestName"), name, names::dns_label(name));
        if !seen.insert((&mapping.container_name, &mapping.resource_name, name)) {
            causes.duplicate(&element.field("containerName"), &mapping.container_name);
            causes.duplicate(&element.field("resourceName"), &mapping.resource_name);
            causes.duplicate(&element.field("requestName"), name);
        }
    }
    let name = &status.resource_claim_name;
    if name.is_empty() {
        causes.required(&path.field("resourceClaimName"), "must be set");
    } else {
        causes.malformed(&path.field("resourceClaimName"), name, names::dns_subdomain(name));
    }
}

fn validate_node_allocatable(
    status: &NodeAllocatableResourceClaimStatus,
    claims: &BTreeSet<&str>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let name = &status.resource_claim_name;
    if name.is_empty() {
        causes.required(&path.field("resourceClaimName"), "must be set");
    } else if !claims.contains(name.as_str()) {
        causes.invalid(&path.field("resourceClaimName"), "must be a claim of the pod");
    }
    let containers = path.field("containers");
    causes.each_once(&status.containers, ANY_NUMBER, &containers, Clone::clone, |_, _, _| {});
    causes.each_once(
        &status.mapping,
        ANY_NUMBER,
        &path.field("mapping"),
        |mapping| mapping.name.clone(),
        |causes, mapping, path| {
            node_allocatable_name(&mapping.name, path, causes);
            if mapping.quantity.is_none() {
                causes.required(&path.field("quantity"), "must be set");
            }
            not_negative("quantity", mapping.quantity.as_ref(), path, causes);
        },
    );
    causes.each_once(
        &status.overhead,
        ANY_NUMBER,
        &path.field("overhead"),
        |overhead| overhead.name.clone(),
        |causes, overhead, path| {
            node_allocatable_name(&overhead.name, path, causes);
            if overhead.per_pod.is_none() && overhead.per_container.is_none() {
                causes.invalid(path, "perPod or perContainer must be set");
            }
            not_negative("perPod", overhead.per_pod.as_ref(), path, causes);
            not_negative("perContainer", overhead.per_container.as_ref(), path, causes);
        },
    );
}

fn node_allocatable_name(name: &str, path: &Path<'_>, causes: &mut Causes) {
    if name.is_empty() {
        causes.required(&path.field("name"), "must be set");
    }
    if !is_node_allocatable(name) {
        causes.invalid(&path.field("name"), "must be cpu, memory or hugepages of a size");
    }
}

fn not_negative(name: &str, amount: Option<&Quantity>, path: &Path<'_>, causes: &mut Causes) {
    if amount.is_some_and(|amount| amount.0.signum() < 0) {
        causes.invalid(&path.field(name), "must not be negative");
    }
}

/// Addresses of a pod or its node: at most one of each family, the first of them the one that is given alone.
fn validate_addresses(list: &[PodIP], single: &str, path: &Path<'_>, causes: &mut Causes) {
    for (index, each) in list.iter().enumerate() {
        if let Err(fault) = addresses::address(&each.ip) {
            causes.invalid(&path.index(index), format!("{:?}: {fault}", each.ip));
        }
    }
    if let [first, ..] = list
        && first.ip != single
    {
        causes.invalid(&path.index(0).field("ip"), "must be the address that is given alone");
    }
    let parsed: Vec<_> = list.iter().filter_map(|each| addresses::address(&each.ip).ok()).collect();
    let mixed = matches!(parsed.as_slice(), [a, b] if a.is_ipv4() != b.is_ipv4());
    if list.len() > 1 && !mixed {
        causes.invalid(path, "may have one address of each family");
    }
}
