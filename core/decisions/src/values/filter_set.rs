//! The kinds of filters, and sets of them.

/// A kind of reason that puts a node out of the question, and that people can switch off.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Filter {
    /// The node takes no new pods.
    Unschedulable,
    /// Taints that the pod does not bear.
    Taints,
    /// Nodes that the pod, or the settings, want by labels and names.
    NodeAffinity,
    /// Ports of the node.
    Ports,
    /// Processor, memory and the like, and places for pods.
    Resources,
    /// Volumes that only one pod may use.
    ExclusiveVolumes,
    /// How many volumes a node attaches.
    VolumeLimits,
    /// Volumes that must exist and be within reach.
    Volumes,
    /// Volumes that are in one zone.
    VolumeZones,
    /// Pods spread over places.
    Spread,
    /// Pods that must be near each other or apart.
    PodAffinity,
    /// Devices that are claimed.
    Devices,
    /// Features that the node must declare.
    Features,
}

/// A set of filters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FilterSet(u16);

impl FilterSet {
    /// Puts a filter into the set.
    pub fn insert(&mut self, filter: Filter) {
        self.0 |= 1 << filter as u16;
    }

    /// Those of either set.
    #[must_use]
    pub const fn or(self, other: FilterSet) -> FilterSet {
        FilterSet(self.0 | other.0)
    }

    /// Whether a filter is in the set.
    #[must_use]
    pub const fn contains(self, filter: Filter) -> bool {
        self.0 & (1 << filter as u16) != 0
    }
}

impl FromIterator<Filter> for FilterSet {
    fn from_iter<T: IntoIterator<Item = Filter>>(filters: T) -> FilterSet {
        FilterSet(filters.into_iter().fold(0, |bits, filter| bits | 1 << filter as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: FilterSet = [Filter::Unschedulable, Filter::Features].into_iter().collect();
        assert!(set.contains(Filter::Unschedulable) && set.contains(Filter::Features));
        assert!(!set.contains(Filter::Devices) && !FilterSet::default().contains(Filter::Unschedulable));
    }
}
