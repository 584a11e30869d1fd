//! Where a pod goes, and what has to be written for its claims.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::volumes::VolumePlan;
use model::allocation::Allocation;
use model::claim::ClaimId;
use model::identity::{ClaimUid, NodeName};
use model::node::Node;
use model::pod::Pod;

use crate::values::openings::Openings;
use crate::values::pod_claims::PodClaims;

/// Where a pod goes, and what its claims need.
#[derive(Debug)]
pub struct Choice {
    /// The node.
    pub node: NodeName,
    /// What each of its claims needs.
    pub claims: Vec<Wanted>,
    /// How its volume claims get volumes that have none.
    pub volumes: Vec<VolumePlan>,
    /// What drivers' controllers have to be asked first.
    pub negotiation: Option<Box<Openings>>,
}

/// What a claim of a pod needs.
#[derive(Debug)]
pub enum Wanted {
    /// Nothing: it has devices and is reserved for the pod.
    Reserved,
    /// A reservation; it has devices, or gets them at once with another pod.
    Reservation {
        /// The claim.
        claim: ClaimId,
        /// Its uid.
        uid: ClaimUid,
    },
    /// Devices, and a reservation.
    Allocation {
        /// The claim.
        state: Arc<ClaimState>,
        /// The devices.
        allocation: Allocation,
    },
    /// To be made, for resources that the pod asks for by name.
    Claim {
        /// The devices.
        allocation: Allocation,
    },
}

/// What has to be written for a pod on a node.
pub(crate) fn choice(pod: &Pod, node: &Node, claims: &PodClaims, mut allocations: Vec<Allocation>) -> Choice {
    // One more than there are claims is for the claim that has yet to be made.
    let made = allocations.drain(claims.open.len().min(allocations.len())..).collect::<Vec<_>>();
    let settled = claims.settled.iter().map(|state| {
        let is_reserved = match claims.group_users.get(&state.wish.id) {
            Some(group) => state.reserved_for.contains(group),
            None => state.is_reserved_for(&pod.uid),
        };
        if is_reserved {
            return Wanted::Reserved;
        }
        Wanted::Reservation { claim: state.wish.id.clone(), uid: state.uid.clone() }
    });
    let open = claims.open.iter().cloned().zip(allocations);
    let open = open.map(|(state, allocation)| Wanted::Allocation { state, allocation });
    let made = made.into_iter().map(|allocation| Wanted::Claim { allocation });
    let claims = settled.chain(open).chain(made).collect();
    Choice { node: node.name.clone(), claims, volumes: Vec::new(), negotiation: None }
}
