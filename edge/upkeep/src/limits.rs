//! How long controllers wait before they do what cannot be undone, and how much they keep.

use std::time::Duration;

pub use controllers::node_life::Grace;

/// Times and amounts; the defaults are those of Kubernetes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a node may be silent before it counts as lost.
    pub grace: Grace,
    /// How long a node must be missing before its pods are removed.
    pub quarantine: Duration,
    /// How long nobody is evicted after something could not be heard: the streams of several kinds go on one by one.
    pub settle: Duration,
    /// How many pods that have ended are kept.
    pub ended_pods_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            grace: Grace::default(),
            quarantine: Duration::from_secs(40),
            settle: Duration::from_secs(35),
            ended_pods_max: 12_500,
        }
    }
}
