//! Nodes and devices summed up by domains: the values that nodes have for the labels of a topology.
//!
//! Invariant: a node is in one domain of each level at most, below the domain of the coarser levels that it is in. A device
//! counts in a domain if every node that reaches it is there.
//!
//! Fragmentation is about devices that are wanted together: of the free devices of a driver in a domain, the part that the node
//! which can use the most of them cannot use. It is 0 when one node can use all of them, and near 100 when each node has one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::facts::Facts;
use model::identity::NodeName;
use model::node::Node;

use crate::devices::{DeviceRow, DeviceState};
use crate::natural::natural;
use crate::observed::Observed;
use crate::place::DevicePlace;

/// The label of zones, which every cluster knows.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The label that is the name of a node.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// A domain: the nodes that have one value for a label.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Domain {
    /// The label; nothing for all nodes of the cluster.
    pub level: Option<Arc<str>>,
    /// Its value.
    pub name: Arc<str>,
    /// Its nodes.
    pub nodes: Vec<NodeName>,
    /// Its devices, by driver.
    pub by_driver: BTreeMap<Arc<str>, Tally>,
    /// The same by the classes whose selectors pick them.
    pub by_class: BTreeMap<Arc<str>, Tally>,
    /// How many pods are on its nodes.
    pub pods: usize,
    /// What its nodes have for pods and pods do not use.
    pub free: Resources,
    /// The domains of finer levels in it.
    pub domains: Vec<Domain>,
    /// Its nodes that are in none of these.
    pub elsewhere: Vec<NodeName>,
}

/// Amounts of what every node has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Resources {
    /// Processor, in thousandths.
    pub cpu_milli: i64,
    /// Memory, in bytes.
    pub memory: i64,
}

/// Devices, counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// All of them.
    pub devices: usize,
    /// Those that a claim could get.
    pub free: usize,
    /// Those that claims hold, wholly or in part.
    pub allocated: usize,
    /// The node that can use the most free ones, and how many these are.
    pub largest_on_node: Option<(NodeName, usize)>,
    /// The domain of the next level with the most free ones, and how many it has.
    pub largest_in_domain: Option<(Arc<str>, usize)>,
}

impl Tally {
    /// Of the free devices, how many in a hundred the node that can use the most of them cannot use, rounded; nothing if none is
    /// free.
    #[must_use]
    pub fn fragmentation(&self) -> Option<usize> {
        let most = self.largest_on_node.as_ref().map_or(0, |(_, most)| *most);
        (self.free > 0).then(|| (100 * (self.free - most) + self.free / 2) / self.free)
    }

    fn count(&mut self, state: &DeviceState) {
        self.devices += 1;
        self.free += usize::from(*state == DeviceState::Free);
        self.allocated += usize::from(state.is_held());
    }
}

/// The labels that say in which domain a node is, from the coarsest: those that topologies and pod groups name or, if these name
/// none, zones and host names. Those that no node has are left out.
#[must_use]
pub fn levels(facts: &Facts) -> Vec<Arc<str>> {
    let names: BTreeMap<&Arc<str>, &Arc<str>> = facts
        .groups
        .topologies()
        .flat_map(|topology| &topology.levels)
        .map(|level| (&level.name, &level.key))
        .collect();
    let of_topologies =
        facts.groups.topologies().flat_map(|topology| &topology.levels).map(|level| &level.key);
    let of_groups = facts.groups.levels().into_iter().map(|level| names.get(level).copied().unwrap_or(level));
    let mut keys: Vec<Arc<str>> = Vec::new();
    for key in of_topologies.chain(of_groups) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    if keys.iter().all(|key| values(facts, key) == 0) {
        keys = vec![ZONE.into(), HOSTNAME.into()];
    }
    keys.retain(|key| values(facts, key) > 0);
    // Fewer domains are coarser ones. Levels with as many domains stay in the order of their topology.
    keys.sort_by_cached_key(|key| values(facts, key));
    keys
}

/// How many values the nodes have for a label.
fn values(facts: &Facts, key: &str) -> usize {
    let values: BTreeSet<&Arc<str>> = nodes(facts).filter_map(|node| node.labels.get(key)).collect();
    values.len()
}

fn nodes(facts: &Facts) -> impl Iterator<Item = &Node> {
    facts.nodes.iter().filter_map(|(_, state)| state.node.as_deref())
}

/// The whole cluster, with its domains at these levels.
#[must_use]
pub fn root<'r>(
    observed: &Observed<'_>,
    devices: impl IntoIterator<Item = &'r DeviceRow>,
    levels: &[Arc<str>],
) -> Domain {
    let facts = observed.facts;
    let mut all: Vec<&Node> = nodes(facts).collect();
    all.sort_by(|one, other| natural(&one.name, &other.name));
    let mut root = grouped(None, "".into(), &all, levels);
    let mut on_node: BTreeMap<&NodeName, Vec<&DeviceRow>> = BTreeMap::new();
    let mut beyond = Vec::new();
    for row in devices {
        match &row.place {
            DevicePlace::Node(node) => on_node.entry(node).or_default().push(row),
            DevicePlace::Nodes(nodes) if nodes.len() == 1 => {
                nodes.iter().for_each(|node| on_node.entry(node).or_default().push(row));
            }
            DevicePlace::Nodes(_) | DevicePlace::AllNodes => beyond.push(row),
        }
    }
    Tallies { facts, on_node, beyond }.fill(&mut root);
    root
}

