//! Whether a node can reach the devices of a slice.

use objects::core::affinity::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use objects::core::node::Node;
use objects::resource::slice::{Device, ResourceSlice};

/// Whether the slice is for the node: as a whole, or for one of its devices.
pub(crate) fn slice_reaches(slice: &ResourceSlice, node: &Node) -> bool {
    let spec = &slice.spec;
    let named = spec.node_name.as_deref().is_some_and(|name| !name.is_empty());
    if named || spec.all_nodes == Some(true) || spec.node_selector.is_some() {
        return selection_reaches(
            spec.node_name.as_deref(),
            spec.all_nodes,
            spec.node_selector.as_ref(),
            node,
        );
    }
    let devices = spec.devices.as_deref().unwrap_or_default();
    spec.per_device_node_selection == Some(true)
        && devices.iter().any(|device| own_selection_reaches(device, node))
}

/// Whether a device of a slice that reaches the node is itself for the node.
pub(crate) fn device_reaches(slice: &ResourceSlice, device: &Device, node: &Node) -> bool {
    slice.spec.per_device_node_selection != Some(true) || own_selection_reaches(device, node)
}

fn own_selection_reaches(device: &Device, node: &Node) -> bool {
    selection_reaches(device.node_name.as_deref(), device.all_nodes, device.node_selector.as_ref(), node)
}

fn selection_reaches(
    node_name: Option<&str>,
    all_nodes: Option<bool>,
    selector: Option<&NodeSelector>,
    node: &Node,
) -> bool {
    match node_name {
        Some(name) if !name.is_empty() => name == node.metadata.name,
        _ if all_nodes == Some(true) => true,
        _ => selector.is_some_and(|selector| selector_matches(selector, node)),
    }
}

fn selector_matches(selector: &NodeSelector, node: &Node) -> bool {
    selector.node_selector_terms.iter().any(|term| term_matches(term, node))
}

/// A term without requirements matches no node.
fn term_matches(term: &NodeSelectorTerm, node: &Node) -> bool {
    let empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
    let label = |key: &str| node.metadata.labels.get(key).map(String::as_str);
    let field = |key: &str| (key == "metadata.name").then_some(node.metadata.name.as_str());
    !empty
        && term.match_expressions.iter().all(|requirement| requirement_holds(requirement, label))
        && term.match_fields.iter().all(|requirement| requirement_holds(requirement, field))
}

fn requirement_holds<'n>(
    requirement: &NodeSelectorRequirement,
    value: impl Fn(&str) -> Option<&'n str>,
) -> bool {
    let value = value(&requirement.key);
    let listed = |value: &str| requirement.values.iter().any(|one| one == value);
    match requirement.operator.as_str() {
        "In" => value.is_some_and(listed),
        "NotIn" => !value.is_some_and(listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers(value, &requirement.values).is_some_and(|(value, bound)| value > bound),
        "Lt" => numbers(value, &requirement.values).is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

fn numbers(value: Option<&str>, bounds: &[String]) -> Option<(i64, i64)> {
    let [bound] = bounds else { return None };
    Some((value?.parse().ok()?, bound.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requirements_ask_for_labels_and_the_name() {
        let node = json!({"metadata": {"name": "node-1", "labels": {"zone": "a", "slots": "4"}}});
        let node: Node = serde_json::from_value(node).expect("a node");
        let label = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        let name = |operator: &str, name: &str| json!({"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]});
        let table = [
            (json!([label("zone", "In", &["a", "b"])]), true),
            (json!([label("zone", "In", &["b"])]), false),
            (json!([label("rack", "In", &["a"])]), false),
            (json!([label("zone", "NotIn", &["a"])]), false),
            (json!([label("rack", "NotIn", &["a"])]), true),
            (json!([label("zone", "Exists", &[])]), true),
            (json!([label("zone", "DoesNotExist", &[])]), false),
            (json!([label("rack", "DoesNotExist", &[])]), true),
            (json!([label("slots", "Gt", &["3"])]), true),
            (json!([label("slots", "Gt", &["4"])]), false),
            (json!([label("slots", "Lt", &["5"])]), true),
            (json!([label("zone", "Lt", &["5"])]), false),
            (json!([label("zone", "Like", &["a"])]), false),
            (json!([name("In", "node-1")]), true),
            (json!([name("NotIn", "node-1")]), false),
            (json!([label("zone", "In", &["b"]), name("In", "node-1")]), true),
            (json!([{}]), false),
            (json!([]), false),
        ];
        for (terms, expected) in table {
            let selector = serde_json::from_value(json!({"nodeSelectorTerms": terms})).expect("a selector");
            assert_eq!(selector_matches(&selector, &node), expected, "{terms}");
        }
    }
}
