//! The plugins there are, and the points at which each runs.
//!
//! Invariant: the enum and the table are written once, together. Names and points are those of Kubernetes 1.37, but for ReadyDevices,
//! which is ours.

use std::fmt;

use crate::Point;

impl Plugin {
    /// The plugin of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|plugin| plugin.name() == name)
    }

    /// Whether it has something to do at a point.
    #[must_use]
    pub fn runs_at(self, point: Point) -> bool {
        self.points().contains(&point)
    }
}

impl fmt::Display for Plugin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

macro_rules! plugins {
    ($($plugin:ident at [$($point:ident),*]: $meaning:literal;)*) => {
        /// A part of the scheduler that can be turned on and off, and weighed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Plugin {
            $(#[doc = $meaning] $plugin,)*
        }

        impl Plugin {
            /// Every plugin, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$plugin,)*];

            /// Its name in the file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$plugin => stringify!($plugin),)*
                }
            }

            /// The points at which it runs.
            #[must_use]
            pub const fn points(self) -> &'static [Point] {
                match self {
                    $(Self::$plugin => &[$(Point::$point),*],)*
                }
            }
        }
    };
}

plugins! {
    SchedulingGates at [PreEnqueue]: "pods with scheduling gates wait";
    PrioritySort at [QueueSort]: "pods with higher priority first, then older pods";
    NodeName at [PreFilter, Filter]: "the node that the pod names";
    NodeUnschedulable at [PreFilter, Filter]: "nodes that are cordoned";
    TaintToleration at [PreFilter, Filter, PreScore, Score]: "taints of nodes";
    NodeAffinity at [PreFilter, Filter, PreScore, Score]: "labels that nodes must or should have";
    NodePorts at [PreFilter, Filter]: "ports of the node";
    DeferredPodScheduling at [PreFilter, Filter, Permit]: "pods that wait for a larger size on their node";
    NodeResourcesFit at [PreFilter, Filter, PreScore, Score, PlacementScore]: "cpu, memory and other resources";
    VolumeRestrictions at [PreFilter, Filter]: "volumes with restricted access";
    NodeVolumeLimits at [PreFilter, Filter]: "how many volumes a node can have";
    VolumeBinding at [PreFilter, Filter, PreScore, Score, Reserve, PreBind]: "volumes that are yet to be bound";
    VolumeZone at [PreFilter, Filter]: "volumes that are in one zone";
    PodTopologySpread at [PreFilter, Filter, PreScore, Score]: "topology spread constraints of pods";
    InterPodAffinity at [PreFilter, Filter, PreScore, Score]: "pod affinity and anti-affinity";
    DynamicResources at
        [PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind, PodGroupPostFilter]:
        "claimed devices";
    DefaultPreemption at [PreEnqueue, PostFilter, PodGroupPostFilter]: "preempts pods with lower priority";
    NodeResourcesBalancedAllocation at [PreScore, Score]: "nodes with balanced resource usage";
    ImageLocality at [Score]: "nodes that already have the images";
    ReadyDevices at [Score]: "devices without binding conditions";
    DefaultBinder at [Bind]: "binds pods through the API";
    NodeDeclaredFeatures at [PreFilter, Filter]: "features that nodes declare";
    GangScheduling at [PreEnqueue, Permit]: "gangs are scheduled as a whole";
    TopologyPlacementGenerator at [PlacementGenerate]: "topology placements for groups";
    PodGroupPodsCount at [PlacementScore]: "placements that fit more pods of the group";
}
