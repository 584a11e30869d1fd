//! Nodes that a pod would like.

use model::node::{Node, NodeTerm};
use model::pod::Shape;

/// The weights of all wishes that a node meets: the pod's, and those that are for any pod.
#[must_use]
pub fn raw(shape: &Shape, node: &Node, for_all: &[(i32, NodeTerm)]) -> i64 {
    let wishes = for_all.iter().chain(&shape.preferred_nodes);
    let met = wishes.filter(|(_, term)| term.picks(node).unwrap_or(false));
    met.map(|(weight, _)| i64::from(*weight)).sum()
}

#[cfg(test)]
mod tests {
    use model::node::{Operator, Requirement};

    use super::*;
    use crate::sample::{node, shape};

    #[test]
    fn the_weights_of_wishes_that_are_met_add_up() {
        let wish = |weight, key: &str, operator: &str| {
            let requirement =
                Requirement { key: key.into(), operator: Operator::named(operator), values: Vec::new() };
            (weight, NodeTerm { fields: Vec::new(), labels: vec![requirement] })
        };
        let mut shape = shape("");
        shape.preferred_nodes =
            vec![wish(2, "disk", "Exists"), wish(4, "rack", "Exists"), wish(8, "rack", "Like")];
        shape.preferred_nodes.push((16, NodeTerm::default()));
        let for_all = [wish(32, "rack", "DoesNotExist")];
        assert_eq!(raw(&shape, &node("a", "disk=ssd rack=r1"), &for_all), 6);
        assert_eq!(raw(&shape, &node("a", "disk=ssd"), &for_all), 34);
        assert_eq!(raw(&shape, &node("a", ""), &[]), 0);
    }

    /// Kubernetes fails every attempt to place such a pod, and so never places it.
    #[test]
    fn a_wish_that_compares_with_what_is_no_number_is_met_by_no_node_and_spoils_no_other() {
        let wish = |weight, key: &str, operator: &str, value: &str| {
            let requirement = Requirement {
                key: key.into(),
                operator: Operator::named(operator),
                values: vec![value.into()],
            };
            (weight, NodeTerm { fields: Vec::new(), labels: vec![requirement] })
        };
        let mut shape = shape("");
        shape.preferred_nodes =
            vec![wish(2, "gen", "Gt", "five"), wish(4, "gen", "Gt", "5"), wish(8, "gen", "Lt", "")];
        assert_eq!(raw(&shape, &node("a", "gen=7"), &[]), 4);
    }
}
