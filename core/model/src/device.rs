//! What drivers publish: slices of pools, and the devices in them.
//!
//! Names are shared texts, so that an id costs no copy. Nothing here is checked against anything else; a pool is put
//! together, and found whole or contradictory, elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::identity::NodeName;
use crate::node::NodeSelector;
use crate::quantity::Quantity;

/// The devices that one driver describes together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PoolId {
    /// The driver.
    pub driver: Arc<str>,
    /// The pool's name, unique for the driver.
    pub pool: Arc<str>,
}

impl fmt::Display for PoolId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.driver, self.pool)
    }
}

/// A device by name, for all time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceId {
    /// The driver.
    pub driver: Arc<str>,
    /// The pool.
    pub pool: Arc<str>,
    /// The device's name, unique in the pool.
    pub device: Arc<str>,
}

impl DeviceId {
    /// The pool that it is in.
    #[must_use]
    pub fn pool_id(&self) -> PoolId {
        PoolId { driver: self.driver.clone(), pool: self.pool.clone() }
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}/{}", self.driver, self.pool, self.device)
    }
}

/// A part of a pool as published.
#[derive(Clone, PartialEq, Debug)]
pub struct Slice {
    /// The object's name, which orders the slices of a pool.
    pub name: Arc<str>,
    /// The pool that it is a part of.
    pub pool: PoolId,
    /// The pool's generation; only the highest counts.
    pub generation: i64,
    /// How many slices the pool has at this generation.
    pub slices_in_pool: i64,
    /// From where the devices can be used.
    pub reach: Reach,
    /// The devices, in the order in which they are to be used.
    pub devices: Vec<Device>,
    /// Amounts that devices of the pool draw from.
    pub counter_sets: Vec<CounterSet>,
    /// Node operations that these devices do without.
    pub skip_node_operations: Vec<Arc<str>>,
}

/// From where a device can be used.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Reach {
    /// From one node.
    Node(NodeName),
    /// From the nodes that a selector picks.
    Matching(NodeSelector),
    /// From everywhere.
    Everywhere,
    /// Each device says so for itself.
    PerDevice,
    /// Nothing that we know of was said.
    #[default]
    Unsaid,
}

/// A device that a driver offers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Device {
    /// Its name in the pool.
    pub name: Arc<str>,
    /// What it is like, by qualified name.
    pub attributes: BTreeMap<Arc<str>, Attribute>,
    /// How much of what it has, by qualified name.
    pub capacity: BTreeMap<Arc<str>, Capacity>,
    /// What it takes from counter sets while it is allocated.
    pub draws: Vec<Draw>,
    /// From where it can be used, if the slice leaves that to the device.
    pub reach: Reach,
    /// Reasons to keep off.
    pub taints: Vec<Taint>,
    /// What must be reported before a pod may use it.
    pub binding: Binding,
    /// Once allocated for a node it can be used from there only.
    pub binds_to_node: bool,
    /// Several claims may hold it at the same time.
    pub shareable: bool,
    /// What of the node's own resources it is or costs, by resource.
    pub node_resources: BTreeMap<Arc<str>, NodeShare>,
}

/// What of a resource of its node a device is or costs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NodeShare {
    /// How much of the resource it is.
    pub part: Option<Part>,
    /// What each pod that uses it costs on top.
    pub per_pod: Option<Quantity>,
    /// What each container that uses it costs on top.
    pub per_container: Option<Quantity>,
}

/// How much of a resource a device is.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// So much, whichever claim has it.
    Device(Quantity),
    /// As much as is taken of a capacity.
    Capacity {
        /// The capacity.
        key: Arc<str>,
        /// How much of the resource each unit of it is; one if not said.
        factor: Option<Quantity>,
    },
}

/// What a device waits for between its allocation and its use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Binding {
    /// All of these must be reported.
    pub conditions: Vec<Arc<str>>,
    /// None of these may be reported.
    pub failures: Vec<Arc<str>>,
    /// How long to wait at most, as the driver wrote it.
    pub timeout: Option<Arc<str>>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Attribute {
    /// A whole number.
    Int(i64),
    /// True or false.
    Bool(bool),
    /// A text.
    String(Arc<str>),
    /// A semantic version, as it was written.
    Version(Arc<str>),
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Several of true or false.
    Bools(Vec<bool>),
    /// Texts.
    Strings(Vec<Arc<str>>),
    /// Semantic versions.
    Versions(Vec<Arc<str>>),
    /// The attribute is there, without any value that we know of.
    Missing,
}

