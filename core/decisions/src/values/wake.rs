//! Kinds of changes that may let a pod in that was refused.

use std::fmt;

/// A kind of change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Wake {
    /// A node came.
    NodeAdded,
    /// A node went.
    NodeRemoved,
    /// Labels of a node changed.
    NodeLabels,
    /// Taints of a node changed, or pods may come to it again.
    NodeTaints,
    /// A node has another amount of something for pods.
    NodeAllocatable,
    /// The agent of a node declared other features.
    NodeFeatures,
    /// A pod was placed.
    PodAdded,
    /// A placed pod went.
    PodRemoved,
    /// Labels of a placed pod changed.
    PodLabels,
    /// A placed pod needs less.
    PodShrunk,
    /// The waiting pod has other labels.
    OwnLabels,
    /// The waiting pod bears other taints.
    OwnTolerations,
    /// The waiting pod needs less.
    OwnRequests,
    /// Something else of the waiting pod changed.
    OwnSpec,
    /// The waiting pod's gates were taken away.
    OwnGates,
    /// A claim for devices was made for the waiting pod.
    OwnClaims,
    /// A claim for devices came, changed or went.
    Claim,
    /// A class of devices came or changed.
    Class,
    /// A slice of devices came or changed.
    Slice,
    /// A claim for storage came or changed.
    VolumeClaim,
    /// A volume came or changed.
    Volume,
    /// A class of storage came or changed.
    StorageClass,
    /// Labels of a namespace changed, or a namespace came.
    Namespace,
    /// A group of pods came or changed.
    Group,
}

impl Wake {
    /// All kinds.
    pub const ALL: [Wake; 24] = [
        Wake::NodeAdded,
        Wake::NodeRemoved,
        Wake::NodeLabels,
        Wake::NodeTaints,
        Wake::NodeAllocatable,
        Wake::NodeFeatures,
        Wake::PodAdded,
        Wake::PodRemoved,
        Wake::PodLabels,
        Wake::PodShrunk,
        Wake::OwnLabels,
        Wake::OwnTolerations,
        Wake::OwnRequests,
        Wake::OwnSpec,
        Wake::OwnGates,
        Wake::OwnClaims,
        Wake::Claim,
        Wake::Class,
        Wake::Slice,
        Wake::VolumeClaim,
        Wake::Volume,
        Wake::StorageClass,
        Wake::Namespace,
        Wake::Group,
    ];
}

/// A set of kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Wakes(u32);

impl Wakes {
    /// None of them.
    pub const NONE: Wakes = Wakes(0);

    /// These.
    #[must_use]
    pub const fn of(kinds: &[Wake]) -> Wakes {
        let mut bits = 0;
        let mut at = 0;
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u32;
            at += 1;
        }
        Wakes(bits)
    }

    /// Those of either set.
    #[must_use]
    pub const fn or(self, other: Wakes) -> Wakes {
        Wakes(self.0 | other.0)
    }

    /// Whether a kind is in the set.
    #[must_use]
    pub const fn contains(self, kind: Wake) -> bool {
        self.0 & (1 << kind as u32) != 0
    }

    /// Whether the sets have a kind in common.
    #[must_use]
    pub const fn meets(self, other: Wakes) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds in the set.
    pub fn iter(self) -> impl Iterator<Item = Wake> {
        Wake::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

impl From<Wake> for Wakes {
    fn from(kind: Wake) -> Wakes {
        Wakes::of(&[kind])
    }
}

impl fmt::Debug for Wakes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        for kind in Wake::ALL {
            let set = Wakes::from(kind);
            assert_eq!(set.iter().collect::<Vec<_>>(), [kind]);
            assert!(set.meets(Wakes::of(&Wake::ALL)) && !set.is_empty());
        }
        let both = Wakes::from(Wake::Claim).or(Wakes::from(Wake::Slice));
        assert_eq!(both, Wakes::of(&[Wake::Slice, Wake::Claim]));
        assert!(both.contains(Wake::Slice) && !both.contains(Wake::Class) && !both.meets(Wakes::NONE));
    }
}
