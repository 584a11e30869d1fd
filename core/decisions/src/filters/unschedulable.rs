//! Nodes that take no new pods.

use std::sync::Arc;

use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::Shape;

use crate::filters::settings::FilterSettings;
use crate::filters::taints::tolerates;
use crate::values::node_refusal::NodeRefusal;

/// The taint that stands for a closed node; a pod that tolerates it may come.
const TAINT: &str = "node.kubernetes.io/unschedulable";

pub(crate) fn check(shape: &Shape, node: &Node, settings: &FilterSettings) -> Result<(), NodeRefusal> {
    if !node.unschedulable {
        return Ok(());
    }
    let taint = NodeTaint { key: TAINT.into(), value: Arc::from(""), effect: NodeTaintEffect::NoSchedule };
    let mut tolerations = shape.tolerations.iter();
    if tolerations.any(|toleration| tolerates(toleration, &taint, settings.compares_taints)) {
        return Ok(());
    }
    Err(NodeRefusal::Unschedulable)
}

#[cfg(test)]
mod tests {
    use model::pod::{NodeToleration, TolerationOperator};

    use super::*;
    use crate::sample::{node, shape};

    #[test]
    fn only_pods_that_bear_it_come_to_a_closed_node() {
        let mut node = node("a", "");
        let mut shape = shape("");
        let settings = FilterSettings::default();
        assert_eq!(check(&shape, &node, &settings), Ok(()));
        node.unschedulable = true;
        assert_eq!(check(&shape, &node, &settings), Err(NodeRefusal::Unschedulable));
        let operator = TolerationOperator::Exists;
        let effect = "NoSchedule".into();
        shape.tolerations.push(NodeToleration { key: TAINT.into(), operator, value: "".into(), effect });
        assert_eq!(check(&shape, &node, &settings), Ok(()));
    }
}
