//! From which nodes a volume can be reached.

use model::node::{Node, NodeSelector};
use model::volume::Volume;

/// Whether a node is among those that reach a volume.
pub(crate) fn picks(nodes: &NodeSelector, node: &Node) -> bool {
    nodes.terms.iter().any(|term| term.picks(node).unwrap_or(false))
}

/// Whether a node reaches a volume.
#[must_use]
pub fn reaches_volume(node: &Node, volume: &Volume) -> bool {
    volume.nodes.as_ref().is_none_or(|nodes| picks(nodes, node))
}
