//! How many nodes have which container image.

use std::sync::Arc;

use model::node::Node;
use model::pod::Shape;
use rustc_hash::FxHashMap;

use crate::nodes::Nodes;

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

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// How many of them have an image.
    #[must_use]
    pub fn having(&self, image: &str) -> u32 {
        self.having.get(image).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_image(image: &str) -> Node {
        Node { images: [(image.into(), 500)].into(), ..Node::default() }
    }

    fn running(image: &str) -> Shape {
        Shape { images: vec![image.into()], ..Shape::default() }
    }

    #[test]
    fn nodes_that_keep_their_images_change_nothing() {
        let a = with_image("web:1");
        let mut counts = ImageCounts::default();
        counts.replace(None, Some(&a));
        let (revision, common) = (counts.revision(), counts.commonness(&running("web:1")));
        assert_eq!((common, counts.commonness(&running("db:1"))), (Some((1, vec![1])), None));
        let relabelled = Node { labels: [("k".into(), "v".into())].into(), ..a.clone() };
        counts.replace(Some(&a), Some(&relabelled));
        assert_eq!(counts.revision(), revision);
        counts.replace(Some(&relabelled), Some(&with_image("db:1")));
        assert!(counts.revision() > revision);
        assert_eq!(counts.commonness(&running("web:1")), None);
        counts.replace(Some(&with_image("db:1")), None);
        assert!(counts.nodes == 0 && counts.having.is_empty());
    }
}
