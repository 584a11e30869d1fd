//! A node with devices, some of them taken, and claims that ask for them.
//!
//! Invariant: every pool is whole, so that an answer is about devices and never about slices that are missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use allocation::{Asked, DeviceOrder, Expressions, Question, Reply};
use anyhow::ensure;
use cluster::ledger::{Holding, Ledger};
use cluster::pools::{PoolView, Slices};
use cluster::published::Published;
use gates::Gates;
use model::claim::{Amount, Ask, Claim, ClaimId, ClaimSpec, Class, Constraint, Request, Rule, Wish};
use model::device::{CounterSet, Device, DeviceId, PoolId, Reach, Slice};
use model::identity::NodeName;
use model::node::Node;
use model::quantity::{Format, Quantity};
use selector::SliceRevision;

/// The driver of all devices.
pub(super) const DRIVER: &str = "gpu.example.com";

/// The class that picks all of them.
const CLASS: &str = "gpu.example.com";

/// A node, its pools, and what of them is taken.
pub(super) struct World {
    pub node: Node,
    pub pools: Vec<PoolView>,
    pub classes: BTreeMap<Arc<str>, Class>,
    pub ledger: Ledger,
}

impl World {
    /// A node whose pool has slices with these devices, and one with the counter sets if there are any.
    pub fn new(devices: Vec<Vec<Device>>, counter_sets: Vec<CounterSet>) -> anyhow::Result<World> {
        let node = Node { name: "node-0".into(), ..Node::default() };
        let mut parts: Vec<_> = devices.into_iter().map(|devices| (devices, Vec::new())).collect();
        if !counter_sets.is_empty() {
            parts.push((Vec::new(), counter_sets));
        }
        let slices_in_pool = parts.len() as i64;
        let publish = |(at, (devices, counter_sets)): (usize, (Vec<Device>, Vec<CounterSet>))| {
            let name = format!("slice-{at}").into();
            let slice = Slice { name, slices_in_pool, counter_sets, ..slice(&node.name, devices) };
            Arc::new(Published::new(slice, SliceRevision { slice: at as u64, revision: 0 }))
        };
        let slices = Slices::new(parts.into_iter().enumerate().map(publish));
        let pools = slices.pools_for(&node, Gates::default())?;
        ensure!(
            pools.iter().all(|pool| matches!(pool, PoolView::Whole(_))),
            "a pool is not whole: {pools:?}"
        );
        Ok(World { node, pools, classes: classes(), ledger: Ledger::default() })
    }

    /// The same with devices taken, each by a claim of its own.
    pub fn with_taken(mut self, devices: &[&str]) -> World {
        for device in devices {
            take(&mut self.ledger, &self.node.name, device);
        }
        self
    }

    /// Asks for devices for all claims.
    pub fn ask(
        &self,
        claims: &[Asked<'_>],
        budget: u64,
        expressions: &mut Expressions,
    ) -> anyhow::Result<Reply> {
        let World { node, pools, classes, ledger } = self;
        let (gates, order) = (Gates::default(), DeviceOrder::default());
        let question = Question { node, pools, claims, classes, ledger, gates, order, budget };
        Ok(allocation::allocate(&question, expressions)?)
    }
}

/// A slice of a pool that a node has for itself, which is all of the pool.
pub(super) fn slice(node: &NodeName, devices: Vec<Device>) -> Slice {
    Slice {
        name: format!("{node}-slice").into(),
        pool: PoolId { driver: DRIVER.into(), pool: (**node).into() },
        generation: 1,
        slices_in_pool: 1,
        reach: Reach::Node(node.clone()),
        devices,
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    }
}

/// Takes a device of a node for some claim.
pub(super) fn take(ledger: &mut Ledger, node: &NodeName, device: &str) {
    let id = DeviceId { driver: DRIVER.into(), pool: (**node).into(), device: device.into() };
    let name = format!("{node}-{device}").into();
    let holder = ClaimId { namespace: "default".into(), name };
    ledger.take(
        &id,
        None,
        Holding { holder: holder.into(), groups: BTreeMap::new(), consumed: BTreeMap::new() },
    );
}

/// The one class.
pub(super) fn classes() -> BTreeMap<Arc<str>, Class> {
    let selector = format!("device.driver == '{DRIVER}'").into();
    let class = Class { name: CLASS.into(), selectors: vec![Some(selector)], ..Class::default() };
    BTreeMap::from([(CLASS.into(), class)])
}

/// Picks the devices of a profile.
pub(super) fn of_profile(profile: &str) -> String {
    format!("device.attributes['{DRIVER}'].profile == '{profile}'")
}

/// A claim for so many devices that each selector picks; all of them have a value of each attribute in common.
pub(super) fn claim(name: &str, asks: &[(i64, String)], tied_by: &[&str]) -> Claim {
    let request = |(at, (count, selector)): (usize, &(i64, String))| {
        let ask = Ask {
            class: CLASS.into(),
            selectors: vec![Some(selector.as_str().into())],
            amount: Amount::Exactly(*count),
            admin_access: None,
            tolerations: Vec::new(),
            capacity: None,
            derived: Vec::new(),
        };
        Request { name: format!("request-{at}").into(), wish: Wish::Exactly(ask) }
    };
    let tie = |attribute: &&str| {
        let rule = Rule::Match(format!("{DRIVER}/{attribute}").into());
        Constraint { requests: Vec::new(), rule }
    };
    Claim {
        id: ClaimId { namespace: "default".into(), name: name.into() },
        spec: ClaimSpec {
            requests: asks.iter().enumerate().map(request).collect(),
            constraints: tied_by.iter().map(tie).collect(),
            configs: Vec::new(),
        },
    }
}

/// A whole number.
pub(super) fn count(value: i64) -> Quantity {
    Quantity::new(value, Format::DecimalSi)
}

/// So many mebibytes.
pub(super) fn mebibytes(value: i64) -> Quantity {
    Quantity::new(value << 20, Format::BinarySi)
}
