//! What scores look at.

use cluster::images::ImageCounts;
use cluster::namespaces::Namespaces;
use cluster::nodes::{NodeIdx, Nodes};
use cluster::volumes::Volumes;
use model::pod::LabelSelector;

use crate::filters::Mounts;
use crate::scores::settings::ScoreSettings;

/// What scores look at besides the pod and the candidates.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// All nodes, with the pods on them.
    pub nodes: &'a Nodes,
    /// All namespaces.
    pub namespaces: &'a Namespaces,
    /// How common images are.
    pub images: &'a ImageCounts,
    /// Which pods a pod without rules of its own is to be spread among: those of its services and of its owner.
    pub companions: Option<&'a LabelSelector>,
    /// The volumes of the pod, if it has some.
    pub volumes: Option<(&'a Mounts, &'a Volumes)>,
    /// What people have set.
    pub settings: &'a ScoreSettings,
}

/// A node that is to be scored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The node.
    pub at: NodeIdx,
    /// How many candidates it stands for, which are in the same places.
    pub stands_for: usize,
}

impl From<NodeIdx> for Candidate {
    fn from(at: NodeIdx) -> Candidate {
        Candidate { at, stands_for: 1 }
    }
}
