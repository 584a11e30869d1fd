//! The nodes from which a device can be used.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use cluster::facts::Facts;
use cluster::pools::reaches;
use model::device::{Device, Reach, Slice};
use model::identity::NodeName;

use crate::natural::natural;

/// Where a device can be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DevicePlace {
    /// From this node only.
    Node(NodeName),
    /// From these nodes; there may be none at the moment.
    Nodes(BTreeSet<NodeName>),
    /// From every node.
    AllNodes,
}

impl DevicePlace {
    /// Where a device of a slice can be used.
    #[must_use]
    pub(crate) fn of(slice: &Slice, device: &Device, facts: &Facts) -> DevicePlace {
        let reach = if slice.reach == Reach::PerDevice { &device.reach } else { &slice.reach };
        match reach {
            Reach::Node(name) => DevicePlace::Node(name.clone()),
            Reach::Everywhere => DevicePlace::AllNodes,
            Reach::Matching(_) => {
                let nodes = facts.nodes.iter().filter_map(|(_, state)| state.node.as_ref());
                // From where something can be used that cannot be judged is not known, so it is told of no node.
                let picked = nodes.filter(|node| reaches(reach, node).unwrap_or(false));
                DevicePlace::Nodes(picked.map(|node| node.name.clone()).collect())
            }
            Reach::PerDevice | Reach::Unsaid => DevicePlace::Nodes(BTreeSet::new()),
        }
    }

    /// Whether a device there can be used from a node.
    #[must_use]
    pub fn is_at(&self, node: &str) -> bool {
        match self {
            DevicePlace::Node(name) => &**name == node,
            DevicePlace::Nodes(names) => names.contains(node),
            DevicePlace::AllNodes => true,
        }
    }

    /// Nodes by name first, then what several nodes reach.
    #[must_use]
    pub fn order(&self, other: &DevicePlace) -> Ordering {
        let rank = |place: &DevicePlace| match place {
            DevicePlace::Node(_) => 0,
            DevicePlace::Nodes(_) => 1,
            DevicePlace::AllNodes => 2,
        };
        match (self, other) {
            (DevicePlace::Node(one), DevicePlace::Node(another)) => natural(one, another),
            (DevicePlace::Nodes(one), DevicePlace::Nodes(another)) => one.cmp(another),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl fmt::Display for DevicePlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DevicePlace::Node(name) => write!(out, "{name}"),
            DevicePlace::AllNodes => write!(out, "all nodes"),
            DevicePlace::Nodes(names) => match names.first().filter(|_| names.len() == 1) {
                Some(name) => write!(out, "{name}"),
                None if names.is_empty() => write!(out, "no node"),
                None => write!(out, "{} nodes", names.len()),
            },
        }
    }
}
