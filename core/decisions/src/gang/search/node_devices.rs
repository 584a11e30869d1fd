//! Devices for several members on one node, chosen together.

use std::sync::Arc;

use allocation::{AllocationAnswer, Asked};
use cluster::nodes::{NodeIdx, NodeState};
use model::allocation::Allocation;
use model::claim::ClaimSpec;
use model::node::Node;

use crate::cycle::Cycle;
use crate::devices::extended::wish_on;
use crate::gang::members::member::Member;

/// The step of a gang's search that as many steps of a search for devices stand for.
pub(crate) const DEVICE_STEPS: u64 = 64;

/// Devices for several members on one node.
#[derive(Debug)]
pub(crate) enum Devices {
    /// For each member the devices of its claims, in order.
    Found(Vec<Vec<Allocation>>, u64),
    Impossible(u64),
    Unknown,
}

impl Cycle<'_> {
    /// Devices for the claims of all these members, chosen together.
    pub(crate) fn devices_for(&mut self, at: NodeIdx, members: &[&Member]) -> Devices {
        let state: &NodeState = self.facts.nodes.get(at);
        let node: Arc<Node> = state.node.clone().expect("only nodes that exist are looked at");
        let mut made: Vec<Option<ClaimSpec>> = Vec::new();
        for member in members {
            let named = member.claims.named.as_ref();
            made.push(
                named.and_then(|shape| wish_on(&self.facts.resources, shape, &node)).map(|(spec, _)| spec),
            );
        }
        let wishes_of = |(member, made): (&&'_ Member, &'_ Option<ClaimSpec>)| {
            member.claims.open.len() + usize::from(made.is_some())
        };
        let counts: Vec<usize> = members.iter().zip(&made).map(wishes_of).collect();
        let mut wishes: Vec<Asked<'_>> = Vec::new();
        for (member, made) in members.iter().zip(&made) {
            wishes.extend(member.claims.open.iter().map(|state| Asked::from(&*state.wish)));
            wishes.extend(made.as_ref().map(Asked::ExtendedResources));
        }
        if wishes.is_empty() {
            return Devices::Found(vec![Vec::new(); members.len()], 0);
        }
        // What cannot be judged on this node is no seat; it may be judged elsewhere.
        let Ok(reply) = self.ask_for_devices(&node, &wishes) else { return Devices::Impossible(0) };
        match reply.answer {
            AllocationAnswer::Impossible(_) => Devices::Impossible(reply.steps),
            AllocationAnswer::BudgetSpent => Devices::Unknown,
            AllocationAnswer::Allocated(found) => {
                let mut found = found.into_iter();
                let of_members =
                    counts.into_iter().map(|count| found.by_ref().take(count).collect()).collect();
                Devices::Found(of_members, reply.steps)
            }
        }
    }
}
