//! Pools as a node sees them, put together from slices.
//!
//! A pool whose slices are not all there yet may gain a better device a moment later, and a pool that contradicts itself
//! cannot be counted, so neither is used; but both are told, since a claim that wants all devices must wait for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gates::{Gate, Gates};
use model::device::{Device, DeviceId, PoolId, Reach};
use model::identity::NodeName;
use model::node::{BadRequirement, Node};

use crate::published::Published;

/// A pool, from the place of one node.
#[derive(Clone, Debug)]
pub enum PoolView {
    /// All of it is known.
    Whole(WholePool),
    /// Some slices are not there.
    Gathering {
        /// The pool.
        id: PoolId,
        /// How many slices there are.
        seen: usize,
        /// How many there should be.
        expected: i64,
    },
    /// Its slices do not go together.
    Contradictory {
        /// The pool.
        id: PoolId,
        /// Why not.
        reason: Contradiction,
    },
}

/// From where devices of a pool can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolReach<'s> {
    /// The pool is not published.
    Nowhere,
    /// From one node.
    Node(&'s NodeName),
    /// From several nodes.
    Several,
}

/// A pool of which all slices are known.
#[derive(Clone, Debug)]
pub struct WholePool {
    /// Which pool it is.
    pub id: PoolId,
    /// Slices with devices that may be usable from the node, by name.
    pub here: Vec<Arc<Published>>,
    /// Slices with devices for other nodes. What they draw on the counters counts.
    pub elsewhere: Vec<Arc<Published>>,
    /// Slices with counter sets.
    pub counters: Vec<Arc<Published>>,
}

/// Why slices of a pool do not go together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Contradiction {
    /// Two devices have one name.
    #[error("it has two devices of the name {0}")]
    DeviceTwice(Arc<str>),
    /// Two counter sets have one name.
    #[error("it has two counter sets of the name {0}")]
    CounterSetTwice(Arc<str>),
    /// A device draws on a counter set that is not there.
    #[error("device {device} draws on counter set {counter_set}, which it does not have")]
    NoSuchCounterSet {
        /// The device.
        device: Arc<str>,
        /// The counter set.
        counter_set: Arc<str>,
    },
    /// A device draws on a counter that is not there.
    #[error("device {device} draws on counter {counter} of set {counter_set}, which it does not have")]
    NoSuchCounter {
        /// The device.
        device: Arc<str>,
        /// The counter set.
        counter_set: Arc<str>,
        /// The counter.
        counter: Arc<str>,
    },
}

impl PoolView {
    /// Which pool it is.
    #[must_use]
    pub fn id(&self) -> &PoolId {
        match self {
            PoolView::Whole(pool) => &pool.id,
            PoolView::Gathering { id, .. } | PoolView::Contradictory { id, .. } => id,
        }
    }

    /// Whether pods may have to wait for one of its devices.
    fn needs_preparation(&self) -> bool {
        let PoolView::Whole(pool) = self else { return false };
        pool.here.iter().flat_map(|slice| &slice.slice.devices).any(|device| device.needs_preparation())
    }
}

/// The published slices, in the order in which they came, by what is asked of them.
#[derive(Clone, Debug, Default)]
pub struct Slices {
    /// The slices by place; a place is free once its slice went.
    all: Vec<Option<Arc<Published>>>,
    free: BTreeSet<usize>,
    places: BTreeMap<Arc<str>, usize>,
    of_pool: BTreeMap<PoolId, BTreeSet<usize>>,
    of_node: BTreeMap<NodeName, BTreeSet<usize>>,
    shared: BTreeSet<usize>,
    with_parts: BTreeSet<usize>,
    to_prepare: BTreeSet<usize>,
}

impl Slices {
    /// Puts slices in order.
    #[must_use]
    pub fn new(all: impl IntoIterator<Item = Arc<Published>>) -> Slices {
        let mut slices = Slices::default();
        all.into_iter().for_each(|published| slices.apply(published));
        slices
    }

    /// Adds or replaces a slice; a slice that is replaced keeps its place.
    pub fn apply(&mut self, published: Arc<Published>) {
        let name = published.slice.name.clone();
        let known = self.places.get(&name).copied();
        self.remove(&name);
        let at = known.or_else(|| self.free.first().copied()).unwrap_or(self.all.len());
        self.free.remove(&at);
        if at == self.all.len() {
            self.all.push(None);
        }
        self.places.insert(name, at);
        self.of_pool.entry(published.slice.pool.clone()).or_default().insert(at);
        match &published.slice.reach {
            Reach::Node(node) => self.of_node.entry(node.clone()).or_default().insert(at),
            _ => self.shared.insert(at),
        };
        if published.slice.devices.iter().any(|device| !device.node_resources.is_empty()) {
            self.with_parts.insert(at);
        }
        if published.slice.devices.iter().any(Device::needs_preparation) {
            self.to_prepare.insert(at);
        }
        self.all[at] = Some(published);
    }

