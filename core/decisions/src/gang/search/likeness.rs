//! Which nodes are alike for a gang.
//!
//! Invariant: two nodes are alike only if all that an answer can depend on is equal. Devices are compared by what they are and
//! by whether they are free; those that are held in parts make their node like no other. Devices that several nodes reach are the same
//! for all of these. Attributes count only as far as a claim looks at them: devices have numbers and addresses of their own that no
//! claim asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use cluster::pools::PoolReach;
use cluster::published::Published;
use model::claim::{Ask, Class, DeviceSet, Rule, Wish};
use model::device::{Device, DeviceId, PoolId, Reach};
use placement::Likeness;
use rustc_hash::FxHashMap;
use selector::SliceMatches;

use crate::cycle::Cycle;
use crate::filters;
use crate::gang::members::cast::Cast;
use crate::gang::members::member::Member;

/// Features of nodes by number, and slices whose devices are equal.
#[derive(Debug, Default)]
pub(crate) struct Likenesses {
    known: FxHashMap<Vec<u64>, u64>,
    /// The selectors by which members look at devices, if that is all they look at.
    selectors: Option<Vec<Arc<str>>>,
    /// Sets that devices of claims have to be in.
    sets: Vec<DeviceSet>,
    /// Slices that differ, by the number and first name of their devices.
    slices: FxHashMap<(usize, Arc<str>), Vec<Numbered>>,
    numbers: u64,
}

/// A slice, what selectors say of its devices, and the number of all that are like it.
#[derive(Debug)]
struct Numbered {
    number: u64,
    published: Arc<Published>,
    said: Vec<Option<Arc<SliceMatches>>>,
}

impl Likenesses {
    /// Likenesses for the members of a cast.
    pub fn new(cast: &Cast, classes: &BTreeMap<Arc<str>, Class>) -> Likenesses {
        let rules = cast.examples().flat_map(Member::open);
        let rules = rules.flat_map(|state| &state.wish.spec.constraints).map(|constraint| &constraint.rule);
        let sets: BTreeSet<DeviceSet> = rules.filter_map(set_of).cloned().collect();
        let sets = sets.into_iter().collect();
        Likenesses { selectors: selectors(cast, classes), sets, ..Likenesses::default() }
    }

    /// The likeness of nodes with these features.
    pub fn of(&mut self, features: Vec<u64>) -> Likeness {
        let next = self.known.len() as u64;
        Likeness(*self.known.entry(features).or_insert(next))
    }

    /// Adds what devices a node has, and which of them are free.
    pub fn devices(&mut self, cycle: &mut Cycle<'_>, at: NodeIdx, features: &mut Vec<u64>) {
        let node = filters::node_of(cycle.facts.nodes.get(at)).name.clone();
        let mut pools: Vec<&PoolId> = Vec::new();
        for published in cycle.facts.slices.of_node(&node) {
            let slice = &published.slice;
            let is_of_several = cycle.facts.slices.node_of(&slice.pool) == PoolReach::Several;
            if is_of_several || !slice.skip_node_operations.is_empty() {
                // Other nodes publish a part of the pool, such as its counters, or what the node's agent can leave out decides.
                features.push(u64::from(at.0));
            }
            // Slices that are equal make other pools if they are put together otherwise.
            let pool = pools.iter().position(|pool| **pool == slice.pool).unwrap_or(pools.len());
            if pool == pools.len() {
                pools.push(&slice.pool);
            }
            features.push(pool as u64);
            let says = |selector| cycle.caches.expressions.matches(selector, published).ok();
            let said = self.selectors.iter().flatten().map(says).collect();
            features.push(self.number(published, said));
            for (place, device) in slice.devices.iter().enumerate() {
                let id = DeviceId {
                    driver: slice.pool.driver.clone(),
                    pool: slice.pool.pool.clone(),
                    device: device.name.clone(),
                };
                let Some(holdings) = cycle.facts.claims.ledger().holdings(&id) else { continue };
                features.push(place as u64);
                if !holdings.is_dedicated() || device.declares_groups() {
                    features.push(u64::from(at.0));
                }
            }
            features.push(u64::MAX);
            for set in &self.sets {
                let devices = slice.devices.iter().enumerate();
                let inside = devices.filter(|(_, device)| set.contains(&slice.pool, device));
                features.extend(inside.map(|(place, _)| place as u64));
                features.push(u64::MAX);
            }
        }
    }

