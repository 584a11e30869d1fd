//! What must hold of a pod's spec, in a pod and in the template of a controller.

use std::collections::BTreeSet;

use gates::Gate;
use objects::core::pod::{PodResourceClaim, PodSchedulingGate, PodSpec};
use objects::meta::ObjectMeta;
use schema::Path;

use crate::addresses;
use crate::cause::Causes;
use crate::kind::Context;
use crate::kinds::container::{self, Surrounding, one_of};
use crate::kinds::image;
use crate::kinds::pod_placement;
use crate::kinds::pod_resources;
use crate::kinds::resource_names::validate_container_name;
use crate::kinds::volume;
use crate::metadata::label_map;
use crate::names;

const HOSTNAME_BYTES_MAX: usize = 64;
/// Pods that a kubelet makes from files are shown in the API with this annotation.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";

/// Whose spec it is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Owner {
    Pod,
    Template,
}

/// What a spec may say, because its feature is on or because the stored spec says it already.
#[derive(Clone, Copy)]
struct Allowed {
    /// Tolerations by `Gt` and `Lt`.
    comparisons: bool,
    /// Users of its own on the node's network.
    host_network_with_own_users: bool,
    /// Users of its own, and devices that are raw volumes.
    volume_devices_with_own_users: bool,
}

impl Allowed {
    fn new(old: Option<&PodSpec>, context: &Context<'_>) -> Self {
        let stored = |says: fn(&PodSpec) -> bool| old.is_some_and(says);
        let with_own_users =
            |says: fn(&PodSpec) -> bool| old.is_some_and(|spec| spec.host_users == Some(false) && says(spec));
        Allowed {
            comparisons: context.has(Gate::TaintTolerationComparisonOperators)
                || stored(|spec| {
                    spec.tolerations.iter().any(|one| matches!(one.operator.as_str(), "Gt" | "Lt"))
                }),
            host_network_with_own_users: context.has(Gate::UserNamespacesHostNetworkSupport)
                || with_own_users(|spec| spec.host_network),
            volume_devices_with_own_users: with_own_users(|spec| {
                let mut all = spec.init_containers.iter().chain(&spec.containers);
                all.any(|container| !container.volume_devices.is_empty())
            }),
        }
    }
}

/// Defaults that pods and templates share.
pub(crate) fn set_defaults(spec: &mut PodSpec) {
    volume::set_defaults(spec);
    image::set_pull_policies(spec);
    if spec.service_account_name.is_empty() {
        spec.service_account_name.clone_from(&spec.service_account);
    }
    spec.service_account.clone_from(&spec.service_account_name);
}

/// The rules for a spec. `old` is the stored one.
pub(crate) fn validate(
    spec: &PodSpec,
    meta: &ObjectMeta,
    owner: Owner,
    old: Option<&PodSpec>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let allowed = Allowed::new(old, context);
    if spec.termination_grace_period_seconds.is_none() {
        causes.required(&path.field("terminationGracePeriodSeconds"), "must be set");
    }
    let volumes = volume::validate(spec, &meta.name, &path.field("volumes"), causes);
    validate_resource_claims(&spec.resource_claims, meta, &path.field("resourceClaims"), causes);
    let pod = Surrounding {
        claims: spec.resource_claims.iter().map(|claim| claim.name.as_str()).collect(),
        volumes,
        restart_policy: &spec.restart_policy,
        grace_period_seconds: spec.termination_grace_period_seconds,
    };
    container::validate_main(&spec.containers, &pod, &path.field("containers"), causes);
    let init = path.field("initContainers");
    container::validate_init(&spec.init_containers, &spec.containers, &pod, &init, causes);
    pod_resources::validate(spec, &pod.claims, path, causes);
    validate_host_network(spec, owner, path, causes);
    validate_host_users(spec, allowed, path, causes);
    validate_policies(spec, path, causes);
    label_map(&spec.node_selector, &path.field("nodeSelector"), causes);
    if let Some(affinity) = &spec.affinity {
        pod_placement::validate_affinity(affinity, &path.field("affinity"), causes);
    }
    for (index, gate) in spec.readiness_gates.iter().enumerate() {
        let path = path.field("readinessGates");
        let path = path.index(index);
        causes.malformed(
            &path.field("conditionType"),
            &gate.condition_type,
            names::label_key(&gate.condition_type),
        );
    }
    validate_gates(&spec.scheduling_gates, &path.field("schedulingGates"), causes);
    let spread = path.field("topologySpreadConstraints");
    pod_placement::validate_spread(&spec.topology_spread_constraints, &spread, context, causes);
    validate_names(spec, path, causes);
    let tolerations = path.field("tolerations");
    pod_placement::validate_tolerations(&spec.tolerations, allowed.comparisons, &tolerations, causes);
    validate_host_aliases(spec, &path.field("hostAliases"), causes);
    validate_overhead(spec, &path.field("overhead"), causes);
    validate_group(spec, &path.field("schedulingGroup"), causes);
}

