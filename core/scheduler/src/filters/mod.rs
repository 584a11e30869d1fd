//! What puts a node out of the question for a pod, one file for each kind of reason.
//!
//! The filters come in layers by what they look at, so that answers can be kept as long as that stays the same: the node
//! alone ([`fixed`]), the node and what its pods use ([`usage`]), volumes ([`Mounts`]), and the pods everywhere
//! ([`Around`]). Within a layer the first reason in Kubernetes' order is the one that is told.

mod around;
mod features;
mod node_affinity;
mod node_name;
mod pod_affinity;
mod pod_term;
mod ports;
mod resources;
mod spread;
mod taints;
mod unschedulable;
mod volumes;

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::nodes::NodeState;
use model::node::{Node, NodeSelector};
use model::pod::Shape;

pub use around::Around;
pub use node_affinity::named_nodes;
pub use node_name::check as node_name;
pub use volumes::Mounts;

pub(crate) use node_affinity::wants;
pub(crate) use pod_term::{OwnTerm, reaches};
pub(crate) use spread::{counted, is_counted};
pub(crate) use taints::{keeps_off, tolerates};

use crate::node_refusal::NodeRefusal;

/// What people may set about filters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FilterSettings {
    /// Nodes that will do for any pod.
    pub enforced_nodes: Option<NodeSelector>,
    /// Resources of which there is always enough.
    pub ignored_resources: BTreeSet<Arc<str>>,
    /// Groups of such resources: what stands before the slash.
    pub ignored_groups: BTreeSet<Arc<str>>,
    /// Resources that classes of devices stand for. A node that has none of its own leaves them to the devices.
    pub device_resources: BTreeSet<Arc<str>>,
    /// Whether tolerations may compare numbers.
    pub compares_taints: bool,
}

/// Whether a node as such will do, whatever is on it.
///
/// # Errors
/// Why it will not.
pub fn fixed(shape: &Shape, node: &Node, settings: &FilterSettings) -> Result<(), NodeRefusal> {
    node_affinity::check_name(shape, node)?;
    unschedulable::check(shape, node, settings)?;
    taints::check(shape, node, settings)?;
    node_affinity::check(shape, node, settings)?;
    features::check(shape, node)
}

/// Whether what is left of a node will do.
///
/// # Errors
/// Why it will not.
pub fn usage(shape: &Shape, state: &NodeState, settings: &FilterSettings) -> Result<(), NodeRefusal> {
    ports::check(shape, state)?;
    resources::check(shape, state, settings)
}

/// The node of a state.
pub(crate) fn node_of(state: &NodeState) -> &Node {
    state.node.as_ref().expect("only nodes that exist are looked at")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{node, nodes, shape, state, taint};

    #[test]
    fn the_first_reason_in_order_is_told() {
        let mut closed = node("a", "");
        closed.unschedulable = true;
        closed.taints.push(taint("k=v:NoSchedule"));
        let mut shape = shape("");
        shape.node_labels = crate::sample::labels("disk=ssd");
        shape.required_features.push("F".into());
        let settings = FilterSettings::default();
        assert_eq!(fixed(&shape, &closed, &settings), Err(NodeRefusal::Unschedulable));
        closed.unschedulable = false;
        assert_eq!(fixed(&shape, &closed, &settings), Err(NodeRefusal::Taint(taint("k=v:NoSchedule"))));
        closed.taints.clear();
        assert_eq!(fixed(&shape, &closed, &settings), Err(NodeRefusal::NodeAffinity));
        shape.node_labels.clear();
        assert_eq!(fixed(&shape, &closed, &settings), Err(NodeRefusal::Feature { feature: "F".into() }));
        shape.required_features.clear();
        assert_eq!(fixed(&shape, &closed, &settings), Ok(()));
        let nodes = nodes([closed], []);
        assert_eq!(usage(&shape, state(&nodes, "a"), &settings), Ok(()));
    }
}
