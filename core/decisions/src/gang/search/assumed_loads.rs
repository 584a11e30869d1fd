//! Loads that are assumed on nodes while seats are looked for, and the devices of each.

use cluster::nodes::NodeIdx;
use placement::Load;

use crate::cycle::Cycle;
use crate::gang::members::cast::Cast;
use crate::gang::search::joint_devices::NodeDevices;

/// What is assumed of members.
#[derive(Debug)]
pub(crate) struct AssumedLoads {
    /// Whether devices of members on one node can be in the way of those on another.
    pub(crate) devices_cross: bool,
    /// Whether devices have to be found one node after the other for another reason: they take of the node.
    has_footings: bool,
    pub(crate) loads: Vec<(NodeIdx, Load)>,
    /// How many of each kind are assumed.
    pub(crate) seated: Vec<u32>,
    /// The devices of each load that is assumed, if they cross nodes.
    pub(crate) devices: Vec<NodeDevices>,
}

impl AssumedLoads {
    pub fn new(cycle: &Cycle<'_>, cast: &Cast) -> AssumedLoads {
        let follows = cast.is_apart && cast.examples().any(|member| !member.follows.is_empty());
        let mut examples = cast.examples();
        let is_shared = cast.is_apart && examples.any(|member| cycle.may_share_with_others(member));
        AssumedLoads {
            devices_cross: follows || is_shared,
            has_footings: cast.is_apart && cast.examples().any(|member| member.claims.footing.is_some()),
            loads: Vec::new(),
            seated: vec![0; cast.kinds.len()],
            devices: Vec::new(),
        }
    }

    /// Whether devices of members on one node can be in the way of those on another.
    pub fn devices_cross(&self) -> bool {
        self.devices_cross
    }

    /// Whether devices of members take of their node.
    pub fn has_footings(&self) -> bool {
        self.has_footings
    }

    /// Whether devices of a load have to be found beside those of other loads, or with what they take of the node.
    pub fn needs_joint_devices(&self) -> bool {
        self.devices_cross || self.has_footings
    }
}
