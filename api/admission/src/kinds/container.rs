//! Containers: names, images, ports, resources and the claims that they use.

use std::collections::BTreeSet;

use objects::core::container::{
    Container, ContainerClaim, ContainerPort, ContainerResizePolicy, ContainerRestartRule,
    ResourceRequirements,
};
use schema::Path;

use crate::cause::Causes;
use crate::kinds::container_parts;
use crate::kinds::environment;
use crate::kinds::resource_names::{
    is_huge_pages, is_whole_pages, may_be_overcommitted, validate_amount, validate_container_name,
};
use crate::kinds::volume::KnownVolumes;
use crate::names::{self, Faults};

const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;

/// What a container's pod says that matters to the container.
pub(crate) struct Surrounding<'a> {
    /// The names under which the pod uses claims.
    pub claims: BTreeSet<&'a str>,
    /// The pod's volumes.
    pub volumes: KnownVolumes<'a>,
    /// When the pod's containers are started again.
    pub restart_policy: &'a str,
    /// How long the pod may take to stop.
    pub grace_period_seconds: Option<i64>,
}

/// The containers that run side by side.
pub(crate) fn validate_main(
    containers: &[Container],
    pod: &Surrounding<'_>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    if containers.is_empty() {
        causes.required(path, "must have at least one container");
    }
    let mut names = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        validate(container, pod, &path, causes);
        if !names.insert(container.name.as_str()) {
            causes.duplicate(&path.field("name"), &container.name);
        }
        container_parts::validate_running(container, pod, &path, causes);
        validate_restart(container, &path, causes);
    }
    validate_host_ports(containers, path, causes);
}

/// The containers that run before the others, one after the other, or stay beside them.
pub(crate) fn validate_init(
    containers: &[Container],
    main: &[Container],
    pod: &Surrounding<'_>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let mut names: BTreeSet<&str> = main.iter().map(|container| container.name.as_str()).collect();
    for (index, container) in containers.iter().enumerate() {
        let element = path.index(index);
        validate(container, pod, &element, causes);
        validate_restart(container, &element, causes);
        if names.contains(container.name.as_str()) {
            causes.duplicate(&element.field("name"), &container.name);
        } else if !container.name.is_empty() {
            names.insert(&container.name);
        }
        // Quirk: ports of an init container are compared with each other alone, under the path of the first.
        validate_host_ports(std::slice::from_ref(container), path, causes);
        if is_sidecar(container) {
            container_parts::validate_running(container, pod, &element, causes);
        } else {
            container_parts::forbid_running(container, &element, causes);
            for (at, policy) in container.resize_policy.iter().enumerate() {
                if policy.restart_policy == "RestartContainer" {
                    let policies = element.field("resizePolicy");
                    let path = policies.index(at);
                    causes.invalid(
                        &path.field("restartPolicy"),
                        "an init container that ends cannot be restarted for a resize",
                    );
                }
            }
        }
    }
}

/// An init container that keeps running beside the others.
pub(crate) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// What holds for every container.
fn validate(container: &Container, pod: &Surrounding<'_>, path: &Path<'_>, causes: &mut Causes) {
    if container.name.is_empty() {
        causes.required(&path.field("name"), "must be set");
    } else {
        causes.malformed(&path.field("name"), &container.name, names::dns_label(&container.name));
    }
    if container.image.is_empty() {
        causes.required(&path.field("image"), "must be set");
    }
    one_of(
        &container.termination_message_policy,
        &["File", "FallbackToLogsOnError"],
        &path.field("terminationMessagePolicy"),
        causes,
    );
    validate_ports(&container.ports, &path.field("ports"), causes);
    environment::validate(container, path, causes);
    container_parts::validate_mounts(container, &pod.volumes, path, causes);
    one_of(
        &container.image_pull_policy,
        &["Always", "IfNotPresent", "Never"],
        &path.field("imagePullPolicy"),
        causes,
    );
    let resources = path.field("resources");
    validate_resources(&container.resources, validate_container_name, &resources, causes);
    validate_claims(&container.resources.claims, &pod.claims, &resources.field("claims"), causes);
    validate_resize(&container.resize_policy, pod.restart_policy, &path.field("resizePolicy"), causes);
}

