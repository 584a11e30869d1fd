//! Taints of nodes, and pods that bear them.

use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::{NodeToleration, Shape};

use crate::filters::settings::FilterSettings;
use crate::values::node_refusal::NodeRefusal;

pub(crate) fn check(shape: &Shape, node: &Node, settings: &FilterSettings) -> Result<(), NodeRefusal> {
    match keeps_off(shape, node, settings.compares_taints) {
        Some(taint) => Err(NodeRefusal::Taint(taint.clone())),
        None => Ok(()),
    }
}

/// The first taint that keeps a pod off a node.
pub(crate) fn keeps_off<'a>(shape: &Shape, node: &'a Node, compares: bool) -> Option<&'a NodeTaint> {
    let strict =
        |taint: &&NodeTaint| matches!(taint.effect, NodeTaintEffect::NoSchedule | NodeTaintEffect::NoExecute);
    let mut taints = node.taints.iter().filter(strict);
    taints.find(|taint| !shape.tolerations.iter().any(|toleration| tolerates(toleration, taint, compares)))
}

/// Whether a toleration covers a taint. `compares` says whether it may compare numbers.
pub(crate) fn tolerates(toleration: &NodeToleration, taint: &NodeTaint, compares: bool) -> bool {
    if !toleration.effect.is_empty() && &*toleration.effect != taint.effect.name() {
        return false;
    }
    if !toleration.key.is_empty() && toleration.key != taint.key {
        return false;
    }
    toleration.operator.covers(&toleration.value, &taint.value, compares)
}

#[cfg(test)]
mod tests {
    use model::pod::TolerationOperator;

    use super::*;
    use crate::sample::{node, shape, taint};

    fn toleration(key: &str, operator: TolerationOperator, value: &str, effect: &str) -> NodeToleration {
        NodeToleration { key: key.into(), operator, value: value.into(), effect: effect.into() }
    }

    /// Whether a pod with the toleration comes to a node with the taint.
    fn comes(toleration: &NodeToleration, text: &str, compares_taints: bool) -> bool {
        let mut node = node("a", "");
        node.taints.push(taint(text));
        let mut shape = shape("");
        shape.tolerations.push(toleration.clone());
        check(&shape, &node, &FilterSettings { compares_taints, ..FilterSettings::default() }).is_ok()
    }

    #[test]
    fn a_taint_is_borne_by_key_value_and_effect() {
        use TolerationOperator::{Equal, Exists, Unknown};
        let table = [
            (toleration("k", Equal, "v", "NoSchedule"), true),
            (toleration("k", Equal, "v", ""), true),
            (toleration("k", Equal, "w", ""), false),
            (toleration("k", Equal, "v", "NoExecute"), false),
            (toleration("k", Exists, "", ""), true),
            (toleration("l", Exists, "", ""), false),
            (toleration("", Exists, "", ""), true),
            (toleration("k", Unknown("Like".into()), "v", ""), false),
        ];
        for (toleration, expected) in table {
            assert_eq!(comes(&toleration, "k=v:NoSchedule", false), expected, "{toleration:?}");
        }
    }

    #[test]
    fn numbers_are_compared_if_that_is_on() {
        let above = toleration("k", TolerationOperator::Gt, "5", "");
        let below = toleration("k", TolerationOperator::Lt, "5", "");
        assert!(comes(&above, "k=6:NoSchedule", true) && !comes(&above, "k=5:NoSchedule", true));
        assert!(comes(&below, "k=-6:NoSchedule", true) && !comes(&below, "k=05:NoSchedule", true));
        assert!(!comes(&above, "k=6:NoSchedule", false));
    }

    #[test]
    fn only_taints_with_a_strict_effect_keep_off() {
        let other = toleration("other", TolerationOperator::Exists, "", "");
        assert!(!comes(&other, "k=v:NoExecute", false));
        assert!(comes(&other, "k=v:PreferNoSchedule", false));
        assert!(comes(&other, "k=v:Later", false));
    }
}
