//! Where a gang may be: sets of nodes, those that grant more of its wishes first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;

use crate::domain_name::DomainName;
use crate::topology::Topology;

/// A set of nodes in which a gang may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// What people call it.
    pub name: DomainName,
    /// How many wishes are given up for it. One of a higher rank is tried only if none of a lower one will do.
    pub rank: u32,
    /// The nodes, those first that had better be used.
    pub nodes: Vec<NodeIdx>,
    /// In which part of the domain each of them is: the fewer parts are used, the better.
    pub parts: Vec<u32>,
    /// How many parts have members already. They are the first by number, and are filled before others.
    pub homes: u32,
}

impl Domain {
    /// The whole cluster, which has these nodes.
    #[must_use]
    pub fn whole(nodes: Vec<NodeIdx>) -> Domain {
        let parts = vec![0; nodes.len()];
        Domain { name: DomainName::Cluster, rank: 0, nodes, parts, homes: 0 }
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
    /// It can, if the gang has no seats otherwise. Wishes of one rank are held together and given up from the last; then those
    /// of the next rank are tried in their place, and in the end none.
    Preferred(u32),
}

/// All members in one domain of a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyConstraint {
    /// The level, as the topology calls it.
    pub level: Arc<str>,
    /// Whether it can be given up.
    pub strictness: Strictness,
}

/// Domains by where nodes are.
#[derive(Clone, Debug)]
pub struct TopologyGenerator<'t> {
    /// Where nodes are.
    pub topology: &'t Topology,
    /// The wishes, the coarsest level first.
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
        let rank_of = |one: &TopologyConstraint| match one.strictness {
            Strictness::Required => None,
            Strictness::Preferred(rank) => Some(rank),
        };
        let told: BTreeSet<u32> = self.constraints.iter().filter_map(rank_of).collect();
        let held_at = |rank: u32, count: usize| {
            let mut left = count;
            let mut is_held = |one: &TopologyConstraint| match one.strictness {
                Strictness::Required => true,
                Strictness::Preferred(own) if own == rank && left > 0 => {
                    left -= 1;
                    true
                }
                Strictness::Preferred(_) => false,
            };
            let (held, gone): (Vec<_>, Vec<_>) = self.constraints.iter().partition(|one| is_held(one));
            Rank { levels: levels(&held), given_up: levels(&gone) }
        };
        let mut ranks = Vec::new();
        for rank in told {
            let count = self.constraints.iter().filter(|one| rank_of(one) == Some(rank)).count();
            ranks.extend((1..=count).rev().map(|count| held_at(rank, count)));
        }
        ranks.push(held_at(0, 0));
        ranks
    }

    /// The domains of a node of these levels, if it has one of each.
    fn path(&self, node: NodeIdx, levels: &[&Arc<str>]) -> Option<Vec<Arc<str>>> {
        levels.iter().map(|level| self.topology.domain(node, level).cloned()).collect()
    }

    /// In which part each node is, and how many of the parts have members already.
    fn parts(&self, nodes: &[NodeIdx], given_up: &[&Arc<str>]) -> (Vec<u32>, u32) {
        let mut numbers: BTreeMap<Option<Vec<Arc<str>>>, u32> = BTreeMap::new();
        let mut part = |node: &NodeIdx| {
            let next = numbers.len() as u32;
            *numbers.entry(self.path(*node, given_up)).or_insert(next)
        };
        let homes = self.pinned.iter().map(&mut part).max().map_or(0, |last| last + 1);
        (nodes.iter().map(&mut part).collect(), homes)
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
                    let (parts, homes) = self.parts(&nodes, &given_up);
                    let (name, rank) = (parent.name.at(&path), parent.rank + rank as u32);
                    Domain { name, rank, nodes, parts, homes }
                }));
            }
        }
        domains
    }
}
