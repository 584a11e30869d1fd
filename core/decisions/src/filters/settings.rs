//! What people may set about filters.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::node::NodeSelector;
use model::pod::Spread;

use crate::values::filter_set::{Filter, FilterSet};

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
