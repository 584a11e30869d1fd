//! Seats by pools: nodes that reach the same shared devices, and have none of their own, are one to the search.
//!
//! Where devices are what is scarce, which members get devices of which pool decides, and which node each is on does not. So
//! members are first given to pools as to nodes of which each has all that its nodes have, and then seated pool by pool.
//!
//! Invariant: if there are no seats by pools, there are none at all, as each node has less than its pool has. Seats that are found
//! are those of a walk over nodes.

use std::collections::BTreeMap;

use cluster::nodes::NodeIdx;
use placement::{
    Amounts, Budget, Domain, Gang, Likeness, Load, Placement, PlacementAnswer, PlacementQuestion,
    PlacementState, Seats, Verdict, place,
};

use crate::gang::members::member::Member;
use crate::gang::search::joint_devices::{JointDevices, Need};
use crate::gang::search::view::ClusterView;
use crate::values::gang_reason::NextMember;

/// What giving members to pools says.
pub(crate) enum ByPools {
    Placed(Placement),
    /// There are no seats.
    Impossible,
    Open,
}

/// Nodes as parts of what they reach.
struct PoolBins<'v, 'g, 'c> {
    view: &'v mut ClusterView<'g, 'c>,
    /// By the first of them.
    nodes: BTreeMap<NodeIdx, Vec<NodeIdx>>,
}

impl ClusterView<'_, '_> {
    /// Whether devices that several nodes reach are all that puts members on one node in the way of members on another.
    pub(crate) fn goes_by_pools(&self) -> bool {
        let is_plain = |member: &Member| {
            member.follows.is_empty() && member.claims.footing.is_none() && member.claims.named.is_none()
        };
        self.rules.is_none() && self.assumed.devices_cross() && self.cast.members().all(is_plain)
    }

    /// Seats for a gang by pools, or a proof that there are none.
    pub(crate) fn place_by_pools(&mut self, gang: &Gang, domains: &[Domain], budget: &mut Budget) -> ByPools {
        let mut bins = PoolBins { view: self, nodes: BTreeMap::new() };
        let Some(by_pools) = domains.iter().map(|domain| bins.join(domain)).collect::<Option<Vec<_>>>()
        else {
            return ByPools::Open;
        };
        let question = PlacementQuestion { gang, domains: &by_pools, scorers: &[] };
        match place(question, &mut bins, budget) {
            PlacementAnswer::Impossible(_) => ByPools::Impossible,
            PlacementAnswer::BudgetSpent(_) => ByPools::Open,
            PlacementAnswer::Placed(placed) => {
                let of = |seats: &Seats| (bins.nodes[&seats.node].clone(), seats.load.clone());
                let loads: Vec<(Vec<NodeIdx>, Load)> = placed.seats.iter().map(of).collect();
                match self.walk_by_loads(&loads, budget) {
                    Some(loads) => {
                        let seats = loads.into_iter().map(|(node, load)| Seats { node, load }).collect();
                        ByPools::Placed(Placement { seats, ..placed })
                    }
                    None => ByPools::Open,
                }
            }
        }
    }
}

impl PoolBins<'_, '_, '_> {
    /// A domain whose nodes stand for all that reach the same; nothing if that cannot be told.
    fn join(&mut self, domain: &Domain) -> Option<Domain> {
        let mut by_reach: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
        let mut groups: Vec<(u32, Vec<NodeIdx>)> = Vec::new();
        for (at, part) in domain.nodes.iter().zip(&domain.parts) {
            if !self.view.fixed(*at).contains(&true) {
                continue;
            }
            let mut reached = Vec::new();
            if !self.view.likenesses.reached(self.view.cycle, *at, &mut reached) {
                return None;
            }
            if self.view.has_own(*at) {
                reached.push(u64::from(at.0));
            }
            let group = *by_reach.entry(reached).or_insert_with(|| {
                groups.push((*part, Vec::new()));
                groups.len() - 1
            });
            groups[group].1.push(*at);
        }
        let parts = groups.iter().map(|(part, _)| *part).collect();
        let nodes = groups.iter().map(|(_, nodes)| nodes[0]).collect();
        // A node stands for other nodes in another domain only if these are the same.
        for (_, nodes) in groups {
            let known = self.nodes.entry(nodes[0]).or_insert_with(|| nodes.clone());
            if *known != nodes {
                return None;
            }
        }
        Some(Domain { nodes, parts, ..domain.clone() })
    }
}

impl PlacementState for PoolBins<'_, '_, '_> {
    type Stop = NextMember;

    fn free(&mut self, node: NodeIdx) -> Amounts {
        let nodes = &self.nodes[&node];
        let mut free = self.view.shared(nodes);
        free.0.resize(self.view.free(node).0.len(), 0);
        for at in nodes {
            free.add(&self.view.free(*at));
        }
        free
    }

    fn likeness(&mut self, node: NodeIdx) -> Likeness {
        Likeness(u64::from(node.0))
    }

    fn takes(&mut self, node: NodeIdx, load: &Load, budget: &mut Budget) -> Verdict {
        if self.view.has_no_time(node, load.total(), budget) {
            return Verdict::Unknown;
        }
        let admits = |view: &mut ClusterView<'_, '_>, kind: usize| {
            self.nodes[&node].iter().any(|at| view.fixed(*at)[kind])
        };
        if load.present().any(|(kind, _)| !admits(self.view, kind)) {
            return Verdict::No;
        }
        let need = Need { at: node, members: self.view.members(load) };
        match self.view.cycle.devices_beside(&[], &need, &Default::default(), budget) {
            JointDevices::Found(_) => Verdict::Yes,
            JointDevices::Impossible => Verdict::No,
            JointDevices::Unknown => Verdict::Unknown,
        }
    }
}
