//! Where a gang may be: sets of nodes, those that grant more of its wishes first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;

use crate::topology::Topology;

/// A set of nodes in which a gang may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// What people call it; nothing if it is the whole cluster.
    pub name: Arc<str>,
    /// How many wishes are given up for it. One of a higher rank is tried only if none of a lower one will do.
    pub rank: u32,
    /// The nodes, those first that had better be used.
    pub nodes: Vec<NodeIdx>,
    /// In which part of the domain each of them is: the fewer parts are used, the better.
    pub parts: Vec<u32>,
}

impl Domain {
    /// All of these nodes.
    #[must_use]
    pub fn whole(nodes: Vec<NodeIdx>) -> Domain {
        let parts = vec![0; nodes.len()];
        Domain { name: "".into(), rank: 0, nodes, parts }
    }
}

/// Names the domains in which a gang may be.
pub trait PlacementGenerator {
    /// The domains within others.
    fn generate(&self, within: &[Domain]) -> Vec<Domain>;
}

/// Whether a wish can be given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strictness {
    /// It cannot.
    Required,
    /// It can, if the gang has no seats otherwise.
    Preferred,
}

/// All members in one domain of a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyConstraint {
    /// The level, by the label key that says where nodes are.
    pub level: Arc<str>,
    /// Whether it can be given up.
    pub strictness: Strictness,
}

/// Domains by where nodes are.
#[derive(Clone, Debug)]
pub struct TopologyGenerator<'t> {
    /// Where nodes are.
    pub topology: &'t Topology,
    /// The wishes, the coarsest level first. Those that are preferred are given up one after the other, the finest first.
    pub constraints: &'t [TopologyConstraint],
    /// The nodes on which members are already: the others go to the same domain.
    pub pinned: &'t [NodeIdx],
}

/// What counts at a rank.
struct Rank<'t> {
    levels: Vec<&'t Arc<str>>,
    given_up: Vec<&'t Arc<str>>,
}

impl TopologyGenerator<'_> {
    /// What counts if more and more wishes are given up.
    fn ranks(&self) -> Vec<Rank<'_>> {
        let preferred = |one: &TopologyConstraint| one.strictness == Strictness::Preferred;
        let count = self.constraints.iter().filter(|one| preferred(one)).count();
        let at_rank = |given_up: usize| {
            let mut kept_preferred = count - given_up;
            let mut is_kept = |one: &TopologyConstraint| {
                let is_kept = !preferred(one) || kept_preferred > 0;
                kept_preferred -= usize::from(preferred(one) && is_kept);
                is_kept
            };
            let (kept, gone): (Vec<_>, Vec<_>) = self.constraints.iter().partition(|one| is_kept(one));
            Rank { levels: levels(&kept), given_up: levels(&gone) }
        };
        (0..=count).map(at_rank).collect()
    }

    /// The domains of a node of these levels, if it has one of each.
    fn path(&self, node: NodeIdx, levels: &[&Arc<str>]) -> Option<Vec<Arc<str>>> {
        levels.iter().map(|level| self.topology.domain(node, level).cloned()).collect()
    }
}

fn levels<'c>(constraints: &[&'c TopologyConstraint]) -> Vec<&'c Arc<str>> {
    constraints.iter().map(|one| &one.level).collect()
}

impl PlacementGenerator for TopologyGenerator<'_> {
    fn generate(&self, within: &[Domain]) -> Vec<Domain> {
        let mut domains = Vec::new();
        for (rank, Rank { levels, given_up }) in self.ranks().into_iter().enumerate() {
            let pins: BTreeSet<Option<Vec<Arc<str>>>> =
                self.pinned.iter().map(|node| self.path(*node, &levels)).collect();
            for parent in within {
                let mut found: BTreeMap<Vec<Arc<str>>, Vec<NodeIdx>> = BTreeMap::new();
                for node in &parent.nodes {
                    let Some(path) = self.path(*node, &levels) else { continue };
                    // Members that are there already are all in this domain, or it is none for the others.
                    if pins.iter().all(|pin| pin.as_ref() == Some(&path)) {
                        found.entry(path).or_default().push(*node);
                    }
                }
                domains.extend(found.into_iter().map(|(path, nodes)| {
                    let mut numbers: BTreeMap<Option<Vec<Arc<str>>>, u32> = BTreeMap::new();
                    let mut part = |node: &NodeIdx| {
                        let next = numbers.len() as u32;
                        *numbers.entry(self.path(*node, &given_up)).or_insert(next)
                    };
                    let parts = nodes.iter().map(&mut part).collect();
                    let names = [&parent.name].into_iter().chain(&path).filter(|name| !name.is_empty());
                    let name = names.map(|name| &**name).collect::<Vec<_>>().join("/");
                    Domain { name: name.into(), rank: parent.rank + rank as u32, nodes, parts }
                }));
            }
        }
        domains
    }
}