    /// Adds which of the devices that several nodes may reach a node does reach. Whether it can be told.
    pub fn reached(&self, cycle: &Cycle<'_>, at: NodeIdx, features: &mut Vec<u64>) -> bool {
        let node = filters::node_of(cycle.facts.nodes.get(at));
        for (place, published) in cycle.facts.slices.shared().enumerate() {
            let slice = &published.slice;
            let devices = match slice.reach {
                Reach::PerDevice => Some(slice.devices.iter().map(|device| &device.reach)),
                _ => None,
            };
            let reaches = |reach: &Reach| cluster::pools::reaches(reach, node).ok();
            match devices {
                None => match reaches(&slice.reach) {
                    None => return false,
                    Some(true) => features.push(place as u64),
                    Some(false) => {}
                },
                Some(devices) => {
                    features.push(place as u64);
                    for reach in devices {
                        let Some(is_reached) = reaches(reach) else { return false };
                        features.push(u64::from(is_reached));
                    }
                }
            }
            if !slice.skip_node_operations.is_empty() {
                return false;
            }
        }
        features.push(u64::MAX);
        true
    }

    /// The number that all slices have whose devices are equal.
    fn number(&mut self, published: &Arc<Published>, said: Vec<Option<Arc<SliceMatches>>>) -> u64 {
        let slice = &published.slice;
        let first = slice.devices.first().map_or_else(|| "".into(), |device| device.name.clone());
        let known = self.slices.entry((slice.devices.len(), first)).or_default();
        let heeds_attributes = self.selectors.is_none();
        let same = |known: &&Numbered| {
            let other = &known.published.slice;
            let mut devices = slice.devices.iter().zip(&other.devices);
            slice.pool.driver == other.pool.driver
                && slice.generation == other.generation
                && slice.slices_in_pool == other.slices_in_pool
                && slice.counter_sets == other.counter_sets
                && known.said == said
                && devices.all(|(one, other)| are_equal(one, other, heeds_attributes))
        };
        if let Some(known) = known.iter().find(same) {
            return known.number;
        }
        self.numbers += 1;
        known.push(Numbered { number: self.numbers, published: published.clone(), said });
        self.numbers
    }
}

/// Whether two devices are equal, attributes aside if no claim looks at them.
fn are_equal(one: &Device, other: &Device, heeds_attributes: bool) -> bool {
    // All fields are named, so that one that is new is not overlooked.
    let Device {
        name,
        attributes,
        capacity,
        draws,
        reach,
        taints,
        binding,
        binds_to_node,
        shareable,
        node_resources,
    } = one;
    *name == other.name
        && (!heeds_attributes || *attributes == other.attributes)
        && *capacity == other.capacity
        && *draws == other.draws
        && *reach == other.reach
        && *taints == other.taints
        && *binding == other.binding
        && *binds_to_node == other.binds_to_node
        && *shareable == other.shareable
        && *node_resources == other.node_resources
}

/// The set that devices have to be in.
fn set_of(rule: &Rule) -> Option<&DeviceSet> {
    match rule {
        Rule::Within(set) => Some(set),
        Rule::Match(_) | Rule::Distinct(_) | Rule::Without(_) | Rule::Unknown => None,
    }
}

/// The selectors by which members look at devices; nothing if they also compare attributes of devices with each other.
fn selectors(cast: &Cast, classes: &BTreeMap<Arc<str>, Class>) -> Option<Vec<Arc<str>>> {
    let mut found: Vec<Arc<str>> = Vec::new();
    let mut look = |ask: &Ask| {
        let of_class = classes.get(&ask.class).into_iter().flat_map(|class| &class.selectors);
        for selector in of_class.chain(&ask.selectors) {
            let selector = selector.as_ref()?;
            if !found.contains(selector) {
                found.push(selector.clone());
            }
        }
        ask.derived.is_empty().then_some(())
    };
    for state in cast.examples().flat_map(Member::open) {
        if state.wish.spec.constraints.iter().any(|constraint| set_of(&constraint.rule).is_none()) {
            return None;
        }
        for request in &state.wish.spec.requests {
            match &request.wish {
                Wish::Exactly(ask) => look(ask)?,
                Wish::FirstAvailable(asks) => asks.iter().try_for_each(|(_, ask)| look(ask))?,
            }
        }
    }
    Some(found)
}
