//! What puts a node out of the question for a pod, one file for each kind of reason.
//!
//! The filters come in layers by what they look at, so that answers can be kept as long as that stays the same: the node
//! alone ([`fixed`]), the node and what its pods use ([`usage`]), volumes ([`Mounts`]), and the pods everywhere
//! ([`Around`]). Within a layer the first reason in Kubernetes' order is the one that is told.

mod around;
mod exclusive;
mod features;
mod node_affinity;
mod node_name;
mod pod_affinity;
mod pod_term;
mod ports;
mod resources;
mod spread;
mod switches;
mod taints;
mod unschedulable;
mod volumes;

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::nodes::NodeState;
use model::node::{Node, NodeSelector};
use model::pod::{Shape, Spread};

pub use around::Around;
pub(crate) use around::Heeds;
pub use node_affinity::named_nodes;
pub use node_name::check as node_name;
pub use switches::{Filter, FilterSet};
pub use volumes::Mounts;

pub(crate) use node_affinity::wants;
pub(crate) use pod_term::{OwnTerm, reaches};
pub(crate) use spread::{among, counted, is_counted};
pub(crate) use taints::{keeps_off, tolerates};

use crate::node_refusal::NodeRefusal;

/// What people may set about filters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FilterSettings {
    /// What is switched off.
    pub off: FilterSet,
    /// Nodes that will do for any pod.
    pub enforced_nodes: Option<NodeSelector>,
    /// Resources of which there is always enough.
    pub ignored_resources: BTreeSet<Arc<str>>,
    /// Groups of such resources: what stands before the slash.
    pub ignored_groups: BTreeSet<Arc<str>>,
    /// Resources that classes of devices stand for. A node that has none of its own leaves them to the devices.
    pub device_resources: BTreeSet<Arc<str>>,
    /// Whether tolerations may compare numbers.
    pub compares_taints: bool,
    /// How pods must be spread that say nothing about it, if it is known among which pods. Selectors are left open here.
    pub default_spread: Vec<Spread>,
}

impl FilterSettings {
    /// Whether a filter is on.
    #[must_use]
    pub const fn has(&self, filter: Filter) -> bool {
        !self.off.contains(filter)
    }
}

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

/// The node of a state.
pub(crate) fn node_of(state: &NodeState) -> &Arc<Node> {
    state.node.as_ref().expect("only nodes that exist are looked at")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{node, nodes, shape, state, taint};

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
            told.push(answer.map_or_else(|refusal| refusal.text(), |()| "fits".to_owned()));
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
