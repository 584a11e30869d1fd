//! Which nodes are alike for a gang.
//!
//! Invariant: two nodes are alike only if all that an answer can depend on is equal. Devices are compared by what they are and
//! by whether they are free; those that are held in parts make their node like no other.

use std::sync::Arc;

use cluster::nodes::NodeIdx;
use cluster::published::Published;
use model::device::DeviceId;
use placement::Likeness;
use rustc_hash::FxHashMap;

use crate::engine::Engine;
use crate::filters;

/// A slice, and the number of all that are like it.
type Numbered = (u64, Arc<Published>);

/// Features of nodes by number, and slices whose devices are equal.
#[derive(Debug, Default)]
pub(super) struct Likenesses {
    known: FxHashMap<Vec<u64>, u64>,
    /// Slices that differ, by the number and first name of their devices.
    slices: FxHashMap<(usize, Arc<str>), Vec<Numbered>>,
    numbers: u64,
}

impl Likenesses {
    /// The likeness of nodes with these features.
    pub fn of(&mut self, features: Vec<u64>) -> Likeness {
        let next = self.known.len() as u64;
        Likeness(*self.known.entry(features).or_insert(next))
    }

    /// Adds what devices a node has, and which of them are free.
    pub fn devices(&mut self, engine: &Engine, at: NodeIdx, features: &mut Vec<u64>) {
        let node = filters::node_of(engine.nodes.get(at));
        for published in engine.slices.of_node(&node.name) {
            let slice = &published.slice;
            features.push(self.number(published));
            for (place, device) in slice.devices.iter().enumerate() {
                let id = DeviceId {
                    driver: slice.pool.driver.clone(),
                    pool: slice.pool.pool.clone(),
                    device: device.name.clone(),
                };
                let Some(holdings) = engine.claims.ledger().holdings(&id) else { continue };
                features.push(place as u64);
                if !holdings.is_dedicated() || device.declares_groups() {
                    features.push(u64::from(at.0));
                }
            }
            features.push(u64::MAX);
        }
    }

    /// The number that all slices have whose devices are equal.
    fn number(&mut self, published: &Arc<Published>) -> u64 {
        let slice = &published.slice;
        let first = slice.devices.first().map_or_else(|| "".into(), |device| device.name.clone());
        let known = self.slices.entry((slice.devices.len(), first)).or_default();
        let same = |other: &&Numbered| {
            let other = &other.1.slice;
            slice.pool.driver == other.pool.driver
                && slice.generation == other.generation
                && slice.slices_in_pool == other.slices_in_pool
                && slice.devices == other.devices
                && slice.counter_sets == other.counter_sets
        };
        if let Some((number, _)) = known.iter().find(same) {
            return *number;
        }
        self.numbers += 1;
        known.push((self.numbers, published.clone()));
        self.numbers
    }
}
