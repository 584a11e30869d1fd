//! A cluster that a test makes, and what is told of it as text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::{Allocated, ClaimState, Held};
use cluster::facts::Facts;
use cluster::ledger::{Holding, ShareId};
use cluster::preparation::{Preparation, Progress};
use cluster::published::Published;
use gates::Gates;
use inventory::devices::{Inventory, inventory};
use inventory::observed::{Namespaces, Observed};
use model::claim::{Claim, ClaimId, ClaimSpec};
use model::claim_use::{ClaimUse, ClaimUser, UsedDevice};
use model::device::{Capacity, CounterSet, Device, DeviceId, Draw, PoolId, Reach, Slice};
use model::node::Node;
use model::quantity::{Format, Quantity};
use selector::SliceRevision;

pub const DRIVER: &str = "gpu.example.com";

/// A cluster.
pub struct World {
    pub facts: Facts,
    pub uses: BTreeMap<ClaimId, ClaimUse>,
    pub claims: Namespaces,
    pub named: Namespaces,
    slices: u64,
}

impl World {
    pub fn new() -> World {
        let (claims, named) = (Namespaces::All, Namespaces::All);
        World { facts: Facts::new(Gates::all_on()), uses: BTreeMap::new(), claims, named, slices: 0 }
    }

    pub fn node(&mut self, name: &str, labels: &[(&str, &str)]) {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        self.facts.apply_node(Node { name: name.into(), labels, ..Node::default() });
    }

    /// Publishes a slice that is all of a pool with the name of its first word: `pool`, or `pool 1 of 2` for a part of one.
    pub fn slice(&mut self, pool: &str, reach: Reach, devices: Vec<Device>, counter_sets: Vec<CounterSet>) {
        let words: Vec<&str> = pool.split(' ').collect();
        let slices_in_pool = words.get(3).map_or(1, |count| count.parse().expect("a number"));
        self.slices += 1;
        let slice = Slice {
            name: format!("slice-{}", self.slices).into(),
            pool: PoolId { driver: DRIVER.into(), pool: words[0].into() },
            generation: 1,
            slices_in_pool,
            reach,
            devices,
            counter_sets,
            skip_node_operations: Vec::new(),
        };
        let revision = SliceRevision { slice: self.slices, revision: 1 };
        self.facts.apply_slice(Arc::new(Published::new(slice, revision)));
    }

    /// A claim `namespace/name` that has a device of a pool, for a pod of its name.
    pub fn claim(&mut self, name: &str, device: &str) {
        self.claim_with(name, device, |_, _, _| {});
    }

    /// The same, otherwise.
    pub fn claim_with(
        &mut self,
        name: &str,
        device: &str,
        change: impl FnOnce(&mut ClaimState, &mut Held, &mut UsedDevice),
    ) {
        let id = claim_id(name);
        let device = device_id(device);
        let holding =
            Holding { holder: id.clone().into(), groups: BTreeMap::new(), consumed: BTreeMap::new() };
        let mut held = Held { device: device.clone(), share: None, holding, tolerations: Vec::new() };
        let mut used = UsedDevice { device, request: "r".into(), admin: false };
        let mut state = ClaimState {
            uid: name.into(),
            version: "1".into(),
            wish: Arc::new(Claim { id: id.clone(), spec: ClaimSpec::default() }),
            allocation: None,
            reserved_for: Vec::new(),
            owner: None,
            extended: false,
            deleting: false,
            protected: false,
            preparation: None,
            control: Default::default(),
        };
        change(&mut state, &mut held, &mut used);
        let held = if used.admin { Vec::new() } else { vec![held] };
        state.allocation = Some(Arc::new(Allocated { nodes: None, held }));
        self.facts.claims.apply(state);
        let user = ClaimUser { resource: "pods".into(), name: id.name.clone() };
        self.uses.insert(id, ClaimUse { since: None, users: vec![user], devices: vec![used] });
    }

    pub fn observed(&self) -> Observed<'_> {
        Observed { facts: &self.facts, uses: &self.uses, claims: &self.claims, named: &self.named }
    }

    pub fn inventory(&self) -> Inventory {
        inventory(&self.observed())
    }

    /// Each device in a line: its place, pool and name, its state, and its holders with their pods.
    pub fn told(&self) -> Vec<String> {
        let rows = self.inventory().devices;
        let told = rows.iter().map(|row| {
            let holders = row.holders.iter().map(|holder| {
                let name = holder.named.as_ref().map_or_else(
                    || " in use".to_owned(),
                    |named| format!(" {} by {}", named.claim, named.users[0].name),
                );
                if holder.admin { format!("{name} as admin") } else { name }
            });
            let detail = row.state.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
            let left = row.left.iter().map(|(name, (left, all))| format!(" {left}/{all} {name}"));
            let more: String = left.chain(holders).collect();
            format!("{}: {}/{} {}{detail}{more}", row.place, row.id.pool, row.id.device, row.state)
        });
        told.collect()
    }
}

pub fn claim_id(name: &str) -> ClaimId {
    let (namespace, name) = name.split_once('/').expect("a namespace and a name");
    ClaimId { namespace: namespace.into(), name: name.into() }
}

pub fn device_id(name: &str) -> DeviceId {
    let (pool, device) = name.split_once('/').expect("a pool and a device");
    DeviceId { driver: DRIVER.into(), pool: pool.into(), device: device.into() }
}

pub fn on(node: &str) -> Reach {
    Reach::Node(node.into())
}

pub fn device(name: &str) -> Device {
    Device { name: name.into(), ..Device::default() }
}

pub fn amount(value: i64) -> Quantity {
    Quantity::new(value, Format::DecimalSi)
}

/// A device that draws on the counter `memory` of the set `card`.
pub fn part(name: &str, memory: i64, groups: &[&str]) -> Device {
    let counters = BTreeMap::from([("memory".into(), amount(memory))]);
    let groups = groups.iter().map(|group| (*group).into()).collect();
    let draw = Draw { counter_set: "card".into(), counters, groups };
    Device { draws: vec![draw], ..device(name) }
}

pub fn card(memory: i64) -> CounterSet {
    CounterSet { name: "card".into(), counters: BTreeMap::from([("memory".into(), amount(memory))]) }
}

/// A device that claims share.
pub fn shareable(name: &str, bandwidth: i64) -> Device {
    let capacity = Capacity { value: amount(bandwidth), policy: None };
    Device { shareable: true, capacity: BTreeMap::from([("bandwidth".into(), capacity)]), ..device(name) }
}

/// Makes what a claim holds a share of a device.
pub fn share(held: &mut Held, bandwidth: i64) {
    held.share = Some(ShareId("s".into()));
    held.holding.consumed = BTreeMap::from([("bandwidth".into(), amount(bandwidth))]);
}

/// How far a device has come that has to be made ready.
pub fn preparation(
    device: &str,
    missing: &[&str],
    failed: Option<cluster::preparation::Failed>,
) -> Arc<Preparation> {
    let missing = missing.iter().map(|name| (*name).into()).collect();
    let progress = Progress { device: device_id(device), timeout_ms: None, missing, failed };
    Arc::new(Preparation { since: None, devices: vec![progress] })
}

pub fn only(names: &[&str]) -> Namespaces {
    Namespaces::Only(names.iter().map(|name| Arc::from(*name)).collect::<BTreeSet<_>>())
}
