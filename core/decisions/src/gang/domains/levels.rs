//! The domains in which a gang may be, by where nodes are.
//!
//! A level is the name of one in a topology, or else the key of a node label. What a topology has to say about nodes counts
//! as it finds it: a node without the label, or in a domain that contradicts the order of levels, is in no domain.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use gates::Gate;
use model::group::Group;
use model::workload::LevelTerm;
use placement::{Domain, PlacementGenerator, Strictness, Topology, TopologyConstraint, TopologyGenerator};

use crate::cycle::Cycle;
use crate::filters;
use crate::gang::members::cast::Cast;
use crate::profile::Profile;

/// Where nodes are at a level.
type Located = BTreeMap<NodeIdx, Arc<str>>;

/// The domains of a gang, and what may be said if there are none.
#[derive(Debug)]
pub(crate) struct Domains {
    pub all: Vec<Domain>,
    /// Levels at which no node is in any domain.
    pub empty_levels: Vec<Arc<str>>,
}

impl Cycle<'_> {
    /// The domains in which a gang may be: all of the cluster, or the domains of its levels.
    pub(crate) fn domains_of(&self, group: &Group, cast: &Cast, profile: &Profile) -> Domains {
        let first = &cast.kinds[0][0].members[0].pod;
        let companions = self.companions_of(&first.shape, profile);
        let all: Vec<NodeIdx> = self.facts.nodes.iter().map(|(at, _)| at).collect();
        let nodes = self.ranked(first, all, &[], companions.as_ref(), profile);
        let constraints = self.constraints_of(group);
        let located: Vec<Located> = constraints.iter().map(|one| self.locate(&one.level)).collect();
        let levels = constraints.iter().map(|one| one.level.clone());
        let path = |at: NodeIdx| located.iter().map(|of_level| of_level.get(&at).cloned()).collect();
        let topology = Topology::new(levels, self.facts.nodes.iter().map(|(at, _)| (at, path(at))));
        let pinned: Vec<NodeIdx> = self
            .facts
            .groups
            .seated(&group.id)
            .filter_map(|uid| Some(self.facts.nodes.pod(uid)?.0))
            .collect();
        let generator = TopologyGenerator { topology: &topology, constraints: &constraints, pinned: &pinned };
        let all = generator.generate(&[Domain::whole(nodes)]);
        let is_empty = |(_, located): &(&TopologyConstraint, &Located)| located.is_empty();
        let empty = constraints.iter().zip(&located).filter(is_empty).map(|(one, _)| one.level.clone());
        Domains { all, empty_levels: empty.collect() }
    }

    /// The levels that count for a group, and how much.
    fn constraints_of(&self, group: &Group) -> Vec<TopologyConstraint> {
        let heeds_levels = self.settings.gates.enabled(Gate::TopologyAwareWorkloadScheduling);
        let levels = group.levels.iter().filter(|_| heeds_levels);
        let required =
            levels.map(|level| TopologyConstraint { level: level.clone(), strictness: Strictness::Required });
        let terms = self.facts.groups.terms(&group.id).into_iter().flat_map(|terms| &terms.levels);
        let own = terms.map(|LevelTerm { level, rank }| TopologyConstraint {
            level: level.clone(),
            strictness: rank.map_or(Strictness::Required, Strictness::Preferred),
        });
        required.chain(own).collect()
    }

    /// In which domain of a level each node is.
    fn locate(&self, level: &Arc<str>) -> Located {
        let labelled = || self.facts.nodes.iter().map(|(at, state)| (at, &filters::node_of(state).labels));
        let named = |topology: &&cluster::topologies::NodeTopology| {
            topology.levels.iter().any(|known| known.name == *level)
        };
        let topologies: Vec<_> = self.facts.groups.topologies().filter(named).collect();
        if topologies.is_empty() {
            return labelled().filter_map(|(at, labels)| Some((at, labels.get(level)?.clone()))).collect();
        }
        let mut located = Located::new();
        for topology in &topologies {
            for survey in topology.survey(labelled()).into_iter().filter(|survey| survey.level == *level) {
                for (domain, nodes) in survey.domains {
                    // Racks of two topologies are two, whatever their names.
                    let domain = match topologies.len() {
                        1 => domain,
                        _ => format!("{}:{domain}", topology.name).into(),
                    };
                    located.extend(nodes.into_iter().map(|at| (at, domain.clone())));
                }
            }
        }
        located
    }
}
