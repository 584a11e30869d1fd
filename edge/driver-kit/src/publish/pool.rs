//! What a driver wants to offer: pools of devices, without a word about slices.

use objects::core::affinity::NodeSelector;
use objects::meta::OwnerReference;
use objects::resource::slice::{CounterSet, Device};

/// A pool of devices that a driver offers.
///
/// How it is cut into slices, and when which of them is written, is up to the kit. The order of the devices counts: where
/// nothing else decides, a scheduler takes the first that fits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// Unique among the pools of the driver in the whole cluster. A pool of a node usually has the node's name.
    pub name: String,
    /// From which nodes its devices can be used.
    pub reach: Reach,
    /// The devices.
    pub devices: Vec<Device>,
    /// Amounts that several devices draw from, as partitions of one GPU do.
    pub counter_sets: Vec<CounterSet>,
    /// The attribute that says what kind of partition a device is.
    pub partition_type_attribute: Option<String>,
    /// What the kubelet need not call the driver for: `NodePrepareResources`, `NodeUnprepareResources`, or `*`.
    pub skip_node_operations: Vec<String>,
}

/// From which nodes the devices of a pool can be used.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Reach {
    /// From the node that the publisher runs for.
    #[default]
    OwnNode,
    /// From nodes that a selector picks. It must have exactly one term.
    Nodes(NodeSelector),
    /// From every node.
    AllNodes,
    /// Each device says it for itself, by its `node_name`, `node_selector` or `all_nodes`.
    PerDevice,
}

/// Whose slices a publisher looks after. What is in its scope and not wanted is deleted; what is outside is never touched.
#[derive(Clone, Debug, PartialEq)]
pub enum Scope {
    /// The driver's slices of one node. They belong to the node and go when it goes.
    Node(String),
    /// The driver's slices that belong to no single node: devices of a network or a fabric.
    Network {
        /// The object that the slices are to go with, if any.
        owner: Option<OwnerReference>,
    },
}

impl Scope {
    /// The node, if it is of one.
    pub fn node(&self) -> Option<&str> {
        match self {
            Self::Node(name) => Some(name),
            Self::Network { .. } => None,
        }
    }
}
