//! A claim that waits for devices from a driver's controller, and the nodes that are out of the question for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::identity::NodeName;
use model::node::{Node, NodeSelector};

use crate::values::reason::DeviceReason;

/// A claim of a pod that a driver's controller is to give devices.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The pod's name for it, by which drivers answer.
    pub entry: Arc<str>,
    /// The driver.
    pub driver: Arc<str>,
    /// Every one of these has to pick a node.
    pub(crate) suitable: Vec<NodeSelector>,
    /// Nodes that the driver said will not do.
    pub(crate) unsuitable: BTreeSet<Arc<str>>,
}

impl Pending {
    /// Asks for no other node than this one.
    pub fn stay_on(&mut self, node: &NodeName) {
        self.suitable.push(NodeSelector::only(node));
    }

    /// Why a node is out of the question.
    pub fn refuses(&self, node: &Node) -> Option<DeviceReason> {
        if self.suitable.iter().any(|nodes| !nodes.picks(node).unwrap_or(false)) {
            return Some(DeviceReason::ExcludedByClass);
        }
        let is_out = self.unsuitable.contains(&*node.name);
        is_out.then_some(DeviceReason::ExcludedByDriver)
    }
}