fn validate_resource_claims(
    claims: &[PodResourceClaim],
    meta: &ObjectMeta,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    if !claims.is_empty() && meta.annotations.contains_key(MIRROR) {
        // Quirk: the object as a whole is named so.
        causes.forbidden(&Path::ROOT.key(""), "a static pod cannot use claims");
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, claim) in claims.iter().enumerate() {
        let path = path.index(index);
        let name = path.field("name");
        if claim.name.is_empty() {
            causes.required(&name, "must be set");
        } else if !seen.insert(claim.name.as_str()) {
            causes.duplicate(&name, &claim.name);
        } else {
            causes.malformed(&name, &claim.name, names::dns_label(&claim.name));
        }
        match (&claim.resource_claim_name, &claim.resource_claim_template_name) {
            (Some(_), Some(_)) => causes
                .invalid(&path, "only one of resourceClaimName and resourceClaimTemplateName can be set"),
            (None, None) => {
                causes.invalid(&path, "resourceClaimName or resourceClaimTemplateName must be set");
            }
            _ => {}
        }
        for (field, value) in [
            ("resourceClaimName", &claim.resource_claim_name),
            ("resourceClaimTemplateName", &claim.resource_claim_template_name),
        ] {
            if let Some(value) = value {
                causes.malformed(&path.field(field), value, names::dns_subdomain(value));
            }
        }
    }
}

/// On the node's network a port of the container is a port of the node.
fn validate_host_network(spec: &PodSpec, owner: Owner, path: &Path<'_>, causes: &mut Causes) {
    if !spec.host_network {
        return;
    }
    let containers = path.field("containers");
    for (index, container) in spec.containers.iter().enumerate() {
        let path = containers.index(index);
        let ports = path.field("ports");
        for (at, port) in container.ports.iter().enumerate() {
            let set = owner == Owner::Pod || port.host_port != 0;
            if set && port.host_port != port.container_port {
                causes.invalid(
                    &ports.index(at).field("hostPort"),
                    "must be the containerPort, because hostNetwork is true",
                );
            }
        }
    }
}

/// Users of its own go with no other namespace of the node, nor with devices that are raw volumes. The words and paths are
/// those of Kubernetes.
fn validate_host_users(spec: &PodSpec, allowed: Allowed, path: &Path<'_>, causes: &mut Causes) {
    const WHY: &str = "Forbidden: when `hostUsers` is false";
    if spec.host_users != Some(false) {
        return;
    }
    let network = spec.host_network && !allowed.host_network_with_own_users;
    for (field, set) in [("hostNetwork", network), ("HostPID", spec.host_pid), ("HostIPC", spec.host_ipc)] {
        if set {
            causes.forbidden(&path.field(field), WHY);
        }
    }
    if allowed.volume_devices_with_own_users {
        return;
    }
    for (name, list) in [("initContainers", &spec.init_containers), ("containers", &spec.containers)] {
        for (index, container) in list.iter().enumerate() {
            if !container.volume_devices.is_empty() {
                causes.forbidden(&path.field(name).index(index).field("volumeDevices"), WHY);
            }
        }
    }
}

