//! Pods that name their node go nowhere else.

use model::node::Node;

use crate::values::node_refusal::NodeRefusal;

/// Whether the node is the one that a pod names, if it names one.
///
/// # Errors
/// The pod names another.
pub fn check(wanted: Option<&str>, node: &Node) -> Result<(), NodeRefusal> {
    if wanted.is_none_or(|wanted| wanted == &*node.name) { Ok(()) } else { Err(NodeRefusal::OtherNode) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::node;

    #[test]
    fn a_pod_goes_to_the_node_that_it_names() {
        let node = node("a", "");
        assert_eq!(check(None, &node), Ok(()));
        assert_eq!(check(Some("a"), &node), Ok(()));
        assert_eq!(check(Some("b"), &node), Err(NodeRefusal::OtherNode));
    }
}