    /// Takes a slice away.
    pub fn remove(&mut self, name: &str) -> Option<Arc<Published>> {
        let at = self.places.remove(name)?;
        self.free.insert(at);
        let published = self.all[at].take()?;
        forget(&mut self.of_pool, &published.slice.pool, at);
        self.with_parts.remove(&at);
        self.to_prepare.remove(&at);
        match &published.slice.reach {
            Reach::Node(node) => forget(&mut self.of_node, node, at),
            _ => {
                self.shared.remove(&at);
            }
        }
        Some(published)
    }

    /// Whether there are devices that several nodes may reach.
    #[must_use]
    pub fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// The slices with devices that several nodes may reach, in the order of their places.
    pub fn shared(&self) -> impl Iterator<Item = &Arc<Published>> {
        self.shared.iter().map(|at| self.at(*at))
    }

    /// Whether there are devices that take of what their node has.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        !self.with_parts.is_empty()
    }

    /// Whether there are devices that have to be made ready once they are chosen.
    #[must_use]
    pub fn has_some_to_prepare(&self) -> bool {
        !self.to_prepare.is_empty()
    }

    /// The slices with devices that take of what their node has, in the order of their places.
    pub fn with_parts(&self) -> impl Iterator<Item = &Arc<Published>> {
        self.with_parts.iter().map(|at| self.at(*at))
    }

    /// The slices of a pool, in the order of their places.
    pub fn of_pool(&self, pool: &PoolId) -> impl Iterator<Item = &Arc<Published>> {
        self.of_pool.get(pool).into_iter().flatten().map(|at| self.at(*at))
    }

    /// The slices with devices for one node only, in the order of their places.
    pub fn of_node(&self, node: &str) -> impl Iterator<Item = &Arc<Published>> {
        self.of_node.get(node).into_iter().flatten().map(|at| self.at(*at))
    }

    /// All slices, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Published>> {
        self.all.iter().flatten()
    }

    /// A slice by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Published>> {
        self.all[*self.places.get(name)?].as_ref()
    }

    /// A device as it was published last.
    #[must_use]
    pub fn device(&self, id: &DeviceId) -> Option<&Device> {
        let pool = PoolId { driver: id.driver.clone(), pool: id.pool.clone() };
        let slices = self.of_pool.get(&pool)?.iter().map(|at| &self.at(*at).slice);
        let found = slices.filter_map(|slice| {
            let device = slice.devices.iter().find(|device| device.name == id.device)?;
            Some((slice.generation, device))
        });
        found.max_by_key(|(generation, _)| *generation).map(|(_, device)| device)
    }

    /// From where devices of a pool can be used: the one node, if all of its slices name the same.
    #[must_use]
    pub fn node_of(&self, pool: &PoolId) -> PoolReach<'_> {
        let mut slices = self.of_pool.get(pool).into_iter().flatten().map(|at| &self.at(*at).slice.reach);
        match slices.next() {
            None => PoolReach::Nowhere,
            Some(Reach::Node(node)) if slices.all(|reach| *reach == Reach::Node(node.clone())) => {
                PoolReach::Node(node)
            }
            Some(_) => PoolReach::Several,
        }
    }

    fn at(&self, place: usize) -> &Arc<Published> {
        self.all[place].as_ref().expect("an index points at a slice that is there")
    }

    /// The pools that a node can use devices of, sorted by driver and name; those with devices that need preparation
    /// come last.
    ///
    /// # Errors
    /// A slice picks its nodes in a way that cannot be judged.
    pub fn pools_for(&self, node: &Node, gates: Gates) -> Result<Vec<PoolView>, BadRequirement> {
        let mut found: BTreeMap<&PoolId, Vec<&Arc<Published>>> = BTreeMap::new();
        let own = self.of_node.get(&node.name).into_iter().flatten();
        for published in own.chain(&self.shared).map(|at| self.at(*at)) {
            let slice = &published.slice;
            if !is_understood(published, gates) || !is_relevant(published, node)? {
                continue;
            }
            let kept = found.entry(&slice.pool).or_default();
            let newest = kept.first().map_or(i64::MIN, |first| first.slice.generation);
            if slice.generation > newest {
                kept.clear();
            }
            if slice.generation >= newest {
                kept.push(published);
            }
        }
        let mut pools: Vec<PoolView> =
            found.into_iter().filter_map(|(id, kept)| self.pool(id, kept, gates)).collect();
        pools.sort_by_key(PoolView::needs_preparation);
        Ok(pools)
    }

    /// All pools, sorted by driver and name, as they are seen from no node in particular: with the devices for all nodes, each with
    /// the slices of its newest generation.
    pub fn pools(&self, gates: Gates) -> impl Iterator<Item = (PoolView, Vec<&Arc<Published>>)> {
        self.of_pool.keys().filter_map(move |id| self.pool_of(id, gates))
    }

    /// A pool as it is seen from no node in particular, with the slices of its newest generation; nothing if it has none.
    #[must_use]
    pub fn pool_of(&self, id: &PoolId, gates: Gates) -> Option<(PoolView, Vec<&Arc<Published>>)> {
        let places = self.of_pool.get(id)?;
        let known = || places.iter().map(|at| self.at(*at)).filter(|one| is_understood(one, gates));
        let newest = known().map(|published| published.slice.generation).max()?;
        let newest: Vec<_> = known().filter(|one| one.slice.generation == newest).collect();
        Some((self.pool(id, newest.clone(), gates)?, newest))
    }

    /// The pool that relevant slices of one generation make, if that generation is still current.
    fn pool(&self, id: &PoolId, here: Vec<&Arc<Published>>, gates: Gates) -> Option<PoolView> {
        let first = &here.first()?.slice;
        let (generation, expected) = (first.generation, first.slices_in_pool);
        let mut elsewhere = Vec::new();
        if here.len() as i64 != expected {
            let members = self.of_pool.get(id).into_iter().flatten().map(|at| self.at(*at));
            let mut seen = 0;
            for member in members {
                if member.slice.generation > generation {
                    // The driver is replacing the pool, with nothing for this node so far.
                    return None;
                }
                if member.slice.generation == generation {
                    seen += 1;
                    if !here.iter().any(|known| known.slice.name == member.slice.name) {
                        elsewhere.push(member.clone());
                    }
                }
            }
            if seen as i64 != expected {
                return Some(PoolView::Gathering { id: id.clone(), seen, expected });
            }
        }
        let mut here: Vec<_> = here.into_iter().cloned().collect();
        here.sort_by(|left, right| left.slice.name.cmp(&right.slice.name));
        let whole = split(id, here, elsewhere, gates);
        Some(match contradiction(&whole, gates) {
            None => PoolView::Whole(whole),
            Some(reason) => PoolView::Contradictory { id: id.clone(), reason },
        })
    }
}

