//! Nodes that a pod wants by labels and names.

use std::collections::BTreeSet;

use model::node::{NAME_FIELD, Node, NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::Shape;

use crate::filters::settings::FilterSettings;
use crate::values::node_refusal::NodeRefusal;

/// The nodes that a pod wants by name, if each of its terms names some. Only these need be looked at.
#[must_use]
pub fn named_nodes(shape: &Shape) -> Option<BTreeSet<&str>> {
    let terms = shape.node_affinity.as_ref().map(|nodes| &nodes.terms).filter(|terms| !terms.is_empty())?;
    terms.iter().map(named_by_term).try_fold(BTreeSet::new(), |mut all, names| {
        all.extend(names?);
        Some(all)
    })
}

fn named_by_term(term: &NodeTerm) -> Option<BTreeSet<&str>> {
    let names = |field: &&Requirement| &*field.key == NAME_FIELD && field.operator == Operator::In;
    let lists = term
        .fields
        .iter()
        .filter(names)
        .map(|field| field.values.iter().map(|name| &**name).collect::<BTreeSet<_>>());
    lists.reduce(|left, right| left.intersection(&right).copied().collect())
}

/// Whether a node is among those that a pod wants by name. This comes before all else.
pub(crate) fn check_name(shape: &Shape, node: &Node) -> Result<(), NodeRefusal> {
    match named_nodes(shape) {
        Some(names) if names.is_empty() => Err(NodeRefusal::NamesConflict),
        Some(names) if !names.contains(&*node.name) => Err(NodeRefusal::NotNamed),
        _ => Ok(()),
    }
}

pub(crate) fn check(shape: &Shape, node: &Node, settings: &FilterSettings) -> Result<(), NodeRefusal> {
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
    fn nodes_may_be_wanted_by_name() {
        let named = |lists: &[&[&str]]| {
            let fields = lists.iter().map(|names| Requirement {
                key: NAME_FIELD.into(),
                operator: Operator::In,
                values: names.iter().map(|name| (*name).into()).collect(),
            });
            NodeTerm { fields: fields.collect(), labels: Vec::new() }
        };
        let answer = |terms: Vec<NodeTerm>| {
            let mut shape = shape("");
            shape.node_affinity = Some(NodeSelector { terms });
            check_name(&shape, &node("a", ""))
        };
        assert_eq!(answer(vec![named(&[&["b"]]), named(&[&["a"]])]), Ok(()));
        assert_eq!(answer(vec![named(&[&["b"]]), named(&[&["c"]])]), Err(NodeRefusal::NotNamed));
        assert_eq!(answer(vec![named(&[&["b"], &["c"]])]), Err(NodeRefusal::NamesConflict));
        assert_eq!(answer(vec![named(&[&["b"]]), term("rack", "Exists", &[])]), Ok(()));
        assert_eq!(answer(Vec::new()), Ok(()));
        assert_eq!(check_name(&shape(""), &node("a", "")), Ok(()));
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
