//! The node that filters look at.

use std::sync::Arc;

use cluster::nodes::NodeState;
use model::node::Node;

/// The node of a state.
pub(crate) fn node_of(state: &NodeState) -> &Arc<Node> {
    state.node.as_ref().expect("only nodes that exist are looked at")
}
