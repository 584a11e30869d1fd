//! The filters of a layer, in the order in which their reasons are told.

use cluster::nodes::NodeState;
use model::node::Node;
use model::pod::Shape;

use super::node_affinity::{self, named_nodes};
use super::{features, ports, resources, taints, unschedulable};
use crate::filters::settings::FilterSettings;
use crate::values::filter_set::Filter;
use crate::values::node_refusal::NodeRefusal;

/// Whether there can be a node for a pod at all.
///
/// # Errors
/// Why there cannot.
pub fn anywhere(shape: &Shape, settings: &FilterSettings) -> Result<(), NodeRefusal> {
    let conflicts = || named_nodes(shape).is_some_and(|names| names.is_empty());
    if settings.has(Filter::NodeAffinity) && conflicts() {
        return Err(NodeRefusal::NamesConflict);
    }
    Ok(())
}

/// Whether a node as such will do, whatever is on it.
///
/// # Errors
/// Why it will not.
pub fn fixed(shape: &Shape, node: &Node, settings: &FilterSettings) -> Result<(), NodeRefusal> {
    if settings.has(Filter::NodeAffinity) {
        node_affinity::check_name(shape, node)?;
    }
    if settings.has(Filter::Unschedulable) {
        unschedulable::check(shape, node, settings)?;
    }
    if settings.has(Filter::Taints) {
        taints::check(shape, node, settings)?;
    }
    if settings.has(Filter::NodeAffinity) {
        node_affinity::check(shape, node, settings)?;
    }
    if settings.has(Filter::Features) {
        features::check(shape, node)?;
    }
    Ok(())
}

/// Whether what is left of a node will do.
///
/// # Errors
/// Why it will not.
pub fn usage(shape: &Shape, state: &NodeState, settings: &FilterSettings) -> Result<(), NodeRefusal> {
    if settings.has(Filter::Ports) {
        ports::check(shape, state)?;
    }
    if settings.has(Filter::Resources) {
        resources::check(shape, state, settings)?;
    }
    Ok(())
}

/// Everything that is wrong with a node for a pod as far as the node alone and what is left of it say, each filter by itself and in the
/// same order. A node whose name is wrong is not looked at further, as in a decision.
pub(crate) fn each(
    shape: &Shape,
    state: &NodeState,
    node: &Node,
    settings: &FilterSettings,
) -> Vec<NodeRefusal> {
    let is_on = |filter: Filter| settings.has(filter);
    if is_on(Filter::NodeAffinity)
        && let Err(refusal) = node_affinity::check_name(shape, node)
    {
        return vec![refusal];
    }
    let skipped = || Ok(());
    let all = [
        if is_on(Filter::Unschedulable) { unschedulable::check(shape, node, settings) } else { skipped() },
        if is_on(Filter::Taints) { taints::check(shape, node, settings) } else { skipped() },
        if is_on(Filter::NodeAffinity) { node_affinity::check(shape, node, settings) } else { skipped() },
        if is_on(Filter::Features) { features::check(shape, node) } else { skipped() },
        if is_on(Filter::Ports) { ports::check(shape, state) } else { skipped() },
        if is_on(Filter::Resources) { resources::check(shape, state, settings) } else { skipped() },
    ];
    all.into_iter().filter_map(Result::err).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{node, nodes, shape, state, taint};

    #[test]
    fn each_filter_is_told_and_the_first_is_that_of_a_decision() {
        let mut closed = node("a", "");
        closed.unschedulable = true;
        closed.taints.push(taint("k=v:NoSchedule"));
        let nodes = nodes([closed.clone()], []);
        let (there, settings) = (state(&nodes, "a"), FilterSettings::default());
        let mut shape = shape("");
        shape.requests.cpu_milli = i64::MAX;
        let told = each(&shape, there, &closed, &settings);
        assert_eq!(told[..2], [NodeRefusal::Unschedulable, NodeRefusal::Taint(taint("k=v:NoSchedule"))]);
        assert!(told.len() == 3 && matches!(told[2], NodeRefusal::Short(_)));
        assert_eq!(fixed(&shape, &closed, &settings).err().as_ref(), told.first());
        assert_eq!(usage(&shape, there, &settings).err().as_ref(), told.last());
    }

    #[test]
    fn the_first_reason_in_order_is_told() {
        let mut closed = node("a", "");
        closed.unschedulable = true;
        closed.taints.push(taint("k=v:NoSchedule"));
        let mut shape = shape("");
        shape.node_labels = crate::sample::labels("disk=ssd");
        shape.required_features.push("F".into());
        let settings = FilterSettings::default();
        assert_eq!(fixed(&shape, &closed, &settings), Err(NodeRefusal::Unschedulable));
        closed.unschedulable = false;
        assert_eq!(fixed(&shape, &closed, &settings), Err(NodeRefusal::Taint(taint("k=v:NoSchedule"))));
        closed.taints.clear();
        assert_eq!(fixed(&shape, &closed, &settings), Err(NodeRefusal::NodeAffinity));
        shape.node_labels.clear();
        assert_eq!(fixed(&shape, &closed, &settings), Err(NodeRefusal::Feature { feature: "F".into() }));
        shape.required_features.clear();
        assert_eq!(fixed(&shape, &closed, &settings), Ok(()));
        let nodes = nodes([closed], []);
        assert_eq!(usage(&shape, state(&nodes, "a"), &settings), Ok(()));
    }

    #[test]
    fn what_is_switched_off_keeps_nobody_away() {
        let mut closed = node("a", "");
        closed.unschedulable = true;
        closed.taints.push(taint("k=v:NoSchedule"));
        closed.pods_max = 0;
        let mut shape = shape("");
        shape.node_labels = crate::sample::labels("disk=ssd");
        shape.required_features.push("F".into());
        let mut off = Vec::new();
        let mut told = Vec::new();
        let nodes = nodes([closed.clone()], []);
        for filter in
            [Filter::Unschedulable, Filter::Taints, Filter::NodeAffinity, Filter::Features, Filter::Resources]
        {
            let settings = FilterSettings { off: off.iter().copied().collect(), ..FilterSettings::default() };
            let answer =
                fixed(&shape, &closed, &settings).and_then(|()| usage(&shape, state(&nodes, "a"), &settings));
            told.push(answer.map_or_else(|refusal| refusal.to_string(), |()| "fits".to_owned()));
            off.push(filter);
        }
        let expected = [
            "node(s) were unschedulable",
            "node(s) had untolerated taint(s)",
            "node(s) didn't match Pod's node affinity/selector",
            "node(s) didn't match Pod's required features",
            "Too many pods",
        ];
        assert_eq!(told, expected);
        let settings = FilterSettings { off: off.into_iter().collect(), ..FilterSettings::default() };
        assert_eq!(fixed(&shape, &closed, &settings), Ok(()));
        assert_eq!(usage(&shape, state(&nodes, "a"), &settings), Ok(()));
    }
}
