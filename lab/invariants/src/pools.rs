//! Pools as a node sees them: which slices count, and whether their devices may be used.
//!
//! Invariant: only the newest generation that reaches the node counts, and only when all its slices are there.

use std::collections::BTreeMap;

use gates::Gate;
use objects::core::node::Node;
use objects::resource::slice::{Device, ResourceSlice};

use crate::evidence::Evidence;
use crate::names::{DeviceName, PoolName};
use crate::reach::slice_reaches;

/// A pool of which at least one slice reaches the node.
#[derive(Clone, Debug)]
pub(crate) struct Pool<'o> {
    pub(crate) name: PoolName,
    pub(crate) view: PoolView<'o>,
}

/// What can be said about a pool.
#[derive(Clone, Debug)]
pub(crate) enum PoolView<'o> {
    /// All slices are there and fit together.
    Whole {
        /// Slices that reach the node, by name.
        near: Vec<&'o ResourceSlice>,
        /// The rest of the pool, whose devices count only for what they consume.
        far: Vec<&'o ResourceSlice>,
    },
    /// A newer generation exists that does not reach the node.
    Outdated,
    /// Slices are missing, or there are too many.
    Incomplete { seen: usize, expected: i64 },
    /// The slices contradict each other.
    Invalid { why: String },
}

/// A device and the slice it is in.
#[derive(Clone, Debug)]
pub(crate) struct Found<'o> {
    pub(crate) name: DeviceName,
    pub(crate) slice: &'o ResourceSlice,
    pub(crate) device: &'o Device,
}

impl<'o> Pool<'o> {
    /// The devices of the slices that reach the node, by slice and position.
    pub(crate) fn near_devices(&self, evidence: &Evidence<'o>) -> Vec<Found<'o>> {
        match &self.view {
            PoolView::Whole { near, .. } => devices(near, evidence),
            _ => Vec::new(),
        }
    }

    /// All devices of the pool.
    pub(crate) fn all_devices(&self, evidence: &Evidence<'o>) -> Vec<Found<'o>> {
        match &self.view {
            PoolView::Whole { near, far } => devices(&[near.as_slice(), far].concat(), evidence),
            _ => Vec::new(),
        }
    }

    /// Every counter of the pool: set, name and amount.
    pub(crate) fn counters(&self) -> Vec<(&'o str, &'o str, &'o model::quantity::Quantity)> {
        match &self.view {
            PoolView::Whole { near, far } => counters(&[near.as_slice(), far].concat()),
            _ => Vec::new(),
        }
    }

    /// Why the pool's devices may not be used; nothing if they may.
    pub(crate) fn obstacle(&self) -> Option<String> {
        match &self.view {
            PoolView::Whole { .. } => None,
            PoolView::Outdated => Some("the pool has a newer generation elsewhere".to_owned()),
            PoolView::Incomplete { seen, expected } => {
                Some(format!("the pool has {seen} of {expected} slices"))
            }
            PoolView::Invalid { why } => Some(format!("the pool is invalid: {why}")),
        }
    }
}

/// The pools that reach a node, by driver and name.
pub(crate) fn on_node<'o>(evidence: &Evidence<'o>, node: &Node) -> Vec<Pool<'o>> {
    let mut reaching: BTreeMap<PoolName, Vec<&'o ResourceSlice>> = BTreeMap::new();
    // Slices of the node itself come first, because the first slice of a pool says how many there should be.
    let named = |slice: &&ResourceSlice| slice.spec.node_name.as_deref().is_some_and(|name| !name.is_empty());
    let (own, shared): (Vec<_>, Vec<_>) = evidence.slices.iter().partition(named);
    for slice in own.into_iter().chain(shared) {
        if !is_ignored(slice, evidence) && slice_reaches(slice, node) {
            reaching.entry(PoolName::of(slice)).or_default().push(slice);
        }
    }
    let pools = reaching.into_iter().map(|(name, slices)| {
        let view = view(evidence, &name, &slices);
        Pool { name, view }
    });
    pools.collect()
}

/// The slices of the newest generation of every pool, wherever they reach.
pub(crate) fn newest<'o>(evidence: &Evidence<'o>) -> BTreeMap<PoolName, Vec<&'o ResourceSlice>> {
    let mut pools: BTreeMap<PoolName, Vec<&'o ResourceSlice>> = BTreeMap::new();
    for slice in evidence.slices {
        pools.entry(PoolName::of(slice)).or_default().push(slice);
    }
    for slices in pools.values_mut() {
        keep_newest(slices);
    }
    pools
}

