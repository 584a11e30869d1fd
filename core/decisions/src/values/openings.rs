//! Claims that drivers' controllers are to give devices, and the nodes that would do for them.

use model::identity::NodeName;
use model::node::Node;

use crate::values::pending::Pending;
use crate::values::pod_claims::PodClaims;

/// The most nodes that a context may name.
pub const NODES_MAX: usize = 128;

/// Claims that are to be negotiated about, and the nodes that would do otherwise, the best first.
#[derive(Clone, Debug)]
pub struct Openings {
    /// The claims.
    pub pending: Vec<Pending>,
    /// The nodes, the best first.
    pub nodes: Vec<NodeName>,
}

impl Openings {
    /// What is to be negotiated about for a single node, if anything is.
    pub fn at(claims: &PodClaims, node: &Node) -> Option<Box<Openings>> {
        let (pending, nodes) = (claims.pending.clone(), vec![node.name.clone()]);
        (!pending.is_empty()).then(|| Box::new(Openings { pending, nodes }))
    }
}
