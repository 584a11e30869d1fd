//! The kinds of scores.

/// A kind of score.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Score {
    /// Fewer taints that the pod had better not bear.
    Taints,
    /// Nodes that the pod would like.
    NodeAffinity,
    /// More left, or less.
    Resources,
    /// More free of the storage that volumes come from.
    Volumes,
    /// Pods spread evenly.
    Spread,
    /// Pods that would like to be near or apart.
    PodAffinity,
    /// All resources used alike.
    Balanced,
    /// Images that are there already.
    Images,
    /// Devices that come closer to what claims would like. Told by the devices that were found, see [`devices`](super::devices).
    Devices,
    /// Devices that need not be made ready first. Told by the devices that were found, see [`ready_devices`](super::ready_devices).
    ReadyDevices,
}

impl Score {
    /// The name of the plugin that it is known by in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Score::Taints => "TaintToleration",
            Score::NodeAffinity => "NodeAffinity",
            Score::Resources => "NodeResourcesFit",
            Score::Volumes => "VolumeBinding",
            Score::Spread => "PodTopologySpread",
            Score::PodAffinity => "InterPodAffinity",
            Score::Balanced => "NodeResourcesBalancedAllocation",
            Score::Images => "ImageLocality",
            Score::Devices => "DynamicResources",
            Score::ReadyDevices => "ReadyDevices",
        }
    }

    /// Whether it can be told only among all candidates, not of a node alone.
    #[must_use]
    pub fn is_relative(self) -> bool {
        match self {
            Score::Taints | Score::NodeAffinity | Score::Spread | Score::PodAffinity | Score::Devices => true,
            Score::Resources | Score::Volumes | Score::Balanced | Score::Images | Score::ReadyDevices => {
                false
            }
        }
    }
}
