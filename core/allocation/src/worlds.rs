//! Small worlds for tests: devices by driver, counter sets and claims, and the problem that they make.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::ledger::Ledger;
use cluster::pools::Slices;
use cluster::published::Published;
use gates::Gates;
use model::claim::{Amount, Ask, Claim, ClaimId, ClaimSpec, Class, Constraint, Request, Rule, Wish};
use model::device::{Attribute, Capacity, CounterSet, Device, Draw, PoolId, Reach, Slice};
use model::node::Node;
use model::quantity::{Format, Quantity};
use selector::SliceRevision;

use crate::expressions::Expressions;
use crate::problem::Problem;
use crate::{Asked, DeviceOrder, Question, parse};

/// A node with one pool per class: devices of class `gpu` have the driver `gpu`.
#[derive(Default)]
pub(crate) struct World {
    pub devices: BTreeMap<&'static str, Vec<Device>>,
    pub counters: Vec<CounterSet>,
    pub claims: Vec<Claim>,
}

pub(crate) fn amount(value: i64) -> Quantity {
    Quantity::new(value, Format::DecimalSi)
}

/// A device with whole-number attributes.
pub(crate) fn device(name: &str, attributes: &[(&str, i64)]) -> Device {
    let attributes = attributes.iter().map(|(name, value)| (Arc::from(*name), Attribute::Int(*value)));
    Device { name: name.into(), attributes: attributes.collect(), ..Device::default() }
}

/// The same device, drawing on a counter set.
pub(crate) fn drawing(mut device: Device, set: &str, slices: i64, groups: &[&str]) -> Device {
    device.draws.push(Draw {
        counter_set: set.into(),
        counters: BTreeMap::from([("slices".into(), amount(slices))]),
        groups: groups.iter().map(|group| Arc::from(*group)).collect(),
    });
    device
}

/// Counters of one each, by number.
pub(crate) fn places(numbers: std::ops::Range<i64>) -> BTreeMap<Arc<str>, Quantity> {
    numbers.map(|number| (format!("place-{number}").into(), amount(1))).collect()
}

/// A request for devices of a class.
pub(crate) fn request(name: &str, class: &str, count: i64) -> Request {
    let ask = Ask {
        class: class.into(),
        selectors: Vec::new(),
        amount: Amount::Exactly(count),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    };
    Request { name: name.into(), wish: Wish::Exactly(ask) }
}

/// The request narrowed by a selector.
pub(crate) fn picking(mut request: Request, selector: &str) -> Request {
    if let Wish::Exactly(ask) = &mut request.wish {
        ask.selectors.push(Some(selector.into()));
    }
    request
}

pub(crate) fn matching(attribute: &str) -> Constraint {
    Constraint { requests: Vec::new(), rule: Rule::Match(attribute.into()) }
}

impl World {
    pub fn devices(mut self, driver: &'static str, devices: impl IntoIterator<Item = Device>) -> World {
        self.devices.entry(driver).or_default().extend(devices);
        self
    }

    pub fn counter_set(mut self, name: &str, slices: i64) -> World {
        let counters = BTreeMap::from([("slices".into(), amount(slices))]);
        self.counters.push(CounterSet { name: name.into(), counters });
        self
    }

    pub fn claim(
        mut self,
        requests: impl IntoIterator<Item = Request>,
        constraints: impl IntoIterator<Item = Constraint>,
    ) -> World {
        let name = format!("claim-{}", self.claims.len()).into();
        self.claims.push(Claim {
            id: ClaimId { namespace: "default".into(), name },
            spec: ClaimSpec {
                requests: requests.into_iter().collect(),
                constraints: constraints.into_iter().collect(),
                configs: Vec::new(),
            },
        });
        self
    }

