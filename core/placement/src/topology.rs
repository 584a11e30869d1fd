//! Where nodes are: in which rack, in which block.
//!
//! Invariant: only labels say where a node is. One that lacks a label is in no domain of that level, and what contradicts
//! itself is reported; neither is guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;

/// Nodes and the domains that they are in, by level.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Topology {
    /// Label keys, the coarsest level first.
    levels: Vec<Arc<str>>,
    /// For each node its domain of each level.
    nodes: BTreeMap<NodeIdx, Vec<Option<Arc<str>>>>,
}

/// A domain that is in two domains of the next coarser level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// Its level.
    pub level: Arc<str>,
    /// The domain.
    pub domain: Arc<str>,
    /// What it is in.
    pub within: BTreeSet<Arc<str>>,
}

impl Topology {
    /// Reads where nodes are off their labels. Levels are label keys, the coarsest first.
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

    /// Nodes that lack the label of a level.
    pub fn unlabelled(&self, level: &str) -> impl Iterator<Item = NodeIdx> {
        self.nodes().filter(move |node| self.domain(*node, level).is_none())
    }

    /// Domains that are in two domains of the next coarser level.
    #[must_use]
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        for at in 1..self.levels.len() {
            let mut within: BTreeMap<&Arc<str>, BTreeSet<Arc<str>>> = BTreeMap::new();
            for path in self.nodes.values() {
                if let (Some(coarse), Some(fine)) = (&path[at - 1], &path[at]) {
                    within.entry(fine).or_default().insert(coarse.clone());
                }
            }
            let torn = within.into_iter().filter(|(_, within)| within.len() > 1);
            found.extend(torn.map(|(domain, within)| Contradiction {
                level: self.levels[at].clone(),
                domain: domain.clone(),
                within,
            }));
        }
        found
    }
}
