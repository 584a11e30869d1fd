//! What the maker of a pod should know although the pod is accepted.

use std::collections::{BTreeMap, BTreeSet};

use objects::core::affinity::{NodeSelectorTerm, PodAffinityTerm, WeightedPodAffinityTerm};
use objects::core::container::{Container, ContainerPort};
use objects::core::pod::{Pod, PodSpec};

use crate::kinds::volume::sources;
use crate::names;

/// Labels that nodes had in former releases, and what replaced them.
const OLD_LABELS: [(&str, &str); 8] = [
    ("app.kubernetes.io/created-by", "no label"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"),
    ("scheduler.alpha.kubernetes.io/preferAvoidPods", "taints"),
];
/// Volume sources that no longer do anything, or soon will not.
const OLD_SOURCES: [&str; 9] = [
    "cephfs",
    "flocker",
    "gitRepo",
    "glusterfs",
    "photonPersistentDisk",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
];

/// So many warnings tell a reader enough.
const WARNINGS_MAX: usize = 100;

/// All warnings for a new pod.
pub(crate) fn on_create(pod: &Pod) -> Vec<String> {
    let mut warnings = Vec::new();
    if !names::dns_label(&pod.metadata.name).is_empty() {
        warnings.push(
            "metadata.name: the pod's hostname is made from it, so a DNS label is recommended".to_owned(),
        );
    }
    let spec = &pod.spec;
    labels(spec, &mut warnings);
    selectors(spec, &mut warnings);
    for (index, volume) in spec.volumes.iter().enumerate() {
        for source in sources(volume).into_iter().filter(|name| OLD_SOURCES.contains(name)) {
            warnings.push(format!("spec.volumes[{index}].{source}: deprecated"));
        }
    }
    repeated(spec.host_aliases.iter().map(|alias| &alias.ip), "spec.hostAliases", "ip", &mut warnings);
    let secrets = spec.image_pull_secrets.iter().map(|secret| &secret.name);
    repeated(secrets, "spec.imagePullSecrets", "name", &mut warnings);
    for (index, secret) in spec.image_pull_secrets.iter().enumerate() {
        if secret.name.is_empty() {
            warnings.push(format!("spec.imagePullSecrets[{index}].name: is empty"));
        }
    }
    fractions(&spec.overhead, "spec.overhead", &mut warnings);
    containers(spec, &mut warnings);
    warnings.truncate(WARNINGS_MAX);
    warnings
}

fn each_container(spec: &PodSpec) -> impl Iterator<Item = (String, &Container)> {
    let init = spec.init_containers.iter().enumerate();
    let main = spec.containers.iter().enumerate();
    let init = init.map(|(index, each)| (format!("spec.initContainers[{index}]"), each));
    init.chain(main.map(|(index, each)| (format!("spec.containers[{index}]"), each)))
}

fn replaced(label: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(old, _)| *old == label).map(|(_, new)| *new)
}

fn labels(spec: &PodSpec, warnings: &mut Vec<String>) {
    for (key, new) in spec.node_selector.keys().filter_map(|key| Some((key, replaced(key)?))) {
        warnings.push(format!("spec.nodeSelector[{key}]: deprecated; use {new} instead"));
    }
    let Some(nodes) = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref()) else {
        return;
    };
    let affinity = "spec.affinity.nodeAffinity";
    let required = nodes.required_during_scheduling_ignored_during_execution.iter();
    let required =
        required.flat_map(|selector| &selector.node_selector_terms).enumerate().map(|(index, term)| {
            (
                format!(
                    "{affinity}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{index}]"
                ),
                term,
                false,
            )
        });
    let preferred = nodes.preferred_during_scheduling_ignored_during_execution.iter().enumerate();
    let preferred = preferred.map(|(index, term)| {
        (
            format!("{affinity}.preferredDuringSchedulingIgnoredDuringExecution[{index}].preference"),
            &term.preference,
            true,
        )
    });
    for (path, term, wish) in required.chain(preferred) {
        node_term(&path, term, wish, warnings);
    }
}

fn node_term(path: &str, term: &NodeSelectorTerm, wish: bool, warnings: &mut Vec<String>) {
    for (index, requirement) in term.match_expressions.iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        if let Some(new) = replaced(&requirement.key) {
            warnings.push(format!("{path}.key: {:?} is deprecated; use {new} instead", requirement.key));
        }
        if wish {
            for (at, value) in requirement.values.iter().enumerate() {
                if !names::label_value(value).is_empty() {
                    warnings.push(format!("{path}.values[{at}]: no label can have the value {value:?}"));
                }
            }
        }
    }
}