/// A value that must be set, and to one of those that are known.
pub(crate) fn one_of(value: &str, known: &[&str], path: &Path<'_>, causes: &mut Causes) {
    if value.is_empty() {
        causes.required(path, "must be set");
    } else if !known.contains(&value) {
        causes.not_supported(path, value, known);
    }
}

/// The form of a port's name.
pub(crate) fn port_name(name: &str) -> Faults {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    [
        (name.len() > 15, "may have at most 15 characters"),
        (!name.bytes().all(allowed), "must be lower case letters, digits and '-'"),
        (!name.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain a letter"),
        (name.contains("--"), "must not contain '--'"),
        (name.starts_with('-') || name.ends_with('-'), "must not begin or end with '-'"),
    ]
    .iter()
    .filter(|(wrong, _)| *wrong)
    .map(|(_, fault)| *fault)
    .collect()
}

/// A number that a port can have.
pub(crate) fn port_number(port: i32, path: &Path<'_>, causes: &mut Causes) {
    if !(1..=65_535).contains(&port) {
        causes.invalid(path, "must be from 1 to 65535");
    }
}

fn validate_ports(ports: &[ContainerPort], path: &Path<'_>, causes: &mut Causes) {
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        if !port.name.is_empty() {
            let faults = port_name(&port.name);
            if !faults.is_empty() {
                causes.malformed(&path.field("name"), &port.name, faults);
            } else if !names.insert(port.name.as_str()) {
                causes.duplicate(&path.field("name"), &port.name);
            }
        }
        if port.container_port == 0 {
            causes.required(&path.field("containerPort"), "must be set");
        } else {
            port_number(port.container_port, &path.field("containerPort"), causes);
        }
        if port.host_port != 0 {
            port_number(port.host_port, &path.field("hostPort"), causes);
        }
        one_of(&port.protocol, &["SCTP", "TCP", "UDP"], &path.field("protocol"), causes);
    }
}

/// No two containers take the same port of the node.
fn validate_host_ports(containers: &[Container], path: &Path<'_>, causes: &mut Causes) {
    let mut taken = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        let ports = path.field("ports");
        for (at, port) in container.ports.iter().enumerate().filter(|(_, port)| port.host_port != 0) {
            let key = format!("{}/{}/{}", port.protocol, port.host_ip, port.host_port);
            if taken.contains(&key) {
                causes.duplicate(&ports.index(at).field("hostPort"), &key);
            }
            taken.insert(key);
        }
    }
}

