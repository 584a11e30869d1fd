//! What is left in the counter sets of a pool, for those who show it: counted as an allocation counts it.

use std::sync::Arc;

use cluster::ledger::Ledger;
use cluster::pools::WholePool;
use gates::Gates;
use model::device::Device;

use crate::counters::Counters;

/// The counter sets of one pool.
#[derive(Clone, Debug)]
pub struct Stock {
    counters: Counters,
    pool: u32,
}

/// Whether the counter sets of its pool let a device be allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supply {
    /// They do, as does a pool without counter sets.
    Enough,
    /// Too little is left of a counter.
    UsedUp,
    /// Devices in other compatibility groups hold a counter set.
    Incompatible,
}

impl Stock {
    /// The counter sets of a pool, less what allocated devices draw.
    #[must_use]
    pub fn of(pool: &WholePool, ledger: &Ledger, gates: Gates) -> Stock {
        let mut counters = Counters::default();
        let pool = counters.add_pool(pool, ledger, gates);
        Stock { counters, pool }
    }

    /// Whether a device of the pool that is not allocated could be, as far as counters matter.
    #[must_use]
    pub fn supply(&mut self, device: &Device) -> Supply {
        let draws = self.counters.draws(self.pool, device);
        if !draws.counted || !self.counters.cover(&draws.parsed, self.pool) {
            Supply::UsedUp
        } else if self.counters.admit(&draws.parsed) {
            Supply::Enough
        } else {
            Supply::Incompatible
        }
    }

    /// What is left of each counter, in billionths: the counter set, the counter and the amount.
    pub fn left(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, i128)> {
        self.counters.sets.iter().flat_map(|set| {
            let slots = &self.counters.left[set.slots.clone()];
            set.names.iter().zip(slots).map(|(name, left)| (&set.name, name, *left))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cluster::ledger::Holding;
    use cluster::published::Published;
    use model::claim::ClaimId;
    use model::device::{CounterSet, DeviceId, Draw, PoolId, Reach, Slice};
    use model::quantity::{Format, Quantity};
    use selector::SliceRevision;

    use super::*;

    fn slice(devices: Vec<Device>, counter_sets: Vec<CounterSet>) -> Arc<Published> {
        let name: Arc<str> = if devices.is_empty() { "counters".into() } else { "devices".into() };
        let pool = PoolId { driver: "d".into(), pool: "p".into() };
        let slice = Slice {
            name,
            pool,
            generation: 1,
            slices_in_pool: 2,
            reach: Reach::Everywhere,
            devices,
            counter_sets,
            skip_node_operations: Vec::new(),
        };
        Arc::new(Published::new(slice, SliceRevision { slice: 1, revision: 1 }))
    }

    fn part(name: &str, memory: i64, groups: &[&str]) -> Device {
        let counters = BTreeMap::from([("memory".into(), Quantity::new(memory, Format::DecimalSi))]);
        let groups = groups.iter().map(|group| (*group).into()).collect();
        let draw = Draw { counter_set: "card".into(), counters, groups };
        Device { name: name.into(), draws: vec![draw], ..Device::default() }
    }

    #[test]
    fn a_device_is_covered_while_enough_is_left_and_its_groups_are_those_of_the_holders() {
        let card = CounterSet {
            name: "card".into(),
            counters: BTreeMap::from([("memory".into(), Quantity::new(10, Format::DecimalSi))]),
        };
        let parts = [
            part("six", 6, &["a"]),
            part("four", 4, &["a"]),
            part("five", 5, &["a"]),
            part("other", 1, &["b"]),
        ];
        let pool = WholePool {
            id: PoolId { driver: "d".into(), pool: "p".into() },
            here: vec![slice(parts.to_vec(), Vec::new())],
            elsewhere: Vec::new(),
            counters: vec![slice(Vec::new(), vec![card])],
        };
        let mut ledger = Ledger::default();
        let supply = |ledger: &Ledger| {
            let mut stock = Stock::of(&pool, ledger, Gates::all_on());
            let left: Vec<i128> = stock.left().map(|(_, _, left)| left / 1_000_000_000).collect();
            (left, parts.each_ref().map(|part| stock.supply(part)))
        };
        assert_eq!(supply(&ledger), (vec![10], [Supply::Enough; 4]));
        let holder = ClaimId { namespace: "n".into(), name: "c".into() };
        let device = DeviceId { driver: "d".into(), pool: "p".into(), device: "six".into() };
        let holding = Holding { holder: holder.into(), groups: BTreeMap::new(), consumed: BTreeMap::new() };
        ledger.take(&device, None, holding);
        let expected = [Supply::UsedUp, Supply::Enough, Supply::UsedUp, Supply::Incompatible];
        assert_eq!(supply(&ledger), (vec![4], expected));
    }
}
