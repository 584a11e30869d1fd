//! Nodes that a pod wants by labels and names.

use model::node::{Node, NodeSelector};
use model::pod::Shape;

use super::FilterSettings;
use crate::node_refusal::NodeRefusal;

pub(super) fn check(shape: &Shape, node: &Node, settings: &FilterSettings) -> Result<(), NodeRefusal> {
    if settings.enforced_nodes.as_ref().is_some_and(|nodes| !picks(nodes, node)) {
        return Err(NodeRefusal::EnforcedNodeAffinity);
    }
    if wants(shape, node) { Ok(()) } else { Err(NodeRefusal::NodeAffinity) }
}

/// Whether a pod wants a node.
pub(crate) fn wants(shape: &Shape, node: &Node) -> bool {
    shape.node_labels.iter().all(|(key, value)| node.labels.get(key) == Some(value))
        && shape.node_affinity.as_ref().is_none_or(|nodes| picks(nodes, node))
}

/// A term that cannot be judged picks nothing, and takes nothing from the others.
fn picks(nodes: &NodeSelector, node: &Node) -> bool {
    nodes.terms.iter().any(|term| term.picks(node).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use model::node::{NodeTerm, Operator, Requirement};

    use super::*;
    use crate::sample::{labels, node, shape};

    fn term(key: &str, operator: &str, values: &[&str]) -> NodeTerm {
        let values = values.iter().map(|value| (*value).into()).collect();
        let requirement = Requirement { key: key.into(), operator: Operator::named(operator), values };
        NodeTerm { fields: Vec::new(), labels: vec![requirement] }
    }

    #[track_caller]
    fn check_terms(node_labels: &str, terms: Option<Vec<NodeTerm>>, expected: bool) {
        let mut shape = shape("");
        shape.node_labels = labels(node_labels);
        shape.node_affinity = terms.map(|terms| NodeSelector { terms });
        let answer = check(&shape, &node("a", "rack=r1 slots=8"), &FilterSettings::default());
        assert_eq!(answer, if expected { Ok(()) } else { Err(NodeRefusal::NodeAffinity) });
    }

    #[test]
    fn all_wanted_labels_must_be_there_and_one_term_must_hold() {
        check_terms("", None, true);
        check_terms("rack=r1", None, true);
        check_terms("rack=r1 disk=ssd", None, false);
        check_terms("rack=r1", Some(vec![term("slots", "Gt", &["7"])]), true);
        check_terms("rack=r2", Some(vec![term("slots", "Gt", &["7"])]), false);
        check_terms("", Some(vec![term("slots", "Gt", &["8"]), term("rack", "Exists", &[])]), true);
    }

    #[test]
    fn no_terms_and_terms_without_requirements_pick_nothing() {
        check_terms("", Some(Vec::new()), false);
        check_terms("", Some(vec![NodeTerm::default()]), false);
    }

    #[test]
    fn a_term_that_cannot_be_judged_does_not_spoil_the_others() {
        check_terms("", Some(vec![term("rack", "Like", &["r*"])]), false);
        check_terms("", Some(vec![term("rack", "Like", &["r*"]), term("rack", "In", &["r1"])]), true);
    }

    #[test]
    fn what_the_settings_want_comes_first() {
        let nodes = NodeSelector { terms: vec![term("rack", "In", &["r2"])] };
        let settings = FilterSettings { enforced_nodes: Some(nodes), ..FilterSettings::default() };
        assert_eq!(
            check(&shape(""), &node("a", "rack=r1"), &settings),
            Err(NodeRefusal::EnforcedNodeAffinity)
        );
        assert_eq!(check(&shape(""), &node("a", "rack=r2"), &settings), Ok(()));
    }
}
