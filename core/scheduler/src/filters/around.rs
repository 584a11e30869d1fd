//! What pods everywhere mean for a pod: rules about spreading, being near and being apart.

use std::sync::Arc;

use cluster::namespaces::Namespaces;
use cluster::nodes::{NodeState, Nodes};
use model::node::Node;
use model::pod::{Pod, Shape};

use super::pod_affinity::PodRules;
use super::spread::SpreadCounts;
use super::{FilterSettings, node_of};
use crate::node_refusal::NodeRefusal;

/// What pods everywhere mean for pods of a shape, counted once for many nodes.
///
/// It holds as long as nodes and namespaces stay the same and every pod that comes or goes is counted.
#[derive(Clone, Debug)]
pub struct Around {
    shape: Arc<Shape>,
    spread: Option<SpreadCounts>,
    rules: PodRules,
}

impl Around {
    /// Looks at all pods once.
    #[must_use]
    pub fn new(
        shape: &Arc<Shape>,
        nodes: &Nodes,
        namespaces: &Namespaces,
        settings: &FilterSettings,
    ) -> Around {
        Around {
            spread: SpreadCounts::new(shape, nodes, settings.compares_taints),
            rules: PodRules::new(shape, nodes, namespaces),
            shape: shape.clone(),
        }
    }

    /// Whether the pod may come to a node.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(&self, state: &NodeState) -> Result<(), NodeRefusal> {
        let node = node_of(state);
        if let Some(spread) = &self.spread {
            spread.check(node)?;
        }
        self.rules.check(node)
    }

    /// Counts a pod that comes to a node.
    pub fn add(&mut self, pod: &Pod, node: &Node) {
        self.count(pod, node, 1);
    }

    /// Counts a pod that goes from a node.
    pub fn remove(&mut self, pod: &Pod, node: &Node) {
        self.count(pod, node, -1);
    }

    fn count(&mut self, pod: &Pod, node: &Node, sign: i64) {
        if let Some(spread) = &mut self.spread {
            spread.count(&self.shape, pod, node, sign);
        }
        self.rules.count(&self.shape, pod, node, sign);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{node, nodes, passing, pod, shape, spread, term};

    #[test]
    fn both_kinds_of_rules_count() {
        let web = || shape("app=web");
        let ours = Arc::new(Shape {
            spread: vec![spread(1, "host", "app=web")],
            apart: vec![term("app=db", "host")],
            ..web()
        });
        let all = ["a", "b", "c"].map(|name| node(name, &format!("host={name}")));
        let nodes = nodes(all.clone(), [pod("p", "a", web()), pod("q", "b", shape("app=db"))]);
        let mut around = Around::new(&ours, &nodes, &Namespaces::default(), &FilterSettings::default());
        let names = |around: &Around| passing(&nodes, |state| around.check(state));
        assert_eq!(names(&around), "c");
        around.add(&pod("r", "c", web()), &all[2]);
        assert_eq!(names(&around), "");
        around.remove(&pod("q", "b", shape("app=db")), &all[1]);
        assert_eq!(names(&around), "b");
        around.remove(&pod("r", "c", web()), &all[2]);
        around.add(&pod("q", "b", shape("app=db")), &all[1]);
        assert_eq!(names(&around), "c");
    }
}