/// Nodes in their domains.
fn grouped(level: Option<Arc<str>>, name: Arc<str>, nodes: &[&Node], finer: &[Arc<str>]) -> Domain {
    let mut domain = Domain { level, name, ..Domain::default() };
    domain.nodes = nodes.iter().map(|node| node.name.clone()).collect();
    let Some((key, finer)) = finer.split_first() else { return domain };
    let mut inside: BTreeMap<&Arc<str>, Vec<&Node>> = BTreeMap::new();
    for node in nodes {
        match node.labels.get(key) {
            Some(value) => inside.entry(value).or_default().push(node),
            None => domain.elsewhere.push(node.name.clone()),
        }
    }
    let made =
        inside.into_iter().map(|(value, nodes)| grouped(Some(key.clone()), value.clone(), &nodes, finer));
    domain.domains = made.collect();
    domain.domains.sort_by(|one, other| natural(&one.name, &other.name));
    domain
}

/// Sums up what is in domains.
struct Tallies<'t> {
    facts: &'t Facts,
    /// Devices that one node reaches.
    on_node: BTreeMap<&'t NodeName, Vec<&'t DeviceRow>>,
    /// Devices that several nodes reach, or none.
    beyond: Vec<&'t DeviceRow>,
}

impl Tallies<'_> {
    /// Counts what is in a domain and in those of finer levels.
    fn fill(&self, domain: &mut Domain) {
        domain.domains.iter_mut().for_each(|one| self.fill(one));
        for name in &domain.nodes {
            let Some(at) = self.facts.nodes.find(name) else { continue };
            let state = self.facts.nodes.get(at);
            domain.pods += state.pods.len();
            if let Some(node) = &state.node {
                // A node with more pods than it has room for has nothing free, and takes nothing from others.
                domain.free.cpu_milli += (node.allocatable.cpu_milli - state.used.cpu_milli).max(0);
                domain.free.memory += (node.allocatable.memory - state.used.memory).max(0);
            }
        }
        let rows = self.rows(domain);
        domain.by_driver = tallies(domain, rows.iter().map(|row| (&row.id.driver, *row)));
        let of_classes = rows.iter().flat_map(|row| row.classes.iter().map(|class| (class, *row)));
        domain.by_class = tallies(domain, of_classes);
        compare(domain);
    }

    /// The devices that count in a domain; all of them in the cluster.
    fn rows(&self, domain: &Domain) -> Vec<&DeviceRow> {
        if domain.level.is_none() {
            return self.on_node.values().flatten().chain(&self.beyond).copied().collect();
        }
        let within: BTreeSet<&NodeName> = domain.nodes.iter().collect();
        let is_inside = |row: &&&DeviceRow| match &row.place {
            DevicePlace::Nodes(nodes) => !nodes.is_empty() && nodes.iter().all(|node| within.contains(node)),
            DevicePlace::Node(_) | DevicePlace::AllNodes => false,
        };
        let own = domain.nodes.iter().filter_map(|node| self.on_node.get(node)).flatten();
        own.chain(self.beyond.iter().filter(is_inside)).copied().collect()
    }
}

type ByName = BTreeMap<Arc<str>, Tally>;

/// Devices of a domain, counted by names.
fn tallies<'r>(domain: &Domain, rows: impl Iterator<Item = (&'r Arc<str>, &'r DeviceRow)>) -> ByName {
    let mut tallies = ByName::new();
    // How many free devices each node can use, besides those that all nodes can.
    let mut usable: BTreeMap<&Arc<str>, (BTreeMap<&NodeName, usize>, usize)> = BTreeMap::new();
    for (name, row) in rows {
        tallies.entry(name.clone()).or_default().count(&row.state);
        if row.state != DeviceState::Free {
            continue;
        }
        let (on_node, everywhere) = usable.entry(name).or_default();
        match &row.place {
            DevicePlace::Node(node) => *on_node.entry(node).or_default() += 1,
            DevicePlace::Nodes(nodes) => nodes.iter().for_each(|node| *on_node.entry(node).or_default() += 1),
            DevicePlace::AllNodes => *everywhere += 1,
        }
    }
    for (name, (on_node, everywhere)) in usable {
        let Some(tally) = tallies.get_mut(name) else { continue };
        let free = |node: &NodeName| on_node.get(node).copied().unwrap_or(0) + everywhere;
        let most = domain.nodes.iter().map(free).max().filter(|most| *most > 0);
        // The first of several, in the order of names.
        let node = domain.nodes.iter().find(|node| Some(free(node)) == most);
        tally.largest_on_node = node.cloned().zip(most);
    }
    tallies
}

/// Notes which of the domains in a domain has the most free devices.
fn compare(domain: &mut Domain) {
    let Domain { domains, by_driver, by_class, .. } = domain;
    let largest = |name: &Arc<str>, of: fn(&Domain) -> &ByName| {
        let free = domains.iter().map(|one| (&one.name, of(one).get(name).map_or(0, |tally| tally.free)));
        // The first of several, as for nodes.
        let most = free.clone().map(|(_, free)| free).max().filter(|most| *most > 0)?;
        free.clone().find(|(_, free)| *free == most).map(|(name, free)| (name.clone(), free))
    };
    for (name, tally) in by_driver.iter_mut() {
        tally.largest_in_domain = largest(name, |one| &one.by_driver);
    }
    for (name, tally) in by_class.iter_mut() {
        tally.largest_in_domain = largest(name, |one| &one.by_class);
    }
}