    fn published(&self) -> Vec<Arc<Published>> {
        let node = Reach::Node("node".into());
        let mut slices = Vec::new();
        let sets = if self.counters.is_empty() { 0 } else { 1 };
        for (driver, devices) in &self.devices {
            let slice = |name: &str, devices: Vec<Device>, counter_sets: Vec<CounterSet>| Slice {
                name: format!("{driver}-{name}").into(),
                pool: PoolId { driver: (*driver).into(), pool: "pool".into() },
                generation: 1,
                slices_in_pool: 1 + sets,
                reach: node.clone(),
                devices,
                counter_sets,
                skip_node_operations: Vec::new(),
            };
            slices.push(slice("devices", devices.clone(), Vec::new()));
            if sets > 0 {
                slices.push(slice("counters", Vec::new(), self.counters.clone()));
            }
        }
        let revision = |slice: usize| SliceRevision { slice: slice as u64, revision: 0 };
        slices
            .into_iter()
            .enumerate()
            .map(|(at, slice)| Arc::new(Published::new(slice, revision(at))))
            .collect()
    }

    /// Puts the question to `asked`, with a budget.
    pub fn ask<T>(&self, budget: u64, asked: impl FnOnce(&Question<'_>) -> T) -> T {
        let node = Node { name: "node".into(), ..Node::default() };
        let gates = Gates::all_on();
        let pools = Slices::new(self.published()).pools_for(&node, gates).expect("no selector");
        let class = |name: &&'static str| {
            let selector = format!("device.driver == \"{name}\"").into();
            let class = Class { name: (*name).into(), selectors: vec![Some(selector)], ..Class::default() };
            (class.name.clone(), class)
        };
        asked(&Question {
            node: &node,
            pools: &pools,
            claims: &self.claims.iter().map(Asked::from).collect::<Vec<_>>(),
            classes: &self.devices.keys().map(class).collect(),
            ledger: &Ledger::default(),
            gates,
            order: DeviceOrder::Upstream,
            budget,
        })
    }

    /// The question in numbers.
    pub fn problem(&self) -> Arc<Problem> {
        let parse = |question: &Question<'_>| parse::parse(question, &mut Expressions::default());
        Arc::new(self.ask(0, parse).expect("it can be judged"))
    }
}

/// A device that can be shared, with so much memory.
pub(crate) fn shareable(mut device: Device, memory: i64) -> Device {
    device.shareable = true;
    device.capacity.insert("memory".into(), Capacity { value: amount(memory), policy: None });
    device
}

/// The request for so much memory of each device.
pub(crate) fn taking(mut request: Request, memory: i64) -> Request {
    if let Wish::Exactly(ask) = &mut request.wish {
        ask.capacity = Some(BTreeMap::from([("memory".into(), amount(memory))]));
    }
    request
}

/// A request for the first of these that is available.
pub(crate) fn first_of(name: &str, requests: impl IntoIterator<Item = Request>) -> Request {
    let asks = requests.into_iter().filter_map(|request| match request.wish {
        Wish::Exactly(ask) => Some((request.name, ask)),
        Wish::FirstAvailable(_) => None,
    });
    Request { name: name.into(), wish: Wish::FirstAvailable(asks.collect()) }
}

/// Requests for one device each.
pub(crate) fn singles(class: &str, count: usize) -> Vec<Request> {
    (0..count).map(|at| request(&format!("r{at}"), class, 1)).collect()
}

/// Devices that no two requests see alike: each has a number of its own.
pub(crate) fn distinct(prefix: &str, count: i64) -> Vec<Device> {
    (0..count)
        .map(|at| device(&format!("{prefix}-{at}"), &[("left", 100 + at), ("right", 100 + at)]))
        .collect()
}

/// Two devices of these are never equal in both attributes, though in each alone.
pub(crate) fn crossed() -> Vec<Device> {
    let values = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let named = values.iter().enumerate();
    named
        .map(|(at, (left, right))| device(&format!("x-{at}"), &[("left", *left), ("right", *right)]))
        .collect()
}
