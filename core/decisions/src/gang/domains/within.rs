//! The domains of levels within another, and the nodes on which members run already.

use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::group::GroupId;
use model::pod::Pod;
use placement::{Domain, PlacementGenerator, Strictness, Topology, TopologyConstraint, TopologyGenerator};

use crate::cycle::Cycle;

impl Cycle<'_> {
    /// The nodes on which members of a group are.
    pub(crate) fn pins_of(&self, id: &GroupId) -> impl Iterator<Item = NodeIdx> {
        self.facts.groups.seated(id).filter_map(|uid| Some(self.facts.nodes.pod(uid)?.0))
    }

    /// All nodes, the best for a pod first.
    pub(crate) fn whole_domain(&self, pod: &Pod) -> Domain {
        let profile = self.settings.profile_of(pod);
        let companions = self.companions_of(&pod.shape, &profile);
        let all: Vec<NodeIdx> = self.facts.nodes.iter().map(|(at, _)| at).collect();
        Domain::whole(self.ranked(pod, all, &[], companions.as_ref(), &profile))
    }

    /// The domains of these levels within another.
    pub(crate) fn domains_within(
        &self,
        levels: &[Arc<str>],
        pinned: &[NodeIdx],
        within: &Domain,
    ) -> Vec<Domain> {
        if levels.is_empty() {
            return vec![within.clone()];
        }
        let constraint =
            |level: &Arc<str>| TopologyConstraint { level: level.clone(), strictness: Strictness::Required };
        let constraints: Vec<TopologyConstraint> = levels.iter().map(constraint).collect();
        // A member may be on a node that is gone, of which no domain is known.
        let labels = |at: &NodeIdx| Some((*at, &self.facts.nodes.get(*at).node.as_ref()?.labels));
        let known = within.nodes.iter().chain(pinned).filter_map(labels);
        let topology = Topology::read(levels.iter().cloned(), known);
        TopologyGenerator { topology: &topology, constraints: &constraints, pinned }
            .generate(std::slice::from_ref(within))
    }
}