impl Attribute {
    /// The values, if there are several; the value itself otherwise.
    pub fn scalars(&self) -> impl Iterator<Item = Attribute> {
        let scalars: Vec<Attribute> = match self {
            Attribute::Int(_) | Attribute::Bool(_) | Attribute::String(_) | Attribute::Version(_) => {
                vec![self.clone()]
            }
            Attribute::Ints(values) => values.iter().copied().map(Attribute::Int).collect(),
            Attribute::Bools(values) => values.iter().copied().map(Attribute::Bool).collect(),
            Attribute::Strings(values) => values.iter().cloned().map(Attribute::String).collect(),
            Attribute::Versions(values) => values.iter().cloned().map(Attribute::Version).collect(),
            Attribute::Missing => Vec::new(),
        };
        scalars.into_iter()
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Int(value) => write!(out, "{value}"),
            Attribute::Bool(value) => write!(out, "{value}"),
            Attribute::String(text) | Attribute::Version(text) => write!(out, "{text}"),
            Attribute::Missing => write!(out, "(none)"),
            list => {
                let texts: Vec<String> = list.scalars().map(|scalar| scalar.to_string()).collect();
                write!(out, "{}", texts.join(","))
            }
        }
    }
}

/// An amount that a device has.
#[derive(Clone, PartialEq, Debug)]
pub struct Capacity {
    /// All of it.
    pub value: Quantity,
    /// Which parts of it may be asked for; in a box, since few capacities have one and every device has capacities.
    pub policy: Option<Box<RequestPolicy>>,
}

/// Which parts of a capacity may be asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestPolicy {
    /// What is taken by a request that does not say.
    pub default: Option<Quantity>,
    /// The amounts that can be had.
    pub allowed: Allowed,
}

/// The amounts of a capacity that can be had.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Allowed {
    /// Any.
    #[default]
    Any,
    /// One of these, in ascending order.
    Values(Vec<Quantity>),
    /// Any in a range.
    Range {
        /// The least.
        min: Option<Quantity>,
        /// The most.
        max: Option<Quantity>,
        /// The distance from one to the next, counted from the least.
        step: Option<Quantity>,
    },
}

/// Amounts that several devices draw from.
#[derive(Clone, PartialEq, Debug)]
pub struct CounterSet {
    /// Its name in the pool.
    pub name: Arc<str>,
    /// The amounts by name.
    pub counters: BTreeMap<Arc<str>, Quantity>,
}

/// What a device takes from a counter set while it is allocated.
#[derive(Clone, PartialEq, Debug)]
pub struct Draw {
    /// The counter set.
    pub counter_set: Arc<str>,
    /// How much of each counter.
    pub counters: BTreeMap<Arc<str>, Quantity>,
    /// With which others it can share the set: devices that name one of these too. Without any, devices that name none.
    pub groups: Vec<Arc<str>>,
}

/// A reason to keep off a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taint {
    /// What is wrong.
    pub key: Arc<str>,
    /// More about it.
    pub value: Arc<str>,
    /// What it means for claims.
    pub effect: TaintEffect,
}

/// What a taint means for claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaintEffect {
    /// No claim gets the device.
    NoSchedule,
    /// No claim gets it, and pods that use it must go.
    NoExecute,
    /// Nothing: it is only told. Effects that we do not know count as this.
    Told(Arc<str>),
}

impl Device {
    /// The attribute of a fully qualified name; one of the driver's own domain may be published without it.
    #[must_use]
    pub fn attribute(&self, driver: &str, name: &str) -> Option<&Attribute> {
        self.attributes.get(name).or_else(|| {
            let (domain, id) = name.split_once('/')?;
            if domain == driver { self.attributes.get(id) } else { None }
        })
    }

    /// Whether a pod must wait before it may use the device.
    #[must_use]
    pub fn needs_preparation(&self) -> bool {
        !self.binding.conditions.is_empty()
    }

    /// Whether it declares compatibility groups on any counter set.
    #[must_use]
    pub fn declares_groups(&self) -> bool {
        self.draws.iter().any(|draw| !draw.groups.is_empty())
    }
}
