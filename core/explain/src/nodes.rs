//! What removes which nodes: nodes that are removed for the same reasons, and the one that comes nearest.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cluster::facts::Facts;
use cluster::ledger::Holder;
use decisions::node_refusal::{NodeRefusal, ResourceName};
use decisions::pod::Nearest;
use decisions::pod::obstacles::{DeviceObstacle, Obstacles};
use decisions::reason::Reason;
use model::claim::ClaimId;
use model::device::DeviceId;
use model::identity::NodeName;
use model::pod::{Pod, PodId};

use crate::audience::{Audience, Shown};

/// How many names are told of things of which there may be many.
pub const NAMES_MAX: usize = 3;

/// Nodes that are removed for the same reasons.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeGroup {
    /// The reasons.
    pub reasons: Vec<Reason>,
    /// How many nodes.
    pub count: usize,
    /// Some of them by name; the nearest is the first.
    pub examples: Vec<NodeName>,
    /// What filters say of the first of them, with its numbers.
    pub rules: Vec<NodeRefusal>,
    /// What the search for devices says of it.
    pub devices: DeviceLack,
}

/// What a node lacks for claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceLack {
    /// Nothing.
    None,
    /// It was not asked: a filter is against the node, and a bound was met.
    NotAsked,
    /// There are no devices for all claims.
    Lacking {
        /// Why.
        reason: Box<Reason>,
        /// What came closest; of what others hold it names only what may be named.
        nearest: Option<Box<Nearest>>,
        /// The holders of devices that would do.
        holders: Vec<DeviceHolder>,
        /// How many more holders there are.
        more_holders: usize,
    },
}

/// A device that would do, and what holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceHolder {
    /// The device.
    pub device: DeviceId,
    /// The claim or pod that holds it.
    pub holder: HolderName,
}

/// What holds a device, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HolderName {
    /// A claim, and pods that use it.
    Claim(Shown<ClaimId>, Vec<Shown<PodId>>),
    /// A pod, by a claim that is being made for it, or because room is kept for it.
    Pod(Shown<PodId>),
    /// Nothing: the device failed for the pod before.
    Failed,
}

/// The node that comes nearest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NearestNode {
    /// The node.
    pub node: NodeName,
    /// What filters say of it.
    pub rules: Vec<NodeRefusal>,
    /// What it lacks for claims.
    pub devices: DeviceLack,
    /// Pods there that have what is missing, those with the most first.
    pub pods: Vec<Shown<PodId>>,
}

/// How near a node comes: less is nearer. First how many things are missing, then how much of them.
pub(crate) fn distance(node: &Obstacles) -> (usize, u64, Reverse<usize>) {
    let missing: u64 = node.rules.iter().map(shortfall).sum();
    let found = match &node.devices {
        DeviceObstacle::Lacking { nearest: Some(Nearest::Refused { refusal, .. }), .. } => {
            refusal.nearest.as_ref().map_or(0, |miss| miss.found)
        }
        _ => 0,
    };
    (node.count(), missing, Reverse(found))
}

/// How much is missing, in thousandths of what is asked for.
fn shortfall(rule: &NodeRefusal) -> u64 {
    let NodeRefusal::Short(shortages) = rule else { return 0 };
    let share = |requested: i64, lack: i64| lack.max(0) as u64 * 1_000 / requested.max(1) as u64;
    shortages.iter().map(|one| share(one.requested, one.requested - (one.capacity - one.used))).sum()
}

/// Nodes by what removes them, the largest group first.
pub(crate) fn groups(facts: &Facts, audience: &Audience, survey: &[Obstacles]) -> Vec<NodeGroup> {
    let mut by_reasons: BTreeMap<Vec<Reason>, Vec<&Obstacles>> = BTreeMap::new();
    for node in survey.iter().filter(|node| node.count() > 0) {
        by_reasons.entry(reasons(node)).or_default().push(node);
    }
    let group = |(reasons, mut nodes): (Vec<Reason>, Vec<&Obstacles>)| {
        nodes.sort_by_key(|node| distance(node));
        NodeGroup {
            reasons,
            count: nodes.len(),
            examples: nodes.iter().take(NAMES_MAX).map(|node| node.node.clone()).collect(),
            rules: nodes.first().map(|node| node.rules.clone()).unwrap_or_default(),
            devices: nodes.first().map_or(DeviceLack::None, |node| lack(facts, audience, &node.devices)),
        }
    };
    let mut groups: Vec<NodeGroup> = by_reasons.into_iter().map(group).collect();
    groups.sort_by_key(|group| Reverse(group.count));
    groups
}