/// The devices of some slices. A slice with counters has no devices.
pub(crate) fn devices<'o>(slices: &[&'o ResourceSlice], evidence: &Evidence<'o>) -> Vec<Found<'o>> {
    let mut found = Vec::new();
    for slice in slices.iter().filter(|slice| !has_counters(slice, evidence)) {
        for device in slice.spec.devices.as_deref().unwrap_or_default() {
            found.push(Found { name: DeviceName::of(slice, device), slice, device });
        }
    }
    found
}

/// The counters of some slices: set, name and amount.
pub(crate) fn counters<'o>(
    slices: &[&'o ResourceSlice],
) -> Vec<(&'o str, &'o str, &'o model::quantity::Quantity)> {
    let mut found = Vec::new();
    for slice in slices {
        for set in slice.spec.shared_counters.as_deref().unwrap_or_default() {
            for (counter, amount) in &set.counters {
                found.push((set.name.as_str(), counter.as_str(), &amount.value.0));
            }
        }
    }
    found
}

fn has_counters(slice: &ResourceSlice, evidence: &Evidence<'_>) -> bool {
    let counters = slice.spec.shared_counters.as_deref().unwrap_or_default();
    evidence.gates.enabled(Gate::DRAPartitionableDevices) && !counters.is_empty()
}

/// Without the feature, slices that use it are not understood.
fn is_ignored(slice: &ResourceSlice, evidence: &Evidence<'_>) -> bool {
    let counters = slice.spec.shared_counters.as_deref().unwrap_or_default();
    !evidence.gates.enabled(Gate::DRAPartitionableDevices)
        && (slice.spec.per_device_node_selection.is_some() || !counters.is_empty())
}

fn keep_newest(slices: &mut Vec<&ResourceSlice>) -> i64 {
    let newest = slices.iter().map(|slice| slice.spec.pool.generation).max().unwrap_or_default();
    slices.retain(|slice| slice.spec.pool.generation == newest);
    newest
}

fn view<'o>(evidence: &Evidence<'o>, name: &PoolName, reaching: &[&'o ResourceSlice]) -> PoolView<'o> {
    let mut near = reaching.to_vec();
    let generation = keep_newest(&mut near);
    let expected = near[0].spec.pool.resource_slice_count;
    let complete = |seen: usize| i64::try_from(seen).is_ok_and(|seen| seen == expected);
    let mut far = Vec::new();
    if !complete(near.len()) {
        let pool: Vec<_> = evidence.slices.iter().filter(|slice| PoolName::of(slice) == *name).collect();
        if pool.iter().any(|slice| slice.spec.pool.generation > generation) {
            return PoolView::Outdated;
        }
        let current: Vec<_> =
            pool.into_iter().filter(|slice| slice.spec.pool.generation == generation).collect();
        if !complete(current.len()) {
            return PoolView::Incomplete { seen: current.len(), expected };
        }
        let is_near = |slice: &ResourceSlice| near.iter().any(|one| one.metadata.name == slice.metadata.name);
        far = current.into_iter().filter(|slice| !is_near(slice)).collect();
    }
    near.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    match contradiction(&near, &far, evidence) {
        Some(why) => PoolView::Invalid { why },
        None => PoolView::Whole { near, far },
    }
}

fn contradiction(near: &[&ResourceSlice], far: &[&ResourceSlice], evidence: &Evidence<'_>) -> Option<String> {
    let mut names: Vec<String> = devices(near, evidence).into_iter().map(|found| found.name.device).collect();
    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(format!("device {} is there twice", pair[0]));
    }
    if !evidence.gates.enabled(Gate::DRAPartitionableDevices) {
        return None;
    }
    let slices = [near, far].concat();
    let sets = slices.iter().flat_map(|slice| slice.spec.shared_counters.as_deref().unwrap_or_default());
    let mut names: Vec<&str> = sets.map(|set| set.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(format!("counter set {} is there twice", pair[0]));
    }
    let known = counters(&slices);
    for found in devices(&slices, evidence) {
        for consumption in &found.device.consumes_counters {
            let set = consumption.counter_set.as_str();
            if !names.contains(&set) {
                return Some(format!("device {} consumes from the unknown set {set}", found.name.device));
            }
            for counter in consumption.counters.keys() {
                if !known.iter().any(|(of, name, _)| *of == set && name == counter) {
                    return Some(format!(
                        "device {} consumes the unknown {set}/{counter}",
                        found.name.device
                    ));
                }
            }
        }
    }
    None
}
