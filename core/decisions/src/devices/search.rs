//! Devices for the claims of a pod: on one node, or on the best of several.
//!
//! Invariant: nothing is changed here but what is known about expressions, and how much work is left.

use allocation::{
    AllocationAnswer, AllocationError, Asked, DeviceOrder, Inquiry, Progress, Question, Reply,
    allocate_within,
};
use cluster::nodes::NodeIdx;
use model::allocation::Allocation;
use model::node::Node;

use crate::caches::Caches;
use crate::cycle::Cycle;
use crate::devices::extended::wish_on;
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

impl Caches {
    /// Goes on with a question, and keeps how far that came.
    fn go_on(&mut self, question: &Question<'_>) -> Result<Reply, AllocationError> {
        let anew =
            Inquiry::new(question, &mut self.expressions).inspect_err(|_| self.work.spend(work::QUESTION))?;
        let (_, begun) = anew.spent();
        self.work.spend(begun);
        let mut inquiry = self.inquiries.resume(&question.node.name, anew);
        let (steps, before) = inquiry.spent();
        let open = Ok(Reply { answer: AllocationAnswer::BudgetSpent, steps, work: before });
        let left = self.work.left_for_question(before);
        let reply = match inquiry.is_over() || left > 0 {
            true => match inquiry.advance(left) {
                Progress::Done(reply) => reply,
                Progress::Paused => open,
            },
            false => open,
        };
        self.work.spend(inquiry.spent().1.saturating_sub(before));
        self.inquiries.keep(&question.node.name, inquiry);
        reply
    }
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
        let keeps = self.caches.work.is_sliced();
        for at in candidates {
            if let Some(none) = self.caches.inquiries.refused(*at).filter(|_| keeps) {
                self.caches.work.spend(work::GLANCE);
                found.others.push((*at, none));
                continue;
            }
            let share = self.caches.work.limit_to_share(candidates.len());
            match self.devices_at(*at, claims) {
                Ok(allocations) => found.nodes.push((*at, allocations)),
                Err(none) => {
                    if none.certainty == Certainty::LimitReached {
                        hard.push((*at, found.others.len()));
                    } else if keeps {
                        self.caches.inquiries.refuse(*at, &none);
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
            match self.devices_at(at, claims) {
                Ok(allocations) => found.nodes.push((at, allocations)),
                Err(none) => found.others[other].1 = none,
            }
            self.caches.work.restore(share);
        }
        found
    }

    fn devices_at(&mut self, at: NodeIdx, claims: &PodClaims) -> Result<Vec<Allocation>, NoDevices> {
        let node = filters::node_of(self.facts.nodes.get(at)).clone();
        self.devices_on(&node, claims)
    }

    /// Devices on a node for the claims that need some, if the node has room for what they take of it, or the reason.
    pub(crate) fn devices_on(
        &mut self,
        node: &Node,
        claims: &PodClaims,
    ) -> Result<Vec<Allocation>, NoDevices> {
        let found = self.search_devices(node, claims)?;
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
        let reply = self.question_devices(node, wishes);
        self.unanswered |= reply.is_err();
        reply
    }

    fn question_devices(&mut self, node: &Node, wishes: &[Asked<'_>]) -> Result<Reply, DeviceReason> {
        if self.caches.work.is_spent() {
            return Ok(Reply { answer: AllocationAnswer::BudgetSpent, steps: 0, work: 0 });
        }
        let gates = self.settings.gates;
        let pools = self.facts.slices.pools_for(node, gates).map_err(DeviceReason::SliceSelector)?;
        let question = Question {
            node,
            pools: &pools,
            claims: wishes,
            classes: &self.facts.classes,
            ledger: self.facts.claims.ledger(),
            gates,
            order: DeviceOrder::PreferReady,
            budget: self.settings.search_steps_max,
        };
        let reply = if self.caches.work.is_sliced() {
            self.caches.go_on(&question)
        } else {
            let reply = allocate_within(&question, &mut self.caches.expressions, self.caches.work.left());
            self.caches.work.spend(reply.as_ref().map_or(work::QUESTION, |reply| reply.work));
            reply
        };
        reply.map_err(|error| DeviceReason::Question(Box::new(error)))
    }

    /// Devices on a node for the claims that need some, whatever they take of it.
    pub(crate) fn search_devices(
        &mut self,
        node: &Node,
        claims: &PodClaims,
    ) -> Result<Vec<Allocation>, NoDevices> {
        if claims.settled.iter().any(|state| !state.is_usable_on(node)) {
            return Err(DeviceReason::ClaimElsewhere.into());
        }
        if let Some(why) = claims.pending.iter().find_map(|pending| pending.refuses(node)) {
            return Err(why.into());
        }
        let made = claims.named.as_ref().and_then(|shape| wish_on(&self.facts.resources, shape, node));
        if claims.open.is_empty() && made.is_none() {
            return Ok(Vec::new());
        }
        let open = claims.open.iter().map(|state| Asked::from(&*state.wish));
        let made = made.as_ref().map(|(spec, _)| Asked::ExtendedResources(spec));
        let wishes: Vec<Asked<'_>> = open.chain(made).collect();
        match self.ask_for_devices(node, &wishes)?.answer {
            AllocationAnswer::Allocated(allocations) => Ok(allocations),
            AllocationAnswer::Impossible(refusal) => Err(NoDevices {
                reason: DeviceReason::Insufficient,
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
