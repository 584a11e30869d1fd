//! Images that a node has already need not be fetched.
//!
//! An image counts by its size, and by how many nodes have it: otherwise all pods would go to the few that have.

use std::sync::Arc;

use cluster::images::ImageCounts;
use model::node::Node;
use model::pod::Shape;

use crate::scores::scale::BEST;

const MEGABYTE: i64 = 1024 * 1024;

/// Below so much nothing is gained.
const LEAST: i64 = 23 * MEGABYTE;

/// So much for each image is as good as it gets.
const MOST: i64 = 1000 * MEGABYTE;

/// The score of a node.
#[must_use]
pub fn score(counts: &ImageCounts, shape: &Shape, node: &Node) -> i64 {
    if shape.images.is_empty() || node.images.is_empty() || counts.nodes() == 0 {
        return 0;
    }
    let sum: i64 = shape.images.iter().map(|name| worth(counts, name, node)).sum();
    let most = MOST * shape.images.len() as i64;
    BEST * (sum.clamp(LEAST, most) - LEAST) / (most - LEAST)
}

fn worth(counts: &ImageCounts, name: &Arc<str>, node: &Node) -> i64 {
    let Some(size) = node.images.get(name) else { return 0 };
    (*size as f64 * (f64::from(counts.having(name)) / f64::from(counts.nodes()))) as i64
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
            score(counts, &shape, node)
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
        assert_eq!(score(&counts, &shape, &a), 100);
    }
}
