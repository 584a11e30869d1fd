//! Devices for the claims of a pod: on one node, or on the best of several.
//!
//! Invariant: nothing is changed here but what is known about expressions, and how much work is left.

use allocation::{AllocationAnswer, Asked, Reply, allocate_within};
use cluster::nodes::NodeIdx;
use model::allocation::Allocation;
use model::node::Node;

use crate::cycle::Cycle;
use crate::devices::ahead::Ahead;
use crate::devices::question::{asked, made_on, question, why_elsewhere};
use crate::filters;
use crate::values::certainty::Certainty;
use crate::values::no_devices::NoDevices;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::Nearest;
use crate::values::reason::DeviceReason;
use crate::values::work;

/// Nodes with devices for claims, and what is the matter with the others that were looked at, in order.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub nodes: Vec<(NodeIdx, Vec<Allocation>)>,
    pub others: Vec<(NodeIdx, NoDevices)>,
}

impl Cycle<'_> {
    /// The first of these nodes with devices for claims, at most so many.
    ///
    /// Each node has its share of the work first, so that one on which it is hard to tell does not keep all others from being
    /// looked at. What is left after that goes to those on which it was not found out, the best first.
    pub(crate) fn find_devices(&mut self, candidates: &[NodeIdx], claims: &PodClaims, most: usize) -> Found {
        let mut found = Found::default();
        let mut hard: Vec<(NodeIdx, usize)> = Vec::new();
        let kept = self.caches.work.limit(self.caches.work.left() / 2);
        let mut ahead = Ahead::default();
        for (number, at) in candidates.iter().enumerate() {
            let known = ahead.next(self, &candidates[number..], claims);
            let share = self.caches.work.limit_to_share(candidates.len());
            match self.devices_at(*at, claims, known) {
                Ok(allocations) => found.nodes.push((*at, allocations)),
                Err(none) => {
                    if none.certainty == Certainty::LimitReached && self.caches.work.is_spent() {
                        hard.push((*at, found.others.len()));
                    }
                    found.others.push((*at, none));
                }
            }
            self.caches.work.restore(share);
            if found.nodes.len() == most {
                break;
            }
        }
        self.caches.work.restore(kept);
        for (at, other) in hard {
            if found.nodes.len() == most || self.caches.work.is_spent() {
                break;
            }
            let share = self.caches.work.limit_to_share(2);
            match self.devices_at(at, claims, None) {
                Ok(allocations) => found.nodes.push((at, allocations)),
                Err(none) => found.others[other].1 = none,
            }
            self.caches.work.restore(share);
        }
        found
    }

    fn devices_at(
        &mut self,
        at: NodeIdx,
        claims: &PodClaims,
        ahead: Option<Reply>,
    ) -> Result<Vec<Allocation>, NoDevices> {
        let node = filters::node_of(self.facts.nodes.get(at));
        if !claims.need_devices() && claims.footing.is_none() {
            return why_elsewhere(node, claims).map_or(Ok(Vec::new()), Err);
        }
        let node = node.clone();
        self.devices_known(&node, claims, ahead)
    }

    /// Devices on a node for the claims that need some, if the node has room for what they take of it, or the reason.
    pub(crate) fn devices_on(
        &mut self,
        node: &Node,
        claims: &PodClaims,
    ) -> Result<Vec<Allocation>, NoDevices> {
        self.devices_known(node, claims, None)
    }

    /// The same with what was found out ahead.
    pub(crate) fn devices_known(
        &mut self,
        node: &Node,
        claims: &PodClaims,
        ahead: Option<Reply>,
    ) -> Result<Vec<Allocation>, NoDevices> {
        let found = self.search_known(node, claims, ahead)?;
        if claims.footing.is_some()
            && let Some(at) = self.facts.nodes.find(&node.name)
        {
            self.check_footing(self.facts.nodes.get(at), claims, &found)?;
        }
        Ok(found)
    }

    /// Asks for devices for all these claims together on a node, as things stand.
    pub(crate) fn ask_for_devices(
        &mut self,
        node: &Node,
        wishes: &[Asked<'_>],
    ) -> Result<Reply, DeviceReason> {
        self.ask_unless_known(node, wishes, None)
    }

    fn ask_unless_known(
        &mut self,
        node: &Node,
        wishes: &[Asked<'_>],
        ahead: Option<Reply>,
    ) -> Result<Reply, DeviceReason> {
        if self.caches.work.is_spent() {
            return Ok(Reply { answer: AllocationAnswer::BudgetSpent, steps: 0, work: 0 });
        }
        if let Some(reply) = ahead.filter(|reply| self.caches.holds_now(reply)) {
            self.caches.work.spend(reply.work);
            return Ok(reply);
        }
        let reply = self.question_devices(node, wishes);
        self.unanswered |= reply.is_err();
        reply
    }

    fn question_devices(&mut self, node: &Node, wishes: &[Asked<'_>]) -> Result<Reply, DeviceReason> {
        let pools =
            self.facts.slices.pools_for(node, self.settings.gates).map_err(DeviceReason::SliceSelector)?;
        let question = question((self.settings, &self.facts), node, &pools, wishes);
        let reply = allocate_within(&question, &mut self.caches.expressions, self.caches.work.left());
        self.caches.work.spend(reply.as_ref().map_or(work::QUESTION, |reply| reply.work));
        reply.map_err(|error| DeviceReason::Question(Box::new(error)))
    }

    /// Devices on a node for the claims that need some, whatever they take of it.
    pub(crate) fn search_devices(
        &mut self,
        node: &Node,
        claims: &PodClaims,
    ) -> Result<Vec<Allocation>, NoDevices> {
        self.search_known(node, claims, None)
    }

    fn search_known(
        &mut self,
        node: &Node,
        claims: &PodClaims,
        ahead: Option<Reply>,
    ) -> Result<Vec<Allocation>, NoDevices> {
        if let Some(none) = why_elsewhere(node, claims) {
            return Err(none);
        }
        let made = made_on(&self.facts, node, claims);
        let wishes = asked(claims, made.as_ref());
        if wishes.is_empty() {
            return Ok(Vec::new());
        }
        match self.ask_unless_known(node, &wishes, ahead)?.answer {
            AllocationAnswer::Allocated(allocations) => Ok(allocations),
            AllocationAnswer::Impossible(refusal) => Err(NoDevices {
                reason: match refusal.contradictory_pools.as_slice() {
                    [] => DeviceReason::Insufficient,
                    _ => DeviceReason::InvalidPools,
                },
                nearest: Some(Nearest::Refused { node: node.name.clone(), refusal }),
                certainty: Certainty::Proved,
            }),
            AllocationAnswer::BudgetSpent => Err(NoDevices {
                reason: DeviceReason::LimitReached,
                nearest: Some(Nearest::LimitReached { node: node.name.clone() }),
                certainty: Certainty::LimitReached,
            }),
        }
    }
}