fn validate_policies(spec: &PodSpec, path: &Path<'_>, causes: &mut Causes) {
    let restart = ["Always", "OnFailure", "Never"];
    one_of(&spec.restart_policy, &restart, &path.field("restartPolicy"), causes);
    let dns = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    one_of(&spec.dns_policy, &dns, &path.field("dnsPolicy"), causes);
    if let Some(policy) = &spec.preemption_policy {
        preemption_policy(policy, &path.field("preemptionPolicy"), causes);
    }
    if let Some(os) = &spec.os {
        let path = path.field("os");
        if os.name.is_empty() {
            causes.required(&path.field("name"), "must be set");
        } else if !matches!(os.name.as_str(), "linux" | "windows") {
            causes.not_supported(&path, &os.name, &["linux", "windows"]);
        }
    }
    if spec.host_pid && spec.share_process_namespace == Some(true) {
        causes.invalid(&path.field("shareProcessNamespace"), "cannot be set together with hostPID");
    }
    let deadline_max = i64::from(i32::MAX);
    if spec.active_deadline_seconds.is_some_and(|seconds| !(1..=deadline_max).contains(&seconds)) {
        causes.invalid(&path.field("activeDeadlineSeconds"), format!("must be from 1 to {deadline_max}"));
    }
}

/// Whether others may be evicted for the pod.
pub(crate) fn preemption_policy(policy: &str, path: &Path<'_>, causes: &mut Causes) {
    one_of(policy, &["PreemptLowerPriority", "Never"], path, causes);
}

/// Reasons not to schedule the pod yet: label keys, each once.
fn validate_gates(gates: &[PodSchedulingGate], path: &Path<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for (index, gate) in gates.iter().enumerate() {
        let path = path.index(index);
        causes.malformed(&path, &gate.name, names::label_key(&gate.name));
        if !seen.insert(gate.name.as_str()) {
            causes.duplicate(&path, &gate.name);
        }
    }
}

fn validate_names(spec: &PodSpec, path: &Path<'_>, causes: &mut Causes) {
    if let Some(hostname) = &spec.hostname_override {
        let path = path.field("hostnameOverride");
        if spec.set_hostname_as_fqdn == Some(true) {
            causes.forbidden(&path, "cannot be set together with setHostnameAsFQDN");
        }
        if spec.host_network {
            causes.forbidden(&path, "cannot be set together with hostNetwork");
        }
        if hostname.len() > HOSTNAME_BYTES_MAX {
            causes.too_long(&path, HOSTNAME_BYTES_MAX);
        }
        causes.malformed(&path, hostname, names::dns_subdomain(hostname));
    }
    for (name, value, form) in [
        ("serviceAccountName", &spec.service_account_name, names::dns_subdomain as fn(&str) -> names::Faults),
        ("nodeName", &spec.node_name, names::dns_subdomain),
        ("hostname", &spec.hostname, names::dns_label),
        ("subdomain", &spec.subdomain, names::dns_label),
        ("priorityClassName", &spec.priority_class_name, names::dns_subdomain),
    ] {
        if !value.is_empty() {
            causes.malformed(&path.field(name), value, form(value));
        }
    }
    if let Some(name) = &spec.runtime_class_name {
        causes.malformed(&path.field("runtimeClassName"), name, names::dns_subdomain(name));
    }
}

fn validate_host_aliases(spec: &PodSpec, path: &Path<'_>, causes: &mut Causes) {
    for (index, alias) in spec.host_aliases.iter().enumerate() {
        let path = path.index(index);
        if let Err(fault) = addresses::address(&alias.ip) {
            causes.invalid(&path.field("ip"), format!("{:?}: {fault}", alias.ip));
        }
        for (at, name) in alias.hostnames.iter().enumerate() {
            causes.malformed(&path.field("hostnames").index(at), name, names::dns_subdomain(name));
        }
    }
}

/// What the runtime takes on top; the rules are those of a container's limits.
fn validate_overhead(spec: &PodSpec, path: &Path<'_>, causes: &mut Causes) {
    if !spec.overhead.is_empty() {
        let limits = objects::core::container::ResourceRequirements {
            limits: spec.overhead.clone(),
            ..Default::default()
        };
        container::validate_resources(&limits, validate_container_name, path, causes);
    }
}

fn validate_group(spec: &PodSpec, path: &Path<'_>, causes: &mut Causes) {
    let Some(group) = &spec.scheduling_group else { return };
    let name = path.field("podGroupName");
    match &group.pod_group_name {
        None => causes.invalid(&name, "must be set, it is the only way to name a group"),
        Some(value) => causes.malformed(&name, value, names::dns_subdomain(value)),
    }
    if !spec.eviction_responders.is_empty() {
        causes.forbidden(path, "cannot be set together with evictionResponders");
    }
}