/// Requests and limits, of a container or of a pod as a whole.
pub(crate) fn validate_resources(
    resources: &ResourceRequirements,
    validate_name: fn(&str, &Path<'_>, &mut Causes),
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let (limits, requests) = (path.field("limits"), path.field("requests"));
    for (list, path) in [(&resources.limits, &limits), (&resources.requests, &requests)] {
        for (name, amount) in list {
            let path = path.key(name);
            validate_name(name, &path, causes);
            validate_amount(name, amount, &path, causes);
            if is_huge_pages(name) && !is_whole_pages(name, amount) {
                causes.invalid(&path, "must be a number of whole pages");
            }
        }
    }
    for (name, amount) in &resources.requests {
        match resources.limits.get(name) {
            Some(limit) if !may_be_overcommitted(name) && limit.0 != amount.0 => {
                causes.invalid(&requests, format!("{name}: {} must equal the limit {}", amount.0, limit.0));
            }
            Some(limit) if amount.0 > limit.0 => {
                causes.invalid(&requests, format!("{name}: {} is over the limit {}", amount.0, limit.0));
            }
            None if !may_be_overcommitted(name) => {
                causes.required(&limits, "a resource that cannot be overcommitted needs a limit");
            }
            _ => {}
        }
    }
    let mut names = resources.limits.keys().chain(resources.requests.keys());
    let mut basic = resources.limits.keys().chain(resources.requests.keys());
    if names.any(|name| is_huge_pages(name)) && !basic.any(|name| matches!(name.as_str(), "cpu" | "memory")) {
        causes.forbidden(path, "huge pages need cpu or memory as well");
    }
}

/// Each claim is one of the pod's, and none is used twice.
pub(crate) fn validate_claims(
    claims: &[ContainerClaim],
    known: &BTreeSet<&str>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (index, claim) in claims.iter().enumerate() {
        let path = path.index(index);
        let (name, request) = (claim.name.as_str(), claim.request.as_str());
        if name.is_empty() {
            causes.required(&path, "must have a name");
            continue;
        }
        if seen.contains(&(name, "")) {
            causes.duplicate(&path, name);
        } else {
            if !request.is_empty() {
                causes.malformed(&path.field("request"), request, names::dns_label(request));
            }
            // The whole claim includes every request of it.
            let overlaps = request.is_empty()
                && seen.range((name, "")..).next().is_some_and(|(other, _)| *other == name);
            if overlaps || !seen.insert((name, request)) {
                causes.duplicate(&path, &format!("{name}/{request}"));
            }
            seen.insert((name, request));
        }
        if !known.contains(name) {
            causes.not_found(&path, name);
        }
    }
}

fn validate_resize(
    policies: &[ContainerResizePolicy],
    pod_policy: &str,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let mut seen = BTreeSet::new();
    for (index, policy) in policies.iter().enumerate() {
        if !seen.insert(policy.resource_name.as_str()) {
            causes.duplicate(&path.index(index), &policy.resource_name);
        }
        one_of(&policy.resource_name, &["cpu", "memory"], path, causes);
        one_of(&policy.restart_policy, &["NotRequired", "RestartContainer"], path, causes);
        if pod_policy == "Never" && policy.restart_policy != "NotRequired" {
            causes.invalid(path, "must be NotRequired in a pod whose restartPolicy is Never");
        }
    }
}

fn validate_restart(container: &Container, path: &Path<'_>, causes: &mut Causes) {
    const POLICIES: [&str; 3] = ["Always", "Never", "OnFailure"];
    let rules = &container.restart_policy_rules;
    match container.restart_policy.as_deref() {
        None if rules.is_empty() => return,
        None => causes.required(&path.field("restartPolicy"), "must be set when restartPolicyRules is set"),
        Some(policy) if !POLICIES.contains(&policy) => {
            causes.not_supported(&path.field("restartPolicy"), policy, &POLICIES);
        }
        Some(_) => {}
    }
    let path = path.field("restartPolicyRules");
    if rules.len() > RULES_MAX {
        causes.too_many(&path, rules.len(), RULES_MAX);
    }
    for (index, rule) in rules.iter().enumerate() {
        validate_rule(rule, &path.index(index), causes);
    }
}

fn validate_rule(rule: &ContainerRestartRule, path: &Path<'_>, causes: &mut Causes) {
    const ACTIONS: [&str; 2] = ["Restart", "RestartAllContainers"];
    if !ACTIONS.contains(&rule.action.as_str()) {
        causes.not_supported(&path.field("action"), &rule.action, &ACTIONS);
    }
    let path = path.field("exitCodes");
    let Some(codes) = &rule.exit_codes else {
        causes.required(&path, "must be set");
        return;
    };
    if !matches!(codes.operator.as_str(), "In" | "NotIn") {
        causes.not_supported(&path.field("operator"), &codes.operator, &["In", "NotIn"]);
    }
    if codes.values.len() > EXIT_CODES_MAX {
        causes.too_many(&path.field("values"), codes.values.len(), EXIT_CODES_MAX);
    }
}
