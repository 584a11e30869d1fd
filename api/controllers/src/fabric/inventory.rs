//! A fabric as it was seen: its devices and where they are, its hosts and the ports through which they reach devices.

use std::collections::BTreeMap;

use model::timestamp::Timestamp;

/// A fabric as it was seen.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inventory {
    /// What is written down later than this may not be in it yet.
    pub as_of: Timestamp,
    /// Devices, by the names that the fabric has for them.
    pub units: BTreeMap<String, Unit>,
    /// Hosts, by the names that the fabric has for them.
    pub hosts: BTreeMap<String, Host>,
}

/// A device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Unit {
    /// Its model, by which claims choose.
    pub model: String,
    /// The switch that it hangs on; without one it is within reach of every port.
    pub switch: Option<String>,
    /// It works.
    pub is_healthy: bool,
    /// Where it is attached, if it is.
    pub attached: Option<Place>,
    /// What else is known of it.
    pub attributes: BTreeMap<String, String>,
    /// Amounts that it has, such as `memory: 80Gi`.
    pub capacity: BTreeMap<String, String>,
}

/// A host, and the port through which it reaches a device.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Place {
    /// The host; one that the inventory does not have is none of ours.
    pub host: String,
    /// The port.
    pub port: String,
}

/// A host.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Host {
    /// The name of the host, which may be that of a node.
    pub name: String,
    /// How many devices may be attached to it.
    pub units_max: Option<u32>,
    /// Its ports.
    pub ports: Vec<Port>,
}

/// A port of a switch that a host is at.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Port {
    /// The name that the fabric has for it.
    pub name: String,
    /// The switch that it belongs to.
    pub switch: String,
    /// How many devices may be attached through it.
    pub units_max: Option<u32>,
}

impl Port {
    /// Whether devices of this unit's switch can be attached through the port.
    pub fn reaches(&self, unit: &Unit) -> bool {
        unit.switch.as_ref().is_none_or(|switch| *switch == self.switch)
    }
}
