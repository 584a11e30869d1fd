//! How much of each node is in use, and nodes that are alike.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::facts::Facts;
use cluster::pools::PoolReach;
use model::device::{PoolId, Reach};
use model::identity::NodeName;
use model::node::Node;

/// How much of something is in use, and how much there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InUse {
    /// In use.
    pub used: i64,
    /// All of it.
    pub all: i64,
}

/// How much of a node, or of several, is in use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Pods.
    pub pods: InUse,
    /// Processor, in thousandths.
    pub cpu_milli: InUse,
    /// Memory, in bytes.
    pub memory: InUse,
    /// Devices of a node's own, by driver. Partitions of one device count each.
    pub devices: BTreeMap<Arc<str>, InUse>,
}

impl InUse {
    fn add(&mut self, other: InUse) {
        self.used = self.used.saturating_add(other.used);
        self.all = self.all.saturating_add(other.all);
    }
}

impl Usage {
    /// Adds what is in use elsewhere.
    pub fn add(&mut self, other: &Usage) {
        self.pods.add(other.pods);
        self.cpu_milli.add(other.cpu_milli);
        self.memory.add(other.memory);
        for (driver, part) in &other.devices {
            self.devices.entry(driver.clone()).or_default().add(*part);
        }
    }
}

/// What is in use of each node by name, and of devices that several nodes reach, by driver.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClusterUsage {
    /// By node.
    pub nodes: BTreeMap<NodeName, Usage>,
    /// Devices that several nodes reach, by driver.
    pub shared: BTreeMap<Arc<str>, InUse>,
}

/// What is in use of each node.
#[must_use]
pub fn usage(facts: &Facts) -> ClusterUsage {
    let mut found = ClusterUsage::default();
    for (_, state) in facts.nodes.iter() {
        let Some(node) = &state.node else { continue };
        let part = |used: i64, all: i64| InUse { used, all };
        let usage = Usage {
            pods: part(i64::try_from(state.pods.len()).unwrap_or(i64::MAX), node.pods_max),
            cpu_milli: part(state.used.cpu_milli, node.allocatable.cpu_milli),
            memory: part(state.used.memory, node.allocatable.memory),
            devices: BTreeMap::new(),
        };
        found.nodes.insert(node.name.clone(), usage);
    }
    let newest = generations(facts);
    for published in facts.slices.iter() {
        let slice = &published.slice;
        if newest.get(&slice.pool) != Some(&slice.generation) {
            continue;
        }
        let count = i64::try_from(slice.devices.len()).unwrap_or(i64::MAX);
        found.part(facts, &slice.pool).all += count;
    }
    let mut counted = BTreeSet::new();
    for claim in facts.claims.iter() {
        let Some(allocated) = &claim.allocation else { continue };
        for held in &allocated.held {
            // Several claims may hold a share of one device each.
            if held.share.is_none() || counted.insert(&held.device) {
                found.part(facts, &held.device.pool_id()).used += 1;
            }
        }
    }
    // What a claim holds and no slice has any more is of no node.
    found.shared.retain(|_, part| part.all > 0);
    found.nodes.values_mut().for_each(|usage| usage.devices.retain(|_, part| part.all > 0));
    found
}

impl ClusterUsage {
    /// The devices of a pool's driver, where they are.
    fn part(&mut self, facts: &Facts, pool: &PoolId) -> &mut InUse {
        let node = match facts.slices.node_of(pool) {
            PoolReach::Node(node) => self.nodes.get_mut(node),
            PoolReach::Nowhere | PoolReach::Several => None,
        };
        let by_driver = match node {
            Some(usage) => &mut usage.devices,
            None => &mut self.shared,
        };
        by_driver.entry(pool.driver.clone()).or_default()
    }
}

fn generations(facts: &Facts) -> BTreeMap<PoolId, i64> {
    let mut newest = BTreeMap::new();
    for published in facts.slices.iter() {
        let known = newest.entry(published.slice.pool.clone()).or_insert(published.slice.generation);
        *known = (*known).max(published.slice.generation);
    }
    newest
}

/// Nodes that are alike: what they have, their taints and their own devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LikeNodes {
    /// Their names, in natural order.
    pub nodes: Vec<NodeName>,
}

/// All nodes, put together with those that are like them; the largest group first.
#[must_use]
pub fn like_nodes(facts: &Facts) -> Vec<LikeNodes> {
    let mut devices: BTreeMap<&NodeName, BTreeMap<(&Arc<str>, String), usize>> = BTreeMap::new();
    for published in facts.slices.iter() {
        let Reach::Node(node) = &published.slice.reach else { continue };
        let of_node = devices.entry(node).or_default();
        for device in &published.slice.devices {
            let kind = device.attributes.iter().filter(|(key, _)| is_of_kind(key));
            let kind = kind.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
            *of_node.entry((&published.slice.pool.driver, kind)).or_default() += 1;
        }
    }
    let mut groups: BTreeMap<String, Vec<NodeName>> = BTreeMap::new();
    for node in facts.nodes.iter().filter_map(|(_, state)| state.node.as_ref()) {
        let key = format!("{} {:?}", kind_of(node), devices.get(&node.name));
        groups.entry(key).or_default().push(node.name.clone());
    }
    let mut all: Vec<LikeNodes> = groups.into_values().map(|nodes| LikeNodes { nodes }).collect();
    for group in &mut all {
        group.nodes.sort_by(|one, other| natural(one, other));
    }
    all.sort_by(|one, other| {
        let by_size = other.nodes.len().cmp(&one.nodes.len());
        by_size.then_with(|| natural(&one.nodes[0], &other.nodes[0]))
    });
    all
}

/// What tells kinds of nodes apart.
fn kind_of(node: &Node) -> String {
    let kind = node.labels.get("node.kubernetes.io/instance-type");
    let Node { allocatable, pods_max, taints, unschedulable, .. } = node;
    format!("{kind:?} {allocatable:?} {pods_max} {taints:?} {unschedulable}")
}

/// Whether an attribute says of which kind a device is, and not which one it is.
fn is_of_kind(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key).to_ascii_lowercase();
    ["model", "productname", "type", "profile", "brand", "architecture"].contains(&name.as_str())
}

/// Names in the order in which people count: `node-2` before `node-10`.
pub(crate) fn natural(one: &str, other: &str) -> Ordering {
    let key = |text: &str| {
        let digits = text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (name, number) = text.split_at(text.len() - digits);
        (name.to_owned(), number.parse::<u64>().unwrap_or(0))
    };
    key(one).cmp(&key(other)).then_with(|| one.cmp(other))
}