/// All reasons that remove a node.
#[must_use]
pub fn reasons(node: &Obstacles) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = node.rules.iter().flat_map(NodeRefusal::reasons).collect();
    if let DeviceObstacle::Lacking { reason, .. } = &node.devices {
        reasons.push(Reason::Devices(reason.clone()));
    }
    reasons
}

/// The node that comes nearest, and what holds what it lacks.
pub(crate) fn nearest(facts: &Facts, audience: &Audience, survey: &[Obstacles]) -> Option<NearestNode> {
    let node = survey.iter().filter(|node| node.count() > 0).min_by_key(|node| distance(node))?;
    let state = facts.nodes.get(facts.nodes.find(&node.node)?);
    let mut pods: Vec<(u64, &Pod)> = Vec::new();
    for pod in state.pods.values() {
        let has: u64 = node.rules.iter().map(|rule| share_of(pod, rule)).sum();
        if has > 0 {
            pods.push((has, pod));
        }
    }
    pods.sort_by_key(|(has, pod)| (Reverse(*has), pod.id.clone()));
    Some(NearestNode {
        node: node.node.clone(),
        rules: node.rules.clone(),
        devices: lack(facts, audience, &node.devices),
        pods: pods.into_iter().take(NAMES_MAX).map(|(_, pod)| audience.show(pod.id.clone())).collect(),
    })
}

/// How much a pod has of what a rule is about.
pub(crate) fn share_of(pod: &Pod, rule: &NodeRefusal) -> u64 {
    let requests = &pod.shape.requests;
    match rule {
        NodeRefusal::Short(shortages) => {
            let of = |resource: &ResourceName| match resource {
                ResourceName::Pods => 1,
                ResourceName::Cpu => requests.cpu_milli,
                ResourceName::Memory => requests.memory,
                ResourceName::EphemeralStorage => requests.ephemeral_storage,
                ResourceName::Other(name) => requests.get(name),
            };
            shortages.iter().map(|one| of(&one.of).max(0) as u64 * 1_000 / one.requested.max(1) as u64).sum()
        }
        NodeRefusal::Port(port) => u64::from(
            pod.shape.ports.iter().any(|one| one.port == port.port && one.protocol == port.protocol),
        ),
        _ => 0,
    }
}

fn lack(facts: &Facts, audience: &Audience, devices: &DeviceObstacle) -> DeviceLack {
    let (reason, nearest) = match devices {
        DeviceObstacle::None => return DeviceLack::None,
        DeviceObstacle::NotAsked => return DeviceLack::NotAsked,
        DeviceObstacle::Lacking { reason, nearest, .. } => (reason, nearest),
    };
    let mut nearest = nearest.clone();
    let (mut holders, mut more_holders) = (Vec::new(), 0);
    if let Some(Nearest::Refused { refusal, .. }) = &mut nearest
        && let Some(miss) = &mut refusal.nearest
    {
        // They are told beside it, as far as they may be named.
        let all = std::mem::take(&mut miss.holders);
        more_holders = std::mem::take(&mut miss.more_holders);
        let named = |(device, holder): (DeviceId, Holder)| DeviceHolder {
            device,
            holder: holder_name(facts, audience, holder),
        };
        holders = all.into_iter().map(named).collect();
    }
    let reason = Box::new(Reason::Devices(reason.clone()));
    DeviceLack::Lacking { reason, nearest: nearest.map(Box::new), holders, more_holders }
}

fn holder_name(facts: &Facts, audience: &Audience, holder: Holder) -> HolderName {
    match holder {
        Holder::Claim(id) | Holder::Assumed(id) => {
            let users = users(facts, &id).into_iter().map(|pod| audience.show(pod)).collect();
            HolderName::Claim(audience.show(id), users)
        }
        Holder::Made(pod) | Holder::Nominee(pod) => HolderName::Pod(audience.show(pod.id)),
        Holder::FailedFor(_) => HolderName::Failed,
    }
}

/// The pods on nodes that use a claim.
pub(crate) fn users(facts: &Facts, id: &ClaimId) -> Vec<PodId> {
    let Some(state) = facts.claims.get(id) else { return Vec::new() };
    let pod = |uid: &str| facts.nodes.pod(uid).map(|(_, pod)| pod.id.clone());
    let mut users = Vec::new();
    for user in &state.reserved_for {
        match pod(user) {
            Some(id) => users.push(id),
            None => users.extend(facts.groups.seated_by_uid(user).filter_map(|uid| pod(uid))),
        }
    }
    users
}
