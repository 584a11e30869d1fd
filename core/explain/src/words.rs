//! Everything that an explanation says, as parts of sentences: in the words of the Kubernetes documentation, with numbers and names.

use std::fmt::Display;

use decisions::node_refusal::{NodeRefusal, ResourceName, Shortage};
use model::claim::ClaimId;
use model::pod::PodId;

use crate::audience::Shown;
use crate::constraint::{Constraint, Entry};
use crate::edit::Edit;
use crate::remedies::LeadsTo;

/// A number of things: `1 node`, `2 nodes`.
pub(crate) fn number(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Things separated by commas.
pub(crate) fn list(all: impl IntoIterator<Item = impl Display>) -> String {
    all.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join(", ")
}

/// Some names of things of which there may be more: `a, b and 3 more`.
pub(crate) fn some(named: &[impl Display], count: usize) -> String {
    match count.saturating_sub(named.len()) {
        0 => list(named),
        more => format!("{} and {more} more", list(named)),
    }
}

/// A pod.
pub(crate) fn pod(pod: &Shown<PodId>) -> String {
    pod.named().map_or_else(|| "a pod in another namespace".to_owned(), |id| format!("pod {id}"))
}

/// A claim.
pub(crate) fn claim(claim: &Shown<ClaimId>) -> String {
    claim.named().map_or_else(|| "a claim in another namespace".to_owned(), |id| format!("claim {id}"))
}

/// Pods, of which those that may not be named are counted.
pub(crate) fn pods(all: &[Shown<PodId>]) -> String {
    let named: Vec<String> = all.iter().filter_map(Shown::named).map(|id| format!("pod {id}")).collect();
    let hidden = match all.len() - named.len() {
        0 => None,
        1 => Some("a pod in another namespace".to_owned()),
        count => Some(format!("{count} pods in other namespaces")),
    };
    list(named.into_iter().chain(hidden))
}

/// A claim as the pods name it.
pub(crate) fn entry(claim: &Entry) -> String {
    match &claim.claim {
        Some(id) => format!("claim {id}"),
        None => format!("claim {}", claim.entry),
    }
}

/// The name of a resource.
pub(crate) fn resource(name: &ResourceName) -> &str {
    match name {
        ResourceName::Pods => "pods",
        ResourceName::Cpu => "cpu",
        ResourceName::Memory => "memory",
        ResourceName::EphemeralStorage => "ephemeral-storage",
        ResourceName::Other(name) => name,
    }
}

/// An amount of a resource, as Kubernetes writes it.
pub(crate) fn amount(name: &ResourceName, amount: i64) -> String {
    match name {
        ResourceName::Cpu if amount % 1_000 == 0 => format!("{}", amount / 1_000),
        ResourceName::Cpu => format!("{amount}m"),
        ResourceName::Memory | ResourceName::EphemeralStorage => bytes(amount),
        ResourceName::Pods | ResourceName::Other(_) => amount.to_string(),
    }
}

fn bytes(amount: i64) -> String {
    let units = [(1_i64 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
    let unit = units.iter().find(|(size, _)| amount != 0 && amount % size == 0);
    unit.map_or_else(|| amount.to_string(), |(size, unit)| format!("{}{unit}", amount / size))
}

/// What a filter says of a node, with its numbers.
pub(crate) fn rule(rule: &NodeRefusal) -> String {
    match rule {
        NodeRefusal::OtherNode => "the pod names another node".to_owned(),
        NodeRefusal::Unschedulable => "the node is cordoned".to_owned(),
        NodeRefusal::Taint(taint) => {
            let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
            format!("the pod does not tolerate taint {}{value}:{}", taint.key, taint.effect.name())
        }
        NodeRefusal::NotNamed => "the pod's node affinity excludes the node".to_owned(),
        NodeRefusal::NamesConflict => {
            "the terms of the pod's node affinity name no node in common".to_owned()
        }
        NodeRefusal::NodeAffinity => {
            "the node does not match the pod's node selector or node affinity".to_owned()
        }
        NodeRefusal::EnforcedNodeAffinity => {
            "the node does not match the node affinity that the scheduler's configuration adds".to_owned()
        }
        NodeRefusal::Port(port) => format!("host port {}/{} is in use", port.port, port.protocol),
        NodeRefusal::Short(shortages) => list(shortages.iter().map(shortage)),
        NodeRefusal::NoSpreadLabel { key } => {
            format!("the node lacks label {key}, by which the pod is spread")
        }
        NodeRefusal::Skewed { key, here, least, max_skew } => format!(
            "its {key} would have {here} matching pods, while another has {least}, and maxSkew is {max_skew}"
        ),
        NodeRefusal::NotNear => "no pod matches the pod's required pod affinity".to_owned(),
        NodeRefusal::NotApart { key } => {
            format!("the pod's anti-affinity excludes a pod in the same {key}")
        }
        NodeRefusal::Unwelcome { key } => {
            format!("the anti-affinity of a pod in the same {key} excludes the pod")
        }
        NodeRefusal::ClaimInUse => {
            "another pod uses a PersistentVolumeClaim with access mode ReadWriteOncePod".to_owned()
        }
        NodeRefusal::TooManyVolumes { driver, count, max } => {
            format!("it would have {count} volumes of driver {driver}; the limit is {max}")
        }
        NodeRefusal::Feature { feature } => format!("the node does not declare feature {feature}"),
        NodeRefusal::DiskInUse
        | NodeRefusal::Volume(_)
        | NodeRefusal::DriverMissing { .. }
        | NodeRefusal::Volumes(_)
        | NodeRefusal::VolumeZone { .. } => rule.to_string(),
    }
}

fn shortage(short: &Shortage) -> String {
    let Shortage { of, requested, used, capacity } = short;
    let free = (capacity - used).max(0);
    match of {
        ResourceName::Pods => format!("it has {used} pods, which is its limit"),
        of => format!(
            "the pod requests {} {}, {} of {} are free",
            amount(of, *requested),
            resource(of),
            amount(of, free),
            amount(of, *capacity)
        ),
    }
}

/// A constraint.
pub(crate) fn constraint(constraint: &Constraint) -> String {
    match constraint {
        Constraint::NodeSelector => "the pod's node selector".to_owned(),
        Constraint::NodeAffinity => "the pod's required node affinity".to_owned(),
        Constraint::AddedAffinity => "the node affinity that the scheduler's configuration adds".to_owned(),
        Constraint::Taint { key, effect } => format!("taint {key}:{effect}, which the pod does not tolerate"),
        Constraint::Cordon => "nodes that are cordoned".to_owned(),
        Constraint::Feature(feature) => format!("feature {feature}, which the node must declare"),
        Constraint::Resource(ResourceName::Pods) => "the maximum number of pods of a node".to_owned(),
        Constraint::Resource(name) => format!("the pod's request for {}", resource(name)),
        Constraint::HostPort(port) => format!("host port {}/{}", port.port, port.protocol),
        Constraint::Spread { key, .. } => format!("the pod's topology spread constraint over {key}"),
        Constraint::PodAffinity { key, .. } => format!("the pod's required pod affinity (topologyKey {key})"),
        Constraint::PodAntiAffinity { key, .. } => {
            format!("the pod's required pod anti-affinity (topologyKey {key})")
        }
        Constraint::ExistingAntiAffinity => "the pod anti-affinity of running pods".to_owned(),
        Constraint::Volume(name) => format!("PersistentVolumeClaim {name}"),
        Constraint::Disks => "disks that the pod mounts directly".to_owned(),
        Constraint::Nominations => "resources reserved for nominated pods".to_owned(),
        Constraint::Claim(claim) => entry(claim),
        Constraint::Count { claim, request, count } => match count {
            Some(count) => {
                format!("{} for request {request} of {}", number(*count as usize, "device"), entry(claim))
            }
            None => format!("request {request} of {}", entry(claim)),
        },
        Constraint::Class { claim, request, class } => {
            format!("class {class} of request {request} of {}", entry(claim))
        }
        Constraint::Selector { claim, request, index } => {
            format!("selector {index} of request {request} of {}", entry(claim))
        }
        Constraint::Capacity { claim, request } => {
            format!("the capacity that request {request} of {} asks for", entry(claim))
        }
        Constraint::DeviceTaints { claim, request } => {
            format!("taints of devices that request {request} of {} does not tolerate", entry(claim))
        }
        Constraint::Attribute { claim, index, attribute, is_distinct } => {
            let kind = if *is_distinct { "distinctAttribute" } else { "matchAttribute" };
            match attribute {
                Some(attribute) => format!("{kind} {attribute} of {}", entry(claim)),
                None => format!("constraint {index} of {}", entry(claim)),
            }
        }
        Constraint::HeldDevices => "devices that are allocated already".to_owned(),
        Constraint::Topology { group, level } => {
            format!("one domain of {level} for all pods of group {}", group.name)
        }
        Constraint::DeviceSet { group, attribute, .. } => {
            let set = attribute.as_ref().map_or("pool".to_owned(), ToString::to_string);
            format!("devices of one {set} for claims of group {}", group.name)
        }
        Constraint::MinCount { group, count } => format!("minCount {count} of group {}", group.name),
    }
}

/// A change, as something that may happen: it is followed by what it leads to. The pods are those that ask.
pub(crate) fn edit(edit: &Edit, pods: &str) -> String {
    match edit {
        Edit::FreeClaim(one) => format!("{}, which no pod uses, is deallocated", claim(one)),
        Edit::Uncordon(node) => format!("node {node} is uncordoned"),
        Edit::RemoveTaint { node, key, value, effect } => {
            let value = if value.is_empty() { String::new() } else { format!("={value}") };
            format!("taint {key}{value}:{effect} is removed from node {node}")
        }
        Edit::LowerRequest { resource: name, to } => {
            format!("{pods} requests {} {}", amount(name, *to), resource(name))
        }
        Edit::LowerCount { claim, request, to } => {
            format!("request {request} of {} asks for {}", entry(claim), number(*to as usize, "device"))
        }
        Edit::LowerMinCount { group, to } => format!("minCount of group {} is {to}", group.name),
        Edit::EndPod { pod: one, node } => format!("{} on node {node} ends", pod(one)),
        Edit::Drop(Constraint::Taint { key, effect }) => format!("{pods} tolerates taint {key}:{effect}"),
        Edit::Drop(Constraint::DeviceTaints { claim, request }) => {
            format!("request {request} of {} tolerates the taints of devices", entry(claim))
        }
        Edit::Drop(one) => format!("without {}", constraint(one)),
        Edit::RaisePriority { to } => format!("{pods} has priority {to}"),
        Edit::AddDevices { like, node, count } => {
            format!("node {node} has {count} more device{} like {like}", if *count == 1 { "" } else { "s" })
        }
        Edit::AddNode { like } => format!("a node like {like} is added"),
    }
}

/// What a remedy leads to.
pub(crate) fn leads_to(leads_to: &LeadsTo, subject: &str) -> String {
    match leads_to {
        LeadsTo::Place(node) => format!("{subject} fits on node {node}"),
        LeadsTo::Preemption { node, count, victims } => {
            let more = match count - victims.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{subject} fits on node {node} by preemption of {}{more}", pods(victims))
        }
    }
}
