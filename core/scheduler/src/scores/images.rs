//! Images that a node has already need not be fetched.
//!
//! An image counts by its size, and by how many nodes have it: otherwise all pods would go to the few that have.

use std::sync::Arc;

use cluster::nodes::Nodes;
use model::node::Node;
use model::pod::Shape;
use rustc_hash::FxHashMap;

use super::BEST;

const MEGABYTE: i64 = 1024 * 1024;

/// Below so much nothing is gained.
const LEAST: i64 = 23 * MEGABYTE;

/// So much for each image is as good as it gets.
const MOST: i64 = 1000 * MEGABYTE;

/// How many nodes have which image.
#[derive(Clone, Debug, Default)]
pub struct ImageCounts {
    nodes: u32,
    having: FxHashMap<Arc<str>, u32>,
    /// Grows with every change of the counts.
    revision: u64,
}

impl ImageCounts {
    /// Counts the images of all nodes.
    #[must_use]
    pub fn new(nodes: &Nodes) -> ImageCounts {
        let mut counts = ImageCounts::default();
        for node in nodes.iter().filter_map(|(_, state)| state.node.as_ref()) {
            counts.add(node);
        }
        counts
    }

    /// Takes note that a node came, changed or went.
    pub fn replace(&mut self, before: Option<&Node>, after: Option<&Node>) {
        if let (Some(before), Some(after)) = (before, after)
            && before.images.keys().eq(after.images.keys())
        {
            return;
        }
        before.into_iter().for_each(|node| self.remove(node));
        after.into_iter().for_each(|node| self.add(node));
    }

    /// Grows with every change of the counts.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// How common the images of a shape are: scores of one node stay the same as long as this does. Nothing if no node has
    /// any of them.
    #[must_use]
    pub fn commonness(&self, shape: &Shape) -> Option<(u32, Vec<u32>)> {
        let having: Vec<u32> =
            shape.images.iter().map(|name| self.having.get(name).copied().unwrap_or(0)).collect();
        having.iter().any(|count| *count > 0).then_some((self.nodes, having))
    }

    /// Counts a node that came.
    pub fn add(&mut self, node: &Node) {
        self.revision += 1;
        self.nodes += 1;
        for name in node.images.keys() {
            *self.having.entry(name.clone()).or_default() += 1;
        }
    }

    /// Counts a node that went.
    pub fn remove(&mut self, node: &Node) {
        self.revision += 1;
        self.nodes = self.nodes.saturating_sub(1);
        for name in node.images.keys() {
            if let Some(count) = self.having.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.having.remove(name);
                }
            }
        }
    }

    /// The score of a node.
    #[must_use]
    pub fn score(&self, shape: &Shape, node: &Node) -> i64 {
        if shape.images.is_empty() || node.images.is_empty() || self.nodes == 0 {
            return 0;
        }
        let sum: i64 = shape.images.iter().map(|name| self.worth(name, node)).sum();
        let most = MOST * shape.images.len() as i64;
        BEST * (sum.clamp(LEAST, most) - LEAST) / (most - LEAST)
    }

    fn worth(&self, name: &Arc<str>, node: &Node) -> i64 {
        let (Some(size), Some(having)) = (node.images.get(name), self.having.get(name)) else { return 0 };
        (*size as f64 * (f64::from(*having) / f64::from(self.nodes))) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{node, nodes, shape};

    fn with_images(name: &str, images: &[(&str, i64)]) -> Node {
        let mut node = node(name, "");
        node.images = images.iter().map(|(name, size)| ((*name).into(), size * MEGABYTE)).collect();
        node
    }

    #[test]
    fn images_count_by_size_and_by_how_many_nodes_have_them() {
        let a = with_images("a", &[("web:1", 500), ("db:1", 300)]);
        let b = with_images("b", &[("web:1", 500), ("tiny:1", 20)]);
        let mut counts = ImageCounts::new(&nodes([a.clone(), b.clone()], []));
        let score = |counts: &ImageCounts, node: &Node, images: &[&str]| {
            let mut shape = shape("");
            shape.images = images.iter().map(|name| (*name).into()).collect();
            counts.score(&shape, node)
        };
        assert_eq!(score(&counts, &a, &["web:1"]), 48);
        assert_eq!(score(&counts, &b, &["web:1"]), 48);
        assert_eq!(score(&counts, &a, &["db:1"]), 12);
        assert_eq!(score(&counts, &b, &["db:1"]), 0);
        assert_eq!(score(&counts, &b, &["tiny:1"]), 0);
        assert_eq!(score(&counts, &a, &["web:1", "db:1"]), 31);
        assert_eq!(score(&counts, &a, &[]), 0);
        counts.remove(&b);
        assert_eq!(score(&counts, &a, &["db:1"]), 28);
    }

    #[test]
    fn there_is_a_most_that_images_are_worth() {
        let a = with_images("a", &[("huge:1", 5000)]);
        let counts = ImageCounts::new(&nodes([a.clone()], []));
        let mut shape = shape("");
        shape.images = vec!["huge:1".into()];
        assert_eq!(counts.score(&shape, &a), 100);
    }

    #[test]
    fn nodes_that_keep_their_images_change_nothing() {
        let a = with_images("a", &[("web:1", 500)]);
        let mut counts = ImageCounts::default();
        counts.replace(None, Some(&a));
        let (revision, common) = (counts.revision(), counts.commonness(&running("web:1")));
        assert_eq!((common, counts.commonness(&running("db:1"))), (Some((1, vec![1])), None));
        let relabelled = Node { labels: crate::sample::labels("k=v"), ..a.clone() };
        counts.replace(Some(&a), Some(&relabelled));
        assert_eq!(counts.revision(), revision);
        counts.replace(Some(&relabelled), Some(&with_images("a", &[("db:1", 500)])));
        assert!(counts.revision() > revision);
        assert_eq!(counts.commonness(&running("web:1")), None);
        counts.replace(Some(&with_images("a", &[("db:1", 500)])), None);
        assert!(counts.nodes == 0 && counts.having.is_empty());
    }

    fn running(image: &str) -> Shape {
        Shape { images: vec![image.into()], ..shape("") }
    }
}
