//! Where nodes are: in which rack, in which block.
//!
//! Invariant: a node of which it is not known where it is at a level is in no domain of that level.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::NodeIdx;

/// Nodes and the domains that they are in, by level.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Topology {
    /// Names of levels, in any order.
    levels: Vec<Arc<str>>,
    /// For each node its domain of each level.
    nodes: BTreeMap<NodeIdx, Vec<Option<Arc<str>>>>,
}

impl Topology {
    /// Takes down where nodes are: for each of them its domain of each level, if it has one.
    pub fn new(
        levels: impl IntoIterator<Item = Arc<str>>,
        nodes: impl IntoIterator<Item = (NodeIdx, Vec<Option<Arc<str>>>)>,
    ) -> Topology {
        Topology { levels: levels.into_iter().collect(), nodes: nodes.into_iter().collect() }
    }

    /// Reads where nodes are off their labels. Levels are label keys.
    pub fn read<'n>(
        levels: impl IntoIterator<Item = Arc<str>>,
        nodes: impl IntoIterator<Item = (NodeIdx, &'n BTreeMap<Arc<str>, Arc<str>>)>,
    ) -> Topology {
        let levels: Vec<Arc<str>> = levels.into_iter().collect();
        let path = |labels: &BTreeMap<Arc<str>, Arc<str>>| {
            levels.iter().map(|key| labels.get(key).cloned()).collect::<Vec<_>>()
        };
        let nodes = nodes.into_iter().map(|(at, labels)| (at, path(labels))).collect();
        Topology { levels, nodes }
    }

    /// The nodes, in order.
    pub fn nodes(&self) -> impl Iterator<Item = NodeIdx> {
        self.nodes.keys().copied()
    }

    /// The domain of a level that a node is in.
    #[must_use]
    pub fn domain(&self, node: NodeIdx, level: &str) -> Option<&Arc<str>> {
        let at = self.levels.iter().position(|key| **key == *level)?;
        self.nodes.get(&node)?[at].as_ref()
    }
}
