//! Features that a pod needs and the node's agent must have declared.

use model::node::Node;
use model::pod::Shape;

use crate::values::node_refusal::NodeRefusal;

pub(crate) fn check(shape: &Shape, node: &Node) -> Result<(), NodeRefusal> {
    match shape.required_features.iter().find(|feature| !node.declared_features.contains(feature)) {
        Some(feature) => Err(NodeRefusal::Feature { feature: feature.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{node, shape};

    #[test]
    fn every_feature_that_a_pod_needs_must_be_declared() {
        let mut node = node("a", "");
        let mut shape = shape("");
        assert_eq!(check(&shape, &node), Ok(()));
        shape.required_features = vec!["F".into(), "G".into()];
        node.declared_features = vec!["F".into(), "H".into()];
        assert_eq!(check(&shape, &node), Err(NodeRefusal::Feature { feature: "G".into() }));
        node.declared_features.push("G".into());
        assert_eq!(check(&shape, &node), Ok(()));
    }
}