/// A selector that is left out picks no pod, which is seldom meant.
fn selectors(spec: &PodSpec, warnings: &mut Vec<String>) {
    const NOTHING: &str = "without a labelSelector no pod counts";
    for (index, constraint) in spec.topology_spread_constraints.iter().enumerate() {
        let path = format!("spec.topologySpreadConstraints[{index}]");
        if let Some(new) = replaced(&constraint.topology_key) {
            warnings.push(format!(
                "{path}.topologyKey: {} is deprecated; use {new} instead",
                constraint.topology_key
            ));
        }
        if constraint.label_selector.is_none() {
            warnings.push(format!("{path}.labelSelector: {NOTHING}"));
        }
    }
    let Some(affinity) = &spec.affinity else { return };
    let mut terms = |name: &str, required: &[PodAffinityTerm], preferred: &[WeightedPodAffinityTerm]| {
        let required = required
            .iter()
            .enumerate()
            .map(|(index, term)| (format!("requiredDuringSchedulingIgnoredDuringExecution[{index}]"), term));
        let preferred = preferred.iter().enumerate().map(|(index, term)| {
            let path = format!("preferredDuringSchedulingIgnoredDuringExecution[{index}].podAffinityTerm");
            (path, &term.pod_affinity_term)
        });
        for (path, _) in required.chain(preferred).filter(|(_, term)| term.label_selector.is_none()) {
            warnings.push(format!("spec.affinity.{name}.{path}.labelSelector: {NOTHING}"));
        }
    };
    if let Some(near) = &affinity.pod_affinity {
        terms(
            "podAffinity",
            &near.required_during_scheduling_ignored_during_execution,
            &near.preferred_during_scheduling_ignored_during_execution,
        );
    }
    if let Some(far) = &affinity.pod_anti_affinity {
        terms(
            "podAntiAffinity",
            &far.required_during_scheduling_ignored_during_execution,
            &far.preferred_during_scheduling_ignored_during_execution,
        );
    }
}

fn repeated<'a>(keys: impl Iterator<Item = &'a String>, list: &str, field: &str, warnings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, key) in keys.enumerate() {
        if !seen.insert(key) {
            warnings.push(format!("{list}[{index}].{field}: {key:?} comes twice"));
        }
    }
}

/// Bytes come whole.
fn fractions(amounts: &BTreeMap<String, objects::Quantity>, path: &str, warnings: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        if amounts.get(name).is_some_and(|amount| amount.0.milli_value() % 1000 != 0) {
            warnings.push(format!("{path}[{name}]: a part of a byte is meaningless"));
        }
    }
}

fn containers(spec: &PodSpec, warnings: &mut Vec<String>) {
    let mut ports = Ports::default();
    let mut port_names = BTreeSet::new();
    for (path, container) in each_container(spec) {
        fractions(&container.resources.limits, &format!("{path}.resources.limits"), warnings);
        fractions(&container.resources.requests, &format!("{path}.resources.requests"), warnings);
        let mut variables = BTreeSet::new();
        for (index, variable) in container.env.iter().enumerate() {
            let reference = format!("$({})", variable.name);
            let builds_on = variable.value_from.is_none()
                && variable.value != reference
                && variable.value.contains(&reference);
            if !variables.insert(variable.name.as_str()) && !builds_on {
                warnings.push(format!("{path}.env[{index}]: hides the {:?} before it", variable.name));
            }
        }
        for (index, port) in container.ports.iter().enumerate() {
            let here = format!("{path}.ports[{index}]");
            if !port.host_ip.is_empty() && port.host_port == 0 {
                warnings.push(format!("{here}: hostIP does nothing without hostPort"));
            }
            let room = WARNINGS_MAX.saturating_sub(warnings.len());
            for there in ports.overlapping(port, room) {
                warnings.push(format!("{here}: overlaps with {there}"));
            }
            if !port.name.is_empty() && !port_names.insert(port.name.as_str()) {
                warnings.push(format!("{here}: another port is named {:?} too", port.name));
            }
            ports.add(here, port);
        }
    }
}

/// Ports that came before, such that those which overlap with one are found without looking at the others.
#[derive(Default)]
struct Ports<'a> {
    paths: Vec<String>,
    alike: BTreeMap<(i32, &'a str), Alike<'a>>,
}

/// Positions of ports with the same number and protocol.
#[derive(Default)]
struct Alike<'a> {
    all: Vec<usize>,
    by_host_port: BTreeMap<i32, Hosts<'a>>,
}

/// Positions of ports with the same host port.
#[derive(Default)]
struct Hosts<'a> {
    everywhere: Vec<usize>,
    by_address: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Ports<'a> {
    fn add(&mut self, path: String, port: &'a ContainerPort) {
        let at = self.paths.len();
        self.paths.push(path);
        let alike = self.alike.entry((port.container_port, &port.protocol)).or_default();
        alike.all.push(at);
        let hosts = alike.by_host_port.entry(port.host_port).or_default();
        match port.host_ip.as_str() {
            "" => hosts.everywhere.push(at),
            address => hosts.by_address.entry(address).or_default().push(at),
        }
    }

    /// The paths of at most so many ports that overlap with this one: equal ones, those on all addresses with those on one,
    /// and those without a host port with all.
    fn overlapping(&self, port: &ContainerPort, most: usize) -> impl Iterator<Item = &String> {
        let mut found: Vec<usize> = Vec::new();
        if let Some(alike) = self.alike.get(&(port.container_port, port.protocol.as_str())) {
            if port.host_port == 0 {
                found.extend(alike.all.iter().take(most));
            } else {
                let free = alike.by_host_port.get(&0).into_iter();
                let same = alike.by_host_port.get(&port.host_port).into_iter();
                let free =
                    free.flat_map(|hosts| hosts.everywhere.iter().chain(hosts.by_address.values().flatten()));
                let same = same.flat_map(|hosts| {
                    let own = hosts.by_address.get(port.host_ip.as_str()).into_iter().flatten();
                    let each_max = if port.host_ip.is_empty() { most } else { 0 };
                    let each = hosts.by_address.values().flatten().take(each_max);
                    hosts.everywhere.iter().chain(own).chain(each)
                });
                found.extend(free.take(most));
                found.extend(same.take(most));
            }
        }
        found.sort_unstable();
        found.truncate(most);
        found.into_iter().map(|at| &self.paths[at])
    }
}
