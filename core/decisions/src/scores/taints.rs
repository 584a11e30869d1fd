//! Taints that a pod had better not meet.

use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::Shape;

use crate::filters::tolerates;

/// How many such taints of a node the pod does not bear. The more, the worse.
#[must_use]
pub fn raw(shape: &Shape, node: &Node, compares: bool) -> i64 {
    let mild = |taint: &&NodeTaint| taint.effect == NodeTaintEffect::PreferNoSchedule;
    let borne =
        |taint: &NodeTaint| shape.tolerations.iter().any(|toleration| tolerates(toleration, taint, compares));
    node.taints.iter().filter(mild).filter(|taint| !borne(taint)).count() as i64
}

#[cfg(test)]
mod tests {
    use model::pod::{NodeToleration, TolerationOperator};

    use super::*;
    use crate::sample::{node, shape, taint};

    #[test]
    fn mild_taints_count_unless_they_are_borne() {
        let mut node = node("a", "");
        node.taints = ["k=1:PreferNoSchedule", "l=1:PreferNoSchedule", "m=1:NoSchedule"].map(taint).into();
        let mut shape = shape("");
        assert_eq!(raw(&shape, &node, false), 2);
        let bears = |effect: &str| NodeToleration {
            key: "k".into(),
            operator: TolerationOperator::Exists,
            value: "".into(),
            effect: effect.into(),
        };
        shape.tolerations = vec![bears("NoSchedule")];
        assert_eq!(raw(&shape, &node, false), 2);
        shape.tolerations = vec![bears("")];
        assert_eq!(raw(&shape, &node, false), 1);
    }
}
