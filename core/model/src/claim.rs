//! What is asked for: claims, their requests, and the classes that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::device::{Attribute, Device, DeviceId, PoolId, Taint, TaintEffect};
use crate::node::NodeSelector;
use crate::quantity::Quantity;
use crate::request_name::RequestName;
use crate::timestamp::Timestamp;

/// A claim by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClaimId {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
}

impl fmt::Display for ClaimId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return write!(out, "{}", self.name);
        }
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// A wish for devices.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// Which claim it is.
    pub id: ClaimId,
    /// What it asks for.
    pub spec: ClaimSpec,
}

/// What a claim asks for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClaimSpec {
    /// What is wanted, in the order in which it is looked for.
    pub requests: Vec<Request>,
    /// What must hold between the devices.
    pub constraints: Vec<Constraint>,
    /// For each configuration of the claim, the requests that it is for; none means all.
    pub configs: Vec<Vec<RequestName>>,
}

/// One named part of a claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// Its name in the claim.
    pub name: Arc<str>,
    /// What is wanted.
    pub wish: Wish,
}

/// What a request wants.
#[derive(Clone, PartialEq, Debug)]
pub enum Wish {
    /// This.
    Exactly(Ask),
    /// The first of these that can be had, each with its name.
    FirstAvailable(Vec<(Arc<str>, Ask)>),
}

/// Devices of one class.
#[derive(Clone, PartialEq, Debug)]
pub struct Ask {
    /// The class.
    pub class: Arc<str>,
    /// Conditions on the device; `None` is one of a kind that we do not know.
    pub selectors: Vec<Option<Arc<str>>>,
    /// How many.
    pub amount: Amount,
    /// Whether the devices are wanted for looking after them, whichever claim uses them.
    pub admin_access: Option<bool>,
    /// Taints that do not matter.
    pub tolerations: Vec<Toleration>,
    /// How much of each capacity is needed.
    pub capacity: Option<BTreeMap<Arc<str>, Quantity>>,
    /// Attributes to be computed for constraints: names and expressions.
    pub derived: Vec<(Arc<str>, Arc<str>)>,
}

impl Ask {
    /// Whether it is for looking after devices that others use.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.admin_access == Some(true)
    }

    /// Whether it bears all taints of a device that keep claims off.
    #[must_use]
    pub fn tolerates(&self, taints: &[Taint]) -> bool {
        taints.iter().all(|taint| {
            matches!(taint.effect, TaintEffect::Told(_))
                || self.tolerations.iter().any(|toleration| toleration.bears(taint))
        })
    }
}

/// How many devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Amount {
    /// This many.
    Exactly(i64),
    /// Every one that matches.
    All,
    /// A mode that we do not know.
    Unknown(Arc<str>),
}

/// Leave to ignore taints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Toleration {
    /// The taint's key; any if empty.
    pub key: Arc<str>,
    /// The value that is borne.
    pub value: TolerationValue,
    /// The effect; any if empty.
    pub effect: Arc<str>,
    /// How long a device is kept after it got a taint that evicts.
    pub seconds: Option<i64>,
}

/// Which values of a taint are borne.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TolerationValue {
    /// Any.
    Any,
    /// This one.
    Equal(Arc<str>),
    /// Compared in a way that we do not know, so none.
    Unknown(Arc<str>),
}

impl Toleration {
    /// Whether it bears a taint.
    #[must_use]
    pub fn bears(&self, taint: &Taint) -> bool {
        let effect = match &taint.effect {
            TaintEffect::NoSchedule => "NoSchedule",
            TaintEffect::NoExecute => "NoExecute",
            TaintEffect::Told(effect) => effect,
        };
        (self.effect.is_empty() || &*self.effect == effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match &self.value {
                TolerationValue::Any => true,
                TolerationValue::Equal(value) => *value == taint.value,
                TolerationValue::Unknown(_) => false,
            }
    }
}

/// What must hold between the devices of some requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constraint {
    /// The requests, or alternatives of them; none means all.
    pub requests: Vec<RequestName>,
    /// What must hold.
    pub rule: Rule,
}

impl Constraint {
    /// Whether it is about the devices of a request, or of one of its alternatives.
    #[must_use]
    pub fn concerns(&self, request: &RequestName) -> bool {
        self.requests.is_empty() || self.requests.iter().any(|named| named.covers(request))
    }
}

/// What must hold between devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// They have a value of this attribute in common.
    Match(Arc<str>),
    /// No two of them have a value of this attribute in common.
    Distinct(Arc<str>),
    /// All of them are in this set. No claim says so itself; it is how the devices of several claims are kept together.
    Within(DeviceSet),
    /// None of them is given. No claim says so itself; it is how another choice is asked for if one did not do. A request for
    /// all devices wants these too, and gets none.
    Without(BTreeSet<DeviceId>),
    /// Something that we do not know.
    Unknown,
}

/// Devices that belong together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DeviceSet {
    /// Those of a pool.
    Pool(PoolId),
    /// Those that have a value of an attribute.
    Value {
        /// The attribute.
        attribute: Arc<str>,
        /// The value, which is no list.
        value: Attribute,
    },
}

impl DeviceSet {
    /// Whether a device of a pool is in the set. One that has several values of the attribute is in the sets of all of them.
    #[must_use]
    pub fn contains(&self, pool: &PoolId, device: &Device) -> bool {
        match self {
            DeviceSet::Pool(own) => own == pool,
            DeviceSet::Value { attribute, value } => {
                let known = device.attribute(&pool.driver, attribute);
                known.is_some_and(|known| known.scalars().any(|scalar| scalar == *value))
            }
        }
    }
}

impl fmt::Display for DeviceSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceSet::Pool(pool) => write!(out, "pool {pool}"),
            DeviceSet::Value { attribute, value } => write!(out, "{attribute}={value}"),
        }
    }
}

/// A name for a kind of device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Class {
    /// Its name.
    pub name: Arc<str>,
    /// Conditions on the device; `None` is one of a kind that we do not know.
    pub selectors: Vec<Option<Arc<str>>>,
    /// How many configurations it comes with.
    pub configs: usize,
    /// A resource that pods ask for by name and that its devices stand for.
    pub resource: Option<Arc<str>>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// The controller that gives devices to claims of this class, if the scheduler does not.
    pub control: Option<Arc<Control>>,
}

/// A driver's own controller, which gives devices to claims of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    /// Its name.
    pub controller: Arc<str>,
    /// The nodes that can be thought of at all; every node if absent.
    pub suitable: Option<NodeSelector>,
}

/// How a claim stands with the controller of a driver that gives it its devices.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimControl {
    /// The controller that gave it its devices, and takes them back; the scheduler if absent.
    pub controller: Option<Arc<str>>,
    /// It is to have devices at once and for as long as it is there, whether or not a pod uses it.
    pub immediate: bool,
    /// Its devices are asked back. Until they are given back no pod may begin to use it.
    pub leaving: bool,
    /// More than one may use what it has.
    pub shareable: bool,
}
