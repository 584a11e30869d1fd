//! Nodes by number.

/// A node by number. Numbers of nodes that went are used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeIdx(pub u32);