fn forget<K: Ord>(index: &mut BTreeMap<K, BTreeSet<usize>>, key: &K, at: usize) {
    if let Some(places) = index.get_mut(key) {
        places.remove(&at);
        if places.is_empty() {
            index.remove(key);
        }
    }
}

/// Tells slices with counter sets from slices with devices.
fn split(id: &PoolId, here: Vec<Arc<Published>>, elsewhere: Vec<Arc<Published>>, gates: Gates) -> WholePool {
    let has_counters = |published: &Arc<Published>| {
        gates.enabled(Gate::DRAPartitionableDevices) && !published.slice.counter_sets.is_empty()
    };
    let (mut counters, here): (Vec<_>, _) = here.into_iter().partition(has_counters);
    let (more_counters, elsewhere): (Vec<_>, _) = elsewhere.into_iter().partition(has_counters);
    counters.extend(more_counters);
    WholePool { id: id.clone(), here, elsewhere, counters }
}

/// Whether a slice says nothing that needs a feature which is off.
fn is_understood(published: &Published, gates: Gates) -> bool {
    let slice = &published.slice;
    let is_plain = slice.reach != Reach::PerDevice && slice.counter_sets.is_empty();
    is_plain || gates.enabled(Gate::DRAPartitionableDevices)
}

/// Whether any device of the slice may be usable from the node.
fn is_relevant(published: &Published, node: &Node) -> Result<bool, BadRequirement> {
    match &published.slice.reach {
        Reach::PerDevice => {
            for device in &published.slice.devices {
                if reaches(&device.reach, node)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        reach => reaches(reach, node),
    }
}

/// Whether something that can be used from there can be used from the node.
///
/// # Errors
/// The nodes are picked in a way that cannot be judged.
pub fn reaches(reach: &Reach, node: &Node) -> Result<bool, BadRequirement> {
    match reach {
        Reach::Node(name) => Ok(*name == node.name),
        Reach::Matching(selector) => selector.picks(node),
        Reach::Everywhere => Ok(true),
        Reach::PerDevice | Reach::Unsaid => Ok(false),
    }
}

/// The first contradiction in a pool.
fn contradiction(pool: &WholePool, gates: Gates) -> Option<Contradiction> {
    let mut names = BTreeSet::new();
    for device in pool.here.iter().flat_map(|slice| &slice.slice.devices) {
        if !names.insert(&device.name) {
            return Some(Contradiction::DeviceTwice(device.name.clone()));
        }
    }
    if !gates.enabled(Gate::DRAPartitionableDevices) {
        return None;
    }
    let mut sets = BTreeMap::new();
    for set in pool.counters.iter().flat_map(|slice| &slice.slice.counter_sets) {
        if sets.insert(&set.name, set).is_some() {
            return Some(Contradiction::CounterSetTwice(set.name.clone()));
        }
    }
    for device in pool.here.iter().chain(&pool.elsewhere).flat_map(|slice| &slice.slice.devices) {
        for draw in &device.draws {
            let (device, counter_set) = (device.name.clone(), draw.counter_set.clone());
            let Some(set) = sets.get(&draw.counter_set) else {
                return Some(Contradiction::NoSuchCounterSet { device, counter_set });
            };
            if let Some(counter) = draw.counters.keys().find(|name| !set.counters.contains_key(*name)) {
                return Some(Contradiction::NoSuchCounter { device, counter_set, counter: counter.clone() });
            }
        }
    }
    None
}
